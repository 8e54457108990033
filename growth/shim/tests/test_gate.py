"""The duty gate in virtual time. Each of these faults was introduced by hand and is detected here: no clipping or smoothing of
slow steps, sleep assumed instead of measured, unbounded credit, a debt that remains after the gate has opened, one long sleep
instead of slices, no grace period or an endless one, loading counted as computing, sleep counted as part of a step."""
import types
import unittest
from unittest import mock

from test_gpushare import fresh_module


class Clock:
    """A fake clock that advances only by sleeps, each slightly longer than requested."""

    def __init__(self, late=0.0003):
        self.now, self.late, self.slept, self.sleeps, self.then = 1000.0, late, 0.0, [], lambda: None

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds + self.late
        self.slept += seconds + self.late
        self.sleeps.append(seconds)
        self.then()


class GateTest(unittest.TestCase):
    def setUp(self):
        self.job, self.clock = fresh_module(), Clock()
        patch = mock.patch.multiple(self.job, _clock=self.clock, time=types.SimpleNamespace(sleep=self.clock.sleep, monotonic=self.clock))
        patch.start()
        self.addCleanup(patch.stop)
        self.gate = self.job._Gate()

    def steps(self, count, seconds, urgent=lambda: False):
        """Take steps through the gate, and return the sleep of the last one."""
        for _ in range(count):
            self.clock.now += seconds
            before = self.clock.slept
            self.gate.learn(seconds)
            if not self.gate.open():
                self.gate.pause(urgent)
        return self.clock.slept - before

    def test_gate_keeps_the_duty(self):
        for duty in (0.9, 0.5, 0.25, 0.01):
            self.gate.duty = duty
            began, slept = self.clock.now, self.clock.slept
            self.steps(500, 0.004)
            took = self.clock.now - began
            self.assertAlmostEqual(1 - (self.clock.slept - slept) / took, duty, delta=0.01 * duty + 0.002)

    def test_gate_does_not_sleep_while_open(self):
        self.steps(100, 0.004)
        self.assertEqual(self.clock.sleeps, [])

    def test_gate_accumulates_short_sleeps(self):
        self.gate.duty = 0.5
        self.steps(100, 0.0001)
        self.assertGreaterEqual(min(self.clock.sleeps), 0.001)

    def test_gate_clips_one_slow_step(self):
        self.gate.duty = 0.5
        self.steps(10, 0.004)
        self.assertLess(self.steps(1, 0.4), 0.02)

    def test_gate_follows_slower_steps(self):
        self.gate.duty = 0.5
        self.steps(10, 0.004)
        self.assertGreater(self.steps(12, 0.03), 0.02)

    def test_gate_recovers_from_a_first_step_of_no_time(self):
        self.gate.duty = 0.5
        self.gate.learn(0.0)
        self.assertGreater(self.steps(60, 0.03), 0.02)

    def test_gate_sleeps_in_slices(self):
        self.gate.duty = 0.01
        self.steps(2, 0.1)
        self.assertLessEqual(max(self.clock.sleeps), 0.05)

    def test_gate_bounds_the_credit_of_a_long_sleep(self):
        self.gate.duty, self.clock.late = 0.5, 60.0
        self.steps(1, 0.01)
        self.clock.late = 0.0
        slept = self.clock.slept
        self.steps(30, 0.01)
        self.assertGreater(self.clock.slept - slept, 0.2)

    def test_gate_stops_sleeping_when_it_opens_or_a_save_is_requested(self):
        def open_it():
            self.gate.duty = 1.0
        for how, urgent in ((open_it, lambda: False), (lambda: None, lambda: len(self.clock.sleeps) > 2)):
            self.gate, self.clock.sleeps = self.job._Gate(), []
            self.gate.duty, self.clock.then = 0.01, lambda: len(self.clock.sleeps) > 2 and how()
            self.steps(1, 0.1, urgent)
            self.assertEqual(len(self.clock.sleeps), 3)
            self.gate.duty, self.clock.then = 0.5, lambda: None
            self.assertLess(self.steps(1, 0.1), 0.2)

    def test_gate_opens_after_the_agent_is_lost(self):
        self.gate.duty, self.gate.lost = 0.5, self.clock.now
        self.clock.now += 29
        self.assertFalse(self.gate.open())
        self.clock.now += 2
        self.assertTrue(self.gate.open())

    def test_gate_counts_neither_loading_nor_sleep_as_computing(self):
        client = self.job._client()
        client._thread, client._gate.duty = False, 0.5   # no agent, only the time of step()
        for _ in range(100):
            began = self.clock.now
            self.clock.now += 0.03
            client.loaded(began, self.clock.now)
            self.clock.now += 0.01
            self.job.step()
        self.assertAlmostEqual(self.clock.slept, 1.0, delta=0.02)
        self.assertAlmostEqual(client._report.seconds, 4.0, delta=0.001)
        self.assertAlmostEqual(client._report.load, 3.0, delta=0.001)

    def test_gate_treats_a_save_request_as_urgent(self):
        client = self.job._client()
        client._thread, client._gate.duty = False, 0.01
        self.job.step()
        self.clock.now += 0.1
        self.clock.then = lambda: client._handle({"type": "save", "reason": "now", "deadline_seconds": 60})
        self.job.step()
        self.assertEqual(len(self.clock.sleeps), 1)
