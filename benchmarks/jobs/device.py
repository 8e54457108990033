"""The device of the training step: the CPU, a GPU, or the core of an emulated GPU.

An emulated GPU owns one core. A job computes on that core and loads its data on the others, so jobs that share the
emulated GPU are as slow together as on a real one.
"""
import os

from ahead import Ahead

KINDS = ("cpu", "emulated", "cuda")


class Device:
    """Places the thread that trains, models and batches. It does not import torch before it has to."""

    def __init__(self, kind, rank=0, environ=os.environ):
        self.kind, self.gpu, self.others = kind, None, None
        if kind == "emulated":
            allowed = os.sched_getaffinity(0)
            self.gpu = {emulated_core(environ.get("GPUSHARE_EMULATED_CORE", ""), rank, allowed)}
            self.others = allowed - self.gpu or allowed
            self.loading()

    def loading(self):
        """From here on, this thread and the processes that it starts leave the core of the emulated GPU alone."""
        if self.others:
            os.sched_setaffinity(0, self.others)

    def computing(self):
        """From here on, this thread uses the core of the emulated GPU."""
        if self.gpu:
            os.sched_setaffinity(0, self.gpu)

    def repeatable(self):
        """Let a card compute the same in each run: no algorithm whose sums have an order that changes."""
        if self.kind == "cuda":
            import torch
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.backends.cudnn.allow_tf32 = False
            if hasattr(torch.backends.cuda, "enable_mem_efficient_sdp"):   # since PyTorch 2
                torch.backends.cuda.enable_mem_efficient_sdp(False)
            torch.use_deterministic_algorithms(True, warn_only=True)

    def ahead(self, loader):
        """The batches of a loader. Those for an emulated GPU are loaded on the other cores during the step before, as for a card."""
        if not self.gpu:
            return iter(loader)
        self.loading()   # the workers start where they stay
        batches = Ahead(loader, self.loading)
        self.computing()
        return iter(batches)

    @property
    def pins(self):
        """Whether batches lie in pinned memory, from which a card copies during the step before."""
        return self.kind == "cuda"

    def move(self, *values):
        """A model, or tensors, on the device."""
        if self.kind != "cuda":
            return values if len(values) > 1 else values[0]
        moved = [value.to("cuda", non_blocking=True) for value in values]
        return moved if len(moved) > 1 else moved[0]


def emulated_core(text, rank, allowed):
    """The core of the emulated GPU: one of a list, by rank, or else the first core."""
    if not text:
        return min(allowed)
    cores = text.split(",")
    core = cores[rank % len(cores)].strip()
    if not core.isdigit() or int(core) not in allowed:
        raise SystemExit("GPUSHARE_EMULATED_CORE=%s: core %s is not one of this process's cores %s" % (
            text, core, ",".join(map(str, sorted(allowed)))))
    return int(core)
