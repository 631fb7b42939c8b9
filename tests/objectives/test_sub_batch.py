"""Half of a batch is learnt from; the others lend their statistics and get nothing."""

from dataclasses import replace

import pytest
import torch
from language import model_of, small, task_of
from torch import Tensor
from torch.testing import assert_close

from regard.attention import recording
from regard.models import ROUTE, AttentionSettings, ModelSettings, Translator, build_translator
from regard.objectives import OBJECTIVES, PenalisedObjective, build_penalties
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


def translator(**changes: object) -> Translator:
    settings = ModelSettings(
        dim=8,
        position=None,
        encoder=Choice("bytenet", SMALL),
        decoder=Choice("bytenet", SMALL),
        attention=AttentionSettings(score=Choice("dot"), span=(Choice("same_position"),)),
        dropout=0.0,
        tied="none",
    )
    return build_translator(replace(settings, **changes), VOCAB, VOCAB).double().train()


@pytest.fixture
def model() -> Translator:
    return translator()


def test_the_loss_is_of_the_main_half_alone(model, targets, assert_agrees):
    given = batch(targets)
    loss = OBJECTIVES.build(Choice("sub_batch", {"label_smoothing": 0.2}), model).loss(model, given, "model")
    assert loss.count == 6  # of the first two of five rows
    assert_agrees("B15", loss.sum, model.nll(given, smoothing=0.2)[:2].sum(), tolerance=1e-10)


def test_a_main_sentence_learns_nothing_from_its_own_later_words(model, targets, assert_agrees):
    """With ordinary batch statistics every word would move every other one."""
    changed = targets.clone()
    changed[0, 2] = 10
    given = batch(targets)
    columns = {**given.columns, "target": Sequences(changed, changed != PAD)}
    before, after = model.nll(given), model.nll(given._replace(columns=columns))
    assert_agrees("B15", before[0, :2], after[0, :2], tolerance=0.0)
    assert_agrees("B15", before[1:], after[1:], tolerance=0.0)
    assert not torch.allclose(before[0, 3], after[0, 3])


@pytest.mark.parametrize("more", [1, 8])
@pytest.mark.parametrize("column", ["source", "target"])
def test_how_much_padding_a_batch_has_does_not_matter(model, targets, column, more):
    """Statistics are of words, also in the decoder; and so are the averages that are used later."""
    given = batch(targets)
    ids = torch.cat([given.columns[column].items, torch.full((5, more), PAD)], dim=1)
    padded = given._replace(columns={**given.columns, column: Sequences(ids, ids != PAD)})
    objective = OBJECTIVES.build(Choice("sub_batch"), model)
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    first = objective.loss(model, given, "model").sum
    after = {name: buffer.clone() for name, buffer in model.named_buffers()}
    model.load_state_dict(before, strict=False)
    assert_close(objective.loss(model, padded, "model").sum, first, rtol=0, atol=1e-10)
    assert len(after) > 8 and not torch.equal(torch.cat(list(after.values())), torch.cat(list(before.values())))
    for name, buffer in model.named_buffers():
        assert_close(buffer, after[name], rtol=0, atol=1e-10)


def test_a_sentence_that_is_alone_is_learnt_from(model, targets):
    given = batch(targets)
    model.nll(given)  # averages
    alone = given._replace(
        columns={name: Sequences(*(one[:1] for one in column)) for name, column in given.columns.items()},
        lines=given.lines[:1],
    )
    loss = OBJECTIVES.build(Choice("sub_batch", {"label_smoothing": 0.0}), model).loss(model, alone, "model")
    model.eval()
    assert loss.count == 4
    assert_close(loss.sum, model.nll(alone).sum())


def test_a_language_model_counts_what_the_loss_counts():
    """Pieces that are only read are not of the loss, nor of what it is divided by."""
    model = model_of(small("bytenet", norm=NORM), VOCAB, dropout=0.0).train()
    given = task_of(["abc"]).batch([[4, 5], [6, 7], [4]], [[6], [5, 5, 5], [7]])
    loss = OBJECTIVES.build(Choice("sub_batch", {"label_smoothing": 0.0}), model).loss(model, given, "model")
    assert loss.count == 2  # one piece and the end of the first of three
    assert_close(loss.sum, model.nll(given)[0, 2:4].sum())


@pytest.mark.parametrize("name", ["doubly_stochastic", "overlap"])
def test_penalties_are_of_the_main_half_too(targets, name):
    """The other half saw its own future, and nothing is to be learnt of it."""
    encoder = Choice("bytenet", {**SMALL, "ratio": 1.0})
    model = translator(encoder=encoder, attention=AttentionSettings(score=Choice("additive"), num_heads=2))
    given, plain = batch(targets), OBJECTIVES.build(Choice("sub_batch"), model)
    penalties = build_penalties([Choice(name, {"attentions": "decoders.*.attention"})])
    first = penalised(plain, penalties, model, given)
    assert first > 0
    main = {key: Sequences(*(one[:2] for one in column)) for key, column in given.columns.items()}
    with recording(model) as records:
        model.nll(given)
    cut = {key: [one._replace(weights=one.weights[:2]) for one in answers] for key, answers in records.items()}
    assert_close(first, penalties[name](cut, given._replace(columns=main, lines=given.lines[:2])).detach())


def penalised(objective, penalties, model, given) -> Tensor:
    """The only penalty, as the objective tells it."""
    (name,) = penalties
    return PenalisedObjective(objective, penalties).loss(model, given, "model").parts[name]


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
