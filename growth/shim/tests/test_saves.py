"""A job saves a checkpoint between two steps, and resumes from it."""
import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from unittest import mock

from test_gpushare import SHIM, ShimTest, eventually
from test_stops import Training


class Saves(ShimTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "ckpt", "model.pt")
        self.content = b"state"
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.content)

    def save(self, peer, number, seconds=30.0):
        peer.send({"type": "save", "reason": "test", "deadline_seconds": seconds, "request": number})

    def training(self):
        self.agent()
        training = Training(self.job)
        self.addCleanup(training.end)
        return training

    def connected(self, **options):
        agent, peer = super().connected(**options)
        peer.expect("progress")
        return agent, peer


class OnRequest(Saves):
    def test_saves_after_the_step(self):
        _, peer = self.connected()
        self.job.on_save(self.write, self.path)
        self.save(peer, 7)
        eventually(lambda: self.job._client()._request is not None, "the request has arrived")
        self.assertFalse(os.path.exists(self.path))
        self.job.step()
        answer = peer.expect("saved")
        self.assertEqual(answer, {"v": 1, "type": "saved", "path": self.path, "step": 2, "request": 7,
                                  "sha256": hashlib.sha256(b"state").hexdigest()})
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.path))), ["model.pt", "model.pt.record"])
        self.save(peer, 7)   # an agent that was restarted asks again
        self.assertEqual(peer.expect("saved"), answer)

    def test_requests_that_cannot_be_met_are_answered_at_once(self):
        _, peer = self.connected()
        self.save(peer, 7)
        answer = peer.expect("failed")
        self.assertIn("register one with gpushare.on_save()", answer["reason"])
        self.assertFalse(answer["nothing"])
        with mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="2"):
            self.save(peer, 8)
            self.assertTrue(peer.expect("failed", lambda m: m["request"] == 8)["nothing"])

    def test_function_without_a_path_does_all_the_work(self):
        _, peer = self.connected()
        own = os.path.join(self.folder, "own.pt")

        def function():
            self.write(own)
            return own
        self.job.on_save(function)
        self.save(peer, 7)
        eventually(lambda: self.job._client()._request is not None, "the request has arrived")
        self.job.step()
        self.assertEqual(peer.expect("saved")["path"], own)
        self.job.on_save(lambda: None)
        self.save(peer, 8)
        eventually(lambda: self.job._client()._request is not None, "the request has arrived")
        self.job.step()
        self.assertTrue(peer.expect("failed", lambda m: m["request"] == 8)["nothing"])

    def test_stopped_job_saves(self):
        self.job.on_save(self.write, self.path)
        agent = self.agent()
        training = Training(self.job)
        self.addCleanup(training.end)
        peer = agent.peer()
        peer.send({"type": "stop", "sequence": 1, "stop": True})
        step = peer.expect("stopped", lambda m: m["stopped"])["step"]
        self.save(peer, 9)
        self.assertEqual(peer.expect("saved")["step"], step)
        self.assertTrue(training.waits())
        peer.send({"type": "stop", "sequence": 2, "stop": False})
        eventually(lambda: not training.waits(), "it continues")

    def test_stopped_job_that_has_saved_does_not_save_again_at_its_end(self):
        self.job.on_save(self.write, self.path)
        agent = self.agent()
        training = Training(self.job)
        self.addCleanup(training.end)
        peer = agent.peer()
        peer.send({"type": "stop", "sequence": 1, "stop": True})
        peer.expect("stopped", lambda m: m["stopped"])
        self.save(peer, 9)
        step = peer.expect("saved")["step"]
        self.content = b"another"
        self.job._client().saver._terminate()
        eventually(lambda: not training._thread.is_alive(), "it ends")
        self.assertEqual(training.steps, step)
        self.assertEqual(self.job.resume(self.path).sha256, hashlib.sha256(b"state").hexdigest())

    def test_job_that_polls_answers_with_saved(self):
        _, peer = self.connected()
        self.assertIsNone(self.job.save_requested())
        self.save(peer, 7)
        eventually(self.job.save_requested, "the request has arrived")
        os.makedirs(os.path.dirname(self.path))
        self.write(self.path)
        self.job.saved(self.path, 5)
        answer = peer.expect("saved")
        self.assertEqual((answer["request"], answer["step"]), (7, 5))


