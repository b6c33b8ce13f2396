"""Ways to train one model on all ranks: DDP, FSDP2, DeepSpeed ZeRO. Each keeps the same trajectory."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from gpt import Gpt, loss_of

RATE = 1e-3


class Training(Protocol):
    def step(self, inputs: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """This rank's loss."""
        ...

    def save(self, folder: Path) -> None:
        """Weights and the optimizer's state; on all ranks."""
        ...

    def load(self, folder: Path) -> None: ...


class TorchTraining:
    """By PyTorch alone: DDP and FSDP2. A checkpoint of one can be loaded by the other, and by any number of
    ranks.
    """

    def __init__(self, net: nn.Module):
        self._net = net
        self._optimizer = torch.optim.AdamW(net.parameters(), lr=RATE)

    def step(self, inputs: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        loss = loss_of(self._net, inputs, wanted)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return loss.detach()

    def save(self, folder: Path) -> None:
        checkpoints.save(self._state(), checkpoint_id=folder)

    def load(self, folder: Path) -> None:
        state = self._state()
        checkpoints.load(state, checkpoint_id=folder)  # into the tensors that are there
        set_state_dict(
            self._net, self._optimizer, model_state_dict=state["net"], optim_state_dict=state["optimizer"]
        )

    def _state(self) -> dict[str, Any]:
        net, optimizer = get_state_dict(self._net, self._optimizer)
        return {"net": net, "optimizer": optimizer}


class DeepSpeedTraining:
    """ZeRO: shards the optimizer's state (stage 1), gradients (2), parameters (3). A checkpoint wants as many
    ranks as saved it.
    """

    def __init__(self, net: Gpt, stage: int):
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
        logging.getLogger("DeepSpeed").setLevel(logging.WARNING)
        try:
            import deepspeed
        except ImportError as error:
            raise SystemExit(f"--strategy zero{stage} needs DeepSpeed (docs/pytorch.md): {error}") from None
        deepspeed.init_distributed()  # takes the process group that is there, whatever its backend
        config = {
            "train_micro_batch_size_per_gpu": 1,  # for its statistics alone
            "zero_optimization": {"stage": stage},
            "zero_allow_untested_optimizer": True,
            "gradient_clipping": 0.0,  # DeepSpeed's own default clips
            "steps_per_print": 1_000_000,
        }
        optimizer = torch.optim.AdamW(net.parameters(), lr=RATE)
        self._engine = deepspeed.initialize(model=net, optimizer=optimizer, config=config)[0]

    def step(self, inputs: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        loss = loss_of(self._engine, inputs, wanted)
        self._engine.backward(loss)
        self._engine.step()
        return loss.detach()

    def save(self, folder: Path) -> None:
        self._engine.save_checkpoint(str(folder), tag="all")

    def load(self, folder: Path) -> None:
        self._engine.load_checkpoint(str(folder), tag="all")


def sharded(net: Gpt, group: dist.ProcessGroup) -> nn.Module:
    """FSDP2: each block's parameters are gathered when it is their turn."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    mesh = DeviceMesh.from_group(group, "cpu")
    for block in net.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(net, mesh=mesh)


STRATEGIES = {
    "ddp": lambda net: TorchTraining(nn.parallel.DistributedDataParallel(net)),
    "fsdp": lambda net: TorchTraining(sharded(net, dist.group.WORLD)),
    "zero1": lambda net: DeepSpeedTraining(net, 1),
    "zero2": lambda net: DeepSpeedTraining(net, 2),
    "zero3": lambda net: DeepSpeedTraining(net, 3),
}
