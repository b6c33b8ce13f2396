"""Models that are cut up, by layers and within layers: the losses and gradients of one process."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from groups import process_group
from ranks import run_ranks

STAGES, MICROBATCHES, WIDTH = 2, 4, 8


def layers() -> list[nn.Module]:
    torch.manual_seed(3)
    return [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(2 * STAGES)]


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(4)
    return torch.randn(8, WIDTH, generator=made), torch.randn(8, WIDTH, generator=made)


def gradients(net: nn.Module) -> list[torch.Tensor]:
    return [parameter.grad for parameter in net.parameters()]


def near(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    return len(some) == len(others) and all(torch.allclose(a, b, atol=1e-6) for a, b in zip(some, others))


def _pipeline(schedule: str) -> None:
    from torch.distributed import pipelining

    with process_group() as (me, n):
        inputs, wanted = batch()
        alone = layers()
        losses = [
            nn.functional.mse_loss(nn.Sequential(*alone)(part), aim)
            for part, aim in zip(inputs.chunk(MICROBATCHES), wanted.chunk(MICROBATCHES))
        ]
        torch.stack(losses).mean().backward()

        mine = layers()
        if schedule == "ScheduleInterleaved1F1B":  # stages me and me + n, of one layer each
            parts = {stage: mine[stage] for stage in (me, me + n)}
        else:
            parts = {me: nn.Sequential(*mine[2 * me : 2 * me + 2])}
        stages = [
            pipelining.PipelineStage(part, stage, n * len(parts), torch.device("cpu"))
            for stage, part in parts.items()
        ]
        made = getattr(pipelining, schedule)(
            stages if len(stages) > 1 else stages[0], MICROBATCHES, loss_fn=nn.functional.mse_loss
        )
        got: list[torch.Tensor] = []
        is_last = me == n - 1
        for _ in range(2):  # the second time nothing is new
            for part in parts.values():
                part.zero_grad()
            got.clear()
            made.step(*([inputs] if me == 0 else []), **({"target": wanted, "losses": got} if is_last else {}))
        assert not is_last or near(got, losses)
        for stage, part in parts.items():
            same = alone[stage] if len(parts) > 1 else nn.Sequential(*alone[2 * me : 2 * me + 2])
            assert near(gradients(part), gradients(same))


@pytest.mark.parametrize("schedule", ["ScheduleGPipe", "Schedule1F1B", "ScheduleInterleaved1F1B"])
def test_pipelines_learn_as_one_process(schedule):
    run_ranks(STAGES, _pipeline, schedule)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs + self.down(torch.relu(self.up(inputs)))


def _learn(net: nn.Module) -> list[float]:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    inputs, wanted = batch()
    losses = []
    for _ in range(4):
        loss = nn.functional.mse_loss(net(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _tensor_parallel() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(5)
    alone = nn.Sequential(Block(), Block())
    torch.manual_seed(5)
    net = nn.Sequential(Block(), Block())
    losses = _learn(alone)
    with process_group() as (_, n):
        mesh = init_device_mesh("cpu", (n,))
        for block in net:
            parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
        assert torch.allclose(torch.tensor(_learn(net)), torch.tensor(losses), rtol=1e-5)
        full = [value.full_tensor() for value in net.state_dict().values()]
        assert near(full, list(alone.state_dict().values()))


@pytest.mark.parametrize("size", [2, 4])
def test_tensor_parallel_learns_as_one_process(size):
    run_ranks(size, _tensor_parallel)
