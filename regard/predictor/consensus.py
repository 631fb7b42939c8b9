"""Consensus decoding: minimum Bayes risk over the n best of several translators (https://aclanthology.org/N04-1022)."""

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from regard.arrays import Floats
from regard.decoding import Search
from regard.decoding.beam import BeamSearch
from regard.decoding.sampling import SamplingSearch
from regard.errors import TooLongError
from regard.evaluation.tokenization import words
from regard.memory import SentenceMatches
from regard.predictor.reranking import OWN_SCORE, Ranking, candidates
from regard.results import Prediction, TextPrediction

if TYPE_CHECKING:
    from regard.predictor.predictor import Predictor

_ORDER = 4  # longest n-grams of BLEU
_Lists = Sequence[Sequence[str]]
# the n best translations of each source, and the segments of a memory that are like each source
Translate = Callable[[Sequence[str], SentenceMatches | None], _Lists]
_Scores = Callable[[Sequence[str], Sequence[str], SentenceMatches | None], Sequence[Prediction]]


class Consensus(Ranking):
    """Expected sentence BLEU of each candidate: the mean over all candidates, by the probability of each.

    Scores of different translators have different units. So a candidate's probability follows from its rank in the list
    of its translator: it falls with the root of the rank, and the sum is the weight of the translator.
    """

    def __init__(self, scores: _Scores, others: Mapping[str, Translate], weight: float, n_best: int) -> None:
        """`scores` reads translations of others as the run's own; `others` by a name for the shares of scores."""
        self.scores, self.others, self.weight, self.n_best = scores, others, weight, n_best

    def widened(self, search: Search, width: int) -> Search:
        return wide_search(search, self.n_best)

    def ranked(
        self, predictions: Sequence[Prediction], n_best: int, matches: SentenceMatches | None = None
    ) -> list[Prediction]:
        """Return the best `n_best` of each text; a score has a share for each translator."""
        own = [candidates(one) for one in predictions]
        rows = [row for row, some in enumerate(own) if some and not some[0].warning]
        known = [{one.text: one for one in reversed(own[row])} for row in rows]  # of equal texts the first one
        sources = [own[row][0].source for row in rows]
        similar = None if matches is None else [matches[row] for row in rows]
        lists: list[_Lists] = [[[one.text for one in own[row]] for row in rows]]
        with _numbered(rows):
            lists += [[*ask(sources, similar)] for ask in self.others.values()]
        weights = [1.0] + [self.weight] * len(self.others)
        chosen = [best_of(some, weights, n_best) for some in zip(*lists, strict=True)]
        self._read(chosen, known, sources, similar)
        found, names = [*predictions], (OWN_SCORE, *self.others)
        for row, some, mine in zip(rows, chosen, known, strict=True):
            ranked = [
                replace(mine[text], score=fsum(shares), shares=dict(zip(names, shares, strict=True)))
                for text, shares in some.items()
            ]
            found[row] = replace(ranked[0], alternatives=[*ranked[1:]])
        return found

    def _read(
        self,
        chosen: Sequence[Mapping[str, Sequence[float]]],
        known: Sequence[dict[str, TextPrediction]],
        sources: Sequence[str],
        similar: SentenceMatches | None,
    ) -> None:
        """Add what was chosen and others alone have found to what is known, as the model scores it."""
        missing = [(place, text) for place, some in enumerate(chosen) for text in some if text not in known[place]]
        read = self.scores(
            [sources[place] for place, _ in missing],
            [text for _, text in missing],
            None if similar is None else [similar[place] for place, _ in missing],
        )
        for (place, text), one in zip(missing, read, strict=True):
            assert isinstance(one, TextPrediction)  # a translator writes texts
            known[place][text] = replace(one, source=sources[place], text=text, finished=True)


@contextmanager
def _numbered(rows: Sequence[int]) -> Iterator[None]:
    """Give an error about a source its number among all texts."""
    try:
        yield
    except TooLongError as error:
        line = None if error.line is None else rows[error.line - 1] + 1
        raise TooLongError(error.path, error.problem, line=line, hint=error.hint) from error


def translations_of(translator: "Predictor", n_best: int) -> Translate:
    """Return what translates sources by a translator, `n_best` ways each."""
    wide = wide_search(translator.setup.search, n_best)

    def translations(sources: Sequence[str], matches: SentenceMatches | None) -> list[list[str]]:
        found = translator.predict(sources, search=wide, safeguards=False, matches=matches)
        return [[some.text for some in candidates(one)] for one in found]

    return translations


def wide_search(search: Search, n_best: int) -> Search:
    """Return a search that finds as many translations of each source: a beam as wide, or as many samples."""
    wide = copy.copy(search if isinstance(search, SamplingSearch) else search.as_beam())
    wide.n_best = max(wide.n_best, n_best)
    if isinstance(wide, BeamSearch):
        wide.size = max(wide.size, wide.n_best)
    wide.width = max(wide.width, wide.n_best)
    return wide


def best_of(lists: _Lists, weights: Sequence[float], n_best: int) -> dict[str, list[float]]:
    """Return the `n_best` candidates of a text with the highest expected BLEU, and the share of each list in it."""
    texts = [*dict.fromkeys(text for some in lists for text in some)]
    place, probabilities = {text: number for number, text in enumerate(texts)}, np.zeros((len(lists), len(texts)))
    for row, some in enumerate(lists):
        falling = (1 + np.arange(len(some))) ** -0.5
        np.add.at(probabilities[row], [place[text] for text in some], weights[row] * falling / max(falling.sum(), 1.0))
    shares = sentence_bleu_of_pairs(texts) @ (probabilities / sum(weights)).T
    order = np.argsort(-shares.sum(axis=1), kind="stable")[:n_best]
    return {texts[number]: shares[number].tolist() for number in order}


def sentence_bleu_of_pairs(texts: Sequence[str]) -> Floats:
    """Return the BLEU of each text by each other one as its reference, (text, reference).

    1 is added to the matches and totals of n-grams of two words and more, as in the metric `sentence_bleu`.
    """
    pieces = [words(text) for text in texts]
    lengths = np.array([len(one) for one in pieces], np.float64)
    logs = np.zeros((len(texts), len(texts)))
    for order in range(1, _ORDER + 1):
        counts, more = _counts(pieces, order), float(order > 1)
        matches = np.stack([np.minimum(one, counts).sum(axis=1) for one in counts])
        with np.errstate(divide="ignore", invalid="ignore"):
            logs += np.log((matches + more) / (counts.sum(axis=1)[:, None] + more))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.exp(logs / _ORDER + np.minimum(0.0, 1 - lengths[None, :] / lengths[:, None]))
    empty = lengths == 0
    found[empty] = empty
    return np.asarray(np.where(empty[None, :] & ~empty[:, None], 0.0, found), np.float64)


def _counts(pieces: Sequence[Sequence[str]], order: int) -> Floats:
    """Return how often each n-gram is in each text, (text, n-gram)."""
    rows = [Counter(zip(*(one[start:] for start in range(order)), strict=False)) for one in pieces]
    columns = {gram: number for number, gram in enumerate(dict.fromkeys(gram for row in rows for gram in row))}
    found = np.zeros((len(rows), max(1, len(columns))))
    for number, row in enumerate(rows):
        found[number, [columns[gram] for gram in row]] = [*row.values()]
    return found
