"""Translators of several languages: what routes share, what they do not, and that each is a model of its own."""

import pytest
import torch
from networks import columns_of
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.models import MODELS, ROUTE
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

WORDS, DIM = 12, 8
SMALL = {"num_layers": 1, "feedforward_dim": 8}
LANGUAGES = ("de", "fr", "cs")
ROWS = ("one_to_many", "many_to_many")


def build(row, **settings):
    torch.manual_seed(3)
    parts = {"encoder": Choice("transformer", SMALL), "decoder": Choice("transformer", SMALL)}
    given = {"dim": DIM, **parts, **({} if row == "translator" else {"languages": LANGUAGES}), **settings}
    return MODELS.build(Choice(row, given), columns_of(source=WORDS, target=WORDS)).double().eval()


def batch(route=ROUTE) -> Batch:
    source, target = torch.tensor([[4, 5, 6, EOS], [7, EOS, PAD, PAD]]), torch.tensor([[8, 9, EOS], [10, EOS, PAD]])
    columns = {"source": Sequences(source, source != PAD), "target": Sequences(target, target != PAD)}
    return Batch(columns, route, torch.arange(2), 5)


def moved(model, route):
    """The names of the parameters that a batch of a route moves."""
    model.zero_grad()
    model.nll(batch(route)).sum().backward()
    return {name for name, one in model.named_parameters() if one.grad is not None and one.grad.any()}


@pytest.mark.parametrize("row", ROWS)
def test_the_first_language_is_that_of_batches_without_one(row):
    model = build(row)
    assert model.languages == LANGUAGES
    assert_close(model.nll(batch()), model.nll(batch("de")))
    assert not torch.allclose(model.nll(batch("fr")), model.nll(batch("de")))


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_the_encoder_is_one_and_each_language_has_a_decoder(tied):
    model = build("one_to_many", tied=tied)
    encoders = {route: id(model.along(route)[0]) for route in LANGUAGES}
    decoders = {route: id(model.along(route)[1]) for route in LANGUAGES}
    tables = {id(model.along(route)[1].embedder.table) for route in LANGUAGES}
    assert (len({*encoders.values()}), len({*decoders.values()})) == (1, 3)
    assert len(tables) == (1 if tied == "all" else 3)
    assert (id(model.along("de")[0].embedder.table) in tables) is (tied == "all")


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_other_decoders_get_no_gradient(tied):
    model = build("one_to_many", tied=tied)
    found = moved(model, "fr")
    assert {name.split(".")[1] for name in found if name.startswith("decoders.fr.blocks")} == {"fr"}
    assert any(name.startswith(f"encoders.{ROUTE}.encoder") for name in found)
    others = [name for name in found if name.startswith(("decoders.de.", "decoders.cs.", "heads.de.", "heads.cs."))]
    assert others == []


@pytest.mark.parametrize("route", LANGUAGES)
def test_a_route_equals_a_model_of_its_weights(route):
    """A translator that is given the encoder, the decoder and the head of a route has its losses."""
    model, alone = build("one_to_many", tied="target"), build("translator", tied="target")
    for mine, theirs in zip(alone.along(ROUTE), model.along(route), strict=True):
        mine.load_state_dict(theirs.state_dict())
    assert_close(alone.nll(batch()), model.nll(batch(route)))


def test_a_token_language_is_the_end_symbol_of_the_source():
    """By hand: the translator whose embedding of the end of a source is the sum of both."""
    model, alone = build("many_to_many", tied="target"), build("translator", tied="target")
    reader, decoder, head = model.along("cs")
    alone.encoders[ROUTE].load_state_dict({k: v for k, v in reader.state_dict().items() if k != "language"})
    alone.decoders[ROUTE].load_state_dict(decoder.state_dict())
    alone.heads[ROUTE].load_state_dict(head.state_dict())
    table = alone.encoders[ROUTE].embedder.table
    with torch.no_grad():
        table[EOS] += reader.language / DIM**0.5  # an embedder multiplies by the root
    assert_close(alone.nll(batch()), model.nll(batch("cs")))


def test_all_languages_share_every_weight_but_their_vector():
    model = build("many_to_many")
    found = {route: moved(model, route) for route in LANGUAGES}
    own = {route: {f"encoders.{route}.language"} for route in LANGUAGES}
    assert all(own[route] <= found[route] for route in LANGUAGES)
    rest = [found[route] - own[route] for route in LANGUAGES]
    assert rest[0] == rest[1] == rest[2] and len(rest[0]) > 10


@pytest.mark.parametrize("row", ROWS)
def test_a_language_writes_the_same_step_by_step(row):
    model = build(row)
    given = batch("fr")
    ids, state = given.sequences("target").items, model.start(given)
    for place in range(ids.shape[1]):
        read = torch.full((2, 1), 1) if place == 0 else ids[:, place - 1 : place]
        step, state = model.step(read, state)
        told = -step.log_probs.gather(-1, ids[:, place : place + 1]).squeeze(-1)
        assert_close(told.masked_fill(ids[:, place] == PAD, 0.0), model.nll(given)[:, place])


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    ("languages", "told"),
    [
        ((), "names no language, or repeats one"),
        (("de", "de"), "repeats one"),
        (("d.e",), "'d.e' is not a language code"),
    ],
)
def test_bad_languages_are_refused(row, languages, told):
    with pytest.raises(ConfigError, match=told) as caught:
        build(row, languages=languages)
    assert str(caught.value).startswith("model.languages")


def test_a_language_that_is_not_written_is_a_fault():
    model = build("one_to_many")
    assert (model.route("fr"), build("translator").route("fr")) == ("fr", ROUTE)
    with pytest.raises(ConfigError, match="'es' is not a target language of this model; it has de, fr, cs"):
        model.route("es")
    with pytest.raises(ConfigError, match="the target language is not given"):
        model.route(None)
