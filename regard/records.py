"""The tensor records that stages hand to each other. `mask` is boolean: True = visible."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import torch
from torch import Tensor

from regard.pieces import BOS, EOS, PAD, UNK

__all__ = [
    "ANSWER",
    "BOS",
    "DOCUMENT",
    "EOS",
    "FIRST",
    "LABEL",
    "PAD",
    "PASSAGE",
    "QUESTION",
    "SECOND",
    "SOURCE",
    "TAGS",
    "TARGET",
    "TEXT",
    "UNK",
    "Batch",
    "Decoded",
    "Encoded",
    "Loss",
    "Sequences",
    "State",
    "Step",
    "Writer",
    "place",
    "select",
]

# names of columns
SOURCE, TARGET, DOCUMENT = "source", "target", "document"
TEXT, LABEL, TAGS = "text", "label", "tags"
ONE_NUMBER = "number"  # of several labels: regard.text.label_sets
FIRST, SECOND = "first", "second"
PASSAGE, QUESTION, ANSWER = "passage", "question", "answer"


class Sequences(NamedTuple):
    """Rows of different lengths, padded on the right."""

    items: Tensor  # ids (..., length) or vectors (..., length, dim)
    mask: Tensor  # (..., length)


class Batch(NamedTuple):
    """One step's worth of examples, all of one route."""

    columns: Mapping[str, "Sequences | Tensor"]  # source, target …; target ids end with EOS, BOS is not stored
    route: str  # "translate", later "en-de", "denoise" …
    lines: Tensor  # (batch,) line numbers in the corpus, from 0
    count: int  # type: ignore[assignment]  # shadows tuple's; what the loss is divided by: target tokens and end symbols
    read: int | None = None  # pieces that are read, which speeds go by where answers are no texts; None: `count`

    def sequences(self, name: str) -> Sequences:
        """A column of rows of different lengths."""
        return cast(Sequences, self.columns[name])

    def select(self, rows: Tensor) -> "Batch":
        """Rows (long) of this batch, in that order; `count` stays that of the whole."""
        columns = {name: select(column, rows) for name, column in self.columns.items()}
        return self._replace(columns=columns, lines=select(self.lines, rows))

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        return self._replace(columns={name: place(column, device) for name, column in self.columns.items()})


class Encoded(NamedTuple):
    """States of an encoder, and their mask."""

    states: Tensor  # (batch, source, dim)
    mask: Tensor  # (batch, source)
    final: Tensor  # (batch, dim): one vector for the whole sequence
    values: Tensor | None = None  # read in place of states (ConvS2S)
    past: Any = None  # recurrent states, for decoders that copy them
    ids: Tensor | None = None  # (batch, source), for heads that copy words

    @property
    def read(self) -> Tensor:
        """Values that an attention over it reads: `values` where given, else its states."""
        return self.states if self.values is None else self.values


class Decoded(NamedTuple):
    """Output of a decoder."""

    states: Tensor  # (rows, n, dim)
    weights: Tensor | None = None  # (rows, n, source): its own alignment, if asked for


class Step(NamedTuple):
    """One step of a writer."""

    log_probs: Tensor  # (rows, vocab)
    weights: Tensor | None = None  # (rows, source)
    states: Tensor | None = None  # (rows, dim) of the decoder, which the head reads; None: there is more than one


class Loss(NamedTuple):
    """Sums, never means: exact under accumulation and data parallelism."""

    sum: Tensor  # scalar, with gradient
    count: int  # type: ignore[assignment]  # shadows tuple's; what the sum is divided by
    parts: dict[str, Tensor]  # sums to show, by name, without gradient
    learnt: Batch | None = None  # the rows that the sum is of, if not all: the first ones that the model read


class State(Protocol):
    """State of a decoder between steps. A state passed on is spent."""

    def select(self, rows: Tensor) -> "State":
        """Rows (long) of this state, in that order: to reorder, repeat or drop hypotheses."""
        ...


class Writer(Protocol):
    """Anything that writes ids one by one: a translator, a language model, an ensemble."""

    def longest(self, batch: Batch) -> int | None:
        """Most ids of a target that can be written of each example of the batch; None: any number."""
        ...

    def start(self, batch: Batch) -> State:
        """A state with one row per example of the batch."""
        ...

    def step(self, ids: Tensor, state: State, *, need_weights: bool = False) -> tuple[Step, State]:
        """ids (rows, 1), the last written of each row (BOS at first) → log-probabilities of the next."""
        ...


Tree = TypeVar("Tree")


def place(tree: Tree, device: torch.device) -> Tree:
    """The tensors in nested tuples on a device."""
    return cast(Tree, _map(tree, lambda tensor: tensor.to(device)))


def select(tree: Tree, rows: Tensor) -> Tree:
    """Rows of every tensor in nested tuples, on its device; counters and None are shared by all rows and stay."""
    return cast(Tree, _map(tree, lambda tensor: tensor.index_select(0, rows.to(tensor.device))))


def _map(tree: Any, change: Any) -> Any:
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, tuple):
        items = [_map(item, change) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return tree
