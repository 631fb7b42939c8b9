"""Every row of the encoders, and its settings: padding, batch mates, texts without a word, gradients."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.attention import Sockets
from regard.encoders import ENCODERS
from regard.encoders.encoder import Encoder
from regard.layers.recurrent import RECURRENT
from regard.models import AttentionSettings, build_attention
from regard.records import Sequences
from regard.registry import Choice

DIM, LENGTH = 8, 6
LENGTHS = [6, 3, 1, 0]
SIZES = {"num_layers": 2, "hidden_dim": 4, "feedforward_dim": 12, "dropout": 0.0}
PARTS = (
    Choice("convolutional", {"hidden_dim": 6, "num_layers": 1}),
    Choice("recurrent", {"hidden_dim": 3}),
    Choice("self_attention"),
)
MAKERS = {
    **{name: (name, {"encoders": PARTS} if name in ("parallel", "sequential") else {}) for name in ENCODERS},
    "transformer-post": ("transformer", {"norm": "post"}),
    "bytenet-unfolding": ("bytenet", {"ratio": 1.5}),
    "bytenet-multiplicative": ("bytenet", {"block": "multiplicative"}),
    "complex-lstm": ("complex_layers", {"layer": "lstm"}),
    "complex-dense": ("complex_layers", {"kernel": 1, "activation": "tanh", "norm": False, "modulus": True}),
    "unfolded-more": ("unfolded", {"ratio": 1.5}),
    "convolutional-deep": ("convolutional", {"num_layers": 3, "hidden_dim": 6}),
    **{f"self_matching-{cell}": ("self_matching", {"cell": Choice(cell)}) for cell in ("rnn", "gru", "lstm")},
}
CELLS = {
    f"{cell}-{merge}-{'reverse' if reverse else 'ahead'}": {"cell": Choice(cell), "merge": merge, "reverse": reverse}
    for cell in RECURRENT
    for merge in ("concatenate", "add")
    for reverse in (False, True)
}
ALL = {**MAKERS, **{name: ("recurrent", settings) for name, settings in CELLS.items()}}


def build(name: str) -> Encoder:
    torch.manual_seed(7)
    row, settings = ALL[name]
    own = AttentionSettings(**{"score": Choice("additive")} if row == "self_matching" else {"num_heads": 2})
    sockets = Sockets(*[lambda dim, key_dim=None: build_attention(own, dim, key_dim or dim)] * 3)
    known = {key: size for key, size in SIZES.items() if key in ENCODERS.settings(row)}
    return ENCODERS.build(Choice(row, {**known, **settings}), DIM, sockets).double().eval()


@pytest.fixture(params=ALL)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return build(request.param)


@pytest.fixture
def source() -> Sequences:
    mask = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)
    return Sequences(torch.randn(len(LENGTHS), LENGTH, DIM, dtype=torch.float64), mask)


@pytest.mark.parametrize("number", [1e3, torch.nan, torch.inf])
def test_no_number_under_padding_reaches_anything(encoder, source, number):
    """A place beyond a row's end is nobody's: an overflow there, of whoever stands below, is no fault of the row."""
    changed = source._replace(items=source.items.masked_fill(~source.mask.unsqueeze(-1), number))
    assert_close(encoder(changed), encoder(source), rtol=0, atol=0)


def test_states_are_as_wide_as_said_and_zero_behind_the_end(encoder, source):
    seen = encoder(source)
    assert seen.states.shape[-1] == encoder.dim
    assert bool((seen.states[~seen.mask] == 0).all()) and bool((seen.read[~seen.mask] == 0).all())


def test_more_padding_changes_nothing(encoder, source):
    wider = Sequences(nn.functional.pad(source.items, (0, 0, 0, 4), value=9.0), nn.functional.pad(source.mask, (0, 4)))
    seen, padded = encoder(source), encoder(wider)
    length = seen.states.shape[1]
    assert_close(padded.states[:, :length], seen.states)
    assert bool((padded.states[:, length:] == 0).all())
    assert_close((padded.final, padded.past), (seen.final, seen.past))


def test_batch_mates_do_not_matter(encoder, source):
    together = encoder(source)
    for row, length in enumerate(LENGTHS[:-1]):
        alone = encoder(Sequences(source.items[row : row + 1, :length], source.mask[row : row + 1, :length]))
        assert_close(together.states[row : row + 1, : alone.states.shape[1]], alone.states)
        assert_close(together.final[row : row + 1], alone.final)


def test_a_row_without_words_gives_zeros_and_finite_gradients(encoder, source):
    lengths = torch.tensor([[0], [4], [0], [0]])
    seen = encoder(source._replace(mask=torch.arange(LENGTH) < lengths))
    assert bool((seen.states[[0, 2, 3]] == 0).all()) and bool((seen.final[[0, 2, 3]] == 0).all())
    if seen.states.requires_grad:
        (seen.states.sum() + seen.final.sum()).backward()
    gradients = [parameter.grad for parameter in encoder.parameters() if parameter.grad is not None]
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


@pytest.mark.parametrize("name", MAKERS)
def test_gradients_are_those_of_finite_differences(name):
    encoder = build(name).requires_grad_(False)
    mask = torch.arange(3) < torch.tensor([[3], [1]])
    words = torch.randn(2, 3, DIM, dtype=torch.float64, requires_grad=True)

    def run(words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = encoder(Sequences(words, mask))
        return seen.states, seen.final

    assert torch.autograd.gradcheck(run, (words,))
