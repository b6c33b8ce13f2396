"""What a call of the process group gives: torch.distributed's Work."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from queue import SimpleQueue
from typing import Any, Protocol

import torch
from torch.distributed import Work

from .. import _native
from .._errors import Status, TimeoutError
from ._profiler import Event
from ._tensors import Copy

_NO_LIMIT = timedelta(0)


class CompletedWork(Work):
    """Of a call that was made blocking, or of none."""

    def __init__(self, tensors: list[torch.Tensor] | None = None):
        super().__init__()
        self._tensors = tensors or []

    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> None:
        return None

    def synchronize(self) -> None:
        pass

    def result(self) -> list[torch.Tensor]:
        return self._tensors

    def get_future(self) -> torch.futures.Future[Any]:
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result(self._tensors)
        return future


DONE = CompletedWork()


class Group(Protocol):
    """What a work needs of its process group."""

    communicator: _native.Communicator

    def restore_timeout(self) -> None: ...


class PendingWork(Work):
    """Of calls that are under way.

    Done when all requests are, and the copies are made that bring their results to tensors which are not
    contiguous. limit: seconds after which the calls fail, naming who is missing; None: the communicator's
    timeout alone.
    """

    def __init__(
        self,
        group: Group,
        requests: list[_native.Request],
        tensors: list[torch.Tensor],
        copies: list[Copy],
        completer: Completer | None,
        limit: float | None = None,
        event: Event | None = None,
    ):
        super().__init__()
        self._group = group
        self._requests = requests
        self._tensors = tensors
        self._copies = copies
        self._completer = completer  # None: may end in any order
        self._end = None if limit is None else time.monotonic() + limit
        self._lock = threading.Lock()
        self._settled = False
        self._error: Exception | None = None
        self._future: torch.futures.Future[Any] | None = None
        self._source: int | torch.Tensor = -1
        self._event = event
        if event is not None:
            self.get_future()  # ends the event

    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        """Raises wia.Error; wia.TimeoutError after `timeout`, while the calls go on. Ctrl-C ends the wait
        alone.
        """
        self.finish(timeout)
        if self._event is not None:
            self._event.wait()
        return True

    def finish(self, timeout: timedelta = _NO_LIMIT) -> None:
        """wait(), but for the profiler."""
        if not self._settled:
            patience = timeout.total_seconds() if timeout > _NO_LIMIT else None
            try:
                self._wait_for_requests(patience)
            except Exception as error:
                if not isinstance(error, _OutOfPatience):
                    self._settle(error)
                raise
            self._settle(None)
        if self._error is not None:
            raise self._error

    def _wait_for_requests(self, patience: float | None) -> None:
        until = None if patience is None else time.monotonic() + patience
        for request in self._requests:
            ends = [end for end in (until, self._end) if end is not None]
            if not ends:
                request.wait(-1)
                continue
            if request.wait(max(0, round((min(ends) - time.monotonic()) * 1000))):
                continue
            if until is not None and until == min(ends):
                missing = self._group.communicator.waiting()
                raise _OutOfPatience(Status.TIMEOUT, f"not done after a wait of {patience:.1f} s: {missing}")
            # The time of the call itself is over: now the library ends it as at any timeout, on all ranks.
            self._group.communicator.set_timeout(1)
            try:
                request.wait(-1)
            finally:
                self._group.restore_timeout()

    def _settle(self, error: Exception | None) -> None:
        with self._lock:
            if self._settled:
                return
            if error is None:
                with torch.no_grad():
                    for copy in self._copies:
                        copy()
            self._error = error
            self._copies = []
            self._settled = True

    def is_completed(self) -> bool:
        if self._settled:
            return True
        if not all(request.done() for request in self._requests):
            return False
        try:
            for request in self._requests:
                request.test()
        except Exception as error:
            self._settle(error)
        else:
            self._settle(None)
        return True

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        return self._error

    def synchronize(self) -> None:
        self.wait()

    def result(self) -> list[torch.Tensor]:
        return self._tensors

    def set_source(self, source: int | torch.Tensor) -> None:
        """The rank, or where the library will write it."""
        self._source = source

    def source_rank(self) -> int:
        return int(self._source)

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future[Any]:
        """Completed by a thread of the group, with the output tensors or the error; after wait() at once."""
        with self._lock:
            if self._future is not None:
                return self._future
            done: torch.futures.Future[Any] = torch.futures.Future()
            # An exception that is raised in a callback is an error for C++ as well; one that is set is a
            # value to it.
            self._future = done.then(self._outcome)
            if self._event is not None:
                self._event.end_with(self._future)
            is_settled = self._settled
        if is_settled:
            done.set_result(None)
        elif self._completer is not None:
            self._completer.put(self, done)
        else:
            _complete_aside(self, done)
        return self._future

    def _outcome(self, _: Any) -> list[torch.Tensor]:
        if self._error is not None:
            raise self._error
        return self._tensors


class _OutOfPatience(TimeoutError):
    """A wait has ended, the work has not."""


_OutOfPatience.__name__ = _OutOfPatience.__qualname__ = TimeoutError.__name__


def _complete(work: PendingWork, done: torch.futures.Future[Any]) -> None:
    try:
        work.finish()
    except Exception:  # kept by the work
        pass
    done.set_result(None)


def _complete_aside(work: PendingWork, done: torch.futures.Future[Any]) -> None:
    threading.Thread(target=_complete, args=(work, done), name="wia-torch-future", daemon=True).start()


class Completer:
    """A thread that completes the futures of a group's collectives, which end in the order in which they
    began.
    """

    def __init__(self) -> None:
        self._works: SimpleQueue[tuple[PendingWork, torch.futures.Future[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, work: PendingWork, done: torch.futures.Future[Any]) -> None:
        if threading.current_thread() is self._thread:
            # From a callback of another future, which may wait for this one (the PowerSGD hook does).
            _complete_aside(work, done)
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="wia-torch-futures", daemon=True)
                self._thread.start()
        self._works.put((work, done))

    def stop(self) -> None:
        """After the communicator has ended, and with it all works."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._works.put(None)
            if thread is not threading.current_thread():
                thread.join(5)

    def _run(self) -> None:
        while (item := self._works.get()) is not None:
            _complete(*item)
