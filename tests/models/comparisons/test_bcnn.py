"""BCNN and ABCNN-1, 2, 3: against loops over words, columns and their windows."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import recording
from regard.errors import ConfigError
from regard.models.comparisons import COMPARISONS
from regard.models.comparisons.bcnn import BcnnComparison
from regard.models.settings import AttentionSettings
from regard.records import Sequences
from regard.registry import Choice

DIM, HIDDEN, KERNEL, PLACES = 3, 2, 3, 4
N, M = 5, 2  # words of both texts: more than there are vectors of places, and fewer than a window is wide

MATCH = AttentionSettings(score=Choice("inverse_distance"), weighting=Choice("unnormalised"))
MODELS = {
    "bcnn": {},
    "abcnn-1": {"input_attention": MATCH},
    "abcnn-2": {"pooling_attention": MATCH},
    "abcnn-3": {"input_attention": MATCH, "pooling_attention": MATCH},
}
Words = list[Tensor]  # each (dim)


def build(name: str, num_layers: int = 1) -> BcnnComparison:
    sizes = {"hidden_dim": HIDDEN, "num_layers": num_layers, "kernel": KERNEL, "max_length": PLACES}
    return BcnnComparison(DIM, **sizes, **MODELS[name]).double().eval().requires_grad_(False)


def matches(first: Words, second: Words) -> list[list[float]]:
    """A_ij = 1 / (1 + |x_i - y_j|)."""
    return [
        [1 / (1 + math.sqrt(sum(float(a - b) ** 2 for a, b in zip(x, y, strict=True)))) for y in second] for x in first
    ]


def turned(matrix: list[list[float]]) -> list[list[float]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def mean(words: Words) -> Tensor:
    return sum(words) / len(words)


def cosine(u: Tensor, v: Tensor) -> Tensor:
    return (u @ v / (u.norm() * v.norm())).reshape(1)


def convolved(layer: nn.Module, words: Words) -> Words:
    """tanh(W [x_(i-w+1); …; x_i] + b) for i = 1 … n + w - 1, words before and behind the text being zero."""
    none = [torch.zeros_like(words[0])] * (KERNEL - 1)
    padded = [*none, *words, *none]
    windows = [torch.cat(padded[start : start + KERNEL]) for start in range(len(words) + KERNEL - 1)]
    return [torch.tanh(layer.linear.weight @ window + layer.linear.bias) for window in windows]


def read(layer: nn.Module, words: Words, row_of: list[list[float]]) -> Words:
    """[x_i; sum_j A_ij w_j]."""
    places = [*layer.reading.places, *[torch.zeros_like(words[0])] * N]
    found = [sum(share * places[j] for j, share in enumerate(row)) for row in row_of]
    return [torch.cat(pair) for pair in zip(words, found, strict=True)]


def layer_slowly(layer: nn.Module, first: Words, second: Words) -> list[Words]:
    texts = [first, second]
    if layer.reading is not None:
        forth = matches(first, second)
        texts = [read(layer, words, rows) for words, rows in ((first, forth), (second, turned(forth)))]
    columns = [convolved(layer, words) for words in texts]
    weights = [[1 / KERNEL] * len(one) for one in columns]  # w-ap is a mean
    if layer.pooling is not None:
        between = matches(*columns)
        weights = [[sum(row) for row in rows] for rows in (between, turned(between))]
    return [
        [sum(weights[text][i + k] * columns[text][i + k] for k in range(KERNEL)) for i in range(len(words))]
        for text, words in enumerate((first, second))
    ]


def slowly(model: BcnnComparison, first: Words, second: Words) -> Tensor:
    similarities = [cosine(mean(first), mean(second))]
    for layer in model.layers:
        first, second = layer_slowly(layer, first, second)
        similarities.append(cosine(mean(first), mean(second)))
    return torch.cat([*similarities, mean(first), mean(second)])


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_equals_loops_over_words_and_columns(name, num_layers, assert_agrees):
    model = build(name, num_layers)
    first, second = (torch.randn(1, length, DIM, dtype=torch.float64) for length in (N, M))
    given = [Sequences(one, torch.ones(one.shape[:2], dtype=torch.bool)) for one in (first, second)]
    assert_agrees("D07", model(*given)[0], slowly(model, list(first[0]), list(second[0])), 1e-10)


@pytest.mark.parametrize("scaled", [False, True])
def test_differences_stand_behind_the_rest(scaled):
    sizes = {"hidden_dim": HIDDEN, "kernel": KERNEL}
    plain, model = build("bcnn"), BcnnComparison(DIM, **sizes, differences=True, scaled=scaled)
    model.double().eval().load_state_dict(plain.state_dict())
    first, second = (Sequences(torch.randn(1, n, DIM).double(), torch.ones(1, n).bool()) for n in (N, M))
    found, rest = model(first, second)[0], plain(first, second)[0]
    u, v = rest[-2 * HIDDEN :].chunk(2)
    if scaled:
        u, v = u / u.square().mean().sqrt(), v / v.square().mean().sqrt()
    assert_close(found, torch.cat([rest[: -2 * HIDDEN], u, v, (u - v).abs(), u * v]))


@pytest.mark.parametrize("training", [False, True])
def test_equal_texts_match_on_the_diagonal(training):
    """The matrix A of a text beside itself has ones there, whatever is dropped, and is seen by recordings both ways."""
    model = BcnnComparison(DIM, **MODELS["abcnn-1"], dropout=0.5).double().train(training)
    text = Sequences(torch.randn(1, N, DIM, dtype=torch.float64), torch.ones(1, N, dtype=torch.bool))
    with recording(model) as records:
        model(text, text)
    forth, back = (one.answers[0].weights[0] for one in records.values())
    assert_close(forth.diagonal(), torch.ones(N).double(), rtol=0, atol=0)
    assert_close(forth, back.T)


def test_a_column_of_padding_matches_nothing():
    model = build("abcnn-1")
    texts = Sequences(torch.randn(2, N, DIM, dtype=torch.float64), torch.arange(N) < torch.tensor([[N], [M]]))
    with recording(model) as records:
        model(texts, texts)
    assert all((one.answers[0].weights[1, :, M:] == 0).all() for one in records.values())


def test_heads_between_columns_are_refused():
    with pytest.raises(ConfigError, match=r"pooling_attention.*a column has one weight"):
        COMPARISONS.build(Choice("bcnn", {"pooling_attention": {"num_heads": 2}}), DIM)
