"""What the comparisons of the simulator share: cells, fitting a few figures of a machine file, errors, tables.

A cell is (collective, algorithm, ranks, bytes); times are microseconds. Nothing here knows what a figure means: a
figure is a path in a machine file ("network.alpha_us"), whose value the fit changes.
"""
import copy
import json
import math
import pathlib
import statistics
import subprocess
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIA = ROOT / "build/wia"
MIB = 1 << 20


class Cell(NamedTuple):
    collective: str
    algorithm: str
    ranks: int
    bytes: int


class Failure(Exception):
    """A message for people."""


def parse_size(text):
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    return int(text[:-1] if factor > 1 else text) * factor


def size_text(size):
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g}{unit}"
    return str(size)


# --- Machine files ---------------------------------------------------------------------------------


def figure(value, source, evidence="measured"):
    return {"value": value, "evidence": evidence, "source": source}


def with_figures(machine, values, source):
    """A copy of the machine with the figures at these paths ("network.alpha_us"; vendors by number) replaced."""
    changed = copy.deepcopy(machine)
    for path, value in values.items():
        *folders, last = path.split(".")
        place = changed
        for name in folders:
            place = place[int(name)] if isinstance(place, list) else place[name]
        place[last] = figure(float(f"{value:.4g}"), source)
    return changed


def simulate(machine, cells, wia=None):
    """The simulator's time of each cell on the machine (a machine file as Python has it)."""
    listed = lambda values: ",".join(map(str, sorted(set(values))))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(machine, file)
        file.flush()
        # One process for all: what it simulates beside the cells costs less than another start.
        command = [wia or WIA, "simulate", listed(cell.collective for cell in cells), "--machine", file.name, "--json", "-",
                   "--algorithm", listed(cell.algorithm for cell in cells), "--ranks", listed(cell.ranks for cell in cells),
                   "--sizes", listed(cell.bytes for cell in cells)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {run.stderr.strip()}")
    times = {Cell(row["collective"], row["algorithm"], row["ranks"], row["bytes"]): row["time_us"] for row in json.loads(run.stdout)["results"]}
    missing = [cell for cell in cells if cell not in times]
    if missing:
        raise Failure(f"wia simulate gave no time for {missing[0]}")
    return {cell: times[cell] for cell in cells}


# --- Fitting ---------------------------------------------------------------------------------------


def error(predicted, measured):
    return predicted / measured - 1


def mean_error(predicted, measured):
    """The mean absolute relative error over the measured cells."""
    return statistics.fmean(abs(error(predicted[cell], us)) for cell, us in measured.items())


def misfit(predicted, measured):
    """What a fit makes least: the mean of |log(predicted / measured)|, in which twice and half weigh the same and a
    cell that was disturbed weighs no more than another."""
    return statistics.fmean(abs(math.log(predicted[cell] / us)) for cell, us in measured.items())


def fit(cost, start, finest=0.02, farthest=64):
    """The values (a dict, positive) that make cost(values) least: tries factors, ever smaller ones. None gets farther
    than a factor `farthest` from its start: what the times do not depend on stays a figure that a machine may have."""
    best, least = dict(start), cost(start)
    step = 2.0
    while step > 1 + finest:
        moved = False
        for name in best:
            for factor in (step, 1 / step):
                tried = {**best, name: best[name] * factor}
                if abs(math.log(tried[name] / start[name])) > math.log(farthest):
                    continue
                value = cost(tried)
                if value < least - 1e-9:
                    best, least, moved = tried, value, True
                    break
        if not moved:
            step = math.sqrt(step)
    return best, least


# --- Tables ----------------------------------------------------------------------------------------


def table(head, rows):
    """Text columns; all but the first to the right."""
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    line = lambda row: "| " + " | ".join(f"{str(x):{'<' if i == 0 else '>'}{w}}" for i, (x, w) in enumerate(zip(row, widths))) + " |"
    rule = "|" + "|".join(("-" * (w + 2)) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


def percent(value):
    return f"{100 * value:.1f} %"
