"""Speeds of jobs that share an emulated GPU."""
import csv
import io
import unittest

from test_jobs import JOBS   # noqa: F401, I100  it sets the path
from test_programs import run

import speeds   # noqa: E402


class Speeds(unittest.TestCase):
    def test_sets_are_all_pairs_and_all_triples(self):
        chosen = speeds.sets(["a", "b", "c", "d"], ["a'", "b'", "c'", "d'"])
        self.assertEqual(len(chosen), 6 + 4 + 4)
        self.assertIn(["a", "a'"], chosen, "two jobs of one kind")
        self.assertEqual(len({tuple(sorted(members)) for members in chosen}), len(chosen))

    def test_every_kind_has_an_effort(self):
        from run import DEFAULTS
        self.assertEqual(set(speeds.EFFORTS), set(DEFAULTS))
        self.assertLessEqual(set(speeds.QUICK), set(DEFAULTS))

    def test_each_set_has_a_line_for_each_job(self):
        done = run("speeds.py", "--quick", "--seconds", "0.2")
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        lines = list(csv.DictReader(io.StringIO(done.stdout.decode())))
        self.assertEqual(len(lines), 2 * (6 + 4) + 3 * 4)
        for line in lines:
            self.assertIn(line["kind"], speeds.QUICK)
            self.assertTrue(0 <= float(line["activity"]) <= 1)
            self.assertGreater(float(line["speed"]), 0)


if __name__ == "__main__":
    unittest.main()
