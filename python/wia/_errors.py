"""Exceptions: what the library says went wrong, with its whole message, which names who is to blame."""

from __future__ import annotations

import builtins
import enum


class Status(enum.IntEnum):
    """The codes of `wia_status_t`. Below -100 the communicator is lost."""

    SUCCESS = 0
    IN_PROGRESS = 1
    INVALID_ARGUMENT = -1
    UNSUPPORTED = -2
    OUT_OF_MEMORY = -3
    TRUNCATED = -4
    NOT_INITIALIZED = -5
    SYSTEM = -6
    BUSY = -7
    UNREACHABLE = -100
    PROTOCOL = -101
    PEER_FAILED = -200
    TIMEOUT = -201
    MISMATCH = -300
    ABORTED = -301
    DESTROYED = -302
    FORKED = -303


class Error(RuntimeError):
    """An error of the library. `code`: a Status (or a number that this version has no name for)."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        try:
            self.code: int = Status(code)
        except ValueError:
            self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (int(self.code), str(self))


class ArgumentError(Error, ValueError):
    """An argument is wrong: nothing was sent, and the communicator is as it was."""


class TimeoutError(Error, builtins.TimeoutError):
    """The time of a wait passed; the message says who was missing in which call."""


def error_for(code: int, message: str) -> Error:
    kinds: dict[int, type[Error]] = {Status.INVALID_ARGUMENT: ArgumentError, Status.TIMEOUT: TimeoutError}
    return kinds.get(code, Error)(code, message)
