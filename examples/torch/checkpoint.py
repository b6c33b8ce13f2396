"""Checkpoints that are there as a whole or not at all: a folder step-N, written under another name first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch.distributed as dist

from strategies import Training


def save(folder: Path, training: Training, losses: list[float]) -> None:
    """After len(losses) steps; on all ranks, which share `folder`. Replaces what was saved before."""
    done, partial = folder / f"step-{len(losses)}", folder / "partial"
    if dist.get_rank() == 0:
        shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed
        partial.mkdir(parents=True)
        (partial / "losses.json").write_text(json.dumps(losses))
    dist.barrier()
    training.save(partial / "state")
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(done, ignore_errors=True)
        partial.rename(done)
        for older in set(folder.glob("step-*")) - {done}:
            shutil.rmtree(older)


def load(folder: Path, training: Training) -> list[float]:
    """The losses until then; none where nothing has been saved. On all ranks."""
    newest = [max(folder.glob("step-*"), key=_step_of, default=None)]
    dist.broadcast_object_list(newest)  # rank 0 decides
    if newest[0] is None:
        return []
    training.load(newest[0] / "state")
    return json.loads((newest[0] / "losses.json").read_text())


def _step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))
