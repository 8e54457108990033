"""gpushare reports the progress of a training job to Trellis, and receives the configuration that Trellis sends.

    import gpushare

    for batch in gpushare.timed(DataLoader(data, batch_size=gpushare.batch_size(64),
                                           num_workers=gpushare.loaders(2))):
        loss = train(batch)
        gpushare.step(loss=loss.item(), samples=len(batch))
        if gpushare.changed():                 # a safe point: rebuild the DataLoader
            ...

A job that saves a checkpoint when it is asked to registers a function, and resumes from what it has saved:

    gpushare.on_save(lambda path: torch.save(state(), path), "/checkpoints/job.pt")
    checkpoint = gpushare.resume()             # None, or the path and the step of a complete checkpoint
    if checkpoint:
        load(checkpoint.path)

One file, standard library only, Python 3.8 or newer. It is mounted into the containers of jobs that share a GPU. The agent
is the coordinator of the node, at the other end of the socket. Without an agent, training continues unchanged.

Jobs that share a GPU compute in turns. A job waits for its turn in step(), or when its next batch is ready. It gives the GPU
up while timed() waits for data, which it loads ahead of its turn, and where it says so:

        with gpushare.idle():                  # evaluation on the CPU, a checkpoint
            ...
    gpushare.drain_with(function)              # other frameworks than PyTorch: function waits for all work queued on the GPU

A job may be given another batch size within a range that it declares, and applies its own rule for the learning rate with it:

    size = gpushare.batch_size(64, minimum=16, maximum=512, learning_rate="square-root")
    learning_rate = 1e-3 * gpushare.learning_rate_scale()
    ...
        loss.backward()
        gpushare.gradients(model)              # before clipping and optimizer.step(): measures the noise of the gradient

A job that says what it trains has its step time and its memory predicted before its first step:

    gpushare.describe(batch_size=64, flops=4.1e9, params=sum(p.numel() for p in model.parameters()))

A job that has moved resumes from what it saved for the move: resume() knows its path, step and SHA-256 from the file
checkpoint.json, which is in the folder of the sockets before the container starts.

Guarantees to the job:
  * No call raises because of the agent, and none waits for it: a daemon thread owns the socket, and step() adds a few
    numbers to one small aggregate. The only waits are those for the turn, those of a pause or of ranks that save, and the
    duty gate of agents without turns.
  * A wait ends with the agent, after 30 s without a word from it, and when the job should save or end: a save request is
    open, or a handler of the job has received a signal such as SIGTERM. A pause that the user has asked for ends after
    120 s without a word from the agent, so that it outlasts a restart of the agent.
  * Memory is bounded. Steps between two reports become one report; there are at most ten reports a second.
  * A forked child (a DataLoader worker) closes the inherited connection. It opens its own only if it calls this module.
  * The random generators, signal handlers and loggers of the job are not used. One exception: on_save() handles SIGTERM if
    the job does not, so that the job saves before it ends.
  * PyTorch is limited to the job's share of each GPU (torch.cuda.set_per_process_memory_fraction). The limit is set when
    the job itself initialises CUDA. This module neither imports torch nor initialises CUDA.

The protocol: newline-delimited JSON over a Unix socket, at most 64 KiB a line, every line with "v": 1 and a "type".
  job to agent  progress  step, epoch, total_steps, metrics, steps and samples since the last report, step_seconds and
                          load_seconds (means per step), batch_size, loaders, batch (default, min, max, learning_rate:
                          what batch_size() declares), gradients (count, small, small_squared, large, large_squared: squared
                          norms of gradients over batches of two sizes, means of count comparisons, each relative to that
                          of its small batch), gpu_memory_mib (the most that PyTorch has reserved on a GPU)
                describe  batch_size, flops (for one sample), params: once per connection
                ack       generation, applied: the job has fetched every changed value that it uses
                saved     path, sha256, step, request (of the save that it answers)
                failed    request, reason, nothing (true: this process has nothing to save): the old checkpoint is as it was
                stopped   sequence (of the newest stop), step, stopped: waits between two steps
                each of them with rank, local_rank and world_size, as far as the process knows them
  agent to job  config    generation, loaders, batch_size: what is absent stays as it is
                duty      sequence, duty
                save      reason, deadline_seconds, request
                stop      sequence, stop, after_step: wait after the next step or after_step, or continue
Turns have a socket of their own, turn.sock. An agent of an earlier release does not create it: then nothing is gated.
  job to agent  gate      state (open: computes, closed: waits for its turn, idle: does not need the GPU), sequence (of the
                          newest turn), step, steps and held_seconds (since the last gate line), and the rank
  agent to job  turn      sequence, hold, after_step: compute (hold), or stop after the next step or after_step
Other lines (unknown type or version, a value out of range, invalid JSON, too long) are ignored. Within one connection
only a newer generation or sequence is applied. A new connection starts over, because a restarted agent may count from the
beginning.

JSON has no number for a metric that is not finite: it is sent as "nan", "inf" or "-inf".

Each process of a distributed job has its own connection. Its rank is the one of torch.distributed once that is initialised,
else that of the launcher's environment: Horovod, torchrun (RANK, LOCAL_RANK, WORLD_SIZE), Open MPI, PMI, Slurm, or an Indexed Job.
Values that are not ranks are ignored.

An agent of the previous release sends no duty messages. Its configs have a field duty, and without that field the duty is 1.
A duty in a config is always applied. A config without one means 1 only until the first duty message of the connection.
While the job is connected to turn.sock, its duty is ignored.

Environment: GPUSHARE_DIR (default /run/gpushare), the folder of the sockets; GPUSHARE_REPORT_SECONDS (default 0.1), the
shortest time between two reports; GPUSHARE_GPU_MEM_FRACTION and GPUSHARE_GPU_UUIDS, the job's shares of its GPUs and the
UUIDs of these, comma-separated; GPUSHARE_CAP=0 turns the limit of PyTorch off.
"""
import atexit
import collections
import errno
import hashlib
import json
import logging
import math
import operator
import os
import random
import re
import select
import signal
import socket
import sys
import threading
import time

__all__ = ["step", "loaders", "batch_size", "learning_rate_scale", "gradients", "changed", "describe", "on_save", "save",
           "resume", "save_requested", "saved", "timed", "idle", "drain_with", "Checkpoint", "CheckpointError", "SaveRequest"]

PROTOCOL = 1
LINE_LIMIT = 64 * 1024        # bytes of one line, in either direction
MAX_LOADERS = 64
MAX_BATCH = 1 << 24
MAX_METRICS = 32              # metrics in one report; with MAX_NAME this keeps a report well below LINE_LIMIT
MAX_NAME = 64                 # bytes
MAX_MAGNITUDE = 1e300
MAX_MODEL = 1e24
MAX_COUNT = 1 << 53           # JSON readers represent integers up to here exactly
MAX_SECONDS = 7 * 24 * 3600.0
MAX_RANKS = 1 << 20
RETRY_FIRST, RETRY_CAP = 0.1, 5.0   # seconds between two attempts to connect
READ_CHUNK, READ_LINES, READ_PAUSE = 4096, 16, 0.005   # bounds the work for a flood of lines
FLUSH_SECONDS = 0.2           # at exit
MIN_DUTY = 0.01               # the gate slows a job down, but never stops it
GATE_SLICE = 0.05             # seconds: the time until a sleeping step notices that the gate has opened
GATE_GRAIN = 0.001            # seconds: shorter sleeps are accumulated, because the kernel's timers are coarse
GATE_SMOOTHING = 0.25         # weight of the newest step ...
GATE_OUTLIER = 4.0            # ... which counts as at most this many times the mean, so that an evaluation causes no long sleep
TURN_BOUND = 30.0             # seconds without a word from the agent after which a waiting job computes
IDLE_WAIT = 0.001             # seconds: a job whose waits for data are longer than this gives up the GPU meanwhile
IDLE_PROBE = 32               # long waits with work queued on the GPU, after which one wait is measured on a drained GPU
MEMORY_SECONDS = 1.0          # between two readings of PyTorch's GPU memory, each of which takes it a moment
GRADIENT_EVERY = 64           # steps from one pair of measured gradients to the next: two of these steps do more work
LEARNING_RATE = {"linear": 1.0, "square-root": 0.5, "none": 0.0}   # rule: the exponent of the batch size
GATE_GRACE = 30.0             # seconds without an agent after which the gate opens, as no agent can open it
STOP_BOUND = 120.0            # seconds without a word from the agent after which a stopped job continues
TERM_WAIT = 10.0              # seconds that a rank waits after SIGTERM for the agent to let all ranks save
MAX_REASON = 400              # bytes

_clock = time.perf_counter
_log = logging.getLogger("gpushare")
_long_number = re.compile(rb"[0-9]{20}")


# --------------------------------------------------------------------------------------------------- the API of a job

