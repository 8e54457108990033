"""Turns of the GPU, with a real socket: a job stops where it should, waits no longer than it must, and trains as if alone."""
import os
import pathlib
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from unittest import mock

from test_gpushare import GOLDEN, PATIENCE, SHIM, ShimTest, eventually, fresh_module


class Training:
    """A thread that takes steps until it is stopped."""

    def __init__(self, job, seconds=0.001, **step):
        self.steps, self.job, self.seconds, self.step, self._stop = 0, job, seconds, step, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self._stop.is_set():
            time.sleep(self.seconds)
            self.job.step(**self.step)
            self.steps += 1

    def stop(self):
        self._stop.set()
        self.thread.join(PATIENCE)

    def goes_on(self):
        steps = self.steps
        eventually(lambda: self.steps > steps + 3, "the job computes")

    def stands(self):
        steps = self.steps
        time.sleep(0.05)
        return self.steps == steps


class TurnTest(ShimTest):
    """Adds the agent's side of turn.sock."""

    def setUp(self):
        super().setUp()
        self.sequence = 0

    def turns(self, **options):
        agent = self.agent(name="turn.sock", **options)
        return agent

    def connected_turns(self):
        """The agent and the job's connection, after its first line."""
        agent = self.turns()
        eventually(lambda: self.job.step() or self.job._client().turns.connected(), "the job connects")
        peer = agent.peer()
        self.assertEqual(peer.expect("gate")["state"], "open")
        return agent, peer

    def training(self, **step):
        """A job that trains in another thread, and its connection."""
        agent = self.turns()
        training = Training(self.job, **step)
        self.addCleanup(training.stop)
        peer = agent.peer()
        self.addCleanup(peer.close)   # before the training is stopped: it may wait
        peer.expect("gate")
        return training, peer

    def turn(self, peer, hold, after=0):
        self.sequence += 1
        peer.send(dict({"type": "turn", "sequence": self.sequence, "hold": hold}, **({"after_step": after} if after else {})))

    def state(self, peer, state, **fields):
        """The next gate line with this state. It answers the newest turn."""
        line = peer.expect("gate", lambda m: m["state"] == state)
        self.assertEqual(line["sequence"], fields.pop("sequence", self.sequence))
        for name, value in fields.items():
            self.assertEqual(line[name], value, name)
        return line

    def in_child(self, work):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        return pid


