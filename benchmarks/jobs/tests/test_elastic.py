"""Tests of elastic.py with a program in place of ddp.py."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "elastic.py")

# It says which rank it is. The ranks of a job with three end, and one of a job with four fails.
PROGRAM = """
import os, sys, time
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "at", os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"], *sys.argv[1:], flush=True)
if os.environ["WORLD_SIZE"] == "3":
    sys.exit(0)
if os.environ["WORLD_SIZE"] == "4" and os.environ["RANK"] == "3":
    sys.exit(7)
time.sleep(60)
"""


class TestElastic(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        with open(SOURCE) as file:
            text = file.read()
        self.assertIn("LOST = 10.0 ", text)
        with open(os.path.join(self.folder, "elastic.py"), "w") as file:
            file.write(text.replace("LOST = 10.0 ", "LOST = 3.0 "))
        with open(os.path.join(self.folder, "ddp.py"), "w") as file:
            file.write(PROGRAM)
        self.logs = {}

    def pod(self, index):
        """Start the pod with an index."""
        self.logs[index] = os.path.join(self.folder, "log-%d" % index)
        with open(self.logs[index], "a") as log:
            process = subprocess.Popen(
                [sys.executable, os.path.join(self.folder, "elastic.py"), os.path.join(self.folder, "shared"), "--steps", "9"],
                stdout=log, env=dict(os.environ, JOB_COMPLETION_INDEX=str(index), POD_IP="10.0.0.%d" % index))
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def await_log(self, index, line, within=20):
        until = time.monotonic() + within
        while time.monotonic() < until:
            with open(self.logs[index]) as log:
                text = log.read()
            if line in text:
                return text
            time.sleep(0.05)
        self.fail("pod %d has not printed %r: %s" % (index, line, text))

    def test_pods_join_and_leave(self):
        self.pod(0)
        arguments = "--checkpoint-dir %s --steps 9" % os.path.join(self.folder, "shared")
        self.await_log(0, "rank 0 of 1 at 10.0.0.0 29501 " + arguments)
        second = self.pod(1)
        self.await_log(0, "rank 0 of 2 at 10.0.0.0 29502 " + arguments)
        self.await_log(1, "rank 1 of 2 at 10.0.0.0 29502 " + arguments)
        second.send_signal(signal.SIGTERM)
        self.assertEqual(second.wait(20), 143)
        os.truncate(self.logs[0], 0)
        self.await_log(0, "rank 0 of 1 at 10.0.0.0 29501 ")

    def test_a_pod_waits_for_those_before_it(self):
        later = self.pod(1)
        time.sleep(2)
        self.assertIsNone(later.poll())
        with open(self.logs[1]) as log:
            self.assertEqual(log.read(), "")
        self.pod(0)
        self.await_log(1, "rank 1 of 2 at 10.0.0.0 29502 ")

    def test_pods_end_with_their_ranks(self):
        for pod in [self.pod(index) for index in range(3)]:
            self.assertEqual(pod.wait(20), 0)

    def test_a_rank_that_fails_starts_again_a_few_times(self):
        pods = [self.pod(index) for index in (3, 2, 1, 0)]
        self.assertEqual(pods[0].wait(20), 7)
        self.assertEqual(self.await_log(3, "").count("rank 3 of 4"), 3)


if __name__ == "__main__":
    unittest.main()
