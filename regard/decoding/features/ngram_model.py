"""An n-gram language model beside the translator (He et al. 2016, https://ojs.aaai.org/index.php/AAAI/article/view/9983)."""

import copy
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Gt, Le
from numpy.typing import NDArray
from torch import Tensor

from regard.arrays import Floats, Longs
from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.decoding.features.feature import Feature, Surroundings
from regard.decoding.features.tables import SPACE, learnt_file, spelled_pieces, target_column
from regard.errors import DataError
from regard.records import BOS, Batch, Step
from regard.statistical.arpa import read_arpa
from regard.statistical.ngram_model import EMPTY_STATE, NgramModel

NGRAM_FILE = "language.arpa.gz"  # in the folder of what was learnt
MIN_KNOWN = 0.5  # share of a model's words that are pieces of the vocabulary


class Contexts(NamedTuple):
    """The state of the automaton for each row."""

    states: NDArray[np.int64]  # (rows,)

    def select(self, rows: Tensor) -> "Contexts":
        """Rows in that order."""
        return Contexts(self.states[rows.numpy(force=True)])


class NgramModelFeature(Feature):
    """`weight` · log p(piece | the pieces before it) by a model with back-off, the end of the text included."""

    name = "ngram_model"
    weight: float
    reads_tables = True

    def __init__(
        self,
        *,
        weight: Annotated[AnyFloat, Doc("Interpolation weight of the language model.")] = 0.1,
        file: Annotated[
            Path | None, Doc("ARPA n-gram model over the run's target pieces; null: the model of regard tune.")
        ] = None,
        min_probability: Annotated[float, Gt(0), Le(1), Doc("Floor of the probability of a piece.")] = 1e-7,
    ) -> None:
        self.weight, self.file, self.lowest = weight, file, float(np.log(min_probability))
        self._ngrams: PieceNgrams

    def bind(self, run: Surroundings) -> "NgramModelFeature":
        """Read the model. Raises DataError for a file that is cut off, or whose words are not pieces of the run."""
        other, pieces = copy.copy(self), spelled_pieces(target_column(run))
        path = learnt_file(self.file, run, NGRAM_FILE)
        model = read_arpa(path)
        if not any(SPACE in word for word in model.words):  # it is of words, which may be pieces
            pieces = [piece.removeprefix(SPACE) for piece in pieces]
        known = len({*model.words}.intersection(pieces)) / len(model.words)
        if known < MIN_KNOWN:
            problem = f"only {known:.0%} of its words are pieces that the run writes"
            raise DataError(path, problem, hint="learn one of the run's pieces: regard tune RUN")
        other._ngrams = PieceNgrams(model, np.array([model.id(piece) for piece in pieces], np.int64))
        return other

    def start(self, batch: Batch) -> Contexts:
        return Contexts(np.full(len(batch.lines), self._ngrams.model.start, np.int64))

    def step(self, step: Step, ids: Tensor, state: Contexts) -> tuple[Tensor, Contexts]:
        states = self._ngrams.after(state.states, ids[:, 0].numpy(force=True))
        found = self.weight * self._ngrams.log_probs(states).clip(min=self.lowest)
        return torch.from_numpy(found).to(step.log_probs), Contexts(states)


class PieceNgrams:
    """An n-gram model over the ids of a vocabulary."""

    def __init__(self, model: NgramModel, words: Longs) -> None:
        """`words` (vocab,): the word of the model that each id stands for."""
        self.model, self.words = model, words
        self._kept, self._columns = np.unique(words, return_inverse=True)
        self._places = np.full(len(model.words), -1)
        self._places[self._kept] = np.arange(len(self._kept))

    def after(self, states: Longs, ids: Longs) -> Longs:
        """Return the states (rows,) behind ids (rows,); behind BOS the same ones."""
        return np.where(ids == BOS, states, self.model.steps(states, self.words[ids])[1])

    def log_probs(self, states: Longs) -> Floats:
        """Return log p (rows, vocab) of each id in each state (rows,), in nats.

        What all words have by backing off to no context is overwritten by what longer and longer contexts know.
        """
        model, distinct, rows = self.model, *np.unique(states, return_inverse=True)
        levels, here, totals = list[tuple[Longs, Floats]](), distinct, np.zeros(len(distinct))
        while (here != EMPTY_STATE).any():
            levels.append((here, totals))
            totals = totals + np.where(here == EMPTY_STATE, 0.0, model.backoffs[here])
            here = np.where(here == EMPTY_STATE, EMPTY_STATE, model.lowers[here])
        found = model.log_probs[self._kept] + totals[:, None]  # the arcs of state 0 are all words in order
        for contexts, added in reversed(levels):
            sizes = np.where(contexts == EMPTY_STATE, 0, model.firsts[contexts + 1] - model.firsts[contexts])
            owners = np.repeat(np.arange(len(contexts)), sizes)
            arcs = np.arange(sizes.sum()) + np.repeat(model.firsts[contexts] - np.cumsum(sizes) + sizes, sizes)
            places = self._places[model.arcs[arcs]]
            kept = places >= 0
            found[owners[kept], places[kept]] = model.log_probs[arcs[kept]] + added[owners[kept]]
        whole: Floats = found[rows[:, None], self._columns]
        return whole
