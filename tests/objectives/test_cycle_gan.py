"""Cycle-consistent adversarial learning: its losses and penalty by hand, what learns by which, and the pool."""

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.nn import functional
from torch.testing import assert_close

from regard.data.columns.symbols import SymbolsColumn
from regard.errors import ConfigError
from regard.models import MODELS, ROUTE
from regard.models.decipherer import CIPHER, PLAIN
from regard.objectives import OBJECTIVES, Context
from regard.objectives.cycle_gan import HistoryPool, SequenceDiscriminator, blended, gradient_penalty
from regard.records import Batch, Sequences
from regard.registry import Choice

SIZE = 3


@pytest.fixture
def model():
    columns = {side: SymbolsColumn("characters", "abc") for side in (CIPHER, PLAIN)}
    return MODELS.build(Choice("cipher_gan", {"dim": 4, "filters": 4, "num_blocks": 1}), columns).double()


@pytest.fixture
def batch():
    ids = {CIPHER: torch.tensor([[1, 2, 3, 1], [2, 2, 0, 0]]), PLAIN: torch.tensor([[3, 1], [1, 0]])}
    return Batch({side: Sequences(one, one > 0) for side, one in ids.items()}, ROUTE, torch.arange(2), 6)


def objective(model, **settings):
    chosen = {"num_layers": 2, "width": 3, "filters": 4, **settings}
    return OBJECTIVES.build(Choice("cycle_gan", chosen), Context(model)).double()


class Linear(nn.Module):
    """D = weight · vector at each place."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        return vectors @ self.weight


def test_gradient_penalty_by_hand():
    """The gradient of the sum is the weight at each place that is shown: |w| √n."""
    text = Sequences(torch.randn(2, 3, 2).double(), torch.tensor([[True, True, True], [True, False, False]]))
    critic = Linear(torch.tensor([3.0, 4.0]).double())
    assert_close(gradient_penalty(critic, text), torch.tensor((5 * 3**0.5 - 1) ** 2 + (5 - 1) ** 2).double())


def test_gradient_of_the_penalty():
    torch.manual_seed(0)
    critic = SequenceDiscriminator(2, 3, 2, 3).double()
    text = Sequences(torch.randn(2, 4, 2).double(), torch.ones(2, 4, dtype=torch.bool))
    weight = critic.convolutions[0].weight

    def penalty(value: Tensor) -> Tensor:
        class Replaced(nn.Module):
            def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
                found = torch.func.functional_call(critic, {"convolutions.0.weight": value}, (vectors, mask))
                assert isinstance(found, Tensor)
                return found

        return gradient_penalty(Replaced(), text)

    assert gradcheck(penalty, (weight,))


def test_hidden_places_are_not_read():
    critic = SequenceDiscriminator(2, 3, 3, 3).double().eval()
    mask = torch.tensor([[True, True, False, False]])
    text = torch.randn(1, 4, 2).double()
    longer = critic(text, mask)[:, :2]
    assert_close(critic(text[:, :2], mask[:, :2]), longer)
    assert_close(critic(text.masked_fill(~mask.unsqueeze(-1), 9.0), mask)[:, :2], longer)


def test_blended_texts_lie_between_both():
    real, false = (Sequences(torch.full((3, n, 1), value), torch.ones(3, n) > 0) for n, value in ((4, 1.0), (2, 0.0)))
    found = blended(real, false)
    assert found.items.shape == (3, 2, 1)
    assert bool(((found.items >= 0) & (found.items <= 1)).all())
    assert bool((found.items[:, :1] == found.items).all())  # one share a text


def test_losses_by_hand(model, batch):
    """Of the generators' turn, symbol by symbol."""
    built = objective(model, cycle=7.0)
    losses = built.loss(batch, "model")
    adversarial = back = 0.0
    for side, other in ((CIPHER, PLAIN), (PLAIN, CIPHER)):
        ids, mask = batch.sequences(side)
        for row, shown in zip(ids, mask, strict=True):
            given = row[shown]
            probs = model.generators[side](model.embeddings[side][given - 1])
            vectors = probs @ model.embeddings[other]
            again = model.generators[other](vectors)
            back += 7.0 * (again - functional.one_hot(given - 1, SIZE)).abs().sum(dim=-1).mean()
            found = built.discriminators[other](vectors.unsqueeze(0), torch.ones(1, len(given)) > 0)
            adversarial += (found - 1).square().mean()
    assert_close(losses.sum, adversarial + back)
    assert_close(losses.parts["generators"], adversarial.detach())
    assert losses.count == 2


def test_vectors_learn_by_the_cycle_and_the_discriminators(model, batch):
    for turn, settings, moved in (
        ("model", {"cycle": 0.0}, False),
        ("model", {"cycle": 1.0}, True),
        ("discriminators", {"penalty": 0.0}, True),
    ):
        model.zero_grad()
        objective(model, **settings).loss(batch, turn).sum.backward()
        gradients = [table.grad for table in model.embeddings.values()]
        assert [one is not None and bool(one.abs().sum() > 0) for one in gradients] == [moved] * 2


def test_discriminators_turn_leaves_generators_alone(model, batch):
    built = objective(model)
    built.loss(batch, "discriminators").sum.backward()
    assert all(one.grad is None for one in model.generators.parameters())
    own = {id(one) for one in built.parameters_of("discriminators")}
    assert own == {id(one) for one in [*built.discriminators.parameters(), *model.embeddings.parameters()]}


def text(value: float, length: int = 2) -> Sequences:
    return Sequences(torch.full((1, length, 1), value), torch.ones(1, length, dtype=torch.bool))


def test_pool_fills_then_exchanges_half():
    torch.manual_seed(1)
    pool = HistoryPool(2)
    assert [float(pool(text(value)).items[0, 0, 0]) for value in (1.0, 2.0)] == [1.0, 2.0]
    given = [(value, float(pool(text(value)).items[0, 0, 0])) for value in map(float, range(3, 203))]
    old = [one for value, one in given if one != value]
    assert 70 < len(old) < 130
    assert len(set(old)) == len(old)  # what was given back is no longer kept
    assert len(pool.probs) == 2


def test_pool_keeps_texts_of_their_own_length():
    torch.manual_seed(0)
    pool = HistoryPool(1)
    pool(text(1.0, 2))
    found = [pool(text(2.0, 3)) for _ in range(9)]
    old = next(one for one in found if float(one.items[0, 0, 0]) == 1.0)
    assert old.mask.tolist() == [[True, True, False]]


def test_pool_is_part_of_a_checkpoint(model, batch):
    built, again = objective(model, pool=3), objective(model, pool=3)
    built.loss(batch, "discriminators")
    again.load_state_dict(built.state_dict())
    assert len(again.pools[PLAIN].probs) == 2
    assert_close(again.pools[PLAIN].probs, built.pools[PLAIN].probs)


def test_pool_of_nothing_gives_the_newest():
    assert HistoryPool(0)(one := text(5.0)) is one


def test_other_models_are_refused():
    with pytest.raises(ConfigError, match="model=cipher_gan"):
        OBJECTIVES.build(Choice("cycle_gan"), Context(nn.Linear(1, 1)))