class Boundaries(TurnTest):
    def test_nothing_is_gated_without_turns(self):
        for _ in range(100):
            self.job.step()
        self.assertFalse(self.job._client().turns.connected())
        _, peer = self.connected_turns()   # an agent with the socket, but no second job
        for _ in range(5):
            time.sleep(0.002)
            self.job.step()
        self.assertEqual(peer.received(), [])

    def test_idle_job_says_so_before_its_first_turn(self):
        _, peer = self.connected_turns()
        with self.job.idle():
            self.state(peer, "idle")
            threading.Thread(target=lambda: (self.state(peer, "closed"), self.turn(peer, hold=True)), daemon=True).start()
        self.job.step()
        self.assertEqual(self.job._client().turns._sequence, 1)

    def test_job_stops_at_the_next_boundary_and_goes_on_with_its_turn(self):
        training, peer = self.training()
        for _ in range(20):
            self.turn(peer, hold=False)
            line = self.state(peer, "closed")
            self.assertTrue(training.stands())
            self.turn(peer, hold=True)
            training.goes_on()
        self.assertEqual(peer.received(), [], "a turn to compute is not answered")
        self.assertGreater(line["steps"], 3)

    def test_gate_lines_count_steps_and_time(self):
        began = time.monotonic()
        agent, peer = self.connected_turns()
        for _ in range(9):
            time.sleep(0.01)
            self.job.step()
        self.job.step(step=20)
        self.turn(peer, hold=False)
        waiter = threading.Thread(target=self.job.step, kwargs={"step": 25})
        eventually(lambda: select.select([self.job._client().turns._socket], [], [], 0)[0], "the turn is there")
        waiter.start()
        line = self.state(peer, "closed", step=25, steps=24)   # from step 1 to 25; the first line had one
        self.assertTrue(0.09 <= line["held_seconds"] <= time.monotonic() - began, line)
        time.sleep(0.1)
        self.turn(peer, hold=True)
        waiter.join(PATIENCE)
        self.turn(peer, hold=False)
        waiter = threading.Thread(target=self.job.step)
        waiter.start()
        line = self.state(peer, "closed", step=26, steps=1)
        self.assertLess(line["held_seconds"], 0.1, "the wait is not held")
        agent.close()
        waiter.join(PATIENCE)

    def test_device_is_drained_before_the_turn_is_given_up(self):
        _, peer = self.connected_turns()
        said, drained = [], []
        self.job.drain_with(lambda: drained.append(len(said)))
        turns = self.job._client().turns
        say = turns._say
        with mock.patch.object(turns, "_say", side_effect=lambda state: said.append(state) or say(state)):
            self.turn(peer, hold=True)
            self.wait_for_line()
            self.job.step()
            self.assertEqual(drained, [], "a boundary with the turn drains nothing")
            with self.job.idle():
                self.assertEqual(drained, [0])
                self.turn(peer, hold=False)
                self.wait_for_line()
                threading.Timer(0.05, self.turn, (peer, True)).start()
        self.assertEqual((said, drained), (["idle", "closed"], [0]), "it is drained once, before the first line")

    def wait_for_line(self):
        eventually(lambda: select.select([self.job._client().turns._socket], [], [], 0)[0], "the line is there")

    def test_failing_drain_is_one_warning(self):
        def fail():
            raise RuntimeError("CUDA error")
        self.job.drain_with(fail)
        with self.assertLogs("gpushare", "WARNING") as logs:
            training, peer = self.training()
            for _ in range(3):
                self.turn(peer, hold=False)
                self.state(peer, "closed")
                self.turn(peer, hold=True)
                training.goes_on()
        self.assertEqual(len(logs.output), 1)

    def test_pytorch_is_drained_on_each_gpu_that_the_job_uses(self):
        drained = []
        cuda = types.SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 3, current_device=lambda: 1, synchronize=drained.append)
        torch = types.SimpleNamespace(cuda=cuda, _C=types.SimpleNamespace(_cuda_hasPrimaryContext=lambda device: device != 1))
        with mock.patch.dict(sys.modules, torch=torch):
            self.job._drain_torch()
            self.assertEqual(drained, [0, 2])
            torch._C = types.SimpleNamespace()   # another version: the current GPU
            self.job._drain_torch()
            self.assertEqual(drained, [0, 2, 1])
            cuda.is_initialized = lambda: False
            self.job._drain_torch()
            del cuda.is_initialized              # its import is in progress
            self.job._drain_torch()
        self.assertEqual(drained, [0, 2, 1])

    def test_turns_of_an_older_sequence_are_ignored(self):
        training, peer = self.training()
        self.sequence = 5
        self.turn(peer, hold=True)
        for sequence in (6, 3):
            peer.send({"type": "turn", "sequence": sequence, "hold": False})
        training.goes_on()
        self.turn(peer, hold=False)   # 7
        self.state(peer, "closed")

    def test_last_of_many_turns_counts(self):
        training, peer = self.training()
        peer.send(*({"type": "turn", "sequence": n, "hold": n % 2 == 0} for n in range(1, 202)))
        self.assertEqual(peer.expect("gate", lambda m: m["sequence"] == 201)["state"], "closed")
        self.assertTrue(training.stands())

    def test_wait_is_no_part_of_a_step(self):
        _, peer = self.connected_turns()
        self.turn(peer, hold=False)
        self.wait_for_line()
        threading.Timer(0.3, self.turn, (peer, True)).start()
        began = time.monotonic()
        self.job.step()
        self.assertGreater(time.monotonic() - began, 0.25)
        self.job.step()
        self.assertLess(self.job._client()._report.seconds, 0.2)

    def test_duty_is_ignored_with_a_connection_for_turns(self):
        self.connected_turns()
        gate = self.job._client()._gate
        gate.duty = 0.01
        gate.learn(1.0)
        began = time.monotonic()
        self.job.step()
        self.assertLess(time.monotonic() - began, 1)

    def test_last_step_gives_up_the_gpu_without_a_wait(self):
        _, peer = self.connected_turns()
        self.turn(peer, hold=False)
        self.wait_for_line()
        self.job.step(step=100, total_steps=100)
        self.state(peer, "idle", step=100)
        for _ in self.job.timed([]):
            pass
        with self.job.idle():   # the last checkpoint
            pass
        waiter = threading.Thread(target=self.job.step, kwargs={"step": 101})
        waiter.start()
        self.state(peer, "closed")   # it was not the last step: the total is wrong
        self.turn(peer, hold=True)
        waiter.join(PATIENCE)
        self.assertFalse(waiter.is_alive())

    def test_all_threads_wait(self):
        training, peer = self.training()
        other = Training(self.job)
        self.addCleanup(other.stop)
        other.goes_on()
        self.turn(peer, hold=False)
        self.state(peer, "closed")
        self.assertTrue(training.stands() and other.stands())
        self.turn(peer, hold=True)
        training.goes_on()
        other.goes_on()


