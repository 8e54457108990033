"""The shim, with a record of the time of each step: one line "begin end done number" in nanoseconds of the monotonic clock.

A step begins when the job has its batch and its turn, and ends with the call of step(), which is done later if the job waits
there for its turn. BENCH_SHIM is the file of the shim. Records are appended to BENCH_RECORD, with the rank if there is one.
"""
import importlib.util
import os
import time

_spec = importlib.util.spec_from_file_location("gpushare_measured", os.environ["BENCH_SHIM"])
_shim = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shim)
globals().update({name: value for name, value in vars(_shim).items() if not name.startswith("__")})

_now = time.monotonic_ns
_path = os.environ["BENCH_RECORD"]
if os.environ.get("RANK"):
    _path += "." + os.environ["RANK"]
_file = os.open(_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
_begin = _now()
_number = 0


def step(*values, **more):
    global _begin, _number
    end = _now()
    _shim.step(*values, **more)
    done = _now()
    _number += 1
    os.write(_file, b"%d %d %d %d\n" % (_begin, end, done, _number))
    _begin = _now()


def timed(iterable):
    return _Timed(iterable)


class _Timed:
    def __init__(self, iterable):
        self._iterable = iterable

    def __len__(self):
        return len(self._iterable)

    def __iter__(self):
        global _begin
        for item in _shim.timed(self._iterable):
            _begin = _now()
            yield item
