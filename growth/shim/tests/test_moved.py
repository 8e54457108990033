"""A job that has moved continues from what it saved for the move, and says so if it finds something else."""
import hashlib
import json
import os
import shutil
from unittest import mock

from test_gpushare import GOLDEN, ShimTest, eventually
from test_saves import Saves


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Moved(Saves):
    def setUp(self):
        super().setUp()
        self.job.on_save(self.write, self.path)

    def moved_with(self, content=b"state", step=41, **fields):
        """The job has saved this before it moved here."""
        expected = dict({"v": 1, "path": self.path, "step": step, "sha256": sha256(content)}, **fields)
        with open(os.path.join(self.folder, "checkpoint.json"), "w") as file:
            json.dump(expected, file)

    def finds(self, content, step):
        self.content = content
        self.job.step(step=step)
        self.job.save()

    def finds_without_a_record(self, content):
        os.makedirs(os.path.dirname(self.path))
        self.content = content
        self.write(self.path)

    def warns(self, text, path=None):
        with self.assertLogs("gpushare", "WARNING") as logs:
            checkpoint = self.job.resume(path)
        self.assertIn(text, logs.output[0])
        return checkpoint

    def refuses(self, text):
        with self.assertRaisesRegex(self.job.CheckpointError, text):
            self.job.resume()

    def test_the_file_that_was_saved(self):
        self.moved_with()
        self.finds(b"state", 41)
        with mock.patch.object(self.job._log, "warning", side_effect=AssertionError):
            self.assertEqual(self.job.resume(), (self.path, 41, sha256(b"state")))

    def test_the_file_that_the_device_plugin_writes(self):
        shutil.copy(str(GOLDEN / "checkpoint.json"), self.folder)
        self.finds(b"state", 3)
        self.warns("saved step 1200 in /checkpoints/job.pt")

    def test_the_path_is_known(self):
        self.moved_with()
        self.finds(b"state", 41)
        self.job._client().saver.path = None
        self.assertEqual(self.job.resume(), (self.path, 41, sha256(b"state")))

    def test_the_step_is_known_without_a_record(self):
        self.moved_with()
        self.finds_without_a_record(b"state")
        self.assertEqual(self.job.resume(), (self.path, 41, sha256(b"state")))

    def test_no_file(self):
        self.moved_with()
        self.refuses("is missing, where this job saved step 41 before it moved here.*delete this pod")

    def test_no_file_for_a_rank_without_the_volume(self):
        self.moved_with()
        os.environ.update(RANK="1", WORLD_SIZE="2")
        self.assertIsNone(self.job.resume())

    def test_earlier_step(self):
        self.moved_with()
        self.finds(b"old", 30)
        self.refuses("is of step 30, and before it moved here this job saved step 41.*delete this pod")

    def test_another_file_of_the_same_step(self):
        self.moved_with()
        self.finds(b"another", 41)
        self.assertEqual(self.warns("is not the file that this job saved for its move").sha256, sha256(b"another"))

    def test_another_file_without_a_record(self):
        self.moved_with()
        self.finds_without_a_record(b"another")
        self.assertEqual(self.warns("is wrong unless the job has saved since"), (self.path, None, None))

    def test_another_path(self):
        self.moved_with(path="/checkpoints/elsewhere.pt")
        self.finds(b"state", 3)
        self.assertEqual(self.warns("saved step 41 in /checkpoints/elsewhere.pt; it resumes from " + self.path).step, 3)

    def test_what_is_saved_after_the_move_counts(self):
        """The steps of a job that does not number them begin again with each start."""
        self.moved_with()
        self.finds(b"state", 41)
        self.job.resume()
        self.finds(b"later", 2)
        self.assertEqual(self.job.resume(), (self.path, 2, sha256(b"later")))
        self.moved_with(b"the next move", 50)
        self.refuses("is of step 2, and before it moved here this job saved step 50")

    def test_files_that_are_none(self):
        self.finds(b"state", 3)
        for fields in (dict(v=2), dict(path=7), dict(step=-1), dict(step="41"), dict(sha256="0f")):
            with self.subTest(fields):
                self.moved_with(**fields)
                self.assertEqual(self.job.resume().step, 3)
        for content in (b"", b"\xff", b"[]", b"[" * 60000):
            with self.subTest(content[:9]):
                with open(os.path.join(self.folder, "checkpoint.json"), "wb") as file:
                    file.write(content)
                self.assertEqual(self.job.resume().step, 3)


class ObjectStore(Saves):
    URL = "s3://bucket/job.pt"
    DIGEST = sha256(b"state")

    def answer_of(self, function, kind):
        _, peer = self.connected()
        self.job.on_save(function)
        self.save(peer, 7)
        eventually(lambda: self.job._client()._request is not None, "the request has arrived")
        self.job.step()
        return peer.expect(kind)

    def test_function_returns_the_hash(self):
        answer = self.answer_of(lambda: self.job.Checkpoint(self.URL, None, self.DIGEST), "saved")
        self.assertEqual((answer["path"], answer["sha256"]), (self.URL, self.DIGEST))

    def test_hash_is_missing(self):
        for returned in (self.URL, self.job.Checkpoint(self.URL, None, "0f")):
            with self.subTest(returned), self.assertRaisesRegex(self.job.CheckpointError, "cannot read s3://bucket/job.pt: the job must give"):
                self.job.on_save(lambda: returned)
                self.job.save()

    def test_failure_names_what_is_missing(self):
        with self.assertLogs("gpushare", "WARNING"):
            answer = self.answer_of(lambda: self.URL, "failed")
        self.assertIn("the job must give the SHA-256", answer["reason"])

    def test_reported_by_the_job(self):
        _, peer = self.connected()
        self.job.saved(self.URL, 5, sha256=self.DIGEST.upper())
        answer = peer.expect("saved")
        self.assertEqual((answer["path"], answer["step"], answer["sha256"]), (self.URL, 5, self.DIGEST))
        with self.assertLogs("gpushare", "WARNING") as logs:
            self.job.saved(self.URL, 6)
            eventually(lambda: not self.job._client()._hashing, "it is refused")
        self.assertIn("the job must give the SHA-256", logs.output[0])

    def test_no_scratch_file_replaces_an_object(self):
        with self.assertRaisesRegex(ValueError, "on_save\\(\\) writes files, and s3://bucket/job.pt is a URL"):
            self.job.on_save(self.write, self.URL)
        self.assertFalse(os.path.exists("s3:"))

    def test_resume_returns_what_was_saved_for_the_move(self):
        with self.assertLogs("gpushare", "WARNING") as logs:
            self.assertIsNone(self.job.resume(self.URL))
        self.assertIn("the job must look itself", logs.output[0])
        with open(os.path.join(self.folder, "checkpoint.json"), "w") as file:
            json.dump({"v": 1, "path": self.URL, "step": 41, "sha256": self.DIGEST}, file)
        self.assertEqual(self.job.resume(self.URL), (self.URL, 41, self.DIGEST))
        self.assertEqual(self.job.resume(), (self.URL, 41, self.DIGEST))
        with self.assertLogs("gpushare", "WARNING") as logs:
            self.assertIsNone(self.job.resume("gs://bucket/other.pt"))
        self.assertIn("it saved step 41 in s3://bucket/job.pt", logs.output[0])

    def test_urls(self):
        for text, is_url in (("s3://b/k", True), ("GS://b/a b", True), ("file:///a", False), ("File:///a", False), ("/s3://b", False),
                             ("s3:/b", False), ("s3://", False), ("s3://b\n", False), ("", False)):
            self.assertEqual(self.job._is_url(text), is_url, text)


del ShimTest, Saves
