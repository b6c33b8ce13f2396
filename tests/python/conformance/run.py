"""Runs PyTorch's own distributed tests over the backend wia, and compares with what is known of each.

    scripts/test_python --conformance [--only REGEX] [--backend gloo] [--update]

Prints a line for each test: passed, failed or n.a. (not applicable), the test, the reason; tab-separated, as the
known results in results.tsv. Exit 1 when one differs. What tests write goes to build/conformance.log.
--update: writes results.tsv, where the reasons of known failures stay, and docs/pytorch-conformance.md.
--backend gloo: the same tests over Gloo, to see what a failure is due to; nothing is compared.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import unittest
from pathlib import Path

import page
import results
from results import Result

REPOSITORY = Path(__file__).resolve().parents[3]
LOADER = unittest.defaultTestLoader
LOG = REPOSITORY / "build" / "conformance.log"


class Recorder(unittest.TestResult):
    """Prints each result as it comes."""

    def __init__(self, out):
        super().__init__()
        self.out, self.results = out, {}

    def record(self, test: unittest.TestCase, outcome: str, reason: str = "") -> None:
        name = ".".join(test.id().split(".")[-2:])
        self.results[name] = result = Result(outcome, name, " ".join(reason.split()))
        print(result.line(), file=self.out, flush=True)

    def startTest(self, test):
        print(f"==== {test.id()}", flush=True)
        super().startTest(test)

    def addSuccess(self, test):
        self.record(test, "passed")

    def addSkip(self, test, reason):
        self.record(test, "n.a.", reason)

    def addFailure(self, test, error):
        text = self._exc_info_to_string(error, test)
        print(text, flush=True)
        # What a rank raised stands in the text of the error here; its last line that names an error says most.
        found = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception): .*", text, re.MULTILINE)
        self.record(test, "failed", ([line for line in found if "exited with error code" not in line] or found or [text])[-1][:200])

    addError = addFailure


def run(backend: str, only: str, out) -> dict[str, Result]:
    os.environ["WIA_CONFORMANCE_BACKEND"] = backend
    import suites

    recorder = Recorder(out)
    for suite in suites.SUITES:
        for test in LOADER.loadTestsFromTestCase(suite):
            if re.search(only, f"{suite.__name__}.{test.id().split('.')[-1]}"):
                unittest.TestSuite([test]).run(recorder)
    return recorder.results


def update(found: dict[str, Result]) -> None:
    import suites
    import torch

    there = {f"{suite.__name__}.{name}" for suite in suites.SUITES for name in LOADER.getTestCaseNames(suite)}
    merged = results.merged(results.read(), found)
    merged = {name: result for name, result in merged.items() if name in there}
    results.write(merged)
    about = {suite.__name__: suite.__doc__.strip() for suite in suites.SUITES}
    page.write(merged, about, torch.__version__.split("+")[0])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="", metavar="REGEX")
    options.add_argument("--backend", default="wia")
    options.add_argument("--update", action="store_true")
    given = options.parse_args()
    out = os.fdopen(os.dup(1), "w")
    LOG.parent.mkdir(exist_ok=True)
    with open(LOG, "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    found = run(given.backend, given.only, out)
    if given.update:
        update(found)
    differences = results.differences(results.read(), found, given.only) if given.backend == "wia" else []
    print(*differences, f"conformance: {results.counts(found)}", sep="\n", file=out, flush=True)
    return bool(differences) or not found


if __name__ == "__main__":
    sys.exit(main())
