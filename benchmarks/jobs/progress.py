"""Receivers of a job's progress: Trellis through the shim, its own log, or none. All have the same methods."""

import contextlib
import os


class Alone:
    """No receiver: the defaults apply, and no change is requested."""

    def step(self, loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
        pass

    def loaders(self, default):
        return default

    def batch_size(self, default, minimum=None, maximum=None, learning_rate=None):
        return default

    def learning_rate_scale(self):
        return 1.0

    def gradients(self, model, samples=None):
        pass

    def changed(self):
        return False

    def on_save(self, function, path):
        self._write, self._path = function, path

    def save(self):
        """Save with the function of on_save(), which writes a file."""
        import checkpoint   # torch: slow to import
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        self._write(self._path + ".tmp")
        checkpoint.put(self._path + ".tmp", self._path)
        self.saved(self._path)

    def resume(self):
        """Whether there is a checkpoint. Trellis verifies it."""
        return os.path.exists(self._path)

    def save_requested(self):
        return None

    def saved(self, path, step=None):
        pass

    def timed(self, iterable):
        return iterable

    def idle(self):
        return contextlib.nullcontext()


class Log(Alone):
    """Progress as lines on stdout, which Trellis reads with `gpushare/progress: log:loss=([0-9.eE+-]+)`, without the shim."""

    def step(self, loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
        if loss is not None:
            more = "".join(" %s=%.4f" % item for item in metrics.items())
            print("step=%d loss=%.4f%s" % (step, loss, more), flush=True)


class Both:
    """Trellis and the log. Values from the shim are passed through."""

    def __init__(self, shim):
        self._shim, self._log = shim, Log()

    def __getattr__(self, name):
        return getattr(self._shim, name)

    def step(self, *values, **more):
        self._shim.step(*values, **more)
        self._log.step(*values, **more)

    def resume(self):
        from checkpoint import CheckpointError
        try:
            return self._shim.resume() is not None
        except self._shim.CheckpointError as err:
            raise CheckpointError(str(err)) from err


class Earlier(Both):
    """A shim of an earlier release, until the node has the new one: what it lacks is as without Trellis."""

    on_save, save, resume = Alone.on_save, Alone.save, Alone.resume

    def __getattr__(self, name):
        return getattr(self._shim, name, None) or getattr(self._log, name)

    def batch_size(self, default, **limits):
        return default if limits else self._shim.batch_size(default)   # it cannot keep limits


def listener(kind):
    """The receiver that --progress names. Without the shim's module, `shim` is the log only."""
    if kind == "log":
        return Log()
    try:
        import gpushare
    except ImportError:
        return Log()
    return Both(gpushare) if hasattr(gpushare, "on_save") else Earlier(gpushare)