class Ranks(TurnTest):
    """Turns with after_step: the ranks of a job stop after the same step."""

    def setUp(self):
        super().setUp()
        patch = mock.patch.dict(os.environ, RANK="1", LOCAL_RANK="1", WORLD_SIZE="2")
        patch.start()
        self.addCleanup(patch.stop)

    def test_rank_answers_at_once_and_stops_after_the_step(self):
        training, peer = self.training(seconds=0.005)
        self.turn(peer, hold=False, after=60)
        line = self.state(peer, "open", rank=1, local_rank=1, world_size=2)
        self.assertLess(line["step"], 40)
        self.state(peer, "closed", step=60)
        self.assertTrue(training.stands())
        self.turn(peer, hold=True)
        training.goes_on()

    def test_rank_that_has_passed_the_step_does_not_stop(self):
        _, peer = self.connected_turns()
        self.job.step(step=50)
        self.turn(peer, hold=False, after=51)
        eventually(lambda: select.select([self.job._client().turns._socket], [], [], 0)[0], "the turn is there")
        for step in (51, 52, 53):
            self.job.step(step=step)
        self.state(peer, "open", step=51)   # it may be a step ahead of another rank
        self.turn(peer, hold=True)
        self.job.step(step=54)
        self.assertEqual(peer.received(), [])

    def test_order_is_cancelled(self):
        training, peer = self.training()
        self.turn(peer, hold=False, after=training.steps + 100)
        self.state(peer, "open")
        self.turn(peer, hold=True)
        eventually(lambda: training.steps > 300, "it does not stop")
        self.assertEqual(peer.received(), [])

    def test_cancelled_rank_that_has_stopped_goes_on(self):
        training, peer = self.training()
        self.turn(peer, hold=False, after=training.steps + 20)
        self.state(peer, "closed")
        self.turn(peer, hold=True)
        training.goes_on()

    def test_order_right_after_the_turn_lets_the_rank_go_on_to_its_step(self):
        training, peer = self.training()
        for _ in range(20):
            self.turn(peer, hold=False, after=training.steps + 20)
            stopped = self.state(peer, "closed")["step"]
            self.turn(peer, hold=True)                       # another rank may have read this line alone
            self.turn(peer, hold=False, after=stopped + 5)
            self.state(peer, "open")
            self.state(peer, "closed", step=stopped + 5)
            self.turn(peer, hold=True)

    def test_ranks_keep_the_gpu_while_they_wait_for_data(self):
        _, peer = self.connected_turns()
        self.turn(peer, hold=True)
        for item in self.job.timed(iter(lambda: time.sleep(0.005), 1)):
            self.job.step()
            if self.job._client()._report.number > 20:
                break
        with self.job.idle():
            pass
        self.job.step(step=50, total_steps=50)
        self.assertEqual(peer.received(), [])


