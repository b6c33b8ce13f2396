"""Communicators over arrays in the CPU's memory."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar

from . import _native

# Anything with DLPack or the buffer protocol: a NumPy array, a torch.Tensor, an array.array, a bytearray.
Array = Any
Op = Literal["sum", "prod", "min", "max", "avg", "band", "bor", "bxor", "land", "lor"]

_OPS = {name: code for code, name in enumerate(Op.__args__)}  # type: ignore[attr-defined]
_PARTING_MS = 2000

Outcome = TypeVar("Outcome")


def _op(name: str) -> int:
    try:
        return _OPS[name]
    except KeyError:
        raise ValueError(f"op is {name!r}; legal are {', '.join(_OPS)}") from None


def _milliseconds(seconds: float | None) -> int:
    """None: no limit."""
    return -1 if seconds is None else max(1, round(seconds * 1000))


class Request:
    """A call under way. The arrays it was given are kept alive until it is done."""

    def __init__(self, native: _native.Request):
        self._native = native

    def wait(self, timeout: float | None = None) -> bool:
        """True: done. False: not within `timeout` seconds; the call goes on. None: until the communicator's
        timeout.

        Raises wia.Error if the call failed. Ctrl-C ends the wait, not the call.
        """
        return self._native.wait(-1 if timeout is None else max(0, round(timeout * 1000)))

    def test(self) -> bool:
        """Whether it is done; never waits. Raises wia.Error if the call failed."""
        return self._native.test()


class _Arrays:
    """The arrays of one call: equal in type, each with its length checked."""

    def __init__(self) -> None:
        self.dtype: int | None = None
        self.kept: list[Any] = []

    def take(
        self, array: Array, name: str, count: int | None = None, writable: bool = False
    ) -> tuple[int, int]:
        """(address, elements)"""
        address, elements, dtype, keep = _native.view(array, writable, name)
        if self.dtype is None:
            self.dtype = dtype
        elif dtype != self.dtype:
            raise ValueError(f"{name} has elements of another type than the other array")
        if count is not None and elements != count:
            raise ValueError(f"{name} has {elements} elements; wanted are {count}")
        self.kept.append(keep)
        return address, elements


class Collectives(Generic[Outcome]):
    """Every call, once for both ways to make it.

    `Communicator` makes them blocking and gives None; `Communicator.asynchronous` gives a `Request` at once.
    Arrays are used where they are: they must be contiguous. Counts are elements; n is the number of ranks. A
    wrong argument raises ValueError before anything is sent; everything else that fails raises wia.Error.
    """

    _native: _native.Communicator
    _blocking: bool

    def _keep(self, arrays: _Arrays) -> Any:
        return None if self._blocking else arrays.kept

    def _give(self, request: Any) -> Outcome:
        return request if self._blocking else Request(request)  # type: ignore[return-value]

    def all_reduce(
        self, send: Array, recv: Array | None = None, op: Op = "sum", factor: float | None = None
    ) -> Outcome:
        """recv[i] = op over the ranks of send[i]; recv None: in place. factor: sum of send times factor
        (floats).
        """
        arrays = _Arrays()
        source, count = arrays.take(send, "send", writable=recv is None)
        target = source if recv is None else arrays.take(recv, "recv", count, True)[0]
        if factor is not None:
            if op != "sum":
                raise ValueError(f"op is {op!r} with a factor; legal is 'sum'")
            return self._give(
                self._native.all_reduce_scaled(
                    source, target, count, arrays.dtype, factor, self._keep(arrays)
                )
            )
        return self._give(
            self._native.all_reduce(source, target, count, arrays.dtype, _op(op), self._keep(arrays))
        )

    def all_gather(self, send: Array, recv: Array, counts: Sequence[int] | None = None) -> Outcome:
        """recv: n blocks of send's length, in the order of ranks; with counts: rank r sends counts[r]."""
        arrays = _Arrays()
        source, count = arrays.take(send, "send", counts[self._native.rank] if counts else None)
        total = sum(counts) if counts else count * self._native.size
        target, _ = arrays.take(recv, "recv", total, True)
        if counts:
            return self._give(
                self._native.all_gather_v(
                    source, target, list(counts), None, arrays.dtype, self._keep(arrays)
                )
            )
        return self._give(self._native.all_gather(source, target, count, arrays.dtype, self._keep(arrays)))

    def reduce_scatter(
        self, send: Array, recv: Array, op: Op = "sum", counts: Sequence[int] | None = None
    ) -> Outcome:
        """send: n blocks of recv's length; recv: this rank's block of the result; with counts: rank r gets
        counts[r].
        """
        arrays = _Arrays()
        target, count = arrays.take(recv, "recv", counts[self._native.rank] if counts else None, True)
        source, _ = arrays.take(send, "send", sum(counts) if counts else count * self._native.size)
        if counts:
            return self._give(
                self._native.reduce_scatter_v(
                    source, target, list(counts), arrays.dtype, _op(op), self._keep(arrays)
                )
            )
        return self._give(
            self._native.reduce_scatter(source, target, count, arrays.dtype, _op(op), self._keep(arrays))
        )

    def broadcast(self, buffer: Array, root: int = 0) -> Outcome:
        """buffer of every rank = that of root."""
        arrays = _Arrays()
        address, count = arrays.take(buffer, "buffer", writable=self._native.rank != root)
        return self._give(self._native.broadcast(address, count, arrays.dtype, root, self._keep(arrays)))

    def reduce(self, send: Array, recv: Array | None = None, op: Op = "sum", root: int = 0) -> Outcome:
        """As all_reduce, but recv is written on root only; None there: in place."""
        arrays = _Arrays()
        is_root = self._native.rank == root
        source, count = arrays.take(send, "send", writable=is_root and recv is None)
        target = source if recv is None or not is_root else arrays.take(recv, "recv", count, True)[0]
        return self._give(
            self._native.reduce(source, target, count, arrays.dtype, _op(op), root, self._keep(arrays))
        )

    def gather(
        self, send: Array, recv: Array | None = None, root: int = 0, counts: Sequence[int] | None = None
    ) -> Outcome:
        """recv (on root only): n blocks of send's length; with counts: rank r sends counts[r]."""
        arrays = _Arrays()
        source, count = arrays.take(send, "send", counts[self._native.rank] if counts else None)
        total = sum(counts) if counts else count * self._native.size
        target = arrays.take(recv, "recv", total, True)[0] if self._native.rank == root else 0
        if counts:
            return self._give(
                self._native.gather_v(source, target, list(counts), arrays.dtype, root, self._keep(arrays))
            )
        return self._give(self._native.gather(source, target, count, arrays.dtype, root, self._keep(arrays)))

    def scatter(
        self, send: Array | None, recv: Array, root: int = 0, counts: Sequence[int] | None = None
    ) -> Outcome:
        """send (on root only): n blocks of recv's length; with counts: rank r gets counts[r]."""
        arrays = _Arrays()
        target, count = arrays.take(recv, "recv", counts[self._native.rank] if counts else None, True)
        total = sum(counts) if counts else count * self._native.size
        source = arrays.take(send, "send", total)[0] if self._native.rank == root else 0
        if counts:
            return self._give(
                self._native.scatter_v(source, target, list(counts), arrays.dtype, root, self._keep(arrays))
            )
        return self._give(self._native.scatter(source, target, count, arrays.dtype, root, self._keep(arrays)))

    def all_to_all(
        self,
        send: Array,
        recv: Array,
        send_counts: Sequence[int] | None = None,
        recv_counts: Sequence[int] | None = None,
    ) -> Outcome:
        """Block r of send goes to rank r, block r of recv comes from it: equal blocks, or as the counts
        say.
        """
        arrays = _Arrays()
        if send_counts is None and recv_counts is None:
            source, count = arrays.take(send, "send")
            target, _ = arrays.take(recv, "recv", count, True)
            if count % self._native.size:
                raise ValueError(f"send has {count} elements; wanted is a multiple of {self._native.size}")
            block = count // self._native.size
            return self._give(
                self._native.all_to_all(source, target, block, arrays.dtype, self._keep(arrays))
            )
        if send_counts is None or recv_counts is None:
            raise ValueError("one of send_counts and recv_counts is missing; wanted are both or none")
        source, _ = arrays.take(send, "send", sum(send_counts))
        target, _ = arrays.take(recv, "recv", sum(recv_counts), True)
        return self._give(
            self._native.all_to_all_v(
                source, list(send_counts), target, list(recv_counts), arrays.dtype, self._keep(arrays)
            )
        )

    def barrier(self) -> Outcome:
        """Done once every rank has come."""
        return self._give(self._native.barrier(None if self._blocking else ()))

    def send(self, buffer: Array, to: int, tag: int = 0) -> Outcome:
        """To be received by rank `to` with this tag."""
        arrays = _Arrays()
        address, count = arrays.take(buffer, "buffer")
        return self._give(self._native.send(address, count, arrays.dtype, to, tag, self._keep(arrays)))

    def recv(self, buffer: Array, source: int, tag: int = 0) -> Outcome:
        """A message of rank `source` with this tag, whose length must be that of buffer."""
        arrays = _Arrays()
        address, count = arrays.take(buffer, "buffer", writable=True)
        return self._give(self._native.recv(address, count, arrays.dtype, source, tag, self._keep(arrays)))


