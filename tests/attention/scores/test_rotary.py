"""Rotary scores against products of complex numbers."""

import cmath
import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, extend
from regard.attention.scores.rotary import RotaryScore
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.spans.causal import CausalSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.errors import ConfigError
from regard.models import AttentionSettings, build_attention
from regard.ops.plain import plain
from regard.registry import Choice

DIM = 6


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize(("past", "base"), [(0, 10000.0), (4, 10000.0), (2, 100.0)])
def test_scores_are_real_parts_of_complex_products(past, base, assert_agrees):
    """Features 2f and 2f + 1 are a complex number; <q, k> = Re sum_f q_f e^(i p ω_f) conj(k_f e^(i p' ω_f))."""
    queries, keys = random(3, DIM), random(5, DIM)
    scores = RotaryScore(DIM, DIM, base=base)(queries, keys, past)
    wanted = torch.empty_like(scores)
    for row, query in enumerate(queries.tolist()):
        for column, key in enumerate(keys.tolist()):
            total = 0j
            for pair in range(DIM // 2):
                turn = base ** (-2 * pair / DIM)
                first = complex(*query[2 * pair : 2 * pair + 2]) * cmath.exp(1j * (past + row) * turn)
                second = complex(*key[2 * pair : 2 * pair + 2]) * cmath.exp(1j * column * turn)
                total += first * second.conjugate()
            wanted[row, column] = total.real / math.sqrt(DIM)
    assert_agrees("B20", scores, wanted)


@pytest.mark.parametrize("shift", [1, 7, 5000])
def test_only_the_difference_of_places_counts(shift):
    score, query, key = RotaryScore(DIM, DIM), random(1, DIM), random(1, DIM)
    keys = torch.cat([torch.zeros(shift, DIM, dtype=torch.float64), key])
    assert_close(score(query, keys, 3 + shift)[:, -1:], score(query, key, 3))


def test_a_query_at_the_place_of_its_key_meets_it_unturned():
    keys, queries = random(2, 4, DIM), random(2, 4, DIM)
    turned, unturned = (kind(DIM, DIM)(queries, keys, 0) for kind in (RotaryScore, ScaledDotScore))
    assert_close(turned.diagonal(dim1=-2, dim2=-1), unturned.diagonal(dim1=-2, dim2=-1))
    assert not torch.allclose(turned, unturned)


def test_the_inner_product_is_the_score():
    score, queries, keys = RotaryScore(DIM, DIM), random(2, 3, DIM), random(2, 4, DIM)
    left, right = score.inner(queries, keys, 5)
    assert_close(left @ right.transpose(-2, -1), score(queries, keys, 5))


def test_word_by_word_with_a_growing_memory_equals_the_whole():
    attention = Attention(RotaryScore(DIM, DIM), CausalSpan(DIM, DIM), SoftmaxWeighting(DIM))
    words = random(2, 6, DIM)
    whole = attention(words, attention.remember(words)).context
    memory, past, steps = None, None, []
    for word in words.split(1, dim=1):
        memory = extend(memory, attention.remember(word))
        step = attention(word, memory, past)
        past = step.past
        steps.append(step.context)
    assert_close(torch.cat(steps, dim=1), whole)


@pytest.mark.parametrize("span", [Choice("everywhere"), Choice("window", {"radius": 3})], ids=str)
def test_kernels_for_long_sentences_equal_the_plain_products(span):
    settings = AttentionSettings(score=Choice("rotary"), span=(span,), num_heads=2)
    attention, words = build_attention(settings, 12, 12, causal=True).double(), random(2, 150, 12)
    fast = attention(words, attention.remember(words)).context
    with plain():
        assert_close(fast, attention(words, attention.remember(words)).context)


def test_far_places_stay_exact_in_single_precision():
    """Angles are found in float64; only the turning itself is in float32."""
    score, query, keys = RotaryScore(DIM, DIM), torch.randn(1, DIM), torch.randn(3000, DIM)
    assert_close(score(query, keys, 2999).double(), score(query.double(), keys.double(), 2999), atol=1e-5, rtol=0)


def test_compiled_it_is_the_same_without_complex_numbers():
    score, queries, keys = RotaryScore(DIM, DIM), random(2, 3, DIM), random(2, 4, DIM)
    compiled = torch.compile(score, backend="eager", fullgraph=True)
    assert_close(compiled(queries, keys, 5), score(queries, keys, 5))


@pytest.mark.parametrize("first", [0, 1])
def test_vectors_may_lie_anywhere(first):
    """Views of wider vectors, at odd offsets and with odd strides."""
    score, queries, keys = RotaryScore(DIM, DIM), random(2, 3, DIM + 1), random(2, 4, DIM + 1)
    queries, keys = queries[..., first : first + DIM], keys[..., first : first + DIM]
    assert_close(score(queries, keys, 1), score(queries.clone(), keys.clone(), 1))


def test_features_that_make_no_pairs_are_refused():
    with pytest.raises(ConfigError, match=r"'rotary' turns features by pairs, but there are 5 .*even dim"):
        RotaryScore(5, 5)
