"""wia.Communicator over NumPy arrays and other buffers."""

import array
import atexit
import os
import time

import numpy as np
import pytest

import wia
from ranks import interrupt_soon, other_threads_run, run_once, run_ranks

DTYPES = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


def with_world(function, timeout=60.0):
    """function(world), in a world of its own."""
    world = wia.init()
    world.set_timeout(timeout)
    try:
        return function(world)
    finally:
        wia.finalize()


def data(rank: int, count: int, dtype: str = "int64") -> np.ndarray:
    """Differs from element to element and from rank to rank; small enough for sums of few ranks in 8 bits."""
    return ((np.arange(count) * 7 + rank * 3) % 11).astype(dtype)


def end_of(world) -> str:
    """Why the communicator has ended, for a rank that makes no call meanwhile."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            world.check()
        except wia.Error as error:
            return str(error)
        time.sleep(0.05)
    with pytest.raises(wia.Error) as caught:  # whoever ended it has left since
        world.barrier()
    return str(caught.value)


def _every_collective(count: int) -> None:
    def body(world):
        n, me = world.size, world.rank
        for dtype in DTYPES:
            everyone = [data(r, count, dtype) for r in range(n)]
            mine = everyone[me].copy()
            out = np.empty_like(mine)
            world.all_reduce(mine, out)
            assert (out == sum(everyone)).all() and (mine == everyone[me]).all()
            world.all_reduce(mine, op="max")
            assert (mine == np.max(everyone, axis=0)).all()
            gathered = np.empty((n, count), dtype)
            world.all_gather(everyone[me], gathered)
            assert (gathered == everyone).all()
            blocks = np.concatenate([data(me + r, count, dtype) for r in range(n)])
            world.reduce_scatter(blocks, out)
            assert (out == sum(data(r + me, count, dtype) for r in range(n))).all()
            world.all_to_all(blocks, gathered)
            assert (gathered == [data(r + me, count, dtype) for r in range(n)]).all()
            for root in range(n):
                out[:] = everyone[me]
                world.broadcast(out, root)
                assert (out == everyone[root]).all()
                world.reduce(everyone[me], out, "min", root)
                assert me != root or (out == np.min(everyone, axis=0)).all()
                world.gather(everyone[me], gathered if me == root else None, root)
                assert me != root or (gathered == everyone).all()
                world.scatter(blocks if me == root else None, out, root)
                assert (out == data(root + me, count, dtype)).all()
        world.barrier()

    with_world(body)


@pytest.mark.parametrize("count", [1, 1000])
def test_every_collective(count):
    run_ranks(3, _every_collective, count)


def _uneven() -> None:
    def body(world):
        n, me = world.size, world.rank
        counts = [2, 0, 5]
        everything = np.concatenate([data(r, counts[r]) for r in range(n)])
        out = np.empty_like(everything)
        world.all_gather(data(me, counts[me]), out, counts)
        assert (out == everything).all()
        part = np.empty(counts[me], "int64")
        world.reduce_scatter(everything, part, counts=counts)
        assert (part == n * data(me, counts[me])).all()
        world.scatter(everything if me == 1 else None, part, 1, counts)
        assert (part == data(me, counts[me])).all()
        world.gather(part, out if me == 2 else None, 2, counts)
        sent = [me + r for r in range(n)]  # symmetric: what r sends here is as long
        got = np.empty(sum(sent), "int64")
        world.all_to_all(np.full(sum(sent), me), got, sent, sent)
        assert (got == np.repeat(np.arange(n), sent)).all()

    with_world(body)


def test_uneven_blocks():
    run_ranks(3, _uneven)


def _other_buffers() -> None:
    def body(world):
        numbers = array.array("d", [world.rank + 1.0] * 4)
        world.all_reduce(numbers)
        assert list(numbers) == [3.0] * 4
        flags = np.array([world.rank == 0, True, False])
        world.all_reduce(flags, op="land")
        assert flags.tolist() == [False, True, False]
        values = bytearray([world.rank] * 3)
        world.broadcast(values, 1)
        assert values == b"\1\1\1"
        fractions = np.full(5, 0.5, "float32")
        world.all_reduce(fractions, factor=3.0)
        assert (fractions == 3.0).all()

    with_world(body)


def test_other_buffers_and_types():
    run_ranks(2, _other_buffers)


def _bad_arguments() -> None:
    def body(world):
        good = np.zeros(6, "float32")
        constant = good.copy()
        constant.flags.writeable = False
        for call, words in [
            (lambda: world.all_reduce(good[::2]), ["send", "not contiguous"]),
            (lambda: world.all_reduce(np.zeros((2, 3)).T), ["send", "not contiguous"]),
            (lambda: world.all_reduce(constant), ["send", "read-only"]),
            (lambda: world.all_reduce(good, np.zeros(6)), ["recv", "another type"]),
            (lambda: world.all_reduce(good, np.zeros(5, "float32")), ["recv", "5", "6"]),
            (lambda: world.all_reduce(good, op="mean"), ["mean", "legal"]),
            (lambda: world.all_reduce(np.zeros(3, "complex64")), ["send"]),
            (lambda: world.all_reduce([1, 2]), ["send", "list"]),
            (lambda: world.broadcast(good, 7), ["root", "7", "0 to 1"]),
            (lambda: world.send(good, -1), ["to", "-1", "0 to 1"]),
            (lambda: world.all_to_all(np.zeros(3), np.zeros(3)), ["3", "multiple of 2"]),
            (lambda: world.create([0, 0]), ["0 twice"]),
        ]:
            with pytest.raises(ValueError) as caught:
                call()
            assert all(word in str(caught.value) for word in words), caught.value
        sums = np.ones(3)
        world.all_reduce(sums)
        assert (sums == 2).all()

    with_world(body)


def test_bad_arguments_leave_all_as_it_was():
    run_ranks(2, _bad_arguments)


def _transfers() -> None:
    def body(world):
        other = 1 - world.rank
        for count in (1, 1 << 20):
            send, first, second = data(world.rank, count), np.empty(count, "int64"), np.empty(count, "int64")
            requests = [world.asynchronous.send(send, other, tag) for tag in (1, 2)]
            world.recv(second, other, 2)
            world.recv(first, other, 1)
            assert all(request.wait() for request in requests)
            assert (first == data(other, count)).all() and (second == first).all()

    with_world(body)


def test_messages_match_by_tag():
    run_ranks(2, _transfers)


def _asynchronous() -> None:
    def body(world):
        arrays = [data(world.rank, 1000 + i) for i in range(20)]
        requests = [world.asynchronous.all_reduce(each) for each in arrays]
        for i, request in reversed(list(enumerate(requests))):
            assert request.wait() and request.test()
            assert (arrays[i] == data(0, 1000 + i) + data(1, 1000 + i)).all()
        # An object that nobody holds any more keeps its array until the call is done.
        world.asynchronous.all_reduce(np.ones(100_000))
        world.barrier()
        if world.rank == 0:
            word = np.zeros(1)
            request = world.asynchronous.recv(word, 1)
            assert not request.test() and not request.wait(0.05)
            world.barrier()
            assert request.wait() and word[0] == 1
        else:
            world.barrier()
            world.send(np.ones(1), 0)

    with_world(body)


def test_asynchronous_calls():
    run_ranks(2, _asynchronous)


def _groups() -> None:
    def body(world):
        half = world.split(world.rank % 2, -world.rank)
        assert half.size == 2 and half.rank == (1 if world.rank < 2 else 0)
        value = np.array([world.rank])
        half.all_reduce(value)
        assert value[0] == 2 * (world.rank % 2) + 2
        assert (world.split(0 if world.rank == 3 else -1) is None) == (world.rank != 3)
        twin = world.duplicate()
        twin.all_reduce(value)
        if world.rank in (1, 3):
            pair = world.create([3, 1])
            assert pair.rank == (0 if world.rank == 3 else 1)
            pair.barrier()
        half.destroy()
        half.destroy()
        with pytest.raises(wia.Error) as caught:
            half.barrier()
        assert caught.value.code is wia.Status.DESTROYED
        world.barrier()

    with_world(body)


def test_groups():
    run_ranks(4, _groups)


def _own_launcher(pipe_of_id: str) -> None:
    rank = int(os.environ["RANK"])
    if rank == 0:
        with open(pipe_of_id + ".new", "wb") as file:
            file.write(wia.unique_id("127.0.0.1"))
        os.rename(pipe_of_id + ".new", pipe_of_id)
    while not os.path.exists(pipe_of_id):
        time.sleep(0.01)
    with open(pipe_of_id, "rb") as file:
        world = wia.init_rank(2, file.read(), rank)
    value = np.ones(1)
    world.all_reduce(value)
    assert value[0] == 2
    world.destroy()


def test_a_launcher_of_ones_own(tmp_path):
    run_ranks(2, _own_launcher, str(tmp_path / "id"))


def _different_calls() -> None:
    def body(world):
        with pytest.raises(wia.Error) as caught:
            world.all_reduce(np.zeros(2 + world.rank))
        assert caught.value.code is wia.Status.MISMATCH
        assert all(word in str(caught.value) for word in ("rank 0", "rank 1", "of 2 float64", "of 3 float64"))
        with pytest.raises(wia.Error):
            world.check()

    with_world(body)


def test_different_calls_are_told_on_both_sides():
    run_ranks(2, _different_calls)


def _late() -> None:
    def body(world):
        if world.rank == 0:
            with pytest.raises(TimeoutError) as caught:
                world.all_reduce(np.zeros(2))
            assert isinstance(caught.value, wia.TimeoutError) and "rank 1" in str(caught.value)
        else:
            assert "rank 0" in end_of(world)

    with_world(body, timeout=1.0)


def test_a_timeout_names_who_is_missing():
    run_ranks(2, _late)


def _interrupted(kind: str) -> float:
    def body(world):
        value = np.zeros(2)
        if world.rank == 1:
            return end_of(world)  # is not coming
        interrupt_soon(0.5)
        began = time.monotonic()
        with other_threads_run(), pytest.raises(KeyboardInterrupt):
            if kind == "blocking":
                world.all_reduce(value)
            elif kind == "receive":
                world.recv(value, 1)
            else:
                world.asynchronous.all_reduce(value).wait()
        waited = time.monotonic() - began
        world.abort()
        return waited

    return with_world(body, timeout=200.0)


@pytest.mark.parametrize("kind", ["blocking", "receive", "request"])
def test_ctrl_c_ends_a_wait(kind):
    """S14 (g). Without it the wait would take 200 s."""
    waited, told = run_once(2, _interrupted, kind)
    assert waited < 0.5 + 2 + 5
    assert kind == "request" or "rank 0" in told


def _interrupted_start() -> float:
    if os.environ["RANK"] == "1":
        return 0.0
    interrupt_soon(1.0)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wia.init()
    return time.monotonic() - began


def test_ctrl_c_ends_a_start():
    assert run_once(2, _interrupted_start, WIA_INIT_TIMEOUT="200")[0] < 1 + 2 + 5


def _fork(kind: str) -> None:
    def body(world):
        values = np.ones(10)
        world.all_reduce(values)
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                code = 0
                if kind == "call":
                    try:
                        world.all_reduce(values)
                        code = 1
                    except wia.Error as error:
                        code = 0 if error.code is wia.Status.FORKED else 2
                if kind == "exit":
                    atexit._run_exitfuncs()
                os._exit(code)
            children.append(child)
        for i in range(100):
            world.all_reduce(values, op="max")
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
        world.all_reduce(values)
        assert (values == 4).all()

    with_world(body)


@pytest.mark.parametrize("kind", ["_exit", "exit", "call"])
def test_children_disturb_nobody(kind):
    """S20."""
    run_ranks(2, _fork, kind)


def _again() -> None:
    for i in range(10):

        def body(world):
            value = np.array([world.rank + i])
            world.all_reduce(value)
            assert value[0] == 2 * i + 1

        with_world(body)


def test_starting_over():
    """S19."""
    run_ranks(2, _again)


def _dies() -> str:
    world = wia.init()
    value = np.zeros(1 << 16)
    world.all_reduce(value)
    if world.rank == 1:
        os.kill(os.getpid(), 9)
    with pytest.raises(wia.Error) as caught:
        for _ in range(1000):
            world.all_reduce(value)
    assert caught.value.code is wia.Status.PEER_FAILED
    return str(caught.value)


def test_a_rank_that_dies_is_named():
    texts = run_once(3, _dies, lost=(1,))
    assert "rank 1" in texts[0] and "rank 1" in texts[2]
