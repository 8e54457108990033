"""Atomic and complete checkpoints: a run that resumes from one ends bit-equal to an uninterrupted run."""
import hashlib
import os
import random

import numpy as np
import torch

NAME = "checkpoint.pt"


class CheckpointError(Exception):
    """The file is not a checkpoint of this run; the text says why."""


def save(folder, state):
    """Write state into folder and return the file's path. A reader sees the old file or the new one, never a part of one."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, NAME)
    scratch = path + ".tmp"
    write(scratch, state)
    put(scratch, path)
    return path


def write(path, state):
    """Write state into a file, down to the disk."""
    with open(path, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def put(scratch, path):
    """Replace path by a complete file, without Trellis. The record of an earlier checkpoint, which Trellis wrote, goes first."""
    if os.path.exists(path + ".record"):
        os.unlink(path + ".record")
    os.replace(scratch, path)
    entry = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)


def load(folder, expected):
    """The state in folder, or None if there is none. It must have exactly the keys of expected."""
    path = os.path.join(folder, NAME)
    if not os.path.exists(path):
        return None
    try:
        state = torch.load(path, map_location="cpu")
    except Exception as err:   # torch raises exceptions of many types
        raise CheckpointError("%s cannot be read: %s" % (path, err)) from err
    missing, unexpected = (expected.keys() - state.keys(), state.keys() - expected.keys()) \
        if isinstance(state, dict) else (expected.keys(), ())
    if missing or unexpected:
        raise CheckpointError("%s is no checkpoint of this program: missing %s, unexpected %s" % (
            path, sorted(missing) or "nothing", sorted(unexpected) or "nothing"))
    return state


def random_state():
    """The state of every global random generator, as plain numbers and tensors, as newer versions of torch.load require."""
    name, keys, *rest = np.random.get_state()
    state = {"python": random.getstate(), "numpy": [name, keys.tolist(), *rest], "torch": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state):
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_initialized():
        torch.cuda.set_rng_state(state["cuda"])


def fingerprint(state):
    """SHA-256 over every tensor and number in a state, independent of the order of its dictionaries."""
    digest = hashlib.sha256()

    def add(value):
        if isinstance(value, torch.Tensor):
            digest.update(("%s%s" % (value.dtype, tuple(value.shape))).encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        elif isinstance(value, dict):
            for key in sorted(value, key=repr):
                digest.update(repr(key).encode())
                add(value[key])
        elif isinstance(value, (list, tuple)):
            digest.update(b"[%d]" % len(value))
            for item in value:
                add(item)
        else:
            digest.update(repr(value).encode())
    add(state)
    return digest.hexdigest()
