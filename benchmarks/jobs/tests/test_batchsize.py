"""Another batch size inside an epoch: no sample and no epoch is lost, and the learning rate follows in the same step."""
import collections
import os
import pathlib
import sys
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
SHIM = HERE.parent.parent.parent / "growth" / "shim"
sys.path[:0] = [str(HERE.parent), str(SHIM / "tests")]

from test_jobs import JobTest, Script   # noqa: E402  after the path
from train import Trainer   # noqa: E402

SIZES = {3: 16, 20: 96, 30: 24, 70: 64}   # step: the batch size that the agent sends then


@unittest.skipUnless((SHIM / "gpushare.py").exists(), "SKIPPED: the shim is not next to these jobs")
class BatchSize(JobTest):
    def setUp(self):
        super().setUp()
        from test_gpushare import Agent, eventually, fresh_module
        self.eventually = eventually
        with mock.patch.dict(os.environ, GPUSHARE_DIR=self.folder, GPUSHARE_REPORT_SECONDS="0.01"):
            self.agent, self.shim = Agent(self.folder), fresh_module()
            self.shim._client()
        self.addCleanup(self.agent.close)
        self.addCleanup(self.shim._client().close)

    def run_epochs(self, workers):
        """Train two epochs while the agent changes the size. Returns the trainer, and of each step its size and learning rate."""
        trainer = Trainer(self.plan("mlp", epochs=2, steps=0, batch_size=32, batch_range=(16, 128), workers=workers,
                                    checkpoint_dir=None, learning_rate_rule="linear"), self.shim)
        train, steps, requests, peer = trainer._train, [], iter(enumerate(SIZES.items(), 1)), None
        due = next(requests)

        def watched(images, labels):
            nonlocal due, peer
            steps.append((len(labels), trainer.optimizer.param_groups[0]["lr"]))
            train(images, labels)
            if due and trainer.step == due[1][0]:
                peer = peer or self.agent.peer()
                peer.send({"type": "config", "generation": due[0], "batch_size": due[1][1]})
                self.eventually(self.shim.changed, "the size is sent")
                due = next(requests, None)
        trainer._train = watched
        self.assertTrue(trainer.run(Script().interrupts))
        return trainer, steps

    def test_every_sample_is_used_once_an_epoch(self):
        used = collections.Counter()
        from data import Warped
        get = Warped.__getitem__

        def counted(dataset, key):
            used[key] += 1
            return get(dataset, key)
        with mock.patch.object(Warped, "__getitem__", counted):
            trainer, steps = self.run_epochs(workers=0)
        size = len(trainer.feed.dataset)
        trained = collections.Counter({key: n for key, n in used.items() if key[0] in (0, 1)})
        held_out = len(trainer.held_out[0])   # evaluation data has keys of epoch 0
        self.assertEqual(sum(trained.values()) - held_out, 2 * size)
        self.assertEqual({key for key in trained if key[0] == 1}, {(1, index) for index in range(size)})
        self.assertEqual(set(trained[key] for key in trained if key[0] == 1), {1})
        self.assertEqual(sum(n for n, _ in steps), 2 * size)
        self.assertEqual(trainer.feed.position, (2, 0))

    def test_workers_that_have_loaded_ahead_lose_nothing(self):
        trainer, steps = self.run_epochs(workers=2)
        self.assertEqual(sum(n for n, _ in steps), 2 * len(trainer.feed.dataset))

    def test_the_learning_rate_follows_in_the_same_step(self):
        trainer, steps = self.run_epochs(workers=0)
        sizes = [n for n, _ in steps]
        self.assertEqual({size for size, n in collections.Counter(sizes).items() if n > 2}, {32, 16, 96, 24, 64})
        epoch_ends = 2   # the last batch of an epoch is shorter
        other = [(n, lr) for n, lr in steps if abs(lr - 1e-3 * n / 32) > 1e-9]
        self.assertLessEqual(len(other), epoch_ends, other[:5])


if __name__ == "__main__":
    unittest.main()