class Failures(Saves):
    """After each of them the old checkpoint is valid."""

    def setUp(self):
        super().setUp()
        self.job.on_save(self.write, self.path)
        self.job.step(step=3)
        self.job.save()
        self.old = self.job.resume()
        self.assertEqual(self.old.step, 3)

    def refused(self, function, reason):
        _, peer = self.connected()
        self.job.on_save(function, self.path)
        self.save(peer, 7)
        eventually(lambda: self.job._client()._request is not None, "the request has arrived")
        with self.assertLogs("gpushare", "WARNING"):
            self.job.step()
            self.assertIn(reason, peer.expect("failed")["reason"])
        self.assertEqual(self.job.resume(), self.old)
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.path))), ["model.pt", "model.pt.record"])

    def raising(self, number):
        def function(path):
            self.write(path)
            raise OSError(number, os.strerror(number), path)
        return function

    def test_full_disk(self):
        self.refused(self.raising(errno.ENOSPC), "the volume is full: free space on it")

    def test_read_only_volume(self):
        self.refused(self.raising(errno.EROFS), "mounted read-only: mount a writable one")

    def mounted(self, *arguments):
        """Mount something at the folder of the checkpoint, which needs root."""
        folder = os.path.dirname(self.path)
        if subprocess.run(["mount", *arguments, folder], capture_output=True).returncode:
            self.skipTest("SKIPPED: nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", folder])
        return folder

    def test_volume_that_becomes_read_only(self):
        folder = self.mounted("--bind", os.path.dirname(self.path))
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        self.refused(self.write, "mounted read-only: mount a writable one")

    def test_volume_that_is_full(self):
        self.mounted("-t", "tmpfs", "-o", "size=64k", "none")
        self.job.save()
        self.old = self.job.resume()
        self.content = b"x" * 200000
        self.refused(self.write, "the volume is full: free space on it")

    def test_any_error_of_the_function(self):
        self.refused(lambda path: [][1], "IndexError: list index out of range")

    def test_error_in_any_language(self):
        def function(path):
            raise ValueError("\u78c1\u76d8\u5df2\u6ee1" * 200)
        self.refused(function, "\u78c1\u76d8\u5df2\u6ee1")
        for text in ("\u78c1" * 500, "x" + "\u78c1" * 500, "xx" + "\U0001f600" * 500, "\udc80" * 500, "a" * 900):
            reason = self.job._reason(ValueError(text)).encode()   # a lone surrogate has no encoding
            self.assertTrue(300 < len(reason) <= 512, "longer reasons are no messages")

    def test_function_that_writes_nothing(self):
        self.refused(lambda path: open(path, "wb").close(), "has written nothing")

    def test_function_that_leaves_no_file(self):
        self.refused(lambda path: None, "No such file")

    def test_disk_that_is_full_at_the_end(self):
        with mock.patch.object(self.job.os, "fsync", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            self.refused(self.write, "the volume is full")

    def test_errors_of_a_save_by_the_job_are_raised(self):
        self.job.on_save(self.raising(errno.ENOSPC), self.path)
        with self.assertRaises(OSError):
            self.job.save()
        self.assertEqual(self.job.resume(), self.old)


class LateProcess(Saves):
    """A process that runs on, on a node that is out of reach, while the job continues elsewhere."""

    def elsewhere(self, program):
        program = "import gpushare, sys\npath = sys.argv[1]\n" + textwrap.dedent(program)
        return subprocess.run([sys.executable, "-c", program, self.path], env=dict(os.environ, PYTHONPATH=str(SHIM.parent)),
                              capture_output=True, text=True, check=True).stdout

    def setUp(self):
        super().setUp()
        self.job.on_save(self.write, self.path)
        self.job.step(step=3)
        self.job.save()

    def test_does_not_overwrite_the_checkpoint(self):
        self.elsewhere("""
            gpushare.on_save(lambda scratch: open(scratch, "w").write("later"), path)
            gpushare.resume()
        """)
        with self.assertRaisesRegex(self.job.CheckpointError, "another process continues this job"):
            self.job.save()
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.path))), ["model.pt", "model.pt.record"])
        self.elsewhere("""
            gpushare.on_save(lambda scratch: open(scratch, "w").write("later"), path)
            gpushare.resume()
            gpushare.save()
        """)
        self.assertEqual(self.job.resume(self.path).sha256, hashlib.sha256(b"later").hexdigest())

    def test_restarted_process_saves(self):
        saver = self.job._client().saver
        saver.owner, saver.claimed = "the next process", None
        self.assertEqual(self.job.resume().step, 3)
        self.job.save()

    def test_reader_does_not_disturb(self):
        self.assertIn("step=3", self.elsewhere("print(gpushare.resume(path))"))
        self.job.save()

    def test_only_the_first_rank_claims(self):
        self.elsewhere("""
            import os
            os.environ.update(RANK="1", WORLD_SIZE="2")
            gpushare.on_save(lambda scratch: None, path)
            gpushare.resume()
        """)
        self.job.save()


