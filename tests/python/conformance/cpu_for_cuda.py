"""PyTorch's tests that want CUDA devices, with all of their tensors on the CPU: of the process group they ask the same."""

from __future__ import annotations

import contextlib
from typing import Any, Callable
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.testing._internal import common_distributed

_CPU = torch.device("cpu")


def _marked(test: Callable) -> Callable:
    test.wants_cuda = True
    return test


@contextlib.contextmanager
def admitted() -> Any:
    """Test modules that are imported meanwhile skip nothing for want of devices, but mark such tests."""
    changed = {"skip_if_no_gpu": _marked, "skip_if_lt_x_gpu": lambda *_, **__: _marked}
    with mock.patch.multiple(common_distributed, **changed):
        yield


class _OnCpu(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = dict(named or {})
        if named.get("device") is not None:
            named["device"] = _CPU
        if function is torch.Tensor.cuda:
            return arguments[0]
        return function(*(_on_cpu(arguments) if function is torch.Tensor.to else arguments), **named)


def _on_cpu(arguments: Any) -> list[Any]:
    return [_CPU if type(each) in (int, str, torch.device) else each for each in arguments]


def run(ranks: int, test: Callable[[], Any]) -> Any:
    """In a process of its own: what is changed here stays so."""
    ddp = torch.nn.parallel.DistributedDataParallel
    init = ddp.__init__

    def on_cpu(self: Any, module: Any, *_: Any, device_ids: Any = None, output_device: Any = None, **named: Any) -> None:
        init(self, module, **named)

    ddp.__init__ = on_cpu
    to = torch.nn.Module.to
    torch.nn.Module.to = lambda self, *arguments, **named: to(self, *_on_cpu(arguments), **named)
    cuda = torch.cuda
    cuda.device_count, cuda.current_device = lambda: ranks, lambda: 0
    cuda.set_device, cuda.synchronize = lambda *_, **__: None, lambda *_, **__: None
    cuda.device = lambda *_: contextlib.nullcontext()
    with _OnCpu():
        return test()
