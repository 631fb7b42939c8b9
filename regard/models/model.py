"""The contracts of whole models: the interface of networks for tasks, objectives and searches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.errors import ConfigError
from regard.layers.embedders.embedder import Embedder
from regard.ops.kernels.search import CompiledWriter
from regard.ops.topk import best_words
from regard.records import Batch, Decoded, Encoded, State, Step

ROUTE = "translate"  # the only route of a model with one route


class Distributions(NamedTuple):
    """A model's distributions over choices for each counted item, row by row."""

    scores: Tensor  # (item, choice), whose softmax has the probabilities
    reference: Tensor  # (item,): the reference choice

    @property
    def log_probs(self) -> Tensor:
        """Log-probabilities (item, choice)."""
        return self.scores.log_softmax(dim=-1)

    def nll(self, smoothing: float = 0.0) -> Tensor:
        """Return losses (item,) in nats, label-smoothed."""
        return functional.cross_entropy(self.scores, self.reference, label_smoothing=smoothing, reduction="none")


class WrittenColumn(NamedTuple):
    """A column that a model generates itself, such as a draft, and attends to while it generates its answer."""

    ids: Callable[[Batch], Tensor | None]  # (batch, place), padded with PAD; None: the route needs none
    route: Callable[[str], str]  # a batch's route → the route whose vocabulary the ids are of
    longest: Callable[[Mapping[str, Sequence[int]]], int]  # ids of an example by column → maximum number of places


class Model(nn.Module, ABC):
    """A whole network. A row of MODELS is a function (columns, *, settings) → Model: its settings are the config's."""

    width: ClassVar[int] = 1  # rows processed at once per example, where it answers without a search

    @abstractmethod
    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses (batch, item) in nats, 0 where an item is not counted."""

    @property
    def has_joint_loss(self) -> bool:
        """Return whether `training_losses` has more than the loss of the answers."""
        return False

    def training_losses(self, batch: Batch, *, smoothing: float = 0.0) -> Mapping[str, Tensor]:
        """Return the losses of maximum likelihood by name: the sum of `nll` over a batch, and auxiliary ones."""
        return {"loss": self.nll(batch, smoothing=smoothing).sum()}

    @abstractmethod
    def counted(self, batch: Batch) -> Tensor:
        """Return the mask (batch, item) of the items with a loss in `nll`."""

    def explained(self, batch: Batch) -> Tensor:
        """Return what relevance of words is for, of each counted item (batch, item): its log-probability."""
        return -self.nll(batch)

    def distributions(self, batch: Batch) -> Distributions:
        """Return the log-probabilities of all choices, the basis of `nll`. Raises ConfigError where unsupported."""
        problem = "compares the probabilities of all choices, and this model gives only that of the reference"
        raise ConfigError("objective", problem, "objective=likelihood")

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        """Return each embedder with its ids of a batch."""
        return []

    @property
    def written_columns(self) -> Mapping[str, WrittenColumn]:
        """The columns that it generates itself, by their names in roles of attention."""
        return {}

    @property
    def languages(self) -> tuple[str, ...]:
        """Target languages, each with a route of its own; none: all texts take one route."""
        return ()

    @property
    def own_languages(self) -> tuple[str, ...]:
        """Languages that may have a vocabulary of their own: that of the first one is the target side's."""
        return ()

    def route(self, language: str | None) -> str:
        """Return the route of texts with this target language; None: it is not known.

        Raises ConfigError for a language that this model does not support.
        """
        return ROUTE

    def along(self, route: str) -> Sequence[nn.Module]:
        """Return the modules that batches of a route go through."""
        return [self]

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        """Return its modules by the names of its settings; another model can be initialised from some of them.

        A module inside another one of these is a part of its own.
        """
        return {name: [module] for name, module in self.named_children()}

    def foundation(self) -> Sequence[nn.Module]:
        """Return the modules that are never trained: they need the weights of another run."""
        return []

    @property
    def max_source(self) -> int | None:
        """Maximum ids of a source, EOS included; None: no limit."""
        return None

    @property
    def device(self) -> torch.device:
        """Device of its parameters."""
        return next(self.parameters()).device


class Generator(Model):
    """A model that generates ids one by one: a `Writer` for searches."""

    @abstractmethod
    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded | None]:
        """Return states (batch, n, dim) of given targets, each after the words before it, and the source's states."""

    @abstractmethod
    def longest(self, batch: Batch) -> int | None:
        """Return the maximum ids of a generated target of each example; None: no limit."""

    @abstractmethod
    def start(self, batch: Batch) -> State:
        """Return a state with one row per example of the batch."""

    @abstractmethod
    def step(self, ids: Tensor, state: Any, *, need_weights: bool = False) -> tuple[Step, State]:
        """Return log-probabilities of the next ids, given the last ids (rows, 1) of each row (BOS at first)."""

    def best(
        self, ids: Tensor, state: Any, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        """Do a `step`, but return only the `count` likeliest words and log-probabilities (rows, count), descending.

        Ties keep the order of ids; `forbidden` words come last, with -inf. The words in `included` are appended at any
        probability.
        """
        step, after = self.step(ids, state)
        return *best_words(step.log_probs, count, forbidden, included), after

    def compiled_writer(self, ids: Tensor, state: Any, steps: int) -> CompiledWriter | None:
        """Return a compiled writer that reads ids (rows, 1) and generates up to `steps` more; None: use `best`."""
        return None
