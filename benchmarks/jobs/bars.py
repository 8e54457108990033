#!/usr/bin/env python3
"""Fit a line with a progress bar, as programs that never heard of Trellis do: `bars.py --steps 1600`.

The bar goes to stderr in the format of tqdm. Each update begins with a carriage return; only the end of an epoch is the end
of a line. With tqdm installed, the bar is tqdm's own. Each step waits for its data, as from a store across the network.
"""
import argparse
import math
import random
import sys
import time

EPOCHS = 8
WIDTH = 20                # characters of a bar
MIN_INTERVAL = 0.1        # seconds between two updates, as in tqdm
POINTS = 2000


class Bar:
    """The part of tqdm that this program uses: an iterator with a description and a postfix."""

    def __init__(self, iterable, desc):
        self.iterable, self.desc, self.postfix = iterable, desc, ""
        self.began = self.drawn = time.monotonic()

    def __iter__(self):
        total = len(self.iterable)
        for done, item in enumerate(self.iterable, 1):
            yield item
            if done == total or time.monotonic() - self.drawn >= MIN_INTERVAL:
                self.draw(done, total)
        sys.stderr.write("\n")
        sys.stderr.flush()

    def set_postfix(self, **values):
        self.postfix = "".join(", %s=%.4g" % item for item in values.items())

    def draw(self, done, total):
        self.drawn = time.monotonic()
        elapsed = max(self.drawn - self.began, 1e-9)
        rate = done / elapsed
        sys.stderr.write("\r%s: %3d%%|%s| %d/%d [%s<%s, %6.2fit/s%s]" % (
            self.desc, 100 * done // total, ("#" * (WIDTH * done // total)).ljust(WIDTH), done, total,
            clock(elapsed), clock((total - done) / rate), rate, self.postfix))
        sys.stderr.flush()


def clock(seconds):
    return "%02d:%02d" % divmod(int(seconds), 60)


def bar(iterable, desc):
    try:
        from tqdm import tqdm
    except ImportError:
        return Bar(iterable, desc)
    return tqdm(iterable, desc=desc)


def train(steps, seed, wait):
    """Gradient descent on a noisy line. The loss falls from about 4 to the variance of the noise."""
    source = random.Random(seed)
    points = [(x, 2 * x - 1 + source.gauss(0, 0.3)) for x in (source.uniform(-1, 1) for _ in range(POINTS))]
    slope, intercept = -1.0, 1.0
    rate = 5.0 / steps
    per_epoch = max(steps // EPOCHS, 1)
    loss = math.inf
    for epoch in range(1, EPOCHS + 1):
        steps_of_epoch = bar(range(per_epoch), "Epoch %d/%d" % (epoch, EPOCHS))
        for _ in steps_of_epoch:
            time.sleep(wait)
            errors = [slope * x + intercept - y for x, y in points]
            loss = sum(e * e for e in errors) / POINTS
            slope -= rate * sum(e * x for e, (x, _) in zip(errors, points)) * 2 / POINTS
            intercept -= rate * sum(errors) * 2 / POINTS
            steps_of_epoch.set_postfix(loss=loss)
    return slope, intercept, loss


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--wait", type=float, default=0.02, help="seconds that each step waits for its data")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    if options.steps < EPOCHS:
        parser.error("--steps: at least %d, the number of epochs" % EPOCHS)
    began = time.monotonic()
    slope, intercept, loss = train(options.steps, options.seed, options.wait)
    print("finished after %.1f s: y = %.3f x + %.3f, loss %.4f" % (time.monotonic() - began, slope, intercept, loss), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
