"""Functions run in real processes, as the ranks of a job. The processes are kept for the next test while all
goes well.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import socket
import threading
import time
import traceback
from typing import Any, Callable, Iterator

_spawn = multiprocessing.get_context("spawn")
LIMIT = 240.0  # seconds for one function; then all is killed: never a hang
PATIENCE = 30.0  # with the others, once one has failed


def free_port() -> int:
    """Not one of those that the system gives to whoever asks for any: it stays free until it is used."""
    while True:
        port = random.randrange(12_000, 20_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def _serve(pipe: Any) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    while (task := pipe.recv()) is not None:
        function, arguments, environment = task
        os.environ.update(environment)
        try:
            pipe.send((True, function(*arguments)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))


class Job:
    """`size` processes. run() gives what the function gives on each rank."""

    def __init__(self, size: int):
        self.size = size
        self._port = str(free_port())
        self._pipes = []
        self.processes = []
        for _ in range(size):
            ours, theirs = _spawn.Pipe()
            process = _spawn.Process(target=_serve, args=(theirs,), daemon=False)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self.processes.append(process)

    def run(
        self, function: Callable[..., Any], *arguments: Any, lost: tuple[int, ...] = (), **environment: str
    ) -> list[Any]:
        """lost: ranks that end in it. Everything else must return; what it raises is a failure of the
        test.
        """
        # For wia.init() the job stays the same; a store of PyTorch may outlive its group, and keep its port.
        common = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "WIA_NIC": "lo",
            "WIA_LOG": "error",
        }
        common |= {"WIA_MASTER_ADDR": "127.0.0.1", "WIA_MASTER_PORT": self._port, "WIA_JOB_ID": "tests"}
        for rank, pipe in enumerate(self._pipes):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(self.size)}
            pipe.send((function, arguments, common | own | environment))
        end = time.monotonic() + LIMIT
        results: list[Any] = [None] * self.size
        failures = []
        for rank, pipe in enumerate(self._pipes):
            if rank in lost:
                continue
            try:
                if not pipe.poll(max(0, end - time.monotonic())):
                    failures.append(f"rank {rank} hangs")
                    continue
                good, results[rank] = pipe.recv()
            except EOFError:
                self.processes[rank].join(10)
                good, results[rank] = False, f"ended with {self.processes[rank].exitcode}"
            if not good:
                end = min(end, time.monotonic() + PATIENCE)
                failures.append(f"rank {rank}: {results[rank]}")
        if failures:
            raise AssertionError("\n".join(failures))
        return results

    def dismiss(self) -> None:
        for pipe in self._pipes:
            try:
                pipe.send(None)
            except OSError:
                pass

    def close(self) -> list[int | None]:
        """The exit codes."""
        self.dismiss()
        for process in self.processes:
            process.join(60)
            if process.exitcode is None:
                process.kill()
                process.join()
        return [process.exitcode for process in self.processes]

    def kill(self) -> None:
        for process in self.processes:
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.join()


_warm: dict[int, Job] = {}


def run_ranks(size: int, function: Callable[..., Any], *arguments: Any, **environment: str) -> list[Any]:
    """In processes that earlier tests have used as well."""
    job = _warm.pop(size, None) or Job(size)
    try:
        results = job.run(function, *arguments, **environment)
    except BaseException:
        job.kill()
        raise
    _warm[size] = job
    return results


def run_once(
    size: int, function: Callable[..., Any], *arguments: Any, lost: tuple[int, ...] = (), **environment: str
) -> list[Any]:
    """In processes of their own, which end afterwards: with exit code 0, but for those that are lost."""
    job = Job(size)
    try:
        results = job.run(function, *arguments, lost=lost, **environment)
        codes = job.close()
    except BaseException:
        job.kill()
        raise
    assert all(code == 0 for rank, code in enumerate(codes) if rank not in lost), codes
    return results


def close_all() -> None:
    for job in _warm.values():
        job.dismiss()
    for job in _warm.values():
        job.close()
    _warm.clear()


@contextlib.contextmanager
def other_threads_run() -> Iterator[None]:
    """What is in it leaves the GIL to other threads while it waits."""
    counted, going = 0, True

    def count() -> None:
        nonlocal counted
        while going:
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield
    finally:
        going = False
        thread.join()
    assert counted > 10


def interrupt_soon(seconds: float) -> None:
    """Ctrl-C for this process, a while from now."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
