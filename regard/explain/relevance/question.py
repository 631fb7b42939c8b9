"""Items of one example to explain, as a function of the vectors of the input words."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.recording import is_hidden
from regard.errors import RegardError, nearest
from regard.layers.embedders.embedder import Embedder
from regard.models import Model
from regard.ops.plain import plain, without_compiler
from regard.records import UNK, Batch

Baseline = Literal["unknown", "zero"]
OnProgress = Callable[[], None]


def no_progress() -> None:
    """Report nothing."""


class Question:
    """The items of one example, each in a row of its own: rows are independent, so one pass computes all.

    `columns` names the inputs of the model, in the order of `Model.reads`. Items are those that the model counts: the
    words of a translation, the label of a text, the tag of each word. The explained value is its log-probability, or
    the number of a regression.
    """

    def __init__(
        self,
        model: Model,
        batch: Batch,
        columns: Sequence[str],
        items: Tensor | None = None,
        progress: OnProgress = no_progress,
    ) -> None:
        """`batch` has one example; `items` (item,) are places of the second axis of the model's losses, None: all.

        `progress` is called before every pass through the model; what it raises ends the explanation.
        """
        if len(batch.lines) != 1:
            raise ValueError(f"one example at a time is explained, not {len(batch.lines)}")
        self.model, self.columns, self.progress = model, tuple(columns), progress
        counted = model.counted(batch)[0].nonzero().squeeze(-1)
        self.items = counted if items is None else items
        self.batch = batch.select(torch.zeros_like(self.items))
        self.reads = model.reads(self.batch)
        if not self.reads or len(self.reads) != len(self.columns):
            raise RegardError("relevance: this model does not name the words it reads, so none can be weighted")

    def about(self, items: Tensor) -> Self:
        """Return the same question about these items (item,), to which others do not matter; one may come again."""
        found = copy.copy(self)
        found.items, found.batch = items, self.batch.select(torch.zeros_like(items))
        found.reads = self.model.reads(found.batch)
        return found

    @property
    def vectors(self) -> list[Tensor]:
        """Return the vectors (row, n, dim) of the inputs from the embedders, with positions."""
        with torch.no_grad(), plain():
            return [embedder(ids)[0] for embedder, ids in self.reads]

    def baseline(self, kind: Baseline) -> list[Tensor]:
        """Return the baseline vectors: of an unknown word at each place, or zeros."""
        if kind == "zero":
            return [torch.zeros_like(vectors) for vectors in self.vectors]
        with torch.no_grad(), plain():
            return [embedder(torch.full_like(ids, UNK))[0] for embedder, ids in self.reads]

    def answer(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return the log-probabilities (row, item) of all items, read from these vectors."""
        self.progress()
        with plain(), without_compiler(), _substituted(self.reads, vectors):
            return self.model.explained(self.batch)

    def chosen(self, answer: Tensor) -> Tensor:
        """Return which numbers of an answer are asked for, 1 for those and 0 for others, in its shape."""
        rows = torch.arange(len(self.items), device=answer.device)
        return torch.zeros(answer.shape, dtype=answer.dtype, device=answer.device).index_put(
            (rows, self.items), torch.ones((), dtype=answer.dtype, device=answer.device)
        )

    def scores(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return what is explained (row,): the log-probability of each row's item, in nats."""
        answer = self.answer(vectors)
        return (answer * self.chosen(answer)).flatten(1).sum(dim=1)

    def of_words(self, found: Sequence[Tensor]) -> list[Tensor]:
        """Numbers (row · k, n) for each read → (row, n); a word that is read as k rows has their sum."""
        return [one.view(len(self.items), -1, one.shape[-1]).sum(dim=1) for one in found]


class StateQuestion(Question):
    """The states of a hidden layer: the explained value is the sum of a state, as in https://aclanthology.org/P17-1106.

    The layer is a module of the model by its name; the first tensor (row, n, dim) of its output holds the states. So
    any state of an encoder or decoder can be attributed to the words before it.
    """

    def __init__(self, model: Model, batch: Batch, columns: Sequence[str], state: str, places: Tensor) -> None:
        """`places` (item,) count from 0 along the states. Raises RegardError for an unknown module."""
        super().__init__(model, batch, columns, places)
        known = dict(model.named_modules())
        if state not in known:
            raise RegardError(f"relevance: there is no layer '{state}' in this model ({nearest(state, known)})")
        self.state = known[state]

    def answer(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return the states (row, n, dim) of the layer, read from these vectors."""
        found: list[Tensor] = []

        def keep(module: nn.Module, given: Any, output: Any) -> None:
            while not isinstance(output, Tensor):
                output = output[0]
            found.append(output)

        with ExitStack() as stack:
            stack.callback(self.state.register_forward_hook(keep).remove)
            super().answer(vectors)
        if not found:
            raise RegardError("relevance: this layer takes no part in the answer")
        return torch.cat(found, dim=1)


@contextmanager
def _substituted(reads: Sequence[tuple[Embedder, Tensor]], vectors: Sequence[Tensor]) -> Iterator[None]:
    """Replace the outputs of embedders by these vectors.

    A decoder may read them step by step; a model of several texts may read all of them as rows of one batch.
    """
    waiting = [(embedder, ids, given) for (embedder, ids), given in zip(reads, vectors, strict=True)]
    places = [0] * len(waiting)

    def hook(module: nn.Module, arguments: tuple[Any, ...], output: tuple[Tensor, Any]) -> tuple[Tensor, Any]:
        if is_hidden():  # a draft keeps its own vectors
            return output
        read, found, rows = arguments[0], list[Tensor](), 0
        for number, (embedder, ids, given) in enumerate(waiting):
            place = slice(places[number], places[number] + read.shape[1])
            wanted = ids[:, place]
            if embedder is not module or not wanted.shape[1]:
                continue
            if torch.equal(read[rows : rows + len(ids), : wanted.shape[1]], wanted):
                places[number], rows = place.stop, rows + len(ids)
                found.append(functional.pad(given[:, place], (0, 0, 0, read.shape[1] - wanted.shape[1])))
            if rows == len(read):
                return torch.cat(found) if len(found) > 1 else found[0], output[1]
        raise RegardError("relevance: this model reads words that it does not name, so they cannot be weighted")

    with ExitStack() as stack:
        for embedder in dict.fromkeys(embedder for embedder, _ in reads):
            stack.callback(embedder.register_forward_hook(hook).remove)
        yield