class FullVolume(Saves):
    def test_file_size_limit(self):
        """A write that the kernel cuts short, in a process of its own."""
        program = textwrap.dedent("""
            import os, resource, sys
            import gpushare
            path = sys.argv[1]
            def small(scratch): open(scratch, "wb").write(b"old")
            def large(scratch):
                with open(scratch, "wb") as file: file.write(b"x" * 100000)
            gpushare.on_save(small, path)
            gpushare.save()
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            gpushare.on_save(large, path)
            try:
                gpushare.save()
            except OSError as err:
                print(gpushare._reason(err))
            print(gpushare.resume().sha256, sorted(os.listdir(os.path.dirname(path))))
        """)
        out = subprocess.run([sys.executable, "-c", program, self.path], env=dict(os.environ, PYTHONPATH=str(SHIM.parent)),
                             capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertIn("ulimit -f", out[0])
        self.assertEqual(out[1], "%s ['model.pt', 'model.pt.record']" % hashlib.sha256(b"old").hexdigest())

    def test_full_tmpfs(self):
        where = os.path.join(self.folder, "small")
        os.mkdir(where)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", where], capture_output=True).returncode:
            self.skipTest("a tmpfs cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", where])
        path = os.path.join(where, "model.pt")
        self.job.on_save(self.write, path)
        self.job.save()
        self.content = b"x" * 200000
        with self.assertRaises(OSError) as raised:
            self.job.save()
        self.assertIn("the volume is full", self.job._reason(raised.exception))
        self.assertEqual(self.job.resume().sha256, hashlib.sha256(b"state").hexdigest())


class Resume(Saves):
    def saved(self, content, step):
        self.content = content
        self.job.on_save(self.write, self.path)
        self.job.step(step=step)
        self.job.save()

    def test_nothing_to_resume_from(self):
        self.job.on_save(self.write, self.path)
        self.assertIsNone(self.job.resume())
        with self.assertRaises(self.job.CheckpointError):
            self.job._client().saver.path = None
            self.job.resume()

    def test_checkpoint_with_its_step(self):
        self.saved(b"state", 41)
        self.assertEqual(self.job.resume(), (self.path, 41, hashlib.sha256(b"state").hexdigest()))
        self.assertEqual(self.job.resume(self.path), self.job.resume())

    def test_wrong_hash_is_refused(self):
        self.saved(b"state", 41)
        with open(self.path, "r+b") as file:
            file.truncate(3)
        with self.assertRaisesRegex(self.job.CheckpointError, "is not the checkpoint that was saved.*Restore the file from a copy"):
            self.job.resume()

    def test_crash_between_the_record_and_the_file(self):
        self.saved(b"old", 41)
        self.content = b"new"
        replace = os.replace

        def crash(source, target):
            if target == self.path:
                raise KeyboardInterrupt
            replace(source, target)
        with mock.patch.object(self.job.os, "replace", crash), self.assertRaises(KeyboardInterrupt):
            self.job.save()
        self.assertEqual(self.job.resume(), (self.path, 41, hashlib.sha256(b"old").hexdigest()))

    def test_file_of_another_program_is_not_verified(self):
        os.makedirs(os.path.dirname(self.path))
        self.write(self.path)
        self.assertEqual(self.job.resume(self.path), (self.path, None, None))

    def test_records_that_are_none(self):
        self.saved(b"state", 41)
        for record in (b"", b"[]", b"\xff", b'{"sha256": 7}', b"[" * 60000):
            with open(self.path + ".record", "wb") as file:
                file.write(record)
            self.assertEqual(self.job.resume(), (self.path, None, None))


