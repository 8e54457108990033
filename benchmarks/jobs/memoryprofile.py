#!/usr/bin/env python3
"""Record how much memory jobs use over their life, by kind and batch size: `memoryprofile.py > memory.csv`.

A row is one run of run.py, which saves a checkpoint now and then and at its end. Its readings are the anonymous and shared
memory of the process and of its data loader, each page once. allocated_kib is what training holds at most in one step, by PyTorch's
allocator: the model, its gradients, the state of the optimizer and the tensors of the step.
"""
import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from interrupts import EXIT_TERMINATED
from run import DEFAULTS

COLUMNS = "kind,batch,seed,params,flops,allocated_kib,started,memory_mib"
SIZES = (16, 32, 64, 128, 256)
SEEDS = (1, 2)
QUICK = ("mlp", "vae")
QUICK_SIZES = SIZES[:3]
HERE = os.path.dirname(os.path.abspath(__file__))


def allocations(kind, sizes):
    """(parameters, FLOPs for a sample, KiB held at most) of a training step with each batch size."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    from data import digits
    from models import MODELS
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = MODELS[kind]()
    optimizer = torch.optim.Adam(model.parameters())
    images, labels = digits(1, 0)[0].all(epoch=0)

    def step(size):
        optimizer.zero_grad()
        model.loss(images[:size], labels[:size]).backward()
        optimizer.step()

    step(2)   # creates the state of the optimizer
    kept = [tensor for state in optimizer.state.values() for tensor in state.values() if torch.is_tensor(tensor)]
    kept += [*model.parameters(), *model.buffers()]
    params = sum(p.numel() for p in model.parameters())
    for size in sizes:
        with profile(activities=[ProfilerActivity.CPU], with_flops=True) as counted:
            model.loss(images[:size], labels[:size])
        optimizer.zero_grad()   # the step creates the gradients
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
            step(size)
        held = sum(tensor.numel() * tensor.element_size() for tensor in kept) + peak(seen.events())
        yield params, sum(event.flops or 0 for event in counted.events()) / size, held >> 10


def peak(events):
    """The most bytes that were allocated at one time, beyond those at the beginning."""
    live = most = 0
    for event in sorted(events, key=lambda e: e.time_range.start):
        live += event.self_cpu_memory_usage
        most = max(most, live)
    return most


def described(kind, sizes):
    """What allocations() says, from a process of its own: torch keeps memory."""
    out = subprocess.run([sys.executable, os.path.abspath(__file__), "--allocations", kind] + ["--sizes=%s" % ",".join(map(str, sizes))],
                         check=True, stdout=subprocess.PIPE, text=True, cwd=HERE).stdout
    return dict(zip(sizes, out.splitlines()))


def used(pid):
    """Anonymous and shared memory of a process and its children in MiB; 0 once it has ended."""
    total = 0
    for process in [pid] + children(pid):
        try:
            with open("/proc/%d/smaps_rollup" % process) as rollup:
                total += sum(int(line.split()[1]) for line in rollup if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        except OSError:
            continue   # it has just ended
    return total >> 10


def children(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found.append(int(name))
    return found


def record(kind, size, seed, options, stop):
    """The readings of one run, and how many of them are from before its first steps."""
    with tempfile.TemporaryDirectory() as folder:
        job = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "run.py"), kind, "--steps=1000000000", "--batch-size=%d" % size, "--seed=%d" % seed,
             "--preprocess=0.25", "--metric-every=10", "--save-every=50", "--checkpoint-dir=" + folder, "--progress=log"],
            stdout=subprocess.PIPE, text=True, env=dict(os.environ, OMP_NUM_THREADS="1"))
        started = threading.Event()
        threading.Thread(target=follow, args=(job.stdout, started), daemon=True).start()
        try:
            readings, before = watch(job, started, options, stop)
        finally:
            if job.poll() is None:
                job.kill()
            job.wait()
        if job.returncode != EXIT_TERMINATED:
            raise RuntimeError("run.py %s with batches of %d ended with %d" % (kind, size, job.returncode))
        return readings, before


def follow(output, started):
    """Read what a job prints, so that it never waits for that."""
    for line in output:
        if line.startswith("step="):
            started.set()


def watch(job, started, options, stop):
    readings, before, end = [], 0, None
    while job.poll() is None and not stop.is_set():
        memory = used(job.pid)
        if memory:
            readings.append(memory)
        if not started.is_set():
            before = len(readings)
        elif end is None:
            end = time.monotonic() + options.seconds
        elif time.monotonic() > end:
            job.send_signal(signal.SIGTERM)
            end = float("inf")
        time.sleep(options.interval)
    return readings, before


def all_runs(options):
    """Print a row for each run."""
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        models = {kind: pool.submit(described, kind, options.sizes) for kind in options.kinds}
        runs = [(kind, size, seed) for kind in options.kinds for size in options.sizes for seed in SEEDS]
        recorded = [pool.submit(record, *run, options, stop) for run in runs]
        try:
            for (kind, size, seed), run in zip(runs, recorded):
                readings, before = run.result()
                print("%s,%d,%d,%s,%d,%s" % (kind, size, seed, models[kind].result()[size], before, " ".join(map(str, readings))), flush=True)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def numbers(text):
    return tuple(int(word) for word in text.split(","))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="kind", help="default: all")
    parser.add_argument("--sizes", type=numbers, help="batch sizes (default: %s)" % ",".join(map(str, SIZES)))
    parser.add_argument("--seconds", type=float, default=12, help="length of a run, after its start")
    parser.add_argument("--interval", type=float, default=0.2, help="seconds between two readings")
    parser.add_argument("--parallel", type=int, default=min(4, len(os.sched_getaffinity(0))), help="runs at the same time")
    parser.add_argument("--quick", action="store_true", help="two kinds, three sizes, short runs")
    parser.add_argument("--allocations", metavar="kind", help=argparse.SUPPRESS)   # in this process
    options = parser.parse_args(argv)
    options.kinds = options.kinds or (QUICK if options.quick else tuple(DEFAULTS))
    options.sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    if options.quick:
        options.seconds, options.interval = 2, 0.1
    if options.allocations:
        for row in allocations(options.allocations, options.sizes):
            print("%d,%.6g,%d" % row)
        return
    print(COLUMNS, flush=True)
    all_runs(options)


if __name__ == "__main__":
    main(sys.argv[1:])
