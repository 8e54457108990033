"""The training jobs: a run that is interrupted, tuned or moved ends exactly as an undisturbed one."""
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
JOBS = HERE.parent
SHIM = JOBS.parent.parent / "growth" / "shim"
sys.path.insert(0, str(JOBS))

import torch   # noqa: E402  after the path

import checkpoint   # noqa: E402
from data import Feed, Position, digits   # noqa: E402
from interrupts import EXIT_TERMINATED, Interrupts   # noqa: E402
from models import MODELS   # noqa: E402
from progress import Alone   # noqa: E402
from train import Plan, Trainer   # noqa: E402

STEPS = 12
LOG = re.compile(r"loss=([0-9.eE+-]+)")   # the annotation in the README


class Script(Alone):
    """A fake of Trellis: from a step on another number of loaders, at one step an end or a request for a checkpoint."""

    def __init__(self, loaders=None, terminate_at=None, save_at=None):
        self.requests, self.terminate_at, self.save_at = dict(loaders or {}), terminate_at, save_at
        self.interrupts, self.now, self.losses, self.checkpoints = Interrupts(), 0, [], []
        self.in_use, self.requested = None, None

    def step(self, loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
        self.now = step
        if loss is not None:
            self.losses.append(loss)
        self.requested = self.requests.pop(step, self.requested)
        self.interrupts.terminate = step == self.terminate_at

    def loaders(self, default):
        self.in_use = default if self.requested is None else self.requested
        return self.in_use

    def changed(self):
        return self.requested is not None and self.requested != self.in_use

    def save_requested(self):
        return self.now == self.save_at

    def saved(self, path, step=None):
        self.checkpoints.append(self.now)


class JobTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="jobs-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def plan(self, kind="cnn", **changes):
        return Plan(kind, STEPS, batch_size=32, preprocess=0.25, metric_every=4, checkpoint_dir=self.folder)._replace(**changes)

    def train(self, plan, script=None):
        script = script or Script()
        trainer = Trainer(plan, script)
        return trainer, trainer.run(script.interrupts)


class Resume(JobTest):
    def test_every_kind_ends_bit_equal_when_interrupted_and_retuned(self):
        for kind in MODELS:
            with self.subTest(kind):
                steady, _ = self.train(self.plan(kind, checkpoint_dir=None))
                plan = self.plan(kind, checkpoint_dir=os.path.join(self.folder, kind))
                stopped, finished = self.train(plan, Script(loaders={2: 2, 4: 1}, terminate_at=7))
                self.assertEqual((finished, stopped.step), (False, 7))
                torch.rand(3)   # the resuming process has another history
                resumed, finished = self.train(plan, Script(loaders={9: 1}))
                self.assertEqual((finished, resumed.resumed, resumed.step), (True, True, STEPS))
                self.assertEqual(checkpoint.fingerprint(resumed.state()), checkpoint.fingerprint(steady.state()))

    def test_every_kind_learns(self):
        for kind in MODELS:
            with self.subTest(kind):
                before = Trainer(self.plan(kind, checkpoint_dir=None), Alone()).evaluate()["loss"]
                script = Script()
                self.train(self.plan(kind, checkpoint_dir=None, steps=2 * STEPS), script)
                self.assertEqual(len(script.losses), 6)
                self.assertLess(script.losses[-1], before)

    def test_it_goes_on_over_the_end_of_an_epoch(self):
        plan = self.plan(batch_size=400, steps=9)   # 1437 images: four steps an epoch, the last one short
        steady, _ = self.train(plan._replace(checkpoint_dir=None))
        self.assertEqual(steady.feed.position, Position(2, 400))
        for stop in (3, 4, 8):
            self.train(plan, Script(terminate_at=stop))
        resumed, _ = self.train(plan)
        self.assertEqual(checkpoint.fingerprint(resumed.state()), checkpoint.fingerprint(steady.state()))

    def test_a_wish_to_save_and_save_every_change_nothing(self):
        steady, _ = self.train(self.plan(checkpoint_dir=None))
        script = Script(save_at=3)
        saving, _ = self.train(self.plan(save_every=5), script)
        self.assertEqual(script.checkpoints, [3, 5, 10, STEPS])
        self.assertEqual(checkpoint.fingerprint(saving.state()), checkpoint.fingerprint(steady.state()))

    def test_a_finished_run_stays_finished(self):
        self.train(self.plan())
        again, finished = self.train(self.plan())
        self.assertEqual((finished, again.step), (True, STEPS))

    def test_the_fingerprint_sees_every_part_of_the_state(self):
        trainer, _ = self.train(self.plan(checkpoint_dir=None))
        seen = {checkpoint.fingerprint(trainer.state())}
        for disturb in (lambda: torch.rand(1), lambda: trainer.schedule.step(),
                        lambda: setattr(trainer.feed, "position", Position(7, 7)),
                        lambda: next(trainer.model.parameters()).data[0].add_(1e-6),
                        lambda: trainer.optimizer.state_dict()["state"][0]["exp_avg"][0].add_(1e-6)):
            disturb()
            seen.add(checkpoint.fingerprint(trainer.state()))
        self.assertEqual(len(seen), 6)


class Checkpoints(JobTest):
    def refuses(self, plan, text):
        with self.assertRaisesRegex(checkpoint.CheckpointError, text):
            Trainer(plan, Alone())

    def test_missing_and_unexpected_keys_are_errors(self):
        Trainer(self.plan(), Alone()).save()
        path = os.path.join(self.folder, checkpoint.NAME)
        good = pathlib.Path(path).read_bytes()
        for text, change in {
            r"missing \['schedule'\], unexpected nothing": lambda s: s.pop("schedule"),
            r"missing nothing, unexpected \['extra'\]": lambda s: s.update(extra=1),
            r"Missing key.*layers.0.bias": lambda s: s["model"].pop("layers.0.bias"),
            r"Unexpected key.*module.layers": lambda s: s["model"].update({"module.layers": torch.zeros(1)}),
            r"size mismatch": lambda s: s["model"].update({"layers.0.bias": torch.zeros(1)}),
        }.items():
            with self.subTest(text):
                state = torch.load(io.BytesIO(good))
                change(state)
                torch.save(state, path)
                self.refuses(self.plan(), "(?s)" + text)

    def test_another_runs_checkpoint_is_refused(self):
        Trainer(self.plan(), Alone()).save()
        self.refuses(self.plan("lstm"), "kind=cnn, this one has lstm")
        self.refuses(self.plan(seed=2), "seed=1, this one has 2")

    def test_a_damaged_file_is_an_error_and_no_fresh_start(self):
        path = pathlib.Path(self.folder, checkpoint.NAME)
        Trainer(self.plan(), Alone()).save()
        for damaged in (b"", b"garbage", path.read_bytes()[:-5000]):
            path.write_bytes(damaged)
            self.refuses(self.plan(), "cannot be read")

    def test_a_crash_while_saving_leaves_the_older_checkpoint_whole(self):
        trainer = Trainer(self.plan(), Alone())
        trainer.save()
        before = pathlib.Path(self.folder, checkpoint.NAME).read_bytes()

        def dies(state, file):
            file.write(b"half")
            raise OSError("disk full")
        with mock.patch("torch.save", dies), self.assertRaises(OSError):
            trainer.save()
        self.assertEqual(pathlib.Path(self.folder, checkpoint.NAME).read_bytes(), before)
        self.assertTrue(Trainer(self.plan(), Alone()).resumed)


class Data(unittest.TestCase):
    class Keys(list):
        """A data set whose samples are their own keys."""

        def __init__(self, size):
            super().__init__(range(size))

        def __getitem__(self, key):
            return key

    def take(self, feed, plan):
        """The samples handed out while the feed is retuned: plan is {batch number: (batch size, workers)}."""
        taken = []
        for number, (epochs, indices) in enumerate(feed):
            taken += zip(epochs.tolist(), indices.tolist())
            if number in plan:
                feed.retune(*plan[number])
            if number == 30:
                return taken

    def test_no_sample_comes_twice_or_never_however_the_feed_is_retuned(self):
        steady = self.take(Feed(self.Keys(101), 5, 10, 0), {})
        retuned = self.take(Feed(self.Keys(101), 5, 10, 2), {3: (7, 0), 4: (7, 3), 11: (30, 1), 15: (10, 0)})
        common = min(len(steady), len(retuned))
        self.assertGreater(common, 202)
        self.assertEqual(retuned[:common], steady[:common])
        for epoch in (0, 1):
            self.assertEqual(sorted(index for e, index in retuned if e == epoch), list(range(101)))

    def test_prefetched_batches_do_not_count(self):
        feed = Feed(self.Keys(101), 5, 10, 2)
        batches = iter(feed)
        for _ in range(3):
            next(batches)
        self.assertEqual(feed.position, Position(0, 30))

    def test_epochs_and_seeds_differ_in_order(self):
        orders = [tuple(self.take(Feed(self.Keys(101), seed, 101, 0, Position(epoch)), {})[:101])
                  for seed, epoch in ((1, 0), (1, 1), (2, 0))]
        self.assertEqual(len({tuple(index for _, index in order) for order in orders}), 3)

    def test_a_warped_image_depends_on_seed_epoch_and_index_only(self):
        (training, _), (other, _) = digits(1, 0.25), digits(2, 0.25)
        image, label = training[3, 14]
        self.assertEqual((tuple(image.shape), str(image.dtype)), ((16, 16), "torch.float32"))
        self.assertTrue(0 <= image.min() and image.max() <= 1 and 0 <= label <= 9)
        self.assertTrue(torch.equal(image, training[3, 14][0]))
        for different in (training[4, 14], training[3, 15], other[3, 14]):
            self.assertFalse(torch.equal(image, different[0]))

    def test_without_effort_an_image_is_the_same_in_all_epochs(self):
        training, _ = digits(1, 0)
        image, _ = training[3, 14]
        self.assertEqual((tuple(image.shape), str(image.dtype)), ((16, 16), "torch.float32"))
        self.assertTrue(torch.equal(image, training[4, 14][0]))
        self.assertFalse(torch.equal(image, training[3, 15][0]))


class Program(JobTest):
    """run.py as a pod runs it."""

    def start(self, *options, path=""):
        return subprocess.Popen(
            [sys.executable, str(JOBS / "run.py"), "gru", "--batch-size", "32", "--preprocess", "0.25", *options],
            env=dict(os.environ, PYTHONPATH=path, GPUSHARE_DIR=self.folder, GPUSHARE_REPORT_SECONDS="0.02"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finish(self, process, code=0):
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, err), (code, ""), out)
        return out

    def state(self, out):
        return re.search(r"state=(\w{64})", out).group(1)

    def test_signals(self):
        steady = self.finish(self.start("--steps", "60", "--workers", "0"))
        options = ["--steps", "60", "--metric-every", "3", "--progress", "log", "--checkpoint-dir", self.folder]
        first = self.start(*options, "--workers", "2")
        first.stdout.readline(), first.stdout.readline()   # the first line of progress: training is under way
        os.killpg(first.pid, signal.SIGTERM)   # its loaders too, unless they are protected
        out = self.finish(first, EXIT_TERMINATED)
        self.assertIn("interrupted gru", out)

        second = self.start(*options, "--workers", "1")
        self.assertIn("resuming gru at step", second.stdout.readline())
        file = pathlib.Path(self.folder, checkpoint.NAME)
        before = file.stat().st_ino
        second.stdout.readline()
        second.send_signal(signal.SIGUSR1)
        for line in second.stdout:
            if file.stat().st_ino != before:
                break
        else:
            self.fail("SIGUSR1 saved nothing before the end")
        self.assertTrue(LOG.search(line))
        self.assertEqual(self.state(self.finish(second)), self.state(steady))

    def test_progress_in_the_log_needs_no_shim(self):
        trap = os.path.join(self.folder, "gpushare.py")
        pathlib.Path(trap).write_text("raise SystemExit('imported')")
        out = self.finish(self.start("--steps", "6", "--metric-every", "2", "--progress", "log", path=self.folder))
        lines = [line for line in out.splitlines() if line.startswith("step=")]
        self.assertEqual([line.split()[0] for line in lines], ["step=2", "step=4", "step=6"])
        self.assertTrue(all(float(LOG.search(line).group(1)) > 0 for line in lines))

    def test_bad_arguments_and_bad_checkpoints_end_with_a_sentence(self):
        for options in (["--steps", "0"], ["--preprocess", "nan"], ["--steps", "3", "--epochs", "3"], ["--workers", "-1"], ["--learning-rate", "0"]):
            process = self.start(*options)
            self.assertEqual((process.communicate()[1].count("usage:"), process.returncode), (1, 2), options)
        pathlib.Path(self.folder, checkpoint.NAME).write_bytes(b"garbage")
        out, err = self.start("--steps", "3", "--checkpoint-dir", self.folder).communicate()
        self.assertRegex(err, "^run.py: .*cannot be read")
        self.assertNotIn("Traceback", err)

    @unittest.skipUnless((SHIM / "gpushare.py").exists(), "SKIPPED: the shim is not next to these jobs")
    def test_with_the_shim_and_an_agent(self):
        steady = self.finish(self.start("--steps", "120", "--workers", "0"))
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(os.path.join(self.folder, "gpushare.sock"))
        server.listen()
        server.settimeout(60)
        job = self.start("--steps", "120", "--workers", "0", "--checkpoint-dir", self.folder, path=str(SHIM))
        peer, _ = server.accept()
        self.addCleanup(peer.close)
        lines = map(json.loads, peer.makefile("r"))
        seen = []

        def until(holds):
            for message in lines:
                seen.append(message)
                if holds(message):
                    return message
            self.fail("the job ended before it said what was expected; last: %s" % seen[-1:])

        def say(**message):
            peer.sendall(json.dumps(dict(v=1, **message)).encode() + b"\n")
        until(lambda m: m["type"] == "progress" and m["step"] > 0 and m["loaders"] == 0)
        say(type="config", generation=3, loaders=2)
        self.assertEqual(until(lambda m: m["type"] == "ack")["applied"], {"loaders": 2})
        until(lambda m: m["type"] == "progress" and m["loaders"] == 2)
        say(type="save", reason="a test", deadline_seconds=60)
        saved = until(lambda m: m["type"] == "saved")
        file = os.path.join(self.folder, checkpoint.NAME)
        self.assertEqual(saved["path"], file)
        self.assertRegex(saved["sha256"], "^[0-9a-f]{64}$")
        final = until(lambda m: m["type"] == "saved" and m["step"] == 120)
        self.assertEqual(final["sha256"], hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest())
        out = self.finish(job)
        self.assertEqual(self.state(out), self.state(steady), "a request of the agent changed the result")
        printed = [float(line.group(1)) for line in map(LOG.search, out.splitlines()) if line]
        reported = [m["metrics"]["loss"] for m in seen if m["type"] == "progress" and "loss" in m["metrics"]]
        self.assertTrue(set("%.4f" % loss for loss in reported) <= set("%.4f" % loss for loss in printed), "the log says less than the shim")
        reports = [m for m in seen if m["type"] == "progress"]
        self.assertGreater(len([m for m in reports if "loss" in m["metrics"]]), 2)
        self.assertTrue(all(m["total_steps"] == 120 and m["load_seconds"] <= m["step_seconds"] for m in reports))


if __name__ == "__main__":
    unittest.main()
