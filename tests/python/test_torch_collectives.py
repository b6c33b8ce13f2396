"""Each collective of torch.distributed over the backend wia."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

from groups import process_group
from ranks import run_ranks

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
CORE = FLOATS + INTEGERS


def data(rank: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Differs from element to element and from rank to rank; small enough for exact sums of few ranks in
    every type.
    """
    return ((torch.arange(torch.Size(shape).numel()) * 7 + rank * 3) % 11).reshape(shape).to(dtype)


def equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


def near(a: torch.Tensor, b: torch.Tensor) -> bool:
    """To rounding: averages are divided in another order by another algorithm."""
    return a.dtype == b.dtype and torch.allclose(
        a.double(), b.double(), rtol=1e-2 if a.element_size() < 4 else 1e-6
    )


def _reductions(count: int) -> None:
    with process_group() as (me, n):
        for dtype in CORE:
            every = [data(r, (count,), dtype) for r in range(n)]
            total = sum(each.long() for each in every)
            results = {
                ReduceOp.SUM: total,
                ReduceOp.MAX: torch.stack([each.long() for each in every]).amax(0),
                ReduceOp.MIN: torch.stack([each.long() for each in every]).amin(0),
            }
            if dtype.is_floating_point:
                results[ReduceOp.AVG] = None
            for op, wanted in results.items():
                wanted = (total.double() / n).to(dtype) if wanted is None else wanted.to(dtype)
                mine = every[me].clone()
                dist.all_reduce(mine, op)
                assert near(mine, wanted)
                blocks = torch.cat([every[me]] * n)
                out = torch.empty_like(mine)
                dist.reduce_scatter_tensor(out, blocks, op)
                assert near(out, mine)
                out.zero_()
                dist.reduce_scatter(out, list(blocks.chunk(n)), op)
                assert near(out, mine)
                for root in range(n):
                    out = every[me].clone()
                    dist.reduce(out, root, op)
                    assert me != root or near(out, mine)
        flags = torch.tensor([me == 0, True, False])
        dist.all_reduce(flags, ReduceOp.BAND if hasattr(ReduceOp, "BAND") else ReduceOp.MIN)
        assert flags.tolist() == [False, True, False]
        bits = torch.tensor([1 << me])
        dist.all_reduce(bits, ReduceOp.BOR)
        assert bits.item() == (1 << n) - 1
        scaled = torch.full((3,), 2.0)
        dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
        assert (scaled == n).all()
        complex_ = torch.full((3,), 1 + 2j)
        dist.all_reduce(complex_)
        assert (complex_ == n * (1 + 2j)).all()


@pytest.mark.parametrize("count", [1, 1000])
def test_reductions(count):
    run_ranks(3, _reductions, count)


def _moves(count: int) -> None:
    with process_group() as (me, n):
        for dtype in CORE + [torch.bool, torch.complex64]:
            every = [data(r, (count, 2), dtype) for r in range(n)]
            mine = every[me]
            parts = [torch.empty_like(mine) for _ in range(n)]
            dist.all_gather(parts, mine)
            assert all(equal(a, b) for a, b in zip(parts, every))
            flat, stacked = torch.empty(n * count, 2, dtype=dtype), torch.empty(n, count, 2, dtype=dtype)
            dist.all_gather_into_tensor(flat, mine)
            dist.all_gather_into_tensor(stacked, mine)
            assert equal(flat, torch.cat(every)) and equal(stacked, torch.stack(every))
            out = torch.empty_like(flat)
            dist.all_to_all_single(out, torch.cat([data(me + r, (count, 2), dtype) for r in range(n)]))
            assert equal(out, torch.cat([data(r + me, (count, 2), dtype) for r in range(n)]))
            dist.all_to_all(parts, [data(me + 2 * r, (count, 2), dtype) for r in range(n)])
            assert all(equal(parts[r], data(r + 2 * me, (count, 2), dtype)) for r in range(n))
            for root in range(n):
                got = mine.clone()
                dist.broadcast(got, root)
                assert equal(got, every[root])
                rows = [torch.empty_like(mine) for _ in range(n)] if me == root else None
                dist.gather(mine, rows, root)
                assert me != root or all(equal(a, b) for a, b in zip(rows, every))
                dist.scatter(
                    got, [data(root + r, (count, 2), dtype) for r in range(n)] if me == root else None, root
                )
                assert equal(got, data(root + me, (count, 2), dtype))


@pytest.mark.parametrize("count", [1, 500])
def test_moves(count):
    run_ranks(3, _moves, count)


