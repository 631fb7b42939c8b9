"""The recurrent decoder equals plain loops written from the papers' equations, with its own weights."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard.decoders.recurrent import IntraAttention, RecurrentDecoder
from regard.models import AttentionSettings, build_attention
from regard.records import Encoded
from regard.registry import Choice

Step = Callable[[Tensor, list[tuple[Tensor, ...]]], list[tuple[Tensor, ...]]]


def cells_of(model: RecurrentDecoder, only: int | None = None) -> Step:
    """One step of all layers, or of one, by torch's own cells."""
    cells = []
    for layer in model.stack.layers if only is None else [model.stack.layers[only]]:
        network = layer.network
        kind = {"GRU": nn.GRUCell, "LSTM": nn.LSTMCell, "RNN_TANH": nn.RNNCell}[network.mode]
        cell = kind(network.input_size, network.hidden_size).double()
        cell.load_state_dict({name.removesuffix("_l0"): tensor for name, tensor in network.state_dict().items()})
        cells.append(cell)

    def step(inputs: Tensor, pasts: list[tuple[Tensor, ...]]) -> list[tuple[Tensor, ...]]:
        after = []
        for cell, past in zip(cells, pasts, strict=True):
            new = cell(inputs, past if len(past) > 1 else past[0])
            after.append(new if isinstance(new, tuple) else (new,))
            inputs = after[-1][0]
        return after

    return step


def begin(model: RecurrentDecoder, final: Tensor) -> list[tuple[Tensor, ...]]:
    """s_0 = tanh(W final + b) of each layer; the cell of an LSTM is 0."""
    states = torch.tanh(model.starts.weight @ final + model.starts.bias).chunk(len(model.stack.layers))
    more = tuple(torch.zeros_like(states[0]) for _ in model.stack.layers[0].nothing(final[None])[1:])
    return [(state, *more) for state in states]