class OnTheTarget(Saves):
    """A job that moved ends with the reason, and does not start over, if its checkpoint is not what it saved."""
    PROGRAM = "import gpushare, sys\ngpushare.on_save(lambda path: None, sys.argv[1])\nprint(gpushare.resume())"

    def setUp(self):
        super().setUp()
        self.job.on_save(self.write, self.path)
        self.job.step(step=3)
        self.job.save()

    def refused(self, reason, python=sys.executable, **options):
        shutil.copy(str(SHIM), self.folder)
        process = subprocess.run([python, "-c", self.PROGRAM, self.path], env=dict(os.environ, PYTHONPATH=self.folder),
                                 capture_output=True, text=True, **options)
        self.assertNotEqual(process.returncode, 0, process.stdout)
        self.assertIn("CheckpointError: " + self.path, process.stderr)
        self.assertIn(reason, process.stderr)

    def test_wrong_hash(self):
        with open(self.path, "ab") as file:
            file.write(b"more")
        self.refused("is not the checkpoint that was saved")

    def test_short_file(self):
        with open(self.path, "r+b") as file:
            file.truncate(1)
        self.refused("is not the checkpoint that was saved")

    def test_unreadable(self):
        """Another user on the target, as with another mapping of users on its volume."""
        if os.getuid() != 0:
            self.skipTest("SKIPPED: this test runs a job as another user, which needs root")
        another = dict(user=65534, group=65534, extra_groups=[])
        python = next(filter(lambda python: self.runs(python, another), (sys.executable, "/usr/bin/python3")), None)
        if python is None:
            self.skipTest("SKIPPED: no Python that another user may run")
        folder = os.path.dirname(self.path)
        os.chmod(self.folder, 0o755)
        for closed in (self.path, self.path + ".record", folder):
            with self.subTest(closed=closed):
                mode = os.stat(closed).st_mode
                os.chmod(closed, 0)
                self.refused("cannot be read: [Errno 13] Permission denied", python, **another)
                os.chmod(closed, mode)

    @staticmethod
    def runs(python, options):
        try:
            return subprocess.run([python, "-c", ""], **options).returncode == 0
        except OSError:
            return False


class Terminated(Saves):
    PROGRAM = textwrap.dedent("""
        import os, sys, time
        import gpushare
        def function(scratch): open(scratch, "w").write("x")
        gpushare.on_save(function, sys.argv[1])
        if len(sys.argv) > 2:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(1)   # it was not ended
            os.kill(child, 15)
            print(os.waitpid(child, 0)[1], flush=True)
        while True:
            gpushare.step()
            print("step", flush=True)
            time.sleep(0.01)
    """)

    def start(self, *arguments, **environ):
        process = subprocess.Popen([sys.executable, "-c", self.PROGRAM, self.path, *arguments], stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, PYTHONPATH=str(SHIM.parent), **environ))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_job_saves_and_ends(self):
        process = self.start()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 128 + signal.SIGTERM)
        self.assertIsNotNone(self.job.resume(self.path).step)

    def test_agent_hears_of_it(self):
        agent = self.agent()
        process = self.start()
        peer = agent.peer()
        peer.expect("progress")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(peer.expect("saved")["path"], self.path)
        self.assertEqual(process.wait(20), 128 + signal.SIGTERM)

    def test_child_ends_as_usual(self):
        process = self.start("fork")
        self.assertEqual(process.stdout.readline(), "15\n")

    def test_rank_waits_for_the_others(self):
        agent = self.agent()
        process = self.start(RANK="0", WORLD_SIZE="2")
        peer = agent.peer()
        peer.expect("progress")
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        self.assertIsNone(process.poll(), "rank 1 may be a step behind")
        self.save(peer, 5)
        self.assertEqual(peer.expect("saved")["request"], 5)
        self.assertEqual(process.wait(20), 128 + signal.SIGTERM)

    def test_rank_that_has_saved_and_waits_ends_at_once(self):
        agent = self.agent()
        process = self.start(RANK="0", WORLD_SIZE="2")
        peer = agent.peer()
        peer.send({"type": "stop", "sequence": 1, "stop": True})
        peer.expect("stopped")
        self.save(peer, 5)
        peer.expect("saved")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(5), 128 + signal.SIGTERM, "it would wait ten seconds for the others")

    def test_handler_of_the_job_stays(self):
        mine = lambda *_: None
        before = signal.signal(signal.SIGTERM, mine)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        self.job.on_save(self.write, self.path)
        self.assertIs(signal.getsignal(signal.SIGTERM), mine)


del ShimTest
