"""A job of one or two ranks that take their steps together. It prints the number of each step, and ends with SIGTERM.

The ranks exchange a byte in each step over the descriptors 3 and 4. A rank ends with the other one.

With LOST, SIGWINCH loses its GPU: to wait for its kernels raises an error or hangs. The job itself does not notice.
"""
import os
import signal
import time

import gpushare

ending = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
ranks = int(os.environ.get("WORLD_SIZE", "1"))
lost = os.environ.get("LOST")
number = 0
gone = []


def drain():
    while gone and lost == "hangs":
        time.sleep(1)
    if gone:
        raise RuntimeError("the GPU is lost")


if lost:
    signal.signal(signal.SIGWINCH, lambda *_: gone.append(True))
    gpushare.drain_with(drain)
while not ending:
    time.sleep(0.001)
    try:
        if ranks > 1 and not (os.write(4, b"."), os.read(3, 1))[1]:
            break
    except BrokenPipeError:
        break
    gpushare.step()
    number += 1
    print(number, flush=True)
