"""A training job keeps the memory that a step frees."""

import pathlib
import subprocess
import sys
import unittest

JOBS = pathlib.Path(__file__).resolve().parent.parent
LAST = 20   # steps, after malloc has grown to what a step needs
JOB = f"""
import resource, sys
import memory
if sys.argv[1:]:
    memory.keep()
from interrupts import Interrupts
from progress import Alone
from run import arguments, plan_of
from train import Trainer

faults = []

class Count(Alone):
    def step(self, *_, **__):
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)

plan = plan_of(arguments(["vae", "--workers", "0", "--steps", "45", "--metric-every", "100"]))
Trainer(plan, Count()).run(Interrupts())
print(faults[-1] - faults[-1 - {LAST}])
"""


def faults(*arguments):
    """The pages that the job's last steps fault in."""
    job = subprocess.run([sys.executable, "-c", JOB, *arguments], cwd=JOBS, check=True, stdout=subprocess.PIPE)
    return int(job.stdout)


class Memory(unittest.TestCase):
    def test_what_a_step_frees_is_there_for_the_next(self):
        self.assertLess(5 * faults("keep"), faults())


if __name__ == "__main__":
    unittest.main()
