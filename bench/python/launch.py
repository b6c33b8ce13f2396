"""Starts the ranks of a comparison: on this host, or on the nodes of the cluster of scripts/cluster."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = Path(os.environ.get("CLUSTER_DIR", "/tmp/wia-cluster"))


@dataclass(frozen=True)
class Place:
    """Where ranks run; per_node 0: all on this host."""

    ranks: int
    per_node: int = 0
    gloo_interfaces: str = "lo"

    def __str__(self) -> str:
        if not self.per_node:
            return f"{self.ranks} ranks on one host"
        return f"{self.ranks} ranks on {self.ranks // self.per_node} nodes"


def cluster(per_node: int, gloo_interfaces: str) -> Place:
    """All nodes of the emulated cluster that is up."""
    nodes = CLUSTER / "nodes"
    if not nodes.exists():
        raise SystemExit(f"no cluster is up ({CLUSTER}); scripts/cluster up makes one")
    return Place(per_node * int(nodes.read_text()), per_node, gloo_interfaces)


def is_rank() -> bool:
    return "RANK" in os.environ


def run(place: Place, limit: float) -> None:
    """This program with these arguments once more, as each of the ranks. Raises SystemExit when one fails or
    `limit` seconds have passed; none is left running.
    """
    common = {
        "WORLD_SIZE": str(place.ranks),
        "MASTER_ADDR": "10.77.0.1" if place.per_node else "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": place.gloo_interfaces,
        "PYTHONWARNINGS": "ignore::FutureWarning",  # PyTorch renames calls that older ones lack
    }
    started = [_start(place, rank, common) for rank in range(place.ranks)]
    try:
        _wait(started, limit)
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()


def _start(place: Place, rank: int, common: dict[str, str]) -> subprocess.Popen[bytes]:
    where = [str(ROOT / "scripts/cluster"), "exec", str(rank // place.per_node)] if place.per_node else []
    local = rank % place.per_node if place.per_node else rank
    environment = os.environ | common | {"RANK": str(rank), "LOCAL_RANK": str(local)}
    if not place.per_node:
        environment.setdefault("WIA_NIC", "lo")
    return subprocess.Popen([*where, sys.executable, *sys.argv], env=environment)


def _wait(started: list[subprocess.Popen[bytes]], limit: float) -> None:
    end = time.monotonic() + limit
    while any(process.poll() is None for process in started):
        failed = [rank for rank, process in enumerate(started) if process.poll() not in (None, 0)]
        if failed:
            raise SystemExit(f"rank {failed[0]} ended with {started[failed[0]].returncode}")
        if time.monotonic() > end:
            raise SystemExit(f"not done after {limit:.0f} s")
        time.sleep(0.05)
    if any(process.returncode for process in started):
        raise SystemExit("a rank failed")


def _free_port() -> int:
    """Not one of those that the system gives to whoever asks for any."""
    while True:
        port = random.randrange(12_000, 20_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
