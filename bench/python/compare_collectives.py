#!/usr/bin/env python3
"""Collectives from Python through torch.distributed, wia and Gloo side by side.

    bench/python/compare_collectives.py                 # 2 and 4 ranks on this host
    scripts/cluster up; bench/python/compare_collectives.py --cluster; scripts/cluster down

Both backends have a process group in the same processes; of each cell (call, bytes) rounds are taken in turn,
wia, Gloo, Gloo, wia, ... A backend that waits for its turn uses no CPU: nobody is inside it, and its threads
sleep. A round is as many calls, one after the other, as fill its share of --budget; its time is that of the
slowest rank. The bytes of a call are those of the tensor for all_reduce and broadcast, of the whole output
for all_gather_into_tensor, of the whole input for reduce_scatter_tensor. All calls' results are checked
first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import launch
import pairs
import torch
import torch.distributed as dist

import wia.torch

Call = Callable[[Any], object]
SIZES = {"1K": 1 << 10, "1M": 1 << 20, "25M": 25 << 20}


def all_reduce(count: int) -> Call:
    data = torch.zeros(count)
    return lambda group: dist.all_reduce(data, group=group)


def broadcast(count: int) -> Call:
    data = torch.zeros(count)
    return lambda group: dist.broadcast(data, 0, group=group)


def all_gather_into_tensor(count: int) -> Call:
    whole, part = torch.zeros(count), torch.zeros(count // dist.get_world_size())
    return lambda group: dist.all_gather_into_tensor(whole, part, group=group)


def reduce_scatter_tensor(count: int) -> Call:
    whole, part = torch.zeros(count), torch.zeros(count // dist.get_world_size())
    return lambda group: dist.reduce_scatter_tensor(part, whole, group=group)


CALLS = {
    call.__name__: call for call in (all_reduce, all_gather_into_tensor, reduce_scatter_tensor, broadcast)
}


def check(group: Any) -> None:
    """All calls give what they should. Raises AssertionError."""
    me, size = dist.get_rank(), dist.get_world_size()
    mine, numbers = torch.full((3,), float(me)), torch.arange(size).repeat_interleave(3).float()
    total, gathered, part = mine.clone(), torch.empty(3 * size), torch.empty(3)
    dist.all_reduce(total, group=group)
    assert torch.equal(total, torch.full((3,), size * (size - 1) / 2)), total
    dist.all_gather_into_tensor(gathered, mine, group=group)
    assert torch.equal(gathered, numbers), gathered
    dist.reduce_scatter_tensor(part, numbers, group=group)
    assert torch.equal(part, size * mine), part
    dist.broadcast(mine, 0, group=group)
    assert torch.equal(mine, torch.zeros(3)), mine


class Cell:
    """One call of one length, to be measured in rounds."""

    def __init__(self, call: Call, groups: list[Any], seconds_a_round: float):
        self._call = call
        for group in groups:
            self._seconds(group, 2)
        slowest = max(self._seconds(group, 3) for group in groups)
        self._calls = max(3, round(seconds_a_round / slowest))

    def microseconds(self, group: Any) -> float:
        return self._seconds(group, self._calls) * 1e6

    def _seconds(self, group: Any, calls: int) -> float:
        """Of a call, on the slowest rank."""
        dist.barrier(group=group)
        began = time.perf_counter()
        for _ in range(calls):
            self._call(group)
        taken = torch.tensor([(time.perf_counter() - began) / calls])
        dist.all_reduce(taken, dist.ReduceOp.MAX, group=group)
        return taken.item()


def measure(options: argparse.Namespace) -> None:
    """One rank. Rank 0 prints the table and appends to the file of --json."""
    dist.init_process_group("wia", timeout=timedelta(seconds=120))
    ours, theirs = dist.group.WORLD, dist.new_group(backend="gloo", timeout=timedelta(seconds=120))
    for group in (ours, theirs):
        check(group)
    place, rows, ratios = os.environ["COMPARE_PLACE"], [], []
    say(f"\n{place}, {options.pairs} pairs a cell, load {os.getloadavg()[0]:.1f}\n")
    say("| call | bytes | wia us | Gloo us | Gloo / wia | half of the pairs |\n|---|---|---|---|---|---|")
    for name in options.calls:
        for size in options.sizes:
            call = CALLS[name](SIZES[size] // 4)
            cell = Cell(call, [ours, theirs], options.budget / options.pairs / 2)
            taken = pairs.take(
                lambda: cell.microseconds(ours), lambda: cell.microseconds(theirs), options.pairs
            )
            ratios.append(taken.ratio)
            rows.append(
                {
                    "place": place,
                    "call": name,
                    "bytes": SIZES[size],
                    "wia_us": taken.ours,
                    "gloo_us": taken.theirs,
                }
            )
            say(f"| {name} | {size} | {taken.row()} |")
    say(
        f"\n{place}: geometric mean of Gloo / wia {pairs.geometric_mean(ratios):.2f}, least {min(ratios):.2f}"
    )
    if options.json and dist.get_rank() == 0:
        with options.json.open("a") as file:
            file.writelines(
                json.dumps(row | {"wia": wia.__version__, "torch": torch.__version__}) + "\n" for row in rows
            )
    dist.barrier()
    dist.destroy_process_group()


def say(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", action="store_true", help="on the nodes of the emulated cluster")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4], help="on this host")
    parser.add_argument("--per-node", type=int, nargs="+", default=[1], help="on each node of the cluster")
    parser.add_argument("--gloo-interfaces", default="eth0", help="of a node, for Gloo; eth0,eth1 are both")
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=list(CALLS))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--budget", type=float, default=3.0, help="seconds a cell")
    parser.add_argument("--json", type=Path, help="file that gets a line for each cell")
    options = parser.parse_args()
    if launch.is_rank():
        return measure(options)
    places = [launch.Place(ranks) for ranks in options.ranks]
    if options.cluster:
        places = [launch.cluster(per_node, options.gloo_interfaces) for per_node in options.per_node]
    for place in places:
        os.environ["COMPARE_PLACE"] = str(place)
        # A cell of few, long calls may take a multiple of its budget.
        launch.run(place, limit=120 + 20 * options.budget * len(options.calls) * len(options.sizes))


if __name__ == "__main__":
    sys.exit(main())
