"""gpushare with a real Unix socket, from the side of a job and of an agent. Neither may harm the other."""
import copy
import hashlib
import importlib.util
import json
import os
import pathlib
import pickle
import queue
import random
import resource
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
SHIM = HERE.parent / "gpushare.py"
GOLDEN = HERE.parent / "testdata"
PATIENCE = 10.0   # seconds that a test waits for something that should happen at once


def fresh_module():
    """The shim as a new process imports it, with its own state, thread and connection."""
    spec = importlib.util.spec_from_file_location("gpushare", SHIM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.RETRY_FIRST, module.RETRY_CAP = 0.02, 0.1   # reconnect quickly in tests
    return module


def eventually(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("still not so after %.0f s: %s" % (PATIENCE, what))
        time.sleep(0.002)


class Odd:
    """An element of an array: it converts to a number, or raises an error."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, int):
            return self.value
        raise self.value("no number")

    __float__ = __index__


def memory_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Peer:
    """One accepted connection. A thread reads its messages into a queue."""

    def __init__(self, sock, deaf):
        self.sock, self.raw, self.messages, self.ended = sock, [], queue.Queue(), threading.Event()
        if not deaf:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for line in self.sock.makefile("rb"):
                self.raw.append(line)
                self.messages.put(json.loads(line))
        except OSError:
            pass
        self.ended.set()

    def send(self, *messages):
        self.write(b"".join(json.dumps(dict({"v": 1}, **m)).encode() + b"\n" for m in messages))

    def write(self, data):
        self.sock.sendall(data)

    def expect(self, kind, holds=lambda message: True):
        """The next message of a kind for which holds() is true. Earlier messages are skipped."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                message = self.messages.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError("no such %s message after %.0f s" % (kind, PATIENCE)) from None
            if message["type"] == kind and holds(message):
                return message

    def received(self):
        """All messages that were received and not returned yet."""
        found = []
        while not self.messages.empty():
            found.append(self.messages.get())
        return found

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


class Agent:
    """A fake of the agent, for one socket."""

    def __init__(self, folder, deaf=False, name="gpushare.sock"):
        self.path, self.deaf, self.peers, self.all = os.path.join(folder, name), deaf, queue.Queue(), []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            peer = Peer(sock, self.deaf)
            self.all.append(peer)
            self.peers.put(peer)

    def peer(self):
        return self.peers.get(timeout=PATIENCE)

    def close(self):
        try:
            self.server.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.server.close()
        for peer in self.all:
            peer.close()
        if os.path.exists(self.path):
            os.unlink(self.path)


class ShimTest(unittest.TestCase):
    """A folder for the socket, and a job (the module) that uses it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpushare-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        patch = mock.patch.dict(os.environ, GPUSHARE_DIR=self.folder, GPUSHARE_REPORT_SECONDS="0.05")
        patch.start()
        self.addCleanup(patch.stop)
        self.job = fresh_module()
        self.addCleanup(lambda: self.job._client().close())

    def agent(self, **options):
        agent = Agent(self.folder, **options)
        self.addCleanup(agent.close)
        return agent

    def connected(self, **options):
        agent = self.agent(**options)
        self.job.changed()
        self.job.step()
        return agent, agent.peer()

    def stuck(self):
        """The client of a job whose agent never reads, and whose buffer is full."""
        self.connected(deaf=True)
        client = self.job._client()
        client.interval = 0.0

        held = [0]

        def full():
            for _ in range(50):
                self.job.step(**{"m%d" % n: n / 7 for n in range(32)})
            held.append(client._report.steps)
            return client._socket and not select.select([], [client._socket], [], 0)[1] and held[-1] - held[-10:][0] == 450
        eventually(full, "the buffer is full, and nine times fifty steps went nowhere")
        return client


class Progress(ShimTest):
    def test_report_of_the_first_step_is_immediate(self):
        _, peer = self.connected()
        self.assertEqual(peer.expect("progress"),
                         {"v": 1, "type": "progress", "step": 1, "metrics": {}, "steps": 1, "samples": 0,
                          "step_seconds": 0.0, "load_seconds": 0.0})

    def test_reports_aggregate_steps_without_loss(self):
        _, peer = self.connected()
        began = time.monotonic()
        for _ in range(2000):
            self.job.step(loss=0.5, samples=8)
            time.sleep(0.0002)
        took = time.monotonic() - began
        peer.expect("progress", lambda m: m["step"] == 2001)
        reports = [json.loads(line) for line in peer.raw]
        self.assertEqual(sum(r["steps"] for r in reports), 2001)
        self.assertEqual(sum(r["samples"] for r in reports), 16000)
        self.assertLessEqual(len(reports), took / 0.05 + 3, "the reports are not coalesced")

    def test_steps_wake_the_socket_thread_only_after_a_time_without_steps(self):
        _, peer = self.connected()
        peer.expect("progress")
        client, wakes = self.job._client(), []
        client.interval = 0.5
        eventually(lambda: client._parked, "the thread is parked")
        with mock.patch.object(client, "_wake", side_effect=client._wake) as wake:
            for _ in range(1500):
                self.job.step()
                time.sleep(0.001)
                wakes.append(wake.call_count)
        reports = len(peer.received())
        self.assertGreater(reports, 2)
        self.assertEqual(wakes[0], 1)
        self.assertLess(wakes[-1], reports)

    def test_step_accepts_the_jobs_numbers(self):
        _, peer = self.connected()
        peer.expect("progress")
        self.job.step(step=500, epoch=3, total_steps=900)
        self.assertEqual(peer.expect("progress")["steps"], 499)
        self.job.step(step=510)
        report = peer.expect("progress")
        self.assertEqual((report["step"], report["steps"], report["epoch"], report["total_steps"]), (510, 10, 3, 900))
        self.job.step(step=100)   # rolled back to a checkpoint
        report = peer.expect("progress")
        self.assertEqual((report["step"], report["steps"]), (100, 1))

    def test_step_ignores_metrics_that_are_not_numbers(self):
        _, peer = self.connected()
        peer.expect("progress")
        self.job.step(loss="0.5s", text="no", none=None, huge=10 ** 400, far=1e301, accuracy=0.75)
        self.assertEqual(peer.expect("progress")["metrics"], {"accuracy": 0.75})

    def test_step_reports_metrics_that_are_not_finite(self):
        _, peer = self.connected()
        peer.expect("progress")
        self.job.step(loss=float("nan"), up=float("inf"), down=float("-inf"), accuracy=0.75)
        self.assertEqual(peer.expect("progress")["metrics"], {"loss": "nan", "up": "inf", "down": "-inf", "accuracy": 0.75})
        self.job.step(loss=0.25)
        self.assertEqual(peer.expect("progress")["metrics"], {"loss": 0.25})

    def test_report_is_bounded_with_any_names(self):
        _, peer = self.connected()
        peer.expect("progress")
        self.job.step(**{"": 0, "x" * 65: 1, "\u00e4" * 64: 2}, **{"m%d" % i: i for i in range(5000)})
        report = peer.expect("progress")
        self.assertEqual(set(report["metrics"]), {"m%d" % i for i in range(32)})
        self.assertLess(max(map(len, peer.raw)), 64 * 1024)

    def test_step_tolerates_invalid_arguments(self):
        self.job.step(loss=object(), samples="many", step="third", epoch=[], total_steps=-1)
        self.job.step(samples=-5, step=1 << 80)
        self.job.step(loss=Odd(RuntimeError), samples=Odd(RuntimeError), step=Odd(ValueError))
        report = self.job._client()._report
        self.assertEqual((report.number, report.samples, report.total, report.metrics), (3, 0, None, {}))

    def test_step_accepts_everything_that_converts_to_a_number(self):
        self.job.step(loss="0.5", samples=Odd(8), step=Odd(70))
        report = self.job._client()._report
        self.assertEqual((report.number, report.samples, report.metrics), (70, 8, {"loss": 0.5}))

    def test_report_has_the_values_in_use(self):
        agent = self.agent()
        self.assertEqual((self.job.loaders(2), self.job.batch_size(64)), (2, 64))
        self.job.step()
        report = agent.peer().expect("progress")
        self.assertEqual((report["loaders"], report["batch_size"]), (2, 64))

    def test_report_leaves_out_defaults_out_of_range(self):
        agent = self.agent()
        self.assertEqual((self.job.loaders(100), self.job.batch_size(None)), (100, None))
        self.job.step()
        self.assertFalse({"loaders", "batch_size"} & set(agent.peer().expect("progress")))

    def test_report_separates_loading_from_computing(self):
        def slow_data():
            for i in range(5):
                time.sleep(0.02)
                yield i
        agent = self.agent()
        for _ in self.job.timed(slow_data()):
            time.sleep(0.01)
            self.job.step()
        peer = agent.peer()
        reports = [peer.expect("progress")]
        while sum(r["steps"] for r in reports) < 5:
            reports.append(peer.expect("progress"))
        loading = sum(r["load_seconds"] * r["steps"] for r in reports)
        whole = sum(r["step_seconds"] * r["steps"] for r in reports)
        self.assertGreaterEqual(loading, 0.1)
        self.assertGreaterEqual(whole, loading + 0.05)

    def test_timed_has_the_attributes_of_its_iterable(self):
        loader = types.SimpleNamespace(dataset=[1, 2], sampler=types.SimpleNamespace(epochs=[]))
        loader.sampler.set_epoch = loader.sampler.epochs.append
        timed = self.job.timed(loader)
        timed.sampler.set_epoch(3)
        self.assertEqual((timed.dataset, loader.sampler.epochs), ([1, 2], [3]))
        self.assertFalse(hasattr(timed, "batch_sampler"))
        with self.assertRaisesRegex(AttributeError, "SimpleNamespace.*batch_sampler"):
            timed.batch_sampler

    def test_timed_is_copied_with_its_iterable(self):
        sys.modules["gpushare"] = self.job     # where pickle looks for the class
        self.addCleanup(sys.modules.pop, "gpushare")
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            self.assertEqual(list(pickle.loads(pickle.dumps(self.job.timed([1, 2]), protocol))), [1, 2])
        self.assertEqual(list(copy.deepcopy(self.job.timed([1, 2]))), [1, 2])
        self.assertEqual(list(copy.copy(self.job.timed([1, 2]))), [1, 2])
        with self.assertRaises(AttributeError):     # as while it is copied
            self.job._Timed.__new__(self.job._Timed).dataset

    def test_timed_has_the_length_and_the_errors_of_its_iterable(self):
        self.assertEqual(len(self.job.timed([1, 2, 3])), 3)
        self.assertEqual(list(self.job.timed([1, 2, 3])), [1, 2, 3])
        with self.assertRaises(ZeroDivisionError):
            list(self.job.timed(1 // n for n in (1, 0)))


class Describe(ShimTest):
    def test_description_is_sent_before_the_first_step(self):
        agent = self.agent()
        self.job.describe(batch_size=64, flops=4.1e9, params=25557032)
        self.assertEqual(agent.peer().expect("describe"),
                         {"v": 1, "type": "describe", "batch_size": 64, "flops": 4.1e9, "params": 25557032.0})

    def test_description_is_sent_to_each_agent(self):
        agent, peer = self.connected()
        self.job.describe(params=7)
        peer.expect("describe")
        self.job.describe(params=8)
        self.assertEqual(peer.expect("describe")["params"], 8)
        agent.close()
        self.assertEqual(self.agent().peer().expect("describe")["params"], 8)

    def test_description_leaves_out_invalid_values(self):
        _, peer = self.connected()
        self.job.describe(batch_size=0, flops=float("nan"), params="many")
        self.assertEqual(peer.expect("describe"), {"v": 1, "type": "describe"})
        self.job.describe(batch_size=1.5, flops=-1, params=1e300)
        self.assertEqual(peer.expect("describe"), {"v": 1, "type": "describe"})


class Config(ShimTest):
    def test_values_are_the_defaults_without_an_agent(self):
        self.assertEqual((self.job.loaders(3), self.job.batch_size(32), self.job.changed()), (3, 32, False))

    def test_ack_is_sent_when_every_value_was_fetched(self):
        _, peer = self.connected()
        self.job.loaders(2), self.job.batch_size(64)
        peer.send({"type": "config", "generation": 7, "loaders": 4, "batch_size": 128, "colour": "blue"})
        eventually(self.job.changed, "the config is noticed")
        self.assertEqual(self.job.loaders(2), 4)
        self.assertTrue(self.job.changed(), "the batch size still waits")
        self.job.step()
        peer.expect("progress", lambda m: m.get("loaders") == 4)
        self.assertFalse([m for m in map(json.loads, peer.raw) if m["type"] == "ack"], "acknowledged too early")
        self.assertEqual(self.job.batch_size(64), 128)
        self.assertFalse(self.job.changed())
        self.assertEqual(peer.expect("ack"),
                         {"v": 1, "type": "ack", "generation": 7, "applied": {"loaders": 4, "batch_size": 128}})

    def test_ack_of_an_unchanged_config_is_immediate(self):
        _, peer = self.connected()
        self.job.loaders(4)
        peer.send({"type": "config", "generation": 1, "loaders": 4})
        self.assertEqual(peer.expect("ack")["applied"], {"loaders": 4})
        peer.send({"type": "config", "generation": 2, "duty": 1})
        self.assertEqual(peer.expect("ack")["generation"], 2)

    def test_config_keeps_values_that_it_leaves_out(self):
        _, peer = self.connected()
        peer.send({"type": "config", "generation": 1, "loaders": 4}, {"type": "config", "generation": 2, "batch_size": 16})
        eventually(lambda: self.job.batch_size(1) == 16, "the second config has come")
        self.assertEqual(self.job.loaders(0), 4)

    def test_config_of_an_older_generation_is_ignored(self):
        _, peer = self.connected()
        self.job.loaders(1)
        peer.send({"type": "config", "generation": 9, "loaders": 5}, {"type": "config", "generation": 8, "loaders": 6},
                  {"type": "config", "generation": 9, "loaders": 7, "duty": 0.5}, {"type": "save", "reason": "end", "deadline_seconds": 60})
        eventually(self.job.save_requested, "all four lines were read")
        self.assertEqual((self.job.loaders(1), self.job._client()._gate.duty), (5, 1.0))

    def test_config_generations_start_over_with_a_new_agent(self):
        agent, peer = self.connected()
        self.job.loaders(1)
        peer.send({"type": "config", "generation": 9, "loaders": 5})
        eventually(self.job.changed, "the config is noticed")
        self.job.loaders(1)
        self.assertEqual(peer.expect("ack")["generation"], 9)
        agent.close()
        again = self.agent().peer()
        again.send({"type": "config", "generation": 1, "loaders": 5})
        self.assertEqual(again.expect("ack")["generation"], 1)

    def test_changed_ignores_values_that_the_job_never_fetched(self):
        _, peer = self.connected()
        self.job.loaders(1)
        peer.send({"type": "config", "generation": 1, "batch_size": 8}, {"type": "save", "reason": "end", "deadline_seconds": 60})
        eventually(self.job.save_requested, "both lines were read")
        self.assertFalse(self.job.changed())


class Save(ShimTest):
    def test_save_request_is_open_until_saved(self):
        _, peer = self.connected()
        self.assertIsNone(self.job.save_requested())
        peer.send({"type": "save", "reason": "moving to node-2", "deadline_seconds": 30})
        eventually(self.job.save_requested, "the request is noticed")
        request = self.job.save_requested()
        self.assertEqual(request.reason, "moving to node-2")
        self.assertTrue(20 < request.remaining() <= 30)
        path = os.path.join(self.folder, "model.pt")
        content = os.urandom(3 << 20)
        pathlib.Path(path).write_bytes(content)
        self.job.saved(path, step=17)
        self.assertIsNone(self.job.save_requested())
        self.assertEqual(peer.expect("saved"), {"v": 1, "type": "saved", "path": path, "step": 17,
                                                "sha256": hashlib.sha256(content).hexdigest()})

    def test_save_request_ends_at_its_deadline(self):
        _, peer = self.connected()
        peer.send({"type": "save", "reason": "soon", "deadline_seconds": 0.3})
        eventually(self.job.save_requested, "the request is noticed")
        eventually(lambda: self.job.save_requested() is None, "the request has expired")

    def test_saved_warns_of_a_missing_file(self):
        _, peer = self.connected()
        with self.assertLogs("gpushare", "WARNING"):
            self.job.saved(os.path.join(self.folder, "none.pt"))
            eventually(lambda: not self.job._client()._hashing, "the file was looked for")
        pathlib.Path(self.folder, "next.pt").write_bytes(b"x")
        self.job.saved(os.path.join(self.folder, "next.pt"))
        self.assertTrue(peer.expect("saved")["path"].endswith("next.pt"))

    def test_saved_is_sent_to_an_agent_that_connects_later(self):
        pathlib.Path(self.folder, "a.pt").write_bytes(b"x")
        self.job.saved(os.path.join(self.folder, "a.pt"))
        self.assertTrue(self.agent().peer().expect("saved")["path"].endswith("a.pt"))


class Gate(ShimTest):
    """Duty messages; test_gate.py tests the sleeping."""

    def gated(self, duty):
        _, peer = self.connected()
        peer.send({"type": "duty", "sequence": 1, "duty": duty})
        self.becomes(duty)
        self.job._client()._gate.learn(0.1)
        return peer

    def becomes(self, duty):
        eventually(lambda: self.job._client()._gate.duty == duty, "the duty is %s" % duty)

    def test_duty_of_an_older_sequence_is_ignored(self):
        _, peer = self.connected()
        peer.send({"type": "duty", "sequence": 5, "duty": 0.5}, {"type": "duty", "sequence": 4, "duty": 0.25},
                  {"type": "duty", "sequence": 5, "duty": 0.75}, {"type": "save", "reason": "end", "deadline_seconds": 60})
        eventually(self.job.save_requested, "all four lines were read")
        self.becomes(0.5)

    def test_duty_sequence_is_independent_of_the_generation(self):
        _, peer = self.connected()
        self.job.loaders(1)
        peer.send({"type": "config", "generation": 9, "loaders": 5}, {"type": "duty", "sequence": 1, "duty": 0.5},
                  {"type": "config", "generation": 10, "loaders": 6})
        eventually(lambda: self.job.loaders(1) == 6, "both configs were read")
        self.becomes(0.5)   # a config without a duty does not change it

    def test_duty_in_configs_of_the_previous_release(self):
        _, peer = self.connected()
        peer.send({"type": "config", "generation": 1, "duty": 0.5})
        peer.expect("ack")
        self.becomes(0.5)
        peer.send({"type": "config", "generation": 2})
        peer.expect("ack")
        self.becomes(1.0)   # in the previous release, a config without a duty means 1

    def test_duty_after_an_upgrade_of_the_agent(self):
        agent, peer = self.connected()
        peer.send({"type": "config", "generation": 1 << 21, "duty": 0.5})
        peer.expect("ack")
        agent.close()
        peer = self.agent().peer()
        peer.send({"type": "config", "generation": 0}, {"type": "duty", "sequence": 1, "duty": 0.25})
        self.becomes(0.25)

    def test_sleeping_step_ends_when_the_gate_opens(self):
        peer = self.gated(0.01)
        threading.Timer(0.2, peer.send, [{"type": "duty", "sequence": 2, "duty": 1.0}]).start()
        began = time.perf_counter()
        self.job.step()           # owes about 10 s
        self.assertLess(time.perf_counter() - began, 5)

    def test_sleeping_step_ends_when_the_agent_is_lost(self):
        self.job.GATE_GRACE = 0.2
        peer = self.gated(0.01)
        self.job._client().path += ".gone"
        peer.close()
        began = time.perf_counter()
        self.job.step()           # owes about 10 s
        self.assertLess(time.perf_counter() - began, 5)


class Faults(ShimTest):
    def still_alive(self, peer, generation=1000):
        self.job.loaders(0)
        peer.send({"type": "config", "generation": generation, "loaders": 11})
        eventually(lambda: self.job.loaders(0) == 11, "a good line after bad ones is obeyed")

    def test_invalid_lines_are_ignored(self):
        _, peer = self.connected()
        self.job.loaders(1), self.job.batch_size(1)
        lines = (GOLDEN / "ignored.jsonl").read_bytes()
        self.assertGreater(lines.count(b"\n"), 20)
        peer.write(lines + b"\xff\xfe\x00\n" + b"{" * 60000 + b"\n" + b'{"a":' * 9000 + b"\n"
                   + b'{"v":1,"type":"config","generation":' + b"9" * 60000 + b"}\n")
        self.still_alive(peer)
        self.assertEqual(self.job.batch_size(1), 1)
        self.assertIsNone(self.job.save_requested())
        self.assertEqual(self.job._client()._gate.duty, 1.0)

    def test_ignored_lines_change_nothing(self):
        for line in (GOLDEN / "ignored.jsonl").read_bytes().splitlines():
            client = self.job._Client()
            message = self.job._parse(line)
            if message is not None:
                client._handle(message)
            self.assertEqual((client.values.fetch("loaders", 1), client.values.fetch("batch_size", 1), client.values._generation,
                              client._gate.duty, client.save_request()), (1, 1, None, 1.0, None), line)

    def test_huge_line_costs_neither_memory_nor_the_connection(self):
        _, peer = self.connected()
        before = memory_kib()
        for _ in range(64):
            peer.write(b"x" * 32768)
        peer.write(b"\n")
        self.still_alive(peer)
        self.assertLess(memory_kib() - before, 20 * 1024)

    def test_flood_slows_neither_training_nor_exit(self):
        for line, most in ((b"{}\n", 16), (b"{" + b" " * 4093 + b"}\n", 2)):
            agent, peer = self.connected()
            stop = threading.Event()

            def pour():
                try:
                    while not stop.is_set():
                        peer.write(line * (65536 // len(line)))
                except OSError:
                    pass
            received, parse = [], self.job._parse
            with mock.patch.object(self.job, "_parse", lambda line: received.append(line) or parse(line)):
                began = time.monotonic()
                threading.Thread(target=pour, daemon=True).start()
                eventually(lambda: len(received) > 40 * most, "the flood is received")
                bound = most * ((time.monotonic() - began) / 0.005 + 2)
                self.assertLess(len(received), bound, "at most %d lines in 5 ms" % most)
            stop.set()
            began = time.monotonic()
            self.job._client().close()
            self.assertLess(time.monotonic() - began, 1)
            agent.close()
            self.job = fresh_module()

    def test_agent_that_never_reads_costs_no_memory(self):
        self.connected(deaf=True)
        self.job._client().interval = 0.0001
        before = memory_kib()
        for i in range(100000):
            self.job.step(loss=i, **{"metric%d" % n: n / 7 for n in range(4)})
        self.assertLess(memory_kib() - before, 20 * 1024)

    def test_agent_that_disconnects_at_once_is_retried_slowly(self):
        self.job.RETRY_CAP = 0.3
        agent = self.agent()
        count, began = 0, time.monotonic()
        while count < 6:
            self.job.step()
            try:
                agent.peers.get(timeout=0.01).close()
                count += 1
            except queue.Empty:
                pass
        self.assertGreater(time.monotonic() - began, 0.4, "at least half of 0.04, 0.08, 0.16, 0.3 and 0.3 s")

    def test_restart_of_the_agent_loses_no_later_report(self):
        agent, peer = self.connected()
        peer.expect("progress")
        agent.close()
        for _ in range(100):
            self.job.step(samples=1)
        peer = self.agent().peer()
        # A report in transit when the agent ended may be lost; later ones must not be.
        eventually(lambda: self.job._client()._report.steps == 0, "all is delivered")
        self.assertEqual(peer.expect("progress")["step"], 101)

    def test_report_sent_in_part_is_sent_again(self):
        client = self.stuck()
        held = client._report.steps
        for file in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, file))
        again = self.agent()
        client._socket.shutdown(socket.SHUT_RDWR)
        self.assertGreater(again.peer().expect("progress")["steps"], held)

    def test_training_runs_without_an_agent(self):
        for _ in range(1000):
            self.job.step(loss=1.0, samples=4)
        self.assertEqual((self.job.loaders(2), self.job.save_requested(), self.job.changed()), (2, None, False))
        began = time.process_time()
        time.sleep(0.3)
        self.assertLess(time.process_time() - began, 0.1, "waiting for an agent is not free")

    def test_invalid_socket_path_counts_as_no_agent(self):
        pathlib.Path(self.folder, "gpushare.sock").write_text("not a socket")
        self.job.step()
        os.environ["GPUSHARE_DIR"] = "/" + "x" * 300
        fresh_module().step()

    def test_random_numbers_of_the_job_are_not_used(self):
        random.seed(7)
        expected = random.getstate()
        with mock.patch.object(self.job._Client, "_connection", side_effect=self.job._Client._connection, autospec=True) as tried:
            self.job.step()
            eventually(lambda: tried.call_count > 2, "it was tried again")
        self.connected()
        self.job.timed([1])
        self.job.loaders(1)
        self.assertEqual(random.getstate(), expected)


class Fork(ShimTest):
    def in_child(self, work):
        """Run work in a forked child that ends without Python's exit handlers, as in multiprocessing."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        return pid

    def finished(self, pid):
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_forked_child_closes_the_parents_connection(self):
        _, peer = self.connected()
        read, write = os.pipe()
        pid = self.in_child(lambda: os.read(read, 1))
        self.job._client().close()                     # the parent has ended, its loader still runs
        ended = peer.ended.wait(PATIENCE)
        os.write(write, b"x")
        self.finished(pid)
        self.assertTrue(ended, "the child holds the parent's socket")

    def test_forked_child_that_trains_opens_its_own_connection(self):
        agent, parent = self.connected()
        parent.expect("progress")

        def train():
            assert self.job._client()._thread is None
            self.job.step(step=4242)
            self.job._client().close()
        pid = self.in_child(train)
        child = agent.peer()
        self.assertEqual(child.expect("progress")["step"], 4242)
        self.finished(pid)
        self.job.step()
        self.assertEqual(parent.expect("progress")["step"], 2, "the parent goes on undisturbed")

    def test_fork_while_the_lock_is_held_does_not_block_the_child(self):
        self.connected()
        held, release = threading.Event(), threading.Event()

        def hold():
            with self.job._client()._lock:
                held.set()
                release.wait(PATIENCE)
        threading.Thread(target=hold, daemon=True).start()
        held.wait(PATIENCE)
        pid = self.in_child(lambda: (self.job.step(), self.job.loaders(1)))
        release.set()
        self.finished(pid)

    def test_fork_without_hooks_is_detected_by_the_process_id(self):
        self.job.step()
        client = self.job._client()
        client.close()   # a real child has no such thread; here it would use descriptors that are reused
        client._thread.join(PATIENCE)
        client.pid = 1
        self.job.step()
        self.assertIsNot(self.job._client(), client)


class Exit(ShimTest):
    def script(self, text):
        """Run a job, and return how many seconds it took from its last line to its end."""
        done = subprocess.run([sys.executable, "-c", text + "\nimport time; print(time.monotonic())"],
                              env=dict(os.environ, PYTHONPATH=str(SHIM.parent)),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        ended = time.monotonic()
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return ended - float(done.stdout)

    def test_exit_flushes_the_last_report(self):
        agent = self.agent()
        self.script("import gpushare\nfor i in range(500): gpushare.step(samples=2)\n")
        peer = agent.peer()
        self.assertEqual(peer.expect("progress", lambda m: m["step"] == 500)["type"], "progress")
        self.assertTrue(peer.ended.wait(PATIENCE))
        self.assertEqual(sum(json.loads(line)["samples"] for line in peer.raw), 1000)

    def test_exit_does_not_wait_for_an_agent(self):
        self.script("import gpushare")
        self.assertLess(self.script("import gpushare; gpushare.step()"), 3)
        self.agent(deaf=True)
        self.assertLess(self.script("import gpushare, time\nend = time.time() + .3\nwhile time.time() < end: gpushare.step()"), 3)

    def test_exit_does_not_wait_for_an_unreadable_checkpoint(self):
        os.mkfifo(os.path.join(self.folder, "never.pt"))
        self.assertLess(self.script("import gpushare, os; gpushare.saved(os.environ['GPUSHARE_DIR'] + '/never.pt')"), 3)


class Golden(unittest.TestCase):
    """The coordinator is tested with the lines in testdata, so these must be the lines that the shim writes."""

    def setUp(self):
        self.job = fresh_module()

    def lines(self, name):
        return (GOLDEN / name).read_bytes().splitlines(keepends=True)

    def test_progress(self):
        def line(report, **in_use):
            return self.job._line(report.message(in_use))
        first = self.job._Report()
        first.add(None, None, None, None, {}, None, 0.0)
        full = self.job._Report(first)
        full.add(64, 120, 3, 1800, {"loss": 0.4321, "accuracy": 0.875}, 2.38, 0.595)
        resumed = self.job._Report()
        resumed.add(32, 0, 0, None, {"loss": -1.5e-07}, 0.25, 0.0)
        diverged = self.job._Report()
        diverged.add(None, 7, None, None, {"loss": float("nan"), "scale": float("inf")}, None, 0.0)
        lines = [line(first), line(full, loaders=2, batch_size=64), line(resumed, loaders=0)]
        compared = self.job._Report()
        compared.add(64, 128, None, None, {}, None, 0.0)
        compared.compare(1, 64, 0.5)
        compared.compare(1, 64, 0.75)
        declared = self.job._declaration(64, 16, 512, "square-root")
        lines.append(self.job._line(compared.message({"batch_size": 64}, declared, 2048)))
        with mock.patch.dict(os.environ, RANK="3", LOCAL_RANK="1", WORLD_SIZE="4"):
            lines.append(line(diverged))
        self.assertEqual(lines, self.lines("progress.jsonl"))

    def test_describe(self):
        lines = []
        for values in ({"batch_size": 64, "flops": 4.1e9, "params": 25557032}, {"params": 1.5}, {}):
            self.job.describe(**values)
            lines.append(self.job._line(self.job._current._description))
        self.assertEqual(lines, self.lines("describe.jsonl"))

    def test_ack(self):
        job_values, acks = self.job._Values(), []
        for generation, values in ((1, {}), (2, {"loaders": 4}), (3, {"batch_size": 128})):
            job_values.offer(generation, values)
            for key in values:
                job_values.fetch(key, 1)
            acks.append(self.job._line(job_values.ack()))
        self.assertEqual(acks, self.lines("ack.jsonl"))

    def test_saved(self):
        digest = hashlib.sha256(b"weights").hexdigest()
        self.assertEqual([self.job._line({"type": "saved", "path": path, "sha256": digest, "step": 1200})
                          for path in ("/checkpoints/model.pt", "/checkpoints/größe \"1\".pt")], self.lines("saved.jsonl"))

    def test_config_and_save_are_accepted(self):
        configs = [self.job._config(self.job._parse(line)) for line in self.lines("config.jsonl")]
        self.assertEqual(configs, [(1, {}, None), (2, {"loaders": 4}, None), (3, {"batch_size": 128}, None),
                                   (5, {"loaders": 0, "batch_size": 1}, None), (6, {"loaders": 64}, None)])
        previous = [self.job._config(self.job._parse(line)) for line in self.lines("config-previous.jsonl")]
        self.assertEqual(previous, [(4, {}, 0.25), (5, {"loaders": 0, "batch_size": 1}, 1.0)])
        duties = [self.job._duty(self.job._parse(line)) for line in self.lines("duty.jsonl")]
        self.assertEqual(duties, [(1, 0.25), (2, 1.0), (3, 0.01)])
        for line in self.lines("save.jsonl"):
            self.job._current._handle(self.job._parse(line))
            self.assertIsNotNone(self.job._current.save_request())


if __name__ == "__main__":
    unittest.main()
