"""Process groups: sub-groups, meshes, starting over, and what ends them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

import wia
from groups import process_group
from ranks import free_port, interrupt_soon, other_threads_run, run_once, run_ranks


def _sub_groups() -> None:
    with process_group() as (me, n):
        # S10: disjoint groups, overlapping ones, members in another order, many.
        rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        columns = [dist.new_group([2, 0]), dist.new_group([3, 1])]
        row, column = rows[me // 2], columns[me % 2]
        value = torch.tensor([float(me)])
        dist.all_reduce(value, group=row)
        assert value.item() == (1 if me < 2 else 5)
        dist.all_reduce(value, group=column)
        assert value.item() == 6
        assert dist.get_rank(rows[0]) == (me if me < 2 else -1)
        for i in range(8):
            group = dist.new_group([0, 1, 2], timeout=timedelta(seconds=60 + i))
            if me < 3:
                ones = torch.ones(2)
                dist.all_reduce(ones, group=group)
                dist.broadcast(ones, 1, group=group)
                assert (ones == 3).all()
                dist.destroy_process_group(group)
        mine = dist.new_group([me, (me + 2) % 4] if me < 2 else [me - 2, me], use_local_synchronization=True)
        dist.barrier(group=mine)
        parts = [torch.empty(1) for _ in range(2)]
        dist.all_gather(parts, torch.tensor([float(me)]), group=mine)
        assert [part.item() for part in parts] == [me % 2, me % 2 + 2]
        dist.barrier(device_ids=[0])


def test_sub_groups():
    run_ranks(4, _sub_groups)


def _mesh() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    with process_group() as (me, n):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        value = torch.tensor([float(me)])
        dist.all_reduce(value, group=mesh["tp"].get_group())
        assert value.item() == (1 if me < 2 else 5)
        whole = torch.arange(32.0).reshape(8, 4)
        sharded = distribute_tensor(whole, mesh, [Shard(0), Shard(1)])
        assert sharded.to_local().shape == (4, 2)
        assert torch.equal(sharded.redistribute(mesh, [Replicate(), Replicate()]).to_local(), whole)
        product = (
            sharded @ distribute_tensor(whole.t().contiguous(), mesh, [Replicate(), Replicate()])
        ).full_tensor()
        assert torch.allclose(product, whole @ whole.t())


def test_device_mesh_and_dtensor():
    run_ranks(4, _mesh)


def _again() -> None:
    me, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # One store for all, as torchrun's is; what an earlier group left in it must not matter.
    store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), n, me == 0)
    for i in range(20):
        dist.init_process_group("wia", store=store, rank=me, world_size=n)
        value = torch.tensor([me + i])
        dist.all_reduce(value)
        assert value.item() == 2 * i + 1
        dist.destroy_process_group()
        assert not dist.is_initialized()
    dist.init_process_group("wia", store=store, rank=me, world_size=n)
    dist.barrier()  # the store goes with rank 0
    dist.destroy_process_group()


def test_starting_over():
    """S19."""
    run_ranks(2, _again)


def _mixed() -> None:
    with process_group("gloo") as (me, n):
        group = dist.new_group(backend="wia")
        ones = torch.ones(3, dtype=torch.bfloat16)
        dist.all_reduce(ones, group=group)
        assert (ones == n).all()


def test_a_group_beside_gloo():
    run_ranks(2, _mixed)


def _after_the_end() -> None:
    with process_group() as (me, n):
        group = dist.group.WORLD
        dist.all_reduce(torch.ones(2))
    group.shutdown()  # harmless
    with pytest.raises(wia.Error) as caught:
        group.allreduce([torch.ones(2)])
    assert caught.value.code is wia.Status.DESTROYED


def test_use_after_destroy():
    run_ranks(2, _after_the_end)


def _timeouts(kind: str) -> None:
    with process_group() as (me, n):
        dist.barrier()
        if me == 1:
            time.sleep(4)  # late for the others' limit
            with pytest.raises(RuntimeError):
                for _ in range(
                    2
                ):  # of the call that has ended over there, all that this rank needs may be here
                    dist.all_reduce(torch.ones(2))
            return
        began = time.monotonic()
        if kind == "wait":
            work = dist.all_reduce(torch.ones(2), async_op=True)
            with pytest.raises(TimeoutError) as caught:
                work.wait(timedelta(seconds=1))
            dist.distributed_c10d._get_default_group().abort()
        else:
            with pytest.raises(TimeoutError) as caught:
                if kind == "blocking":
                    options = dist.AllreduceOptions()
                    options.timeout = timedelta(seconds=1)
                    if hasattr(options, "asyncOp"):
                        options.asyncOp = False
                    dist.group.WORLD.allreduce([torch.ones(2)], options).wait()
                else:
                    options = dist.AllreduceOptions()
                    options.timeout = timedelta(seconds=1)
                    dist.group.WORLD.allreduce([torch.ones(2)], options).wait()
        assert "rank 1" in str(caught.value) and time.monotonic() - began >= 0.9


@pytest.mark.parametrize("kind", ["blocking", "work", "wait"])
def test_a_call_has_a_limit_of_its_own(kind):
    """S14 (d)."""
    run_ranks(2, _timeouts, kind)


def _missing() -> None:
    if os.environ["RANK"] == "1":
        store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), 2, False)
        time.sleep(3)
        del store
        return
    with pytest.raises(TimeoutError, match="rank 1"):
        dist.init_process_group("wia", timeout=timedelta(seconds=1))


def test_a_rank_that_does_not_come_is_named():
    run_once(2, _missing)


def _monitored(wait_all_ranks: bool, named: str) -> None:
    with process_group() as (me, n):
        group = dist.group.WORLD
        group.monitored_barrier(timedelta(seconds=60))
        if me == 0:
            with pytest.raises(wia.TimeoutError, match=named):
                group.monitored_barrier(timedelta(seconds=1), wait_all_ranks)
        if 0 < me < n - 1:  # is elsewhere, until the group has failed
            with pytest.raises(RuntimeError):
                dist.barrier()
        if me == n - 1:
            with pytest.raises(RuntimeError, match="Rank 3 successfully reached .* from rank 0"):
                group.monitored_barrier(timedelta(seconds=60))


@pytest.mark.parametrize(("wait_all_ranks", "named"), [(False, "Rank 1 failed"), (True, "Ranks 1, 2 failed")])
def test_a_monitored_barrier_names_who_is_missing(wait_all_ranks, named):
    run_ranks(4, _monitored, wait_all_ranks, named)


def _different() -> None:
    with process_group() as (me, n):
        with pytest.raises(wia.Error) as caught:
            dist.all_reduce(torch.ones(2 + me))
        assert caught.value.code is wia.Status.MISMATCH and "rank 0" in str(caught.value)
        work = dist.group.WORLD
        with pytest.raises(wia.Error):
            work.barrier().wait()


def test_different_calls():
    run_ranks(2, _different)


def _dies(kind: str) -> str:
    dist.init_process_group("wia", timeout=timedelta(seconds=200))
    me = dist.get_rank()
    dist.barrier()
    if me == 1:
        os.kill(os.getpid(), 9)
    with pytest.raises(RuntimeError) as caught:
        if kind == "call":
            dist.all_reduce(torch.ones(2))
        elif kind == "future":
            dist.all_reduce(torch.ones(2), async_op=True).get_future().wait()
        else:
            work = dist.all_reduce(torch.ones(2), async_op=True)
            while not work.is_completed():
                time.sleep(0.01)
            assert not work.is_success() and isinstance(work.exception(), wia.Error)
            work.wait()
    dist.destroy_process_group()
    return str(caught.value)


@pytest.mark.parametrize("kind", ["call", "future", "poll"])
def test_a_rank_that_dies_is_named(kind):
    texts = run_once(3, _dies, kind, lost=(1,))
    assert "rank 1" in texts[0] and "rank 1" in texts[2]


def _interrupted() -> float:
    with process_group(timeout=200) as (me, n):
        dist.barrier()
        if me == 1:
            time.sleep(8)  # without it the wait would take as long
            return 0.0
        interrupt_soon(0.5)
        began = time.monotonic()
        with other_threads_run(), pytest.raises(KeyboardInterrupt):
            dist.all_reduce(torch.ones(2))
        waited = time.monotonic() - began
        with pytest.raises(wia.Error, match="interrupted"):
            dist.all_reduce(torch.ones(2), async_op=True).wait()
        return waited


def test_ctrl_c_ends_a_wait():
    """S14 (g)."""
    assert run_once(2, _interrupted)[0] < 0.5 + 2 + 5


class _Squares(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, i: int) -> torch.Tensor:
        return torch.tensor(float(i * i))


def _workers() -> None:
    with process_group() as (me, n):
        loader = torch.utils.data.DataLoader(
            _Squares(), batch_size=4, num_workers=2, multiprocessing_context="fork"
        )
        for _ in range(2):
            total = torch.zeros(1)
            for batch in loader:
                part = batch.sum().reshape(1)
                dist.all_reduce(part)
                total += part
            assert total.item() == n * sum(i * i for i in range(64))
        child = os.fork()
        if child == 0:
            try:
                dist.all_reduce(torch.ones(1))
            except wia.Error as error:
                os._exit(0 if error.code is wia.Status.FORKED else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        dist.barrier()


def test_data_loaders_may_fork():
    """S20."""
    run_ranks(2, _workers)


SCRIPT = r"""
import sys, torch, torch.distributed as dist, wia.torch
dist.init_process_group("wia")
value = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(value)
sys.stdout.write(f"sum {value.item()}\n")
if sys.argv[1] == "raise" and dist.get_rank() == 1: raise SystemExit(3)
if sys.argv[1] == "raise": dist.barrier()
if sys.argv[1] == "destroy": dist.destroy_process_group()
"""


@pytest.mark.parametrize("end", ["destroy", "leave", "raise"])
def test_torchrun(tmp_path, end):
    """S19: with and without destroy; a rank that fails ends the job."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        f"--master-port={free_port()}",
    ]
    environment = os.environ | {"WIA_NIC": "lo", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [*torchrun, script, end], capture_output=True, text=True, timeout=200, env=environment
    )
    assert run.stdout.count("sum 3.0") == 2, run.stderr
    assert (run.returncode == 0) == (end != "raise"), run.stderr
    assert "terminate called" not in run.stderr and "Segmentation" not in run.stderr
