"""A rotation learned against a discriminator of languages: https://arxiv.org/abs/1710.04087 (MUSE)."""

from collections.abc import Iterable
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from regard.config import Doc
from regard.config.bounds import Fraction, Positive, Size
from regard.config.common_settings import HiddenDim
from regard.statistical.dictionaries.known_pairs import Rounds
from regard.statistical.dictionaries.method import FREQUENT, DictionaryMethod, Space, SpaceMaps, refined, rotation
from regard.statistical.dictionaries.spaces import mean_csls, principal_axes

_PULL = 0.01  # β of equation 7
_DECAY, _SHRINK = 0.95, 0.5  # of the rate: after each epoch, and once more where mean CSLS fell


class Adversarial(DictionaryMethod):
    """Rotate the source so that a discriminator cannot distinguish its words from target words, then refine.

    After each step W ← (1 + β) W - β W Wᵀ W keeps the map near a rotation (equation 7). The map with the highest mean
    CSLS is refined: of the start, and of each epoch of each restart. Rates, smoothing, dropout and batches are those of
    the paper; updates, words and discriminator are smaller, for a processor. The paper starts from the identity; here
    the principal axes of both spaces are turned on each other first, as in https://arxiv.org/abs/1801.06126. Fails on
    vectors of small texts.
    """

    def __init__(
        self,
        *,
        words: Annotated[Size, Doc("Most frequent words that the discriminator reads; the paper: 50,000.")] = 5_000,
        start: Annotated[
            Literal["principal_axes", "identity"],
            Doc("First map: principal axes of one space on the other's, or, as in the paper, the identity."),
        ] = "principal_axes",
        restarts: Annotated[Size, Doc("Games with other random numbers; the best map by mean CSLS is used.")] = 2,
        epochs: Annotated[Size, Doc("Epochs, each of `updates` updates.")] = 5,
        updates: Annotated[Size, Doc("Updates of the map in an epoch; MUSE has 31,250.")] = 250,
        discriminator_updates: Annotated[Size, Doc("Updates of the discriminator for each of the map.")] = 5,
        batch_size: Annotated[Size, Doc("Words of each language in an update.")] = 32,
        hidden_dim: HiddenDim = 256,
        input_dropout: Annotated[Fraction, Doc("Dropout probability of the discriminator's input.")] = 0.1,
        smoothing: Annotated[Fraction, Doc("Label smoothing of the discriminator.")] = 0.2,
        learning_rate: Annotated[Positive, Doc("Rate of SGD, for map and discriminator.")] = 0.1,
        rounds: Rounds = 10,
    ) -> None:
        self.words, self.start, self.restarts = words, start, restarts
        self.epochs, self.updates, self.batch_size = epochs, updates, batch_size
        self.discriminator_updates, self.hidden_dim = discriminator_updates, hidden_dim
        self.input_dropout, self.smoothing = input_dropout, smoothing
        self.learning_rate, self.rounds = learning_rate, rounds

    def fit(self, source: Space, target: Space, generator: torch.Generator) -> SpaceMaps:
        spaces = source.head(self.words), target.head(self.words)
        first = torch.eye(spaces[0].shape[1]) if self.start == "identity" else _axes_on_axes(*spaces)
        best, highest = first, _score(first, *spaces)
        for _ in range(self.restarts):
            found, score = self._played(first, *spaces, generator)
            if score > highest:
                best, highest = found, score
        return rotation(refined(source.head(FREQUENT), target.head(FREQUENT), best, self.rounds))

    def _played(
        self, start: Tensor, source: Tensor, target: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, float]:
        """Return the map of the best epoch of a game, and its mean CSLS."""
        rate, game = self.learning_rate, Game(self, start, source, target, generator)
        best, highest = start, float("-inf")
        for _ in range(self.epochs):
            for _ in range(self.updates):
                for _ in range(self.discriminator_updates):
                    game.update_discriminator(rate)
                game.update_map(rate)
            found = game.map.detach().clone()
            score = _score(found, source, target)
            rate *= _DECAY if score > highest else _DECAY * _SHRINK
            if score > highest:
                best, highest = found, score
        return best, highest


class Game:
    """Map, discriminator, and the random numbers of both."""

    def __init__(
        self, settings: Adversarial, start: Tensor, source: Tensor, target: Tensor, generator: torch.Generator
    ) -> None:
        self.settings, self.generator = settings, generator
        dim, hidden = source.shape[1], settings.hidden_dim
        self.spaces = tuple(dim**0.5 * one for one in (source, target))  # coordinates near 1, which the rate suits
        self.map = start.clone().requires_grad_()
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
        with torch.no_grad():
            words = self.sampled()
        _step(self.discriminator.parameters(), self.loss(words, self.labels, self.settings.input_dropout), rate)

    def update_map(self, rate: float) -> None:
        """Learn to have the discriminator wrong, and stay near a rotation."""
        _step([self.map], self.loss(self.sampled(), 1 - self.labels), rate)
        with torch.no_grad():
            own = self.map
            own.copy_((1 + _PULL) * own - _PULL * own @ own.T @ own)

    def sampled(self) -> Tensor:
        """Return random words of both languages, the source mapped: (2 · batch, dim)."""
        source, target = (
            one[torch.randint(len(one), (self.settings.batch_size,), generator=self.generator)] for one in self.spaces
        )
        return torch.cat([source @ self.map, target])

    def loss(self, words: Tensor, labels: Tensor, dropout: float = 0.0) -> Tensor:
        """Return the cross-entropy of the discriminator; the map learns without its dropout."""
        if dropout:
            words = words * (torch.rand(words.shape, generator=self.generator) >= dropout) / (1 - dropout)
        return binary_cross_entropy_with_logits(self.discriminator(words), labels)


@torch.no_grad()
def _score(found: Tensor, source: Tensor, target: Tensor) -> float:
    """Return the mean CSLS of mapped frequent words, by which maps are chosen."""
    return mean_csls(normalize(source[:FREQUENT] @ found, dim=1), target[:FREQUENT])


def _axes_on_axes(source: Tensor, target: Tensor) -> Tensor:
    """Return the rotation of the source's principal axes onto the target's."""
    return principal_axes(source) @ principal_axes(target).T


def _step(parameters: Iterable[Tensor], loss: Tensor, rate: float) -> None:
    """Take a step of SGD."""
    own = [*parameters]
    with torch.no_grad():
        for one, gradient in zip(own, torch.autograd.grad(loss, own), strict=True):
            one.sub_(rate * gradient)
