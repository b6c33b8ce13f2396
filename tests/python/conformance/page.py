"""docs/pytorch-conformance.md, from the results."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

from results import OUTCOMES, Results

PAGE = Path(__file__).resolve().parents[3] / "docs" / "pytorch-conformance.md"
# What PyTorch's own words for a test that it skips mean here; the first that fits.
_REASONS = (
    (r"CUDA|nccl|Nccl|NCCL", "wants CUDA devices or NCCL"),
    (r"torchvision", "needs torchvision"),
    (r"^https://github.com/pytorch|failing|flak", "PyTorch skips it with every backend"),
)
_HEAD = """# PyTorch's own tests

The distributed tests that PyTorch {version} brings with it, run over the backend `wia`:

    scripts/test_python --conformance                                    # 4 minutes
    scripts/test_python --conformance --only test_all_reduce             # some of them
    scripts/test_python --conformance --backend gloo --only test_barrier # what Gloo makes of them
    scripts/test_python --conformance --update                           # writes results.tsv and this page

PyTorch decides by the name of a backend what its tests demand. Here all is demanded that they demand of the backends for
CPUs, Gloo and MPI: of either what the other need not do, too. Nothing of PyTorch is changed; `tests/python/conformance/` imports
its tests and enters `wia` in their tables. A run prints a line for each test and fails when one differs from
`tests/python/conformance/results.tsv`. Of the tests that want CUDA devices, those that can do without run with all of their tensors on
the CPU, and without `device_ids`: of the process group they ask the same. `monitored_barrier` is called past its look at the name (see [PyTorch](pytorch.md)).

| suite | of PyTorch's `torch.testing._internal` | passed | failed | not applicable |
|---|---|---|---|---|
"""
_RPC = """
PyTorch also brings tests of RPC (`distributed/rpc`, `distributed/nn`): they go by TensorPipe, not by a backend of
`torch.distributed`. Its tests of `pipelining`, `fully_shard` and tensor parallelism do not come with the package; `tests/python` has
such tests of this repository.
"""


def write(results: Results, about: dict[str, str], version: str) -> None:
    """about: what each suite is."""
    rows = []
    for suite, text in about.items():
        counted = Counter(result.outcome for result in results.values() if result.suite == suite)
        rows.append(f"| {suite} | {text} | " + " | ".join(str(counted[outcome]) for outcome in OUTCOMES) + " |")
    PAGE.write_text(_HEAD.format(version=version) + "\n".join(rows) + "\n" + _RPC + _not_passed(results))


def _not_passed(results: Results) -> str:
    text = ""
    for outcome, title in (("failed", "Failed"), ("n.a.", "Not applicable")):
        groups = defaultdict(list)
        for result in results.values():
            if result.outcome == outcome:
                groups[_reason(result.reason)].append(result.test)
        rows = [
            f"| {reason} | {len(tests)} | {', '.join(sorted(tests))} |"
            for reason, tests in sorted(groups.items(), key=lambda group: len(group[1]))
        ]
        text += f"\n## {title}\n\n" + ("| why | tests | |\n|---|---|---|\n" + "\n".join(rows) if rows else "None.") + "\n"
    return text


def _reason(words: str) -> str:
    return next((reason for pattern, reason in _REASONS if re.search(pattern, words)), words)
