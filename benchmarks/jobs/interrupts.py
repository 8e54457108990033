"""SIGTERM and SIGUSR1 as flags that training checks between two steps. They are installed before the slow imports: a
container's first process has no default action for SIGTERM."""
import signal

EXIT_TERMINATED = 128 + signal.SIGTERM


class Interrupts:
    """terminate: save and exit. save: save and continue."""

    def __init__(self):
        self.terminate = False
        self.save = False

    def install(self):
        signal.signal(signal.SIGTERM, self._terminate)
        signal.signal(signal.SIGUSR1, self._save)
        return self

    def _terminate(self, *_):
        self.terminate = True

    def _save(self, *_):
        self.save = True
