"""Rare faults: threads that cannot be started, full pipes, forks and lost connections at the worst moment.

Each guard, bound, reset, copy and flag of gpushare.py was removed by hand, one at a time. A test failed each time, here, in
test_gate.py or in test_gpushare.py. The exceptions only save a wake-up of the thread or have a second guard: _parked after a
poll and a loss, the hang-up in addition to the empty read, undo's check of the rest, allow_nan, and _long_number where Python
has a limit.
"""
import os
import pathlib
import random
import signal
import socket
import threading
import time
import types
from unittest import mock

from test_gpushare import PATIENCE, ShimTest, eventually, fresh_module


class Aggregate(ShimTest):
    def test_report_that_is_merged_back_loses_nothing(self):
        for seed in range(200):
            dice = random.Random(seed)
            whole, parts = self.job._Report(), [self.job._Report()]
            for _ in range(dice.randrange(1, 60)):
                if dice.random() < 0.1:
                    parts.append(self.job._Report(parts[-1]))
                names = dice.sample(range(40), dice.randrange(3))
                call = (dice.choice((None, 8)), dice.choice((None, None, dice.randrange(1000))), dice.choice((None, 1)), dice.choice((None, 900)),
                        {"m%d" % n: dice.random() for n in names}, dice.choice((None, 0.25)), 0.125)
                whole.add(*call)
                parts[-1].add(*call)
            while len(parts) > 1:
                last = parts.pop()
                last.absorb(parts.pop())
                parts.append(last)
            self.assertEqual(parts[0].message({}), whole.message({}), "seed %d" % seed)

    def test_report_that_is_merged_back_is_sent_without_another_step(self):
        earlier, later = self.job._Report(), self.job._Report()
        earlier.add(None, None, None, None, {}, None, 0.0)
        later.absorb(earlier)
        self.assertTrue(later.dirty)

    def test_report_updates_known_metrics_at_the_limit(self):
        report = self.job._Report()
        report.add(None, None, None, None, {"m%d" % n: 0 for n in range(32)}, None, 0.0)
        report.add(None, None, None, None, {"m5": 7, "new": 1}, None, 0.0)
        self.assertEqual((report.metrics["m5"], len(report.metrics)), (7, 32))

    def test_report_bounds_counts_and_times(self):
        report = self.job._Report()
        for number in (0, 1 << 53, 0, 1 << 53):
            report.add(1 << 53, number, None, None, {}, 1e9, 1e9)
        message = report.message({})
        self.assertEqual((message["steps"], message["samples"]), (1 << 53, 1 << 53))
        report = self.job._Report()
        report.add(None, None, None, None, {}, 1e9, 1e9)
        message = report.message({})
        self.assertEqual((message["step_seconds"], message["load_seconds"]), (7 * 24 * 3600, 7 * 24 * 3600))


class Values(ShimTest):
    def test_ack_is_sent_once_with_its_own_generation(self):
        values = self.job._Values()
        values.offer(1, {"loaders": 2})
        values.fetch("loaders", 1)
        ack = values.ack()
        self.assertIsNone(values.ack())
        values.offer(2, {"loaders": 3})
        self.assertEqual(ack["applied"], {"loaders": 2})

    def test_ack_does_not_wait_for_values_that_the_job_never_fetches(self):
        values = self.job._Values()
        values.offer(1, {"loaders": 0})
        self.assertIsNone(values.ack(), "the job may still fetch it")
        values.offer(2, {"batch_size": 64})
        values.fetch("batch_size", 32)
        self.assertEqual(values.ack()["applied"], {"batch_size": 64})
        self.assertEqual(values.fetch("loaders", 2), 0)
        self.assertIsNone(values.ack(), "once")

    def test_ack_is_not_sent_to_another_agent(self):
        for when in ("before it comes", "after"):
            agent, peer = self.connected()
            self.job.loaders(1)
            peer.send({"type": "config", "generation": 9, "loaders": 5})
            eventually(self.job.changed, "the config is noticed")
            client = self.job._client()
            if when == "before it comes":
                path, client.path = client.path, client.path + ".gone"
                agent.close()
                eventually(lambda: client._socket is None, "the connection is lost")
                self.job.loaders(1)
                client.path = path
                again = self.agent()
            else:
                agent.close()
                again = self.agent()
            peer = again.peer()
            self.job.loaders(1)
            self.job.step(step=777)
            seen = []
            peer.expect("progress", lambda m: seen.append(m) or m["step"] == 777)
            self.assertFalse([line for line in peer.raw if b"ack" in line], when)
            again.close()
            self.job._client().close()
            self.job = fresh_module()

    def test_fetching_a_value_connects(self):
        agent = self.agent()
        self.job.loaders(1)
        agent.peer()

    def test_save_request_has_no_time_remaining_after_its_deadline(self):
        self.assertEqual(self.job.SaveRequest("late", 0.0).remaining(), 0.0)

    def test_last_of_many_lines_is_received(self):
        _, peer = self.connected()
        peer.send(*({"type": "config", "generation": n, "loaders": n % 60} for n in range(1, 119)))
        eventually(lambda: self.job.loaders(0) == 58, "the last line is obeyed")

    def test_smallest_duty_does_not_stop_a_job(self):
        self.assertEqual(self.job._config({"generation": 1, "duty": 1e-9}), (1, {}, 0.01))


