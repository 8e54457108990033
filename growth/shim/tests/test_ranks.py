"""The processes of a distributed job name their rank, whichever launcher has started them."""
import hashlib
import os
import types
from unittest import mock

from test_gpushare import ShimTest, eventually


def initialised(rank, size):
    """torch.distributed with a process group."""
    return types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True,
                                 get_rank=lambda: rank, get_world_size=lambda: size)


def broken():
    raise RuntimeError("no process group")


class Ranks(ShimTest):
    def process(self, distributed=None, **environ):
        return self.job._process(environ, distributed)

    def test_launchers(self):
        for launcher, environ, known in (
                ("torchrun", dict(RANK="5", LOCAL_RANK="1", WORLD_SIZE="8"), dict(rank=5, local_rank=1, world_size=8)),
                ("PyTorchJob", dict(RANK="1", WORLD_SIZE="2"), dict(rank=1, world_size=2)),
                ("Open MPI", dict(OMPI_COMM_WORLD_RANK="3", OMPI_COMM_WORLD_LOCAL_RANK="3", OMPI_COMM_WORLD_SIZE="4"),
                 dict(rank=3, local_rank=3, world_size=4)),
                ("Intel MPI", dict(PMI_RANK="0", PMI_SIZE="2", MPI_LOCALRANKID="0"), dict(rank=0, local_rank=0, world_size=2)),
                ("Slurm", dict(SLURM_PROCID="9", SLURM_LOCALID="1", SLURM_NTASKS="16"),
                 dict(rank=9, local_rank=1, world_size=16)),
                ("Horovod with Gloo", dict(HOROVOD_RANK="3", HOROVOD_LOCAL_RANK="1", HOROVOD_SIZE="4"),
                 dict(rank=3, local_rank=1, world_size=4)),
                ("Horovod in the pod of a PyTorchJob", dict(RANK="0", WORLD_SIZE="1", HOROVOD_RANK="1", HOROVOD_SIZE="2"),
                 dict(rank=1, world_size=2)),
                ("Horovod in a job of Slurm", dict(SLURM_PROCID="0", SLURM_NTASKS="1", HOROVOD_RANK="1", HOROVOD_SIZE="2"),
                 dict(rank=1, world_size=2)),
                ("an Indexed Job", dict(JOB_COMPLETION_INDEX="2"), dict(rank=2)),
                ("torchrun in an Indexed Job", dict(JOB_COMPLETION_INDEX="1", RANK="2", LOCAL_RANK="0", WORLD_SIZE="4"),
                 dict(rank=2, local_rank=0, world_size=4)),
                ("no launcher", {}, {}),
                ("a world size alone", dict(WORLD_SIZE="8"), {})):
            with self.subTest(launcher):
                self.assertEqual(self.process(**environ), known)

    def test_ranks_are_valid_or_absent(self):
        for garbage in ("", "one", "-1", "1.5", "0x1", "\u0664", "9" * 5000, "1048577", "NaN", "1 2"):
            with self.subTest(garbage):
                self.assertEqual(self.process(RANK=garbage, WORLD_SIZE="2"), {})
                self.assertEqual(self.process(RANK="1", LOCAL_RANK=garbage, WORLD_SIZE=garbage), dict(rank=1))
        self.assertEqual(self.process(RANK="8", LOCAL_RANK="0", WORLD_SIZE="8"), dict(rank=8, local_rank=0), "no such rank")
        self.assertEqual(self.process(RANK="0", LOCAL_RANK="4", WORLD_SIZE="2"), dict(rank=0, world_size=2))
        self.assertEqual(self.process(RANK="0", WORLD_SIZE="0"), dict(rank=0))
        self.assertEqual(self.process(RANK=" 3 ", WORLD_SIZE="4\n"), dict(rank=3, world_size=4))

    def test_initialised_process_group_counts_more_than_the_environment(self):
        spawned = dict(RANK="0", WORLD_SIZE="1")   # of the pod, whose processes were spawned by the job itself
        self.assertEqual(self.process(initialised(3, 4), **spawned), dict(rank=3, world_size=4))
        self.assertEqual(self.process(initialised(1, 2)), dict(rank=1, world_size=2))
        self.assertEqual(self.process(types.SimpleNamespace(is_available=lambda: False), **spawned), dict(rank=0, world_size=1))
        for other in (types.SimpleNamespace(), types.SimpleNamespace(is_available=broken), initialised("x", None), object()):
            self.assertIn(self.process(other, **spawned), (dict(rank=0, world_size=1), {}))

    def test_every_line_names_the_rank(self):
        path = os.path.join(self.folder, "model.pt")
        with open(path, "wb") as file:
            file.write(b"weights")
        with mock.patch.dict(os.environ, RANK="1", LOCAL_RANK="1", WORLD_SIZE="2"):
            _, peer = self.connected()
            self.job.loaders(2)
            peer.send({"type": "config", "generation": 1, "loaders": 4})
            self.job.saved(path, 7)
            saved = peer.expect("saved")
            eventually(lambda: self.job.loaders(2) == 4, "the config was read")
            lines = [saved, peer.expect("ack")]
            self.job.step()
            lines.append(peer.expect("progress"))
        for line in lines:
            self.assertEqual((line["rank"], line["local_rank"], line["world_size"]), (1, 1, 2), line["type"])
        self.assertEqual(saved["sha256"], hashlib.sha256(b"weights").hexdigest())

    def test_rank_that_is_set_late_is_found(self):
        _, peer = self.connected()
        self.assertNotIn("rank", peer.expect("progress"))
        with mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="2"):   # torch.multiprocessing.spawn
            self.job.step()
            self.assertEqual(peer.expect("progress")["rank"], 1)
