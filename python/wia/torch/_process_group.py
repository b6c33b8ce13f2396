"""The process group: torch.distributed's calls in terms of wia's.

A subclass of torch.distributed.ProcessGroup, of which PyTorch calls the Python methods, also from C++ (the
reducer of DistributedDataParallel, functional collectives). Names and argument forms are PyTorch's. Tensors
are on the CPU and used where they are when contiguous. A wrong argument raises ValueError or TypeError before
anything is sent.
"""

from __future__ import annotations

import atexit
import weakref
from collections import deque
from datetime import timedelta
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d
from torch.distributed import ProcessGroup, Work

from .. import _native
from .._errors import Error
from . import _monitored_barrier, _profiler, _rendezvous, _sparse
from ._tensors import Copy, dtype_to_move, dtype_to_reduce, joined_source, joined_target, source, target
from ._work import DONE, CompletedWork, Completer, PendingWork

Tensor = torch.Tensor

_RedOp = dist.ReduceOp.RedOpType
# As wia_op_t. By number: to compare PyTorch's own takes a microsecond.
_OPS = {
    int(_RedOp.SUM): 0,
    int(_RedOp.PRODUCT): 1,
    int(_RedOp.MIN): 2,
    int(_RedOp.MAX): 3,
    int(_RedOp.AVG): 4,
    int(_RedOp.BAND): 5,
    int(_RedOp.BOR): 6,
    int(_RedOp.BXOR): 7,
}
_PREMUL_SUM = int(_RedOp.PREMUL_SUM)
_SUM = 0
_NO_TIME = timedelta(0)
_CPU = torch.device("cpu")


def _op_of(options: Any) -> tuple[int, float | None]:
    """(wia_op_t, factor of each contribution or None)"""
    op = options.reduceOp
    kind = int(op.op)
    if kind == _PREMUL_SUM:
        return _SUM, float(op.factor if hasattr(op, "factor") else op.__getstate__()[1])
    return _OPS[kind], None


def _only(tensors: list[Tensor], call: str) -> Tensor:
    if len(tensors) != 1:
        raise ValueError(f"{call}: a list of {len(tensors)} tensors; the backend wia takes one")
    return tensors[0]