def read(scores: list[Tensor], keys: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.stack(scores).exp() / torch.stack(scores).exp().sum()
    return sum(weight * key for weight, key in zip(weights, keys, strict=True)), weights


def out(model: RecurrentDecoder, *parts: Tensor) -> Tensor:
    """The readout: tanh, the larger of each pair, or nothing more."""
    total = model.to_state.weight @ torch.cat(parts) + model.to_state.bias
    if model.readout == "maxout":
        return torch.stack([max(total[2 * i], total[2 * i + 1]) for i in range(model.dim)])
    return total.tanh() if model.readout == "tanh" else total


def bahdanau(model: RecurrentDecoder, keys: Tensor, final: Tensor, ids: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    score, step, pasts = model.attention.score, cells_of(model), begin(model, final)
    states, rows = [], []
    for y in model.embedder.table[ids]:
        query = score.from_query.weight @ pasts[-1][0]
        scores = [score.to_score.weight[0] @ torch.tanh(query + score.from_key.weight @ key) for key in keys]
        context, weights = read(scores, keys)
        pasts = step(torch.cat([y, context]), pasts)
        states.append(out(model, pasts[-1][0], y, context))
        rows.append(weights)
    return states, rows


def luong(model: RecurrentDecoder, keys: Tensor, final: Tensor, ids: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    step, pasts, fed = cells_of(model), begin(model, final), torch.zeros(model.dim, dtype=torch.float64)
    states, rows = [], []
    for y in model.embedder.table[ids]:
        pasts = step(torch.cat([y, fed]) if model.feeds else y, pasts)
        top = pasts[-1][0]
        context, weights = read([top @ (model.attention.score.from_key.weight @ key) for key in keys], keys)
        fed = out(model, context, top)
        states.append(fed)
        rows.append(weights)
    return states, rows


def summariser(model: RecurrentDecoder, keys: Tensor, final: Tensor, ids: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Luong's, and what s_t sees of s_1 … s_(t-1) is read out with it; nothing at the first step."""
    step, pasts, written = cells_of(model), begin(model, final), []
    own, states, rows = model.intra.attention.score.from_key.weight, [], []
    for y in model.embedder.table[ids]:
        pasts = step(y, pasts)
        top = pasts[-1][0]
        context, weights = read([top @ (model.attention.score.from_key.weight @ key) for key in keys], keys)
        earlier = torch.zeros_like(top)
        if written:
            earlier, _ = read([top @ (own @ before) for before in written], written)
        states.append(out(model, context, top, earlier))
        written.append(top)
        rows.append(weights)
    return states, rows


def cho(model: RecurrentDecoder, keys: Tensor, final: Tensor, ids: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """c is the last state, or tanh(V h + b) of it; s_0 = tanh(V' c), s_t = f(s_(t-1), [y; c]); y and c are read out."""
    c = final
    if model.to_summary is not None:
        c = torch.tanh(model.to_summary.weight @ final + model.to_summary.bias)
    step, pasts, states = cells_of(model), begin(model, c), []
    for y in model.embedder.table[ids]:
        pasts = step(torch.cat([y, c]), pasts)
        states.append(out(model, pasts[-1][0], y, c))
    return states, []


def gnmt(model: RecurrentDecoder, keys: Tensor, final: Tensor, ids: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Asked by the lowest layer's state before; every layer reads the context, and from the third on adds its input."""
    pasts, states, rows = begin(model, final), [], []
    for y in model.embedder.table[ids]:
        scores = [pasts[0][0] @ (model.attention.score.from_key.weight @ key) for key in keys]
        context, weights = read(scores, keys)
        below, after = y, []
        for number, layer in enumerate(model.stack.layers):
            one = cells_of(model, number)(torch.cat([below, context]), [pasts[number]])[0]
            below = one[0] + below if number >= 2 else one[0]
            assert layer.dim == len(below)
            after.append(one)
        pasts = after
        states.append(out(model, below))
        rows.append(weights)
    return states, rows


def assert_equal(
    model: RecurrentDecoder,
    seen: Encoded,
    ids: Tensor,
    loop: Callable[..., tuple[list[Tensor], list[Tensor]]],
    assert_agrees: Callable[..., None],
    *entries: str,
) -> None:
    decoded, _ = model(ids, model.start(seen), need_weights=True)
    for row, length in enumerate(seen.mask.sum(dim=1).tolist()):
        states, weights = loop(model, seen.states[row, :length], seen.final[row], ids[row])
        for entry in entries:
            assert_agrees(entry, decoded.states[row], torch.stack(states), tolerance=1e-10)
        if weights:
            for entry in entries:
                assert_agrees(entry, decoded.weights[row, :, :length], torch.stack(weights), tolerance=1e-10)
            assert bool((decoded.weights[row, :, length:] == 0).all())
    assert (decoded.weights is None) == (loop in (cho, sutskever))


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
@pytest.mark.parametrize("readout", ["tanh", "maxout"])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_rnnsearch(cell, readout, num_layers, make, encoded, ids, assert_agrees):
    attention = AttentionSettings(score=Choice("additive", {"hidden_dim": 3}))
    model = make(attention, cell=Choice(cell), readout=readout, num_layers=num_layers)
    assert_equal(model, encoded(), ids, bahdanau, assert_agrees, "A34", "C03")


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("feeding", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_luong(cell, feeding, num_layers, make, encoded, ids, assert_agrees):
    attention = AttentionSettings(score=Choice("bilinear"))
    model = make(attention, order="luong", cell=Choice(cell), input_feeding=feeding, num_layers=num_layers)
    assert_equal(model, encoded(), ids, luong, assert_agrees, "A34", "C04")


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_attention_to_its_own_earlier_states(cell, num_layers, make, encoded, ids, assert_agrees):
    attention = AttentionSettings(score=Choice("bilinear"))
    model = make(attention, order="luong", cell=Choice(cell), num_layers=num_layers, intra_attention=True)
    assert_equal(model, encoded(), ids, summariser, assert_agrees, "A33", "C15")


def test_own_earlier_states_by_hand():
    """Three states with scores of 0: nothing, the first one, the mean of the first two."""
    intra = IntraAttention(build_attention(AttentionSettings(score=Choice("uniform")), 1, 1, causal=True), 1)
    contexts, past = intra(torch.tensor([[[2.0], [6.0], [5.0]]]), intra.nothing(torch.zeros(1, 1)))
    assert contexts.flatten().tolist() == [0.0, 2.0, 4.0]
    assert (past.written, past.last.tolist()) == (3, [[5.0]])


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("reads", ["final", "summary"])
def test_an_encoder_decoder_without_attention(reads, cell, make, encoded, ids, assert_agrees):
    model = make(source_context=reads, cell=Choice(cell), readout="maxout")
    assert_equal(model, encoded(), ids, cho, assert_agrees, "C01")


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("num_layers", [1, 2, 4])
def test_gnmt(num_layers, cell, make, encoded, ids, assert_agrees):
    settings = {"order": "gnmt", "num_layers": num_layers, "residual_from": 3, "readout": "linear"}
    model = make(AttentionSettings(score=Choice("bilinear")), cell=Choice(cell), **settings)
    assert_equal(model, encoded(), ids, gnmt, assert_agrees, "C05")


def sutskever(model: RecurrentDecoder, keys: Tensor, final: Tensor, ids: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Nothing but s_0 tells of the source (https://arxiv.org/abs/1409.3215)."""
    step, pasts, states = cells_of(model), begin(model, final), []
    for y in model.embedder.table[ids]:
        pasts = step(y, pasts)
        states.append(out(model, pasts[-1][0]))
    return states, []


@pytest.mark.parametrize("num_layers", [1, 2])
def test_a_decoder_that_is_started_by_the_source_and_reads_no_more(num_layers, make, encoded, ids, assert_agrees):
    model = make(order="luong", source_context="start", readout="linear", cell=Choice("lstm"), num_layers=num_layers)
    assert_equal(model, encoded(), ids, sutskever, assert_agrees, "C02")
