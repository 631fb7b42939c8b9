"""The regressor of sequences: its equations by loops, no order of rows, and what it refuses."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.columns.numbers import NumbersColumn
from regard.errors import ConfigError
from regard.models import MODELS
from regard.records import Batch, Sequences
from regard.registry import Choice

LENGTHS = [5, 3, 1]
DIM, HIDDEN = 4, 3


def columns(rows: int = 1) -> dict[str, NumbersColumn]:
    return {"given": NumbersColumn(2, 5), "wanted": NumbersColumn(1, rows)}


def build(pooling: str = "feedforward", **settings):
    given = {"dim": DIM, "hidden_dim": HIDDEN, "pooling": Choice(pooling), **settings}
    model = MODELS.build(Choice("sequence_regressor", given), columns()).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model


def batch(given: Tensor, wanted: Tensor | None = None) -> Batch:
    mask = torch.arange(given.shape[1]) < torch.tensor(LENGTHS[: len(given)]).unsqueeze(-1)
    answers = torch.zeros(len(given), 1, 1) if wanted is None else wanted
    both = {"given": Sequences(given, mask), "wanted": Sequences(answers, torch.ones_like(answers[..., 0]).bool())}
    return Batch(both, None, torch.arange(len(given)), len(given))


def rows() -> Tensor:
    return torch.randn(3, 5, 2, dtype=torch.float64)


def leaky(states: Tensor) -> Tensor:
    return torch.where(states > 0, states, 0.01 * states)


@pytest.mark.parametrize("pooling", ["feedforward", "mean"])
def test_answers_are_those_of_the_equations(pooling, assert_agrees):
    """One example and one row at a time."""
    model, given = build(pooling).requires_grad_(False), rows()
    answers = model.answer(batch(given)).numbers.items
    for example, length in enumerate(LENGTHS):
        states = [leaky(model.enter.weight @ x + model.enter.bias) for x in given[example, :length]]
        if pooling == "mean":
            context = sum(states) / length
        else:
            to_score = model.pooling.to_score
            powers = [torch.tanh(to_score.weight @ state + to_score.bias).exp() for state in states]
            context = sum(power * state for power, state in zip(powers, states, strict=True)) / sum(powers)
        hidden = leaky(model.hidden.weight @ context + model.hidden.bias)
        assert_agrees("A27", answers[example, 0], model.leave.weight @ hidden + model.leave.bias)


def test_the_order_of_rows_counts_for_nothing():
    model, given = build(), rows()
    order = torch.tensor([2, 0, 1, 3, 4])  # of the shown rows of the first two examples
    assert_close(model.answer(batch(given)).numbers.items[:2], model.answer(batch(given[:2, order])).numbers.items)


def test_an_encoder_that_reads_in_order_tells_orders_apart():
    model, given = build(encoder=Choice("recurrent", {"hidden_dim": DIM})), rows()[:1]
    one, other = (model.answer(batch(each)).numbers.items for each in (given, given.flip(1)))
    assert not torch.allclose(one, other)


def test_losses_are_squared_errors():
    model, given, wanted = build(), rows(), torch.randn(3, 1, 1, dtype=torch.float64)
    found = model.answer(batch(given)).numbers.items
    assert_close(model.nll(batch(given, wanted)), (found - wanted).square().squeeze(-1))
    assert int(model.counted(batch(given, wanted)).sum()) == 3


def test_first_weights_are_as_large_as_leaky_units_need():
    """The variance of https://arxiv.org/abs/1502.01852, equation 15, is 2 / ((1 + 0.01²) · width)."""
    model = MODELS.build(Choice("sequence_regressor", {"dim": 4000, "hidden_dim": 500}), columns())
    for layer in (model.enter, model.hidden):
        assert layer.weight.std().item() == pytest.approx((2 / (1.0001 * layer.in_features)) ** 0.5, rel=0.03)


def test_several_rows_are_refused():
    with pytest.raises(ConfigError, match=r"answers one row of numbers, but 'wanted' has up to 2"):
        MODELS.build(Choice("sequence_regressor"), columns(rows=2))


def test_smoothing_is_refused():
    with pytest.raises(ConfigError, match=r"label_smoothing: is 0\.1, but a regression has no classes"):
        build().nll(batch(rows()), smoothing=0.1)