class Idle(TurnTest):
    """A job that does not need its GPU gives it up at once, and waits for its turn when it needs the GPU again."""

    def gated(self):
        agent, peer = self.connected_turns()
        self.turn(peer, hold=True)
        Boundaries.wait_for_line(self)
        self.job.step()
        return peer

    def serve(self, peer, states):
        """Give the turn whenever the job waits, and note its states."""
        def run():
            while not peer.ended.is_set():
                try:
                    line = peer.messages.get(timeout=0.05)
                except Exception:   # queue.Empty
                    continue
                states.append(line["state"])
                if line["state"] == "closed":
                    self.turn(peer, hold=True)
        threading.Thread(target=run, daemon=True).start()

    def iterate(self, seconds, count=30):
        states, peer = [], self.gated()
        self.serve(peer, states)

        def data():
            for _ in range(count):
                time.sleep(seconds)
                yield 0
        for _ in self.job.timed(data()):
            self.job.step()
        eventually(lambda: states[-1:] == ["closed"], "the last wait is over")
        return states

    def test_job_that_waits_for_data_is_idle(self):
        states = self.iterate(0.005)
        self.assertGreater(states.count("idle"), 20)
        self.assertEqual(states.count("idle"), states.count("closed"))

    def revoked(self, steps):
        """The states of a job that waits for its data, from the end of its turn, before the steps of a batch, to its next batch."""
        states, peer = [], self.gated()
        self.serve(peer, states)

        def data():
            for number in range(25):
                time.sleep(0.005)
                yield number
        for number in self.job.timed(data()):
            if number == 21:
                return states[before:]
            if number == 20:
                before = len(states)
                self.turn(peer, hold=False)
                Boundaries.wait_for_line(self)
            for _ in range(steps):
                self.job.step()

    def test_job_whose_turn_has_ended_loads_its_next_batch_before_it_waits(self):
        self.assertEqual(self.revoked(steps=1), ["idle", "closed"])

    def test_job_that_makes_another_step_of_the_same_batch_waits_there(self):
        self.assertEqual(self.revoked(steps=2), ["closed", "idle", "closed"])

    def test_job_whose_data_is_ready_is_idle_at_the_beginning_only(self):
        self.job._clock = lambda: 1.0   # on a busy machine, a wait takes long though the data is ready
        self.assertEqual(self.iterate(0), ["idle", "closed"])

    def test_wait_for_the_turn_is_neither_step_nor_loading(self):
        peer = self.gated()
        report = self.job._client()._report

        def grant():
            peer.expect("gate", lambda m: m["state"] == "closed")
            time.sleep(0.3)
            self.turn(peer, hold=True)
        threading.Thread(target=grant, daemon=True).start()
        for _ in self.job.timed([1]):
            self.job.step()
            break
        self.assertLess(self.job._client()._report.seconds + report.seconds, 0.25)

    def test_turn_from_before_the_wait_does_not_count(self):
        peer = self.gated()
        done = threading.Event()

        def evaluate():
            with self.job.idle():
                self.turn(peer, hold=True)   # crossed the line of the job
                Boundaries.wait_for_line(self)
            done.set()
        threading.Thread(target=evaluate, daemon=True).start()
        self.state(peer, "idle", sequence=1)
        self.state(peer, "closed", sequence=2)
        self.assertFalse(done.wait(0.1))
        self.turn(peer, hold=True)
        self.assertTrue(done.wait(PATIENCE))

    def test_idle_contexts_may_be_nested_and_contain_steps(self):
        peer = self.gated()
        with self.job.idle():
            with self.job.idle():
                self.job.step()
            self.state(peer, "idle")
            self.assertEqual(peer.received(), [])
            threading.Timer(0.05, self.turn, (peer, True)).start()
        self.assertEqual([m["state"] for m in peer.received()], ["closed"])

    def finished(self):
        """A job that has made its last step in a loop over its data, which still has batches."""
        peer = self.gated()
        data = iter(self.job.timed([1, 2, 3]))
        threading.Timer(0.05, self.turn, (peer, True)).start()
        next(data)
        self.job.step(step=100, total_steps=100)
        self.assertEqual([peer.expect("gate")["state"] for _ in range(3)], ["idle", "closed", "idle"])
        return peer, data

    def test_final_evaluation_has_a_turn_for_each_batch(self):
        peer, _ = self.finished()
        states = []
        self.serve(peer, states)
        for _ in self.job.timed([1, 2]):
            self.assertEqual(self.job._client().turns._state, "open")
        self.assertEqual(self.job._client().turns._state, "idle")
        eventually(lambda: states == ["closed", "idle"] * 2, "each batch has a turn, and none follows")
        with self.job.idle():   # the last checkpoint
            pass
        self.assertEqual(len(states), 4)

    def test_final_evaluation_that_ends_early_gives_up_the_gpu(self):
        peer, _ = self.finished()
        states = []
        self.serve(peer, states)
        for _ in self.job.timed([1, 2]):
            break
        eventually(lambda: states == ["closed", "idle"], "the GPU is given up")

    def test_batch_after_the_last_step_has_no_turn(self):
        peer, data = self.finished()
        self.assertEqual(list(data), [2, 3])
        self.assertEqual(peer.received(), [])

    def test_thread_that_only_loads_is_no_reason_to_give_up_the_gpu(self):
        peer = self.gated()

        def load():
            for _ in self.job.timed([1, 2, 3]):
                time.sleep(0.01)
        loader = threading.Thread(target=load)
        loader.start()
        loader.join(PATIENCE)
        self.assertEqual(peer.received(), [])

    def test_waits_behind_queued_work_are_measured_on_a_drained_gpu(self):
        turns, drained = self.job._Turns("/nowhere"), []
        self.job.drain_with(lambda: drained.append(1))
        turns._trainer = threading.get_ident()
        for _ in range(31):
            turns.resume(0.005, lambda: False)
        self.assertEqual((turns._wait, turns._hidden), (0.0, 31), "the GPU may have worked meanwhile")
        turns.resume(0.0001, lambda: False)
        self.assertEqual(turns._hidden, 31, "a short wait is no reason to measure one")
        turns._state = "idle"
        turns._learn(0.005)
        self.assertEqual(turns._hidden, 0)
        self.assertGreater(turns._wait, 0)


