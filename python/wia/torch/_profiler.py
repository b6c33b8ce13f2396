"""Events of PyTorch's profiler for calls, as those of its own backends: with the shapes of what a rank gives, and
asynchronous, that is, ended by the thread that completes the call.
"""

from __future__ import annotations

import threading

import torch

_PATIENCE = 1.0  # seconds: rather is an event lost than a call delayed

enabled = torch.autograd._profiler_enabled


class Event:
    """From here to end(), on whichever thread."""

    def __init__(self, name: str, tensors: list[torch.Tensor]):
        fast = getattr(torch._C._profiler, "_RecordFunctionFast", None)  # the only one that takes tensors
        self._record = fast(name, tensors, {}) if fast else torch.profiler.record_function(name)
        self._ended = threading.Event()
        self._record.__enter__()

    def end(self) -> None:
        self._record.__exit__(None, None, None)
        self._ended.set()

    def wait(self) -> None:
        """So that it is part of a profile that ends after its call."""
        self._ended.wait(_PATIENCE)
