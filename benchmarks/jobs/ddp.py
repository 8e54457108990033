#!/usr/bin/env python3
"""Data-parallel training of the CNN in several processes of one container, with gloo: `ddp.py --steps 300 --ranks 2`.

Without RANK in its environment it starts its ranks, with the variables that torchrun sets (the torchrun of some
distributions cannot start). Each rank has its own part of the data and reports each of its steps to Trellis, as programs do
whose authors did not think of it.
"""
import argparse
import os
import signal
import socket
import subprocess
import sys
import time

from device import KINDS, Device

EVERY = 5            # steps between two losses, as a mean
EFFORT = 0.25        # of the images' preparation, see data.py
GRACE = 25.0         # seconds in which the ranks may save after SIGTERM


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=32, help="of each rank")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--checkpoint-dir", help="where rank 0 saves when Trellis asks, and all ranks resume from (default: none)")
    parser.add_argument("--device", choices=KINDS, default="cpu", help="of all ranks, or of each in turn (GPUSHARE_EMULATED_CORE)")
    return parser.parse_args(argv)


def launch(argv, ranks):
    """Start the ranks and return the first exit code that is not 0. One failed rank ends all."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))   # a first process has no default action
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = dict(os.environ, WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                  GLOO_SOCKET_IFNAME="lo")
    running = [subprocess.Popen([sys.executable, os.path.abspath(__file__)] + argv, env=dict(common, RANK=str(r), LOCAL_RANK=str(r)))
               for r in range(ranks)]
    try:
        while running:
            time.sleep(0.2)
            for process in list(running):
                code = process.poll()
                if code:
                    return code
                if code == 0:
                    running.remove(process)
        return 0
    finally:
        end(running)


def end(running):
    """Let the ranks save, which Trellis asks for when the pod is being deleted, and end."""
    for process in running:
        process.terminate()
    until = time.monotonic() + GRACE
    for process in running:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Silent:
    """The part of the shim that this program uses, where Trellis is absent."""

    @staticmethod
    def step(**_):
        pass

    @staticmethod
    def on_save(*_):
        pass

    @staticmethod
    def resume(path):
        return os.path.exists(path)


def say(line):
    """Print a line in one write. print() may write the end of the line on its own, after a line of another rank."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def shim():
    try:
        import gpushare
        return gpushare
    except ImportError:
        return Silent


def batches(dataset, seed, size, rank, ranks, done):
    """This rank's batches after the first done ones, without an end. All ranks shuffle alike and take every ranks-th image."""
    import torch
    epoch, skipped = divmod(done, len(range(rank, len(dataset), ranks)) // size)
    while True:
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed + epoch)).tolist()[rank::ranks]
        for at in range(skipped * size, len(order) - size + 1, size):
            items = [dataset[(epoch, index)] for index in order[at:at + size]]
            yield torch.stack([torch.as_tensor(image) for image, _ in items]), torch.tensor([int(label) for _, label in items])
        epoch, skipped = epoch + 1, 0


class Run:
    """What determines the rest of a training: it is equal in all ranks, so rank 0 alone saves it."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.step, self.losses = model, optimizer, 0, []

    def write(self, path):
        import checkpoint
        checkpoint.write(path, {"step": self.step, "losses": self.losses, "model": self.model.state_dict(),
                                "optimizer": self.optimizer.state_dict(), "random": checkpoint.random_state()})

    def follow(self, trellis, folder, rank):
        """Let Trellis ask for checkpoints in folder, and resume from the one there."""
        import checkpoint
        path = os.path.join(folder, checkpoint.NAME)
        if rank == 0:
            trellis.on_save(self.write, path)
        else:
            trellis.on_save(lambda: None)   # it takes part in the stop, and has nothing to save
        if not trellis.resume(path):
            return
        state = checkpoint.load(folder, dict.fromkeys(("step", "losses", "model", "optimizer", "random")))
        self.model.load_state_dict(state["model"], strict=True)
        self.optimizer.load_state_dict(state["optimizer"])
        checkpoint.restore_random_state(state["random"])
        self.step, self.losses = state["step"], state["losses"] if rank == 0 else []
        say("rank=%d resumes at step=%d" % (rank, self.step))


def train(options):
    device = Device(options.device, int(os.environ.get("LOCAL_RANK", "0")))   # before the slow import
    import torch
    import torch.distributed as dist
    from torch.nn import functional
    from torch.nn.parallel import DistributedDataParallel
    from checkpoint import fingerprint
    from data import digits
    from models import MODELS
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    device.repeatable()
    torch.manual_seed(options.seed)
    training, _ = digits(options.seed, EFFORT)
    bare = device.move(MODELS["cnn"]())
    run, trellis = Run(bare, torch.optim.Adam(bare.parameters(), lr=1e-3)), shim()
    if options.checkpoint_dir:
        run.follow(trellis, options.checkpoint_dir, rank)
    model, optimizer = DistributedDataParallel(bare), run.optimizer
    feed = device.ahead(batches(training, options.seed, options.batch_size, rank, ranks, run.step))
    for step in range(run.step + 1, options.steps + 1):
        images, labels = device.move(*next(feed))
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        run.step = step
        run.losses.append(loss.item())
        report = {}
        if step % EVERY == 0:
            report = {"loss": sum(run.losses) / len(run.losses)}
            run.losses = []
            say("rank=%d step=%d loss=%.4f" % (rank, step, report["loss"]))
        trellis.step(samples=len(labels), step=step, total_steps=options.steps, **report)
    feed.close()
    device.loading()
    say("rank=%d finished state=%s" % (rank, fingerprint(bare.state_dict())))
    dist.barrier()
    dist.destroy_process_group()


def main(argv):
    options = arguments(argv)
    if "RANK" not in os.environ:
        return launch(argv, options.ranks)
    train(options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