class Waits(TurnTest):
    """What ends the wait for a turn."""

    def waiting(self, **step):
        training, peer = self.training(**step)
        self.turn(peer, hold=False)
        self.state(peer, "closed")
        self.assertTrue(training.stands())
        return training, peer

    def test_wait_costs_no_cpu(self):
        self.waiting()
        began = time.process_time()
        time.sleep(0.3)
        self.assertLess(time.process_time() - began, 0.1)

    def test_wait_ends_with_the_agent(self):
        training, peer = self.waiting()
        peer.close()
        training.goes_on()

    def test_job_connects_again_to_the_next_agent(self):
        agent, peer = self.connected_turns()
        agent.close()
        training = Training(self.job)
        self.addCleanup(training.stop)
        training.goes_on()
        peer = self.turns().peer()
        self.addCleanup(peer.close)
        self.state(peer, "open", sequence=0)
        self.turn(peer, hold=False)
        self.state(peer, "closed", sequence=1)

    def test_wait_ends_after_a_bound_without_a_word(self):
        self.job.TURN_BOUND = 0.3
        training, peer = self.waiting()
        for _ in range(4):   # a word is enough
            self.turn(peer, hold=False)
            self.state(peer, "closed")
            time.sleep(0.1)
            self.assertTrue(training.stands())
        self.state(peer, "open")
        training.goes_on()
        self.turn(peer, hold=False)
        self.state(peer, "closed")

    def test_invalid_lines_are_no_word(self):
        self.job.TURN_BOUND = 0.3
        training, peer = self.waiting()
        peer.write((GOLDEN / "turn-ignored.jsonl").read_bytes() + b"\xff\xfe\x00\n" + b"{" * 60000 + b"\n")
        self.state(peer, "open")
        training.goes_on()

    def test_request_to_save_ends_the_wait(self):
        agent = self.agent()
        training, peer = self.waiting()
        main = agent.peer()
        main.send({"type": "save", "reason": "moving to node-2", "deadline_seconds": 60})
        self.state(peer, "open")
        training.goes_on()   # until it has saved
        path = pathlib.Path(self.folder, "a.pt")
        path.write_bytes(b"x")
        self.job.saved(path)
        self.state(peer, "closed")

    def test_agent_that_does_not_read_loses_the_job(self):
        agent = self.turns(deaf=True)
        self.job.step()
        peer = agent.peer()
        client = self.job._client()
        self.turn(peer, hold=True)
        with mock.patch.object(self.job._Turns, "_connect", return_value=False):
            for _ in range(10000):
                if not client.turns.connected():
                    break
                client.turns._state = "open"
                client.turns._sequence = 1
                client.turns._say("open")
        self.assertFalse(client.turns.connected())
        self.job.step()

    def test_flood_of_turns_delays_a_step_little(self):
        training, peer = self.training()
        stop, sent = threading.Event(), [0]

        def pour():
            try:
                while not stop.is_set():
                    peer.send(*({"type": "turn", "sequence": 10 + sent[0] + n, "hold": True} for n in range(100)))
                    sent[0] += 100
            except OSError:
                pass
        received, parse = [], self.job._parse
        with mock.patch.object(self.job, "_parse", side_effect=lambda line: received.append(line) or parse(line)):
            threading.Thread(target=pour, daemon=True).start()
            steps = training.steps
            eventually(lambda: len(received) > 500, "the flood is received")
            self.assertLessEqual(len(received), 16 * (training.steps - steps + 2))
        stop.set()

    def test_exception_of_a_signal_handler_leaves_the_gate_usable(self):
        _, peer = self.connected_turns()

        def end(*_):
            raise KeyboardInterrupt
        before = signal.signal(signal.SIGUSR2, end)
        self.addCleanup(signal.signal, signal.SIGUSR2, before)
        self.turn(peer, hold=False)
        Boundaries.wait_for_line(self)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR2)).start()
        with self.assertRaises(KeyboardInterrupt):
            self.job.step()
        self.state(peer, "closed")
        self.state(peer, "open")
        began = time.monotonic()
        threading.Timer(0.2, self.turn, (peer, True)).start()
        self.job.step()
        self.assertGreater(time.monotonic() - began, 0.15, "an old signal does not end a new wait")

    def test_signal_that_the_job_handles_ends_the_wait(self):
        _, peer = self.connected_turns()
        seen = []
        for number in (signal.SIGTERM, signal.SIGALRM):
            before = signal.signal(number, lambda number, _: seen.append(number))
            self.addCleanup(signal.signal, number, before)
        self.turn(peer, hold=False)
        Boundaries.wait_for_line(self)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGALRM)).start()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        began = time.monotonic()
        self.job.step()
        self.assertGreater(time.monotonic() - began, 0.25, "another signal does not end it")
        self.assertEqual(seen, [signal.SIGALRM, signal.SIGTERM])
        self.state(peer, "closed")
        self.state(peer, "open")
        self.assertEqual(signal.set_wakeup_fd(-1), -1, "the descriptor is not left behind")

    def test_wakeup_descriptor_of_the_job_is_kept(self):
        _, peer = self.connected_turns()
        pair = socket.socketpair()
        for end in pair:
            self.addCleanup(end.close)
            end.setblocking(False)
        signal.set_wakeup_fd(pair[1].fileno())
        self.addCleanup(signal.set_wakeup_fd, -1)
        self.turn(peer, hold=False)
        Boundaries.wait_for_line(self)
        threading.Timer(0.1, self.turn, (peer, True)).start()
        self.job.step()
        self.assertEqual(signal.set_wakeup_fd(-1), pair[1].fileno())

    def test_random_numbers_of_the_job_are_not_used(self):
        random.seed(7)
        expected = random.getstate()
        _, peer = self.waiting()
        peer.close()
        self.assertEqual(random.getstate(), expected)


