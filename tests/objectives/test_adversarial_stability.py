"""Adversarial stability training: signs of gradients, noise that spares specials, and plain likelihood without it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from networks import build_translator, columns_of
from torch.nn import functional
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.models import ROUTE
from regard.objectives import OBJECTIVES, Context
from regard.objectives.adversarial_stability import mean_state, near_pieces
from regard.objectives.objective import copied
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

VOCAB = 30
PART = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})


def task(tokenizer=True) -> Any:
    column = columns_of(source=VOCAB)["source"]
    vars(column)["tokenizer"] = tokenizer or None
    return cast(Any, SimpleNamespace(vocabularies={"source": column, "target": column}))


@pytest.fixture
def model():
    settings = dict(dim=8, encoder=PART, decoder=PART, dropout=0.0)
    return build_translator(settings, VOCAB, VOCAB).double()


def objective(model, **settings):
    return OBJECTIVES.build(Choice("adversarial_stability", settings), Context(model, task())).double()


@pytest.fixture
def batch():
    ids = torch.tensor([[5, 6, 7, 3, EOS], [24, EOS, PAD, PAD, PAD], [8, 9, EOS, PAD, PAD]])
    rows = Sequences(ids, ids != PAD)
    return Batch({"source": rows, "target": rows}, ROUTE, torch.arange(3), 10)


def test_the_encoder_gets_the_discriminators_gradient_with_its_sign_turned(model, batch, assert_agrees):
    """Against the losses one by one, the discriminator's without any reversal."""
    built = objective(model, replace_probability=0.5, noisy_weight=0.7, invariance_weight=1.3, label_smoothing=0.2)
    torch.manual_seed(4)
    loss = built.loss(batch, "model")
    torch.manual_seed(4)
    changed = built.replaced(batch.sequences("source").items, ROUTE)
    assert bool((changed != batch.sequences("source").items).any())
    noisy = batch._replace(columns={**batch.columns, "source": Sequences(changed, batch.sequences("source").mask)})
    own, other = (model.nll(one, smoothing=0.2).sum() for one in (batch, noisy))
    real, false = (built.discriminator(mean_state(model.encode(one))) for one in (batch, noisy))
    told = -(functional.logsigmoid(real) + functional.logsigmoid(-false)).sum()
    assert_agrees("F16", loss.sum, own + 0.7 * other + 1.3 * told, 1e-9)
    reader = [*model.encoders.parameters()]
    wanted = torch.autograd.grad(own + 0.7 * other - 1.3 * told, reader, retain_graph=True)
    for found, exact in zip(torch.autograd.grad(loss.sum, reader, retain_graph=True), wanted, strict=True):
        assert_agrees("F16", found, exact, 1e-9)
    judge = [*built.discriminator.parameters()]
    wanted = torch.autograd.grad(1.3 * told, judge)
    for found, exact in zip(torch.autograd.grad(loss.sum, judge), wanted, strict=True):
        assert_agrees("F16", found, exact, 1e-9)
    assert loss.count == 10


def test_without_noise_and_weights_it_is_likelihood(model, batch):
    plain = OBJECTIVES.build(Choice("likelihood"), Context(model)).loss(batch, "model")
    assert_close(objective(model, noisy_weight=0.0, invariance_weight=0.0).loss(batch, "model").sum, plain.sum)
    assert_close(
        objective(model, replace_probability=0.0, noisy_weight=1.0, invariance_weight=0.0).loss(batch, "model").sum,
        2 * plain.sum,
    )
    feature = objective(model, noise="feature", std=0.0, invariance_weight=0.0)
    assert_close(feature.loss(batch, "model").sum, 2 * plain.sum)


def test_lexical_noise_spares_specials_and_takes_near_pieces_of_sources(model, batch):
    """Pieces that no source has had, as those of the target in a shared vocabulary, stand in no source."""
    ids = batch.sequences("source").items
    built = objective(model, replace_probability=1.0, num_nearest=2)
    table = functional.normalize(model.encoders[ROUTE].embedder.output_weight().detach(), dim=-1)
    known = set[int]()
    for new in (set(), {10, 11, 12}):  # what an earlier batch had is remembered
        built.replaced(torch.tensor([[*new]], dtype=torch.long), ROUTE)
        found = built.replaced(ids, ROUTE)
        known |= new | {one for one in ids.flatten().tolist() if one >= 4}
        specials = ids < 4
        assert torch.equal(found[specials], ids[specials])
        for before, after in zip(ids[~specials].tolist(), found[~specials].tolist(), strict=True):
            order = sorted(known - {before}, key=lambda one: -float(table[before] @ table[one]))
            assert after in order[:2]


def test_near_pieces_are_drawn_by_the_exponential_of_the_cosine():
    table = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    drawn = near_pieces(torch.zeros(20_000, dtype=torch.long), table, 3).bincount(minlength=4) / 20_000
    wanted = torch.tensor([1.0, 0.0, -1.0]).softmax(dim=0)
    assert_close(drawn[1:], wanted, atol=0.02, rtol=0)
    assert_close(near_pieces(torch.tensor([0]), table[:1], 3), torch.tensor([0]))  # there is no other piece


def test_feature_noise_is_of_the_copies_alone(model, batch):
    built = objective(model, noise="feature", std=0.3)
    seen = []
    hook = model.encoders[ROUTE].encoder.register_forward_hook(lambda module, given, out: seen.append(given[0].items))
    with built._blurred(batch):
        model.encode(copied(batch, 2))
    model.encode(copied(batch, 2))
    hook.remove()
    blurred, plain = seen
    assert torch.equal(blurred[:3], plain[:3])
    assert abs(float((blurred[3:] - plain[3:]).detach().std()) - 0.3) < 0.1


def test_the_discriminator_is_trained_and_saved(model):
    built = objective(model)
    known = {id(parameter) for parameter in built.parameters_of("model")}
    assert known == {id(one) for one in (*model.parameters(), *built.discriminator.parameters())}
    assert {name.partition(".")[0] for name in built.state_dict()} == {"discriminator", "read"}


def test_what_reads_no_text_is_refused(model):
    with pytest.raises(ConfigError, match="objective: changes the source of a translation"):
        OBJECTIVES.build(Choice("adversarial_stability"), Context(torch.nn.Linear(1, 1), task()))
    with pytest.raises(ConfigError, match=r"training\.compile"):
        choice = Choice("adversarial_stability", {"noise": "feature"})
        OBJECTIVES.build(choice, Context(model, task(), compiled=True))
    with pytest.raises(ConfigError, match=r"objective\.noise: 'lexical' replaces pieces"):
        OBJECTIVES.build(Choice("adversarial_stability"), Context(model, task(tokenizer=False)))


@pytest.mark.parametrize(("settings", "width"), [({}, 8), ({"hidden_dim": 5}, 5)])
def test_the_hidden_layer_is_as_wide_as_said(model, settings, width):
    shapes = [tuple(one.shape) for one in objective(model, **settings).discriminator.parameters()]
    assert shapes == [(width, 8), (width,), (1, width), (1,)]
