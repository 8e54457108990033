#!/usr/bin/env python3
"""Measure what gpushare.gradients() costs: `gradientcost.py mlp --seconds 40 > cost.csv`.

A row is a period of the call, in which two of its calls do more than count. It has the mean time of a training step in seconds,
without the time inside the calls and with it. Both times are of the same steps: those of two periods, one with the call and one
without, differ by more than it costs. What the call does to the processor's caches is therefore counted in both.
"""
import argparse
import os
import sys
import time

import torch

import gpushare
from data import digits
from models import MODELS

BATCH = 64
LEAST = 4    # periods
WARM_UP = 1  # periods before the first one that counts


class Job:
    """A model that trains on one batch."""

    def __init__(self, kind):
        torch.manual_seed(1)
        self.model = MODELS[kind]()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        images, labels = digits(1, 0)[0].all(epoch=0)
        self.images, self.labels = images[:BATCH], labels[:BATCH]

    def train(self):
        """The mean time of a step in a period, without that inside the calls and with it."""
        inside, began = 0, time.perf_counter()
        for _ in range(gpushare.GRADIENT_EVERY):
            self.optimizer.zero_grad()
            self.model.loss(self.images, self.labels).backward()
            called = time.perf_counter()
            gpushare.gradients(self.model, samples=BATCH)
            inside += time.perf_counter() - called
            self.optimizer.step()
        whole = time.perf_counter() - began
        return (whole - inside) / gpushare.GRADIENT_EVERY, whole / gpushare.GRADIENT_EVERY


def periods(job, seconds):
    """Rows of times of a step."""
    end, number = time.monotonic() + seconds, 0
    while number < WARM_UP + LEAST or time.monotonic() < end:
        times = job.train()
        number += 1
        if number > WARM_UP:
            yield times


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=MODELS)
    parser.add_argument("--seconds", type=float, default=40)
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    os.environ["GPUSHARE_DIR"] = os.devnull   # no agent: what is measured is work in this process
    print("without,with")
    for row in periods(Job(options.kind), options.seconds):
        print("%.9f,%.9f" % row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
