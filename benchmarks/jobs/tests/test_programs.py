"""The programs that do not know Trellis: a progress bar, and data-parallel ranks."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

JOBS = pathlib.Path(__file__).resolve().parent.parent
SHIM = JOBS.parent.parent / "growth" / "shim"
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


class Agent:
    """A fake of Trellis that lets both ranks stop after the same step and save."""

    def __init__(self, folder):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(os.path.join(folder, "gpushare.sock"))
        self.server.listen()
        self.server.settimeout(60)

    def connect(self, ranks):
        self.peers = [self.server.accept()[0] for _ in range(ranks)]
        self.lines = [map(json.loads, peer.makefile("r")) for peer in self.peers]

    def say(self, **message):
        for peer in self.peers:
            peer.sendall(json.dumps(dict(v=1, **message)).encode() + b"\n")

    def all(self, holds):
        return [next(message for message in lines if holds(message)) for lines in self.lines]

    def close(self):
        for peer in self.peers:
            peer.close()
        self.server.close()


@unittest.skipUnless((SHIM / "gpushare.py").exists(), "SKIPPED: the shim is not next to these jobs")
class Saved(unittest.TestCase):
    def start(self, folder, *options):
        return subprocess.Popen([sys.executable, str(JOBS / "ddp.py"), "--steps", "80", "--ranks", "2", *options], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env=dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(SHIM), GPUSHARE_DIR=folder))

    def finish(self, process):
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, err[-2000:])
        return out

    def curve(self, out):
        return dict(re.findall(r"rank=0 step=(\d+) loss=([0-9.]+)", out))

    def test_two_ranks_resume_elsewhere_with_the_same_curve_and_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            steady = self.finish(self.start(folder))
            agent = Agent(folder)
            first = self.start(folder, "--checkpoint-dir", folder)
            agent.connect(2)
            reached = max(m["step"] for m in agent.all(lambda m: m["type"] == "progress" and m["step"] > 7))
            agent.say(type="stop", sequence=1, stop=True, after_step=reached + 13)
            stopped = agent.all(lambda m: m["type"] == "stopped" and m["stopped"])
            self.assertEqual([m["step"] for m in stopped], [reached + 13] * 2)
            agent.say(type="save", reason="a test", deadline_seconds=60, request=5)
            answers = sorted(agent.all(lambda m: m["type"] in ("saved", "failed")), key=lambda m: m["rank"])
            self.assertEqual([(m["type"], m["request"], m.get("nothing")) for m in answers], [("saved", 5, None), ("failed", 5, True)])
            self.assertEqual(answers[0]["step"], reached + 13)
            os.killpg(first.pid, signal.SIGKILL)
            before = self.curve(first.communicate()[0])
            agent.close()
            os.unlink(os.path.join(folder, "gpushare.sock"))

            out = self.finish(self.start(folder, "--checkpoint-dir", folder))
            self.assertEqual(len(re.findall("resumes at step=%d" % (reached + 13), out)), 2)
            self.assertEqual({**before, **self.curve(out)}, self.curve(steady))
            states = set(re.findall(r"state=(\w{64})", out))
            self.assertEqual(states, set(re.findall(r"state=(\w{64})", steady)))
            self.assertEqual(len(states), 1)


if __name__ == "__main__":
    unittest.main()
