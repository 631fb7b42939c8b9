"""A rotation learned against a discriminator of languages: https://arxiv.org/abs/1710.04087 (MUSE)."""

from collections.abc import Iterable
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from regard.config import Doc
from regard.config.bounds import Fraction, Positive, Size
from regard.config.common_settings import HiddenDim
from regard.statistical.dictionaries.known_pairs import Rounds
from regard.statistical.dictionaries.method import FREQUENT, DictionaryMethod, Space, SpaceMaps, refined, rotation
from regard.statistical.dictionaries.spaces import mean_csls

_DECAY, _SHRINK = 0.98, 0.5  # of the rate: after each epoch, and after one that gains nothing


class Adversarial(DictionaryMethod):
    """Rotate the source so that a discriminator cannot tell its words from target words, then refine.

    After each step W ← (1 + β) W - β W Wᵀ W keeps the map near a rotation (equation 7). The map of the epoch with the
    highest mean CSLS is refined.
    """

    def __init__(
        self,
        *,
        words: Annotated[Size, Doc("Most frequent words that the discriminator reads.")] = 50_000,
        epochs: Annotated[Size, Doc("Epochs, each of `updates` updates.")] = 5,
        updates: Annotated[Size, Doc("Updates of the map in an epoch.")] = 4_000,
        discriminator_updates: Annotated[Size, Doc("Updates of the discriminator for each of the map.")] = 5,
        batch_size: Annotated[Size, Doc("Words of each language in an update.")] = 32,
        hidden_dim: HiddenDim = 2_048,
        input_dropout: Annotated[Fraction, Doc("Dropout probability of the discriminator's input.")] = 0.1,
        smoothing: Annotated[Fraction, Doc("Label smoothing of the discriminator.")] = 0.1,
        learning_rate: Annotated[Positive, Doc("Rate of SGD, for map and discriminator.")] = 0.1,
        beta: Annotated[Positive, Doc("Strength of the pull towards a rotation.")] = 0.01,
        rounds: Rounds = 5,
    ) -> None:
        self.words, self.epochs, self.updates, self.batch_size = words, epochs, updates, batch_size
        self.discriminator_updates, self.hidden_dim, self.input_dropout = (
            discriminator_updates,
            hidden_dim,
            input_dropout,
        )
        self.smoothing, self.learning_rate, self.beta, self.rounds = smoothing, learning_rate, beta, rounds

    def fit(self, source: Space, target: Space, generator: torch.Generator) -> SpaceMaps:
        best = self._played(source.head(self.words), target.head(self.words), generator)
        return rotation(refined(source.head(FREQUENT), target.head(FREQUENT), best, self.rounds))

    def _played(self, source: Tensor, target: Tensor, generator: torch.Generator) -> Tensor:
        """Return the map of the best epoch."""
        dim, rate = source.shape[1], self.learning_rate
        game = Game(self, source, target, generator)
        best, highest = torch.eye(dim), float("-inf")
        for _ in range(self.epochs):
            for _ in range(self.updates):
                for _ in range(self.discriminator_updates):
                    game.update_discriminator(rate)
                game.update_map(rate)
            found = game.map.detach().clone()
            with torch.no_grad():
                score = mean_csls(nn.functional.normalize(source[:FREQUENT] @ found, dim=1), target[:FREQUENT])
            rate *= _DECAY if score > highest else _SHRINK
            if score > highest:
                best, highest = found, score
        return best


class Game:
    """The map, the discriminator, and the draws of both."""

    def __init__(self, settings: Adversarial, source: Tensor, target: Tensor, generator: torch.Generator) -> None:
        self.settings, self.spaces, self.generator = settings, (source, target), generator
        dim, hidden = source.shape[1], settings.hidden_dim
        self.map = torch.eye(dim, requires_grad=True)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
            self.discriminator = nn.Sequential(
                nn.Linear(dim, hidden),
                nn.LeakyReLU(0.2),
                nn.Linear(hidden, hidden),
                nn.LeakyReLU(0.2),
                nn.Linear(hidden, 1),
            )
        smooth, size = settings.smoothing, settings.batch_size
        self.labels = torch.cat([torch.full((size, 1), 1 - smooth), torch.full((size, 1), smooth)])  # source, target

    def update_discriminator(self, rate: float) -> None:
        """Learn to name the language of words."""
        _step(self.discriminator.parameters(), self.loss(self.labels), rate)

    def update_map(self, rate: float) -> None:
        """Learn to have the discriminator wrong, and stay near a rotation."""
        _step([self.map], self.loss(1 - self.labels), rate)
        with torch.no_grad():
            beta, own = self.settings.beta, self.map
            own.copy_((1 + beta) * own - beta * own @ own.T @ own)

    def loss(self, labels: Tensor) -> Tensor:
        """Return the cross-entropy of the discriminator for a drawn batch of both languages."""
        drawn = [
            one[torch.randint(len(one), (self.settings.batch_size,), generator=self.generator)] for one in self.spaces
        ]
        words = torch.cat([drawn[0] @ self.map, drawn[1]])
        kept = torch.rand(words.shape, generator=self.generator) >= self.settings.input_dropout
        logits = self.discriminator(words * words.shape[1] ** 0.5 * kept / (1 - self.settings.input_dropout))
        return binary_cross_entropy_with_logits(logits, labels)


def _step(parameters: Iterable[Tensor], loss: Tensor, rate: float) -> None:
    """Take a step of SGD."""
    own = [*parameters]
    with torch.no_grad():
        for one, gradient in zip(own, torch.autograd.grad(loss, own), strict=True):
            one.sub_(rate * gradient)
