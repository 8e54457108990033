"""GPU memory: PyTorch is limited to the job's share, with any version of torch and without initialising CUDA."""
import logging
import os
import types
import unittest
from unittest import mock

from test_gpushare import fresh_module

A, B = "11111111-aaaa", "22222222-bbbb"


class Cuda:
    """A fake of torch.cuda: lazy calls wait until CUDA is initialised."""

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

    def test_cap_is_set_when_cuda_is_initialised(self):
        for call in ("step", "loaders", "timed"):
            cuda, shim = Cuda(A), self.shim("0.25")
            with self.torch(cuda):
                {"step": shim.step, "loaders": lambda: shim.loaders(2), "timed": lambda: shim.timed([])}[call]()
            self.assertEqual(cuda.caps, {}, call)
            cuda.wake()
            self.assertEqual(cuda.caps, {0: 0.25}, call)

    def test_cap_is_set_once(self):
        cuda, shim = Cuda(A), self.shim("0.25")
        cuda.wake()
        with self.torch(cuda):
            shim.step()
            cuda.caps[0] = "the job's own"
            shim.step()
        self.assertEqual(cuda.caps, {0: "the job's own"})

    def test_cap_works_if_torch_is_imported_later(self):
        cuda, shim = Cuda(A), self.shim("0.25")
        with mock.patch.dict("sys.modules", torch=None):
            shim.step()
        with self.torch(None):   # while it is imported
            shim.step()
        with self.torch(cuda):
            shim.step()
        cuda.wake()
        self.assertEqual(cuda.caps, {0: 0.25})

    def test_cap_of_each_gpu_is_found_by_uuid(self):
        for uuids, want in (((A, B), {0: 0.25, 1: 0.5}), ((B, A), {0: 0.5, 1: 0.25}), ((None, None), {0: 0.25, 1: 0.25})):
            cuda, shim = Cuda(*uuids), self.shim("0.25,0.5", "GPU-%s,GPU-%s" % (A, B))
            cuda.wake()
            with self.torch(cuda):
                shim.step()
            self.assertEqual(cuda.caps, want)

    def test_cap_ignores_invalid_shares(self):
        for fractions in ("", "nan", "0", "-0.5", "1.5", "0.5,", "a lot", "1e999"):
            cuda, shim = Cuda(A), self.shim(fractions)
            cuda.wake()
            with self.torch(cuda):
                shim.step()
            self.assertEqual(cuda.caps, {}, fractions)

    def test_cap_can_be_turned_off(self):
        cuda, shim = Cuda(A), self.shim("0.25", GPUSHARE_CAP="0")
        cuda.wake()
        with self.torch(cuda):
            shim.step()
        self.assertEqual(cuda.caps, {})

    def test_cap_tolerates_an_unsuitable_torch(self):
        cuda, shim = Cuda(A), self.shim("0.25")
        cuda.wake()
        cuda.set_per_process_memory_fraction = None
        with self.torch(cuda), self.assertLogs("gpushare", "WARNING"):
            shim.step()
        old, shim = types.SimpleNamespace(), self.shim("0.25")
        with self.torch(old):
            shim.step()

    def test_cap_does_not_initialise_cuda_of_the_real_torch(self):
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
