"""Half of a batch is learnt from; the others lend their statistics and get nothing."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.models import ROUTE, AttentionSettings, ModelSettings, Translator, build_translator
from regard.objectives import OBJECTIVES
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

VOCAB = 12
NORM = Choice("sub_batch")
SMALL = {"hidden_dim": 4, "num_layers": 2, "norm": NORM}


def batch(targets: Tensor) -> Batch:
    source = torch.randint(4, VOCAB, (len(targets), 6))
    columns = {name: Sequences(ids, ids != PAD) for name, ids in (("source", source), ("target", targets))}
    return Batch(columns, ROUTE, torch.arange(len(targets)), int((targets != PAD).sum()))


@pytest.fixture
def targets() -> Tensor:
    return torch.tensor([[4, 5, 6, EOS], [7, EOS, PAD, PAD], [8, 8, EOS, PAD], [9, 4, 4, EOS], [5, EOS, PAD, PAD]])


@pytest.fixture
def model() -> Translator:
    settings = ModelSettings(
        dim=8,
        position=None,
        encoder=Choice("bytenet", SMALL),
        decoder=Choice("bytenet", SMALL),
        attention=AttentionSettings(score=Choice("dot"), span=(Choice("same_position"),)),
        dropout=0.0,
        tied="none",
    )
    return build_translator(settings, VOCAB, VOCAB).double().train()


def test_the_loss_is_of_the_main_half_alone(model, targets):
    given = batch(targets)
    loss = OBJECTIVES.build(Choice("sub_batch", {"label_smoothing": 0.2}), model).loss(model, given, "model")
    assert loss.count == 6  # of the first two of five rows
    assert_close(loss.sum, model.nll(given, smoothing=0.2)[:2].sum())


def test_a_main_sentence_learns_nothing_from_its_own_later_words(model, targets):
    """With ordinary batch statistics every word would move every other one."""
    changed = targets.clone()
    changed[0, 2] = 10
    given = batch(targets)
    columns = {**given.columns, "target": Sequences(changed, changed != PAD)}
    before, after = model.nll(given), model.nll(given._replace(columns=columns))
    assert_close(before[0, :2], after[0, :2], rtol=0, atol=0)
    assert_close(before[1:], after[1:], rtol=0, atol=0)
    assert not torch.allclose(before[0, 3], after[0, 3])


def test_the_auxiliary_half_gets_no_gradient(model, targets):
    """Words that stand there alone stay as they were."""
    targets[3, 0] = 11  # in no main sentence
    given = batch(targets)
    given.columns["source"].items[:2] = 4
    OBJECTIVES.build(Choice("sub_batch"), model).loss(model, given, "model").sum.backward()
    table = model.decoders[ROUTE].embedder.table.grad
    assert bool((table[11] == 0).all()) and bool((table[5] != 0).any())


def test_in_use_every_sentence_is_written_as_it_is_alone(model, targets):
    given = batch(targets)
    model.nll(given)  # statistics
    model.eval()
    together = model.nll(given)
    for row in range(5):
        columns = {name: Sequences(*(one[row : row + 1] for one in column)) for name, column in given.columns.items()}
        assert_close(model.nll(given._replace(columns=columns))[0], together[row])