class Processes(TurnTest):
    """Forks, exec, stops and ends."""

    def test_forked_child_leaves_the_connection_alone(self):
        _, peer = self.connected_turns()
        read, write = os.pipe()

        def child():
            with self.job.idle():   # a data-loader worker has no turn
                assert not self.job._client().turns.connected()
            os.read(read, 1)
        pid = self.in_child(child)
        self.job._client().close()
        ended = peer.ended.wait(PATIENCE)
        os.write(write, b"x")
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertTrue(ended, "the child holds the parent's socket")
        self.assertEqual(peer.received(), [])

    def test_forked_child_that_trains_has_its_own_turn(self):
        agent, parent = self.connected_turns()

        def train():
            self.job.step()
            for _ in range(5000):
                time.sleep(0.001)
                self.job.step()
        pid = self.in_child(train)
        child = agent.peer()
        child.expect("gate")
        self.turn(child, hold=False)
        self.state(child, "closed")
        self.job.step()
        self.assertEqual(parent.received(), [], "the parent goes on undisturbed")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.assertTrue(child.ended.wait(PATIENCE))

    def test_fork_while_another_thread_waits(self):
        _, peer = self.connected_turns()
        self.turn(peer, hold=False)
        Boundaries.wait_for_line(self)
        waiter = threading.Thread(target=self.job.step)
        waiter.start()
        self.state(peer, "closed")
        ours = [*self.job._client().turns._alarm.fds, self.job._client().turns._socket.fileno()]

        def child():
            assert not [fd for fd in ours if os.path.exists("/proc/self/fd/%d" % fd)]
            self.job._client().path = self.job._client().turns.path = "/nowhere"
            self.job.step()
        self.assertEqual(os.waitpid(self.in_child(child), 0)[1], 0)
        self.turn(peer, hold=True)
        waiter.join(PATIENCE)
        self.assertFalse(waiter.is_alive())

    def script(self, text):
        process = subprocess.Popen([sys.executable, "-c", text], env=dict(os.environ, PYTHONPATH=str(SHIM.parent)))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    TRAIN = "import gpushare, time\nwhile True: time.sleep(.001); gpushare.step()"

    def test_exec_ends_the_connection(self):
        agent = self.turns()
        self.script("import gpushare, os, sys, time\ngpushare.step(); time.sleep(.2)\nos.execv(sys.executable, [sys.executable, '-c', %r])" % self.TRAIN)
        first = agent.peer()
        self.assertTrue(first.ended.wait(PATIENCE))
        second = agent.peer()   # of the new program
        self.turn(second, hold=False)
        self.state(second, "closed")

    def test_stopped_job_answers_when_it_continues(self):
        agent = self.turns()
        process = self.script(self.TRAIN)
        peer = agent.peer()
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        peer.received()
        self.turn(peer, hold=False)
        time.sleep(0.2)
        self.assertEqual(peer.received(), [])
        process.send_signal(signal.SIGCONT)
        self.state(peer, "closed")
        process.send_signal(signal.SIGSTOP)   # while it waits
        time.sleep(0.05)
        self.turn(peer, hold=True)
        self.turn(peer, hold=False)           # the agent has lost its patience
        process.send_signal(signal.SIGCONT)
        self.state(peer, "closed")

    def test_killed_job_ends_the_connection(self):
        agent = self.turns()
        process = self.script(self.TRAIN)
        peer = agent.peer()
        process.kill()
        self.assertTrue(peer.ended.wait(PATIENCE))

    def test_exit_gives_up_the_gpu_first(self):
        agent = self.turns()
        os.mkfifo(os.path.join(self.folder, "never.pt"))
        process = self.script("import gpushare, os\ngpushare.FLUSH_SECONDS = 5\ngpushare.step()\n"
                              "gpushare.saved(os.environ['GPUSHARE_DIR'] + '/never.pt')")
        self.assertTrue(agent.peer().ended.wait(PATIENCE))
        self.assertIsNone(process.poll(), "the connection ends before the last report is sent")


