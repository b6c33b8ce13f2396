"""The peers of the comparison: what each needs, how its benchmark is built, how its ranks are started.

A peer is a row in PEERS. All of them run one timing loop (bench_common.hpp); a peer's command gets the
options of that loop at its end.
"""
import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE / "build"))  # the benchmarks of the other libraries
WIA_BUILD = ROOT / "build"  # libwia and its benchmarks, as the release preset puts them
CORES = sorted(os.sched_getaffinity(0))
FLAGS = "-O3 -march=x86-64-v3 -std=c++17 -Wall -Wno-sign-compare".split()


@dataclasses.dataclass
class Process:
    """One program to start: an MPI launcher, or a rank."""

    arguments: list
    environment: dict = dataclasses.field(default_factory=dict)
    core: int | None = None  # bound to it


@dataclasses.dataclass
class Peer:
    name: str
    family: str  # ompi, mpich, impi, gloo, wia, limit: says how it is built and started
    summary: str
    options: list = dataclasses.field(default_factory=list)  # of the launcher (ompi) or the benchmark
    environment: dict = dataclasses.field(default_factory=dict)
    at_most_cores: bool = False  # it never yields: useless with more ranks than cores


def _ompi(name, summary, options="", **more):
    return Peer(name, "ompi", summary, options.split(), **more)


def _mpich(name, summary, **environment):
    return Peer(name, "mpich", summary, environment=environment)


PEERS = {
    peer.name: peer
    for peer in [
        Peer("wia", "wia", "libwia on ordinary buffers"),
        Peer("wia-alloc", "wia", "libwia on buffers from wia_alloc", ["--alloc"]),
        Peer("wia-1nic", "wia", "libwia on eth0 alone (cluster)", environment={"WIA_NIC": "eth0"}),
        Peer("limit", "limit", "the memory traffic alone, without any synchronisation (limit_bench.cpp)"),
        _ompi("ompi", "Open MPI as it is"),
        _ompi("ompi-smcoll", "Open MPI with its shared-memory collectives", "--mca coll_sm_priority 100", at_most_cores=True),
        _ompi("ompi-ucx", "Open MPI over UCX", "--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"),
        _ompi("ompi-tcp", "Open MPI over loopback TCP", "--mca btl tcp,self --mca btl_tcp_if_include lo"),
        _ompi("ompi-han", "Open MPI, hierarchical collectives", "--mca coll_han_priority 100"),
        _ompi("ompi-hanadapt", "the same with ADAPT", "--mca coll_han_priority 100 --mca coll_adapt_priority 50"),
        _ompi("ompi-1nic", "Open MPI on eth0 alone (cluster)"),
        _mpich("mpich", "MPICH (ch4:ucx) as it is"),
        _mpich("mpich-rg", "MPICH with release-gather collectives",
               **{f"MPIR_CVAR_{c}_POSIX_INTRA_ALGORITHM": "release_gather" for c in ("BCAST", "ALLREDUCE", "REDUCE", "BARRIER")}),
        _mpich("mpich-2rail", "MPICH over two UCX rails", UCX_MAX_EAGER_RAILS="2", UCX_MAX_RNDV_RAILS="2"),
        _mpich("mpich-tcp", "MPICH over loopback TCP", MPIR_CVAR_NOLOCAL="1", UCX_TLS="tcp,self", UCX_NET_DEVICES="lo"),
        Peer("impi", "impi", "Intel MPI, where I_MPI_ROOT names it"),
        Peer("gloo", "gloo", "Gloo over TCP as PyTorch's CPU backend uses it"),
        Peer("gloo-bcube", "gloo", "Gloo, bcube", ["--algo", "bcube"]),
        Peer("gloo-hd", "gloo", "Gloo, halving-doubling", ["--algo", "hd", "--rs", "hd"]),
        Peer("gloo-2nic", "gloo", "Gloo over two contexts, one a NIC (cluster)"),
    ]
}
DEFAULT = "ompi ompi-smcoll ompi-ucx mpich mpich-rg impi gloo wia wia-alloc limit".split()
CLUSTER = "ompi ompi-han ompi-hanadapt mpich mpich-2rail gloo gloo-2nic wia wia-1nic".split()
CLUSTER_DIR = pathlib.Path(os.environ.get("CLUSTER_DIR", "/tmp/wia-cluster"))
OURS = ("wia", "wia-alloc", "wia-1nic")  # what the others are held against; `limit` is no peer either


