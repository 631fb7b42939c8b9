"""Decoders coupled by position: what they read of the source, by hand, and what becomes of it with one coupling."""

import pytest
import torch
from fields import receptive_field
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Sockets
from regard.decoders import DECODERS
from regard.decoders.coupled import CoupledDecoder, CoupledPast
from regard.layers.embedders.words import WordEmbedder
from regard.models import AttentionSettings, build_attention
from regard.records import Encoded
from regard.registry import Choice

VOCAB, DIM, SOURCE = 9, 6, 4
ENTRIES = {"bytenet": "C07", "recurrent_bytenet": "C08"}
MODELS = {"bytenet": "C09", "recurrent_bytenet": "C08", "convolutional": "B17", "three_attention": "C12"}  # of language
BY_PLACE = AttentionSettings(score=Choice("bilinear"), span=(Choice("same_position"),))


def decoder(name: str, source_dim: int | None = DIM, **settings: object) -> CoupledDecoder:
    sockets = Sockets(lambda query_dim, key_dim: build_attention(BY_PLACE, query_dim, key_dim), None, None)
    embedder = WordEmbedder(VOCAB, DIM, scale=False, dropout=0.0)
    sizes = {"bytenet": {"hidden_dim": DIM // 2, "num_layers": 2, "dilations": (1, 2)}}
    sizes |= {"recurrent_bytenet": {"hidden_dim": DIM}}
    given = {**sizes[name], "dropout": 0.0, **settings}
    return DECODERS.build(Choice(name, given), embedder, source_dim, sockets).double()


def encoded(lengths: list[int], dim: int = DIM) -> Encoded:
    mask = torch.arange(SOURCE) < torch.tensor(lengths).unsqueeze(-1)
    states = torch.randn(len(lengths), SOURCE, dim, dtype=torch.float64) * mask.unsqueeze(-1)
    return Encoded(states, mask, states.sum(dim=1))


IDS = torch.tensor([[1, 4, 5, 6, 7, 8], [1, 7, 7, 2, 4, 4]])


def stacked(model: CoupledDecoder, inputs: Tensor) -> Tensor:
    return torch.relu(model.to_state(model.stack(inputs, None)[0]))


@pytest.mark.parametrize("name", ["bytenet", "recurrent_bytenet"])
def test_each_word_is_read_with_the_state_at_its_place_and_nothing_behind_the_end(name, assert_agrees):
    model, seen = decoder(name), encoded([4, 2])
    decoded, _ = model(IDS, model.start(seen), need_weights=True)
    inputs = model.embedder.table[IDS].clone()
    for row, length in enumerate([4, 2]):
        inputs[row, :length] += seen.states[row, :length]
    assert_agrees(ENTRIES[name], decoded.states, stacked(model, inputs))
    wanted = torch.eye(6, SOURCE, dtype=torch.float64).repeat(2, 1, 1)
    wanted[1, 2:] = 0
    assert_close(decoded.weights, wanted)


@pytest.mark.parametrize("name", ["bytenet", "recurrent_bytenet"])
def test_words_and_source_may_stand_beside_each_other(name, assert_agrees):
    model, seen = decoder(name, 5, merge="concatenate"), encoded([4, 3], 5)
    beside = torch.zeros(2, 6, 5, dtype=torch.float64)
    beside[:, :SOURCE] = seen.states
    inputs = model.coupling.enter(torch.cat([model.embedder.table[IDS], beside], dim=-1))
    assert_agrees(ENTRIES[name], model(IDS, model.start(seen))[0].states, stacked(model, inputs))


def test_a_source_of_another_width_is_projected_without_a_bias(assert_agrees):
    """So that nothing is still nothing."""
    model, seen = decoder("bytenet", 5), encoded([4, 0], 5)
    inputs = model.embedder.table[IDS].clone()
    inputs[:, :SOURCE] += seen.states @ model.coupling.from_context.weight.T
    assert_agrees("C07", model(IDS, model.start(seen))[0].states, stacked(model, inputs))


def test_no_word_sees_a_later_one_nor_more_than_its_field(assert_agrees):
    model, length = decoder("bytenet", None, num_layers=4, dilations=(1, 2)), 20
    vectors = torch.randn(1, length, DIM, dtype=torch.float64, requires_grad=True)
    states, _ = model.stack(vectors, None)
    (gradient,) = torch.autograd.grad(states[0, 15].sum(), vectors)
    field = receptive_field(3, [1, 2, 1, 2])
    assert_agrees("C09", gradient[0].abs().sum(dim=-1).nonzero().flatten(), torch.arange(16 - field, 16), tolerance=0.0)


def test_recurrent_bytenet_with_one_coupling_is_an_encoder_decoder(assert_agrees):
    """s_1 = tanh(W (y_1 + c) + b) is tanh(W y_1 + U s_0 + b) with U = W and s_0 = c, the last state of the encoder."""
    model = decoder("recurrent_bytenet", couplings=1, cell=Choice("rnn"))
    network = model.stack.layers[0].network
    network.weight_hh_l0 = network.weight_ih_l0
    seen = encoded([4, 4])
    backwards = nn.RNN(DIM, DIM, batch_first=True).double()  # its state at the first place has read everything
    states = backwards(seen.states.flip(1))[0].flip(1)
    decoded, _ = model(IDS, model.start(seen._replace(states=states)))
    summary = states[:, 0]
    outputs, _ = network(model.embedder.table[IDS], summary.unsqueeze(0))
    assert_agrees("C08", decoded.states, torch.relu(model.to_state(outputs)))


def test_with_one_coupling_the_rest_of_the_source_does_not_matter(assert_agrees):
    model, seen = decoder("recurrent_bytenet", couplings=1), encoded([4, 4])
    changed = seen.states.clone()
    changed[:, 1:] += 1
    first, second = (model(IDS, model.start(seen._replace(states=states)))[0] for states in (seen.states, changed))
    assert_agrees("C08", first.states, second.states, tolerance=0.0)
    weights = model(IDS, model.start(seen), need_weights=True)[0].weights
    assert weights.sum(dim=-1).tolist() == [[1, 0, 0, 0, 0, 0]] * 2


@pytest.mark.parametrize("name", ["bytenet", "recurrent_bytenet"])
@pytest.mark.parametrize("couplings", [0, 1, 3])
def test_couplings_are_counted_over_steps(name, couplings, assert_agrees):
    model, seen = decoder(name, couplings=couplings), encoded([4, 2])
    whole, state = model(IDS, model.start(seen))[0], model.start(seen)
    for place in range(IDS.shape[1]):
        step, state = model(IDS[:, place : place + 1], state)
        assert_agrees(ENTRIES[name], step.states[:, 0], whole.states[:, place], tolerance=1e-10)
    assert isinstance(state.layers, CoupledPast) and state.layers.written == 6


@pytest.mark.parametrize("name", MODELS)
def test_without_a_source_it_is_a_language_model(name, assert_agrees):
    causal = AttentionSettings(span=(Choice("causal"),))
    sockets = Sockets(None, None, lambda dim: build_attention(causal, dim, dim, causal=True))
    model = DECODERS.build(Choice(name), WordEmbedder(VOCAB, DIM, dropout=0.0), None, sockets).double().eval()
    whole, _ = model(IDS, model.start(rows=torch.arange(2)))
    state = model.start(rows=torch.arange(2))
    for place in range(IDS.shape[1]):
        step, state = model(IDS[:, place : place + 1], state, need_weights=True)
        assert_agrees(MODELS[name], step.states[:, 0], whole.states[:, place], tolerance=1e-10)
        assert step.weights is None
        state = state.select(torch.tensor([0, 1]))
    assert not any("attention" in name for name, _ in model.named_parameters() if not name.startswith("layers"))
