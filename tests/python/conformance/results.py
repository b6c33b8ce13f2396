"""The results of PyTorch's tests: results.tsv, and what differs from it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

KNOWN = Path(__file__).resolve().parent / "results.tsv"
OUTCOMES = ("passed", "failed", "n.a.")


class Result(NamedTuple):
    outcome: str
    name: str  # Suite.test_name
    reason: str

    @property
    def suite(self) -> str:
        return self.name.split(".")[0]

    @property
    def test(self) -> str:
        return self.name.split(".")[1]

    def line(self) -> str:
        return "\t".join(self)


Results = dict[str, Result]


def read() -> Results:
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    return {result.name: result for result in (Result(*line.split("\t")) for line in lines)}


def merged(known: Results, found: Results) -> Results:
    """The reason of a failure that was known stays: people wrote it."""
    stays = {name: known[name] for name in found if name in known and known[name].outcome == "failed"}
    same = {name: result for name, result in stays.items() if found[name].outcome == "failed"}
    return known | found | same


def differences(known: Results, found: Results, only: str) -> list[str]:
    nothing = Result("not run", "", "")
    names = {name for name in known if re.search(only, name)} | found.keys()
    pairs = [(name, known.get(name, nothing), found.get(name, nothing)) for name in sorted(names)]
    return [
        f"{name}: {now.outcome} ({now.reason}); known: {before.outcome}"
        for name, before, now in pairs
        if now.outcome != before.outcome
    ]


def counts(results: Results) -> str:
    counted = Counter(result.outcome for result in results.values())
    return ", ".join(f"{counted[outcome]} {outcome}" for outcome in OUTCOMES)


def write(results: Results) -> None:
    KNOWN.write_text("".join(results[name].line() + "\n" for name in sorted(results)))
