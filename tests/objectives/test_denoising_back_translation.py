"""Denoising and back-translation: what is learnt from, what gets a gradient, the adversary at chance, and copies."""

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch.testing import assert_close

from regard.data.columns import small_columns
from regard.decoding import GreedySearch
from regard.errors import ConfigError, TrainingError
from regard.models import MODELS
from regard.objectives import OBJECTIVES, Context
from regard.objectives.candidates import search_with
from regard.objectives.denoising_back_translation import copied_fraction
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.training.schedules import Scheduled
from regard.training.settings import TrainingSettings

KINDS = {"source": "text", "target": "text"}
PART = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})


def built_model(name="many_to_many"):
    torch.manual_seed(5)
    column = small_columns(KINDS, shared=True)["target"]
    settings = {"languages": ("de", "en"), "dim": 8, "encoder": PART, "decoder": PART, "dropout": 0.0, "tied": "all"}
    return MODELS.build(Choice(name, settings), {"source": column, "target": column}), column


def objective(model, column, **settings):
    both = {"source": column, "target": column}
    task = cast(Any, SimpleNamespace(vocabularies=both, learnt=both))
    return OBJECTIVES.build(Choice("denoising_back_translation", settings), Context(model, task))


@pytest.fixture
def batch():
    ids = torch.tensor([[5, 6, 7, 8, EOS], [9, 10, EOS, PAD, PAD]])
    other = torch.tensor([[11, 12, EOS], [13, EOS, PAD]])
    columns = {"source": Sequences(other, other != PAD), "target": Sequences(ids, ids != PAD)}
    return Batch(columns, "de", torch.arange(2), 8)


def test_loss_is_that_of_each_part_alone(batch):
    """Without noise: an autoencoder's, and that of what a greedy search writes in the other language."""
    model, column = built_model()
    built = objective(model, column, drop=0.0, blank=0.0, swap=0, denoising=0.3, label_smoothing=0.0)
    found = built.loss(batch, "model")
    read = batch._replace(columns={**batch.columns, "source": batch.columns["target"]})
    auto = model.nll(read).sum()
    written = search_with(model, GreedySearch(), read._replace(route="en"))
    total = 0.0
    for row, (one,) in enumerate(written):
        source = torch.tensor([[*(one.ids or [3]), EOS]])
        pair = batch.select(torch.tensor([row]))
        pair = pair._replace(columns={**pair.columns, "source": Sequences(source, source != PAD)})
        total += float(model.nll(pair).detach().sum())
    assert_close(float(found.parts["denoising"]), float(auto.detach()), rtol=1e-5, atol=1e-5)
    assert_close(float(found.parts["back_translation"]), total, rtol=1e-5, atol=1e-5)
    assert_close(float(found.sum.detach()), 0.3 * float(auto.detach()) + total, rtol=1e-5, atol=1e-5)
    assert found.count == batch.count


def test_generation_passes_no_gradient(batch):
    """The language vector of the way there is read by the search alone."""
    model, column = built_model()
    built = objective(model, column, denoising=0.0)
    built.loss(batch, "model").sum.backward()
    assert model.encoders["de"].language.grad.abs().sum() > 0
    assert model.encoders["en"].language.grad is None


def test_given_sources_are_read_instead_of_written_ones(batch):
    model, column = built_model()
    built = objective(model, column, given=1.0, denoising=0.0, drop=0.0, blank=0.0, swap=0, label_smoothing=0.0)
    assert_close(built.loss(batch, "model").sum, model.nll(batch).sum())
    assert float(built.copied[1]) == 0  # nothing was written


def test_a_share_of_translations_is_kept_by_probability(batch):
    model, column = built_model()
    built = objective(model, column, kept=0.5, denoising=0.0)
    read = batch._replace(columns={"source": batch.columns["target"]}, route="en")
    written = [one[0] for one in search_with(model, GreedySearch(), read)]
    means = [sum(one.log_probs) / len(one.log_probs) for one in written]
    sources, places = built.translated(batch)
    assert places.tolist() == [means.index(max(means))]
    assert sources == [[*(written[int(places)].ids or [3]), EOS]]


def test_one_network_is_shared_by_both_directions():
    """Shared encoder and decoder are the same tensors; of two decoders none is shared."""
    one, _ = built_model()
    reads = [{id(p) for p in one.encoders[name].encoder.parameters()} for name in ("de", "en")]
    assert reads[0] == reads[1]
    assert one.routes["de"].decoder == one.routes["en"].decoder
    assert one.encoders["de"].language is not one.encoders["en"].language
    two, _ = built_model("one_to_many")
    assert two.routes["de"].encoder == two.routes["en"].encoder
    writes = [{id(p) for p in two.decoders[name].parameters()} for name in ("de", "en")]
    assert writes[0] & writes[1] == {id(two.decoders["de"].embedder.output_weight())}  # by tied: all


