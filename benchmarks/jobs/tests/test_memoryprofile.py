"""Recorded memory of jobs."""
import csv
import io
import multiprocessing
import os
import types
import unittest

from test_jobs import JOBS   # noqa: F401, I100  it sets the path
from test_programs import run

import memoryprofile   # noqa: E402

MIB = 1 << 20


class Readings(unittest.TestCase):
    def test_memory_that_is_used_counts_once(self):
        before = memoryprofile.used(os.getpid())
        block = bytearray(os.urandom(1)) * (64 * MIB)
        self.assertAlmostEqual(memoryprofile.used(os.getpid()) - before, 64, delta=8)
        ready, end = multiprocessing.Event(), multiprocessing.Event()
        child = multiprocessing.get_context("fork").Process(target=lambda: (ready.set(), end.wait()))
        child.start()
        ready.wait()
        self.assertIn(child.pid, memoryprofile.children(os.getpid()))
        self.assertAlmostEqual(memoryprofile.used(os.getpid()) - before, 64, delta=16)
        end.set()
        child.join()
        del block

    def test_a_process_that_has_ended_uses_nothing(self):
        self.assertEqual(memoryprofile.used(2 ** 22 + 1), 0)

    def test_the_peak_is_that_of_all_live_tensors(self):
        def event(at, size):
            return types.SimpleNamespace(time_range=types.SimpleNamespace(start=at), self_cpu_memory_usage=size)
        self.assertEqual(memoryprofile.peak([event(3, -50), event(1, 100), event(2, 30), event(4, 20)]), 130)
        self.assertEqual(memoryprofile.peak([event(1, -5)]), 0)


class Recordings(unittest.TestCase):
    def test_each_run_has_a_row(self):
        done = run("memoryprofile.py", "mlp", "--quick", "--sizes", "16,64")
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
        self.assertEqual([(row["batch"], row["seed"]) for row in rows], [("16", "1"), ("16", "2"), ("64", "1"), ("64", "2")])
        for row in rows:
            readings = [int(reading) for reading in row["memory_mib"].split()]
            self.assertGreater(len(readings), int(row["started"]) + 5)
            self.assertGreater(min(readings[int(row["started"]):]), 50)
            self.assertGreater(float(row["flops"]), 0)
            self.assertGreater(int(row["params"]), 1000)
        self.assertGreater(int(rows[2]["allocated_kib"]), int(rows[0]["allocated_kib"]), "a larger batch holds more")


if __name__ == "__main__":
    unittest.main()