def _uneven() -> None:
    with process_group() as (me, n):
        sent = [me + r for r in range(n)]  # rows; symmetric
        out = torch.empty(sum(sent), 2)
        dist.all_to_all_single(out, torch.full((sum(sent), 2), float(me)), sent, sent)
        assert out[:, 0].tolist() == [float(r) for r in range(n) for _ in range(sent[r])]
        lengths = [2, 0, 5]
        parts = [torch.empty(length) for length in lengths]
        dist.all_gather(parts, torch.full((lengths[me],), float(me)))
        assert all((parts[r] == r).all() for r in range(n))
        out = torch.empty(lengths[me])
        dist.reduce_scatter(out, [torch.full((length,), 1.0) for length in lengths])
        assert (out == n).all()
        outs = [torch.empty(me + r) for r in range(n)]
        dist.all_to_all(outs, [torch.full((me + r,), float(me)) for r in range(n)])
        assert all((outs[r] == r).all() for r in range(n))


def test_uneven_blocks():
    run_ranks(3, _uneven)


def _not_contiguous() -> None:
    """S07."""
    with process_group() as (me, n):
        square = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) + me
        dist.all_reduce(square[:, 0])
        assert equal(square, torch.tensor([[n * 1.0 + 3, 2.0 + me], [n * 3.0 + 3, 4.0 + me]]))
        wide = data(me, (2, 5), torch.float32)
        dist.broadcast(wide.t(), 1)
        assert equal(wide, data(1, (2, 5), torch.float32))
        line = torch.arange(10.0)
        dist.all_reduce(line[::2])
        assert line.tolist() == [x * n if x % 2 == 0 else x for x in range(10)]
        images = data(me, (2, 3, 4, 5), torch.float32).to(memory_format=torch.channels_last)
        dist.all_reduce(images)
        assert equal(images.contiguous(), sum(data(r, (2, 3, 4, 5), torch.float32) for r in range(n)))
        grid = torch.zeros(4, n)
        dist.all_gather_into_tensor(grid.t(), torch.full((1, 4), float(me)))
        assert equal(grid, torch.arange(float(n)).expand(4, n))
        parts = [torch.zeros(4, 2)[:, 0] for _ in range(n)]
        dist.all_gather(parts, grid[:, me])
        assert all((parts[r] == r).all() for r in range(n))
        dist.reduce(line[1::2], 0)
        rows = [torch.zeros(3, 2)[:, 1] for _ in range(n)]
        dist.gather(torch.full((3,), float(me)), rows if me == 2 else None, 2)
        assert me != 2 or all((rows[r] == r).all() for r in range(n))
        got = torch.zeros(3, 2)
        dist.scatter(got[:, 0], [torch.full((3,), float(r)) for r in range(n)] if me == 0 else None, 0)
        assert got[:, 0].tolist() == [me] * 3 and got[:, 1].tolist() == [0] * 3
        out = torch.zeros(4, 2)
        dist.reduce_scatter_tensor(out[:, 0], torch.ones(n, 4).t().contiguous().t())
        assert out[:, 0].tolist() == [n] * 4 and out[:, 1].tolist() == [0] * 4
        out = torch.zeros(n, 2)
        dist.all_to_all_single(out[:, 1], torch.full((n, 2), float(me))[:, 0])
        assert out[:, 1].tolist() == list(range(n)) and out[:, 0].tolist() == [0] * n
        expanded = torch.zeros(1).expand(4)
        for call in (
            lambda: dist.all_reduce(expanded),
            lambda: dist.broadcast(expanded, (me + 1) % n),
            lambda: dist.all_gather_into_tensor(torch.zeros(1).expand(4 * n), torch.zeros(4)),
            lambda: dist.all_gather([expanded] * n, torch.zeros(4)),
        ):
            with pytest.raises(ValueError, match="share memory"):
                call()
        dist.all_gather_into_tensor(torch.empty(4 * n), torch.ones(1).expand(4))  # to be read it is good
        if me == 0:
            dist.send(torch.arange(8.0)[::2], 1)
        if me == 1:
            held = torch.zeros(4, 2)
            dist.recv(held[:, 0], 0)
            assert held[:, 0].tolist() == [0, 2, 4, 6] and held[:, 1].tolist() == [0] * 4


def test_tensors_that_are_not_contiguous():
    run_ranks(3, _not_contiguous)