def _intel(program):
    root = os.environ.get("I_MPI_ROOT")
    found = pathlib.Path(root or "/nonexistent", "bin", program)
    return str(found) if found.exists() else None


def _has_ucx():
    info = subprocess.run(["ompi_info", "--parsable"], capture_output=True, text=True, check=False).stdout
    return "mca:pml:ucx" in info


def missing(peer):
    """Why this peer cannot be measured here; None when it can."""
    if peer.family == "ompi":
        if not shutil.which("mpirun.openmpi") or not shutil.which("mpicxx.openmpi"):
            return "Open MPI is not installed (openmpi-bin, libopenmpi-dev)"
        if peer.name == "ompi-ucx" and not _has_ucx():
            return "this Open MPI has no UCX"
    if peer.family == "mpich" and not (shutil.which("mpirun.mpich") and shutil.which("mpicxx.mpich")):
        return "MPICH is not installed (mpich, libmpich-dev)"
    if peer.family == "impi" and not (_intel("mpirun") and _intel("mpicxx")):
        return "I_MPI_ROOT names no Intel MPI with bin/mpirun and bin/mpicxx"
    if peer.family == "gloo" and not pathlib.Path("/usr/include/gloo/allreduce.h").exists():
        return "Gloo is not installed (libgloo-dev)"
    return None


def _binary(family):
    if family in ("wia", "limit"):
        return WIA_BUILD / "bench/compare" / f"compare_{family}"
    return BUILD / {"ompi": "mpi_bench.openmpi", "mpich": "mpi_bench.mpich", "impi": "mpi_bench.impi", "gloo": "gloo_bench"}[family]


