"""The decoder of ConvS2S against a loop over layers and words, and the tricks of its paper."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Sockets, recording
from regard.decoders.convolutional import ConvolutionalDecoder
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.layers.embedders.words import WordEmbedder
from regard.layers.multi_step_attention import MultiStepAttention
from regard.models import AttentionSettings, build_attention
from regard.ops.functional import scale_gradient
from regard.records import Encoded, Sequences
from regard.registry import Choice

VOCAB, DIM, HIDDEN, LAYERS = 9, 4, 6, 3
LENGTHS = [5, 2, 1]
IDS = torch.tensor([[1, 4, 5, 6], [1, 7, 7, 2], [1, 8, 8, 3]])
HALF = math.sqrt(0.5)


def decoder(**settings: object) -> ConvolutionalDecoder:
    dot = AttentionSettings(score=Choice("dot"))
    sockets = Sockets(lambda query_dim, key_dim: build_attention(dot, query_dim, key_dim), None, None)
    embedder = WordEmbedder(VOCAB, DIM, scale=False, dropout=0.0)
    given = {"hidden_dim": HIDDEN, "num_layers": LAYERS, "dropout": 0.0, **settings}
    return ConvolutionalDecoder(embedder, DIM, sockets, **given).double()


def encoded() -> Encoded:
    mask = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(-1)
    states, embeddings = (torch.randn(3, 5, DIM, dtype=torch.float64) * mask.unsqueeze(-1) for _ in range(2))
    return Encoded(states, mask, states.sum(dim=1), values=states + embeddings)


def glu(layer: torch.nn.Module, window: list[Tensor]) -> Tensor:
    value, gate = layer(torch.cat(window)).chunk(2)
    return value * gate.sigmoid()


def by_loop(model: ConvolutionalDecoder, seen: Encoded, row: int) -> Tensor:
    """The equations of the paper, a word and a layer at a time."""
    words = [model.embedder.table[number] for number in IDS[row]]
    h = [model.enter(g) for g in words]
    nothing = torch.zeros(HIDDEN, dtype=torch.float64)
    m = LENGTHS[row]
    z, read = seen.states[row, :m], HALF * seen.values[row, :m]
    for block, step in zip(model.blocks, model.steps, strict=True):
        padded, new = [nothing, nothing, *h], []
        for i, x in enumerate(h):
            out = HALF * (x + glu(block.convolution.linear, padded[i : i + 3]))
            d = HALF * (step.from_state(out) + words[i])
            a = torch.stack([d @ z[j] for j in range(m)]).softmax(dim=0)
            c = math.sqrt(m) * sum(a[j] * read[j] for j in range(m))
            new.append(HALF * (out + step.from_context(c)))
        h = new
    return torch.stack([model.leave(x) for x in h])


def test_equals_a_loop_over_layers_and_words(assert_agrees):
    model, seen = decoder(), encoded()
    decoded, _ = model(IDS, model.start(seen))
    for row in range(len(LENGTHS)):
        assert_agrees("C10", decoded.states[row], by_loop(model, seen, row))


def test_a_word_sees_one_and_k_minus_one_before_it_for_each_layer(assert_agrees):
    model = decoder()
    vectors = torch.randn(1, 12, HIDDEN, dtype=torch.float64, requires_grad=True)
    states = vectors
    for block in model.blocks:
        states, _ = block(states, None)
    (gradient,) = torch.autograd.grad(states[0, 10].sum(), vectors)
    places = gradient[0].abs().sum(dim=-1).nonzero().flatten()
    assert_agrees("C10", places, torch.arange(10 - LAYERS * 2, 11), tolerance=0.0)


def test_the_future_has_no_gradient(assert_agrees):
    model, seen = decoder(), encoded()
    table = model.embedder.table
    decoded, _ = model(torch.tensor([[1, 4, 5, 6]] * 3), model.start(seen))
    (gradient,) = torch.autograd.grad(decoded.states[:, :2].sum(), table)
    assert_agrees("C10", gradient[[5, 6]], torch.zeros_like(gradient[[5, 6]]), tolerance=0.0)
    assert bool((gradient[[1, 4]] != 0).any())


def test_the_encoders_gradient_is_divided_by_the_number_of_attentions_but_not_that_of_its_embeddings(
    monkeypatch, assert_agrees
):
    model = decoder()
    states = torch.randn(3, 5, DIM, dtype=torch.float64, requires_grad=True)
    embeddings = torch.randn(3, 5, DIM, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(-1)

    def gradients() -> tuple[Tensor, ...]:
        seen = Encoded(states, mask, states.sum(dim=1), values=states + embeddings)
        return torch.autograd.grad(model(IDS, model.start(seen))[0].states.square().sum(), (states, embeddings))

    scaled, same = gradients()
    monkeypatch.setattr("regard.decoders.convolutional.scale_gradient", lambda inputs, factor: inputs)
    plain, also = gradients()
    assert_agrees("F04", scaled, plain / LAYERS, tolerance=1e-12)
    assert_agrees("F04", same, also, tolerance=1e-12)


def test_what_is_scaled_is_only_a_gradient():
    inputs = torch.randn(3, requires_grad=True)
    outputs = scale_gradient(inputs, 0.25)
    outputs.sum().backward()
    assert torch.equal(outputs, inputs)
    assert inputs.grad.tolist() == [0.25] * 3


def test_alignments_are_the_mean_over_layers(assert_agrees):
    model, seen = decoder(), encoded()
    with recording(model) as records:
        decoded, _ = model(IDS, model.start(seen), need_weights=True)
    looked = torch.stack([records[f"steps.{number}.attention"].answers[0].weights for number in range(LAYERS)])
    assert_agrees("C10", decoded.weights, looked.mean(dim=0), tolerance=1e-12)
    assert not any(torch.allclose(decoded.weights, one) for one in looked)
    assert_close(decoded.weights.sum(dim=-1), torch.ones(3, 4, dtype=torch.float64))
    assert bool((decoded.weights[2, :, 1:] == 0).all())


@torch.no_grad()
@pytest.mark.parametrize("num_words", [1, 25])
def test_contexts_of_any_number_of_words_keep_the_variance(num_words, assert_agrees):
    """Where weights are equal, a mean of m values is multiplied by the root of m."""
    dot = build_attention(AttentionSettings(score=Choice("dot")), 128, 128)
    step = MultiStepAttention(128, dot)
    source, words = torch.randn(64, num_words, 128) * 0.1, torch.randn(64, 1, 128) * 0.1
    reading = step.begin(torch.zeros_like(source), source)  # keys of zeros: all weights are equal
    assert_close(reading.memory.values, source * HALF)
    context = step(torch.zeros(64, 1, 128), words, reading).context / HALF
    assert 0.85 < float(context.var() / reading.memory.values.var()) < 1.15


@torch.no_grad()
@pytest.mark.parametrize("hidden_dim", [96, 64])
def test_the_variance_goes_through_all_layers_and_attentions(hidden_dim):
    """Of both embeddings N(0, 0.1²), with dropout, through an encoder and a decoder of 12 layers."""
    dot = AttentionSettings(score=Choice("dot"))
    sockets = Sockets(lambda query_dim, key_dim: build_attention(dot, query_dim, key_dim), None, None)
    settings = {"hidden_dim": hidden_dim, "num_layers": 12, "dropout": 0.2}
    words = WordEmbedder(200, 64, scale=False, std=0.1, dropout=0.0)
    read = ConvolutionalEncoder(64, sockets, **settings)(
        Sequences(torch.randn(16, 20, 64) * 0.1, torch.ones(16, 20) > 0)
    )
    model, variances = ConvolutionalDecoder(words, 64, sockets, **settings), []
    for step in model.steps:
        step.register_forward_hook(lambda module, given, attended: variances.append(float(attended.context.var())))
    model(torch.randint(4, 200, (16, 20)), model.start(read))
    assert len(variances) == 12
    assert 0.5 < min(variances) / 0.1**2 <= max(variances) / 0.1**2 < 2.0
