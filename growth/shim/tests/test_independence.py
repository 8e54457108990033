"""No call of the job waits for the shim's thread, wherever that waits for the agent, for the system or for a CPU.

The thread is stopped at each kind of call that it makes to the system. A call of the job that needs anything that the thread
then has, such as a lock, would never return.
"""
import select
import socket
import threading

from test_gpushare import PATIENCE, ShimTest, eventually, fresh_module


class Stopping:
    """Stands in for a module that the shim uses: the shim's thread stops where it calls a function or method of a name."""

    def __init__(self, module, name):
        self._module, self._name = module, name
        self.stopped, self.go_on = threading.Event(), threading.Event()

    def __getattr__(self, name):
        return self.wrap(getattr(self._module, name), name)

    def wrap(self, value, name):
        if not callable(value) or isinstance(value, type) and issubclass(value, BaseException):
            return value

        def call(*arguments, **named):
            if name == self._name and threading.current_thread().name == "gpushare":
                self.stopped.set()
                self.go_on.wait()
            made = value(*arguments, **named)
            return _Object(self, made) if isinstance(made, (socket.socket, type(select.poll()))) else made
        return call


class _Object:
    """A socket or a poll object of a Stopping module."""

    def __init__(self, module, value):
        self._module, self._value = module, value

    def __getattr__(self, name):
        return self._module.wrap(getattr(self._value, name), name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._value.close()


class Independence(ShimTest):
    def stop(self, module, name):
        """Stop the thread of the job at module.name, from its first step on."""
        stopping = Stopping(getattr(self.job, module), name)
        self.addCleanup(stopping.go_on.set)   # before the job's end waits for the thread
        setattr(self.job, module, stopping)
        return stopping

    def calls(self):
        """Every call of the API, often enough to fill every buffer."""
        for _ in range(200):
            for _ in self.job.timed([1, 2]):
                self.job.step(loss=0.5, samples=32)
            with self.job.idle():
                self.job.changed(), self.job.loaders(2), self.job.batch_size(64)
            self.job.save_requested()
            self.job.saved(__file__)

    def returns(self, calls, patience=PATIENCE):
        thread = threading.Thread(target=calls, daemon=True)
        thread.start()
        thread.join(patience)
        return not thread.is_alive()

    def check(self, module, name, speak=lambda: None):
        stopping = self.stop(module, name)
        self.job.step()
        speak()
        eventually(stopping.stopped.is_set, "the thread stops at %s.%s" % (module, name))
        self.assertTrue(self.returns(self.calls), "a call waits for the thread")

    def test_calls_return_without_an_agent(self):
        for module, name in ("socket", "socket"), ("socket", "connect"), ("select", "poll"), ("os", "read"):
            with self.subTest(stopped_at=name):
                self.job = fresh_module()
                self.check(module, name)

    def test_calls_return_with_an_agent(self):
        for module, name in (("socket", "connect"), ("select", "modify"), ("select", "poll"), ("os", "read"),
                             ("json", "dumps"), ("socket", "send"), ("socket", "recv"), ("json", "loads")):
            with self.subTest(stopped_at=name):
                self.job, agent = fresh_module(), self.agent()
                config = {"type": "config", "generation": 1, "loaders": 3}
                self.check(module, name, lambda: name in ("recv", "loads") and agent.peer().send(config))
                agent.close()

    def test_detects_a_lock_that_is_held_too_long(self):
        client = self.job._client()
        following = client._next

        def locked(may_report):
            with client._lock:
                return following(may_report)
        client._next = locked
        self.agent()
        stopping = self.stop("json", "dumps")
        self.job.step()
        eventually(stopping.stopped.is_set, "the thread stops")
        self.assertFalse(self.returns(self.calls, patience=0.5))
