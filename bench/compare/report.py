"""Rows of the benchmarks side by side: medians of each cell, ratios to libwia, geometric means.

A cell is an operation, a number of ranks and a number of bytes. A peer may have several rows for it: those taken while
the cores were near count, the others only where there is none; of those that count, the median of the medians.
"""
import csv
import math
import statistics

from peers import OURS, cluster_fact

NEAR_NS = 130  # as bench_common.hpp has it
LARGE = 64 << 10  # from here on the limit means something: below, ranks wait for each other longer than for memory


def read(names):
    rows = []
    for name in names:
        with open(name, newline="", encoding="utf-8") as file:
            rows += [row for row in csv.DictReader(file) if row["peer"] != "peer"]
    return rows


def is_near(row):
    times = [float(x) for x in row["xcore_ns"].split("/")]
    return max(times) <= NEAR_NS


class Value:
    """What a peer reached in a cell."""

    def __init__(self, rows, column):
        near = [row for row in rows if is_near(row)]
        counted = near or rows
        self.far = not near
        self.failed = any(row["check"] == "FAIL" for row in rows)
        self.us = statistics.median(float(row[column]) for row in counted)


def cells(rows, column="median_us"):
    """{(op, ranks, bytes): {peer: Value}}, and the peers in the order of their appearance."""
    grouped = {}
    for row in rows:
        key = (row["op"], int(row["ranks"]), int(row["bytes"]))
        grouped.setdefault(key, {}).setdefault(row["peer"], []).append(row)
    values = {key: {peer: Value(r, column) for peer, r in by_peer.items()} for key, by_peer in grouped.items()}
    return values, list(dict.fromkeys(row["peer"] for row in rows))


def best_peer(cell):
    """The fastest library that is not ours, with right results."""
    others = {p: v.us for p, v in cell.items() if p not in (*OURS, "limit") and not v.failed}
    return min(others, key=others.get) if others else None


def ratio(cell, ours):
    """How many times as long the best other library takes; None where either is missing."""
    best = best_peer(cell)
    if best is None or ours not in cell or cell[ours].failed:
        return None
    return cell[best].us / cell[ours].us


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def size_text(n):
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if n >= unit and n % unit == 0:
            return f"{n // unit}{letter}"
    return str(n)


def number(x):
    return "-" if x is None else f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:,.0f}"


def _table(head, lines):
    """Markdown, with columns of equal width."""
    widths = [max(len(row[i]) for row in [head, *lines]) for i in range(len(head))]
    row = lambda fields: "| " + " | ".join(f.rjust(w) for f, w in zip(fields, widths)) + " |"
    return "\n".join([row(head), "|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|", *map(row, lines)])


def _cell_text(key, value, gbps):
    if value is None:
        return "-"
    text = f"{key[2] / value.us / 1e3:.3f}" if gbps else number(value.us)
    return text + ("!" if value.failed else "") + ("~" if value.far else "")


class Cluster:
    """What the NICs of the emulated cluster can carry."""

    PAYLOAD = 1448 / 1514  # of a full frame with TCP's time stamps

    def __init__(self, nodes, nics, rate):
        units = {"gbit": 1e9, "mbit": 1e6}
        number_text = rate.rstrip("gmbit")
        self.nodes, self.nics, self.rate = nodes, nics, rate
        self.nic_bytes_per_us = float(number_text) * units[rate[len(number_text):]] / 8e6 if rate != "none" else None

    @classmethod
    def that_is_up(cls):
        return cls(cluster_fact("nodes"), cluster_fact("nics"), cluster_fact("rate"))

    def text(self, ppn):
        return f"; {self.nodes} nodes x {self.nics} NICs x {self.rate}, {ppn} ranks a node"

    def floor_us(self, op, size):
        """The least payload that each node must send or receive, at line rate over all of its NICs."""
        if self.nic_bytes_per_us is None:
            return None
        part = (self.nodes - 1) / self.nodes
        share = {"allreduce": 2 * part, "allgather": part, "reducescatter": part, "broadcast": 1}[op]
        return share * size / (self.nics * self.nic_bytes_per_us * self.PAYLOAD)


def side_by_side(rows, gbps=False, b2b=False, cluster=None):
    values, peers = cells(rows, "b2b_us" if b2b else "median_us")
    have_ours = [o for o in OURS if o in peers and o != "wia-1nic"]
    out = []
    for op, ranks in sorted(dict.fromkeys((key[0], key[1]) for key in values), key=lambda k: k[1]):
        keys = sorted(k for k in values if k[:2] == (op, ranks))
        shown = [p for p in peers if any(p in values[k] for k in keys)]
        head = ["bytes", *shown, "best peer", *(f"best/{o}" for o in have_ours)]
        if "limit" in shown and "wia" in shown:
            head.append("wia/limit")
        if cluster:
            head += ["wia-1nic/wia", "floor", "floor/wia"]
        lines = []
        for key in keys:
            cell = values[key]
            line = [size_text(key[2]), *(_cell_text(key, cell.get(p), gbps) for p in shown), best_peer(cell) or "-"]
            line += [number(ratio(cell, o)) for o in have_ours]
            if "wia/limit" in head:
                line.append(number(cell["wia"].us / cell["limit"].us if "wia" in cell and "limit" in cell else None))
            if cluster:
                floor = cluster.floor_us(op, key[2])
                wia, one_nic = (cell[p].us if p in cell else None for p in ("wia", "wia-1nic"))
                line += [number(one_nic / wia if wia and one_nic else None), number(floor), number(floor / wia if wia and floor else None)]
            lines.append(line)
        unit = "GB/s" if gbps else "us, back to back" if b2b else "us, median"
        out.append(f"{op}, {ranks} ranks ({unit})\n\n" + _table(head, lines))
    marks = []
    if any(v.failed for cell in values.values() for v in cell.values()):
        marks.append("! wrong results: does not count as best")
    if any(v.far for cell in values.values() for v in cell.values()):
        marks.append("~ only measured while the cores were far from each other")
    return "\n\n".join(out) + ("\n\n" + "; ".join(marks) if marks else "")


def summary(rows):
    """How many times as long the best other library takes, as geometric means, and the worst cell, by ranks."""
    values, peers = cells(rows)
    if not any(o in peers for o in OURS):
        return ""
    lines = []
    for ranks in sorted({key[1] for key in values}):
        mine = {key: cell for key, cell in values.items() if key[1] == ranks}
        of = lambda ours, op=None: {k: r for k, c in mine.items() if op in (None, k[0]) and (r := ratio(c, ours)) is not None}
        everything, mapped = of("wia"), of("wia-alloc")
        limit = [c["wia"].us / c["limit"].us for k, c in mine.items() if k[2] >= LARGE and "wia" in c and "limit" in c]
        worst = min(everything, key=everything.get) if everything else None
        lines.append([
            str(ranks),
            number(geometric_mean(everything.values())),
            number(geometric_mean(of("wia", "allreduce").values())),
            number(geometric_mean(mapped.values())),
            number(geometric_mean(of("wia-alloc", "allreduce").values())),
            f"{number(everything[worst])} ({worst[0]} {size_text(worst[2])})" if worst else "-",
            f"{sum(r < 1 for r in everything.values())} of {len(everything)}",
            number(geometric_mean(limit)),
        ])
    head = ["ranks", "wia, all", "all-reduce", "wia-alloc, all", "all-reduce", "worst cell of wia", "cells behind", "wia/limit from 64K"]
    return "Time of the best other library over that of libwia, geometric means\n\n" + _table(head, lines)
