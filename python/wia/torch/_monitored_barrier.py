"""A barrier by messages to and from rank 0, which tells who has not come: the method of Gloo's groups, with its
words. A barrier() of wia names them as well, on every rank.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import torch

from .._errors import Error, Status, TimeoutError

_TAG = 2**31 - 1  # no program's


def monitored_barrier(group: Any, timeout: timedelta, wait_all_ranks: bool) -> None:
    """wait_all_ranks: names all that are missing, not the first alone. One that fails ends the group."""
    if group.rank() == 0:
        _gather_and_release(group, timeout, wait_all_ranks)
        return
    try:
        group.send([_token()], 0, _TAG).wait(timeout)
        group.recv([_token()], 0, _TAG).wait(timeout)
    except Error as error:
        raise Error(
            error.code,
            f"Rank {group.rank()} successfully reached monitoredBarrier, but received errors while waiting for "
            f"send/recv from rank 0: {error}",
        ) from error


def _gather_and_release(group: Any, timeout: timedelta, wait_all_ranks: bool) -> None:
    within = f"in monitoredBarrier after {timeout.total_seconds() * 1000:.0f} ms"
    if timeout <= timedelta(0):
        raise TimeoutError(Status.TIMEOUT, f"Rank 0 timed out {within}")
    end = time.monotonic() + timeout.total_seconds()
    arrivals = {rank: group.recv([_token()], rank, _TAG) for rank in range(1, group.size())}
    missing = []
    for rank, arrival in arrivals.items():
        left = max(end - time.monotonic(), 0.001)
        try:
            arrival.wait(timedelta(seconds=left))
        except TimeoutError:
            missing.append(str(rank))
            if not wait_all_ranks:
                break
    if missing:
        group.abort()
        who = f"Rank{'s' if wait_all_ranks else ''} {', '.join(missing)}"
        raise TimeoutError(
            Status.TIMEOUT, f"{who} failed to pass monitoredBarrier in {timeout.total_seconds() * 1000:.0f} ms"
        )
    for answer in [group.send([_token()], rank, _TAG) for rank in arrivals]:
        answer.wait(timeout)


def _token() -> torch.Tensor:
    return torch.zeros(1, dtype=torch.uint8)
