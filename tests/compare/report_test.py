"""How bench/compare reads its rows: which of them count, who is best, what the means are over."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/compare"))
import report  # noqa: E402


def row(peer, us, op="allreduce", ranks=2, size=1 << 20, check="ok", near="70/70"):
    return {"peer": peer, "op": op, "ranks": str(ranks), "bytes": str(size), "median_us": str(us), "b2b_us": str(us),
            "check": check, "xcore_ns": near}


def only_cell(rows):
    return next(iter(report.cells(rows)[0].values()))


class Cells(unittest.TestCase):
    def test_near_rows_count_and_far_ones_only_alone(self):
        cell = only_cell([row("a", 10), row("a", 2, near="70/250"), row("b", 5, near="250/250")])
        self.assertEqual((cell["a"].us, cell["a"].far), (10, False))
        self.assertEqual((cell["b"].us, cell["b"].far), (5, True))

    def test_median_of_repetitions(self):
        self.assertEqual(only_cell([row("a", 10), row("a", 30), row("a", 11)])["a"].us, 11)

    def test_best_peer_is_neither_ours_nor_the_limit_nor_wrong(self):
        rows = [row("wia", 5), row("wia-alloc", 4), row("limit", 1), row("a", 2, check="FAIL"), row("b", 20), row("c", 10)]
        cell = only_cell(rows)
        self.assertEqual(report.best_peer(cell), "c")
        self.assertEqual(report.ratio(cell, "wia"), 2)
        self.assertEqual(report.ratio(cell, "wia-alloc"), 2.5)

    def test_no_ratio_without_a_right_result(self):
        self.assertIsNone(report.ratio(only_cell([row("wia", 5, check="FAIL"), row("a", 10)]), "wia"))
        self.assertIsNone(report.ratio(only_cell([row("wia", 5)]), "wia"))


class Summary(unittest.TestCase):
    def test_geometric_means_and_worst_cell(self):
        rows = [row("wia", 10), row("a", 40), row("wia", 10, op="broadcast"), row("a", 10, op="broadcast")]
        rows += [row("wia", 8, op="allgather", size=8), row("a", 4, op="allgather", size=8)]
        rows += [row("limit", 5), row("limit", 1, op="allgather", size=8)]
        line = [field.strip() for field in report.summary(rows).splitlines()[-1].strip("|").split("|")]
        self.assertEqual(line[0], "2")
        self.assertEqual(line[1], "1.26")  # of 4, 1, 1/2
        self.assertEqual(line[2], "4.00")
        self.assertEqual(line[5], "0.50 (allgather 8)")
        self.assertEqual(line[6], "1 of 3")
        self.assertEqual(line[7], "2.00")  # the 8-byte cell is below 64K

    def test_side_by_side_marks(self):
        text = report.side_by_side([row("a", 10, check="FAIL"), row("b", 20, near="250/250"), row("wia", 5)])
        self.assertIn("10.0!", text)
        self.assertIn("20.0~", text)
        self.assertRegex(text, r"\| +b \| +4\.00 \|")


if __name__ == "__main__":
    unittest.main()
