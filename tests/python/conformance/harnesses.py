"""Cases for the harnesses that PyTorch brings for FSDP and DTensor without their tests. The harnesses compare."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import ShardingStrategy
from torch.testing._internal import common_fsdp
from torch.testing._internal.distributed._tensor import common_dtensor

from forked import BACKEND, Forked

common_fsdp.DISTRIBUTED_BACKEND = BACKEND
_MODELS = (
    common_fsdp.NestedWrappedModule,
    common_fsdp.AlwaysWrapNestedWrappedModule,
    common_fsdp.TransformerWithSharedParams,
)
_OPERATIONS = {
    "add": lambda a, b: torch.add(a, b),
    "mul": lambda a, b: torch.mul(a, b),
    "matmul": lambda a, b: torch.matmul(a, b),
    "softmax": lambda a, b: torch.softmax(a + b, -1),
    "sum": lambda a, b: torch.sum(a * b),
    "mean": lambda a, b: torch.mean(a - b, 0),
    "max": lambda a, b: torch.amax(torch.maximum(a, b)),
    "layer_norm": lambda a, b: torch.nn.functional.layer_norm(a + b, (12,)),
    "transpose": lambda a, b: torch.add(a.t(), b),
    "cat": lambda a, b: torch.cat([a, b]),
}


class FsdpParity(Forked, common_fsdp.FSDPTestMixin):
    """`common_fsdp.py`: models under FullyShardedDataParallel train as under DistributedDataParallel."""

    world_size = 2
    destroy_pg_upon_exit = False

    @property
    def process_group(self) -> Any:
        return dist.distributed_c10d._get_default_group()

    @property
    def init_method(self) -> str:
        return f"file://{self.file_name}"

    _run = classmethod(common_fsdp.FSDPTestMixin._run.__func__)


class DTensorOperations(Forked, common_dtensor.DTensorTestMixin):
    """`distributed/_tensor/common_dtensor.py`: operations on DTensors in all placements give what they give on whole tensors."""

    world_size = 4

    def _check(self, operation: Any) -> None:
        dist.init_process_group(BACKEND, f"file://{self.file_name}", None, self.world_size, self.rank)
        torch.manual_seed(7)
        mesh = init_device_mesh("cpu", (self.world_size,))
        self._test_op(mesh, operation, torch.randn(12, 12), torch.randn(12, 12))
        dist.barrier()


def _parity(model: Any, strategy: ShardingStrategy) -> Any:
    def test(self: Any) -> None:
        self._test_fsdp_parity(
            model,
            common_fsdp.FSDPInitMode.RECURSIVE,
            common_fsdp.DEVICEInitMode.DEVICE_BEFORE,
            sharding_strategy=strategy,
            device_id=torch.device("cpu"),
        )

    return test


for _model in _MODELS:
    for _strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD):
        setattr(FsdpParity, f"test_{_model.__name__}_{_strategy.name.lower()}", _parity(_model, _strategy))
for _name, _operation in _OPERATIONS.items():
    setattr(DTensorOperations, f"test_{_name}", lambda self, made=_operation: self._check(made))
