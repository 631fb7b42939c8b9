"""Every row of the recurrent table, and the block, can be run in pieces; padding changes nothing."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.layers.complex_numbers import ComplexLstm, complex_convolution
from regard.layers.convolutional.convolution import Convolution
from regard.layers.convolutional.gated_block import GatedBlock
from regard.layers.convolutional.residual_block import Chain, MultiplicativeUnit, ResidualBlock
from regard.layers.feedforwards import FEEDFORWARDS
from regard.layers.feedforwards.feedforward import FeedForward
from regard.layers.feedforwards.position_wise import PositionWise
from regard.layers.histories import HISTORIES
from regard.layers.key_value import STATE_PARTS, KeyValueLayer
from regard.layers.layer import Layer
from regard.layers.ngram import NgramLayer
from regard.layers.normalisation import NORMALISATIONS
from regard.layers.recurrent import RECURRENT, Recurrent, Stack
from regard.layers.transformer_block import TransformerBlock
from regard.models import AttentionSettings, build_attention
from regard.records import select
from regard.registry import Choice

DIM, LENGTH = 4, 7
LENGTHS = [7, 4, 1, 0]
EXACT = {"rtol": 0.0, "atol": 1e-10}


def recurrent(name: str, **settings: object) -> Recurrent:
    return RECURRENT.build(Choice(name, settings), DIM, DIM)


def feedforward(name: str) -> FeedForward:
    return FEEDFORWARDS.build(Choice(name), DIM, 6)


def history(name: str, **settings: object) -> Layer:
    return HISTORIES.build(Choice(name, settings), DIM, 6)


def block(norm: str, below: FeedForward | None = None, instead: Layer | None = None) -> TransformerBlock:
    own = None if instead else build_attention(AttentionSettings(num_heads=2), DIM, DIM, causal=True)
    return TransformerBlock(DIM, own, None, below or PositionWise(DIM, 6), history=instead, norm=norm, dropout=0.3)


MAKERS = {
    **{name: lambda name=name: recurrent(name) for name in RECURRENT},
    "rnn-relu": lambda: recurrent("rnn", nonlinearity="relu"),
    "gru-reset-before": lambda: recurrent("gru", reset_after=False),
    "lstmn-capped": lambda: recurrent("lstmn", memory_size=2),
    "sru-1-tanh": lambda: recurrent("sru", version=1, activation="tanh", highway_bias=-1.0),
    "stack": lambda: Stack([recurrent("gru"), recurrent("lstm")], dropout=0.3),
    "stack-residual": lambda: Stack([recurrent("lstmn"), recurrent("sru"), recurrent("gru")], residual_from=2),
    **{f"feedforward-{n}": lambda n=n: feedforward(n) for n in FEEDFORWARDS if not FEEDFORWARDS[n].whole},
    **{f"history-{name}": lambda name=name: history(name) for name in HISTORIES},
    "history-average-bare": lambda: history("average", feedforward=False, gate=False),
    "history-lstmn": lambda: history("recurrent", cell=Choice("lstmn")),
    "block-sru": lambda: block("pre", feedforward("sru")),
    "block-ssru": lambda: block("pre", None, history("recurrent")),
    "block-average-sru": lambda: block("post", feedforward("sru"), history("average")),
    "block-pre": lambda: block("pre"),
    "block-post": lambda: block("post"),
    **{f"norm-{name}": lambda name=name: NORMALISATIONS.build(Choice(name), DIM) for name in NORMALISATIONS},
    **{f"key-value-{mode}": lambda mode=mode: KeyValueLayer(6, mode=mode, window=3) for mode in STATE_PARTS},
    **{f"{order}-gram": lambda order=order: NgramLayer(6, order=order) for order in (2, 3, 4)},
    "convolution": lambda: Convolution(DIM, 5, kernel=3, dilation=2),
    "convolution-wide": lambda: Convolution(DIM, DIM, kernel=4, dilation=5, std=0.5),
    "complex-lstm": lambda: ComplexLstm(DIM, DIM),
    "complex-convolution": lambda: complex_convolution(DIM, DIM, causal=True),
    "convolution-one": lambda: Convolution(DIM, DIM, kernel=1),
    "gated-glu": lambda: GatedBlock(DIM, 6, gate="glu", dropout=0.3),
    "gated-gtu": lambda: GatedBlock(DIM, DIM, gate="gtu", kernel=4),
    "gated-relu": lambda: GatedBlock(DIM, DIM, gate="relu"),
    "multiplicative-unit": lambda: MultiplicativeUnit(DIM, dilation=2),
    "residual-relu": lambda: ResidualBlock(DIM, kind="relu", dilation=2),
    "residual-multiplicative": lambda: ResidualBlock(DIM, kind="multiplicative"),
    **{f"residual-{name}": lambda name=name: ResidualBlock(DIM, norm=Choice(name)) for name in NORMALISATIONS},
    "chain": lambda: Chain(
        DIM, [GatedBlock(DIM, 6), RECURRENT.build(Choice("gru"), 6, DIM), ResidualBlock(DIM, dilation=2)]
    ),
}
MEMORIES = {"key_value", "lstmn", "stack_rnn"}  # their pasts are memories of many numbers
BEGUN = [*(name for name in RECURRENT if name not in MEMORIES), "rnn-relu", "gru-reset-before", "convolution"]
SPLITS = [*([cut] for cut in range(LENGTH + 1)), [*range(LENGTH + 1)], [2, 5], [3, 3], [0, 4, 4, 6]]  # also empty ones
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def build(name: str) -> Layer:
    """Return a layer all of whose parameters are drawn: one that begins at zero or one could hide a fault."""
    torch.manual_seed(7)
    layer = MAKERS[name]().double().eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer


@pytest.fixture(params=MAKERS)
def layer(request: pytest.FixtureRequest) -> Layer:
    return build(request.param)


def drawn(layer: Layer, length: int, rows: int = len(LENGTHS)) -> Tensor:
    width = 6 if isinstance(layer, KeyValueLayer | NgramLayer) else DIM
    return torch.randn(rows, length, width, dtype=torch.float64)


@pytest.fixture
def inputs(request: pytest.FixtureRequest) -> Tensor:
    return drawn(request.getfixturevalue("layer") if "layer" in request.fixturenames else None, LENGTH)


def in_pieces(layer: Layer, inputs: Tensor, mask: Tensor | None, cuts: list[int]) -> tuple[Tensor, object]:
    past, outputs = None, []
    for start, end in zip([0, *cuts], [*cuts, LENGTH], strict=True):
        output, past = layer(inputs[:, start:end], None if mask is None else mask[:, start:end], past)
        outputs.append(output)
    return torch.cat(outputs, dim=1), past


@pytest.mark.parametrize("padded", [False, True])
def test_any_split_into_chunks_equals_the_whole_pass(layer, inputs, padded):
    mask, shown = (MASK, MASK) if padded else (None, torch.ones_like(MASK))
    whole, end = layer(inputs, mask)
    assert whole.shape == (len(LENGTHS), LENGTH, layer.dim)
    more = drawn(layer, 2)
    wanted, _ = layer(more, None, end)
    for cuts in SPLITS:
        pieces, after = in_pieces(layer, inputs, mask, cuts)
        assert_close(pieces[shown], whole[shown], **EXACT)
        assert_close(layer(more, None, after)[0], wanted, **EXACT)


def test_a_batch_of_different_lengths_equals_each_alone(layer, inputs):
    together, past = layer(inputs, MASK)
    more = drawn(layer, 4)
    after, _ = layer(more, None, past)
    for row, length in enumerate(LENGTHS):
        alone, end = layer(inputs[row : row + 1, :length], None)
        assert_close(together[row : row + 1, :length], alone, **EXACT)
        assert_close(after[row : row + 1], layer(more[row : row + 1], None, end)[0], **EXACT)


def test_what_stands_under_padding_cannot_change_what_is_read_later(layer, inputs):
    changed = inputs.masked_fill(~MASK.unsqueeze(-1), 1e3)
    more = drawn(layer, 2)
    (first, past), (second, other) = layer(inputs, MASK), layer(changed, MASK)
    assert_close(first[MASK], second[MASK], rtol=0, atol=0)
    assert_close(layer(more, None, past)[0], layer(more, None, other)[0], rtol=0, atol=0)


def test_selected_rows_go_on_as_they_were(layer, inputs):
    rows = torch.tensor([1, 0, 1])
    _, past = layer(inputs[:, :3], MASK[:, :3])
    whole, _ = layer(inputs[:, 3:], MASK[:, 3:], past)
    some, _ = layer(inputs[rows, 3:], MASK[rows, 3:], select(past, rows))
    assert_close(some[MASK[rows, 3:]], whole[rows][MASK[rows, 3:]], **EXACT)


def test_no_step_sees_a_later_one(layer, inputs):
    changed = inputs.clone()
    changed[:, 4:] += 1
    assert_close(layer(changed, None)[0][:, :4], layer(inputs, None)[0][:, :4], rtol=0, atol=0)


@pytest.mark.parametrize("name", RECURRENT)
def test_a_padded_step_keeps_the_state_and_writes_zeros(name, inputs):
    layer = build(name)
    outputs, past = layer(inputs, MASK)
    assert bool((outputs[~MASK] == 0).all())
    assert_close(past[0][0], outputs[0, -1])  # what others may see stands first
    nothing, after = layer(inputs, torch.zeros_like(MASK), past)
    assert bool((nothing == 0).all())
    assert_close(after, past, rtol=0, atol=0)


def test_gradients_are_those_of_finite_differences(layer):
    """Also those that flow through the past, from rows that end in the first piece and from one that is empty."""
    mask = torch.arange(4) < torch.tensor([[4], [1], [0]])

    def run(inputs: Tensor) -> Tensor:
        first, past = layer(inputs[:, :2], mask[:, :2])
        return torch.cat([first, layer(inputs[:, 2:], mask[:, 2:], past)[0]], dim=1)[mask]

    assert torch.autograd.gradcheck(run, drawn(layer, 4, 3).requires_grad_())


@pytest.mark.parametrize("name", BEGUN)
def test_gradients_by_a_given_past_are_those_of_finite_differences(name):
    """Also those of the past that is handed on, as a decoder trains the state in which it begins."""
    layer, mask = build(name), torch.arange(3) < torch.tensor([[3], [1], [0]])
    _, past = layer(torch.randn(3, 2, DIM, dtype=torch.float64), None)
    alone = isinstance(past, Tensor)
    begun = [torch.randn_like(one).requires_grad_() for one in ([past] if alone else past)]

    def run(inputs: Tensor, *begun: Tensor) -> tuple[Tensor, ...]:
        outputs, end = layer(inputs, mask, begun[0] if alone else begun)
        return (outputs[mask], end) if alone else (outputs[mask], *end)

    assert torch.autograd.gradcheck(run, (torch.randn(3, 3, DIM, dtype=torch.float64, requires_grad=True), *begun))


def test_single_precision_stays_near(layer, inputs):
    exact = layer(inputs, MASK)[0][MASK]
    near = layer.float()(inputs.float(), MASK)[0][MASK]
    assert near.dtype == torch.float32
    assert_close(near.double(), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", RECURRENT)
def test_an_empty_row_leaves_no_gradient_in_the_weights(name, inputs):
    layer = build(name)
    inputs.requires_grad_()
    past = tuple(one.detach() for one in layer.begun(torch.randn(len(LENGTHS), DIM, dtype=torch.float64)))
    outputs, end = layer(inputs, torch.zeros_like(MASK), past)
    learning = [*layer.parameters(), inputs]
    (outputs.sum() + sum(one.sum() for one in end) + sum(0 * one.sum() for one in learning)).backward()
    assert all(bool((one.grad == 0).all()) for one in learning)


@pytest.mark.parametrize("name", RECURRENT)
def test_no_steps_and_no_rows(name, inputs):
    layer = build(name)
    _, past = layer(inputs, MASK)
    for some in (None, MASK[:, :0]):
        outputs, end = layer(inputs[:, :0], some, past)
        assert outputs.shape == (len(LENGTHS), 0, DIM)
        assert_close(end, past, rtol=0, atol=0)
    for some in (None, MASK[:0]):
        outputs, end = layer(inputs[:0], some)
        assert outputs.shape == (0, LENGTH, DIM) and end[0].shape == (0, DIM)
