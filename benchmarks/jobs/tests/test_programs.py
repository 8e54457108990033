"""The programs that do not know Trellis: a progress bar, and data-parallel ranks."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

JOBS = pathlib.Path(__file__).resolve().parent.parent
LOSS = re.compile(r"loss=([0-9.eE+-]+)")   # the annotation of the demo


def run(program, *args):
    return subprocess.run([sys.executable, str(JOBS / program), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=False, timeout=120, env=dict(os.environ, OMP_NUM_THREADS="1"))


class Bars(unittest.TestCase):
    def test_a_bar_is_one_line_of_many_updates_whose_loss_falls(self):
        done = run("bars.py", "--steps", "3200", "--wait", "0")
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        lines = done.stderr.decode().rstrip("\n").split("\n")
        self.assertEqual(len(lines), 8, "one line an epoch")
        self.assertTrue(all(line.startswith("\r") for line in lines))
        self.assertTrue(lines[-1].split("\r")[-1].startswith("Epoch 8/8: 100%|####################| 400/400 ["), lines[-1])
        losses = [float(LOSS.findall(update)[-1]) for line in lines for update in line.split("\r")[1:]]
        self.assertGreaterEqual(len(losses), 8)
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertNotIn(b"loss=", done.stdout, "the log has the value on stderr only")

    def test_fewer_steps_than_epochs_are_an_error(self):
        self.assertIn(b"at least 8", run("bars.py", "--steps", "3").stderr)


class Ranks(unittest.TestCase):
    def test_both_ranks_report_every_step(self):
        done = run("ddp.py", "--steps", "20", "--ranks", "2")
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        steps = re.findall(r"rank=(\d) step=(\d+) loss=", done.stdout.decode())
        self.assertEqual(sorted(steps), sorted((rank, str(step)) for rank in "01" for step in (5, 10, 15, 20)))

    def test_sigterm_ends_all_ranks(self):
        process = subprocess.Popen([sys.executable, str(JOBS / "ddp.py"), "--steps", "1000000"], stdout=subprocess.PIPE)
        process.stdout.readline()   # both ranks train
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 143)
        rest = process.stdout.read()   # ends when no rank holds the pipe
        process.stdout.close()
        self.assertNotIn(b"step=1000000", rest)


if __name__ == "__main__":
    unittest.main()
