"""Poolings against loops over words, features and hops."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, recording
from regard.attention.scores.dot import DotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.layers.pooling import POOLINGS, HierarchicalPooling
from regard.layers.pooling.attention import AttentionPooling
from regard.layers.pooling.featurewise import FeaturewisePooling
from regard.layers.pooling.feedforward import FeedForwardPooling
from regard.layers.pooling.hierarchical import each_sentence
from regard.layers.pooling.last import LastPooling
from regard.layers.pooling.max import MaxPooling
from regard.layers.pooling.mean import MeanPooling
from regard.layers.pooling.query import QueryPooling, windows_mask
from regard.layers.pooling.structured import StructuredPooling
from regard.registry import Choice

BATCH, LENGTH, DIM = 3, 5, 4
LENGTHS = [5, 3, 1]
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def shaken(module: torch.nn.Module) -> torch.nn.Module:
    """The same with parameters all drawn, so that none is zero."""
    for parameter in module.double().parameters():
        torch.nn.init.normal_(parameter)
    return module.requires_grad_(False)


@pytest.fixture
def states() -> Tensor:
    return random(BATCH, LENGTH, DIM)


def by_scores(states: Tensor, scores: list[float]) -> Tensor:
    """sum_t exp(score_t) states_t / sum_t exp(score_t), word by word."""
    total = sum(map(math.exp, scores))
    return sum(math.exp(score) / total * state for score, state in zip(scores, states, strict=True))


@pytest.mark.parametrize("name", ["last", "mean", "max"])
def test_last_mean_and_max_by_loops_with_lengths(name, states, assert_agrees):
    pooled = POOLINGS.build(Choice(name), DIM)(states, MASK)
    for row, length in enumerate(LENGTHS):
        for feature in range(DIM):
            column = [states[row, place, feature].item() for place in range(length)]
            wanted = {"last": column[-1], "mean": sum(column) / length, "max": max(column)}[name]
            assert_agrees("B05", pooled[row, feature], torch.tensor(wanted, dtype=torch.float64))


def test_the_last_state_of_rows_padded_on_the_left(states):
    turned = MASK.flip(1)
    assert_close(LastPooling(DIM)(states, turned), states[:, -1])


@pytest.mark.parametrize("bias", [True, False])
def test_attention_with_a_context_vector_by_a_loop(bias, states, assert_agrees):
    pooling = shaken(AttentionPooling(DIM, hidden_dim=3, bias=bias))
    pooled = pooling(states, MASK)
    for row, length in enumerate(LENGTHS):
        seen = states[row, :length]
        shift = pooling.to_hidden.bias if bias else 0.0
        scores = [(torch.tanh(pooling.to_hidden.weight @ h + shift) @ pooling.query[0]).item() for h in seen]
        assert_agrees("A15", pooled[row], by_scores(seen, scores))


def test_the_context_vector_is_compared_by_any_score(states):
    pooling = shaken(AttentionPooling(DIM, hidden_dim=3, score=Choice("bilinear")))
    keys = torch.tanh(pooling.to_hidden(states[0])) @ pooling.attention.score.from_key.weight.T
    assert_close(pooling(states)[0], by_scores(states[0], (keys @ pooling.query[0]).tolist()))


def test_one_vector_for_a_text_whatever_is_asked_from_outside(states):
    pooling = shaken(AttentionPooling(DIM))
    assert_close(pooling(states, MASK, random(BATCH, DIM)), pooling(states, MASK), rtol=0, atol=0)


def test_featurewise_attention_as_it_was_printed(states, assert_agrees):
    pooling = shaken(FeaturewisePooling(DIM, eps=0.5))
    pooled = pooling(states, MASK)
    scores = torch.tanh(states @ pooling.to_scores.weight.T + pooling.to_scores.bias)
    shown = MASK.unsqueeze(-1)
    weights = scores.exp() * shown / ((scores.exp() * shown).sum(dim=1, keepdim=True) + 0.5)
    assert_agrees("A16", pooled, (weights * states).sum(dim=1))


@pytest.mark.parametrize("eps", [0.0, 1e-7])
def test_featurewise_attention_is_a_softmax_over_time_for_each_feature(eps, states, assert_agrees):
    pooling = shaken(FeaturewisePooling(DIM, eps=eps))
    pooled = pooling(states, MASK)
    for row, length in enumerate(LENGTHS):
        seen = states[row, :length]
        scores = torch.tanh(seen @ pooling.to_scores.weight.T + pooling.to_scores.bias)
        for feature in range(DIM):
            assert_agrees("A16", pooled[row, feature], by_scores(seen[:, feature], scores[:, feature].tolist()))


def test_hops_are_questions_of_one_text(states, assert_agrees):
    pooling = shaken(StructuredPooling(DIM, hops=3, hidden_dim=2))
    with recording(pooling) as records:
        pooled = pooling(states, MASK)
    weights = records["attention"].answers[0].weights
    assert pooled.shape == (BATCH, pooling.out_dim) == (BATCH, 12) and weights.shape == (BATCH, 3, LENGTH)
    for row, length in enumerate(LENGTHS):
        seen = states[row, :length]
        for hop in range(3):
            scores = [(pooling.queries[hop] @ torch.tanh(pooling.to_hidden.weight @ h)).item() for h in seen]
            assert_agrees("A20", pooled[row].view(3, DIM)[hop], by_scores(seen, scores))
            assert_agrees("A20", weights[row, hop, :length], torch.tensor(scores, dtype=torch.float64).softmax(dim=0))


def test_one_hop_is_attention_with_a_context_vector_and_no_bias(states, assert_agrees):
    one = shaken(StructuredPooling(DIM, hops=1, hidden_dim=3))
    other = shaken(AttentionPooling(DIM, hidden_dim=3, bias=False))
    other.to_hidden.weight.data, other.query.data = one.to_hidden.weight.data, one.queries.data
    assert_agrees("A20", one(states, MASK), other(states, MASK))


def test_feed_forward_attention_by_a_loop(states, assert_agrees):
    pooling = shaken(FeedForwardPooling(DIM))
    pooled = pooling(states, MASK)
    weight, bias = pooling.to_score.weight[0], pooling.to_score.bias[0]
    for row, length in enumerate(LENGTHS):
        seen = states[row, :length]
        assert_agrees("A27", pooled[row], by_scores(seen, [math.tanh((weight @ h + bias).item()) for h in seen]))


def test_feed_forward_attention_is_a_context_vector_of_width_one(states, assert_agrees):
    one, other = shaken(FeedForwardPooling(DIM)), shaken(AttentionPooling(DIM, hidden_dim=1))
    other.to_hidden.load_state_dict(one.to_score.state_dict())
    other.query.data.fill_(1.0)
    assert_agrees("A27", one(states, MASK), other(states, MASK))


@pytest.mark.parametrize("score", ["dot", "bilinear", "additive"])
def test_another_readers_vector_asks(score, states, assert_agrees):
    pooling, query = shaken(QueryPooling(DIM, score=Choice(score))), random(BATCH, DIM)
    pooled = pooling(states, MASK, query)
    for row, length in enumerate(LENGTHS):
        seen = states[row, :length]
        scores = pooling.attention.score
        asked = [scores(query[row : row + 1], scores.prepare(h.unsqueeze(0)), None).item() for h in seen]
        assert_agrees("A30", pooled[row], by_scores(seen, asked))


@pytest.mark.parametrize(("default", "own"), [("last", LastPooling), ("mean", MeanPooling)])
def test_without_another_reader_the_text_asks_itself(default, own, states):
    pooling = shaken(QueryPooling(DIM, default=default))
    assert_close(pooling(states, MASK), pooling(states, MASK, own(DIM)(states, MASK)))


def test_max_pooling_is_hard_attention_for_each_feature(states, assert_agrees):
    """With the features as scores and no heat, each feature looks at its largest value alone."""
    attention = Attention(DotScore(1, 1), EverywhereSpan(1, 1), SoftmaxWeighting(1))
    features = states.transpose(1, 2).unsqueeze(-1)
    memory = attention.remember(features * 1e6, features, MASK.unsqueeze(1))
    hard = attention(torch.ones(BATCH, DIM, 1, 1, dtype=torch.float64), memory).context.flatten(1)
    assert_agrees("A30", MaxPooling(DIM)(states, MASK), hard)


def test_windows_of_a_convolution_without_padding():
    mask = torch.arange(6) < torch.tensor([[6], [4], [2], [0]])
    counts = {1: [6, 4, 2, 0], 3: [4, 2, 1, 0], 6: [1, 1, 1, 0], 8: [1, 1, 1, 0]}
    for width, wanted in counts.items():
        windows = windows_mask(mask, width)
        states = torch.nn.functional.conv1d(torch.ones(4, 1, max(6, width)), torch.ones(1, 1, width))
        assert windows.shape == states[:, 0].shape
        assert windows.sum(dim=1).tolist() == wanted and bool((windows.int().diff(dim=1) <= 0).all())
    assert not windows_mask(torch.zeros(2, 0, dtype=torch.bool), 3).any()


SENTENCES = torch.tensor([[4, 2, 0], [3, 0, 0], [0, 0, 0], [1, 4, 2]])  # words in each sentence of each text
WORDS = torch.arange(4) < SENTENCES.unsqueeze(-1)


def test_words_then_sentences_by_two_loops(assert_agrees):
    words, sentences = shaken(AttentionPooling(DIM, hidden_dim=3)), shaken(AttentionPooling(DIM, hidden_dim=2))
    states = random(4, 3, 4, DIM)
    pooled = HierarchicalPooling(words, sentences)(states, WORDS)
    for text, counts in enumerate(SENTENCES.tolist()):
        vectors = [words(states[text : text + 1, number, :count]) for number, count in enumerate(counts) if count]
        wanted = sentences(torch.stack(vectors, dim=1)) if vectors else torch.zeros(1, DIM, dtype=torch.float64)
        assert_agrees("A26", pooled[text : text + 1], wanted)


def test_a_hidden_sentence_counts_for_nothing_and_an_empty_one_is_zero():
    words, sentences = shaken(AttentionPooling(DIM)), shaken(AttentionPooling(DIM))
    hierarchy, states = HierarchicalPooling(words, sentences), random(4, 3, 4, DIM)
    assert bool((each_sentence(words, states, WORDS)[SENTENCES == 0] == 0).all())
    shown = torch.tensor([True, True, False])
    assert_close(hierarchy(states, WORDS, shown.expand(4, 3)), hierarchy(states[:, :2], WORDS[:, :2]))


def test_words_of_different_poolings_need_not_be_as_wide(assert_agrees):
    words = shaken(StructuredPooling(DIM, hops=2, hidden_dim=3))
    hierarchy = HierarchicalPooling(words, shaken(MaxPooling(words.out_dim)))
    assert hierarchy(random(4, 3, 4, DIM), WORDS).shape == (4, hierarchy.out_dim) == (4, 8)
