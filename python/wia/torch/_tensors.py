"""Tensors as the library wants them: contiguous, in the CPU's memory, with the number of their type."""

from __future__ import annotations

from typing import Callable

import torch

# As wia_dtype_t. A type that this PyTorch lacks is left out.
_NAMES = (
    "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 "
    "float8_e4m3fn float8_e5m2 bool"
)
DTYPES: dict[torch.dtype, int] = {
    getattr(torch, name): code for code, name in enumerate(_NAMES.split()) if hasattr(torch, name)
}
_UINT8 = DTYPES[torch.uint8]
_INTERNAL_OVERLAP = 1  # of torch._debug_has_internal_overlap

Copy = Callable[[], None]


def dtype_to_reduce(tensor: torch.Tensor, call: str) -> int:
    """Raises TypeError for what has no arithmetic here."""
    try:
        return DTYPES[tensor.dtype]
    except KeyError:
        raise TypeError(f"{call}: tensors of {tensor.dtype} cannot be reduced by the backend wia") from None


def dtype_to_move(tensor: torch.Tensor) -> tuple[int, int]:
    """(number of the type, its elements in one of the tensor's): what is unknown is moved as bytes."""
    code = DTYPES.get(tensor.dtype)
    return (code, 1) if code is not None else (_UINT8, tensor.element_size())


def _refuse(call: str, name: str, why: str) -> ValueError:
    return ValueError(f"{call}: {name} {why}")


def check_dense(tensor: torch.Tensor, call: str, name: str) -> None:
    if not tensor.is_cpu:
        raise _refuse(call, name, f"is on {tensor.device}; the backend wia takes tensors on cpu")
    if tensor.layout is not torch.strided:
        raise _refuse(call, name, f"has the layout {tensor.layout}; wanted is a dense tensor")


def source(tensor: torch.Tensor, call: str, name: str = "tensor") -> torch.Tensor:
    """The tensor, or a contiguous copy: to be read."""
    check_dense(tensor, call, name)
    return tensor if tensor.is_contiguous() else tensor.detach().contiguous()


def target(
    tensor: torch.Tensor, call: str, copies: list[Copy], name: str = "tensor", filled: bool = False
) -> torch.Tensor:
    """The tensor, or a contiguous stand-in that `copies` will write back: to be written; filled: read as
    well.
    """
    check_dense(tensor, call, name)
    if tensor.is_contiguous():
        return tensor
    if torch._debug_has_internal_overlap(tensor) == _INTERNAL_OVERLAP:
        raise _refuse(call, name, "has elements that share memory (an expanded tensor); it cannot be written")
    own = tensor.detach()
    stand_in = own.contiguous() if filled else torch.empty(own.shape, dtype=own.dtype)

    def copy() -> None:
        own.copy_(stand_in)

    copies.append(copy)
    return stand_in


def _follow_each_other(tensors: list[torch.Tensor]) -> bool:
    address = tensors[0].data_ptr()
    for tensor in tensors:
        if not tensor.is_contiguous() or tensor.data_ptr() != address:
            return False
        address += tensor.numel() * tensor.element_size()
    return True


def _check_alike(tensors: list[torch.Tensor], call: str, name: str, ranks: int) -> None:
    if len(tensors) != ranks:
        raise _refuse(call, name, f"has {len(tensors)} tensors; wanted is one for each of {ranks} ranks")
    for tensor in tensors:
        check_dense(tensor, call, name)
        if tensor.dtype != tensors[0].dtype:
            raise _refuse(
                call, name, f"holds tensors of {tensors[0].dtype} and of {tensor.dtype}; wanted is one type"
            )


def joined_source(tensors: list[torch.Tensor], call: str, name: str, ranks: int) -> torch.Tensor:
    """One tensor for each rank as one behind the other: where they are, or a copy."""
    _check_alike(tensors, call, name, ranks)
    if _follow_each_other(tensors):
        return tensors[0]
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def joined_target(
    tensors: list[torch.Tensor], call: str, name: str, ranks: int, copies: list[Copy]
) -> torch.Tensor:
    """Room for one tensor for each rank: where they are, or a stand-in that `copies` will write back."""
    _check_alike(tensors, call, name, ranks)
    if _follow_each_other(tensors):
        return tensors[0]
    for tensor in tensors:
        if torch._debug_has_internal_overlap(tensor) == _INTERNAL_OVERLAP:
            raise _refuse(
                call, name, "has elements that share memory (an expanded tensor); it cannot be written"
            )
    sizes = [tensor.numel() for tensor in tensors]
    stand_in = torch.empty(sum(sizes), dtype=tensors[0].dtype)
    owns = [tensor.detach() for tensor in tensors]

    def copy() -> None:
        for own, part in zip(owns, stand_in.split(sizes)):
            own.copy_(part.view(own.shape))

    copies.append(copy)
    return stand_in
