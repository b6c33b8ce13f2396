"""Training: the same trajectory with every backend, as on one process."""

from __future__ import annotations

import copy
import time

import pytest
import torch
import torch.distributed as dist
from torch import nn

from groups import process_group
from ranks import run_once, run_ranks

STEPS, BATCH = 4, 12


def model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of all ranks together."""
    made = torch.Generator().manual_seed(step)
    return torch.randn(BATCH, 8, generator=made), torch.randn(BATCH, 3, generator=made)


def train(net: nn.Module, rank: int, size: int) -> list[float]:
    """The mean losses of all ranks."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(STEPS):
        inputs, wanted = (each.chunk(size)[rank] for each in batch(step))
        loss = nn.functional.mse_loss(net(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        if dist.is_initialized():
            dist.all_reduce(total)
        losses.append(total.item() / size)
    return losses


def _ddp(backend: str) -> list[float]:
    with process_group(backend) as (me, n):
        # Small buckets: several all-reduces in each backward pass.
        net = nn.parallel.DistributedDataParallel(model(), bucket_cap_mb=0.01)
        losses = train(net, me, n)
        weights = torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()])
        rows = [torch.empty_like(weights) for _ in range(n)]
        dist.all_gather(rows, weights)
        assert all(torch.equal(row, weights) for row in rows)
        dist.barrier()
        return losses


@pytest.mark.parametrize("size", [2, 3])
def test_ddp_learns_as_one_process(size):
    alone = train(model(), 0, 1)
    results = run_ranks(size, _ddp, "wia")
    assert all(losses == results[0] for losses in results)
    assert torch.allclose(torch.tensor(results[0]), torch.tensor(alone), rtol=1e-4)


def test_ddp_learns_as_with_gloo():
    # Gloo's groups do not always survive that one of them is made after another in the same processes.
    ours, theirs = run_ranks(2, _ddp, "wia")[0], run_once(2, _ddp, "gloo")[0]
    assert torch.allclose(torch.tensor(ours), torch.tensor(theirs), rtol=1e-5)


def _hooked() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

    with process_group() as (me, n):
        net = nn.parallel.DistributedDataParallel(model())
        net.register_comm_hook(None, fp16_compress_hook)
        losses = train(net, me, n)
        assert losses[-1] < losses[0]
        with net.no_sync():
            net(batch(0)[0]).sum().backward()
        net(batch(0)[0]).sum().backward()


def test_ddp_with_a_hook_and_without_sync():
    run_ranks(2, _hooked)


def _joined(divide_by_all: bool) -> None:
    with process_group() as (me, n):
        torch.manual_seed(2)
        net = nn.parallel.DistributedDataParallel(nn.Linear(3, 1, bias=False))
        with net.join(divide_by_initial_world_size=divide_by_all):
            for step in range(2 + me):  # ranks have other numbers of batches
                net.zero_grad()
                net(torch.full((1, 3), float(me))).sum().backward()
        # The last batch was of the last rank alone.
        wanted = (n - 1) / (n if divide_by_all else 1)
        assert torch.allclose(net.module.weight.grad, torch.full((1, 3), wanted)) or me < n - 1
        dist.barrier()


@pytest.mark.parametrize("divide_by_all", [True, False])
def test_ddp_with_other_numbers_of_batches(divide_by_all):
    run_ranks(3, _joined, divide_by_all)


def _sparse_gradients() -> None:
    with process_group() as (me, n):
        torch.manual_seed(2)
        net = nn.parallel.DistributedDataParallel(nn.Embedding(10, 4, sparse=True))
        net(torch.tensor([me, 9])).sum().backward()
        got = net.module.weight.grad.to_dense()[:, 0]
        wanted = torch.tensor([1 / n] * n + [0.0] * (9 - n) + [1.0])
        assert torch.allclose(got, wanted), got


def test_ddp_sums_sparse_gradients():
    run_ranks(3, _sparse_gradients)


def _fsdp() -> list[float]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    with process_group() as (me, n):
        net = model()
        mesh = init_device_mesh("cpu", (n,))
        for layer in net:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(net, mesh=mesh)
        losses = train(net, me, n)
        state = {name: value.full_tensor() for name, value in net.state_dict().items()}
        assert state["0.weight"].shape == (64, 8)
        return losses


def test_fsdp2_learns_as_one_process():
    pytest.importorskip("torch.distributed.fsdp", reason="no FSDP")
    if not hasattr(torch.distributed.fsdp, "fully_shard"):
        pytest.skip("this PyTorch has no fully_shard in torch.distributed.fsdp")
    alone = train(model(), 0, 1)
    results = run_ranks(2, _fsdp)
    assert torch.allclose(torch.tensor(results[0]), torch.tensor(alone), rtol=1e-4)


def _failing() -> str:
    with process_group(timeout=3.0) as (me, n):
        net = nn.parallel.DistributedDataParallel(model())
        train(net, me, n)
        if me == 1:
            time.sleep(6)
            return ""
        with pytest.raises(RuntimeError) as caught:
            train(net, me, n)
        return str(caught.value)


def test_a_failure_comes_out_of_backward():
    assert "rank 1" in run_ranks(2, _failing)[0]


def _checkpoint(folder: str) -> None:
    with process_group() as (me, n):
        net = nn.parallel.DistributedDataParallel(model())
        train(net, me, n)
        if me == 0:
            torch.save(net.module.state_dict(), folder + "/weights")
        dist.barrier()
        other = copy.deepcopy(net.module)
        other.load_state_dict(torch.load(folder + "/weights"))
        assert all(torch.equal(a, b) for a, b in zip(net.module.parameters(), other.parameters()))


def test_a_checkpoint_is_the_same_on_all_ranks(tmp_path):
    run_ranks(2, _checkpoint, str(tmp_path))
