#!/usr/bin/env python3
"""A training job with a real DataLoader: batches come from slow storage, are decompressed, transformed and augmented.

A step is a wait, as for a process that waits for its GPU. The job ends when its standard input is closed.
"""
import argparse
import sys
import threading
import time
import zlib

import numpy as np
import torch
from scipy import fft, ndimage
from torch.utils.data import DataLoader, Dataset

import gpushare

SIDE, BLOCK, STORED = 64, 8, 256
HUNG = 20   # seconds without a batch after which the workers are replaced


class Images(Dataset):
    """Invented images, stored as JPEG stores them: quantised cosine coefficients of blocks, entropy-coded.

    storage is the seconds that a read waits, crops the number of augmented crops whose mean is the sample.
    """

    def __init__(self, storage, crops):
        self.storage, self.crops = storage, crops
        random = np.random.default_rng(1)
        self.stored = [zlib.compress(compressible(random).tobytes()) for _ in range(STORED)]

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        if self.storage:
            time.sleep(self.storage)
        random = np.random.default_rng(index)
        stored = self.stored[index % STORED]
        return torch.from_numpy(np.mean([augment(decode(stored), random) for _ in range(self.crops)], axis=0))


def compressible(random):
    """The quantised coefficients of an image: three colours of 8 x 8 blocks, mostly low frequencies."""
    image = ndimage.gaussian_filter(random.normal(size=(3, SIDE, SIDE)), (0, 3, 3)) * 255
    return np.round(fft.dctn(blocks(image), axes=(-2, -1), norm="ortho") / 8).astype(np.int16)


def blocks(image):
    side = SIDE // BLOCK
    return image.reshape(3, side, BLOCK, side, BLOCK).swapaxes(2, 3)


def decode(stored):
    coefficients = np.frombuffer(zlib.decompress(stored), np.int16).reshape(3, SIDE // BLOCK, SIDE // BLOCK, BLOCK, BLOCK)
    image = fft.idctn(coefficients.astype(np.float32) * 8, axes=(-2, -1), norm="ortho")
    return image.swapaxes(2, 3).reshape(3, SIDE, SIDE)


def augment(image, random):
    """A random crop, resized, sometimes mirrored, normalised."""
    size = random.integers(SIDE // 2, SIDE)
    top, left = random.integers(0, SIDE - size, 2)
    crop = ndimage.zoom(image[:, top:top + size, left:left + size], (1, SIDE / size, SIDE / size), order=1)
    if random.random() < 0.5:
        crop = crop[:, :, ::-1]
    return ((crop - crop.mean()) / (crop.std() + 1e-6)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--step", type=float, required=True, help="seconds")
    parser.add_argument("--storage", type=float, default=0, help="seconds for each sample")
    parser.add_argument("--crops", type=int, default=1)
    parser.add_argument("--loaders", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    data, ended = Images(options.storage, options.crops), threading.Event()
    position = 0
    threading.Thread(target=lambda: (open(0).read(), ended.set()), daemon=True).start()
    while not ended.is_set():
        workers = gpushare.loaders(options.loaders)
        gpushare.batch_size(options.batch)
        loader = DataLoader(data, options.batch, sampler=range(position, len(data)), num_workers=workers,
                            timeout=HUNG if workers else 0)
        try:
            for batch in gpushare.timed(loader):
                time.sleep(options.step)
                position += len(batch)
                gpushare.step(samples=len(batch))
                if gpushare.changed() or ended.is_set():
                    break
        except RuntimeError as err:   # a worker may hang if it was forked at the wrong moment: another loader replaces it
            print("job.py: %s" % err, file=sys.stderr, flush=True)


main()
