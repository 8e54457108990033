"""Jobs run with the shim of an earlier release: after an update their code may be newer than that on the node."""
import os
import pathlib
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import checkpoint   # noqa: E402  after the path
from interrupts import Interrupts   # noqa: E402
from progress import Both, Earlier, listener   # noqa: E402
from train import Plan, Trainer   # noqa: E402


class FirstRelease(types.ModuleType):
    """All that the first release's shim offers."""

    def __init__(self):
        super().__init__("gpushare")
        self.steps, self.paths = [], []

    def step(self, loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
        self.steps.append(step)

    def loaders(self, default):
        return default

    def batch_size(self, default):
        return default

    def changed(self):
        return False

    def save_requested(self):
        return None

    def saved(self, path, step=None):
        self.paths.append(path)

    def timed(self, iterable):
        return iterable


class EarlierShim(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.plan = Plan("cnn", 6, preprocess=0.25, metric_every=3, save_every=4, checkpoint_dir=folder.name, batch_range=(16, 64))
        self.shim = FirstRelease()
        self.addCleanup(sys.modules.pop, "gpushare", None)
        sys.modules["gpushare"] = self.shim

    def test_the_job_trains_saves_and_resumes(self):
        trainer = Trainer(self.plan, listener("shim"))
        self.assertTrue(trainer.run(Interrupts()))
        self.assertEqual(self.shim.steps, [1, 2, 3, 4, 5, 6])
        file = os.path.join(self.plan.checkpoint_dir, checkpoint.NAME)
        self.assertEqual(self.shim.paths, [file, file])
        again = Trainer(self.plan, listener("shim"))
        self.assertEqual((again.resumed, again.step), (True, 6))
        self.assertEqual(checkpoint.fingerprint(again.state()), checkpoint.fingerprint(trainer.state()))

    def test_it_is_recognized_by_what_it_lacks(self):
        self.assertIs(type(listener("shim")), Earlier)
        self.shim.on_save = lambda function, path: None
        self.assertIs(type(listener("shim")), Both)


if __name__ == "__main__":
    unittest.main()
