"""Another batch size: the declared range, the learning rate, and the noise of gradients."""
import math
import os
import random
import types
import unittest
from unittest import mock

from test_gpushare import ShimTest, eventually

try:
    import torch
except ImportError:
    torch = None


class Range(ShimTest):
    def config(self, generation, size):
        self.peer.send({"type": "config", "generation": generation, "batch_size": size})

    def test_a_declared_range_is_reported_and_applied_with_the_learning_rate(self):
        agent = self.agent()
        size = lambda: self.job.batch_size(64, minimum=16, maximum=512, learning_rate="square-root")
        self.assertEqual((size(), self.job.learning_rate_scale()), (64, 1.0))
        self.job.step()
        self.peer = agent.peer()
        self.assertEqual(self.peer.expect("progress")["batch"], {"default": 64, "min": 16, "max": 512, "learning_rate": "square-root"})
        self.config(1, 256)
        eventually(self.job.changed, "another size was sent")
        self.assertEqual(self.job.learning_rate_scale(), 1.0, "until the job fetches the size")
        self.assertEqual((size(), self.job.learning_rate_scale()), (256, 2.0))

    def test_a_size_outside_the_range_is_never_used(self):
        agent = self.agent()
        self.assertEqual(self.job.batch_size(64, minimum=16, maximum=512), 64)
        self.peer = agent.peer()
        self.config(1, 1024)
        self.config(2, 8)
        self.peer.expect("ack")
        self.peer.expect("ack")
        self.assertEqual((self.job.changed(), self.job.batch_size(64, minimum=16, maximum=512)), (False, 64))
        self.config(3, 128)
        eventually(self.job.changed, "another size was sent")
        self.assertEqual(self.job.batch_size(64, minimum=16, maximum=512), 128)
        self.assertEqual(self.peer.expect("ack")["applied"], {"batch_size": 128})

    def test_rules(self):
        for rule, factor in ("linear", 4.0), ("square-root", 2.0), ("none", 1.0), (None, 1.0):
            values = self.job._Values()
            values.offer(1, {"batch_size": 64})
            values.fetch("batch_size", 16, self.job._declaration(16, 16, 64, rule))
            self.assertEqual(values.learning_rate_scale(), factor)
        self.assertEqual(self.job._Values().learning_rate_scale(), 1.0)

    def test_invalid_declarations_are_errors_of_the_job(self):
        for size, low, high, rule in (64, 65, 512, None), (64, 1, 63, None), (64, 0, 128, None), (64, None, 1 << 25, None), \
                (6.4, 1, 64, None), (64, 1, 64, "cube"):
            with self.assertRaises(ValueError):
                self.job.batch_size(size, minimum=low, maximum=high, learning_rate=rule)


class Memory(ShimTest):
    def torch(self, reserved):
        cuda = types.SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 2, max_memory_reserved=reserved)
        return mock.patch.dict("sys.modules", torch=types.SimpleNamespace(cuda=cuda))

    def test_reports_have_the_memory_of_the_gpu_where_most_is_reserved(self):
        with self.torch(lambda device: (1 << 30, 3 << 30)[device]):
            self.assertEqual(self.connected()[1].expect("progress")["gpu_memory_mib"], 3072)

    def test_another_version_of_torch_costs_only_this_value(self):
        with self.torch(lambda device: device.missing):
            self.assertNotIn("gpu_memory_mib", self.connected()[1].expect("progress"))

    def test_it_is_read_once_a_second(self):
        memory, reserved = self.job._Memory(), [1 << 20]
        with self.torch(lambda device: reserved[0]), mock.patch.object(self.job.time, "monotonic") as clock:
            clock.return_value = 100.0
            self.assertEqual(memory.read(), 1)
            reserved[0], clock.return_value = 5 << 20, 100.9
            self.assertEqual(memory.read(), 1)
            clock.return_value = 101.0
            self.assertEqual(memory.read(), 5)


class Vector:
    """A tensor that counts the operations on gradients."""
    operations = 0

    def __init__(self, values):
        self.values = list(values)
        self.shape = (len(self.values),)

    @property
    def grad(self):
        return self

    def detach(self):
        return self

    def reshape(self, _):
        return self

    def clone(self):
        Vector.operations += 1
        return Vector(self.values)

    def float(self):
        return self

    def dot(self, other):
        Vector.operations += 1
        return sum(a * b for a, b in zip(self.values, other.values))


