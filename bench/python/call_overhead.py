#!/usr/bin/env python3
"""Microseconds of a small all_reduce from Python, wia and Gloo in turn: blocking, and asynchronous with wait.

    torchrun --nproc-per-node 2 bench/python/call_overhead.py [--bytes 8] [--rounds 7] [--calls 300]

Both are taken alternately in one run; median, smallest and largest of the rounds of rank 0.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Callable

import torch
import torch.distributed as dist

import wia.torch  # noqa: F401


def measure(call: Callable[[], object], group: dist.ProcessGroup, calls: int) -> float:
    dist.barrier(group=group)
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300)
    options = parser.parse_args()
    dist.init_process_group("wia")
    groups = {"wia": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    tensor = torch.zeros(max(1, options.bytes // 4))
    calls: dict[str, tuple[dist.ProcessGroup, Callable[[], object]]] = {}
    for name, group in groups.items():
        calls[f"{name}, blocking"] = group, lambda group=group: dist.all_reduce(tensor, group=group)
        calls[f"{name}, async"] = (
            group,
            lambda group=group: dist.all_reduce(tensor, group=group, async_op=True).wait(),
        )
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(options.rounds + 1):
        for name, (group, call) in calls.items():
            taken = measure(call, group, options.calls)
            if turn > 0:  # the first warms up
                times[name].append(taken)
    if dist.get_rank() == 0:
        print(
            f"all_reduce of {options.bytes} bytes, {dist.get_world_size()} ranks, {options.rounds} rounds, "
            "us a call"
        )
        for name, values in times.items():
            print(
                f"{name:16} median {statistics.median(values):8.1f}  {min(values):8.1f} to {max(values):8.1f}"
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
