#!/usr/bin/env python3
"""Measure what gpushare.gradients() costs: `gradientcost.py mlp --seconds 40 > cost.csv`.

Training steps without the call and with it take turns, a period of the call each, in which two of its calls do more than count. A
row has the mean times of a step in both, in seconds.
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
LEAST = 4    # turns
WARM_UP = 1  # turns before the first one that counts


class Job:
    """A model that trains on one batch."""

    def __init__(self, kind):
        torch.manual_seed(1)
        self.model = MODELS[kind]()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        images, labels = digits(1, 0)[0].all(epoch=0)
        self.images, self.labels = images[:BATCH], labels[:BATCH]

    def train(self, measured):
        """The mean time of a step in a period."""
        began = time.perf_counter()
        for _ in range(gpushare.GRADIENT_EVERY):
            self.optimizer.zero_grad()
            self.model.loss(self.images, self.labels).backward()
            if measured:
                gpushare.gradients(self.model, samples=BATCH)
            self.optimizer.step()
        return (time.perf_counter() - began) / gpushare.GRADIENT_EVERY


def turns(job, seconds):
    """Rows of times without and with the call. Either is first in half of the turns."""
    end, number = time.monotonic() + seconds, 0
    while number < WARM_UP + LEAST or time.monotonic() < end:
        order = (False, True) if number % 2 else (True, False)
        times = {measured: job.train(measured) for measured in order}
        number += 1
        if number > WARM_UP:
            yield times[False], times[True]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=MODELS)
    parser.add_argument("--seconds", type=float, default=40)
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    os.environ["GPUSHARE_DIR"] = os.devnull   # no agent: what is measured is work in this process
    print("without,with")
    for row in turns(Job(options.kind), options.seconds):
        print("%.9f,%.9f" % row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
