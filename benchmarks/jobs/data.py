"""Digits, warped: scikit-learn's 1797 handwritten digits with preprocessing that costs CPU, and a position in the data.

What a sample looks like depends on (seed, epoch, index) alone, and the order of an epoch on (seed, epoch) alone. So the
number of loaders never changes a result, and a run that was interrupted goes on with exactly the batch it would have had.
"""
import os
import signal
import warnings
from typing import NamedTuple

import numpy as np
import torch
from scipy import ndimage
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset

SIDE = 16            # pixels; the originals have 8
HELD_OUT = 360       # images kept for evaluation, a fifth
SPLIT_SEED = 20261   # of the split only: every job holds the same images out
ELASTIC = 4.0        # strength of the elastic noise, smoothed over 3 pixels
TURN = 0.15          # radians, one standard deviation

# Trellis knows how many loaders the cores can feed; this process does not.
warnings.filterwarnings("ignore", message="This DataLoader will create")


class Position(NamedTuple):
    """The position of training: the number of samples of this epoch that are used."""

    epoch: int = 0
    offset: int = 0

    def after(self, count, size):
        """The position after count more samples of an epoch of that size."""
        offset = self.offset + count
        return Position(self.epoch, offset) if offset < size else Position(self.epoch + 1)


def batches(seed, size, batch_size, position):
    """Endless batches of (epoch, index) from a position on. A batch ends at the end of its epoch at the latest.

    It has one sample more if a single one would be left, as after a change of the batch size: batch normalisation needs two.
    """
    while True:
        order = generator(seed, position.epoch).permutation(size)
        alone = batch_size > 1 and position.offset + batch_size == size - 1
        chosen = order[position.offset:position.offset + batch_size + alone]
        yield [(position.epoch, int(index)) for index in chosen]
        position = position.after(len(chosen), size)


def generator(*key):
    """Random numbers that depend on the key alone."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


class Warped(Dataset):
    """Images (SIDE x SIDE, 0..1) and labels, each image freshly warped in each epoch; indexed by (epoch, index).

    With an effort of 0 images are enlarged once and never warped, so that loading them costs next to nothing.
    """

    def __init__(self, images, labels, seed, effort):
        self.images, self.labels, self.seed = images, labels, seed
        self.rounds = max(1, round(4 * effort)) if effort else 0
        if not effort:
            self.enlarged = np.clip(ndimage.zoom(images, (1, SIDE / images.shape[1], SIDE / images.shape[2]), order=1), 0, 1).astype(np.float32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, key):
        epoch, index = key
        image = warp(self.images[index], generator(self.seed, epoch, index), self.rounds) if self.rounds else self.enlarged[index]
        return torch.from_numpy(image), int(self.labels[index])

    def all(self, epoch):
        """Every image and label at once, in order."""
        images, labels = zip(*(self[epoch, index] for index in range(len(self))))
        return torch.stack(images), torch.tensor(labels)


def warp(image, random, rounds):
    """Upsample, turn and bend an image; the mean of several sub-pixel shifts, so that rounds costs time and gives smoothness."""
    grid = np.linspace(0, image.shape[0] - 1, SIDE)
    middle = grid.mean()
    rows, columns = np.meshgrid(grid - middle, grid - middle, indexing="ij")
    angle = random.normal(0, TURN)
    cos, sin = np.cos(angle), np.sin(angle)
    bend = ELASTIC * ndimage.gaussian_filter(random.normal(size=(2, SIDE, SIDE)), (0, 3, 3))
    where = np.stack([cos * rows - sin * columns, sin * rows + cos * columns]) + middle + bend
    total = np.zeros((SIDE, SIDE))
    for _ in range(rounds):
        shift = random.uniform(-0.25, 0.25, (2, 1, 1))
        total += ndimage.map_coordinates(image, where + shift, order=3, mode="constant")
    return np.clip(total / rounds, 0, 1).astype(np.float32)


def digits(seed, effort):
    """(training set, held-out set)."""
    raw = load_digits()
    images, labels = raw.images / 16.0, raw.target
    order = generator(SPLIT_SEED).permutation(len(images))
    held, rest = order[:HELD_OUT], order[HELD_OUT:]
    return Warped(images[rest], labels[rest], seed, effort), Warped(images[held], labels[held], seed, effort)


class Feed:
    """Endless batches from a data set, from a DataLoader that can be replaced between two batches.

    position is behind the last batch handed out; batches that workers prefetched beyond it do not count.
    """

    def __init__(self, dataset, seed, batch_size, workers, position=Position(), ahead=iter, pins=False):
        """ahead takes the batches from a loader, see Device.ahead."""
        self.dataset, self.seed, self.position = dataset, seed, position
        self.ahead, self.pins = ahead, pins
        self.batch_size, self.workers = batch_size, workers
        self._stale = False

    def retune(self, batch_size, workers):
        """Use another batch size or number of workers from the next batch on."""
        self._stale = self._stale or (batch_size, workers) != (self.batch_size, self.workers)
        self.batch_size, self.workers = batch_size, workers

    def __iter__(self):
        while True:
            self._stale = False
            for batch in self.ahead(self._loader()):
                self.position = self.position.after(len(batch[-1]), len(self.dataset))
                yield batch
                if self._stale:
                    break

    def _loader(self):
        return DataLoader(
            self.dataset, batch_sampler=batches(self.seed, len(self.dataset), self.batch_size, self.position),
            num_workers=self.workers, worker_init_fn=as_worker, pin_memory=self.pins,
            generator=torch.Generator())   # its own: a DataLoader draws a number whenever it is rebuilt


def as_worker(_):
    """Protect workers from a signal to the process group: training saves first, and ends its workers itself."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
