#!/usr/bin/env python3
"""Run ddp.py with one rank in each pod of an Indexed Job whose number of pods may change: `elastic.py /shared --steps 3000`.

Each pod says in a folder of all pods that it is there, and reads which others are. When they change, every pod ends its rank and
starts it again in a job of the new size, which resumes from the checkpoint in the folder. `torchrun --nnodes=1:4` does as much over
the network, and needs no shared folder for it.
"""
import os
import signal
import subprocess
import sys
import time

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ddp.py")
PORT = 29500         # of rank 0, plus the number of ranks: a rank never joins a job of another size
LOST = 10.0          # seconds without a sign after which a pod has left
GRACE = 25.0         # seconds in which a rank may save after SIGTERM
ATTEMPTS = 3         # of a rank that fails, among the same pods


class Pods:
    """The pods of the job. Each has a file with its address, which is as old as its last sign."""

    def __init__(self, folder, index, address):
        self.folder, self.index, self.address = os.path.join(folder, "pods"), index, address
        os.makedirs(self.folder, exist_ok=True)

    def sign(self):
        path = os.path.join(self.folder, str(self.index))
        with open(path + ".new", "w") as file:
            file.write(self.address)
        os.replace(path + ".new", path)

    def addresses(self):
        """Return the addresses of the pods 0, 1 and so on, up to the first that is not there."""
        found = []
        while True:
            path = os.path.join(self.folder, str(len(found)))
            try:
                if time.time() - os.path.getmtime(path) > LOST:
                    return found
                with open(path) as file:
                    found.append(file.read())
            except FileNotFoundError:
                return found


class Rank:
    """The rank of this pod, as a process of the program."""

    def __init__(self, folder, arguments):
        self.command = [sys.executable, PROGRAM, "--checkpoint-dir", folder] + arguments
        self.process = None

    def start(self, index, addresses):
        ranks = str(len(addresses))
        print("%s of %s ranks starts" % (index, ranks), flush=True)
        self.process = subprocess.Popen(self.command, env=dict(
            os.environ, RANK=str(index), WORLD_SIZE=ranks, LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
            MASTER_ADDR=addresses[0], MASTER_PORT=str(PORT + len(addresses))))

    def code(self):
        """Return the exit code; None while the rank runs, or before it has started."""
        return self.process.poll() if self.process else None

    def end(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


def follow(pods, rank):
    """Keep a rank running among the pods that are there, and return its exit code."""
    members, failures = [], 0
    while True:
        pods.sign()
        present = pods.addresses()
        if present != members:
            rank.end()
            members, failures = present, 0
        code = rank.code()
        if code:
            rank.process, failures = None, failures + 1
        if code == 0 or failures >= ATTEMPTS:
            return code
        if rank.process is None and pods.index < len(members):
            rank.start(pods.index, members)
        time.sleep(1)


def main(argv):
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__.strip() + "\n\nusage: elastic.py FOLDER [an argument of ddp.py]…\n"
              "Environment: JOB_COMPLETION_INDEX, which an Indexed Job sets, and POD_IP, the pod's own address.")
        return 0 if argv else 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))   # a first process has no default action
    rank = Rank(argv[0], argv[1:])
    try:
        return follow(Pods(argv[0], int(os.environ["JOB_COMPLETION_INDEX"]), os.environ["POD_IP"]), rank)
    finally:
        rank.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