class Saved(ShimTest):
    def checkpoint(self, name):
        path = os.path.join(self.folder, name)
        pathlib.Path(path).write_bytes(b"x")
        return path

    def test_saved_has_an_absolute_path_and_the_last_step(self):
        _, peer = self.connected()
        self.job.step(step=41)
        path = self.checkpoint("a.pt")
        self.job.saved(os.path.relpath(path))
        saved = peer.expect("saved")
        self.assertEqual((saved["path"], saved["step"]), (os.path.abspath(os.path.relpath(path)), 41))

    def test_saved_before_the_first_step_has_step_zero(self):
        agent = self.agent()
        self.job.saved(self.checkpoint("a.pt"))
        self.assertEqual(agent.peer().expect("saved")["step"], 0)

    def test_saved_messages_without_an_agent_are_bounded(self):
        go = threading.Event()
        self.addCleanup(go.set)
        with mock.patch.object(self.job, "_sha256", side_effect=lambda path: go.wait(PATIENCE) and "0"):
            for n in range(100):
                self.job.saved("/%d.pt" % n)
            client = self.job._client()
            self.assertLessEqual(len(client._unhashed), 16)
            self.assertEqual([t.name for t in threading.enumerate()].count("gpushare-sha256"), 1)
            go.set()
            eventually(lambda: not client._hashing, "all are hashed")
        for n in range(100):
            with client._lock:
                client._post({"type": "saved", "path": "/more%d.pt" % n})
        self.assertEqual((len(client._outbox), client._outbox[-1]["path"]), (16, "/more99.pt"))

    def test_exit_sends_a_digest_in_progress(self):
        _, peer = self.connected()
        go = threading.Event()
        with mock.patch.object(self.job, "_sha256", side_effect=lambda path: go.wait(PATIENCE) and "0"):
            self.job.saved("/a.pt")
            self.job.FLUSH_SECONDS = PATIENCE
            threading.Timer(0.2, go.set).start()
            self.job._client().close()
        self.assertEqual(peer.expect("saved")["path"], "/a.pt")