def build(families):
    """Builds what is missing or older than its sources. Raises CalledProcessError."""
    if {"wia", "limit"} & set(families):
        if not (WIA_BUILD / "CMakeCache.txt").exists():
            subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        targets = [f"compare_{f}" for f in ("wia", "limit") if f in families]
        subprocess.run(["cmake", "--build", WIA_BUILD, "--target", *targets], check=True, stdout=subprocess.DEVNULL)
    BUILD.mkdir(parents=True, exist_ok=True)
    compilers = {"ompi": ["mpicxx.openmpi"], "mpich": ["mpicxx.mpich"], "impi": [_intel("mpicxx")], "gloo": ["g++"]}
    for family, compiler in compilers.items():
        binary = _binary(family)
        sources = [HERE / ("gloo_bench.cpp" if family == "gloo" else "mpi_bench.cpp"), HERE / "bench_common.hpp"]
        if family not in families or (binary.exists() and binary.stat().st_mtime > max(s.stat().st_mtime for s in sources)):
            continue
        libraries = ["-lgloo", "-pthread"] if family == "gloo" else []
        subprocess.run([*compiler, *FLAGS, sources[0], "-o", binary, *libraries], check=True)


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def local(peer, ranks, folder, options):
    """The processes that run `ranks` ranks of the peer on this machine. `folder` is an empty one of theirs."""
    binary, one_each = _binary(peer.family), ranks <= len(CORES)
    options = ["--shm", f"{folder}/harness", "--label", peer.name, *options]
    if peer.family == "ompi":
        place = ["--bind-to", "core"] if one_each else ["--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        more = os.environ.get("MPI_ARGS", "").split()
        return [Process(["mpirun.openmpi", "-np", str(ranks), *place, *peer.options, *more, binary, *options], ROOT_MAY)]
    if peer.family in ("mpich", "impi"):
        launcher = "mpirun.mpich" if peer.family == "mpich" else _intel("mpirun")
        place = ["-bind-to", "core" if one_each else "none"]
        return [Process([launcher, "-np", str(ranks), *place, binary, *options], peer.environment)]
    if peer.family == "gloo":  # its threads are left to the scheduler, as PyTorch leaves them
        rank = lambda r: ["--rank", str(r), "--size", str(ranks), "--store", folder, "--iface", "lo"]
        return [Process([binary, *options, *rank(r), *peer.options]) for r in range(ranks)]
    core = lambda r: CORES[r] if one_each else None
    if peer.family == "limit":
        rank = lambda r: ["--rank", str(r), "--size", str(ranks), "--store", folder]
        return [Process([binary, *options, *rank(r)], core=core(r)) for r in range(ranks)]
    meeting = {"WIA_WORLD_SIZE": str(ranks), "WIA_MASTER_ADDR": "127.0.0.1", "WIA_MASTER_PORT": str(_free_port())}
    return [Process([binary, *options, *peer.options], {**meeting, "WIA_RANK": str(r)}, core(r)) for r in range(ranks)]


def cluster_fact(name):
    """How many nodes or NICs the emulated cluster has, or its rate ("1gbit")."""
    file = CLUSTER_DIR / name
    if not file.exists():
        raise SystemExit(f"run: no cluster is up ({CLUSTER_DIR}); scripts/cluster up makes one")
    text = file.read_text().strip()
    return text if name == "rate" else int(text)


def cluster(peer, per_node, folder, options):
    """The same over the nodes of the emulated cluster (the script `cluster`), two NICs a node."""
    nodes = cluster_fact("nodes")
    ranks, script = nodes * per_node, ROOT / "scripts/cluster"
    addresses = [f"10.77.0.{i + 1}" for i in range(nodes)]
    hosts = ",".join(f"{a}:{per_node}" for a in addresses)
    nics = "10.77.0.0/24" if peer.name == "ompi-1nic" else "10.77.0.0/24,10.77.1.0/24"
    nic_names = ",".join(f"eth{k}" for k in range(cluster_fact("nics")))
    options = ["--shm", f"{folder}/harness", "--label", peer.name, "--nics", nic_names, *options]
    launch = [script, "launch"]
    if peer.family == "ompi":
        over = "--bind-to none --oversubscribe --mca mpi_yield_when_idle 1 --mca plm_rsh_no_tree_spawn 1".split()
        over += ["--mca", "plm_rsh_agent", HERE / "agent", "--mca", "oob_tcp_if_include", "10.77.0.0/24"]
        over += ["--mca", "btl_tcp_if_include", nics, "--mca", "orte_keep_fqdn_hostnames", "1"]
        more = os.environ.get("MPI_ARGS", "").split()
        start = ["mpirun.openmpi", "-np", str(ranks), "--host", hosts, *over, *peer.options, *more]
        return [Process([*launch, *start, _binary("ompi"), *options], ROOT_MAY)]
    if peer.family == "mpich":
        over = ["-bind-to", "none", "-iface", "br0", "-launcher", "rsh", "-launcher-exec", HERE / "agent"]
        start = ["mpirun.mpich", "-np", str(ranks), "-hosts", hosts, *over]
        return [Process([*launch, *start, _binary("mpich"), *options], peer.environment)]
    on_node = lambda r: [script, "exec", str(r // per_node)]
    if peer.family == "gloo":
        faces = ["--iface", "eth0"] + (["--iface", "eth1"] if peer.name.endswith("2nic") else [])
        rank = lambda r: ["--rank", str(r), "--size", str(ranks), "--store", folder, *faces, *peer.options]
        return [Process([*on_node(r), _binary("gloo"), *options, *rank(r)]) for r in range(ranks)]
    if peer.family == "wia":
        port = 29610 + list(PEERS).index(peer.name)
        meeting = {"WIA_WORLD_SIZE": str(ranks), "WIA_MASTER_ADDR": addresses[0], "WIA_MASTER_PORT": str(port), **peer.environment}
        return [Process([*on_node(r), _binary("wia"), *options, *peer.options], {**meeting, "WIA_RANK": str(r)}) for r in range(ranks)]
    raise SystemExit(f"run: {peer.name} does not run on the emulated cluster")


def start(process):
    """Starts a process in a group of its own, so that it can be ended with all that it started."""
    bind = (lambda: os.sched_setaffinity(0, {process.core})) if process.core is not None else None
    environment = {**os.environ, **process.environment}
    arguments = [str(a) for a in process.arguments]
    return subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=bind)
