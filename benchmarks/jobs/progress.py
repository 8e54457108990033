"""Whom a job tells how it is getting on: Trellis through the shim, its own log, or nobody. All answer to the same calls."""


class Alone:
    """Nobody listens: the defaults hold, no wish ever comes."""

    def step(self, loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
        pass

    def loaders(self, default):
        return default

    def batch_size(self, default):
        return default

    def changed(self):
        return False

    def save_requested(self):
        return None

    def saved(self, path, step=None):
        pass

    def timed(self, iterable):
        return iterable


class Log(Alone):
    """Progress as lines on stdout, which Trellis reads with `gpushare/progress: log:loss=([0-9.eE+-]+)`; no shim at all."""

    def step(self, loss=None, samples=None, *, step=None, epoch=None, total_steps=None, **metrics):
        if loss is not None:
            more = "".join(" %s=%.4f" % item for item in metrics.items())
            print("step=%d loss=%.4f%s" % (step, loss, more), flush=True)


class Both:
    """Trellis, and the log for people: what the shim gives goes through as it is."""

    def __init__(self, shim):
        self._shim, self._log = shim, Log()

    def __getattr__(self, name):
        return getattr(self._shim, name)

    def step(self, *told, **more):
        self._shim.step(*told, **more)
        self._log.step(*told, **more)


def listener(kind):
    """The one that --progress names; without the shim's module, `shim` is the log alone."""
    if kind == "log":
        return Log()
    try:
        import gpushare
    except ImportError:
        return Log()
    return Both(gpushare)