def step(loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
    """Report that a training step is done.

    loss and further keyword arguments are evaluation metrics: numbers, or values that float() accepts. Pass them when there
    is a new value; NaN and infinity are reported as such. samples is the number of samples of the step. step is the
    number of the step, counted automatically if not given; a jump forward counts as that many steps.
    """
    if _cap.waits:
        _cap.apply()
    if loss is not None:
        metrics["loss"] = loss
    _client().step(samples, step, epoch, total_steps, metrics)


def loaders(default):
    """The number of data-loader workers to use now: the agent's value, or default."""
    _cap.apply()
    return _client().value("loaders", default)


def batch_size(default, minimum=None, maximum=None, learning_rate=None):
    """The batch size to use now: the agent's value, or default.

    minimum and maximum permit the agent to choose a size between them. learning_rate says how the job changes its learning
    rate with the size: "linear", "square-root" or "none". Multiply the learning rate by learning_rate_scale().
    """
    if minimum is None and maximum is None and learning_rate is None:
        return _client().value("batch_size", default)
    return _client().value("batch_size", default, _declaration(default, minimum, maximum, learning_rate))


def learning_rate_scale():
    """The factor for the learning rate at the size that batch_size() returned last, by the rule that it was given."""
    return _client().values.learning_rate_scale()


def gradients(model, samples=None):
    """Measure the noise of the gradient. Call it in each step between backward() and optimizer.step(), before clipping.

    model has the parameters: a torch.nn.Module, an optimizer, or a list of tensors with grad. samples is the number of samples
    of the gradient, over all ranks and accumulated batches; by default the batch size times the number of ranks. Two of 64
    calls do more than count: the first copies the gradient, the second compares it with its own.
    """
    _client().gradients(model, samples)


def changed():
    """True if loaders() or batch_size() would return another value than at its last call.

    It is cheap enough for every step, and lets a job rebuild its DataLoader inside a long epoch. A function that the job
    has never called does not count.
    """
    return _client().values.changed


def describe(*, batch_size=None, flops=None, params=None):
    """Say what the job trains, best before the first step. Without it, the job's memory and step time are only observed.

    batch_size is the number of samples per step of this process, flops the floating-point operations for one sample,
    params the number of parameters. A value that is unknown is left out. The last call counts.
    """
    _client().describe(batch_size, flops, params)


def on_save(function, path=None):
    """Let function save a checkpoint, between two steps, when the agent asks for one or the job receives SIGTERM.

    With a path, function(scratch) writes the checkpoint into the file scratch. It replaces path only when it is complete and
    on the disk. Without one, function() does all of this itself and returns the path, or None if this process has nothing to
    save. All ranks of a job call their functions after the same step, so these may use collective operations.

    A URL, such as s3://bucket/job.pt, is no file: this module neither writes nor reads it. A function without a path may save
    there, and returns Checkpoint(url, None, sha256) with the SHA-256 of what it has written.

    After a SIGTERM that the job does not handle, the job ends with SystemExit once it has saved.
    """
    if path is not None and _is_url(os.fspath(path)):
        raise ValueError("on_save() writes files, and %s is a URL: leave the path out, let the function write to the URL itself, and "
                         "return gpushare.Checkpoint(url, None, sha256)" % path)
    _client().saver.register(function, None if path is None else _location(path))


def save():
    """Save now, with the function of on_save(), and return the path. Errors of the function are raised."""
    return _client().save_now()


def resume(path=None):
    """The Checkpoint at path, by default that of on_save(), or None if there is none.

    CheckpointError is raised if the file is not what was saved. A file that was not saved by this module has no step and
    no sha256, and is not verified.

    If it is the path of on_save(), this process is from then on the only one that may save there.

    A job that has moved must find what it saved for the move, or what it has saved since: CheckpointError is raised if the file
    is missing, or of an earlier step. Without any path, the one of that checkpoint counts. Of a URL, this is all that is known:
    the result is None for a job that has not moved, whether or not there is something.
    """
    saver = _client().saver
    moved = _moved_with(os.path.join(_folder(), "checkpoint.json"))
    path = path or saver.path or (moved and moved.path)
    if path is None:
        raise CheckpointError("resume() needs a path, or one given to on_save() before")
    path = _location(path)
    if _is_url(path):
        return _at_url(path, moved)
    checkpoint = _continued(path, moved)
    if checkpoint is not None and checkpoint.path == saver.path:
        saver.claim(moved)
    return checkpoint


class CheckpointError(Exception):
    """The file is not a checkpoint as it was saved; the text says what differs."""


Checkpoint = collections.namedtuple("Checkpoint", "path step sha256")


def save_requested():
    """The agent's open SaveRequest, or None. It stays open until saved() is called or its deadline has passed.

    For jobs that do not use on_save().
    """
    return _client().save_request()


def saved(path, step=None, sha256=None):
    """Report a checkpoint at path. Its SHA-256 is computed in the background. That of a URL must be given."""
    _client().saved(_location(path), step, sha256)


def timed(iterable):
    """Iterate over iterable (the DataLoader of the training data) and measure how long each step waits for data.

    After the last step (total_steps) a job has given up the GPU. Wrap the data of a final evaluation as well: each of its batches
    then waits for a turn.
    """
    _cap.apply()
    return _Timed(iterable)


def idle():
    """A context in which the job does not use the GPU: `with gpushare.idle():` around a checkpoint or an evaluation on the CPU.

    At its end the job waits for its turn. Processes of a job of several ranks keep the GPU.
    """
    return _Idle()


def drain_with(function):
    """Call function() before the job gives up the GPU. It returns when all work that the job has queued there is done.

    PyTorch needs no function.
    """
    _Turns.drain = staticmethod(function)


class SaveRequest:
    """The agent's request for a checkpoint: its reason, and its deadline on the clock of time.monotonic()."""

    __slots__ = ("reason", "deadline", "number")

    def __init__(self, reason, deadline, number=0):
        self.reason = reason
        self.deadline = deadline
        self.number = number        # 0 from agents of the previous release

    def remaining(self):
        """Seconds left, never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def __repr__(self):
        return "SaveRequest(reason=%r, remaining=%.1fs)" % (self.reason, self.remaining())


class _Idle:
    __slots__ = ()

    def __enter__(self):
        _client().turns.enter()

    def __exit__(self, *_):
        _client().resumed(lambda turns, urgent: turns.leave(urgent))


class _Timed:
    __slots__ = ("_iterable",)

    def __init__(self, iterable):
        self._iterable = iterable

    def __len__(self):
        return len(self._iterable)

    def __getattr__(self, name):
        """An attribute of the iterable, such as its sampler. Special methods are not: copy and pickle look for them in an empty object."""
        if name in self.__slots__ or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._iterable, name)

    def __iter__(self):
        final = _client().turns.release(first=True)   # to create an iterator takes long: it starts the workers
        iterator = iter(self._iterable)
        while True:
            client, began = _client(), _clock()
            try:
                item = next(iterator)
            except StopIteration:
                client.resumed(lambda turns, urgent: turns.resume(None, urgent))
                return
            ended = _clock()
            client.loaded(began, ended)
            client.resumed(lambda turns, urgent: turns.resume(ended - began, urgent, final))
            try:
                yield item
            except GeneratorExit:   # the loop has ended before the data
                if final:
                    _client().turns.release()
                raise
            _client().turns.release()


# --------------------------------------------------------------------------------------------------------- the aggregate

class _Report:
    """The steps since the last report. The step number, the epoch and the total carry over into the next report."""

    __slots__ = ("number", "epoch", "total", "metrics", "steps", "samples", "measured", "seconds", "load", "gradients", "dirty")

    def __init__(self, before=None):
        self.number = before.number if before else None
        self.epoch = before.epoch if before else None
        self.total = before.total if before else None
        self.metrics = {}
        self.steps = 0        # steps taken
        self.samples = 0
        self.measured = 0     # steps whose duration is known
        self.seconds = 0.0    # wall time of these, with loading, without the sleep of the gate
        self.load = 0.0       # the part of that time spent waiting for data
        self.gradients = None  # (count, samples of a small batch, mean squared norm for twice as many relative to that for one)
        self.dirty = False

    def add(self, samples, number, epoch, total, metrics, seconds, load):
        """Count one call of step(), and return for how many steps it counts. seconds is None if the start is unknown."""
        count = 1
        if number is not None:
            number = _integer(number)
        if number is None:
            number = (self.number or 0) + 1
        elif self.number is not None and number > self.number:
            count = number - self.number
        self.number = number
        self.steps += count
        if samples is not None:
            self.samples += _integer(samples) or 0
        if epoch is not None:
            self.epoch = _integer(epoch)
        if total is not None:
            self.total = _integer(total)
        if seconds is not None:
            self.measured += count
            self.seconds += seconds
            self.load += load
        for name, value in metrics.items():
            value = _metric(value)
            if value is not None and (name in self.metrics or (len(self.metrics) < MAX_METRICS and _short(name))):
                self.metrics[name] = value
        self.dirty = True
        return count

    def compare(self, count, samples, relative):
        """Add the mean over count pairs of gradients. Only those of the newest batch size are kept."""
        had = self.gradients
        if had and had[1] == samples:
            count += had[0]
            relative = had[2] + (count - had[0]) / count * (relative - had[2])
        self.gradients = (min(count, MAX_COUNT), samples, relative)

    def absorb(self, earlier):
        """Merge an earlier report that was not delivered."""
        if earlier.gradients and (self.gradients is None or self.gradients[1] == earlier.gradients[1]):
            self.compare(*earlier.gradients)
        self.steps += earlier.steps
        self.samples += earlier.samples
        self.measured += earlier.measured
        self.seconds += earlier.seconds
        self.load += earlier.load
        newer, self.metrics = self.metrics, earlier.metrics
        for name, value in newer.items():
            if name in self.metrics or len(self.metrics) < MAX_METRICS:
                self.metrics[name] = value
        self.dirty = True

    def message(self, in_use, declared=None, memory=None):
        """The progress message. in_use has the loaders and the batch size that the job last fetched."""
        message = {"type": "progress", "step": self.number}
        if self.epoch is not None:
            message["epoch"] = self.epoch
        if self.total is not None:
            message["total_steps"] = self.total
        measured = self.measured or 1
        metrics = {name: value if math.isfinite(value) else repr(value) for name, value in self.metrics.items()}
        message.update(metrics=metrics, steps=min(self.steps, MAX_COUNT), samples=min(self.samples, MAX_COUNT),
                       step_seconds=round(min(self.seconds / measured, MAX_SECONDS), 9),
                       load_seconds=round(min(self.load / measured, MAX_SECONDS), 9))
        message.update((key, value) for key, value in in_use.items() if _within(value, *_RANGES[key]))
        if declared:
            message["batch"] = declared
        if self.gradients:
            count, samples, relative = self.gradients
            message["gradients"] = {"count": count, "small": samples, "small_squared": 1.0, "large": 2 * samples,
                                    "large_squared": relative}
        if memory is not None:
            message["gpu_memory_mib"] = memory
        return message


# ----------------------------------------------------------------------------------------------------- the agent's values

_RANGES = {"loaders": (0, MAX_LOADERS), "batch_size": (1, MAX_BATCH)}


class _Values:
    """Loaders and batch size as the agent sent them, and as the job last fetched them."""

    def __init__(self):
        self.changed = False
        self.in_use = {}            # the values that the job last fetched
        self.declared = None        # what the job declares about its batch size
        self._sent = {}             # by the agent
        self._generation = None     # of the newest config of this connection
        self._acknowledged = True

    def new_connection(self):
        self._generation = None
        self._acknowledged = True

    def offer(self, generation, values):
        """Apply a config. Returns False if it is not newer than the last one."""
        if self._generation is not None and generation <= self._generation:
            return False
        self._generation = generation
        self._acknowledged = False
        self._sent.update(values)
        self._confine()
        self._compare()
        return True

    def fetch(self, key, default, declared=None):
        if declared:
            self.declared = declared
            self._confine()
        value = self._sent.get(key, default)
        self.in_use[key] = value
        self._compare()
        return value

    def ack(self):
        """The ack that is due, once, or None. A value that the job has never fetched is neither applied nor waited for."""
        applied = {key: value for key, value in self._sent.items() if key in self.in_use}
        unused = self._sent and not applied
        if self._acknowledged or unused or any(self.in_use[key] != value for key, value in applied.items()):
            return None
        self._acknowledged = True
        return {"type": "ack", "generation": self._generation, "applied": applied}

    def _confine(self):
        """Drop a batch size outside the range that the job declares."""
        size = self._sent.get("batch_size")
        if self.declared and size is not None and not self.declared["min"] <= size <= self.declared["max"]:
            del self._sent["batch_size"]

    def learning_rate_scale(self):
        if not self.declared or not self.in_use.get("batch_size"):
            return 1.0
        return (self.in_use["batch_size"] / self.declared["default"]) ** LEARNING_RATE[self.declared["learning_rate"]]

    def _compare(self):
        self.changed = any(self._sent.get(key, value) != value for key, value in self.in_use.items())


def _declaration(default, minimum, maximum, learning_rate):
    """What the job declares about its batch size. Invalid arguments are an error of the job."""
    minimum = default if minimum is None else minimum
    maximum = default if maximum is None else maximum
    learning_rate = learning_rate or "none"
    if not all(_within(value, *_RANGES["batch_size"]) for value in (default, minimum, maximum)):
        raise ValueError("batch sizes are integers from 1 to %d" % MAX_BATCH)
    if not minimum <= default <= maximum:
        raise ValueError("the batch size %d is not between the minimum %d and the maximum %d" % (default, minimum, maximum))
    if learning_rate not in LEARNING_RATE:
        raise ValueError("learning_rate=%r is none of %s" % (learning_rate, ", ".join(sorted(LEARNING_RATE))))
    return {"default": default, "min": minimum, "max": maximum, "learning_rate": learning_rate}


class _Gradients:
    """Compares the gradients of two consecutive steps.

    Their mean is the gradient of a batch of twice the size, at almost the same parameters. The norms of gradients of two sizes
    show how much of the gradient is noise.
    """

    def __init__(self):
        self._steps = 0
        self._first = None      # gradients of the first step of the pair, and its samples
        self._norms = None      # samples and products of the last pair: read at the next one, so that no step waits for the GPU
        self._broken = False

    def due(self):
        """Whether the next call needs its gradient."""
        return self._steps % GRADIENT_EVERY <= 1

    def add(self, model, samples):
        """Count a step. Returns (samples, squared norm of the mean of two gradients relative to that of one) at the end of a period."""
        phase, self._steps = self._steps % GRADIENT_EVERY, self._steps + 1
        if phase > 1 or self._broken or (phase == 1 and self._first is None):
            return None
        try:
            if phase == 1:
                first, self._first = self._first, None
                self._norms = _products(*first, _gradients_of(model), samples)
                return None
            norms, self._norms = self._norms, None
            self._first = [g.clone() for g in _gradients_of(model)], samples
            return _relative_norm(norms)
        except Exception as err:   # another framework, or another version of it
            self._broken, self._first = True, None
            _log.warning("the noise of the gradient is not measured: %s", err)
            return None


def _gradients_of(model):
    """The gradients of a model, an optimizer or a list of tensors, flat."""
    if hasattr(model, "param_groups"):
        parameters = [p for group in model.param_groups for p in group["params"]]
    else:
        parameters = model.parameters() if hasattr(model, "parameters") else list(model)
    return [p.grad.detach().reshape(-1) for p in parameters if p.grad is not None]


def _products(first, samples, second, samples_now):
    """The inner products of two gradients with themselves and with each other, as tensors. None if they do not compare."""
    if samples != samples_now or not samples or [g.shape for g in first] != [g.shape for g in second]:
        return None   # the last batch of an epoch is shorter, or parameters were frozen
    pairs = [(a.float(), b.float()) for a, b in zip(first, second)]
    return samples, [a.dot(a) for a, _ in pairs], [b.dot(b) for _, b in pairs], [a.dot(b) for a, b in pairs]


def _relative_norm(products):
    if products is None:
        return None
    samples = products[0]
    first, second, both = (sum(float(value) for value in values) for values in products[1:])
    small, large = (first + second) / 2, max(0.0, (first + second + 2 * both) / 4)
    if _finite(small) is None or _finite(large) is None or small <= 0:   # an overflow, as loss scaling tries them
        return None
    return samples, large / small


def _gpu_memory():
    """The most memory in MiB that PyTorch has reserved on a GPU of this process, or None."""
    if not _queues():
        return None
    cuda = sys.modules["torch"].cuda
    return max(int(cuda.max_memory_reserved(device)) >> 20 for device in range(cuda.device_count()))


class _Memory:
    """The GPU memory for reports. Only the thread that sends them asks for it."""

    def __init__(self):
        self._mib, self._due = None, -math.inf

    def read(self):
        now = time.monotonic()
        if now >= self._due:
            self._due = now + MEMORY_SECONDS
            try:
                self._mib = _gpu_memory()
            except Exception:   # another version of torch
                self._mib = None
        return self._mib


class _Gate:
    """Sleeps after each step so that computing takes the part `duty` of the time.

    A step adds (its smoothed compute time) x (1/duty - 1) to the time to sleep. The actual sleep is measured, so the errors
    of coarse timers and of slices do not accumulate.
    """

    def __init__(self):
        self.duty = 1.0
        self.sequence = None        # of the newest duty message of this connection
        self.lost = None            # when the agent was lost, None while connected
        self._mean = None
        self._owed = 0.0            # seconds to sleep

    def offer(self, sequence, duty):
        """Apply a duty message if it is newer than the last one."""
        if self.sequence is None or sequence > self.sequence:
            self.sequence, self.duty = sequence, duty

    def configure(self, duty):
        """Apply the duty of a config, None if it has none."""
        if duty is not None:
            self.duty = duty
        elif self.sequence is None:
            self.duty = 1.0

    def learn(self, compute):
        """Add the compute time of a step to the mean, also while the gate is open."""
        mean = self._mean
        self._mean = compute if mean is None else \
            mean + GATE_SMOOTHING * (min(compute, GATE_OUTLIER * mean + GATE_GRAIN) - mean)

    def pause(self, urgent):
        """Sleep for one more step. Ends early when the gate opens or urgent() is true."""
        self._owed += self._mean * (1.0 / self.duty - 1.0)
        while self._owed >= GATE_GRAIN:
            if self.open() or urgent():
                self._owed = 0.0
                return
            began = _clock()
            time.sleep(min(self._owed, GATE_SLICE))
            self._owed = max(self._owed - (_clock() - began), -GATE_SLICE)

    def open(self):
        lost = self.lost
        return self.duty >= 1.0 or (lost is not None and time.monotonic() - lost > GATE_GRACE)


# ---------------------------------------------------------------------------------------------------- turns of the GPU

OPEN, CLOSED, IDLE = "open", "closed", "idle"

# The job has a handler for one of these to save or to end, at once or after the step.
_URGENT = {getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
           if hasattr(signal, name)}


def _drain_torch():
    """Wait for all work that PyTorch has queued on the GPUs of this process."""
    if not _queues():
        return
    torch = sys.modules["torch"]
    used = getattr(torch._C, "_cuda_hasPrimaryContext", lambda device: device == torch.cuda.current_device())
    for device in range(torch.cuda.device_count()):
        if used(device):   # synchronize() would create a context on another one
            torch.cuda.synchronize(device)


def _queues():
    """Whether PyTorch uses a GPU: a step then returns before its work is done."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return getattr(cuda, "is_initialized", bool)()


class _Alarm:
    """Ends a wait of the job's threads: by ring(), or by a signal for which the job has a handler."""

    def __init__(self):
        self.fds = None
        self._listening = False

    def open(self):
        if self.fds is None:
            self.fds = os.pipe()
            for fd in self.fds:
                os.set_blocking(fd, False)

    def ring(self):
        fds = self.fds
        if fds is not None:
            _quietly(os.write, fds[1], b"\0")

    def urgent(self):
        """Empty the pipe. Returns whether a signal came that the job may save or end for."""
        return not _URGENT.isdisjoint(_read(self.fds[0]))

    def listen(self):
        """Let the job's signals ring. Only the main thread receives them, and only if the job does not use this."""
        try:
            other = signal.set_wakeup_fd(self.fds[1], warn_on_full_buffer=False)
            self._listening = other == -1
            if not self._listening:
                signal.set_wakeup_fd(other, warn_on_full_buffer=False)
        except (AttributeError, OSError, TypeError, ValueError):
            pass

    def deafen(self):
        if self._listening:
            self._listening = False
            try:
                signal.set_wakeup_fd(-1)
            except (OSError, ValueError):
                pass

    def close(self):
        self.deafen()
        for fd in self.fds or ():
            _quietly(os.close, fd)


class _Turns:
    """The connection to turn.sock. The job's own threads read and write it, so a turn starts as soon as its line arrives.

    A step boundary costs one poll that does not wait. A thread that waits for the turn holds the lock: the job's other
    threads wait with it.
    """

    drain = staticmethod(_drain_torch)

    def __init__(self, path):
        self.path = path
        self._lock = threading.RLock()
        self._tried = self._retry = 0.0   # the times of the last and the next attempt to connect
        self._pause = RETRY_FIRST
        self._number = 0            # of the last step
        self._steps = 0             # since the last gate line
        self._trainer = None        # the thread that calls step(); False if several do
        self._idle = 0              # open idle() contexts
        self._wait = 0.0            # mean wait for data on a drained GPU
        self._hidden = 0            # long waits since then, each with work queued on the GPU
        self._loads = False         # the trainer has asked for data since the last step
        self._warned = False
        self._alarm = _Alarm()
        self._waiting = False       # for the turn
        self._socket = None
        self._reset()

    def _reset(self):
        """The state of a new connection."""
        self._lines = _Lines()
        self._state, self._hold, self._after = OPEN, True, 0
        self._since = _clock()      # of the last gate line, or of the turn
        self._sequence = None       # of the newest turn; None before the first, as the job is not gated
        self._heard = 0.0           # when it came
        self._ranks = False         # the job has several ranks
        self._finished = False      # the last step is done

    # called by the job's threads

    def connected(self):
        return self._socket is not None

    def boundary(self, number, count, last, urgent):
        """A step is done: wait here if another job has the turn. Returns whether it has waited.

        A job that gives up the GPU for its data stops there instead, and waits for the turn with its next batch: so it loads while others
        compute. If it makes another step first, it waits here.
        """
        with self._lock:
            loads, self._loads = self._loads, False
            self._number, self._steps = number, self._steps + count
            thread = threading.get_ident()
            self._trainer = thread if self._trainer in (None, thread) else False
            if self._socket is None and not self._connect():
                return False
            if self._lines.waiting() or self._poller.poll(0):
                self._receive()
            if self._sequence is None or self._idle:
                return False
            if last and not self._ranks and not self._finished:
                self._finished = True
                self._leave(IDLE)   # the job saves and ends, without another turn
                return False
            self._finished = False
            if self._state == OPEN and (self._hold or number < self._after or urgent() or loads and self._awaits_data()):
                return False
            self._leave(CLOSED)
            self._await(urgent)
            return True

    def release(self, first=False):
        """The trainer waits for data from here on, first for the first batch of an iterator. Returns whether the last step is done.

        Then the iterator is that of a final evaluation. It has no step boundaries, so each of its batches has a turn of its own.
        """
        with self._lock:
            trains = self._trainer == threading.get_ident()
            self._loads = self._loads or trains
            if trains and (first or self._finished or self._awaits_data()):
                self._leave_idle()
            return trains and self._finished

    def resume(self, wait, urgent, final=False):
        """The data came after a wait in seconds, or there is no more (None). Returns how long it waited for the turn.

        After the last step only an iterator that has begun since asks for one: another one may have a batch that the job does not use.
        """
        with self._lock:
            if wait is not None and self._trainer == threading.get_ident():
                self._learn(wait)
            return 0.0 if self._finished and not final else self._resume(urgent)

    def enter(self):
        """An idle() context begins."""
        with self._lock:
            self._idle += 1
            if self._socket is not None and self._state == OPEN and not self._ranks:
                self._leave(IDLE)   # also before the first turn: the context may be long, and others would wait for an answer

    def leave(self, urgent):
        """An idle() context ends. Returns how long it waited for the turn."""
        with self._lock:
            self._idle = max(0, self._idle - 1)   # 0 in a child that was forked in the context
            return 0.0 if self._finished else self._resume(urgent)

    def nudge(self):
        """Let a thread that waits look for something urgent. Called by the socket thread."""
        self._alarm.ring()

    def park(self):
        """The job stops between two steps and gives up the GPU, also one of several ranks: all of them stop."""
        with self._lock:
            self._idle += 1
            if self._sequence is not None and self._state == OPEN:
                self._leave(IDLE)

    def unpark(self):
        """The job does not continue: it gets no turn, and asks for none."""
        with self._lock:
            self._idle = max(0, self._idle - 1)

    def close(self):
        """Leave the GPU to the other jobs, unless a thread still waits for it."""
        if self._lock.acquire(blocking=False):
            self._lose()
            self._retry = math.inf
            self._lock.release()

    def abandon(self):
        """In a forked child: close the inherited descriptors."""
        if self._socket is not None:
            _quietly(self._socket.close)
        self._alarm.close()

    # called with the lock held

    def _connect(self):
        if time.monotonic() < self._retry:
            return False
        self._tried = time.monotonic()
        try:
            self._alarm.open()
            sock = self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.setblocking(False)     # _socket is set: a child that is forked from here on closes it
            sock.connect(self.path)     # does not block: a full backlog is an error
            self._poller, self._waiter = select.poll(), select.poll()
            self._poller.register(sock, select.POLLIN)
            self._waiter.register(sock, select.POLLIN)
            self._waiter.register(self._alarm.fds[0], select.POLLIN)
        except (OSError, AttributeError):   # no agent, an agent without turns, or a system without Unix sockets
            self._lose()
            return False
        self._say(OPEN)
        return self._socket is not None

    def _lose(self):
        """The connection has ended, and the gate opens."""
        if self._socket is not None:
            _quietly(self._socket.close)
            self._socket = None
        now = time.monotonic()
        self._pause = RETRY_FIRST if now - self._tried > RETRY_CAP else min(2 * self._pause, RETRY_CAP)
        self._retry = now + self._pause
        self._reset()

    def _say(self, state):
        now = _clock()
        held = now - self._since if self._state == OPEN else 0.0
        process = _process(os.environ, sys.modules.get("torch.distributed"))
        line = _line(_gate_message(state, self._sequence, self._number, self._steps, held), process)
        self._ranks = process.get("world_size", 1) > 1
        self._state, self._since, self._steps = state, now, 0
        try:
            sent = self._socket.send(line, getattr(socket, "MSG_NOSIGNAL", 0))
        except OSError:
            sent = 0
        if sent < len(line):   # the agent is gone, or does not read
            self._lose()

    def _receive(self):
        """Handle a bounded number of lines."""
        if not self._lines.waiting():
            try:
                data = self._socket.recv(READ_CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lose()
                return
            self._lines.feed(data)
        answer = False
        for _ in range(READ_LINES):
            line = self._lines.next()
            if line is None:
                break
            turn = _turn(_parse(line))
            if turn is not None and (self._sequence is None or turn[0] > self._sequence):
                answer = self._apply(*turn)
        if answer:
            self._say(self._state)

    def _apply(self, sequence, hold, after):
        """Apply a turn. Returns whether it is answered at once."""
        self._sequence, self._heard = sequence, time.monotonic()
        passed = self._state == OPEN and 0 < after <= self._number   # other ranks may be behind this step
        self._hold = hold or passed
        self._after = 0 if self._hold else after
        if hold and self._state == CLOSED:
            self._state, self._since = OPEN, _clock()
        elif self._waiting and not hold and not after:
            self._state = CLOSED   # the turn is taken back before the first step of it
        return after > 0 or (not hold and self._state == CLOSED)

    def _leave(self, state):
        """Give up the GPU, drained."""
        try:
            self.drain()
        except Exception as err:   # the next call of the job raises an error of its GPU, too
            if not self._warned:
                self._warned = True
                _log.warning("the GPU was not drained before the turn of another job: %s", err)
        self._say(state)

    def _leave_idle(self):
        if self._sequence is not None and self._state == OPEN and not self._ranks:
            self._leave(IDLE)

    def _awaits_data(self):
        """Whether the job gives up the GPU for its data: its waits are long, or the next one will be measured."""
        return not self._ranks and (self._wait > IDLE_WAIT or self._hidden >= IDLE_PROBE)

    def _learn(self, wait):
        """Add a wait for data to the mean. It does not count while the GPU may still work on the last step."""
        if self._state == OPEN and (_queues() or self.drain is not _drain_torch):
            self._hidden += wait > IDLE_WAIT
            return
        self._hidden = 0
        self._wait += GATE_SMOOTHING * (min(wait, GATE_OUTLIER * self._wait + IDLE_WAIT) - self._wait)

    def _resume(self, urgent):
        """Wait for the turn after a time without the GPU. Returns how long."""
        if self._state != IDLE or self._idle:
            return 0.0
        began = _clock()
        self._receive()
        if self._socket is not None:
            self._hold, self._after = False, 0   # what came until here was about the time without the GPU
            self._say(CLOSED)
            self._await(urgent)
        return _clock() - began

    def _await(self, urgent):
        """Wait until the agent gives the turn, is gone or silent, or the job has something more urgent to do."""
        self._waiting, self._heard = True, time.monotonic()
        self._alarm.urgent()   # what was written after an earlier wait
        self._alarm.listen()
        try:
            while self._state == CLOSED and not urgent():
                if self._lines.waiting():
                    time.sleep(READ_PAUSE)   # the rest of a flood
                    self._receive()
                    continue
                left = self._heard + TURN_BOUND - time.monotonic()
                events = dict(self._waiter.poll(max(0, math.ceil(left * 1000))))
                if self._alarm.fds[0] in events and self._alarm.urgent():
                    break
                if self._socket.fileno() in events:
                    self._receive()
                elif left <= 0:
                    self._hold = True   # until the next turn
                    break
        finally:
            self._waiting = False
            self._alarm.deafen()
            if self._state == CLOSED:
                self._say(OPEN)   # it computes without the turn


# ------------------------------------------------------------------------------------------------------ stops and saves

class _Stops:
    """Lets the job wait between two steps: the user has paused it, or all ranks are to save after the same step.

    The lock is that of the client, so a step is counted before or after an order of the agent.
    """

    def __init__(self, lock, post):
        self._lock, self._post = lock, post
        self._alarm = _Alarm()
        self._sequence = None       # of the newest order of this connection
        self._stop = False          # stop once step _after is complete
        self._after = 0
        self._step = 0              # the last complete step
        self._heard = 0.0           # when the agent last sent an order
        self.waiting = False

    def due(self, number):
        """A step is complete. Returns whether the job has to wait. Called with the lock held."""
        self._step = number
        return self._stop and number >= self._after

    def order(self, sequence, stop, after):
        """Apply an order of the agent. Called by the socket thread."""
        with self._lock:
            self._heard = time.monotonic()
            if self._sequence is None or sequence > self._sequence:
                self._sequence = sequence
                passed = stop and 0 < after <= self._step and not self.waiting   # other ranks may be behind this step
                self._stop, self._after = stop and not passed, after
                if not self.waiting:
                    self._answer()
        self._alarm.ring()

    def new_connection(self):
        """Called with the lock held."""
        self._sequence = None
        if self._stop:
            self._answer()          # an agent that has not stopped the job lets it continue

    def wait(self, work):
        """Wait until the agent lets the job continue or is silent. work() does what is due; the wait ends if it returns True."""
        try:
            self._alarm.open()
        except OSError:
            return                  # no descriptors are left: it cannot wait
        poller = select.poll()
        poller.register(self._alarm.fds[0], select.POLLIN)
        self._alarm.urgent()
        self._alarm.listen()
        with self._lock:
            self.waiting = True
            self._answer()
        try:
            while not work():
                with self._lock:
                    left = self._heard + STOP_BOUND - time.monotonic()
                    self._stop = self._stop and left > 0
                    if not self._stop or self._step < self._after:
                        return
                if poller.poll(math.ceil(min(left, 1.0) * 1000)) and self._alarm.urgent():
                    work()          # a job that leaves SIGTERM to this module ends here
                    return
        finally:
            self._alarm.deafen()
            with self._lock:
                self.waiting = False
                self._answer()

    def ring(self):
        self._alarm.ring()

    def abandon(self):
        """In a forked child: close the inherited descriptors."""
        self._alarm.close()

    def _answer(self):
        self._post({"type": "stopped", "sequence": self._sequence or 0, "step": self._step, "stopped": self.waiting})


class _Saver:
    """Saves with the function that the job has registered."""

    def __init__(self):
        self.function = self.path = None
        self.owner = os.urandom(8).hex()
        self.claimed = None         # the path at which no earlier process may save any more
        self.terminated = None      # when SIGTERM came that the job does not handle
        self._handles = False
        self._masks = {}            # of the threads that fork at present
        self._finishing = None      # the thread that completes a checkpoint
        self.alarm = lambda: None

    def register(self, function, path):
        self.path, self.function = path, function
        try:
            if function is not None and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
                signal.signal(signal.SIGTERM, self._terminate)
                self._handles = True
        except ValueError:
            pass                    # not the main thread: the job ends without a checkpoint, as before

    def _terminate(self, *_):
        self.terminated = time.monotonic()
        self.alarm()

    def write(self):
        """Call the job's function. Returns the path, the scratch file, which is None if the function did all the work, and the
        SHA-256 if the function has returned one.
        """
        if self._finishing is not None:
            self._finishing.join()
        if self.path is None:
            path, digest = self.function(), None
            if isinstance(path, Checkpoint):
                path, digest = path.path, path.sha256
            return (None if path is None else _location(path)), None, digest
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        scratch = self.path + ".new"
        try:
            self.function(scratch)
        except BaseException:
            _quietly(os.unlink, scratch)
            raise
        return self.path, scratch, None

    def claim(self, moved=None):
        """Keep earlier processes of this job from saving: one may still run on a node that is out of reach."""
        record = _record(self.path)
        if record is None or _own_rank() > 0:
            return
        record["owner"] = self.owner
        if moved is not None and moved.path == self.path:
            record["continues"] = moved.sha256   # what is saved from here on is later, however the job numbers its steps
        _quietly(_replace, self.path + ".record", json.dumps(record).encode())
        self.claimed = self.path

    def complete(self, path, scratch, number, digest=None):
        """Put a checkpoint into place, and return its SHA-256. That of a URL is known only if the job has given it."""
        if scratch is None:
            return _given(path, digest) if _is_url(path) else _sha256(path)
        digest = _complete(path, scratch, number, self.owner, self.claimed == path)
        self.claimed = path
        return digest

    def finish(self, work):
        """Do the rest in the background: to write and to hash a large file takes long."""
        thread = threading.Thread(target=work, name="gpushare-save", daemon=True)
        try:
            thread.start()
            self._finishing = thread
        except RuntimeError:
            work()

    def join(self):
        if self._finishing is not None:
            self._finishing.join()

    def fork(self):
        """Before a fork: a SIGTERM for the child waits, as Python drops what arrives before its hooks have run."""
        if self._handles:
            self._masks[threading.get_ident()] = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def forked(self):
        mask = self._masks.pop(threading.get_ident(), None)
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def abandon(self):
        """In a forked child, such as a DataLoader worker: SIGTERM ends it as usual."""
        try:
            if signal.getsignal(signal.SIGTERM) == self._terminate:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
        except ValueError:
            pass
        self.forked()


def _complete(path, scratch, number, owner, claimed):
    """Put a checkpoint into place, with a record next to it. Returns its SHA-256. On errors the old one stays.

    The record names the old checkpoint as well: it is written first, and whichever file is there later is in it. Its owner is the
    process that saves there: an earlier one, which has claimed the path before, must not overwrite the checkpoint any more.
    """
    try:
        with open(scratch, "rb") as file:
            os.fsync(file.fileno())
            if os.fstat(file.fileno()).st_size == 0:
                raise CheckpointError("the save function has written nothing into %s" % scratch)
        digest = _sha256(scratch)
        before = _record(path) or {}
        if claimed and before.get("owner") not in (None, owner):
            raise CheckpointError("another process continues this job from %s: this one is late, and must not overwrite it" % path)
        entry = {"sha256": digest, "step": number, "owner": owner}
        if before.get("continues"):
            entry["continues"] = before["continues"]
        older = {"sha256": before.get("sha256"), "step": before.get("step")}
        _replace(path + ".record", json.dumps(dict(entry, v=1, before=older)).encode())
        os.replace(scratch, path)
        _sync_folder(path)
    except BaseException:
        _quietly(os.unlink, scratch)
        raise
    return digest


def _replace(path, content):
    try:
        with open(path + ".new", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
    except OSError:
        _quietly(os.unlink, path + ".new")
        raise


def _sync_folder(path):
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _record(path):
    """The record next to a checkpoint, or None if there is no valid one. Raises OSError for one that cannot be read."""
    try:
        with open(path + ".record", "rb") as file:
            record = json.loads(file.read(LINE_LIMIT).decode("utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("sha256"), str) else None


def _verified(path):
    """The checkpoint at path and its record, None each if there is none. Raises CheckpointError for a file that is not the one of
    its record, or cannot be read.
    """
    try:
        os.stat(path)
        record = _record(path)
        if record is None:
            return Checkpoint(path, None, None), None
        digest = _sha256(path)
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as err:
        raise CheckpointError("%s cannot be read: %s" % (path, err)) from err
    for known in (record, record.get("before")):
        if isinstance(known, dict) and known.get("sha256") == digest:
            return Checkpoint(path, _integer(known.get("step")), digest), record
    raise CheckpointError(
        "%s is not the checkpoint that was saved: its SHA-256 is %s, and %s.record has %s. Restore the file from a copy, or remove "
        "both files to start over" % (path, digest, path, record["sha256"]))


def _folder():
    return os.environ.get("GPUSHARE_DIR") or "/run/gpushare"


def _moved_with(path):
    """The Checkpoint that the job saved for the move that has brought it here, or None."""
    try:
        with open(path, "rb") as file:
            m = json.loads(file.read(LINE_LIMIT).decode("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as err:
        _log.warning("what this job saved before it moved is not known: %s", err)
        return None
    if not isinstance(m, dict) or m.get("v") != PROTOCOL or not isinstance(m.get("path"), str):
        return None                 # of another release
    if not _within(m.get("step"), 0, MAX_COUNT) or not _is_digest(m.get("sha256")):
        return None
    return Checkpoint(m["path"], m["step"], m["sha256"])


def _continued(path, moved):
    """The checkpoint at path, or None. It must be the one with which the job has moved, or a later one."""
    checkpoint, record = _verified(path)
    if moved is None or (record or {}).get("continues") == moved.sha256:
        return checkpoint
    if moved.path != path:
        if _own_rank() == 0:
            _log.warning("before it moved here, this job saved step %d in %s; it resumes from %s instead", moved.step, moved.path, path)
        return checkpoint
    if checkpoint is None and _own_rank() > 0:
        return None                 # not every rank has the volume
    if checkpoint is None:
        raise CheckpointError("%s is missing, where this job saved step %d before it moved here: is the same volume mounted on this node? %s"
                              % (path, moved.step, _REGARDLESS))
    if record is None:
        return _unrecorded(checkpoint, moved)
    if checkpoint.sha256 == moved.sha256:
        return checkpoint._replace(step=moved.step)
    if checkpoint.step is not None and checkpoint.step < moved.step:
        raise CheckpointError("%s is of step %d, and before it moved here this job saved step %d there, with SHA-256 %s: this node "
                              "reads an older file. %s" % (path, checkpoint.step, moved.step, moved.sha256, _REGARDLESS))
    _log.warning("%s, of step %s, is not the file that this job saved for its move, of step %d with SHA-256 %s: it was saved later, "
                 "and its own record matches", path, checkpoint.step, moved.step, moved.sha256)
    return checkpoint


_REGARDLESS = "To start without it, delete this pod: the next one does not expect it"


def _unrecorded(checkpoint, moved):
    """A file that the job has saved without this module, verified by what is known from the move."""
    try:
        digest = _sha256(checkpoint.path)
    except OSError as err:
        raise CheckpointError("%s cannot be read: %s" % (checkpoint.path, err)) from err
    if digest == moved.sha256:
        return moved
    _log.warning("%s is not the file that this job saved for its move, of step %d with SHA-256 %s: its SHA-256 is %s. It is wrong unless the "
                 "job has saved since", checkpoint.path, moved.step, moved.sha256, digest)
    return checkpoint


def _at_url(url, moved):
    if moved is not None and moved.path == url:
        return moved
    _log.warning("gpushare cannot look for %s: the job must look itself, and verify what it finds%s", url,
                 "" if moved is None else ". Before it moved here, it saved step %d in %s" % (moved.step, moved.path))
    return None


_url = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://[^\x00-\x1f\x7f]+", re.IGNORECASE)


def _is_url(path):
    return isinstance(path, str) and _url.fullmatch(path) is not None


def _location(path):
    """The absolute path of a file, or a URL as it is."""
    path = os.fspath(path)
    return path if _is_url(path) else os.path.abspath(path)


def _is_digest(text):
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) is not None


def _given(url, digest):
    """The SHA-256 that the job has given for what it has written to a URL."""
    digest = digest.lower() if isinstance(digest, str) else digest
    if not _is_digest(digest):
        raise CheckpointError("gpushare cannot read %s: the job must give the SHA-256 of what it has written there, as 64 hexadecimal digits: "
                              "return gpushare.Checkpoint(url, None, sha256), or pass it to saved()" % url)
    return digest


_CAUSES = {
    errno.ENOSPC: "the volume is full: free space on it, or request a larger one",
    errno.EDQUOT: "the quota of the volume is used up: free space, or raise it",
    errno.EFBIG: "the file is larger than the limit of the process (ulimit -f): raise it",
    errno.EROFS: "the volume is mounted read-only: mount a writable one at the path of the checkpoint",
    errno.EACCES: "the job may not write there: fix the permissions of the folder (fsGroup in the pod's securityContext)",
}


def _reason(err):
    """What a user reads about a save that has failed."""
    cause = _CAUSES.get(getattr(err, "errno", None))
    text = "%s: %s" % (type(err).__name__, err)
    text = text if cause is None else "%s (%s)" % (cause, text)
    return text.encode("utf-8", "replace")[:MAX_REASON].decode("utf-8", "ignore")


# ------------------------------------------------------------------------------------------------------------ the client

class _Client:
    """The state of one process. One lock, held for microseconds, protects it from the job's threads and the socket thread.

    The lock is re-entrant, because a signal handler of the job may call this module while the interrupted code holds it.
    """

    def __init__(self):
        self.pid = os.getpid()
        folder = _folder()
        self.path = os.path.join(folder, "gpushare.sock")
        self.turns = _Turns(os.path.join(folder, "turn.sock"))
        self.interval = _seconds(os.environ.get("GPUSHARE_REPORT_SECONDS"), 0.1)
        self.values = _Values()
        self._gradients = _Gradients()
        self._memory = _Memory()
        self._gate = _Gate()
        self._lock = threading.RLock()
        self._stops = _Stops(self._lock, self._post)
        self.saver = _Saver()
        self.saver.alarm = self._alert
        self._report = _Report()
        self._ended = None          # end of the last step
        self._load = 0.0            # time spent waiting for data since then
        self._request = None
        self._description = None    # what the job trains
        self._undescribed = False   # it was not sent on this connection yet
        self._polled = False        # the job asks for requests itself
        self._asked = 0             # the number of the newest request
        self._answer = None         # what came of it
        self._outbox = collections.deque(maxlen=16)   # acks, and what is said about saves and stops
        self._unhashed = collections.deque(maxlen=16)
        self._hashing = False
        self._thread = None
        self._wake_fds = None
        self._socket = None
        self._parked = False        # the thread sleeps until woken
        self._closing = False

    # called by the job's threads

    def step(self, samples, number, epoch, total, metrics):
        now = _clock()
        if self._thread is None:
            self._start()
        with self._lock:
            seconds, load = None, self._load
            if self._ended is not None:
                seconds = now - self._ended
                load = min(load, seconds)
            count = self._report.add(samples, number, epoch, total, metrics, seconds, load)
            number, total = self._report.number, self._report.total
            self._load = 0.0
            self._ended = now
            stops = self._stops.due(number)
        if self._parked:
            self._wake()
        if stops or self._saves():
            self._between_steps(stops)
        if self.turns.boundary(number, count, number == total, self._urgent):
            self._ended = _clock()
            if self._saves():       # the request came while it waited for its turn
                self._between_steps(False)
        elif seconds is not None and not self.turns.connected():
            self._gate.learn(seconds - load)
            if not self._gate.open():
                self._gate.pause(self._urgent)
                self._ended = _clock()

    def _saves(self):
        """Whether the registered function must be called now, or the job must end."""
        if self.saver.function is None:
            return False
        return self._request is not None or (self.saver.terminated is not None and self._ends())

    def _ends(self):
        """Whether the job ends after its SIGTERM without a request. A rank must not: it would not save after the same step. It may
        once all have saved and wait, as before a move."""
        ranks = _process(os.environ, sys.modules.get("torch.distributed")).get("world_size", 1)
        return ranks == 1 or time.monotonic() - self.saver.terminated > TERM_WAIT or self._saved_all()

    def _urgent(self):
        return self._open_request() is not None or self._saves()

    def _between_steps(self, stops):
        """Wait while the agent stops the job, and save when that is due."""
        self.turns.park()
        try:
            if stops:
                self._stops.wait(lambda: self._save_if_due() or self._polled and self._open_request() is not None)
            else:
                self._save_if_due()
        except BaseException:
            self.turns.unpark()
            raise
        self.resumed(lambda turns, urgent: turns.leave(urgent))
        self._ended = _clock()

    def _save_if_due(self):
        """Save if it is due, and end the job after a SIGTERM."""
        if not self._saves():
            return
        request, ended = self._open_request(), self.saver.terminated
        if request is not None or (ended is not None and self._ends() and not self._saved_all()):
            self._save(request)
        if ended is not None:
            self.saver.join()
            raise SystemExit(128 + signal.SIGTERM)

    def _saved_all(self):
        """Whether the last request came after the last step, and was met: a job that is moved waits there."""
        self.saver.join()
        answer = self._answer
        return self._stops.waiting and answer is not None and answer["type"] == "saved" and answer.get("step") == self._report.number

    def _save(self, request):
        """Call the registered function. The rest is done in the background."""
        self._request = None
        number = self._report.number or 0
        try:
            path, scratch, given = self.saver.write()
        except Exception as err:
            self._reply(request, {"type": "failed", "reason": _reason(err)})
            return
        if path is None:
            self._reply(request, {"type": "failed", "reason": "", "nothing": True})
            return

        def finish():
            try:
                digest = self.saver.complete(path, scratch, number, given)
            except Exception as err:
                self._reply(request, {"type": "failed", "reason": _reason(err)})
            else:
                self._reply(request, {"type": "saved", "path": path, "sha256": digest, "step": number})
        self.saver.finish(finish)

    def save_now(self):
        """Save, and return the path."""
        if self.saver.function is None:
            raise CheckpointError("save() needs the function that saves: call on_save() before")
        if self._thread is None:
            self._start()
        request, self._request = self._open_request(), None
        number = self._report.number or 0
        path, scratch, given = self.saver.write()
        if path is not None:
            digest = self.saver.complete(path, scratch, number, given)
            self._reply(request, {"type": "saved", "path": path, "sha256": digest, "step": number})
        return path

    def _reply(self, request, message):
        """Send what came of a save, and keep it for an agent that asks again after a restart."""
        if message["type"] == "failed":
            if message["reason"]:
                _log.warning("the checkpoint was not saved, the one before stays: %s", message["reason"])
            if request is None:
                return
        with self._lock:
            if request is not None and request.number:
                message["request"] = request.number
                self._answer = message
            elif message["type"] == "failed":
                return              # an agent of the previous release waits for its deadline
            self._post(message)

    def resumed(self, resume):
        """Resume after a time without the GPU. The wait for the turn is no part of the step."""
        waited = resume(self.turns, self._urgent)
        if waited:
            with self._lock:
                if self._ended is not None:
                    self._ended += waited

    def loaded(self, began, ended):
        with self._lock:
            if self._ended is None:
                self._ended = began
            self._load += ended - began

    def gradients(self, model, samples):
        given = samples is not None
        samples = _integer(samples if given else self.values.in_use.get("batch_size"))
        if samples is None or not samples:
            return
        if not given and self._gradients.due():   # to ask for the ranks takes longer than to count a step
            samples *= _world_size()
        compared = self._gradients.add(model, samples)
        if compared is None:
            return
        with self._lock:
            self._report.compare(1, *compared)

    def value(self, key, default, declared=None):
        if self._thread is None:
            self._start()
        with self._lock:
            value = self.values.fetch(key, default, declared)
            self._post(self.values.ack())
        return value

    def describe(self, batch_size, flops, params):
        if self._thread is None:
            self._start()
        batch_size, flops, params = _integer(batch_size), _finite(flops), _finite(params)
        message = {"type": "describe"}
        if batch_size is not None and 1 <= batch_size <= MAX_BATCH:
            message["batch_size"] = batch_size
        message.update((key, value) for key, value in (("flops", flops), ("params", params))
                       if value is not None and 0 < value <= MAX_MODEL)
        with self._lock:
            self._description, self._undescribed = message, True
            if self._parked:
                self._wake()

    def save_request(self):
        """The open request, for a job that saves without a registered function."""
        self._polled = True
        return None if self.saver.function is not None else self._open_request()

    def _open_request(self):
        request = self._request
        if request is not None and request.deadline < time.monotonic():
            request = self._request = None
        return request

    def saved(self, path, number, given=None):
        if self._thread is None:
            self._start()
        number = _integer(number)
        with self._lock:
            request, self._request = self._request, None
            self._unhashed.append((path, number if number is not None else self._report.number or 0, request, given))
            if self._hashing:
                return
            self._hashing = True
        try:
            threading.Thread(target=self._hash, name="gpushare-sha256", daemon=True).start()
        except RuntimeError:
            self._hashing = False

    def close(self):
        """Leave the GPU to other jobs, complete a checkpoint, and send what is pending, for at most FLUSH_SECONDS."""
        self.turns.close()
        self.saver.join()
        if self._thread:
            self._closing = True
            self._wake()
            self._thread.join(FLUSH_SECONDS)

    def abandon(self):
        """In a forked child: close the inherited descriptors of the parent's connections."""
        self.turns.abandon()
        self._stops.abandon()
        self.saver.abandon()
        for fd in self._wake_fds or ():
            _quietly(os.close, fd)
        if self._socket is not None:
            _quietly(self._socket.close)

    def _start(self):
        with self._lock:
            if self._thread is not None:
                return
            self._thread = False    # if this fails, there is no second attempt
            if not hasattr(socket, "AF_UNIX") or not hasattr(select, "poll"):
                return
            try:
                self._wake_fds = os.pipe()
                for fd in self._wake_fds:
                    os.set_blocking(fd, False)
                thread = threading.Thread(target=self._run, name="gpushare", daemon=True)
                thread.start()
                self._thread = thread
            except (OSError, RuntimeError) as err:
                _log.warning("no reports from this job: %s", err)

    def _wake(self):
        self._parked = False
        _quietly(os.write, self._wake_fds[1], b"!")

    def _post(self, message):
        if message is not None:
            self._outbox.append(message)
            if self._parked:
                self._wake()

    def _hash(self):
        while True:
            with self._lock:
                if not self._unhashed:
                    self._hashing = False
                    if self._closing:
                        self._wake()
                    return
                path, number, request, given = self._unhashed.popleft()
            try:
                digest = _given(path, given) if _is_url(path) else _sha256(path)
            except (OSError, CheckpointError) as err:
                self._reply(request, {"type": "failed", "reason": _reason(err)})
                continue
            self._reply(request, {"type": "saved", "path": path, "sha256": digest, "step": number})

    # called by the socket thread only

    def _run(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())   # signals are for the job; also SIGPIPE
        wait, jitter = RETRY_FIRST, random.Random()   # a separate generator: the seed of the job's is kept
        while True:
            began = time.monotonic()
            self._connection()
            if self._closing:
                return
            wait = RETRY_FIRST if time.monotonic() - began > RETRY_CAP else min(2 * wait, RETRY_CAP)
            self._sleep(wait * jitter.uniform(0.5, 1.0))

    def _connection(self):
        """One connection, from connect to close. Afterwards everything that was not delivered is pending again."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
                self._socket = sock         # before the connect: a child that is forked from here on closes it
                sock.setblocking(False)
                sock.connect(self.path)     # does not block: a full backlog is an error
                with self._lock:
                    self.values.new_connection()
                    self._undescribed = self._description is not None
                    self._gate.sequence = None
                    for stale in [m for m in self._outbox if m["type"] in ("ack", "stopped")]:
                        self._outbox.remove(stale)
                    self._stops.new_connection()
                self._gate.lost = None
                self._converse(sock)
        except OSError:
            pass                            # no agent, a lost connection or a full backlog
        finally:
            self._socket = None
            self._parked = False
            if self._gate.lost is None:
                self._gate.lost = time.monotonic()

    def _converse(self, sock):
        lines, poller = _Lines(), select.poll()
        poller.register(self._wake_fds[0], select.POLLIN)
        poller.register(sock, 0)
        due = readable = 0.0
        out, undo = b"", None
        try:
            while True:
                now = time.monotonic()
                if not out:
                    out, undo, reported = self._next(now >= due or self._closing)
                    if reported:
                        due = now + self.interval
                if self._closing and not out and not self._hashing:
                    return
                if now >= readable and lines.waiting():
                    self._receive(lines)    # lines that are left from a flood
                    readable = now + READ_PAUSE
                wait = self._park(due - now, bool(out))
                interest = select.POLLOUT if out else 0
                if now >= readable:
                    interest |= select.POLLIN
                else:
                    wait = readable - now if wait is None else min(wait, readable - now)
                poller.modify(sock, interest)
                events = dict(poller.poll(None if wait is None else max(1, math.ceil(wait * 1000))))
                self._parked = False
                self._drain()
                event = events.get(sock.fileno(), 0)
                if event & ~(select.POLLIN | select.POLLOUT) and not event & select.POLLIN:
                    return                  # closed by the agent
                if event & select.POLLOUT:
                    out = out[sock.send(out):]
                if event & select.POLLIN:
                    data = sock.recv(READ_CHUNK)
                    if not data:
                        return
                    lines.feed(data)
                    self._receive(lines)
                    readable = time.monotonic() + READ_PAUSE
        finally:
            if out and undo:
                undo()

    def _next(self, may_report):
        """The next line to send, a function that puts it back, and whether it is a report."""
        with self._lock:
            if self._undescribed:
                self._undescribed = False
                return _line(self._description), None, False
            if self._outbox:
                message = self._outbox.popleft()
                kept = message["type"] in ("saved", "failed")
                undo = (lambda: self._outbox.appendleft(message)) if kept else None
                return _line(message), undo, False
            if not (may_report and self._report.dirty):
                return b"", None, False
            report, self._report = self._report, _Report(self._report)
            in_use, declared = dict(self.values.in_use), self.values.declared

        def undo():
            with self._lock:
                self._report.absorb(report)
        return _line(report.message(in_use, declared, self._memory.read())), undo, True

    def _park(self, until_due, writing):
        """The time to sleep (None: until woken). While parked, the next step() must wake the thread.

        It does not park between two reports, so that the steps of a fast job never have to.
        """
        with self._lock:
            if writing:
                return None
            if self._outbox or self._undescribed:
                return 0.0
            if self._report.dirty or until_due > 0:
                return max(0.0, until_due)
            self._parked = not self._closing
            return None

    def _sleep(self, seconds):
        poller = select.poll()
        poller.register(self._wake_fds[0], select.POLLIN)
        poller.poll(math.ceil(seconds * 1000))
        self._drain()

    def _drain(self):
        _quietly(os.read, self._wake_fds[0], 4096)

    def _receive(self, lines):
        """Handle a bounded number of lines."""
        for _ in range(READ_LINES):
            line = lines.next()
            if line is None:
                return
            message = _parse(line)
            if message is not None:
                self._handle(message)

    def _handle(self, message):
        if message["type"] == "config":
            config = _config(message)
            if config is None:
                return
            generation, values, duty = config
            with self._lock:
                if not self.values.offer(generation, values):
                    return
                self._gate.configure(duty)
                self._post(self.values.ack())
        elif message["type"] == "duty":
            duty = _duty(message)
            if duty is not None:
                self._gate.offer(*duty)
        elif message["type"] == "save":
            request = _save_request(message)
            if request is not None:
                self._ask_to_save(request)
        elif message["type"] == "stop":
            stop = _stop(message)
            if stop is not None:
                self._stops.order(*stop)

    def _ask_to_save(self, request):
        with self._lock:
            number = request.number
            if number and number == self._asked:      # sent again
                if self._answer is not None and self._answer["request"] == number:
                    self._post(self._answer)
                return
            if number and self.saver.function is None and not self._polled:
                rank = _own_rank()
                self._post({"type": "failed", "request": number, "reason": "" if rank else
                            "it has no save function: register one with gpushare.on_save()", "nothing": rank > 0})
                return
            self._request, self._asked = request, number
        self._alert()

    def _alert(self):
        """Let the job's threads that wait look for something urgent."""
        self.turns.nudge()
        self._stops.ring()


# ---------------------------------------------------------------------------------------------------------- the protocol

class _Lines:
    """Splits a stream into lines. A line that is too long is dropped, up to its end."""

    def __init__(self):
        self._buffer = bytearray()
        self._skipping = False

    def feed(self, data):
        self._buffer += data

    def waiting(self):
        return b"\n" in self._buffer

    def next(self):
        while True:
            end = self._buffer.find(b"\n")
            if end < 0:
                if len(self._buffer) > LINE_LIMIT:
                    self._buffer.clear()
                    self._skipping = True
                return None
            line = bytes(self._buffer[:end])
            del self._buffer[:end + 1]
            if not self._skipping and len(line) <= LINE_LIMIT:
                return line
            self._skipping = False


def _line(message, process=None):
    message = dict({"v": PROTOCOL}, **message)
    message.update(_process(os.environ, sys.modules.get("torch.distributed")) if process is None else process)
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _parse(line):
    """The message on a line, or None if it is invalid or of another version."""
    line = line.strip()
    if not line.startswith(b"{") or _long_number.search(line):   # int() of a long number takes quadratic time
        return None
    try:
        message = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if type(message.get("v")) is not int or message["v"] != PROTOCOL or not isinstance(message.get("type"), str):
        return None
    return message


def _config(message):
    """(generation, values, duty or None) of a config message, or None if any of them is out of range."""
    generation, duty = message.get("generation"), message.get("duty")
    if not _within(generation, 0, MAX_COUNT):
        return None
    values = {}
    for key, (low, high) in _RANGES.items():
        value = message.get(key)
        if value is None:
            continue
        if not _within(value, low, high):
            return None
        values[key] = value
    if duty is not None:
        duty = _share(duty)
        if duty is None:
            return None
    return generation, values, duty


def _duty(message):
    """(sequence, duty) of a duty message, or None if one of them is out of range."""
    sequence, duty = message.get("sequence"), _share(message.get("duty"))
    if duty is None or not _within(sequence, 0, MAX_COUNT):
        return None
    return sequence, duty


def _turn(message):
    """(sequence, hold, after_step or 0) of a turn message, or None for another message or invalid values."""
    if message is None or message["type"] != "turn":
        return None
    sequence, hold, after = message.get("sequence"), message.get("hold"), message.get("after_step", 0)
    if not _within(sequence, 0, MAX_COUNT) or type(hold) is not bool or not _within(after, 0, MAX_COUNT) or (hold and after):
        return None
    return sequence, hold, after


def _save_request(message):
    """The SaveRequest of a save message, or None if a value is out of range."""
    reason, seconds, number = message.get("reason"), message.get("deadline_seconds"), message.get("request", 0)
    if not isinstance(reason, str) or type(seconds) not in (int, float) or not 0 < seconds < math.inf or \
            not _within(number, 0, MAX_COUNT):
        return None
    return SaveRequest(reason, time.monotonic() + seconds, number)


def _stop(message):
    """(sequence, stop, after_step or 0) of a stop message, or None if a value is out of range."""
    sequence, stop, after = message.get("sequence"), message.get("stop"), message.get("after_step", 0)
    if not _within(sequence, 0, MAX_COUNT) or type(stop) is not bool or not _within(after, 0, MAX_COUNT) or (after and not stop):
        return None
    return sequence, stop, after


def _gate_message(state, sequence, step, steps, held):
    return {"type": "gate", "state": state, "sequence": sequence or 0, "step": step, "steps": min(steps, MAX_COUNT),
            "held_seconds": round(min(held, MAX_SECONDS), 9)}


def _share(duty):
    """A duty of at least MIN_DUTY, or None if it is out of range."""
    if type(duty) not in (int, float) or not 0 < duty <= 1:
        return None
    return max(float(duty), MIN_DUTY)


def _finite(value):
    """value as a float within the protocol's range, or None."""
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):   # RuntimeError: a tensor of several elements
        return None
    return value if abs(value) <= MAX_MAGNITUDE else None   # false for NaN, too


def _metric(value):
    """value as a float that is finite and within the protocol's range, or not finite; else None."""
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    return value if abs(value) <= MAX_MAGNITUDE or not math.isfinite(value) else None


def _integer(value):
    """value as an integer within the protocol's range, or None."""
    if type(value) is not int:
        try:
            value = operator.index(value)
        except (TypeError, ValueError, RuntimeError):
            return None
    return value if 0 <= value <= MAX_COUNT else None


def _within(value, low, high):
    return type(value) is int and low <= value <= high


def _short(name):
    return 0 < len(name) <= (MAX_NAME if name.isascii() else MAX_NAME // 4)


def _seconds(text, default):
    seconds = _finite(text)
    return default if seconds is None else max(seconds, 0.01)


def _read(fd):
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""


def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _quietly(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass


# ---------------------------------------------------------------------------------------------------------- the ranks

# The variables for rank, local rank and world size, by launcher. A launcher inside another one has set the earlier ones.
_LAUNCHERS = (
    ("HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE"),                                 # horovodrun with Gloo
    ("RANK", "LOCAL_RANK", "WORLD_SIZE"),                                                   # torchrun, PyTorchJob
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),         # Open MPI
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),                                            # MPICH, Intel MPI
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),                                      # Slurm
    ("JOB_COMPLETION_INDEX", None, None),                                                   # Indexed Job, JobSet
)


def _world_size():
    return _process(os.environ, sys.modules.get("torch.distributed")).get("world_size", 1)


def _own_rank():
    return _process(os.environ, sys.modules.get("torch.distributed")).get("rank", 0)


def _process(environ, distributed):
    """rank, local_rank and world_size of this process, as far as they are known."""
    rank = local = size = None
    for names in _LAUNCHERS:
        rank, local, size = (_rank(environ.get(name) if name else None) for name in names)
        if rank is not None:
            break
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            rank, size = _rank(distributed.get_rank()), _rank(distributed.get_world_size())
    except Exception:   # another version of torch: the environment counts
        pass
    if not size or (rank is not None and rank >= size):
        size = None
    if local is not None and size is not None and local >= size:
        local = None
    known = {"rank": rank, "local_rank": local, "world_size": size}
    return {} if rank is None else {key: value for key, value in known.items() if value is not None}


def _rank(value):
    """value as a rank or a number of ranks, or None."""
    if type(value) is str:
        text = value.strip()
        value = int(text) if len(text) <= 7 and text.isascii() and text.isdigit() else None
    return value if _within(value, 0, MAX_RANKS - 1) else None


# ------------------------------------------------------------------------------------------------ memory of the GPUs

class _Cap:
    """Limits PyTorch to the job's share of each GPU. An allocation beyond it fails as if the GPU were full."""

    def __init__(self, environ):
        self.fractions = _fractions(environ.get("GPUSHARE_GPU_MEM_FRACTION", ""))
        self.uuids = environ.get("GPUSHARE_GPU_UUIDS", "").split(",")
        self.waits = bool(self.fractions) and environ.get("GPUSHARE_CAP", "1") != "0"

    def apply(self):
        """Set the caps when CUDA is initialised, or now if it already is. Does nothing before torch is imported."""
        if not self.waits:
            return
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        later = getattr(cuda, "_lazy_call", None)   # as torch.cuda.manual_seed: it does not initialise CUDA
        if later is None:
            return   # torch is not imported, or its import is in progress
        self.waits = False
        try:
            later(lambda: self.set(cuda))
        except Exception as err:   # another version of torch: training continues without a cap
            _log.warning("PyTorch could not be held to its share of GPU memory: %s", err)

    def set(self, cuda):
        """Set the cap of each visible GPU. The order of CUDA may differ from the order of the shares."""
        try:
            for device in range(cuda.device_count()):
                uuid = str(getattr(cuda.get_device_properties(device), "uuid", ""))
                known = [f for f, name in zip(self.fractions, self.uuids) if uuid and name.endswith(uuid)]
                cuda.set_per_process_memory_fraction(known[0] if known else min(self.fractions), device)
        except Exception as err:
            _log.warning("PyTorch could not be held to its share of GPU memory: %s", err)


def _fractions(text):
    """The numbers of a list, or an empty list if one of them is not a fraction of a GPU."""
    numbers = [_finite(part) for part in text.split(",")]
    return numbers if all(n is not None and 0 < n <= 1 for n in numbers) else []


# --------------------------------------------------------------------------------------------------- one per process

_cap = _Cap(os.environ)

_current = _Client()


def _client():
    if _current.pid != os.getpid():   # forked by C code, without Python's hooks
        _renew()
    return _current


def _renew():
    global _current
    parents, _current = _current, _Client()
    parents.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _current.saver.fork(), after_in_parent=lambda: _current.saver.forked(), after_in_child=_renew)
atexit.register(lambda: _client().close())
