"""Events of PyTorch's profiler for calls, as those of its own backends: with the shapes of what a rank gives, and
asynchronous, which to the profiler are those that another thread ends.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

_PATIENCE = 1.0  # seconds: rather is an event lost than a call delayed

enabled = torch.autograd._profiler_enabled


class Event:
    """From here until a future is done, on whichever thread."""

    def __init__(self, name: str, tensors: list[torch.Tensor]):
        self._record = torch._C._autograd._record_function_with_args_enter(name, *tensors)
        self._ended = threading.Event()

    def end_with(self, future: torch.futures.Future[Any]) -> None:
        torch.ops.profiler._call_end_callbacks_on_jit_fut(self._record, future)
        future.add_done_callback(lambda _: self._ended.set())

    def wait(self) -> None:
        """So that it is part of a profile that ends right after its call."""
        self._ended.wait(_PATIENCE)
