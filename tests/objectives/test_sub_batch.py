"""Half of a batch is learnt from; the others lend their statistics and get nothing."""

from collections import Counter
from contextlib import nullcontext

import pytest
import torch
from language import model_of, small, task_of
from networks import build_translator
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import recording
from regard.errors import ConfigError
from regard.models import ROUTE, AttentionSettings, Translator
from regard.objectives import OBJECTIVES, Context, Objective, PenalisedObjective, build_penalties
from regard.objectives.sub_batch import MAX_LONE_BATCHES
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
    settings = dict(
        dim=8,
        position=None,
        encoder=Choice("bytenet", SMALL),
        decoder=Choice("bytenet", SMALL),
        attention=AttentionSettings(score=Choice("dot"), span=(Choice("same_position"),)),
        dropout=0.0,
        tied="none",
    )
    return build_translator({**settings, **changes}, VOCAB, VOCAB).double().train()


@pytest.fixture
def model() -> Translator:
    return translator()


def objective_of(model: nn.Module, smoothing: float = 0.1) -> Objective:
    """It takes the rows as they come, as it does when nothing is learnt."""
    return OBJECTIVES.build(Choice("sub_batch", {"label_smoothing": smoothing}), Context(model)).eval()


def test_the_loss_is_of_the_main_half_alone(model, targets, assert_agrees):
    given = batch(targets)
    loss = objective_of(model, 0.2).loss(given, "model")
    assert loss.count == 6  # of the first two of five rows
    assert loss.learnt.lines.tolist() == [0, 1]
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
    objective = objective_of(model)
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    first = objective.loss(given, "model").sum
    after = {name: buffer.clone() for name, buffer in model.named_buffers()}
    model.load_state_dict(before, strict=False)
    assert_close(objective.loss(padded, "model").sum, first, rtol=0, atol=1e-10)
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
    loss = objective_of(model, 0.0).loss(alone, "model")
    model.eval()
    assert loss.count == 4
    assert_close(loss.sum, model.nll(alone).sum())


def test_a_language_model_counts_what_the_loss_counts():
    """Pieces that are only read are not of the loss, nor of what it is divided by."""
    model = model_of(small("bytenet", norm=NORM), VOCAB, dropout=0.0).train()
    texts = [([4, 5], [6]), ([6, 7], [5, 5, 5]), ([4], [7])]
    given = task_of(["abc"]).batch([{"text": prompt, "continuation": rest} for prompt, rest in texts])
    loss = objective_of(model, 0.0).loss(given, "model")
    assert loss.count == 2  # one piece and the end of the first of three
    assert_close(loss.sum, model.nll(given)[0, 2:4].sum())


@pytest.mark.parametrize("name", ["doubly_stochastic", "overlap"])
def test_penalties_are_of_the_main_half_too(targets, name):
    """The other half saw its own future, and nothing is to be learnt of it."""
    encoder = Choice("bytenet", {**SMALL, "ratio": 1.0})
    model = translator(encoder=encoder, attention=AttentionSettings(score=Choice("additive"), num_heads=2))
    given, plain = batch(targets), objective_of(model)
    penalties = build_penalties([Choice(name, {"attentions": "decoders.*.attention"})])
    first = penalised(plain, penalties, given)
    assert first > 0
    main = {key: Sequences(*(one[:2] for one in column)) for key, column in given.columns.items()}
    with recording(model) as records:
        model.nll(given)
    cut = {
        key: seen._replace(answers=[one._replace(weights=one.weights[:2]) for one in seen.answers])
        for key, seen in records.items()
    }
    assert_close(first, penalties[name](cut, given._replace(columns=main, lines=given.lines[:2])).detach())


def penalised(objective, penalties, given) -> Tensor:
    """The only penalty, as the objective tells it."""
    (name,) = penalties
    return PenalisedObjective(objective, penalties).loss(given, "model").parts[name]


def test_the_auxiliary_half_gets_no_gradient(model, targets):
    """Words that stand there alone stay as they were."""
    targets[3, 0] = 11  # in no main sentence
    given = batch(targets)
    given.columns["source"].items[:2] = 4
    objective_of(model).loss(given, "model").sum.backward()
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


def test_training_draws_anew_which_half_is_learnt_from(model, targets, assert_agrees):
    """The loss is that of the batch in the order that was drawn."""
    given, objective, often = batch(targets), objective_of(model, 0.0).train(), Counter[int]()
    for _ in range(40):
        loss = objective.loss(given, "model")
        main = loss.learnt.lines.tolist()
        often.update(main)
        assert len(main) == 2 and loss.count == int((targets[main] != PAD).sum())
        others = [line for line in range(5) if line not in main]
        assert_agrees("B15", loss.sum, model.nll(given.select(torch.tensor([*main, *others])))[:2].sum(), 1e-10)
    assert sorted(often) == [0, 1, 2, 3, 4] and max(often.values()) < 40


def test_resumed_generator_draws_the_same_half(model, targets):
    objective = objective_of(model).train()
    state = torch.get_rng_state()
    first = objective.loss(batch(targets), "model").learnt.lines
    torch.set_rng_state(state)
    assert_close(objective.loss(batch(targets), "model").learnt.lines, first)


@pytest.mark.parametrize("together", [False, True])
def test_texts_that_are_always_alone_are_refused(model, targets, together):
    """Unless some batch before had several."""
    objective, alone = objective_of(model).train(), batch(targets[:1])
    if together:
        objective.loss(batch(targets), "model")
    with nullcontext() if together else pytest.raises(ConfigError, match="every text is alone in its batch"):
        for _ in range(MAX_LONE_BATCHES):
            objective.loss(alone, "model")