def _bad_arguments() -> None:
    with process_group() as (me, n):
        for call, error, words in [
            (
                lambda: dist.all_gather_into_tensor(torch.empty(5), torch.empty(4)),
                ValueError,
                ["output", "5", "8"],
            ),
            (
                lambda: dist.all_gather_into_tensor(torch.empty(8).double(), torch.empty(4)),
                ValueError,
                ["float64"],
            ),
            (
                lambda: dist.reduce_scatter_tensor(torch.empty(3), torch.empty(7)),
                ValueError,
                ["input", "7", "6"],
            ),
            (
                lambda: dist.all_to_all_single(torch.empty(4), torch.empty(4), [1, 2], [2, 2]),
                ValueError,
                ["[1, 2]", "4"],
            ),
            (lambda: dist.all_to_all_single(torch.empty(3), torch.empty(3)), ValueError, ["3"]),
            (lambda: dist.all_gather([torch.empty(4)], torch.empty(4)), ValueError, ["1 tensors", "2 ranks"]),
            (lambda: dist.all_reduce(torch.empty(4, device="meta")), ValueError, ["meta", "cpu"]),
            (lambda: dist.all_reduce(torch.ones(2), ReduceOp.BAND), RuntimeError, ["band", "float32"]),
        ]:
            with pytest.raises(error) as caught:
                call()
            assert all(word in str(caught.value) for word in words), caught.value
        ones = torch.ones(3)
        dist.all_reduce(ones)
        assert (ones == n).all()


def test_bad_arguments_leave_all_as_it_was():
    run_ranks(2, _bad_arguments)


