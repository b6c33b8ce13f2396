#!/usr/bin/env python3
"""Time of a training step of a GPT by DDP or FSDP2, wia and Gloo side by side, and where it goes.

    bench/python/compare_training.py --strategy ddp        # 4 ranks on this host
    scripts/cluster up; bench/python/compare_training.py --cluster --strategy fsdp; scripts/cluster down

Both backends train a model of their own in the same processes and take rounds of steps in turn, wia, Gloo,
Gloo, wia, ... A round's time is that of the slowest rank. Beside it, in turn as well:

  compute        the same step without any communication: the model alone, on every rank at once
  communication  the step's collectives alone, one after the other

  share   = (step - compute) / step                  what communication adds to a step
  overlap = 1 - (step - compute) / communication     how much of it is hidden behind computing

FSDP2's optimizer works on this rank's part alone, so that its `compute` is a little too long.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import launch
import pairs
import torch
import torch.distributed as dist
from torch import nn

import wia.torch

sys.path.insert(0, str(launch.ROOT / "examples/torch"))
from gpt import Gpt, Shape, Text  # noqa: E402
from strategies import TorchTraining, sharded  # noqa: E402

BUCKET_MIB = 25  # PyTorch's own choice


@dataclass
class Steps:
    """What is timed, for one backend."""

    group: Any
    step: Callable[[], object]
    communication: Callable[[], object]


def all_reduce_buckets(net: Gpt, group: Any) -> Callable[[], object]:
    """What DDP exchanges in a step."""
    left = sum(parameter.numel() for parameter in net.parameters())
    buckets = []
    while left > 0:
        buckets.append(torch.zeros(min(left, BUCKET_MIB * 2**20 // 4)))
        left -= buckets[-1].numel()

    def run() -> None:
        for bucket in buckets:
            dist.all_reduce(bucket, group=group)

    return run


def gather_and_scatter(net: Gpt, group: Any) -> Callable[[], object]:
    """What FSDP2 exchanges in a step: parameters forwards, again backwards for the blocks, and gradients."""
    size = dist.get_world_size()
    blocks = [sum(parameter.numel() for parameter in block.parameters()) for block in net.blocks]
    rest = sum(parameter.numel() for parameter in net.parameters()) - sum(blocks)
    parts = {count: torch.zeros(-(-count // size)) for count in [*blocks, rest]}
    wholes = {count: torch.zeros(part.numel() * size) for count, part in parts.items()}

    def run() -> None:
        for count in [rest, *blocks, *blocks]:
            dist.all_gather_into_tensor(wholes[count], parts[count], group=group)
        for count in [*blocks, rest]:
            dist.reduce_scatter_tensor(parts[count], wholes[count], group=group)

    return run


def steps_of(options: argparse.Namespace, shape: Shape, group: Any, batch: Any) -> Steps:
    if options.strategy == "ddp":
        net = Gpt(shape)
        communication = all_reduce_buckets(net, group)
        distributed: nn.Module = nn.parallel.DistributedDataParallel(
            net, process_group=group, bucket_cap_mb=BUCKET_MIB
        )
    else:
        communication = gather_and_scatter(Gpt(shape), group)
        distributed = sharded(Gpt(shape), group)
    training = TorchTraining(distributed)
    return Steps(group, lambda: training.step(*batch), communication)


def milliseconds(call: Callable[[], object], group: Any, times: int) -> float:
    """Of a call, on the slowest rank."""
    dist.barrier(group=group)
    began = time.perf_counter()
    for _ in range(times):
        call()
    taken = torch.tensor([(time.perf_counter() - began) / times * 1e3])
    dist.all_reduce(taken, dist.ReduceOp.MAX, group=group)
    return taken.item()


def measure(options: argparse.Namespace) -> None:
    """One rank. Rank 0 prints the table and appends to the file of --json."""
    dist.init_process_group("wia", timeout=timedelta(seconds=300))
    groups = [dist.group.WORLD, dist.new_group(backend="gloo", timeout=timedelta(seconds=300))]
    rank, size = dist.get_rank(), dist.get_world_size()
    text = Text(["docs"])
    shape = Shape(len(text.characters), options.context, options.width, options.layers, options.heads)
    batch = text.batch(0, options.batch * size, options.context, rank, size)
    ours, theirs = (steps_of(options, shape, group, batch) for group in groups)
    alone = TorchTraining(Gpt(shape))
    parts = {
        "step": pairs.Pairs([], []),
        "communication": pairs.Pairs([], []),
        "compute": pairs.Pairs([], []),
    }
    for turn in range(options.pairs + 1):
        for name, taken in parts.items():
            for each in (ours, theirs) if turn % 2 == 0 else (theirs, ours):
                call = (lambda: alone.step(*batch)) if name == "compute" else getattr(each, name)
                spent = milliseconds(call, each.group, options.steps)
                if turn > 0:  # the first warms up
                    (taken.ours if each is ours else taken.theirs).append(spent)
    if rank == 0:
        report(options, parts, Gpt(shape).number_of_parameters())
    dist.barrier()
    dist.destroy_process_group()


def report(options: argparse.Namespace, parts: dict[str, pairs.Pairs], parameters: int) -> None:
    place = os.environ["COMPARE_PLACE"]
    print(
        f"\n{options.strategy}, {parameters / 1e6:.1f} million parameters, "
        f"{options.batch} x {options.context} characters a rank, {place}, "
        f"{options.pairs} pairs of {options.steps} steps, load {os.getloadavg()[0]:.1f}\n"
    )
    print("| ms | wia | Gloo | Gloo / wia | half of the pairs |\n|---|---|---|---|---|")
    for name in ("step", "communication"):
        print(f"| {name} | {parts[name].row()} |")
    compute = statistics.median(parts["compute"].ours + parts["compute"].theirs)
    print(f"| compute | {compute:,.1f} | {compute:,.1f} | | |")
    added = [statistics.median(times) - compute for times in (parts["step"].ours, parts["step"].theirs)]
    whole = [added[i] + compute for i in (0, 1)]
    alone = [
        statistics.median(times) for times in (parts["communication"].ours, parts["communication"].theirs)
    ]
    print(f"| share | {added[0] / whole[0]:.0%} | {added[1] / whole[1]:.0%} | | |")
    print(f"| overlap | {1 - added[0] / alone[0]:.0%} | {1 - added[1] / alone[1]:.0%} | | |", flush=True)
    if options.json:
        times = {name: {"wia_ms": taken.ours, "gloo_ms": taken.theirs} for name, taken in parts.items()}
        row = {"strategy": options.strategy, "parameters": parameters, "place": place} | times
        with options.json.open("a") as file:
            file.write(json.dumps(row | {"wia": wia.__version__, "torch": torch.__version__}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strategy", choices=["ddp", "fsdp"], default="ddp")
    parser.add_argument("--cluster", action="store_true", help="on the nodes of the emulated cluster")
    parser.add_argument("--ranks", type=int, default=4, help="on this host")
    parser.add_argument("--per-node", type=int, default=1, help="on each node of the cluster")
    parser.add_argument("--gloo-interfaces", default="eth0", help="of a node, for Gloo; eth0,eth1 are both")
    parser.add_argument("--batch", type=int, default=1, help="sequences a rank")
    for name, size in {"context": 64, "width": 384, "layers": 6, "heads": 6}.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--steps", type=int, default=3, help="in a round")
    parser.add_argument("--json", type=Path, help="file that gets a line")
    options = parser.parse_args()
    if launch.is_rank():
        return measure(options)
    local = launch.Place(options.ranks)
    place = launch.cluster(options.per_node, options.gloo_interfaces) if options.cluster else local
    os.environ["COMPARE_PLACE"] = str(place)
    launch.run(place, limit=120 + 40.0 * (options.pairs + 1) * options.steps)


if __name__ == "__main__":
    sys.exit(main())