class _Asynchronous(Collectives[Request]):
    _blocking = False

    def __init__(self, native: _native.Communicator):
        self._native = native


class Communicator(Collectives[None]):
    """A group of ranks. `wia.init()` gives that of all ranks.

    Calls of one communicator must come in the same order on all ranks. The GIL is free while a call waits,
    and Ctrl-C ends a wait: KeyboardInterrupt here, and the communicator is aborted, which the other ranks are
    told.
    """

    _blocking = True

    def __init__(self, native: _native.Communicator):
        self._native = native

    @property
    def asynchronous(self) -> Collectives[Request]:
        """The same calls, each giving a Request at once."""
        return _Asynchronous(self._native)

    @property
    def rank(self) -> int:
        return self._native.rank

    @property
    def size(self) -> int:
        return self._native.size

    @property
    def num_nodes(self) -> int:
        return self._native.num_nodes

    @property
    def transport(self) -> str:
        """What carries its data: "shared memory", "tcp"..."""
        return self._native.transport

    def split(self, color: int, key: int = 0) -> Communicator | None:
        """Collective. Ranks of equal color form a communicator, ordered by key, then by rank. color < 0:
        None.
        """
        made = self._native.split(color, key)
        return None if made is None else Communicator(made)

    def duplicate(self) -> Communicator:
        """Collective. The same ranks, calls of their own."""
        return Communicator(self._native.duplicate())

    def create(self, ranks: Sequence[int]) -> Communicator:
        """Called by the members alone: `ranks` of this communicator, in the order of the new one."""
        return Communicator(self._native.create(list(ranks)))

    def set_timeout(self, seconds: float | None) -> None:
        """Limit of each wait from now on; None: no limit."""
        self._native.set_timeout(_milliseconds(seconds))

    def set_deterministic(self, on: bool) -> None:
        """Combine contributions in the order of ranks always. All ranks must set it alike."""
        self._native.set_deterministic(on)

    def set_algorithm(self, collective: str, algorithm: str = "auto") -> None:
        """Use the algorithm of this name. All ranks must set it alike."""
        self._native.set_algorithm(collective, algorithm)

    def check(self) -> None:
        """Raises the wia.Error that made this communicator unusable, here or on another rank, if there is
        one.
        """
        self._native.check()

    def waiting(self) -> str:
        """The call that is under way and who has not entered it; empty: none."""
        return self._native.waiting()

    def abort(self) -> None:
        """Ends all that is under way, here and on the other ranks. Local."""
        self._native.abort()

    def destroy(self) -> None:
        """Local. Harmless when repeated."""
        self._native.destroy()


def init() -> Communicator:
    """Joins the job of the launcher's environment and gives the communicator of all ranks; alone: of one.

    `wia run`, torchrun, mpirun and srun are known. A second call before finalize() gives the same ranks.
    Raises wia.TimeoutError, naming who is missing, after WIA_INIT_TIMEOUT.
    """
    return Communicator(_native.init())


def finalize() -> None:
    """Destroys every communicator. A process that serves the meeting point stays until the others have
    finished.
    """
    _native.finalize()


def unique_id(host: str | None = None) -> bytes:
    """For launchers of your own: makes a meeting point here, at an address of this host that the others
    reach.

    None: WIA_MASTER_ADDR, else the first network interface's. All ranks give the id to init_rank.
    """
    return _native.unique_id(host)


def init_rank(size: int, id: bytes, rank: int) -> Communicator:
    """The communicator of `size` ranks that meet by `id`."""
    return Communicator(_native.init_rank(size, id, rank))


@atexit.register
def _part() -> None:
    # What the last calls have sent may still be on its way; but nobody is to wait for this process.
    try:
        _native.finalize(_PARTING_MS)
    except Exception:  # a forked child has nothing to part from
        pass
