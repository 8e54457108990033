#!/usr/bin/env python3
"""Train one model on scikit-learn's digits: `run.py lstm --steps 500 --checkpoint-dir /checkpoints`.

Goes on from the checkpoint in --checkpoint-dir if there is one. SIGTERM: save and exit with 143. SIGUSR1: save and go on.
"""
import argparse
import math
import sys
import time

import device
import memory
from interrupts import EXIT_TERMINATED, Interrupts

# kind: (steps, batch size, steps between two evaluations); measured alone except the last two, see README.md
DEFAULTS = {
    "vae": (900, 64, 20),
    "cnn": (900, 64, 20),
    "rnn": (1200, 64, 20),
    "gru": (900, 64, 20),
    "birnn": (1000, 64, 20),
    "lstm": (1000, 64, 20),
    "mlp": (1200, 64, 20),
    "transformer": (1000, 64, 20),
}


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=DEFAULTS)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=count(1), help="training steps (default: the kind's own)")
    length.add_argument("--epochs", type=count(1), help="passes over the data, instead of steps")
    parser.add_argument("--batch-size", type=count(1), help="unless Trellis requests another (default: the kind's own)")
    parser.add_argument("--batch-range", type=sizes, metavar="MIN:MAX",
                        help="batch sizes that Trellis may choose from (default: those it requests, without changes of the learning rate)")
    parser.add_argument("--learning-rate-rule", choices=("linear", "square-root", "none"), default="square-root",
                        help="how the learning rate follows a batch size in that range (default: square-root)")
    parser.add_argument("--workers", type=count(0), default=1, help="data loaders, unless Trellis requests another number (default: 1)")
    parser.add_argument("--seed", type=count(0), default=1)
    parser.add_argument("--width", type=count(1), default=1, help="of the layers of the model, except the mlp's, to keep a card busy (default: 1)")
    parser.add_argument("--device", choices=device.KINDS, default="cpu",
                        help="where training steps run; an emulated GPU is the core in GPUSHARE_EMULATED_CORE (default: cpu)")
    parser.add_argument("--preprocess", type=effort, default=1.0,
                        help="CPU spent on each image, relative to the default (0: images are not warped)")
    parser.add_argument("--learning-rate", type=factor, default=1e-3, help="at the beginning; it falls every 250 steps (default: 0.001)")
    parser.add_argument("--metric-every", type=count(1), help="steps between two evaluations on held-out images")
    parser.add_argument("--save-every", type=count(0), default=0, help="steps between two checkpoints (default: 0, only on request)")
    parser.add_argument("--checkpoint-dir", help="where checkpoints are written and looked for (default: none)")
    parser.add_argument("--progress", choices=("shim", "log"), default="shim",
                        help="report to Trellis through its shim, or print lines such as `step=120 loss=0.4321` (default: shim)")
    options = parser.parse_args(argv)
    low, high = options.batch_range or (1, math.inf)
    if not low <= (options.batch_size or DEFAULTS[options.kind][1]) <= high:
        parser.error("--batch-range: the batch size is not in the range")
    return options


def sizes(text):
    low, high = text.split(":")
    return count(1)(low), count(int(low))(high)


def count(least):
    def number(text):
        if int(text) < least:
            raise ValueError
        return int(text)
    return number


def effort(text):
    return 0.0 if float(text) == 0 else factor(text)


def factor(text):
    if not (math.isfinite(float(text)) and 0 < float(text) <= 100):
        raise ValueError
    return float(text)


def plan_of(options):
    from train import Plan
    steps, batch_size, metric_every = DEFAULTS[options.kind]
    return Plan(options.kind, options.steps or steps, options.epochs, options.batch_size or batch_size, options.workers,
                options.seed, options.preprocess, options.metric_every or metric_every, options.save_every,
                options.checkpoint_dir, options.learning_rate, options.device, options.batch_range, options.width, options.learning_rate_rule)


def main(argv):
    options = arguments(argv)
    interrupts = Interrupts().install()
    memory.keep()
    place = device.Device(options.device)   # before torch: its threads, and the imports themselves, leave the emulated GPU alone
    from checkpoint import CheckpointError, fingerprint   # torch: slow to import
    from progress import listener
    from train import Trainer
    try:
        trainer = Trainer(plan_of(options), listener(options.progress), place)
    except CheckpointError as err:
        print("run.py: %s" % err, file=sys.stderr)
        return 1
    print("%s %s at step %d" % ("resuming" if trainer.resumed else "training", options.kind, trainer.step), flush=True)
    began = time.monotonic()
    finished = trainer.run(interrupts)
    place.loading()
    print("%s %s at step %d after %.1f s: %s state=%s" % (
        "finished" if finished else "interrupted", options.kind, trainer.step, time.monotonic() - began,
        " ".join("%s=%.4f" % item for item in trainer.evaluate().items()), fingerprint(trainer.state())), flush=True)
    return 0 if finished else EXIT_TERMINATED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