class Resources(ShimTest):
    def test_failure_to_start_a_thread_is_one_warning(self):
        with self.assertLogs("gpushare", "WARNING") as logs, mock.patch.object(threading, "Thread", side_effect=RuntimeError("no more")):
            self.job.step()
            self.job.step()
            self.job.saved("/a.pt")
        self.assertEqual(len(logs.output), 1)
        self.assertFalse(self.job._client()._hashing, "the next checkpoint gets its chance")

    def test_only_one_thread_is_started(self):
        client = self.job._client()
        client._start()
        first = client._thread
        client._start()
        self.assertIs(client._thread, first)

    def test_exit_does_not_wait_for_a_blocked_thread(self):
        go, client = threading.Event(), self.job._client()
        self.addCleanup(go.set)
        client._wake_fds, client._thread = os.pipe(), threading.Thread(target=go.wait, args=(PATIENCE,), daemon=True)
        client._thread.start()
        client.close()
        self.assertTrue(client._thread.is_alive())

    def test_failure_to_create_a_pipe_is_a_warning(self):
        with self.assertLogs("gpushare", "WARNING"), mock.patch.object(os, "pipe", side_effect=OSError("no more")):
            self.job.step()

    def test_system_without_unix_sockets_or_poll_has_no_thread(self):
        for lacking in ({"socket": types.SimpleNamespace()}, {"select": types.SimpleNamespace()}):
            job = fresh_module()
            with mock.patch.multiple(job, **lacking):
                job.step()
                self.assertIs(job._client()._thread, False)

    def test_full_pipe_wakes_the_thread(self):
        self.connected()
        client = self.job._client()
        with mock.patch.object(os, "write", side_effect=BlockingIOError):
            client._wake()

    def test_signals_are_blocked_in_the_thread(self):
        self.connected()
        status = pathlib.Path("/proc/self/task/%d/status" % self.job._client()._thread.native_id).read_text()
        blocked = int(status.split("SigBlk:")[1].split()[0], 16)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGPIPE):
            self.assertTrue(blocked >> (number - 1) & 1, number)

    def test_signal_handler_may_call_while_the_lock_is_held(self):
        def handler():
            with self.job._client()._lock:
                self.job.step()
                self.job.loaders(1)
        thread = threading.Thread(target=handler, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())

    def test_environment_may_be_empty_or_invalid(self):
        os.environ.update(GPUSHARE_DIR="", GPUSHARE_REPORT_SECONDS="soon")
        client = fresh_module()._client()
        self.assertEqual((client.path, client.interval), ("/run/gpushare/gpushare.sock", 0.1))
        os.environ["GPUSHARE_REPORT_SECONDS"] = "0"
        self.assertEqual(fresh_module()._client().interval, 0.01)


class Lines(ShimTest):
    def test_lines_are_independent_of_the_pieces(self):
        self.job.LINE_LIMIT = 50
        for seed in range(300):
            dice = random.Random(seed)
            whole = b"".join(b"x" * dice.choice((0, 1, 49, 50, 51, 200)) + b"\n" for _ in range(8))
            lines, found, rest = self.job._Lines(), [], whole
            while rest:
                size = dice.randrange(1, 40)
                lines.feed(rest[:size])
                rest = rest[size:]
                found += iter(lines.next, None)
                self.assertLessEqual(len(lines._buffer), 50, "an endless line is not kept")
            self.assertEqual(found, [line for line in whole.split(b"\n")[:-1] if len(line) <= 50], "seed %d" % seed)


    def test_line_is_at_most_64_kib(self):
        _, peer = self.connected()
        for generation, length in ((1, 64 * 1024), (2, 64 * 1024 + 1)):
            line = b'{"v":1,"type":"config","loaders":%d,"generation":%d' % (generation, generation)
            peer.write(line + b" " * (length - len(line) - 1) + b"}\n")
        peer.send({"type": "save", "reason": "end", "deadline_seconds": 60})
        eventually(self.job.save_requested, "all lines were read")
        self.assertEqual(self.job.loaders(0), 1)


class Idle(ShimTest):
    """An idle thread sleeps until it is woken: its wake-ups are counted."""

    def turns(self):
        with mock.patch.object(self.job._Client, "_park", side_effect=self.job._Client._park, autospec=True) as parked:
            time.sleep(0.3)
        return parked.call_count

    def test_silent_agent_causes_no_wakeup(self):
        _, peer = self.connected()
        self.job.step()
        peer.expect("progress", lambda m: m["step"] == 2)
        eventually(lambda: self.job._client()._parked, "all is said")
        self.assertEqual(self.turns(), 0)

    def test_agent_that_never_reads_causes_no_wakeup(self):
        self.stuck()
        self.assertEqual(self.turns(), 0)


