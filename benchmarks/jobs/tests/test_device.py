"""Jobs on an emulated GPU, and ranks that compute in turns: no result changes."""
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from test_jobs import JOBS, SHIM, JobTest, Script   # noqa: I100  it sets the path

import checkpoint   # noqa: E402
from ahead import Ahead   # noqa: E402
import device   # noqa: E402
from train import Trainer   # noqa: E402

CORES = os.sched_getaffinity(0)


class Cores(list):
    """Each batch is the set of cores of the process that loads it."""

    def __init__(self):
        super().__init__([0] * 3)

    def __getitem__(self, _):
        return sorted(os.sched_getaffinity(0))


def wait_for(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


class Emulated(JobTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.sched_setaffinity, 0, CORES)
        self.core = max(CORES)
        self.others = CORES - {self.core} or CORES
        self.environ = {"GPUSHARE_EMULATED_CORE": str(self.core)}

    def test_data_is_loaded_off_the_core_of_the_gpu(self):
        from torch.utils.data import DataLoader
        for workers in (0, 1):
            place = device.Device("emulated", environ=self.environ)
            self.assertEqual(os.sched_getaffinity(0), self.others, "start-up leaves the GPU alone")
            for cores in place.ahead(DataLoader(Cores(), batch_size=None, num_workers=workers)):
                self.assertEqual(set(cores), self.others)
                self.assertEqual(os.sched_getaffinity(0), {self.core})
            os.sched_setaffinity(0, CORES)

    def test_the_next_batch_is_loaded_during_a_step(self):
        asked = []
        batches = Ahead(self.numbers(asked), lambda: None)
        for batch in batches:
            wait_for(lambda: len(asked) >= min(batch + 2, 5))
            self.assertLessEqual(len(asked), batch + 3, "one is ready, and one more is in the thread's hands")
        self.assertEqual(batch, 4)

    def test_a_failed_loader_fails_the_step(self):
        with self.assertRaisesRegex(OSError, "no such image"):
            list(Ahead(self.numbers([], fails=3), lambda: None))

    def test_loading_ends_with_the_loop(self):
        threads = threading.active_count()
        batches = iter(Ahead(self.numbers([]), lambda: None))
        next(batches)
        batches.close()
        self.assertEqual(threading.active_count(), threads)

    @staticmethod
    def numbers(asked, fails=None):
        for number in range(5):
            if number == fails:
                raise OSError("no such image")
            asked.append(number)
            yield number

    def test_each_rank_has_a_gpu_of_the_list(self):
        for rank, core in ((0, 4), (1, 6), (2, 4)):
            self.assertEqual(device.emulated_core("4, 6", rank, {4, 5, 6}), core)
        self.assertEqual(device.emulated_core("", 1, {4, 5}), 4)
        for text in ("7", "-4", "x", "4,"):
            with self.assertRaisesRegex(SystemExit, "GPUSHARE_EMULATED_CORE=%s: core .* cores 4,5" % text):
                device.emulated_core(text, text.count(","), {4, 5})

    def test_result_is_that_of_the_cpu(self):
        steady, _ = self.train(self.plan("mlp", checkpoint_dir=None))
        script = Script(loaders={3: 1})
        place = device.Device("emulated", environ=self.environ)
        trainer = Trainer(self.plan("mlp", checkpoint_dir=None), script, place)
        self.assertTrue(trainer.run(script.interrupts))
        self.assertEqual(checkpoint.fingerprint(trainer.state()), checkpoint.fingerprint(steady.state()))

    def test_images_without_preprocessing(self):
        from data import digits
        training, _ = digits(1, 0)
        image, _ = training[0, 3]
        self.assertEqual((tuple(image.shape), str(image.dtype)), ((16, 16), "torch.float32"))
        self.assertTrue((image == training[1, 3][0]).all())
        self.assertTrue(0 <= image.min() and image.max() <= 1)


class Coordinator:
    """The coordinator's side of turn.sock for one job of several ranks: it pauses all of them after an agreed step."""

    def __init__(self, folder, ranks):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(os.path.join(folder, "turn.sock"))
        self.server.listen()
        self.server.settimeout(60)
        self.sequence, self.cancelled, self.margin = 0, 0, 2
        self.ranks = [self.server.accept()[0] for _ in range(ranks)]
        for rank in self.ranks:
            rank.settimeout(20)
        self.files = {rank: rank.makefile("rb") for rank in self.ranks}
        self.step = max(self.gate(rank)["step"] for rank in self.ranks)

    def gate(self, rank):
        """The next line of a rank, or EOFError."""
        try:
            line = self.files[rank].readline()   # it may have two lines already
        except socket.timeout as err:
            raise AssertionError("a rank has not answered within 20 s") from err
        if not line:
            raise EOFError
        return json.loads(line)

    def turn(self, **fields):
        self.sequence += 1
        for rank in self.ranks:
            rank.sendall(json.dumps(dict(v=1, type="turn", sequence=self.sequence, **fields)).encode() + b"\n")

    def pause(self):
        """Stop all ranks. Returns the steps after which they stopped, or None if the order came too late for one of them."""
        self.turn(hold=False, after_step=self.step + self.margin)
        answers = [self.gate(rank) for rank in self.ranks]
        assert all(answer["sequence"] == self.sequence and answer["state"] == "open" for answer in answers), answers
        order, self.step = self.step + self.margin, max(answer["step"] for answer in answers)
        if self.step >= order:
            self.cancelled += 1
            return None
        return [self.gate(rank) for rank in self.ranks]

    def close(self):
        for file in (*self.files.values(), *self.ranks, self.server):
            file.close()


@unittest.skipUnless((SHIM / "gpushare.py").exists(), "SKIPPED: the shim is not next to these jobs")
class Ranks(unittest.TestCase):
    PAUSES = int(os.environ.get("GPUSHARE_TEST_PAUSES", "60"))   # 1000 by hand

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="jobs-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def start(self, steps):
        environ = dict(os.environ, PYTHONPATH=str(SHIM), GPUSHARE_DIR=self.folder, OMP_NUM_THREADS="1")
        command = [sys.executable, str(JOBS / "ddp.py"), "--steps", str(steps), "--batch-size", "4"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environ)
        self.addCleanup(process.stdout.close)
        return process

    def lines(self, process):
        out = process.stdout.read().decode()
        self.assertEqual(process.wait(60), 0)
        results = re.findall(r"rank=[01] finished state=[0-9a-f]{64}", out)
        self.assertEqual(len(results), 2, out[-500:])
        return sorted(results + re.findall(r"rank=[01] step=[0-9]+ loss=[0-9.]+[0-9]", out))   # their ends of line may mix

    def test_ranks_that_pause_end_bit_equal(self):
        steps = 8 * self.PAUSES
        expected = self.lines(self.start(steps))
        process = self.start(steps)
        coordinator = Coordinator(self.folder, 2)
        self.addCleanup(coordinator.close)
        paused, dice = 0, random.Random(1)
        try:
            while paused < self.PAUSES:
                gates = coordinator.pause()
                if gates is not None:
                    self.assertEqual([gate["state"] for gate in gates], ["closed", "closed"])
                    self.assertEqual(gates[0]["step"], gates[1]["step"], "both ranks stop after the same step")
                    coordinator.step = gates[0]["step"]
                    paused += 1
                    time.sleep(dice.random() * 0.004)
                coordinator.turn(hold=True)
        except (EOFError, OSError):
            pass   # the last step
        print("\n%d pauses of two ranks, %d orders were too late" % (paused, coordinator.cancelled), file=sys.stderr)
        self.assertEqual(self.lines(process), expected)
        self.assertGreaterEqual(paused, self.PAUSES * 3 // 4)


if __name__ == "__main__":
    unittest.main()
