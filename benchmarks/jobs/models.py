"""The models. Each computes its training loss, and evaluates itself on held-out images.

All but the mlp, which is to stay narrow, have a width: a factor of the size of their layers. It lets them keep a card busy.
"""
import functools

import torch
from torch import nn
from torch.nn import functional

from data import SIDE

CLASSES = 10


class VAE(nn.Module):
    """A variational autoencoder; loss is the negative evidence lower bound: reconstruction + KL divergence, nats per image."""

    def __init__(self, width=1, latent=16):
        super().__init__()
        hidden = 768 * width
        pixels = SIDE * SIDE
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                     nn.Linear(hidden, pixels))

    def loss(self, images, _):
        mean, log_variance = self._encode(images)
        return self._bound(images, mean + torch.randn_like(mean) * (0.5 * log_variance).exp(), mean, log_variance)

    def evaluate(self, images, _):
        """At the posterior's mean, so that an evaluation draws no random number."""
        mean, log_variance = self._encode(images)
        return {"loss": self._bound(images, mean, mean, log_variance).item()}

    def _encode(self, images):
        code = self.encoder(images)
        return self.mean(code), self.log_variance(code)

    def _bound(self, images, sample, mean, log_variance):
        reconstruction = functional.binary_cross_entropy_with_logits(self.decoder(sample), images.flatten(1), reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
        return (reconstruction + divergence) / len(images)


class Classifier(nn.Module):
    """The base of the classifiers: cross entropy and accuracy."""

    def loss(self, images, labels):
        return functional.cross_entropy(self(images), labels)

    def evaluate(self, images, labels):
        scores = self(images)
        return {"loss": functional.cross_entropy(scores, labels).item(),
                "accuracy": (scores.argmax(1) == labels).float().mean().item()}


class MLP(Classifier):
    """Many narrow dense layers: on a GPU, launching them takes longer than computing them."""

    def __init__(self, width=1, hidden=48, depth=10):
        super().__init__()
        layers = [nn.Flatten(), nn.Linear(SIDE * SIDE, hidden), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, CLASSES))

    def forward(self, images):
        return self.layers(images)


class CNN(Classifier):
    """Two convolutions, two dense layers."""

    def __init__(self, width=1):
        super().__init__()
        channels, hidden = 32 * width, 128 * width
        self.layers = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(2 * channels * (SIDE // 4) ** 2, hidden), nn.ReLU(), nn.Dropout(0.25), nn.Linear(hidden, CLASSES))

    def forward(self, images):
        return self.layers(images.unsqueeze(1))


class Recurrent(Classifier):
    """Reads the image row by row; the last state of each direction classifies the digit."""

    def __init__(self, cell, hidden, width=1, bidirectional=False):
        super().__init__()
        hidden *= width
        self.cell = cell(SIDE, hidden, batch_first=True, bidirectional=bidirectional)
        self.out = nn.Linear(hidden * (2 if bidirectional else 1), CLASSES)

    def forward(self, rows):
        _, state = self.cell(rows)
        if isinstance(state, tuple):   # an LSTM's (state, cell)
            state = state[0]
        return self.out(state.transpose(0, 1).flatten(1))


class Transformer(Classifier):
    """An encoder over the rows of the image: mostly matrix products. The mean over the rows classifies the digit."""

    def __init__(self, width=1, heads=4, layers=2):
        super().__init__()
        width *= 64
        self.embed = nn.Linear(SIDE, width)
        self.places = nn.Parameter(0.02 * torch.randn(SIDE, width))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True) for _ in range(layers))
        self.out = nn.Linear(width, CLASSES)

    def forward(self, rows):
        state = self.embed(rows) + self.places
        for layer in self.layers:
            state = layer(state)
        return self.out(state.mean(1))


MODELS = {
    "vae": VAE,
    "mlp": MLP,
    "cnn": CNN,
    "rnn": functools.partial(Recurrent, nn.RNN, 320),
    "gru": functools.partial(Recurrent, nn.GRU, 192),
    "birnn": functools.partial(Recurrent, nn.RNN, 224, bidirectional=True),
    "lstm": functools.partial(Recurrent, nn.LSTM, 160),
    "transformer": Transformer,
}
