"""The next batch, ready when the step before it ends."""
import queue
import threading


class Ahead:
    """The batches of a loader, each taken from it by a thread while the one before it is in use.

    On a card, PyTorch does this when it pins memory: what the main thread would do with a batch, such as receiving it from a
    worker, overlaps with the step on the card. Without it, a GPU would be idle for a fifth of a short step.
    """

    def __init__(self, loader, elsewhere):
        """elsewhere is called by the thread, to leave the GPU's core."""
        self.batches, self.elsewhere = iter(loader), elsewhere
        self.ready, self.ended = queue.Queue(1), threading.Event()

    def __iter__(self):
        thread = threading.Thread(target=self._fetch, daemon=True)
        thread.start()
        try:
            while True:
                batch, err = self.ready.get()
                if err is not None:
                    raise err
                if batch is None:
                    return
                yield batch
        finally:
            self.ended.set()
            thread.join()

    def _fetch(self):
        self.elsewhere()
        try:
            for batch in self.batches:
                if not self._put(batch, None):
                    return
            self._put(None, None)
        except BaseException as err:   # the main thread raises it
            self._put(None, err)

    def _put(self, batch, err):
        while not self.ended.is_set():
            try:
                self.ready.put((batch, err), timeout=0.1)
                return True
            except queue.Full:
                pass
        return False
