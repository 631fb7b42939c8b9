"""Reranking of the n best translations by another translator: https://aclanthology.org/N04-1021."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum

from regard.decoding import Search
from regard.documents.text_spans import word_spans
from regard.errors import TooLongError
from regard.memory import SentenceMatches
from regard.results import Prediction, TextPrediction

OWN_SCORE, NETWORK, WORDS = "model", "network", "words"  # shares of a score
# given targets of sources, and the segments of a memory that are like each source
_Scores = Callable[[Sequence[str], Sequence[str], SentenceMatches], Sequence[Prediction]]


class Ranking(ABC):
    """Ranks the n best translations of a search."""

    n_best: int  # candidates of each text

    def widened(self, search: Search, width: int) -> Search:
        """Return a search for as many translations as are ranked; one of `width` hypotheses finds no more of them."""
        wide = copy.copy(search)
        wide.n_best = max(search.n_best, self.n_best if width == 1 else min(self.n_best, search.width))
        return wide

    @abstractmethod
    def ranked(
        self, predictions: Sequence[Prediction], n_best: int, matches: SentenceMatches | None = None
    ) -> list[Prediction]:
        """Return the best `n_best` of each text, with the shares of their scores.

        `matches`: segments of a memory like each text, for a run that reads them.
        """


class Reranker(Ranking):
    """score + weight · log p(target | source) + words · length, p by another run."""

    def __init__(self, scores: _Scores, weight: float, words: float, n_best: int) -> None:
        self.scores, self.weight, self.words, self.n_best = scores, weight, words, n_best

    def ranked(
        self, predictions: Sequence[Prediction], n_best: int, matches: SentenceMatches | None = None
    ) -> list[Prediction]:
        """Return the best `n_best` of each text; a score has shares for the model, the network and the words.

        Raises TooLongError, with the number of the text, for one that is too long for the other run.
        """
        rows = [candidates(one) for one in predictions]
        values = self.values(rows, matches)
        weights = (1.0, self.weight, self.words)
        found = list[Prediction]()
        for prediction, some, mine in zip(predictions, rows, values, strict=True):
            shares = [
                dict(zip((OWN_SCORE, NETWORK, WORDS), map(float.__mul__, weights, one), strict=True)) for one in mine
            ]
            ranked = sorted(
                (
                    replace(one, score=fsum(share.values()), shares=share)
                    for one, share in zip(some, shares, strict=True)
                ),
                key=lambda one: -one.score,
            )[:n_best]
            found.append(replace(ranked[0], alternatives=[*ranked[1:]]) if ranked else prediction)
        return found

    def values(
        self, rows: Sequence[Sequence[TextPrediction]], matches: SentenceMatches | None = None
    ) -> list[list[tuple[float, float, float]]]:
        """Return what the weights 1, `weight` and `words` are multiplied by, for each candidate of each text.

        Raises TooLongError, with the number of the text, for one that is too long for the other run.
        """
        flat = [one for some in rows for one in some]
        numbers = [number for number, some in enumerate(rows, start=1) for _ in some]
        similar = [() if matches is None else matches[number - 1] for number in numbers]
        try:
            scored = self.scores([one.source for one in flat], [one.text for one in flat], similar)
        except TooLongError as error:
            line = None if error.line is None else numbers[error.line - 1]
            raise TooLongError(error.path, error.problem, line=line, hint=error.hint) from error
        terms = iter(
            (one.score, fsum(other.log_probs), float(len(word_spans(one.text))))
            for one, other in zip(flat, scored, strict=True)
        )
        return [[next(terms) for _ in some] for some in rows]


def candidates(prediction: Prediction) -> list[TextPrediction]:
    """Return the translations of a text; none of any other answer."""
    if not isinstance(prediction, TextPrediction):
        return []
    return [replace(prediction, alternatives=[]), *map(_plain, prediction.alternatives)]


def _plain(one: Prediction) -> TextPrediction:
    assert isinstance(one, TextPrediction)  # alternatives of a text are texts
    return one
