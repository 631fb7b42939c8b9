"""R-Drop and distillation against sums over all choices."""

import pytest
import torch
from enumerable import TableWriter, batch_of, every_target, told
from networks import build_translator
from torch.nn import functional
from torch.testing import assert_close

from regard.decoding import BeamSearch
from regard.errors import ConfigError
from regard.models import ROUTE
from regard.objectives import OBJECTIVES, Context
from regard.objectives.objective import copied
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

GIVEN = [(4, EOS), (5, 3, EOS)]
PART = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})


def translator(dropout, vocab=9):
    return build_translator(dict(dim=8, encoder=PART, decoder=PART, dropout=dropout), vocab, vocab).double()


def batch():
    ids = torch.tensor([[5, 6, 7, 2], [4, 2, 0, 0]])
    rows = Sequences(ids, ids != PAD)
    return Batch({"source": rows, "target": rows}, ROUTE, torch.arange(2), 6)


def test_r_drop_is_the_mean_loss_and_both_divergences():
    model, rows = translator(0.4).train(), batch()
    torch.manual_seed(3)
    both = model.distributions(copied(rows, 2))
    one, other = both.log_probs.chunk(2)
    wanted = rows.sequences("target").items[rows.sequences("target").mask]
    losses = sum(functional.cross_entropy(each, wanted, reduction="sum", label_smoothing=0.2) for each in (one, other))
    apart = functional.kl_div(one, other, reduction="sum", log_target=True)
    apart += functional.kl_div(other, one, reduction="sum", log_target=True)
    torch.manual_seed(3)
    objective = OBJECTIVES.build(Choice("r_drop", {"weight": 1.5, "label_smoothing": 0.2}), Context(model))
    loss = objective.loss(rows, "model")
    assert apart > 1e-3
    assert_close(loss.sum, losses / 2 + 1.5 * apart / 2)
    assert loss.count == 6


def test_r_drop_without_dropout_is_likelihood():
    model, rows = translator(0.0), batch()
    both = [OBJECTIVES.build(Choice(name), Context(model)).loss(rows, "model") for name in ("r_drop", "likelihood")]
    assert_close(both[0].sum, both[1].sum)
    assert_close(both[0].parts["divergence"].item(), 0.0)


def test_r_drop_of_a_model_that_tells_one_choice_is_refused():
    class Silent(TableWriter):
        distributions = TableWriter.__mro__[2].distributions

    with pytest.raises(ConfigError, match="compares the probabilities"):
        OBJECTIVES.build(Choice("r_drop"), Context(Silent())).loss(batch_of(GIVEN), "model")


def distilled(name, student, teacher, search=None, **settings):
    context = Context(student, told(), search, load=lambda run: teacher)
    return OBJECTIVES.build(Choice(name, {"teacher": "run", **settings}), context)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_words_are_taught_by_all_that_the_teacher_finds_likely(temperature):
    student, teacher, rows = TableWriter(1), TableWriter(2), batch_of(GIVEN)
    loss = distilled("word_distillation", student, teacher, weight=0.3, temperature=temperature).loss(rows, "model")
    told_by, wanted = teacher.distributions(rows).log_probs, torch.zeros((), dtype=torch.float64)
    for q, p in zip(told_by, student.distributions(rows).log_probs, strict=True):  # item by item, choice by choice
        shares = [(one / temperature).exp() / (each / temperature).exp().sum() for each in (q, p) for one in each]
        pairs = zip(shares[: len(q)], shares[len(q) :], strict=True)
        wanted -= temperature**2 * sum(mine * other.log() for mine, other in pairs if mine > 0)
    own = student.nll(rows, smoothing=0.1).sum()
    assert_close(loss.sum, 0.7 * own + 0.3 * wanted)
    assert teacher.table.grad is None and not teacher.table.requires_grad


def test_a_student_that_equals_its_teacher_learns_nothing_from_it():
    student, teacher = TableWriter(1), TableWriter(1)
    loss = distilled("word_distillation", student, teacher, weight=1.0).loss(batch_of(GIVEN), "model")
    (gradient,) = torch.autograd.grad(loss.sum, student.table)
    assert_close(gradient, torch.zeros_like(gradient))


def test_sentences_are_taught_by_the_likeliest_of_all():
    student, teacher, rows = TableWriter(1), TableWriter(2), batch_of(GIVEN)
    every = every_target()
    likeliest = every[int((-teacher.nll(batch_of(every)).sum(dim=-1)).argmax())]
    assert likeliest not in GIVEN
    search = BeamSearch(size=40, length_penalty=0.0)
    loss = distilled("sequence_distillation", student, teacher, search, weight=0.75).loss(rows, "model")
    told_of = student.nll(batch_of([likeliest, likeliest]), smoothing=0.1).sum()
    assert_close(loss.sum, 0.25 * student.nll(rows, smoothing=0.1).sum() + 0.75 * told_of)
    assert loss.count == rows.count


def test_the_teacher_is_neither_saved_nor_trained():
    student, teacher = TableWriter(1), TableWriter(2)
    objective = distilled("word_distillation", student, teacher)
    assert not objective.state_dict()
    assert list(objective.parameters_of("model")) == [student.table]


def test_without_runs_there_is_no_teacher():
    with pytest.raises(ConfigError, match=r"objective\.teacher"):
        OBJECTIVES.build(Choice("word_distillation", {"teacher": "run"}), Context(TableWriter()))
