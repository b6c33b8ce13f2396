"""Some of PyTorch's own tests, which stand for all that scripts/test_python --conformance runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

RUN = Path(__file__).parent / "conformance" / "run.py"
SOME = (
    "DistributedTest.test_(all_reduce_sum_async|all_gather_group|all_to_all_single_unequal_split|reduce_group_max"
    "|scatter_object_list|send_recv_any_source_torch_profiler|sparse_all_reduce_sum|monitored_barrier_gloo"
    "|barrier_timeout_global|DistributedDataParallelCPU)$"
    "|DdpComparisonTest.test_ddp_comparison$|FsdpParity.test_NestedWrappedModule_full_shard|DTensorOperations.test_matmul"
)


def test_some_of_pytorchs_own():
    pytest.importorskip("expecttest", reason="PyTorch's tests want expecttest")
    if not torch.__version__.startswith("2.13"):
        pytest.skip("the known results are those of PyTorch 2.13")
    run = subprocess.run([sys.executable, RUN, "--only", SOME], capture_output=True, text=True, timeout=400)
    assert run.returncode == 0 and "13 passed, 0 failed" in run.stdout, run.stdout + run.stderr
