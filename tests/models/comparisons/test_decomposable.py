"""Attend, compare, aggregate: against loops over the words of both texts."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.models.comparisons import COMPARISONS
from regard.models.comparisons.decomposable import DecomposableComparison
from regard.models.settings import AttentionSettings
from regard.records import Sequences
from regard.registry import Choice

DIM, HIDDEN, FARTHEST = 3, 4, 2
N, M = 5, 4  # words of both texts, more than FARTHEST apart

Words = list[Tensor]  # each (dim)


def network(part: nn.Module) -> Callable[[Tensor], Tensor]:
    """A feed-forward network word by word, out of its matrices alone."""
    layers = [(one.weight, one.bias) for one in part.modules() if hasattr(one, "weight")]

    def made(word: Tensor) -> Tensor:
        for weight, bias in layers:
            word = torch.stack([(row * word).sum() for row in weight]) + bias
            word = torch.stack([max(value, torch.zeros_like(value)) for value in word])
        return word

    return made


def averages(scores: list[list[Tensor]], words: Words) -> Words:
    """sum_j softmax_j(scores_ij) words_j."""
    found = []
    for row in scores:
        total = sum(score.exp() for score in row)
        found.append(sum((score.exp() / total * word for score, word in zip(row, words, strict=True)), torch.zeros(1)))
    return found


def beside_own(model: DecomposableComparison, words: Words) -> Words:
    """[a_i; a'_i], with a number for each distance up to FARTHEST and one for all beyond."""
    f, biases = network(model.from_words), model.intra.span.biases
    scores = [
        [
            f(one) @ f(other) + biases[i - j + FARTHEST if abs(i - j) <= FARTHEST else -1]
            for j, other in enumerate(words)
        ]
        for i, one in enumerate(words)
    ]
    return [torch.cat(pair) for pair in zip(words, averages(scores, words), strict=True)]


def compared(model: DecomposableComparison, word: Tensor, aligned: Tensor) -> Words:
    return [word, aligned, word - aligned, word * aligned] if model.differences else [word, aligned]


def slowly(model: DecomposableComparison, first: Words, second: Words) -> Tensor:
    if model.intra is not None:
        first, second = beside_own(model, first), beside_own(model, second)
    f, g, h = map(network, (model.attend.project, model.compare, model.aggregate))
    scores = [[f(a) @ f(b) for b in second] for a in first]
    beta, alpha = averages(scores, second), averages([list(column) for column in zip(*scores, strict=True)], first)
    sums = [
        sum(g(torch.cat(compared(model, *pair))) for pair in zip(words, aligned, strict=True))
        for words, aligned in ((first, beta), (second, alpha))
    ]
    return h(torch.cat(sums))


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("intra", [False, True])
def test_equals_loops_over_words(intra, differences, assert_agrees):
    own = AttentionSettings(score=Choice("dot"), span=(Choice("distance_bias", {"max_distance": FARTHEST}),))
    settings = {"hidden_dim": HIDDEN, "intra": own if intra else None, "differences": differences}
    model = DecomposableComparison(DIM, **settings)
    model.double().eval().requires_grad_(False)
    if intra:
        nn.init.normal_(model.intra.span.biases)
    first, second = (torch.randn(1, length, DIM, dtype=torch.float64) for length in (N, M))
    padded = [
        Sequences(torch.cat([one, torch.randn(1, 2, DIM).double()], dim=1), torch.arange(one.shape[1] + 2)[None] < n)
        for one, n in ((first, N), (second, M))
    ]
    assert_agrees("D10", model(*padded)[0], slowly(model, list(first[0]), list(second[0])), 1e-10)


def test_differences_of_heads_of_another_width_are_refused():
    settings = {"hidden_dim": 6, "differences": True, "attention": {"num_heads": 2}}
    with pytest.raises(ConfigError, match=r"differences: needs one width"):
        COMPARISONS.build(Choice("decomposable", settings), DIM)
