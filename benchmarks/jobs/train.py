"""Training, interruptible at every step."""
import os
import random
from typing import NamedTuple, Optional, Tuple

import numpy as np
import torch

import checkpoint
from data import Feed, Position, digits
from device import Device
from models import MODELS


class Plan(NamedTuple):
    """What to train, and for how long. The run's result depends on kind, width, seed, preprocess, batch sizes and learning rate only."""

    kind: str
    steps: int
    epochs: Optional[int] = None
    batch_size: int = 32
    workers: int = 0
    seed: int = 1
    preprocess: float = 1.0
    metric_every: int = 20
    save_every: int = 0
    checkpoint_dir: Optional[str] = None
    learning_rate: float = 1e-3
    device: str = "cpu"
    batch_range: Optional[Tuple[int, int]] = None   # in which Trellis may choose the batch size
    width: int = 1                                  # of the layers, see models.py
    learning_rate_rule: str = "square-root"         # by which the learning rate follows the batch size


class Trainer:
    """A model, its optimizer and learning-rate schedule, and its position in the data: the content of a checkpoint.

    listener receives every step and returns the batch size and the number of loaders (see progress.py).
    """

    def __init__(self, plan, listener, device=None):
        self.plan, self.listener, self.device = plan, listener, device or Device(plan.device)
        torch.set_num_threads(1)
        self.device.repeatable()
        random.seed(plan.seed), np.random.seed(plan.seed), torch.manual_seed(plan.seed)
        self.model = self.device.move(MODELS[plan.kind](width=plan.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=plan.learning_rate)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=250, gamma=0.7)
        self.step = 0
        training, held_out = digits(plan.seed, plan.preprocess)
        self.held_out = self.device.move(*held_out.all(epoch=0))
        if plan.checkpoint_dir is not None:
            listener.on_save(lambda path: checkpoint.write(path, self.state()), os.path.join(plan.checkpoint_dir, checkpoint.NAME))
        self.feed = Feed(training, plan.seed, plan.batch_size, plan.workers, ahead=self.device.ahead, pins=self.device.pins)
        self.resumed = plan.checkpoint_dir is not None and self._restore()

    def run(self, interrupts):
        """Train to the end, or until interrupts.terminate. True if the end was reached."""
        self._retune()
        if self._done():
            return True
        self.model.train()
        for images, labels in self.listener.timed(self.feed):
            self._train(images, labels)
            self._report(len(labels))
            if interrupts.terminate:
                self.save()
                return False
            if interrupts.save or self.listener.save_requested():
                interrupts.save = False
                self.save()
            elif self.plan.save_every and self.step % self.plan.save_every == 0:
                self.save()
            if self._done():
                self.save()
                return True
            if self.listener.changed():
                self._retune()   # between two steps: the safe point

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            metrics = self.model.evaluate(*self.held_out)
        self.model.train()
        return metrics

    def state(self):
        """The state that determines the rest of training."""
        return {
            "kind": self.plan.kind, "seed": self.plan.seed, "preprocess": self.plan.preprocess,
            "step": self.step, "position": list(self.feed.position), "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(), "schedule": self.schedule.state_dict(), "random": checkpoint.random_state(),
        }

    def save(self):
        if self.plan.checkpoint_dir is not None:
            with self.listener.idle():
                self.listener.save()

    def _train(self, images, labels):
        self.optimizer.zero_grad()
        self.model.loss(*self.device.move(images, labels)).backward()
        if self.plan.batch_range:
            self.listener.gradients(self.model, samples=len(labels))
        self.optimizer.step()
        self.schedule.step()
        self.step += 1

    def _report(self, samples):
        metrics = self.evaluate() if self.step % self.plan.metric_every == 0 or self._done() else {}
        self.listener.step(samples=samples, step=self.step, epoch=self.feed.position.epoch, total_steps=self._total(), **metrics)

    def _retune(self):
        self.feed.retune(self._batch_size(), self.listener.loaders(self.plan.workers))

    def _batch_size(self):
        """The batch size from now on. The learning rate follows it in the same place, between two steps."""
        if not self.plan.batch_range:
            return self.listener.batch_size(self.plan.batch_size)
        low, high = self.plan.batch_range
        size = self.listener.batch_size(self.plan.batch_size, minimum=low, maximum=high, learning_rate=self.plan.learning_rate_rule)
        scale = self.listener.learning_rate_scale()
        for group in self.optimizer.param_groups:   # a checkpoint of the optimizer has the scale, too
            group["lr"] *= scale / group.get("batch_scale", 1.0)
            group["batch_scale"] = scale
        return size

    def _done(self):
        if self.plan.epochs is not None:
            return self.feed.position.epoch >= self.plan.epochs
        return self.step >= self.plan.steps

    def _total(self):
        if self.plan.epochs is not None:
            return self.plan.epochs * -(-len(self.feed.dataset) // self.feed.batch_size)
        return self.plan.steps

    def _restore(self):
        if not self.listener.resume():
            return False
        own = self.state()
        state = checkpoint.load(self.plan.checkpoint_dir, expected=own)
        for key in ("kind", "seed", "preprocess"):
            if state[key] != own[key]:
                raise checkpoint.CheckpointError("%s holds a run with %s=%s, this one has %s: name another --checkpoint-dir" % (
                    self.plan.checkpoint_dir, key, state[key], own[key]))
        try:
            self.model.load_state_dict(state["model"], strict=True)
            self.optimizer.load_state_dict(state["optimizer"])
            self.schedule.load_state_dict(state["schedule"])
            checkpoint.restore_random_state(state["random"])
            self.feed.position = Position(*state["position"])
            self.step = state["step"]
        except (KeyError, TypeError, ValueError, RuntimeError) as err:
            raise checkpoint.CheckpointError("%s does not fit this model: %s" % (self.plan.checkpoint_dir, err)) from err
        return True