class Gradients(ShimTest):
    def reports(self, gradient, steps, samples=8):
        """The comparisons of a job whose gradients are the values of a function."""
        measured = self.job._Gradients()
        found = [measured.add([Vector(gradient(step))], samples) for step in range(steps)]
        return [norms for norms in found if norms]

    def test_two_of_64_steps_are_measured(self):
        Vector.operations = 0
        measured, periods = self.job._Gradients(), 10
        busy = 0
        for step in range(64 * periods):
            before = Vector.operations
            measured.add([Vector([1.0, 2.0]), Vector([3.0])], 8)
            busy += Vector.operations > before
        self.assertEqual(busy, 2 * periods)
        self.assertEqual(Vector.operations, 2 * (1 + 3) * periods, "a copy and three products for each of two parameters")

    def test_equal_gradients_have_no_noise(self):
        self.assertEqual(self.reports(lambda step: [3.0, 4.0], 129), [(8, 1.0)] * 2)

    def test_noise_is_estimated_without_bias(self):
        """Gradients are 1 in each of 50 coordinates, plus noise of a deviation of 2 per batch of 8 samples."""
        noise = random.Random(1)
        compared = self.reports(lambda step: [1 + noise.gauss(0, 2) for _ in range(50)], 64 * 200 + 1)
        self.assertAlmostEqual(sum(relative for _, relative in compared) / len(compared), (1 + 2) / (1 + 4), delta=0.02)

    def test_each_pair_counts_as_much_as_any_other(self):
        """A pair of gradients that are a thousand times as long as the others does not decide."""
        def gradient(step):
            return [1000.0, 0.0] if step == 64 else [0.0, 1000.0] if step == 65 else [3.0, 4.0]
        self.assertEqual(self.reports(gradient, 64 * 3 + 1), [(8, 1.0), (8, 0.5), (8, 1.0)])

    def test_pairs_that_do_not_compare_are_dropped(self):
        self.assertEqual(self.reports(lambda step: [math.nan], 129), [])
        self.assertEqual(self.reports(lambda step: [1e200], 129), [])
        self.assertEqual(self.reports(lambda step: [0.0], 129), [])
        self.assertEqual(self.reports(lambda step: [1.0] * (1 + step % 2), 129), [], "another shape")
        measured = self.job._Gradients()
        self.assertFalse([n for n in (measured.add([Vector([1.0])], 8 + step % 2) for step in range(129)) if n], "other sizes")

    def test_a_gradient_is_that_of_all_ranks(self):
        measured = self.job._current._gradients
        self.job.batch_size(16)
        for environ, samples, expected in (({}, None, 16), (dict(RANK="1", WORLD_SIZE="4"), None, 64), (dict(RANK="1", WORLD_SIZE="4"), 48, 48)):
            with self.subTest(samples=samples, **environ), mock.patch.dict(os.environ, environ):
                for _ in range(64):
                    self.job.gradients([Vector([1.0])], samples)
                self.assertEqual(measured._norms[0], expected)

    def test_a_job_never_fails(self):
        for model in (None, 3, [None], [object()], object()):
            self.job._current._gradients._broken = False
            for _ in range(130):
                self.job.gradients(model, samples=4)
        for samples in ("many", -1, 0, None, 1.5):
            self.job.gradients([Vector([1.0])], samples=samples)

    def test_a_report_that_was_not_delivered_is_merged(self):
        earlier, later = self.job._Report(), self.job._Report()
        earlier.compare(2, 8, 0.5)
        later.compare(1, 8, 0.875)
        later.absorb(earlier)
        self.assertEqual(later.gradients, (3, 8, 0.625))
        other = self.job._Report()
        other.compare(1, 16, 0.875)
        other.absorb(earlier)
        self.assertEqual(other.gradients, (1, 16, 0.875))

    @unittest.skipIf(torch is None, "SKIPPED: gradients of PyTorch were not measured, PyTorch is not installed")
    def test_pytorch(self):
        torch.manual_seed(1)
        model = torch.nn.Linear(20, 1)
        agent = self.agent()
        self.job.batch_size(16, minimum=8, maximum=64)
        peer = agent.peer()
        for step in range(65):
            x = torch.randn(16, 20)
            model.zero_grad()
            model(x).square().mean().backward()
            self.job.gradients(model if step < 64 else torch.optim.SGD(model.parameters(), 0.1))
            self.job.step()
        compared = None
        while compared is None:
            compared = peer.expect("progress").get("gradients")
        self.assertEqual((compared["count"], compared["small"], compared["large"]), (1, 16, 32))
        self.assertTrue(0 < compared["large_squared"] <= compared["small_squared"])


if __name__ == "__main__":
    unittest.main()
