"""The example that trains a GPT: one trajectory by all strategies and backends, restarted, a rank lost."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groups import process_group
from ranks import free_port, run_once

EXAMPLES = Path(__file__).parents[2] / "examples/torch"
SMALL = "--text docs/decisions --batch 4 --context 16 --width 16 --layers 2 --heads 2".split()
STEPS = 6
HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None
with_deepspeed = pytest.mark.skipif(not HAS_DEEPSPEED, reason="DeepSpeed is not installed (docs/pytorch.md)")


def strategies(*names: str) -> list:
    return [pytest.param(name, marks=with_deepspeed if "zero" in name else ()) for name in names]


def _train(backend: str, folder: str, runs: dict[str, list[str]]) -> dict[str, list[float]]:
    """Each run's losses; one after the other, in one process group: DeepSpeed takes no second one."""
    sys.path.insert(0, str(EXAMPLES))
    import train_gpt

    common = [*SMALL, "--steps", str(STEPS), "--curve", f"{folder}/curve.svg"]
    with process_group(backend):
        return {name: train_gpt.run(train_gpt.options_of(common + options)) for name, options in runs.items()}


def trained(
    folder: Path, runs: dict[str, list[str]], backend: str = "wia", ranks: int = 2
) -> dict[str, list[float]]:
    # In new processes: Gloo's groups do not always survive that one of them is made after another.
    results = run_once(ranks, _train, backend, str(folder), runs)
    assert all(losses == results[0] for losses in results)
    return results[0]


def prepare_deepspeed() -> None:
    """Where it is first used it compiles an extension, which may take longer than a job may."""
    if HAS_DEEPSPEED:
        code = "from deepspeed.ops.op_builder import ShareMemCommBuilder; ShareMemCommBuilder().load()"
        environment = os.environ | {"DS_ACCELERATOR": "cpu"}
        subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, timeout=600, capture_output=True
        )


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """What each strategy gives; and saved, in two parts, `first` and `resumed`."""
    folder = tmp_path_factory.mktemp("wia")
    prepare_deepspeed()
    runs = {}
    for name in ["ddp", "fsdp"] + ["zero1", "zero2", "zero3"] * HAS_DEEPSPEED:
        saving = ["--strategy", name, "--checkpoint", str(folder / name), "--every", "2"]
        runs[name] = ["--strategy", name]
        runs[f"{name}, first"] = [*saving, "--steps", "3"]
        runs[f"{name}, resumed"] = [*saving, "--resume"]
    return trained(folder, runs) | {"folder": folder}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    names = ["ddp", "fsdp"] + ["zero3"] * HAS_DEEPSPEED
    return trained(tmp_path_factory.mktemp("gloo"), {name: ["--strategy", name] for name in names}, "gloo")


@pytest.mark.parametrize("strategy", strategies("fsdp", "zero1", "zero2", "zero3"))
def test_strategies_learn_alike(ours, strategy):
    assert ours[strategy] == pytest.approx(ours["ddp"], rel=1e-4)


@pytest.mark.parametrize("strategy", strategies("ddp", "fsdp", "zero3"))
def test_gloo_learns_alike(ours, theirs, strategy):
    assert ours[strategy] == pytest.approx(theirs[strategy], rel=1e-5)


@pytest.mark.parametrize("strategy", strategies("ddp", "fsdp", "zero1", "zero2", "zero3"))
def test_a_restart_goes_on(ours, strategy):
    assert ours[f"{strategy}, first"] == ours[strategy][:3]
    assert ours[f"{strategy}, resumed"] == ours[strategy]
    assert [path.name for path in (ours["folder"] / strategy).iterdir()] == [f"step-{STEPS}"]


def test_another_number_of_ranks_goes_on(tmp_path, ours):
    saving = ["--checkpoint", str(tmp_path / "saved")]
    trained(tmp_path, {"": [*saving, "--strategy", "fsdp", "--steps", "3"]})
    assert trained(tmp_path, {"": [*saving, "--resume"]}, ranks=1)[""] == pytest.approx(ours["ddp"], rel=1e-4)


def _environment_of(process: Path) -> list[str]:
    try:
        return (process / "environ").read_text().split("\0")
    except OSError:  # ended meanwhile
        return []


def _workers_of(launcher: int, rank: int) -> list[int]:
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return [int(child) for child in children if f"RANK={rank}" in _environment_of(Path("/proc", child))]


def _until(condition, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.002)
    return found


def test_a_killed_rank_costs_nothing_but_time(tmp_path):
    """torchrun starts all ranks again, and they go on from the newest checkpoint."""
    every, steps = 5, 200
    options = [*SMALL, "--steps", str(steps), "--every", str(every), "--curve", str(tmp_path / "curve.svg")]
    saved = tmp_path / "saved"
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node=2",
        f"--master-port={free_port()}",
    ]
    torchrun += ["--max-restarts=2", "--monitor-interval=0.1", str(EXAMPLES / "train_gpt.py"), *options]
    environment = os.environ | {"WIA_NIC": "lo", "OMP_NUM_THREADS": "1"}
    log = tmp_path / "log"
    with log.open("w") as output:
        job = subprocess.Popen(
            [*torchrun, "--checkpoint", str(saved), "--resume"], env=environment, stdout=output, stderr=output
        )
    try:
        _until(lambda: saved.exists() and any(saved.glob("step-*")))
        for worker in _workers_of(job.pid, rank=1):
            os.kill(worker, signal.SIGKILL)
        assert job.wait(120) == 0, log.read_text()
    finally:
        job.terminate()  # ends its workers, too
        job.wait(30)
    assert "goes on after step" in log.read_text()
    losses = json.loads((saved / f"step-{steps}/losses.json").read_text())
    assert losses == trained(tmp_path, {"": ["--steps", str(steps)]})[""]
    assert min(losses[-10:]) < losses[0]
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
