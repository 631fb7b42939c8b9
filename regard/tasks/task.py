"""The contract of tasks: texts in columns → a network, batches, predictions and figures."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from torch import nn

from regard.data import Corpus
from regard.data.batches import Batches, Stream
from regard.decoding import Search
from regard.decoding.features import Feature
from regard.errors import ConfigError
from regard.models import ROUTE, ModelSettings
from regard.records import Batch
from regard.results import Explanation, Prediction
from regard.text import Tokenizer

Texts = Mapping[str, Sequence[str]]  # by column, all of one length


class Task(ABC):
    """What the examples are, what is predicted of them, and how that is scored. A row of TASKS.

    Built with (tokenizers by column, search, features); a text that is given is cut by the tokenizer `source`, one
    that is written by `target`. `route` names the way through a model that has several.
    """

    columns: tuple[str, ...]  # of an example; the last is what is written
    losses: tuple[str, ...] = ("loss", "perplexity")  # figures of texts that are given; the smaller, the better
    metric: str  # that steers early stopping unless the settings say otherwise
    translates = True  # what it writes is judged beside a reference, by METRICS
    continues = False  # what is given is the beginning of what is written, so it may be nothing
    ordered = False  # lines follow on each other: what is held out is the end of the text
    whole = False  # every line counts, empty and long ones too
    without: tuple[str, ...] = ()  # settings of a model that one of this task does not have
    defaults: ClassVar[Mapping[str, Any]] = {}  # settings, as a file would say them, where others than usual are wise

    def __init__(
        self, tokenizers: Mapping[str, Tokenizer], search: Search, features: Sequence[Feature] = (), route: str = ROUTE
    ) -> None:
        self.source, self.target = tokenizers[self.columns[0]], tokenizers[self.columns[-1]]
        self.search, self.features, self.route = search, tuple(features), route

    @abstractmethod
    def network(self, settings: ModelSettings) -> nn.Module:
        """A model of these settings for this task's vocabularies, with new weights."""

    @abstractmethod
    def batch(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]] | None = None) -> Batch:
        """Ids without end symbols → a batch; `lines` count from 0."""

    @abstractmethod
    def predict(self, model: Any, batch: Batch) -> list[Prediction]:
        """One prediction per example, in the batch's order."""

    @abstractmethod
    def force(self, model: Any, batch: Batch) -> list[Prediction]:
        """The given targets as predictions: their score is the sum of their log-probabilities, in nats."""

    @abstractmethod
    def explain(self, model: Any, batch: Batch) -> list[Explanation]:
        """What each source and target of the batch looked at."""

    def stream(
        self, corpus: Corpus, tokenizers: Mapping[str, Tokenizer], *, tokens: int, seed: int, halves: bool = False
    ) -> Stream:
        """The corpus as batches to learn from, without end; for an objective of `halves` each epoch draws these anew.

        Raises ConfigError where each half would be empty.
        """
        if halves and len(corpus):
            lengths = [corpus.lengths(column) for column in self.columns]
            need_two(tokens, int(np.maximum.reduce(lengths).min()) + 1)
        return Batches(corpus, self.columns, tokenizers, route=self.route, tokens=tokens, seed=seed, shuffled=halves)

    @abstractmethod
    def held(self, texts: Texts, tokens: int) -> list[Batch]:
        """Texts to be judged by, as batches of at most so many tokens; `lines` are their places among the texts."""

    def figures(self, total: float, count: int, texts: Texts) -> dict[str, float]:
        """`losses` from the sum of all negative log-probabilities (nats) of so many tokens, which spell the texts."""
        loss = total / max(1, count)
        return {"loss": loss, "perplexity": math.exp(min(loss, 50.0))}


def need_two(tokens: int, shortest: int) -> None:
    """Raises ConfigError where no batch of so many tokens has a half for statistics and one to learn from."""
    if tokens < 2 * shortest:
        problem = f"is {tokens}, so every text is alone in its batch, and the objective learns from half of a batch"
        raise ConfigError("training.batch_tokens", problem, f"{2 * shortest} at least")