_groups: weakref.WeakSet[ProcessGroupWia] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Threads that wait for works must not outlive the interpreter."""
    for group in list(_groups):
        try:
            group.shutdown()
        except Error:  # a forked child
            pass


class ProcessGroupWia(ProcessGroup):
    """The ranks of `communicator` as a process group; `timeout` limits each call. It owns the
    communicator.
    """

    def __init__(
        self, store: Any, rank: int, size: int, communicator: _native.Communicator, timeout: timedelta
    ):
        try:
            super().__init__(store, rank, size)
        except TypeError:  # PyTorch 2.4
            super().__init__(rank, size)
        self.communicator = communicator
        self._timeout = timeout
        self._completer = Completer()
        self._coalesced: list[PendingWork] | None = None
        # Under join(), DistributedDataParallel gives the work of a one to its part in C++ and drops it here. With
        # its Python object a work loses its wait(), and C++ would wait for ever.
        self._held: deque[Work] = deque(maxlen=64)
        self._group_name = self._group_desc = ""
        self.set_timeout(timeout)
        _groups.add(self)

    # ---- What it is ------------------------------------------------------------------------------------

    supports_splitting = supports_coalescing = supports_shrinking = supports_time_estimate = False

    def name(self) -> str:
        return "wia"

    getBackendName = _get_backend_name = name

    @property
    def _device_types(self) -> list[torch.device]:
        return [_CPU]

    def _get_backend(self, device: torch.device) -> ProcessGroupWia:
        if torch.device(device).type != "cpu":
            raise RuntimeError(
                f"the process group of the backend wia has no backend for {device}; it has one for cpu"
            )
        return self

    @property
    def group_name(self) -> str:
        return self._group_name

    @property
    def group_desc(self) -> str:
        return self._group_desc

    def getGroupName(self) -> str:
        return self._group_name

    def getGroupDesc(self) -> str:
        return self._group_desc

    def _set_group_name(self, name: str) -> None:
        self._group_name = name

    def _set_group_desc(self, description: str) -> None:
        self._group_desc = description

    setGroupName, setGroupDesc = _set_group_name, _set_group_desc

    # ---- Life ------------------------------------------------------------------------------------------

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout
        self.communicator.set_timeout(max(1, round(timeout.total_seconds() * 1000)))

    _set_default_timeout = set_timeout

    def abort(self) -> None:
        """Ends all that is under way, on all ranks."""
        self.communicator.abort()
        self.shutdown()

    def shutdown(self) -> None:
        """Local; what is under way ends with an error."""
        self.communicator.destroy()
        self._completer.stop()

    # ---- Running a call ----------------------------------------------------------------------------------

    def _run(
        self,
        name: str,
        options: Any,
        start: Callable[[Any], Any],
        tensors: list[Tensor],
        copies: list[Copy],
        keep: Any = None,
        given: list[Tensor] | None = None,
    ) -> Work:
        """start(keep) makes the call, blocking when keep is None. tensors: the results; keep: what else must
        live; given: what this rank gives, where that is not the results.
        """
        timeout = getattr(options, "timeout", None)
        limit = timeout.total_seconds() if timeout is not None and timeout > _NO_TIME else None
        if getattr(options, "asyncOp", True) or _profiler.enabled():
            return self._run_all(name, options, [start], tensors, copies, keep, given, limit)
        if limit is None:
            start(None)
        else:
            self.communicator.set_timeout(max(1, round(limit * 1000)))
            try:
                start(None)
            finally:
                self.restore_timeout()
        if copies:
            with torch.no_grad():
                for copy in copies:
                    copy()
        return DONE

    def _run_all(
        self,
        name: str,
        options: Any,
        starts: list[Callable[[Any], Any]],
        tensors: list[Tensor],
        copies: list[Copy],
        keep: Any,
        given: list[Tensor] | None = None,
        limit: float | None = None,
    ) -> Work:
        """Several calls with one work, which is waited for if the options say so."""
        given = tensors if given is None else given
        work = self._begin(name, starts, given, tensors, copies, keep, self._completer, limit)
        if not getattr(options, "asyncOp", True):
            work.wait()
        return work

    def _begin(
        self,
        name: str,
        starts: list[Callable[[Any], Any]],
        given: list[Tensor],
        tensors: list[Tensor],
        copies: list[Copy],
        keep: Any,
        completer: Completer | None,
        limit: float | None = None,
    ) -> PendingWork:
        event = _profiler.Event(f"wia:{name}", given) if _profiler.enabled() else None
        requests = [start((tensors, keep)) for start in starts]
        work = PendingWork(self, requests, tensors, copies, completer, limit, event)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def restore_timeout(self) -> None:
        try:
            self.set_timeout(self._timeout)
        except Error:  # destroyed meanwhile
            pass

    # ---- Reductions --------------------------------------------------------------------------------------

    def allreduce(self, tensors: list[Tensor], opts: Any = None) -> Work:
        """In place."""
        opts = opts or c10d.AllreduceOptions()
        tensor = _only(tensors if isinstance(tensors, (list, tuple)) else [tensors], "all_reduce")
        if tensor.layout is not torch.strided:
            _sparse.all_reduce(self, tensor, opts.reduceOp)
            return CompletedWork([tensor])
        copies: list[Copy] = []
        data = target(tensor, "all_reduce", copies, filled=True)
        work = self._run("all_reduce", opts, self._start_allreduce(data, opts), [tensor], copies, data)
        if work is not DONE and tensor.numel() == 1:
            self._held.append(work)
        return work

    def _start_allreduce(self, data: Tensor, opts: Any) -> Callable[[Any], Any]:
        address, count, dtype = data.data_ptr(), data.numel(), dtype_to_reduce(data, "all_reduce")
        op, factor = _op_of(opts)
        if factor is not None:
            return lambda keep: self.communicator.all_reduce_scaled(
                address, address, count, dtype, factor, keep
            )
        return lambda keep: self.communicator.all_reduce(address, address, count, dtype, op, keep)

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = None) -> Work:
        """Each in place."""
        opts = opts or c10d.AllreduceCoalescedOptions()
        copies: list[Copy] = []
        datas = [target(tensor, "all_reduce_coalesced", copies, filled=True) for tensor in tensors]
        starts = [self._start_allreduce(data, opts) for data in datas]
        return self._run_all("all_reduce_coalesced", opts, starts, tensors, copies, datas)

    def reduce(self, tensors: list[Tensor], opts: Any = None) -> Work:
        """In place on the root; the others' tensors stay as they are."""
        opts = opts or c10d.ReduceOptions()
        tensor, root = _only(tensors, "reduce"), opts.rootRank
        copies: list[Copy] = []
        op, factor = _op_of(opts)
        is_root = self.rank() == root
        data = target(tensor, "reduce", copies, filled=True) if is_root else source(tensor, "reduce")
        given = data if factor is None else data.detach() * factor
        send, recv, count, dtype = (
            given.data_ptr(),
            data.data_ptr(),
            data.numel(),
            dtype_to_reduce(data, "reduce"),
        )
        recv = recv if is_root else send

        def start(keep: Any) -> Any:
            return self.communicator.reduce(send, recv, count, dtype, op, root, keep)

        return self._run("reduce", opts, start, [tensor], copies, (data, given))

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """input: size() blocks of output's length, one behind the other."""
        opts = opts or c10d.ReduceScatterOptions()
        copies: list[Copy] = []
        start, keep = self._start_reduce_scatter(output, input, opts, copies)
        return self._run("reduce_scatter_tensor", opts, start, [output], copies, keep, [input])

    reduce_scatter_single = _reduce_scatter_base

    def _start_reduce_scatter(
        self, output: Tensor, input: Tensor, opts: Any, copies: list[Copy]
    ) -> tuple[Any, Any]:
        call = "reduce_scatter_tensor"
        self._check_pair(call, "input", input, "output", output, input.numel(), output.numel() * self.size())
        given, data = source(input, call, "input"), target(output, call, copies, "output")
        op, factor = _op_of(opts)
        if factor is not None:
            given = given.detach() * factor
        send, recv, count, dtype = (
            given.data_ptr(),
            data.data_ptr(),
            data.numel(),
            dtype_to_reduce(data, call),
        )

        def start(keep: Any) -> Any:
            return self.communicator.reduce_scatter(send, recv, count, dtype, op, keep)

        return start, (given, data)

    def reduce_scatter_tensor_coalesced(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
    ) -> Work:
        opts = opts or c10d.ReduceScatterOptions()
        copies: list[Copy] = []
        made = [self._start_reduce_scatter(o, i, opts, copies) for o, i in zip(outputs, inputs, strict=True)]
        starts, keeps = [each[0] for each in made], [each[1] for each in made]
        return self._run_all("reduce_scatter_tensor_coalesced", opts, starts, outputs, copies, keeps, inputs)

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def reduce_scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any = None) -> Work:
        """inputs[0]: one tensor for each rank; their lengths may differ."""
        opts, call = opts or c10d.ReduceScatterOptions(), "reduce_scatter"
        output, parts = _only(outputs, call), list(inputs[0])
        copies: list[Copy] = []
        given, data = joined_source(parts, call, "input_list", self.size()), target(
            output, call, copies, "output"
        )
        counts = [part.numel() for part in parts]
        own = counts[self.rank()]
        self._check_pair(call, f"input_list[{self.rank()}]", given, "output", data, own, data.numel())
        op, factor = _op_of(opts)
        if factor is not None:
            given = torch.cat([part.detach().reshape(-1) for part in parts]) * factor
        send, recv, dtype = given.data_ptr(), data.data_ptr(), dtype_to_reduce(data, call)

        def start(keep: Any) -> Any:
            return self.communicator.reduce_scatter_v(send, recv, counts, dtype, op, keep)

        return self._run(call, opts, start, [output], copies, (parts, given, data), parts)

    # ---- Moves -------------------------------------------------------------------------------------------

    def broadcast(self, tensors: list[Tensor], opts: Any = None) -> Work:
        opts = opts or c10d.BroadcastOptions()
        tensor, root = _only(tensors, "broadcast"), opts.rootRank
        copies: list[Copy] = []
        data = source(tensor, "broadcast") if self.rank() == root else target(tensor, "broadcast", copies)
        dtype, each = dtype_to_move(data)
        address, count = data.data_ptr(), data.numel() * each

        def start(keep: Any) -> Any:
            return self.communicator.broadcast(address, count, dtype, root, keep)

        return self._run("broadcast", opts, start, [tensor], copies, data)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """output: size() blocks of input's length, whatever its shape."""
        opts = opts or c10d.AllgatherOptions()
        copies: list[Copy] = []
        start, keep = self._start_allgather(output, input, copies)
        return self._run("all_gather_into_tensor", opts, start, [output], copies, keep, [input])

    all_gather_single = _allgather_base

    def _start_allgather(self, output: Tensor, input: Tensor, copies: list[Copy]) -> tuple[Any, Any]:
        call = "all_gather_into_tensor"
        self._check_pair(call, "output", output, "input", input, output.numel(), input.numel() * self.size())
        given, data = source(input, call, "input"), target(output, call, copies, "output")
        dtype, each = dtype_to_move(data)
        send, recv, count = given.data_ptr(), data.data_ptr(), given.numel() * each

        def start(keep: Any) -> Any:
            return self.communicator.all_gather(send, recv, count, dtype, keep)

        return start, (given, data)

    def allgather_into_tensor_coalesced(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
    ) -> Work:
        opts = opts or c10d.AllgatherOptions()
        copies: list[Copy] = []
        made = [self._start_allgather(o, i, copies) for o, i in zip(outputs, inputs, strict=True)]
        starts, keeps = [each[0] for each in made], [each[1] for each in made]
        return self._run_all("all_gather_into_tensor_coalesced", opts, starts, outputs, copies, keeps, inputs)

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    def allgather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:
        """outputs[0]: one tensor for each rank; their lengths may differ."""
        opts = opts or c10d.AllgatherOptions()
        copies: list[Copy] = []
        start, keep = self._start_allgather_list(list(outputs[0]), _only(inputs, "all_gather"), copies)
        return self._run("all_gather", opts, start, list(outputs[0]), copies, keep, inputs)

    def _start_allgather_list(
        self, parts: list[Tensor], input: Tensor, copies: list[Copy]
    ) -> tuple[Any, Any]:
        call = "all_gather"
        given, data = source(input, call, "tensor"), joined_target(
            parts, call, "tensor_list", self.size(), copies
        )
        dtype, each = dtype_to_move(data)
        counts = [part.numel() * each for part in parts]
        own = given.numel() * each
        self._check_pair(call, f"tensor_list[{self.rank()}]", data, "tensor", given, counts[self.rank()], own)
        send, recv, even = given.data_ptr(), data.data_ptr(), len(set(counts)) == 1

        def start(keep: Any) -> Any:
            if even:
                return self.communicator.all_gather(send, recv, own, dtype, keep)
            return self.communicator.all_gather_v(send, recv, counts, None, dtype, keep)

        return start, (given, data, parts)

    def allgather_coalesced(
        self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None
    ) -> Work:
        """outputs[r][i]: what rank r gives as inputs[i]."""
        opts = opts or c10d.AllgatherOptions()
        copies: list[Copy] = []
        made = [
            self._start_allgather_list([row[i] for row in outputs], t, copies) for i, t in enumerate(inputs)
        ]
        starts, keeps = [each[0] for each in made], [each[1] for each in made]
        tensors = [tensor for row in outputs for tensor in row]
        return self._run_all("all_gather_coalesced", opts, starts, tensors, copies, keeps, inputs)

    def gather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:
        """outputs[0] on the root: one tensor for each rank."""
        opts, call = opts or c10d.GatherOptions(), "gather"
        root, input = opts.rootRank, _only(inputs, "gather")
        given = source(input, call)
        parts = list(outputs[0]) if self.rank() == root else []
        copies: list[Copy] = []
        data = joined_target(parts, call, "gather_list", self.size(), copies) if self.rank() == root else None
        dtype, each = dtype_to_move(given)
        send, count = given.data_ptr(), given.numel() * each
        recv = 0 if data is None else data.data_ptr()
        if data is not None:
            for rank, part in enumerate(parts):
                self._check_pair(
                    call, f"gather_list[{rank}]", part, "tensor", given, part.numel(), given.numel()
                )

        def start(keep: Any) -> Any:
            return self.communicator.gather(send, recv, count, dtype, root, keep)

        return self._run(call, opts, start, parts, copies, (given, data), inputs)

    def scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any = None) -> Work:
        """inputs[0] on the root: one tensor for each rank."""
        opts, call = opts or c10d.ScatterOptions(), "scatter"
        root, output = opts.rootRank, _only(outputs, "scatter")
        copies: list[Copy] = []
        data = target(output, call, copies)
        given = (
            joined_source(list(inputs[0]), call, "scatter_list", self.size()) if self.rank() == root else None
        )
        if given is not None:
            for rank, part in enumerate(inputs[0]):
                self._check_pair(
                    call, f"scatter_list[{rank}]", part, "tensor", data, part.numel(), data.numel()
                )
        dtype, each = dtype_to_move(data)
        recv, count = data.data_ptr(), data.numel() * each
        send = 0 if given is None else given.data_ptr()

        def start(keep: Any) -> Any:
            return self.communicator.scatter(send, recv, count, dtype, root, keep)

        sent = list(inputs[0]) if given is not None else []
        return self._run(call, opts, start, [output], copies, (given, data, sent), sent)

    def alltoall_base(
        self,
        output: Tensor,
        input: Tensor,
        output_split_sizes: list[int],
        input_split_sizes: list[int],
        opts: Any = None,
    ) -> Work:
        """Splits count along the first extent; empty: equal ones."""
        opts, call = opts or c10d.AllToAllOptions(), "all_to_all_single"
        copies: list[Copy] = []
        given, data = source(input, call, "input"), target(output, call, copies, "output")
        if given.dtype != data.dtype:
            raise ValueError(f"{call}: output is of {data.dtype}, input of {given.dtype}; wanted is one type")
        send_counts = self._splits(call, "input", given, list(input_split_sizes))
        recv_counts = self._splits(call, "output", data, list(output_split_sizes))
        even = not output_split_sizes and not input_split_sizes
        if even and send_counts != recv_counts:
            raise ValueError(
                f"{call}: output has {data.numel()} elements; wanted are input's {given.numel()}"
            )
        start = self._start_alltoall(given, data, send_counts, recv_counts, even)
        return self._run(call, opts, start, [output], copies, (given, data), [input])

    all_to_all_single = alltoall_base

    def _start_alltoall(
        self, given: Tensor, data: Tensor, sent: list[int], received: list[int], even: bool
    ) -> Any:
        dtype, each = dtype_to_move(given)
        sent, received = [count * each for count in sent], [count * each for count in received]
        send, recv = given.data_ptr(), data.data_ptr()

        def start(keep: Any) -> Any:
            if even:
                return self.communicator.all_to_all(send, recv, sent[0], dtype, keep)
            return self.communicator.all_to_all_v(send, sent, recv, received, dtype, keep)

        return start

    def _splits(self, call: str, name: str, tensor: Tensor, splits: list[int]) -> list[int]:
        """Elements for each rank."""
        extent = tensor.size(0) if tensor.dim() else 1
        if not splits:
            if extent % self.size():
                raise ValueError(
                    f"{call}: {name} has the first extent {extent}; {self.size()} ranks cannot share it"
                )
            return [tensor.numel() // self.size()] * self.size()
        if len(splits) != self.size() or sum(splits) != extent:
            raise ValueError(
                f"{call}: {name}_split_sizes is {splits}; "
                f"wanted are {self.size()} numbers with the sum {extent}"
            )
        row = tensor.numel() // extent if extent else 0
        return [split * row for split in splits]

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None) -> Work:
        """inputs[r] goes to rank r, outputs[r] comes from it."""
        opts, call = opts or c10d.AllToAllOptions(), "all_to_all"
        copies: list[Copy] = []
        given = joined_source(inputs, call, "input_tensor_list", self.size())
        data = joined_target(outputs, call, "output_tensor_list", self.size(), copies)
        sent, received = [tensor.numel() for tensor in inputs], [tensor.numel() for tensor in outputs]
        start = self._start_alltoall(given, data, sent, received, False)
        return self._run(call, opts, start, outputs, copies, (given, data, inputs), inputs)

    def barrier(self, opts: Any = None) -> Work:
        return self._run("barrier", opts or c10d.BarrierOptions(), self.communicator.barrier, [], [])

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """Rank 0 tells who has not come in time."""
        _monitored_barrier.monitored_barrier(self, self._timeout if timeout is None else timeout, wait_all_ranks)

    def _check_pair(
        self, call: str, name: str, a: Tensor, other: str, b: Tensor, count: int, wanted: int
    ) -> None:
        if a.dtype != b.dtype:
            raise ValueError(f"{call}: {name} is of {a.dtype}, {other} of {b.dtype}; wanted is one type")
        if count != wanted:
            raise ValueError(f"{call}: {name} has {count} elements; with this {other} wanted are {wanted}")

    # ---- Point to point ------------------------------------------------------------------------------------

    def send(self, tensors: list[Tensor], dst: int, tag: int = 0) -> Work:
        tensor = _only(tensors, "send")
        data = source(tensor, "send")
        dtype, each = dtype_to_move(data)

        def start(keep: Any) -> Any:
            return self.communicator.send(data.data_ptr(), data.numel() * each, dtype, dst, tag, keep)

        return self._transfer("send", start, tensor, data, [])

    def recv(self, tensors: list[Tensor], src: int, tag: int = 0) -> Work:
        """Of a message of the same length."""

        def start(place: int, count: int, dtype: int, keep: Any) -> Any:
            return self.communicator.recv(place, count, dtype, src, tag, keep)

        return self._receive("recv", start, tensors, src)

    def recv_anysource(self, tensors: list[Tensor], tag: int = 0) -> Work:
        """From whoever sends with this tag: the work's source_rank() tells who."""
        sender = torch.full((), -1, dtype=torch.int32)

        def start(place: int, count: int, dtype: int, keep: Any) -> Any:
            return self.communicator.recv_any(place, count, dtype, sender.data_ptr(), tag, (keep, sender))

        return self._receive("recvAnySource", start, tensors, sender)

    def _receive(
        self, name: str, start: Callable[..., Any], tensors: list[Tensor], sender: int | Tensor
    ) -> PendingWork:
        tensor = _only(tensors, "recv")
        copies: list[Copy] = []
        data = target(tensor, "recv", copies)
        dtype, each = dtype_to_move(data)
        place, count = data.data_ptr(), data.numel() * each
        work = self._transfer(
            name, lambda keep: start(place, count, dtype, keep), tensor, data, copies
        )
        work.set_source(sender)
        return work

    def _transfer(
        self, name: str, start: Callable[[Any], Any], tensor: Tensor, data: Tensor, copies: list[Copy]
    ) -> PendingWork:
        return self._begin(name, [start], [tensor], [tensor], copies, data, None)

    # ---- Coalescing ----------------------------------------------------------------------------------------

    def _start_coalescing(self, device: torch.device = _CPU) -> None:
        self._coalesced = []

    def _end_coalescing(self, device: torch.device = _CPU) -> Work:
        """One work for all calls since the start."""
        works, self._coalesced = self._coalesced or [], None
        requests = [request for work in works for request in work._requests]
        tensors = [tensor for work in works for tensor in work._tensors]

        def settle() -> None:
            for work in works:
                work._settle(None)

        return PendingWork(self, requests, tensors, [settle], None)


# Of the default group: what sub-groups are made from.
_world: weakref.ref[ProcessGroupWia] | None = None


def _create(options: Any, backend_options: Any = None) -> ProcessGroupWia:
    """For torch.distributed: a new group's part on this rank."""
    global _world
    rank, size, timeout = options.group_rank, options.group_size, options.timeout
    default = _world() if _world is not None else None
    if (
        default is not None
        and default is c10d.GroupMember.WORLD
        and options.global_ranks_in_group
    ):
        communicator = default.communicator.create(list(options.global_ranks_in_group))
    else:
        communicator = _rendezvous.connect(options.store, rank, size, timeout)
    group = ProcessGroupWia(options.store, rank, size, communicator, timeout)
    if c10d.GroupMember.WORLD is None:
        _world = weakref.ref(group)
    return group


def register() -> None:
    if "wia" not in dist.Backend.backend_list:
        dist.Backend.register_backend("wia", _create, extended_api=True, devices=["cpu"])