def _asynchronous() -> None:
    with process_group() as (me, n):
        tensors = [data(me, (1000 + i,)) for i in range(20)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        futures = [work.get_future() for work in works]
        for work, future, tensor, i in reversed(list(zip(works, futures, tensors, range(20)))):
            [value] = future.wait()
            assert value is tensor and equal(tensor, sum(data(r, (1000 + i,)) for r in range(n)))
            assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
        chained = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(lambda f: f.value()[0] * 2)
        assert chained.wait().tolist() == [2 * n] * 2
        striped = torch.ones(6)
        work = dist.all_reduce(striped[::2], async_op=True)
        while not work.is_completed():
            pass
        assert striped.tolist() == [n, 1] * 3
        for _ in range(50):  # works that nobody waits for
            dist.all_reduce(torch.ones(10_000), async_op=True)
        work = dist.barrier(async_op=True)
        work.wait()


def test_asynchronous_works_and_futures():
    run_ranks(3, _asynchronous)


def _transfers() -> None:
    with process_group() as (me, n):
        for count in (3, 1 << 18):
            out, left, right = data(me, (count,)), torch.empty(count).long(), torch.empty(count).long()
            works = dist.batch_isend_irecv(
                [
                    dist.P2POp(dist.isend, out, (me + 1) % n),
                    dist.P2POp(dist.irecv, left, (me - 1) % n),
                ]
            )
            for work in works:
                work.wait()
            assert equal(left, data((me - 1) % n, (count,)))
            sends = [dist.isend(out + tag, (me + 1) % n, tag=tag) for tag in (1, 2)]
            dist.recv(right, (me - 1) % n, tag=2)
            work = dist.irecv(left, (me - 1) % n, tag=1)
            assert work.get_future().wait()[0] is left
            assert equal(right, left + 1)
            for work in sends:
                work.wait()


def test_transfers():
    run_ranks(3, _transfers)


def _from_anyone() -> None:
    with process_group() as (me, n):
        # Transposed, the tensor is received through a copy. A tag each: ranks may be ahead.
        for tag, shape in enumerate([(1,), (40, 50)]):
            if me == 0:
                senders = []
                for _ in range(n - 1):
                    got = torch.zeros(shape, dtype=torch.int64).t()
                    work = dist.irecv(got, tag=tag)
                    work.wait()
                    senders.append(work._source_rank())
                    assert equal(got, data(senders[-1], shape).t())
                assert sorted(senders) == list(range(1, n))
            else:
                dist.send(data(me, shape).t(), 0, tag=tag)
        pair = dist.new_group([1, 2])
        if me == 1:
            got = torch.zeros(1)
            assert dist.recv(got, group=pair) == 2 and got.item() == 2
        if me == 2:
            dist.send(torch.tensor([2.0]), 1, group=pair)
        dist.barrier()


def test_transfers_from_any_rank():
    run_ranks(3, _from_anyone)


def _sparse() -> None:
    with process_group() as (me, n):
        for extra in ((), (2,)):
            shape = (2 * n, 3, *extra)
            every = []
            for rank in range(n):  # rank entries, one of them twice
                rows, columns = torch.arange(rank + 1), torch.tensor([0] * rank + [1])
                where = torch.cat([torch.stack([rows, columns]), torch.tensor([[0], [0]])], 1)
                every.append(torch.sparse_coo_tensor(where, torch.ones(rank + 2, *extra), shape))
            mine = every[me].clone()
            dist.all_reduce(mine)
            assert mine.is_sparse and equal(mine.to_dense(), sum(each.to_dense() for each in every))
            mine = every[me].clone()
            assert dist.all_reduce(mine, async_op=True).wait()
            assert equal(mine.to_dense(), sum(each.to_dense() for each in every))
        with pytest.raises(ValueError, match="sums of sparse"):
            dist.all_reduce(every[me], ReduceOp.MAX)


def test_sums_of_sparse_tensors():
    run_ranks(3, _sparse)


def _coalesced() -> None:
    with process_group() as (me, n):
        tensors = [torch.full((i + 1,), float(me)) for i in range(4)]
        with dist._coalescing_manager():
            for tensor in tensors:
                dist.all_reduce(tensor)
        assert all((tensor == sum(range(n))).all() for tensor in tensors)
        outs = [torch.empty(n * (i + 1)) for i in range(3)]
        with dist._coalescing_manager(async_ops=True) as manager:
            for i, out in enumerate(outs):
                dist.all_gather_into_tensor(out, torch.full((i + 1,), float(me)))
        manager.wait()
        assert all(out.chunk(n)[r].eq(r).all() for out in outs for r in range(n))
        outs = [torch.empty(i + 1) for i in range(3)]
        with dist._coalescing_manager():
            for i, out in enumerate(outs):
                dist.reduce_scatter_tensor(out, torch.ones(n * (i + 1)))
        assert all((out == n).all() for out in outs)
        with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
            dist.isend(torch.full((2,), float(me)), (me + 1) % n)
            dist.irecv(outs[1], (me - 1) % n)
        manager.wait()
        assert (outs[1] == (me - 1) % n).all()


def test_coalesced_calls():
    run_ranks(3, _coalesced)


def _functional() -> None:
    import torch.distributed._functional_collectives as funcol

    with process_group() as (me, n):
        group = dist.group.WORLD
        mine = torch.full((2, 3), float(me))
        assert (funcol.all_reduce(mine, "sum", group) == sum(range(n))).all()
        assert funcol.all_gather_tensor(mine, 0, group)[::2, 0].tolist() == list(range(n))
        assert funcol.reduce_scatter_tensor(torch.ones(n * 2, 3), "sum", 0, group).sum() == 6 * n
        out = funcol.all_to_all_single(torch.full((n, 2), float(me)), [1] * n, [1] * n, group)
        assert out[:, 0].tolist() == list(range(n))
        assert (funcol.broadcast(mine, 2, group) == 2).all()
        sums = funcol.all_reduce_coalesced([mine, mine + 1], "sum", group)
        assert (sums[1] - sums[0] == n).all()


def test_functional_collectives():
    run_ranks(3, _functional)


def _objects() -> None:
    with process_group() as (me, n):
        everything = [None] * n
        dist.all_gather_object(everything, {"rank": me, "text": "x" * me})
        assert everything == [{"rank": r, "text": "x" * r} for r in range(n)]
        objects = [me, "text"] if me == 1 else [None, None]
        dist.broadcast_object_list(objects, 1)
        assert objects == [1, "text"]
        dist.gather_object((me,), everything if me == 0 else None, 0)
        assert me != 0 or everything == [(r,) for r in range(n)]
        got = [None]
        dist.scatter_object_list(got, [f"to {r}" for r in range(n)] if me == 2 else None, 2)
        assert got == [f"to {me}"]
        if hasattr(dist, "send_object_list"):
            if me == 0:
                dist.send_object_list([{"a": 1}], 1)
            if me == 1:
                dist.recv_object_list(got, 0)
                assert got == [{"a": 1}]


def test_object_collectives():
    run_ranks(3, _objects)


def _profiled() -> None:
    with process_group():
        cpu = torch.profiler.ProfilerActivity.CPU
        with torch.profiler.profile(activities=[cpu], record_shapes=True) as profile:
            dist.all_reduce(torch.ones(3))
            dist.all_reduce(torch.ones(4), async_op=True).wait()
            dist.barrier()
        events = [event for event in profile.events() if event.name.startswith("wia:")]
        names, shapes = [event.name for event in events], [event.input_shapes for event in events]
        assert names == ["wia:all_reduce", "wia:all_reduce", "wia:barrier"], names
        assert shapes == [[[3]], [[4]], []], shapes
        assert all(event.is_async for event in events)


def test_the_profiler_sees_calls():
    run_ranks(2, _profiled)
