"""The contracts of whole models: what a task, an objective and a search may ask of any network."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.layers.embedders.embedder import Embedder
from regard.ops.kernels.search import CompiledWriter
from regard.records import Batch, Decoded, Encoded, State, Step

ROUTE = "translate"  # the only route of a model that does one thing


class Distributions(NamedTuple):
    """What a model finds likely for each item that counts, row by row."""

    log_probs: Tensor  # (item, choice)
    wanted: Tensor  # (item,): the right choice

    def nll(self, smoothing: float = 0.0) -> Tensor:
        """Return losses (item,) in nats, label-smoothed."""
        gold = self.log_probs.gather(-1, self.wanted.unsqueeze(-1)).squeeze(-1)
        return -(1 - smoothing) * gold - smoothing * self.log_probs.mean(dim=-1)


class WrittenColumn(NamedTuple):
    """A column that a model writes for itself, and looks at while it writes its answer."""

    ids: Callable[[Batch], Tensor | None]  # (batch, place), PAD where there is nothing; None: the route needs none
    route: Callable[[str], str]  # of a batch's route: that whose vocabulary the ids are of
    longest: Callable[[Mapping[str, Sequence[int]]], int]  # most places, of the ids of an example by column


class Model(nn.Module, ABC):
    """A whole network. A row of MODELS is a function (columns, *, settings) → Model: its settings are the config's."""

    width: ClassVar[int] = 1  # rows worked on at once for each example, where it answers without a search

    @abstractmethod
    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses (batch, item) in nats, 0 where an item is not counted."""

    @property
    def has_joint_loss(self) -> bool:
        """Return whether `training_losses` has more than that of the answers."""
        return False

    def training_losses(self, batch: Batch, *, smoothing: float = 0.0) -> Mapping[str, Tensor]:
        """Return what maximum likelihood minimises, by name: the sum of `nll` over a batch, and what is added to it."""
        return {"loss": self.nll(batch, smoothing=smoothing).sum()}

    @abstractmethod
    def counted(self, batch: Batch) -> Tensor:
        """Return the mask (batch, item) of the items that `nll` has a loss of."""

    def distributions(self, batch: Batch) -> Distributions:
        """Return the log-probabilities of all choices, whose losses `nll` tells. Raises ConfigError where it cannot."""
        problem = "compares the probabilities of all choices, and this model tells that of the right one alone"
        raise ConfigError("objective", problem, "objective=likelihood")

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        """Return each embedder with the ids that it reads of a batch."""
        return []

    @property
    def written_columns(self) -> Mapping[str, WrittenColumn]:
        """The columns that it writes for itself, by their names in roles of attention."""
        return {}

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages that it tells apart, each with a route of its own; none: all texts take one route."""
        return ()

    @property
    def own_languages(self) -> tuple[str, ...]:
        """The languages that may have a vocabulary of their own: that of the first one is the target side's."""
        return ()

    def route(self, language: str | None) -> str:
        """Return the route of texts whose target is in a language; None: nothing says which.

        Raises ConfigError for a language that this model does not write.
        """
        return ROUTE

    def along(self, route: str) -> Sequence[nn.Module]:
        """Return the modules that batches of a route go through."""
        return [self]

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        """Return its modules by the names of its settings; another model can start from the weights of some.

        A module inside another one of these is a part of its own.
        """
        return {name: [module] for name, module in self.named_children()}

    def foundation(self) -> Sequence[nn.Module]:
        """Return the modules that never learn: they are of use with the weights of another run alone."""
        return []

    @property
    def max_source(self) -> int | None:
        """Most ids of a source, EOS included; None: any number."""
        return None

    @property
    def device(self) -> torch.device:
        """Where its parameters are."""
        return next(self.parameters()).device


class Generator(Model):
    """A model that writes ids one by one: a `Writer` for searches."""

    @abstractmethod
    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded | None]:
        """Return states (batch, n, dim) of given targets, each having read the words before it, and the source's."""

    @abstractmethod
    def longest(self, batch: Batch) -> int | None:
        """Return the most ids of a target that can be written of each example; None: any number."""

    @abstractmethod
    def start(self, batch: Batch) -> State:
        """Return a state with one row per example of the batch."""

    @abstractmethod
    def step(self, ids: Tensor, state: Any, *, need_weights: bool = False) -> tuple[Step, State]:
        """ids (rows, 1), the last written of each row (BOS at first) → log-probabilities of the next."""

    @abstractmethod
    def best(
        self, ids: Tensor, state: Any, count: int, forbidden: Sequence[int] = (), asked: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        """As `step`, but only the `count` likeliest words and their log-probabilities (rows, count), falling.

        Of equal ones the first comes first; `forbidden` words come last, with -inf. Behind them stand the words
        that are `asked` for, however unlikely they are.
        """

    def compiled_writer(self, ids: Tensor, state: Any, steps: int) -> CompiledWriter | None:
        """Return what reads ids (rows, 1) and writes up to `steps` more in compiled code; None where `best` must."""
        return None
