#!/usr/bin/env python3
"""Measure the speeds of jobs that share an emulated GPU, in pairs and triples: `speeds.py > speeds.csv`.

Every job is a process that trains without end. It is stopped unless its set is being measured. Jobs compute on one core
and load their data on the others, between two steps, so that they wait for data for different parts of their steps.
"""
import argparse
import ctypes
import itertools
import mmap
import os
import random
import signal
import statistics
import struct
import sys
import time

import device
import memory
from interrupts import Interrupts
from progress import Alone

# kind: CPU spent on each image, relative to the default. It determines how long the GPU waits for data.
EFFORTS = {"vae": 0, "cnn": 0.25, "rnn": 0, "gru": 0.25, "birnn": 0.5, "lstm": 0, "mlp": 0.25, "transformer": 0}
QUICK = ("vae", "cnn", "lstm", "mlp")
PARTS = 4        # of each measurement; they show how certain it is
OTHERS = 0.1     # cores that other processes may use during a measurement, else it is repeated
REPEATS = 5
SETTLE = 0.3     # seconds before each measurement
STARTUP = 60     # seconds
PR_SET_PDEATHSIG = 1


class Counter(Alone):
    """Counts steps, and the time of loading, where another process can read them."""

    RECORD = struct.Struct("dd")

    def __init__(self):
        self.page = mmap.mmap(-1, mmap.PAGESIZE)
        self.steps = self.loading = 0.0

    def read(self):
        return self.RECORD.unpack_from(self.page)

    def step(self, *_, **__):
        self.steps += 1
        self.RECORD.pack_into(self.page, 0, self.steps, self.loading)

    def timed(self, iterable):
        iterator = iter(iterable)
        while True:
            began = time.monotonic()
            batch = next(iterator)
            self.loading += time.monotonic() - began
            yield batch


class Waiting(device.Device):
    """An emulated GPU that waits while the next batch is loaded, on the other cores."""

    def ahead(self, loader):
        batches = iter(loader)
        while True:
            self.loading()
            batch = next(batches)   # there is always one more
            self.computing()
            yield batch


class Job:
    """A process that trains while it is not stopped."""

    def __init__(self, kind, seed):
        self.kind, self.counter, self.alone, self.activity = kind, Counter(), None, None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)   # a stopped process would never end
                self._train(seed)
            finally:
                os._exit(1)   # training has no end

    def _train(self, seed):
        place = Waiting("emulated")
        from train import Plan, Trainer
        plan = Plan(self.kind, sys.maxsize, batch_size=64, seed=seed, preprocess=EFFORTS[self.kind], metric_every=sys.maxsize,
                    device="emulated")
        Trainer(plan, self.counter, place).run(Interrupts())

    def started(self):
        """Wait for the first steps, then stop."""
        until = time.monotonic() + STARTUP
        while self.counter.read()[0] < 20:
            if time.monotonic() > until or os.waitpid(self.pid, os.WNOHANG) != (0, 0):
                raise SystemExit("speeds.py: the job %s does not train" % self.kind)
            time.sleep(0.02)
        self.signal(signal.SIGSTOP)

    def signal(self, number):
        os.kill(self.pid, number)


def busy(pids):
    """Seconds of CPU so far: of the whole machine, with what other virtual machines took from it, and of some processes."""
    def ticks(path, fields):
        with open(path) as stat:
            return sum(int(field) for field in stat.readline().rpartition(")")[2].split()[fields])
    idle_and_wait = slice(4, 6)
    machine = ticks("/proc/stat", slice(1, 9)) - ticks("/proc/stat", idle_and_wait)
    return [n / os.sysconf("SC_CLK_TCK") for n in (machine, sum(ticks("/proc/%d/stat" % pid, slice(11, 13)) for pid in pids))]


def measure(jobs, seconds):
    """What observe returns, while other processes are calm, or when they were calmest."""
    calmest, least = None, None
    for _ in range(REPEATS):
        machine, own = busy(job.pid for job in jobs)
        began = time.monotonic()
        observed = observe(jobs, seconds)
        machine_then, own_then = busy(job.pid for job in jobs)
        others = (machine_then - machine - (own_then - own)) / (time.monotonic() - began)
        if least is None or others < least:
            calmest, least = observed, others
        if least <= OTHERS:
            return calmest
    print("speeds.py: other processes used %.2f cores while a set was measured" % least, file=sys.stderr, flush=True)
    return calmest


def observe(jobs, seconds):
    """The steps per second of each job, in each part of the time, and the fraction of time in which it loads."""
    for job in jobs:
        job.signal(signal.SIGCONT)
    time.sleep(SETTLE)
    readings = []
    for part in range(PARTS + 1):
        readings.append((time.monotonic(), [job.counter.read() for job in jobs]))
        if part < PARTS:
            time.sleep(seconds / PARTS)
    for job in jobs:
        job.signal(signal.SIGSTOP)
    rates = [[(after[i][0] - before[i][0]) / (then - now) for (now, before), (then, after) in zip(readings, readings[1:])]
             for i in range(len(jobs))]
    whole = readings[-1][0] - readings[0][0]
    loading = [(readings[-1][1][i][1] - readings[0][1][i][1]) / whole for i in range(len(jobs))]
    return rates, loading


def alone(jobs, seconds):
    """The speed of each job alone. It is measured again and again, since the machine's own speed changes."""
    for job in jobs:
        job.alone, longer = 0, seconds
        while job.alone == 0:
            if longer > STARTUP:
                raise SystemExit("speeds.py: the job %s makes no step in %g s: is the machine busy?" % (job.kind, STARTUP))
            rates, loading = measure([job], longer)
            job.alone, job.activity = statistics.median(rates[0]), 1 - min(1, loading[0])
            longer *= 4   # a step takes longer than a part of the time


def sets(first, second):
    """All pairs, those of equal kinds too, and all triples of different kinds; each as a list of jobs."""
    pairs = [list(pair) for pair in itertools.combinations(first, 2)] + [list(pair) for pair in zip(first, second)]
    return pairs + [list(triple) for triple in itertools.combinations(first, 3)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="time of each measurement (default: 3.5, nine minutes in all)")
    parser.add_argument("--quick", action="store_true", help="four kinds of job, 1 s each")
    options = parser.parse_args()
    kinds, seconds = (QUICK, 1.0) if options.quick else (tuple(EFFORTS), 3.5)
    seconds = options.seconds or seconds
    memory.keep()
    import train   # noqa: F401  once, before the processes of the jobs exist
    jobs = []
    try:
        for seed in (1, 2):
            for kind in kinds:
                jobs.append(Job(kind, seed))
                jobs[-1].started()
        report(jobs[:len(kinds)], jobs[len(kinds):], seconds)
    finally:
        for job in jobs:
            job.signal(signal.SIGKILL)
            os.waitpid(job.pid, 0)


def report(first, second, seconds):
    """Measure all sets, in a random order, and print a line for each job of each."""
    chosen = sets(first, second)
    random.Random(1).shuffle(chosen)
    print("set,kind,activity,speed,deviation,seconds", flush=True)
    for number, members in enumerate(chosen):
        if number % 24 == 0:
            alone(first + second, seconds)
        rates, _ = measure(members, seconds)
        for job, parts in zip(members, rates):
            speeds = [max(rate / job.alone, 0.001) for rate in parts]
            print("%d,%s,%.3f,%.4f,%.4f,%.1f" % (number + 1, job.kind, job.activity, statistics.mean(speeds),
                                                 statistics.stdev(speeds) / PARTS ** 0.5, seconds), flush=True)


if __name__ == "__main__":
    main()
