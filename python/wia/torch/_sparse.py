"""Sums of sparse tensors: every rank gathers the entries of all, and adds them up."""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed import ReduceOp

Tensor = torch.Tensor


def all_reduce(group: Any, tensor: Tensor, op: Any) -> None:
    """In place, blocking. The ranks' tensors have one shape, with the same sparse extents."""
    if tensor.layout is not torch.sparse_coo or int(op.op) != int(ReduceOp.SUM):
        raise ValueError(f"all_reduce: of the layout {tensor.layout} the backend wia has sums of sparse_coo alone")
    with torch.no_grad():
        own = tensor.detach().coalesce()
        counts = [torch.zeros(1, dtype=torch.int64) for _ in range(group.size())]
        _gather(group, counts, torch.tensor([own._nnz()]))
        entries = [int(count) for count in counts]
        indices = _rows_of_all(group, own.indices().t().contiguous(), entries)
        values = _rows_of_all(group, own.values(), entries)
        # Not through detach(): of a sparse tensor that gives a copy of its parts.
        tensor.copy_(torch.sparse_coo_tensor(indices.t(), values, own.shape).coalesce())


def _rows_of_all(group: Any, rows: Tensor, counts: list[int]) -> Tensor:
    every = rows.new_empty((sum(counts), *rows.shape[1:]))
    _gather(group, list(every.split(counts)), rows)
    return every


def _gather(group: Any, parts: list[Tensor], own: Tensor) -> None:
    group.allgather([parts], [own]).wait()
