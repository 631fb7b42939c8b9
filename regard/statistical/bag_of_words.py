"""A bag of words as a classifier: logistic regression on log-count ratios, the baseline that networks must beat."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, embedding_bag

from regard.evaluation.tokenization import words
from regard.statistical.feature_counts import FeatureCounts
from regard.text.label_sets import positive_label

_Columns = Sequence[str]  # of one example, column by column


class _Bags(NamedTuple):
    """The features of several examples, one after the other."""

    ids: Tensor
    starts: Tensor  # of each example


class BagOfWordsClassifier:
    """P(label) ∝ σ(b + Σ r·w) over the words and word pairs of a text, each once; σ alone of two labels.

    r is the log-count ratio of naive Bayes (https://aclanthology.org/P12-2018). w and b minimise the log loss +
    ‖w‖² / 2C, by L-BFGS. Words are lower-cased; those of several columns are different features.

    >>> BagOfWordsClassifier.fit([["a fine film"], ["a dull film"]], ["good", "bad"]).probabilities([["fine"]])
    """

    def __init__(self, labels: Sequence[str], features: dict[str, int], weights: Tensor, bias: Tensor) -> None:
        """`weights` (feature, label) and `bias` (label,); of two labels of the second alone."""
        self.labels, self._features, self._weights, self._bias = tuple(labels), features, weights, bias

    @classmethod
    def fit(cls, examples: Iterable[_Columns], labels: Sequence[str], *, c: float = 1.0, steps: int = 100) -> Self:
        """Learn from examples and their labels; of the latter there are two or more."""
        bags = [[*word_grams(texts)] for texts in examples]
        known = sorted({*labels})
        features = {name: place for place, name in enumerate(dict.fromkeys(one for bag in bags for one in bag))}
        positive = positive_label(known)
        positives = known if positive is None else [positive]
        targets = torch.tensor([[label == one for one in positives] for label in labels], dtype=torch.float64)
        packed = _packed(bags, features)
        rows = torch.arange(len(bags)).repeat_interleave(torch.tensor([len(bag) for bag in bags]))
        counts = FeatureCounts(len(features), targets.shape[1], dtype=targets.dtype).add(packed.ids, rows, targets)
        ratios = counts.log_count_ratios()
        weights, bias = _regression(packed, ratios, targets, c, steps)
        return cls(known, features, ratios * weights, bias)

    def probabilities(self, examples: Iterable[_Columns]) -> NDArray[np.float64]:
        """Return the probability of each label, (example, label); unknown words are left out."""
        bags = _packed([[*word_grams(texts)] for texts in examples], self._features)
        chances = torch.sigmoid(_scores(bags, self._weights, self._bias))
        if len(self.labels) == 2:
            chances = torch.cat([1 - chances, chances], dim=1)
        found: NDArray[np.float64] = (chances / chances.sum(dim=1, keepdim=True)).numpy()
        return found


def word_grams(texts: _Columns) -> Iterator[str]:
    """Yield the words and pairs of adjacent words of each column, each once."""
    for column, text in enumerate(texts):
        found = words(text.lower())
        grams = [*found, *(f"{one} {other}" for one, other in pairwise(found))]
        yield from (f"{column} {gram}" for gram in dict.fromkeys(grams))


def _regression(bags: _Bags, ratios: Tensor, targets: Tensor, c: float, steps: int) -> tuple[Tensor, Tensor]:
    """Return weights (feature, label) and bias (label,) of least loss: one regression a label, all at once."""
    weights = torch.zeros_like(ratios, requires_grad=True)
    bias = torch.zeros(targets.shape[1], dtype=targets.dtype, requires_grad=True)
    search = torch.optim.LBFGS(
        [weights, bias], max_iter=steps, tolerance_grad=1e-6, tolerance_change=1e-12, line_search_fn="strong_wolfe"
    )

    def loss() -> float:
        search.zero_grad()
        scores = _scores(bags, ratios * weights, bias)
        found = binary_cross_entropy_with_logits(scores, targets, reduction="sum") + weights.square().sum() / (2 * c)
        found.backward()
        return float(found.detach())

    with torch.enable_grad():
        search.step(loss)
    return weights.detach(), bias.detach()


def _scores(bags: _Bags, weights: Tensor, bias: Tensor) -> Tensor:
    """(example, label)"""
    if not len(bags.ids):
        return bias.expand(len(bags.starts), -1)
    return embedding_bag(bags.ids, weights, bags.starts, mode="sum") + bias


def _packed(bags: Sequence[Sequence[str]], features: dict[str, int]) -> _Bags:
    known = [[features[one] for one in bag if one in features] for bag in bags]
    starts = np.cumsum([0, *map(len, known)])[:-1]
    return _Bags(torch.tensor([one for bag in known for one in bag], dtype=torch.long), torch.from_numpy(starts))
