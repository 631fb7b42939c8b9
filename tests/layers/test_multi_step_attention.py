"""Multi-step attention against a loop over layers, words and source words."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.multi_step_attention import MultiStepAttention
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

BATCH, TARGET, SOURCE, DIM, LAYERS = 2, 3, 5, 4, 3
LENGTHS = [5, 2]
HALF = math.sqrt(0.5)
MASK = torch.arange(SOURCE) < torch.tensor(LENGTHS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture
def layers() -> list[MultiStepAttention]:
    settings = AttentionSettings(score=Choice("dot"))
    layers = [MultiStepAttention(DIM, build_attention(settings, DIM, DIM)) for _ in range(LAYERS)]
    for layer in layers:
        torch.nn.init.normal_(layer.from_state.bias)
        torch.nn.init.normal_(layer.from_context.bias)
    return [layer.double().requires_grad_(False) for layer in layers]


def mapped(linear: torch.nn.Module, vector: Tensor) -> Tensor:
    """W x + b, each row of W of the length that its gain says."""
    rows = [gain * row / row.norm() for gain, row in zip(linear.gain, linear.weight, strict=True)]
    return torch.stack([row @ vector for row in rows]) + linear.bias


def test_equals_a_loop_over_layers(layers, assert_agrees):
    """Between the attentions stands what a layer makes of its states: tanh takes the place of the convolution."""
    states, written, source, embeddings = (random(BATCH, *s, DIM) for s in ((TARGET,), (TARGET,), (SOURCE,), (SOURCE,)))
    outputs, looked = states, []
    for layer in layers:
        attended = layer(torch.tanh(outputs), written, layer.begin(source, embeddings, MASK), need_weights=True)
        outputs = attended.context
        looked.append(attended.weights)
    for row, length in enumerate(LENGTHS):
        for place in range(TARGET):
            h = states[row, place]
            for layer, weights in zip(layers, looked, strict=True):
                h = torch.tanh(h)
                d = HALF * (mapped(layer.from_state, h) + written[row, place])
                wanted = torch.stack([d @ source[row, j] for j in range(length)]).softmax(dim=0)
                read = sum(wanted[j] * HALF * (source[row, j] + embeddings[row, j]) for j in range(length))
                h = HALF * (h + mapped(layer.from_context, math.sqrt(length) * read))
                assert_agrees("A25", weights[row, place, :length], wanted)
            assert_agrees("A25", outputs[row, place], h)


def test_what_is_compared_is_not_what_is_read(layers):
    """Keys are the states, values the states with their embeddings."""
    source, embeddings = random(BATCH, SOURCE, DIM), random(BATCH, SOURCE, DIM)
    memory, _, _ = layers[0].begin(source, embeddings, MASK)
    assert_close(memory.keys, source)
    assert_close(memory.values, HALF * (source + embeddings))


def test_a_source_that_may_not_be_looked_at_adds_nothing(layers):
    states, source = random(BATCH, TARGET, DIM), random(BATCH, SOURCE, DIM)
    hidden = layers[0].begin(source, source, torch.zeros_like(MASK))
    context = layers[0](states, random(BATCH, TARGET, DIM), hidden).context
    assert_close(context, HALF * (states + layers[0].from_context.bias), rtol=0, atol=0)


def test_gradients_are_those_of_finite_differences(layers):
    inputs = [random(BATCH, n, DIM).requires_grad_() for n in (2, 2, SOURCE, SOURCE)]

    def outputs(states: Tensor, written: Tensor, source: Tensor, embeddings: Tensor) -> Tensor:
        return layers[0](states, written, layers[0].begin(source, embeddings, MASK)).context

    assert torch.autograd.gradcheck(outputs, inputs)
