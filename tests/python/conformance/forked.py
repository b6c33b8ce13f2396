"""Tests in several processes, over the backend that is named by WIA_CONFORMANCE_BACKEND (wia)."""

from __future__ import annotations

import os

import torch

import wia.torch  # noqa: F401

BACKEND = os.environ.get("WIA_CONFORMANCE_BACKEND", "wia")
os.environ.update(OMP_NUM_THREADS="1", WIA_NIC="lo", WIA_LOG="error")
os.environ.setdefault("DISTRIBUTED_TESTS_DEFAULT_TIMEOUT", "90")  # seconds for a test

from torch.testing._internal.common_distributed import TIMEOUT_OVERRIDE, MultiProcessTestCase  # noqa: E402

TIMEOUT_OVERRIDE.clear()


class Forked(MultiProcessTestCase):
    """Ranks are forked from this process, which has imported PyTorch and runs nothing of it: a new interpreter for
    each rank of each test would take the most of the time.
    """

    def setUp(self) -> None:
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)

    def _spawn_processes(self) -> None:
        pass
