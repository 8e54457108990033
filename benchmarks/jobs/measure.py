#!/usr/bin/env python3
"""Run each kind of job alone on one core and print a Markdown table of what it takes: `measure.py [--quick] [kind ...]`."""
import argparse
import os
import resource
import subprocess
import sys
import time

import memory
from interrupts import Interrupts
from progress import Alone
from run import DEFAULTS, arguments, plan_of

HEADER = """| kind | steps | batch | seconds | ms/step | of that loading | peak RSS, MiB | held-out loss after 5 / 10 / 25 / 50 / 100 % |
|---|---|---|---|---|---|---|---|"""


class Watch(Alone):
    """Splits a run's time into waiting for data and the rest, as the shim does for Trellis, and keeps the losses."""

    def __init__(self):
        self.loading, self.losses = 0.0, {}

    def step(self, loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
        if loss is not None:
            self.losses[step] = loss

    def timed(self, iterable):
        iterator = iter(iterable)
        while True:
            began = time.perf_counter()
            batch = next(iterator)
            self.loading += time.perf_counter() - began
            yield batch


def measure(kind, steps):
    memory.keep()
    from train import Trainer
    plan = plan_of(arguments([kind, "--workers", "0"] + (["--steps", str(steps)] if steps else [])))
    watch = Watch()
    trainer = Trainer(plan, watch)
    began = time.perf_counter()
    trainer.run(Interrupts())
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    def nearest(share):
        return watch.losses[min(watch.losses, key=lambda step: abs(step - share * plan.steps))]
    return "| %s | %d | %d | %.1f | %.1f | %.1f | %.0f | %s |" % (
        kind, plan.steps, plan.batch_size, seconds, 1000 * seconds / plan.steps, 1000 * watch.loading / plan.steps, peak,
        " / ".join("%.3g" % nearest(share) for share in (0.05, 0.1, 0.25, 0.5, 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="kind", help="default: all")
    parser.add_argument("--quick", action="store_true", help="60 steps each")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)   # in this process: its peak RSS is the job's own
    options = parser.parse_args()
    if options.one:
        print(measure(options.kinds[0], 60 if options.quick else None), flush=True)
        return
    print(HEADER, flush=True)
    core = {max(os.sched_getaffinity(0))}
    for kind in options.kinds or DEFAULTS:
        command = [sys.executable, os.path.abspath(__file__), "--one", kind] + ["--quick"] * options.quick
        subprocess.run(command, check=True, preexec_fn=lambda: os.sched_setaffinity(0, core))


if __name__ == "__main__":
    main()
