"""A job waits between two steps while its agent stops it."""
import os
import threading
import time
from unittest import mock

from test_gpushare import ShimTest, eventually


class Training:
    """A thread that makes steps of a millisecond."""

    def __init__(self, job):
        self.steps, self.ended = 0, False
        self._job = job
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self.ended:
            self.steps += 1
            self._job.step(step=self.steps)
            time.sleep(0.001)

    def waits(self):
        before = self.steps
        time.sleep(0.1)
        return self.steps == before

    def end(self):
        self.ended = True
        self._thread.join(5)


class Stops(ShimTest):
    def training(self):
        agent = self.agent()
        training = Training(self.job)
        self.addCleanup(training.end)
        return agent, training, agent.peer()

    def stop(self, peer, sequence, **fields):
        peer.send(dict({"type": "stop", "sequence": sequence, "stop": True}, **fields))

    def go_on(self, peer, sequence):
        peer.send({"type": "stop", "sequence": sequence, "stop": False})

    def test_job_waits_until_it_may_continue(self):
        _, training, peer = self.training()
        self.stop(peer, 1)
        answer = peer.expect("stopped", lambda m: m["stopped"])
        self.assertEqual(answer["sequence"], 1)
        eventually(training.waits, "it waits")
        self.assertEqual(training.steps, answer["step"])
        self.go_on(peer, 2)
        self.assertEqual(peer.expect("stopped", lambda m: not m["stopped"])["sequence"], 2)
        eventually(lambda: training.steps > answer["step"], "it continues")

    def test_job_stops_after_the_named_step(self):
        _, training, peer = self.training()
        eventually(lambda: training.steps > 5, "it trains")
        target = training.steps + 200
        self.stop(peer, 1, after_step=target)
        self.assertLess(peer.expect("stopped")["step"], target, "it answers at once")
        self.assertEqual(peer.expect("stopped", lambda m: m["stopped"])["step"], target)
        self.stop(peer, 2, after_step=target + 10)
        self.assertEqual(peer.expect("stopped", lambda m: m["stopped"])["step"], target + 10)
        self.go_on(peer, 3)
        eventually(lambda: training.steps > target + 10, "it continues")

    def test_job_does_not_stop_after_a_step_that_it_has_made(self):
        _, training, peer = self.training()
        eventually(lambda: training.steps > 50, "it trains")
        self.stop(peer, 1, after_step=20)
        answer = peer.expect("stopped")
        self.assertFalse(answer["stopped"])
        self.assertGreater(answer["step"], 20)
        eventually(lambda: training.steps > answer["step"] + 20, "it trains on")

    def test_stop_outlasts_a_restart_of_the_agent(self):
        agent, training, peer = self.training()
        self.stop(peer, 5)
        peer.expect("stopped", lambda m: m["stopped"])
        agent.close()
        self.assertTrue(training.waits())
        again = self.agent().peer()
        answer = again.expect("stopped")
        self.assertEqual((answer["sequence"], answer["stopped"], answer["step"]), (0, True, training.steps))
        self.assertTrue(training.waits())
        self.go_on(again, 1)
        eventually(lambda: not training.waits(), "it continues")

    def test_job_continues_without_a_word_from_the_agent(self):
        self.job.STOP_BOUND = 0.4
        _, training, peer = self.training()
        self.stop(peer, 1)
        peer.expect("stopped", lambda m: m["stopped"])
        self.stop(peer, 1)   # the same order again: the agent is alive
        eventually(lambda: not training.waits(), "it continues")
        peer.expect("stopped", lambda m: not m["stopped"])

    def test_stop_gives_up_the_turn_and_waits_for_it_afterwards(self):
        turns = self.agent(name="turn.sock")
        _, training, peer = self.training()
        gate = turns.peer()
        gate.send({"type": "turn", "sequence": 1, "hold": True})
        gate.expect("gate", lambda m: m["state"] == "open")
        eventually(lambda: self.job._client().turns._sequence == 1, "the turn has arrived")
        self.stop(peer, 1)
        gate.expect("gate", lambda m: m["state"] == "idle")
        peer.expect("stopped", lambda m: m["stopped"])
        self.go_on(peer, 2)
        gate.expect("gate", lambda m: m["state"] == "closed")
        self.assertTrue(training.waits())
        gate.send({"type": "turn", "sequence": 2, "hold": True})
        eventually(lambda: not training.waits(), "it has the turn")

    def test_invalid_stops_are_ignored(self):
        _, training, peer = self.training()
        for fields in ({"sequence": -1, "stop": True}, {"sequence": 1, "stop": 1}, {"sequence": 1}, {"stop": True},
                       {"sequence": 1, "stop": False, "after_step": 7}, {"sequence": 1, "stop": True, "after_step": "7"}):
            peer.send(dict({"type": "stop"}, **fields))
        self.stop(peer, 1)
        self.assertEqual(peer.expect("stopped")["sequence"], 1)
        self.go_on(peer, 2)
        eventually(lambda: not training.waits(), "it continues")

    def test_fork_does_not_wait(self):
        _, training, peer = self.training()
        self.stop(peer, 1)
        peer.expect("stopped", lambda m: m["stopped"])
        pid = os.fork()
        if pid == 0:
            try:
                self.job.step()
            finally:
                os._exit(0)
        eventually(lambda: os.waitpid(pid, os.WNOHANG) != (0, 0), "the child has made its step")
        self.go_on(peer, 2)

    def test_no_descriptors_are_left(self):
        _, training, peer = self.training()
        with mock.patch.object(self.job.os, "pipe", side_effect=OSError("too many open files")):
            self.stop(peer, 1)
            before = training.steps
            eventually(lambda: training.steps > before + 20, "it trains on")
            self.go_on(peer, 2)


del ShimTest
