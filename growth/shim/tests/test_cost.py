"""The cost of a call to the job: it is small, and no agent can make a call wait."""
import ctypes
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time

from test_gpushare import PATIENCE, ShimTest, eventually, fresh_module

# An agent in a separate process, like a real one: a thread of the job's process would compete for the interpreter lock.
# It writes one byte to a file for each connection.
AGENT = """
import socket, sys
path, manner = sys.argv[1:]
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
kept = []
while True:
    peer, _ = server.accept()
    with open(path + ".connections", "a") as connections:
        connections.write(".")
    while manner == "reads" and peer.recv(65536):
        pass
    if manner == "gives the turn":
        peer.sendall(b'{"v":1,"type":"turn","sequence":1,"hold":true}\\n')
    if manner == "vanishes":
        peer.recv(1)
        peer.close()
    kept.append(peer)
"""


class Waiting:
    """The time that threads of this process have waited for a CPU, in seconds (proc(5), schedstat)."""

    def __init__(self, *threads):
        self.files = [os.open("/proc/self/task/%d/schedstat" % thread, os.O_RDONLY) for thread in threads]
        self.text = ctypes.create_string_buffer(64)
        # PyDLL holds the interpreter lock. If it were released between two calls, they would appear cheaper.
        self.pread = ctypes.PyDLL(None).pread
        self.pread.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)

    def __call__(self):
        waited = 0
        for file in self.files:
            self.pread(file, self.text, len(self.text), 0)
            waited += int(self.text.value.split()[1])
        return waited * 1e-9

    def close(self):
        for file in self.files:
            os.close(file)


class Cost(ShimTest):
    """A call costs under 50 us on average and never blocks over 1 ms.

    A call over 1 ms has blocked if its thread gave up its CPU voluntarily, and if more than 1 ms remains without the time
    that its thread, or the shim's thread for which it may have waited, was in a run queue. Otherwise the machine was busy;
    such calls are counted separately.

    Time that a hypervisor takes from the CPU while the shim's thread holds the interpreter lock appears in no counter of
    the machine, and looks like a call that blocked. This is rare. A shim that blocks would do so at each report or each
    attempt to connect, at least ten times in these calls. So one in 50,000 is accepted, and printed.
    """
    CALLS = 200000
    MEAN, BLOCK = 50e-6, 1e-3

    def setUp(self):
        super().setUp()
        del os.environ["GPUSHARE_REPORT_SECONDS"]   # the default, as in jobs
        self.job = fresh_module()

    def agent_that(self, manner, name="gpushare.sock"):
        path = os.path.join(self.folder, name)
        agent = subprocess.Popen([sys.executable, "-c", AGENT, path, manner])
        self.addCleanup(agent.wait, PATIENCE)
        self.addCleanup(agent.kill)
        eventually(lambda: os.path.exists(path), "the agent is up")
        connections = pathlib.Path(path + ".connections")
        eventually(lambda: self.job.step() or connections.exists(), "the job is connected")
        return connections

    def measure(self, step, calls):
        """The times of the calls that the machine did not delay, the number that it did, and the times of those that blocked."""
        self.job.step()
        waiting = Waiting(threading.get_native_id(), self.job._client()._thread.native_id)
        self.addCleanup(waiting.close)
        clock, usage, thread = time.perf_counter, resource.getrusage, resource.RUSAGE_THREAD
        took, held_up, blocked = [], 0, []
        for _ in range(calls):
            waited, switches = waiting(), usage(thread).ru_nvcsw
            began = clock()
            step(loss=0.5, samples=32)
            seconds = clock() - began
            if seconds > self.BLOCK:
                if usage(thread).ru_nvcsw == switches or seconds - (waiting() - waited) <= self.BLOCK:
                    held_up += 1
                    continue
                blocked.append(seconds)
            took.append(seconds)
        return sorted(took), held_up, blocked

    def check(self, condition):
        took, held_up, blocked = self.measure(self.job.step, self.CALLS)
        mean = sum(took) / len(took)
        print("\nstep(), %s: mean %.1f us, median %.1f us, 99.9%% %.1f us, worst %.2f ms, %d of %d calls over 1 ms; besides %d held up by the machine" % (
            condition, mean * 1e6, took[len(took) // 2] * 1e6, took[int(len(took) * 0.999)] * 1e6, took[-1] * 1e3, len(blocked),
            len(took), held_up),
            file=sys.stderr)
        self.assertLess(mean, self.MEAN)
        self.assertLessEqual(len(blocked), self.CALLS // 50000, "calls that blocked for over %.0f ms" % (self.BLOCK * 1e3))

    def test_cost_without_an_agent(self):
        self.check("without an agent")

    def test_cost_with_an_agent(self):
        self.agent_that("reads")
        self.check("with an agent")
        self.assertIsNotNone(self.job._client()._socket)

    def test_cost_with_an_agent_that_never_reads(self):
        self.agent_that("stares")
        self.job._client().interval = 0.0
        self.check("with an agent that never reads")
        self.assertGreater(self.job._client()._report.steps, 1000, "the agent's buffer is not full")

    def test_cost_with_an_agent_that_keeps_disconnecting(self):
        connections = self.agent_that("vanishes")
        self.check("with an agent that vanishes")
        self.assertGreater(connections.stat().st_size, 3)

    def test_cost_with_the_turn(self):
        self.agent_that("reads")
        self.agent_that("gives the turn", "turn.sock")
        turns = self.job._client().turns
        eventually(lambda: self.job.step() or turns._sequence == 1, "the turn has come")
        self.check("with the turn")
        self.assertTrue(turns.connected())

    def test_cost_detects_a_call_that_blocks(self):
        def step(**reported):
            self.job.step(**reported)
            if self.job._client()._report.number in (50, 60):
                time.sleep(0.1)  # longer than threads wait for a CPU on a busy machine: that time is subtracted
        self.assertEqual(len(self.measure(step, 100)[2]), 2)
