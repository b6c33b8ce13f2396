#!/usr/bin/env python3
"""Trains a small character-level GPT on the documentation and the sources of this repository, data-parallel.

    torchrun --nproc-per-node 4 examples/torch/train_gpt.py --backend wia --strategy ddp

--backend gloo is the comparison: the same seeds, the same batches. --strategy fsdp and zero3 shard
parameters, gradients and the optimizer's state, zero2 the last two, zero1 the last. Rank 0 prints the loss
and draws it into --curve (SVG). The ranks' batches together are --batch sequences, whatever their number, so
that every number of ranks and every strategy follow the same trajectory to rounding.

    torchrun --max-restarts 2 --nproc-per-node 4 examples/torch/train_gpt.py --checkpoint DIR --resume

goes on from the newest checkpoint after a rank has been lost.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch.distributed as dist

import checkpoint
import curve
from gpt import Gpt, Shape, Text
from strategies import STRATEGIES, Training

try:
    import wia.torch  # noqa: F401  the backend wia
except ImportError:
    pass  # --backend gloo needs none


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["wia", "gloo"], default="wia")
    parser.add_argument("--strategy", choices=STRATEGIES, default="ddp")
    parser.add_argument(
        "--text", nargs="+", default=["docs", "src"], help="folders of the repository to learn from"
    )
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32, help="sequences a step, of all ranks together")
    for name in ("context", "width", "layers", "heads"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Shape, name))
    parser.add_argument("--curve", type=Path, default=Path("train_gpt.svg"))
    parser.add_argument("--checkpoint", type=Path, help="folder for checkpoints; all ranks share it")
    parser.add_argument("--every", type=int, default=50, help="steps between checkpoints")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the newest checkpoint, if there is one"
    )
    options = parser.parse_args(arguments)
    if options.resume and not options.checkpoint:
        parser.error("--resume needs --checkpoint")
    return options


def train(training: Training, text: Text, losses: list[float], options: argparse.Namespace) -> None:
    """Adds each step's mean loss of all ranks to the losses of the steps before."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for step in range(len(losses), options.steps):
        mean = training.step(*text.batch(step, options.batch, options.context, rank, size)).clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / size)
        is_last = step == options.steps - 1
        if rank == 0 and (step % 20 == 0 or is_last):
            print(f"step {step:4d}  loss {losses[-1]:.4f}", flush=True)
        if options.checkpoint and ((step + 1) % options.every == 0 or is_last):
            checkpoint.save(options.checkpoint, training, losses)


def run(options: argparse.Namespace) -> list[float]:
    """In the process group that is there. The loss of each step."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if options.batch % size:
        raise SystemExit(f"--batch is {options.batch}; wanted is a multiple of the {size} ranks")
    text = Text(options.text)
    net = Gpt(Shape(len(text.characters), options.context, options.width, options.layers, options.heads))
    if rank == 0:
        print(
            f"{net.number_of_parameters() / 1e6:.2f} million parameters, "
            f"{len(text.tokens) / 1e6:.2f} million characters of {options.text}"
        )
    training = STRATEGIES[options.strategy](net)
    losses = checkpoint.load(options.checkpoint, training) if options.resume else []
    if rank == 0 and losses:
        print(f"goes on after step {len(losses) - 1}", flush=True)
    before, began = len(losses), time.perf_counter()
    train(training, text, losses, options)
    seconds = time.perf_counter() - began
    if rank == 0:
        title = f"{dist.get_backend()}, {options.strategy}, {size} ranks: loss"
        curve.draw(losses, title, options.curve)
        a_step = seconds / max(1, len(losses) - before) * 1000
        print(f"{title} {losses[-1]:.4f}, {a_step:.1f} ms a step; {options.curve}")
    return losses


def main() -> None:
    options = options_of(None)
    dist.init_process_group(options.backend)
    run(options)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
