"""PyTorch's own distributed tests, as they come with it, over the backend wia.

PyTorch's test modules decide by the backend's name, when they are imported, what they demand. They are imported
here under the names of the backends that run on CPUs, Gloo and MPI, so that what one of these must be able to do is
demanded of wia; and wia is entered in the modules' tables of backends.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch.distributed as dist

import cpu_for_cuda
from forked import BACKEND, Forked

RANKS = 4  # what most tests want that want a number
os.environ.update(WORLD_SIZE=str(RANKS), INIT_METHOD="file://")
# Of the tests for CUDA those that cannot do without: by NCCL, SyncBatchNorm, streams, what they log, or their length.
CUDA_ITSELF = frozenset(
    """test_average_parameters test_monitored_barrier_allreduce_hang test_monitored_barrier_allreduce_hang_wait_all_ranks
    test_DistributedDataParallel_SyncBatchNorm test_DistributedDataParallel_SyncBatchNorm_2D_Input
    test_DistributedDataParallel_SyncBatchNorm_Channels_Last test_DistributedDataParallel_SyncBatchNorm_No_Affine
    test_DistributedDataParallel_SyncBatchNorm_Diff_Input_Sizes_Running_Value
    test_DistributedDataParallel_SyncBatchNorm_Diff_Input_Sizes_gradient test_DistributedDataParallel_SyncBatchNorm_half
    test_DistributedDataParallel_SyncBatchNorm_Single_Input_Per_Process test_ddp_inference test_sync_bn_logged
    test_ddp_uneven_inputs_stop_iteration_sync_bn test_ddp_logging_data_gpu test_ddp_compile_static_graph
    test_ddp_apply_optim_in_backward test_ddp_apply_optim_in_backward_grad_as_bucket_view_false
    test_ddp_apply_optim_in_backward_ignored_params test_ddp_device test_output_unused_in_loss_dict_module
    test_ddp_native_mixed_precision_grad_as_bucket_view_no_set_grad_none test_ddp_uneven_inputs
    test_ddp_native_mixed_precision_grad_as_bucket_view_set_grad_to_none
    test_ddp_native_mixed_precision_no_grad_as_bucket_view_no_set_grad_none
    test_ddp_native_mixed_precision_no_grad_as_bucket_view_set_grad_to_none""".split()
)
_DISTRIBUTED_TEST = "torch.testing._internal.distributed.distributed_test"


def _imported_as(backend: str) -> ModuleType:
    """PyTorch's distributed_test, with its demands on `backend`."""
    os.environ["BACKEND"] = backend
    spec = importlib.util.find_spec(_DISTRIBUTED_TEST)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_DISTRIBUTED_TEST] = module  # objects of its classes are pickled
    spec.loader.exec_module(module)
    module.BACKEND = BACKEND
    for table in ("PROFILING", "SEND_RECV_PROFILING"):
        getattr(module, f"{table}_SUPPORTED_BACKENDS").append(BACKEND)
    return module


with cpu_for_cuda.admitted():
    _cuda = _imported_as("gloo")
_mpi, _gloo = _imported_as("mpi"), _imported_as("gloo")
# Sub-groups of fewer than eight ranks are skipped, but for a backend of this name.
os.environ["BACKEND"] = "mpi"

from torch.testing._internal.distributed import ddp_under_dist_autograd_test as ddp_with_rpc  # noqa: E402
from torch.testing._internal.distributed.rpc.tensorpipe_rpc_agent_test_fixture import (  # noqa: E402
    TensorPipeRpcAgentTestFixture,
)

from harnesses import DTensorOperations, FsdpParity  # noqa: E402

_monitored_barrier = dist.monitored_barrier


def monitored_barrier(*arguments: Any, **named: Any) -> None:
    """PyTorch's, without its look at the name: it calls the method of the group only if that is Gloo's."""
    with mock.patch.object(dist.distributed_c10d, "get_backend", return_value="gloo"):
        _monitored_barrier(*arguments, **named)


def _is_skipped(module: ModuleType, name: str) -> bool:
    return getattr(getattr(module.DistributedTest._DistTestBase, name), "__unittest_skip__", False)


class DistributedTest(Forked, _gloo.TestDistBackend, _gloo.DistributedTest._DistTestBase):
    """`distributed/distributed_test.py`: collectives, groups, objects, profiling, DistributedDataParallel and its hooks."""

    module = _gloo

    @classmethod
    def _run(cls, rank: int, test_name: str, file_name: str, pipe: Any, **named: Any) -> None:
        dist.monitored_barrier = monitored_barrier
        cls.module.INIT_METHOD = f"file://{file_name}.again"  # for a test that starts over
        super()._run(rank, test_name, file_name, pipe, **named)

    def _test_accumulate_gradients_no_sync(self, *arguments: Any, **named: Any) -> None:
        # The tests' tensors are on the CPU only for a backend of this name.
        with mock.patch.object(_gloo, "BACKEND", "gloo"):
            super()._test_accumulate_gradients_no_sync(*arguments, **named)


for _name in dir(_gloo.DistributedTest._DistTestBase):
    if _name.startswith("test_") and _is_skipped(_gloo, _name) and not _is_skipped(_mpi, _name):
        setattr(DistributedTest, _name, getattr(_mpi.DistributedTest._DistTestBase, _name))

class CudaTestsOnCpu(DistributedTest):
    """`distributed/distributed_test.py`: tests for CUDA devices, with all of their tensors on the CPU."""

    module = _cuda

    def run_test(self, test_name: str, pipe: Any) -> None:
        cpu_for_cuda.run(RANKS, lambda: super(CudaTestsOnCpu, self).run_test(test_name, pipe))


_NO_TEST = SimpleNamespace(__wrapped__=None)  # cannot be called; setUp() looks at what is wrapped
for _name in dir(DistributedTest):
    if _name.startswith("test_"):
        _test = getattr(_cuda.DistributedTest._DistTestBase, _name)
        on_cpu = getattr(_test, "wants_cuda", False) and not _is_skipped(_cuda, _name) and _name not in CUDA_ITSELF
        setattr(CudaTestsOnCpu, _name, _test if on_cpu else _NO_TEST)
        if on_cpu:
            setattr(DistributedTest, _name, _NO_TEST)


class _OverRpc(Forked, TensorPipeRpcAgentTestFixture):
    """The tests name Gloo for their process group; RPC itself goes by TensorPipe."""

    @classmethod
    def _run(cls, *arguments: Any, **named: Any) -> None:
        init = dist.init_process_group
        dist.init_process_group = lambda backend, **rest: init(BACKEND, **rest)
        super()._run(*arguments, **named)


class DdpUnderDistAutogradTest(ddp_with_rpc.DdpUnderDistAutogradTest, _OverRpc):
    """`distributed/ddp_under_dist_autograd_test.py`: DistributedDataParallel beside RPC and distributed autograd."""


class DdpComparisonTest(ddp_with_rpc.DdpComparisonTest, _OverRpc):
    """`distributed/ddp_under_dist_autograd_test.py`: gradients of distributed autograd and of local one."""


SUITES = [DistributedTest, CudaTestsOnCpu, DdpUnderDistAutogradTest, DdpComparisonTest, FsdpParity, DTensorOperations]
