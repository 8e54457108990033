"""A job that is bound by launches, on an emulated GPU: each step computes for half of its time, in many short parts.

Between two parts the GPU has nothing to do, as between two kernels whose launches take longer than they run. `launches.py
--steps 1000` ends after so many steps.
"""
import argparse
import os
import time

import gpushare

PARTS = 10          # of a step
COMPUTE = 0.0005    # seconds of each part
PAUSE = 0.0005      # seconds after each part


def compute(seconds):
    """Use the core for so many seconds of CPU time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=1 << 40)
parser.add_argument("--compute", type=float, default=COMPUTE, help="seconds of each part")
options = parser.parse_args()
os.sched_setaffinity(0, {int(os.environ["GPUSHARE_EMULATED_CORE"])})
for number in range(1, options.steps + 1):
    for _ in range(PARTS):
        compute(options.compute)
        time.sleep(PAUSE)
    gpushare.step(step=number, total_steps=options.steps)