class Connections(ShimTest):
    def test_reconnects_while_the_job_is_silent(self):
        agent, _ = self.connected()
        agent.close()
        self.agent().peer()

    def test_reconnects_after_the_agent_closes(self):
        agent, peer = self.connected()
        peer.sock.shutdown(socket.SHUT_WR)
        agent.peer()

    def test_full_backlog_does_not_block(self):
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(os.path.join(self.folder, "gpushare.sock"))
        server.listen(0)
        waiting = []
        with self.assertRaises(BlockingIOError):
            while True:
                waiting.append(socket.socket(socket.AF_UNIX))
                self.addCleanup(waiting[-1].close)
                waiting[-1].setblocking(False)
                waiting[-1].connect(server.getsockname())
        thread = threading.Thread(target=self.job._client()._connection, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())

    def test_exit_waits_neither_for_the_interval_nor_for_a_retry(self):
        os.environ["GPUSHARE_REPORT_SECONDS"] = str(10 * PATIENCE)
        self.job = fresh_module()
        _, peer = self.connected()
        peer.expect("progress")
        self.job.step(step=55)
        self.job._client().close()
        peer.expect("progress", lambda m: m["step"] == 55)

    def test_exit_connects_to_a_new_agent_for_the_last_report(self):
        self.job.RETRY_FIRST = self.job.RETRY_CAP = 10 * PATIENCE
        self.job.FLUSH_SECONDS = PATIENCE
        client, sleeping = self.job._client(), threading.Event()
        sleep = client._sleep
        with mock.patch.object(client, "_sleep", side_effect=lambda seconds: sleeping.set() or sleep(seconds)):
            self.job.step(step=66)
            sleeping.wait(PATIENCE)
            agent = self.agent()
            client.close()
        agent.peer().expect("progress", lambda m: m["step"] == 66)

    def test_saved_that_was_not_sent_is_first_in_the_queue_again(self):
        client = self.job._client()
        saved, ack = ({"type": "saved", "path": "/a.pt"}, {"type": "ack", "generation": 1})
        client._outbox.extend((saved, ack))
        self.assertEqual(client._park(5.0, False), 0.0, "there is something to send")
        _, undo, _ = client._next(True)
        undo()
        self.assertEqual(list(client._outbox), [saved, ack])
        client._next(True)
        self.assertIsNone(client._next(True)[1], "an acknowledgement belongs to its connection")

    def test_retries_back_off_and_reset_after_a_long_connection(self):
        self.job.RETRY_FIRST, self.job.RETRY_CAP = 0.1, 5.0
        client, now, lasts, waits = self.job._client(), [0.0], iter([0] * 9 + [6] + [0] * 3), []

        def connection():
            now[0] += next(lasts, 0)

        def sleep(seconds):
            waits.append(seconds)
            client._closing = len(waits) == 13
        with mock.patch.multiple(client, _connection=connection, _sleep=sleep), \
                mock.patch.object(self.job, "time", types.SimpleNamespace(monotonic=lambda: now[0])):
            thread = threading.Thread(target=client._run)
            thread.start()
            thread.join(PATIENCE)
        for wait, most in zip(waits, (0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5, 5, 0.1, 0.2, 0.4, 0.8)):
            self.assertTrue(most / 2 <= wait <= most, waits)
        self.assertEqual(len(waits), 13)

    def test_delivered_report_is_not_sent_again(self):
        agent, peer = self.connected()
        peer.expect("progress")
        agent.close()
        again = self.agent().peer()
        self.job.step()
        self.assertEqual(again.expect("progress")["steps"], 1)

    def test_gate_closes_again_when_the_agent_reconnects(self):
        agent, _ = self.connected()
        agent.close()
        eventually(lambda: self.job._client()._gate.lost is not None, "the agent is missed")
        self.agent().peer()
        eventually(lambda: self.job._client()._gate.lost is None, "it is back")

    def test_fork_during_a_connect_leaves_no_connection_in_the_child(self):
        agent, forked, released = self.agent(), threading.Event(), threading.Event()

        class Slow(socket.socket):
            def connect(self, path):
                super().connect(path)
                forked.set()
                released.wait(PATIENCE)
        names = {name: getattr(socket, name) for name in ("AF_UNIX", "SOCK_STREAM")}
        with mock.patch.object(self.job, "socket", types.SimpleNamespace(socket=Slow, **names)):
            self.job.step()
            forked.wait(PATIENCE)
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.read(read, 1)
                os._exit(0)
            released.set()
            peer = agent.peer()
            self.job._client().close()
        ended = peer.ended.wait(2.0)
        os.write(write, b"x")
        os.waitpid(pid, 0)
        self.assertTrue(ended, "the child holds the parent's socket")

    def test_forked_child_closes_all_inherited_descriptors(self):
        self.connected()
        client = self.job._client()
        ours = [*client._wake_fds, client._socket.fileno()]
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            kept = [fd for fd in ours if os.path.exists("/proc/self/fd/%d" % fd)]
            os.write(write, bytes([len(kept)]))
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual(os.read(read, 1), b"\0")