class Failures(TurnTest):
    def test_system_without_unix_sockets_or_poll_has_no_turns(self):
        for lacking in ({"socket": types.SimpleNamespace()}, {"select": types.SimpleNamespace()}):
            job = fresh_module()
            with mock.patch.multiple(job, **lacking):
                job.step()
                job.step()
                self.assertFalse(job._client().turns.connected())

    def test_failure_to_create_a_pipe_leaves_the_gate_open(self):
        self.turns()
        with mock.patch.object(os, "pipe", side_effect=OSError("no more")):
            self.assertFalse(self.job._Turns(os.path.join(self.folder, "turn.sock"))._connect())

    def test_attempts_to_connect_become_rare(self):
        turns, tries = self.job._Turns("/nowhere"), 0
        with mock.patch.object(self.job, "time", types.SimpleNamespace(monotonic=lambda: now)):
            now = 1000.0
            while now < 1060.0:
                with mock.patch.object(turns, "_lose", side_effect=turns._lose) as lost:
                    turns.boundary(1, 1, False, lambda: False)
                    tries += lost.call_count
                now += 0.01
        self.assertTrue(10 <= tries, tries)
        self.assertLess(tries, 700, "at most one in RETRY_CAP, 0.1 s in these tests")

    def test_ignored_lines_change_nothing(self):
        for line in (GOLDEN / "turn-ignored.jsonl").read_bytes().splitlines():
            self.assertIsNone(self.job._turn(self.job._parse(line)), line)


