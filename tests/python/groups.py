"""Process groups in ranks of tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta

import torch.distributed as dist

import wia.torch  # noqa: F401


@contextlib.contextmanager
def process_group(backend: str = "wia", timeout: float = 120.0) -> Iterator[tuple[int, int]]:
    """(rank, size) in a default group of the backend."""
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
    try:
        yield dist.get_rank(), dist.get_world_size()
    finally:
        dist.destroy_process_group()
