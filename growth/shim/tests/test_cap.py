"""GPU memory: PyTorch is held to the job's share, without waking CUDA up and whatever the torch at hand can do."""
import logging
import os
import types
import unittest
from unittest import mock

from test_gpushare import fresh_module

A, B = "11111111-aaaa", "22222222-bbbb"


class Cuda:
    """torch.cuda as far as the cap needs it: calls wait until CUDA is woken up."""

    def __init__(self, *uuids):
        self.uuids, self.waiting, self.awake, self.caps = uuids, [], False, {}

    def _lazy_call(self, call):
        call() if self.awake else self.waiting.append(call)

    def wake(self):
        self.awake = True
        for call in self.waiting:
            call()

    def device_count(self):
        return len(self.uuids)

    def get_device_properties(self, device):
        return types.SimpleNamespace(uuid=self.uuids[device]) if self.uuids[device] else types.SimpleNamespace()

    def set_per_process_memory_fraction(self, fraction, device):
        assert self.awake, "this would have woken CUDA up"
        self.caps[device] = fraction


class Cap(unittest.TestCase):
    def shim(self, fractions, uuids="GPU-" + A, **more):
        environ = dict(GPUSHARE_GPU_MEM_FRACTION=fractions, GPUSHARE_GPU_UUIDS=uuids, GPUSHARE_DIR="/nowhere", **more)
        with mock.patch.dict(os.environ, environ):
            module = fresh_module()
        self.addCleanup(lambda: module._client().close())
        return module

    def torch(self, cuda):
        return mock.patch.dict("sys.modules", torch=types.SimpleNamespace(cuda=cuda))

    def test_the_cap_is_set_when_cuda_wakes_up(self):
        for call in ("step", "loaders", "timed"):
            cuda, shim = Cuda(A), self.shim("0.25")
            with self.torch(cuda):
                {"step": shim.step, "loaders": lambda: shim.loaders(2), "timed": lambda: shim.timed([])}[call]()
            self.assertEqual(cuda.caps, {}, call)
            cuda.wake()
            self.assertEqual(cuda.caps, {0: 0.25}, call)

    def test_the_cap_is_set_once(self):
        cuda, shim = Cuda(A), self.shim("0.25")
        cuda.wake()
        with self.torch(cuda):
            shim.step()
            cuda.caps[0] = "the job's own"
            shim.step()
        self.assertEqual(cuda.caps, {0: "the job's own"})

    def test_torch_may_be_imported_after_the_shim(self):
        cuda, shim = Cuda(A), self.shim("0.25")
        with mock.patch.dict("sys.modules", torch=None):
            shim.step()
        with self.torch(None):   # in the middle of its import
            shim.step()
        with self.torch(cuda):
            shim.step()
        cuda.wake()
        self.assertEqual(cuda.caps, {0: 0.25})

    def test_gpus_are_told_apart_by_uuid(self):
        for uuids, want in (((A, B), {0: 0.25, 1: 0.5}), ((B, A), {0: 0.5, 1: 0.25}), ((None, None), {0: 0.25, 1: 0.25})):
            cuda, shim = Cuda(*uuids), self.shim("0.25,0.5", "GPU-%s,GPU-%s" % (A, B))
            cuda.wake()
            with self.torch(cuda):
                shim.step()
            self.assertEqual(cuda.caps, want)

    def test_what_is_no_share_is_no_cap(self):
        for fractions in ("", "nan", "0", "-0.5", "1.5", "0.5,", "a lot", "1e999"):
            cuda, shim = Cuda(A), self.shim(fractions)
            cuda.wake()
            with self.torch(cuda):
                shim.step()
            self.assertEqual(cuda.caps, {}, fractions)

    def test_a_job_may_say_no(self):
        cuda, shim = Cuda(A), self.shim("0.25", GPUSHARE_CAP="0")
        cuda.wake()
        with self.torch(cuda):
            shim.step()
        self.assertEqual(cuda.caps, {})

    def test_a_torch_that_can_not_do_it_stops_nothing(self):
        cuda, shim = Cuda(A), self.shim("0.25")
        cuda.wake()
        cuda.set_per_process_memory_fraction = None
        with self.torch(cuda), self.assertLogs("gpushare", "WARNING"):
            shim.step()
        old, shim = types.SimpleNamespace(), self.shim("0.25")
        with self.torch(old):
            shim.step()

    def test_the_real_torch_is_not_woken_up(self):
        try:
            import torch
        except ImportError:
            self.skipTest("SKIPPED: no PyTorch here")
        before, shim = len(torch.cuda._queued_calls), self.shim("0.25")
        self.assertNoWarning(shim.step)
        self.assertFalse(torch.cuda.is_initialized())
        self.assertEqual(len(torch.cuda._queued_calls), before + 1)
        torch.cuda._queued_calls.pop()

    def assertNoWarning(self, call):
        with self.assertLogs("gpushare", "WARNING") as logs:
            logging.getLogger("gpushare").warning("the only one")
            call()
        self.assertEqual(len(logs.records), 1)


if __name__ == "__main__":
    unittest.main()
