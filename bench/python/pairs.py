"""Two things measured in turn, pair by pair, so that what disturbs one disturbs the other as well."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Pairs:
    """Times of the two, in one unit; element i of both was taken together."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratios(self) -> list[float]:
        """Above 1 ours is the faster."""
        return sorted(theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True))

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    def row(self) -> str:
        """Both medians, the median ratio and the half of the ratios that is nearest to it, for a table."""
        low, high = quartiles(self.ratios)
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        return f"{ours:,.1f} | {theirs:,.1f} | {self.ratio:.2f} | {low:.2f} to {high:.2f}"


def take(ours: Callable[[], float], theirs: Callable[[], float], pairs: int) -> Pairs:
    """The order within a pair changes with each, so that neither is always the second."""
    taken = Pairs([], [])
    for turn in range(pairs):
        if turn % 2:
            theirs_first = theirs()
            taken.ours.append(ours())
            taken.theirs.append(theirs_first)
        else:
            taken.ours.append(ours())
            taken.theirs.append(theirs())
    return taken


def quartiles(values: list[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))
