"""The checks of scripts/gpu-check, with a fake of PyTorch in place of a card."""
import contextlib
import io
import types
import unittest
from unittest import mock

from test_jobs import JOBS   # noqa: F401  it sets the path

import cardcheck   # noqa: E402


class Full(RuntimeError):
    pass


def torch(limit):
    """A card of whose memory this process may use a part."""
    def empty(size, dtype, device):
        if size > limit * cardcheck.MIB:
            raise Full
        return [size]
    cuda = types.SimpleNamespace(
        is_available=lambda: True, OutOfMemoryError=Full, empty_cache=lambda: None,
        get_device_properties=lambda _: types.SimpleNamespace(multi_processor_count=33))
    return types.SimpleNamespace(cuda=cuda, empty=empty, uint8=None)


class CardCheck(unittest.TestCase):
    def check(self, fake, *argv):
        output = io.StringIO()
        with mock.patch.dict("sys.modules", torch=fake, gpushare=types.SimpleNamespace(step=lambda: None)):
            with contextlib.redirect_stdout(output):
                try:
                    code = cardcheck.main(argv)
                except SystemExit as end:
                    code = end.code
        return code, output.getvalue()

    def test_memory(self):
        for check in ("cap", "mps-memory"):
            for name, fake, free, code in (
                    ("limited", torch(1024), 16000, 0),
                    ("not limited", torch(16000), 16000, 1),
                    ("limited to less than its share", torch(100), 16000, 1),
                    ("a card that is too full", torch(1024), 1500, cardcheck.UNCHECKED),
                    ("no PyTorch", None, 16000, cardcheck.UNCHECKED)):
                with self.subTest(check=check, name=name):
                    self.assertEqual(self.check(fake, check, "--limit", "1024", "--free", str(free))[0], code)

    def test_multiprocessors(self):
        self.assertEqual(self.check(torch(1024), "mps-threads"), (0, "33\n"))

    def test_no_driver(self):
        with mock.patch("ctypes.CDLL", side_effect=OSError("libcuda.so.1 is missing")):
            code, output = self.check(None, "fault")
        self.assertEqual((code, "libcuda.so.1" in output), (cardcheck.UNCHECKED, True))

    def test_faulty_kernel(self):
        for name, codes, code in (
                ("it fails", {"cuCtxSynchronize": 700}, 0),
                ("it does not fail", {}, 1),
                ("the card cannot run it", {"cuModuleLoadData": 209}, cardcheck.UNCHECKED)):
            with self.subTest(name=name):
                driver = mock.Mock(**{call + ".return_value": codes.get(call, 0) for call in (
                    "cuInit", "cuDeviceGet", "cuCtxCreate_v2", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel",
                    "cuCtxSynchronize")})
                with mock.patch("ctypes.CDLL", return_value=driver):
                    self.assertEqual(self.check(None, "fault")[0], code)


if __name__ == "__main__":
    unittest.main()
