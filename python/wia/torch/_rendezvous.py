"""How the ranks of a process group find each other: by the store that PyTorch gives to a new group."""

from __future__ import annotations

import socket
import time
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from .. import _native
from .._errors import Status, TimeoutError

_LONGEST_NAP = 0.05  # seconds between two looks at the store


def connect(store: Any, rank: int, size: int, timeout: timedelta) -> _native.Communicator:
    """The communicator of `size` ranks that share `store`. Raises wia.TimeoutError, naming who is missing."""
    # Groups that are made one after the other with one store are told apart by how often this rank has come.
    visit = store.add(f"wia/visits/{rank}", 1)
    end = time.monotonic() + timeout.total_seconds()
    if rank == 0:
        store.set(f"wia/{visit}/id", _native.unique_id(_own_address(store)))
    store.set(f"wia/{visit}/here/{rank}", b"1")
    for other in range(size):
        _wait_for(store, f"wia/{visit}/here/{other}", end, rank, other, timeout)
    return _native.init_rank(size, store.get(f"wia/{visit}/id"), rank)


def _wait_for(store: Any, key: str, end: float, rank: int, other: int, timeout: timedelta) -> None:
    nap = 0.001
    while not store.check([key]):
        if time.monotonic() > end:
            raise TimeoutError(
                Status.TIMEOUT,
                f"rank {rank} waited {timeout.total_seconds():.1f} s for rank {other} "
                "to join the process group",
            )
        time.sleep(nap)
        nap = min(2 * nap, _LONGEST_NAP)


def _own_address(store: Any) -> str | None:
    """Where the others reach this host, as far as the store tells; None: let the library find out."""
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    host = getattr(store, "host", None)
    if not host or len(host) > 63:
        return None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)  # fails where the store is another host's
    except OSError:
        return None
    return "127.0.0.1" if address[0].startswith("127.0.0.") or address[0] == "::1" else host