def test_discriminator_at_chance_loses_ln_2_a_state(batch):
    model, column = built_model()
    built = objective(model, column, adversarial=1.0)
    torch.nn.init.zeros_(built.discriminator[-1].weight)
    torch.nn.init.zeros_(built.discriminator[-1].bias)
    found = built.loss(batch, "discriminator")
    assert_close(float(found.sum.detach()) / found.count, math.log(2))


def test_encoder_and_discriminator_want_opposite_labels(batch):
    """A discriminator that always answers "first language" is right for noisy text and wrong for its adversary."""
    model, column = built_model()
    built = objective(model, column, adversarial=1.0, back_translation=0.0)
    last = built.discriminator[-1]
    torch.nn.init.zeros_(last.weight)
    torch.nn.init.constant_(last.bias, 3.0)
    own = built.loss(batch, "discriminator")
    adversary = built.loss(batch, "model").parts["adversary"]
    plain, other = math.log1p(math.exp(-3)), math.log1p(math.exp(3))
    right, wrong = 0.9 * plain + 0.1 * other, 0.1 * plain + 0.9 * other  # smoothed labels
    assert_close(float(own.sum.detach()) / own.count, right, rtol=1e-5, atol=1e-5)
    assert float(adversary) > wrong
    assert float(adversary) / wrong == pytest.approx(round(float(adversary) / wrong), abs=1e-4)  # wrong of each state
    assert {id(one) for one in built.parameters_of("discriminator")}.isdisjoint(map(id, model.parameters()))
    assert built.turns == ("discriminator", "model")


@pytest.mark.parametrize(("settings", "width"), [({}, 1024), ({"hidden_dim": 16}, 16)])
def test_discriminator_has_three_hidden_layers_as_wide_as_said(settings, width):
    model, column = built_model()
    layers = objective(model, column, adversarial=1.0, **settings).discriminator
    dim = next(iter(model.encoders.values())).encoder.dim
    sizes = [tuple(one.weight.shape) for one in layers if isinstance(one, torch.nn.Linear)]
    assert sizes == [(width, dim), (width, width), (width, width), (1, width)]


def test_schedules_drive_the_weights():
    model, column = built_model()
    built = objective(model, column, given=1.0, denoising=0.8)
    falls = {"given": {"updates": 4}, "denoising": {"updates": 4, "floor": 0.5}}
    choices = {f"objective.{name}": Choice("linear", settings) for name, settings in falls.items()}
    scheduled = Scheduled(TrainingSettings(schedules=choices), model, built)
    scheduled.apply(3)
    assert (built.given, built.denoising) == pytest.approx((0.25, 0.8 * (1 - 0.5 * 0.75)))
    scheduled.apply(9)
    assert (built.given, built.denoising) == pytest.approx((0.0, 0.4))


def test_copied_share_by_hand():
    assert copied_fraction([["a", "b", "b", "c"]], [["b", "x", "b", "b"]]) == 2 / 4
    assert copied_fraction([[1]], [[]]) == 0


def test_copies_end_training_with_a_line(batch, monkeypatch):
    model, column = built_model()
    built = objective(model, column, max_copied=0.8)
    monkeypatch.setattr("regard.objectives.denoising_back_translation.COPIES_FROM", 3)
    texts = [[5, 6, 7, 8], [9, 10]]
    built._count_copies(texts, [[5], [9]])
    built._count_copies(texts, [[5], [9]])
    with pytest.raises(TrainingError, match=r"training: 100% of the words .* are copies of its source"):
        built._count_copies(texts, [[5], [9]])


def test_models_of_other_than_two_languages_are_refused():
    model, column = built_model()
    three = {"languages": ("de", "en", "fr"), "dim": 8, "encoder": PART, "decoder": PART}
    with pytest.raises(ConfigError, match="reads and writes two languages"):
        objective(MODELS.build(Choice("many_to_many", three), {"source": column, "target": column}), column)
    other = SimpleNamespace(key=lambda: "another")
    task = cast(Any, SimpleNamespace(vocabularies={"target": column}, learnt={"source": other, "target": column}))
    with pytest.raises(ConfigError, match="one vocabulary"):
        OBJECTIVES.build(Choice("denoising_back_translation"), Context(model, task))


def test_weights_that_leave_nothing_to_learn_are_refused():
    with pytest.raises(ConfigError, match="denoising: is 0, and so is back_translation"):
        objective(*built_model(), denoising=0.0, back_translation=0.0)