class Golden(TurnTest):
    def test_gate(self):
        lines = [self.job._line(self.job._gate_message(*values), process) for values, process in (
            (("open", None, 0, 0, 0.0), {}),
            (("closed", 2, 1200, 31, 0.5), {}),
            (("idle", 3, 1201, 1, 0.016), {}),
            (("open", 4, 1203, 2, 0.032), {"rank": 1, "local_rank": 0, "world_size": 2}))]
        self.assertEqual(lines, (GOLDEN / "gate.jsonl").read_bytes().splitlines(keepends=True))

    def test_turn(self):
        turns = [self.job._turn(self.job._parse(line)) for line in (GOLDEN / "turn.jsonl").read_bytes().splitlines()]
        self.assertEqual(turns, [(1, True, 0), (2, False, 0), (3, False, 44), (4, True, 0)])

    def test_counts_and_times_are_bounded(self):
        message = self.job._gate_message("open", None, 1, 1 << 60, 1e9)
        self.assertEqual((message["steps"], message["held_seconds"]), (1 << 53, 7 * 24 * 3600))


TRAIN = """
import hashlib, os, sys, torch, gpushare
torch.set_num_threads(1)
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Dropout(0.2), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
digest = hashlib.sha256()
data = torch.utils.data.DataLoader(torch.randn(512, 16), batch_size=8, shuffle=True, num_workers=int(sys.argv[1]))
for epoch in range(3):
    for batch in gpushare.timed(data):
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        digest.update(loss.detach().numpy().tobytes())
        gpushare.step(loss=loss.item(), samples=len(batch))
    with gpushare.idle():
        torch.save(model.state_dict(), os.devnull)
for value in model.state_dict().values():
    digest.update(value.numpy().tobytes())
print(digest.hexdigest())
"""


class Results(TurnTest):
    """Turns change no bit of a result."""

    def run_job(self, workers, turns):
        agent = self.turns() if turns else None
        process = subprocess.Popen([sys.executable, "-c", TRAIN, str(workers)], stdout=subprocess.PIPE,
                                   env=dict(os.environ, PYTHONPATH=str(SHIM.parent), GPUSHARE_DIR=self.folder))
        pauses = 0
        if agent:
            peer, dice, self.sequence = agent.peer(), random.Random(workers), 0
            while not peer.ended.is_set():
                try:
                    self.turn(peer, hold=False)
                    time.sleep(dice.random() * 0.004)
                    pauses += sum(line["state"] == "closed" for line in peer.received())
                    self.turn(peer, hold=True)
                    time.sleep(dice.random() * 0.004)
                except OSError:
                    break
            agent.close()
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        return out, pauses

    def test_results_are_bit_identical(self):
        try:
            import torch   # noqa: F401
        except ImportError:
            self.skipTest("SKIPPED: no PyTorch, the results of a job with turns were not compared")
        for workers in (0, 1):
            alone, _ = self.run_job(workers, turns=False)
            with_turns, pauses = self.run_job(workers, turns=True)
            self.assertEqual(with_turns, alone)
            self.assertGreater(pauses, 10)
