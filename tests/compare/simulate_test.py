"""How bench/simulate reads, fits and judges: on tiny made-up data, and SimGrid's replay where it is built."""
import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bench/simulate"
sys.path.insert(0, str(FOLDER))
import calibration as c  # noqa: E402
import supercomputers as s  # noqa: E402


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(FOLDER / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


cluster = script("compare_cluster")
supercomputers = script("compare_supercomputers")


def cell(ranks, size, collective="all_gather", algorithm="ring"):
    return c.Cell(collective, algorithm, ranks, size)


def ring_time(machine, one):
    network = machine["network"]
    step = network["alpha_us"]["value"] + one.bytes / one.ranks / network["bandwidth_GBps"]["value"] / 1e3
    return (one.ranks - 1) * step


class Fitting(unittest.TestCase):
    def test_finds_the_figures_that_made_the_times(self):
        line = lambda values, ranks: values["a"] + values["b"] * ranks
        measured = {cell(ranks, 1): line({"a": 100, "b": 7}, ranks) for ranks in (2, 8, 32, 128)}
        cost = lambda values: c.misfit({one: line(values, one.ranks) for one in measured}, measured)
        values, least = c.fit(cost, {"a": 20, "b": 20}, finest=0.001)
        self.assertLess(least, 0.01)
        self.assertAlmostEqual(values["a"], 100, delta=4)
        self.assertAlmostEqual(values["b"], 7, delta=0.3)

    def test_twice_and_half_weigh_the_same(self):
        self.assertAlmostEqual(c.misfit({cell(2, 1): 20.0, cell(4, 1): 5.0}, {cell(2, 1): 10.0, cell(4, 1): 10.0}), math.log(2))
        self.assertAlmostEqual(c.mean_error({cell(2, 1): 20.0, cell(4, 1): 5.0}, {cell(2, 1): 10.0, cell(4, 1): 10.0}), 0.75)

    def test_replaces_figures_by_path_and_leaves_the_machine_alone(self):
        machine = {"network": {"alpha_us": c.figure(5, "x")}, "call_us": c.figure(1, "x")}
        changed = c.with_figures(machine, {"network.alpha_us": 12.34567, "call_us": 2}, "a fit")
        self.assertEqual(changed["network"]["alpha_us"], {"value": 12.35, "evidence": "measured", "source": "a fit"})
        self.assertEqual(machine["network"]["alpha_us"]["value"], 5)


class Data(unittest.TestCase):
    def file(self, text):
        handle = tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8")
        self.addCleanup(handle.close)
        handle.write(text)
        handle.flush()
        return handle.name

    TIMINGS = "machine,collective,run_set,library,ranks,bytes,time_ms\n"
    FIGURES = "figure,library,size_MB,procs,time_ms\n"

    def test_timings_are_microseconds_and_runs_of_a_cell_lie_together(self):
        name = self.file(self.TIMINGS + "m,all_gather,1,vendor,8,1024,0.5\nm,all_gather,2,vendor,8,1024,0.25\n")
        self.assertEqual(s.read_timings(name), {("m", cell(8, 1024, algorithm="vendor")): [500.0, 250.0]})

    def test_figures_name_machine_and_collective(self):
        name = self.file(self.FIGURES + "Fig10 all-reduce Frontier,PCCL,2,64,3\nFig1 all-gather,NCCL,1,8,2\nFig1 all-gather,Cray-MPICH,1,8,2\n")
        self.assertEqual(s.read_figures(name), {("frontier", cell(64, 2 << 20, "all_reduce", "pccl"), "Fig10"): 3000.0,
                                                ("perlmutter", cell(8, 1 << 20, algorithm="vendor"), "Fig1"): 2000.0})

    def test_bad_lines_are_named(self):
        for text, where in ((self.TIMINGS + "m,all_gather,1,vendor,8,1024,0.5\nm,all_gather,1,vendor,8,1024,-1\n", "line 3: time_ms"),
                            (self.TIMINGS + "m,all_gather,1,vendor,eight,1024,1\n", "line 2: ranks"),
                            (self.TIMINGS + "m,all_gather\n", "line 2: wanted are 7 fields"), ("a,b\n1,2\n", "line 1: wanted are the columns")):
            with self.subTest(where), self.assertRaisesRegex(c.Failure, where):
                s.read_timings(self.file(text))

    def test_rccl_above_128_is_kept_apart(self):
        vendor = cell(256, 1, algorithm="vendor")
        self.assertTrue(s.PATHOLOGICAL(vendor, "frontier"))
        self.assertFalse(s.PATHOLOGICAL(vendor, "perlmutter"))
        self.assertFalse(s.PATHOLOGICAL(vendor._replace(ranks=128), "frontier"))
        self.assertFalse(s.PATHOLOGICAL(vendor._replace(algorithm="hierarchical"), "frontier"))

    def test_absent_data_has_an_exit_code_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("sys.stderr"):
            self.assertEqual(supercomputers.main(["--data", folder]), 3)


class Choice(unittest.TestCase):
    class Formula(s.Model):
        def __init__(self, name, time):
            super().__init__({}, s.Form(name, [name], {"a": 1.0, "b": 1.0}), "")
            self.time = time

        def predict(self, values, cells):
            return {one: values["a"] + values["b"] * self.time(one.ranks) for one in cells}

    def test_the_form_that_extrapolates_is_chosen(self):
        models = [self.Formula("logarithm", math.log2), self.Formula("line", float)]
        measured = {cell(ranks, 1): 50.0 + 3 * ranks for ranks in (16, 32, 64, 128)}
        model, values, scores = s.choose(models, measured)
        self.assertEqual(model.form.name, "line")
        self.assertLess(scores["line"], scores["logarithm"])
        self.assertAlmostEqual(model.predict(values, [cell(512, 1)])[cell(512, 1)], 50 + 3 * 512, delta=50)


class Cluster(unittest.TestCase):
    def test_foretells_what_a_machine_of_the_same_form_takes(self):
        def simulate(machine, cells):
            return {one: ring_time(machine, one) for one in cells}

        truth = c.with_figures(cluster.nominal_machine("200mbit", 2), {"network.alpha_us": 150, "network.bandwidth_GBps": 0.02}, "")
        times = {cell(n, size): [ring_time(truth, cell(n, size))] * 3 for n in (2, 4, 8, 16) for size in (1 << 18, 1 << 22)}
        with mock.patch.object(c, "simulate", simulate):
            _, _, predicted, known, asked = cluster.compare(times, "200mbit", [2, 4], [8, 16], 2)
        self.assertEqual((len(known), len(asked)), (4, 4))
        self.assertLess(c.mean_error(predicted, asked), 0.03)

    def test_rates_and_files_that_are_none_are_refused(self):
        self.assertAlmostEqual(cluster.nominal_machine("1gbit", 2)["network"]["bandwidth_GBps"]["value"], 0.1196, places=4)
        with self.assertRaisesRegex(c.Failure, "--rate fast"):
            cluster.nominal_machine("fast", 2)
        with self.assertRaisesRegex(c.Failure, "is no file that compare_cluster has written"):
            cluster.read_times("/dev/null")


class Replay(unittest.TestCase):
    """Against what can be worked out by hand."""

    PROGRAM = os.environ.get("WIA_SIMGRID_REPLAY", "")

    def replay(self, machine, *arguments):
        if not pathlib.Path(self.PROGRAM).is_file():
            self.skipTest("simgrid_replay is not built: SimGrid is not installed (scripts/setup --compare)")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(machine, file)
            file.flush()
            run = subprocess.run([self.PROGRAM, file.name, *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def machine(self, ranks_per_node=1, nics=1):
        way = lambda alpha, bandwidth: {"alpha_us": c.figure(alpha, "made up"), "bandwidth_GBps": c.figure(bandwidth, "made up")}
        return {"schema": "wia.machine/1", "name": "small", "description": "made up", "ranks_per_node": ranks_per_node, "nics_per_node": nics,
                "node": way(1, 10), "network": way(10, 1), "overhead_us": c.figure(0, "none"), "reduce_GBps": c.figure(1e6, "no limit"),
                "copy_GBps": c.figure(1e6, "no limit"), "call_us": c.figure(5, "made up"), "vendors": []}

    def test_a_ring_of_nodes(self):
        row = self.replay(self.machine(), "all_gather", "ring", 4, 4_000_000)
        self.assertEqual(row["messages"], 12)
        self.assertAlmostEqual(row["time_us"], 5 + 3 * (10 + 1000), delta=2)

    def test_ranks_of_a_node_share_its_nic(self):
        alone = self.replay(self.machine(2, 2), "all_gather", "halving_doubling", 4, 4_000_000)["time_us"]
        shared = self.replay(self.machine(2, 1), "all_gather", "halving_doubling", 4, 4_000_000)["time_us"]
        # One step goes out of the node with all that the ranks have by then, or with their own block.
        self.assertGreater(shared - alone, 900)

    def test_narrow_fabrics_take_longer(self):
        times = [self.replay(self.machine(), "all_reduce", "halving_doubling", 16, 1 << 24, "--fabric", fabric)["time_us"]
                 for fabric in ("ideal", "minimal")]
        self.assertGreater(times[1], times[0] * 1.2)


if __name__ == "__main__":
    unittest.main()
