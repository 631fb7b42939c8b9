"""A constrained search that runs whole in compiled code, against the same search step by step."""

import random
from itertools import chain

import numpy as np
import pytest
import torch
from builds import BUILDS, build_for
from networks import build_translator
from writers import batch_of, sources_of

from regard.decoding import BeamSearch
from regard.decoding.features.coverage import CoverageFeature
from regard.decoding.phrases import Phrase, Requirement, Requirements
from regard.decoding.shortlist import Shortlist, ShortlistedWriter
from regard.models import AttentionSettings
from regard.models.translator import Translator
from regard.ops.kernels.search import CompiledWriter
from regard.ops.kernels.transformer import compiled_transformer
from regard.records import BOS, EOS, UNK
from regard.registry import Choice

VOCAB, TEXTS = 60, 12
NEW = np.array([word == EOS or word > 12 for word in range(VOCAB)])  # what does not go on with the word before it
pytestmark = pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here: nothing to prove")


@pytest.fixture(params=["sinusoidal", "learned"])
def model(request):
    sizes = {"num_layers": 2, "feedforward_dim": 32}
    choices = {"encoder": Choice("transformer", sizes), "decoder": Choice("transformer", sizes)}
    heads = {"attention": AttentionSettings(num_heads=2), "self_attention": AttentionSettings(num_heads=4)}
    built = build_translator({"dim": 24, "position": Choice(request.param), **choices, **heads}, VOCAB, VOCAB)
    for parameter in built.parameters():
        parameter.data.normal_(std=0.3)
    return built.eval()


@pytest.fixture
def batch():
    return batch_of(sources_of(TEXTS, VOCAB, 9, seed=3))


@pytest.fixture
def used(monkeypatch):
    """How often compiled code has searched."""
    calls, whole = [], CompiledWriter.beam

    def beam(self, *given):
        found = whole(self, *given)
        calls.extend([len(self.ids)] if found is not None else [])
        return found

    monkeypatch.setattr(CompiledWriter, "beam", beam)
    return calls


def phrase(draw, longest):
    """Few words, so that phrases often overlap or begin alike."""
    ids = [draw.randrange(UNK + 1, UNK + 5 if draw.random() < 0.5 else VOCAB) for _ in range(draw.randint(1, longest))]
    return Phrase((*([BOS] if draw.random() < 0.1 else []), *ids), draw.random() < 0.5)


def drawn(seed, terms=4, longest=3, prefixes=False):
    """Of some texts nothing is required."""
    draw, of = random.Random(seed), {}
    for line in range(TEXTS):
        some = [tuple(phrase(draw, longest) for _ in range(draw.randint(1, 2))) for _ in range(draw.randrange(terms))]
        some += some[:1] if draw.random() < 0.3 else []
        prefix = [draw.randrange(UNK, VOCAB) for _ in range(draw.randrange(4))] if prefixes else []
        if some or prefix:
            of[line] = Requirement(some, prefix)
    return Requirements(of, NEW)


def step_by_step(monkeypatch, search, model, batch):
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "compiled_writer", lambda *_: None)
        return search.run(model, batch)


def assert_same(found, wanted):
    assert [[(one.ids, one.finished) for one in some] for some in found] == [
        [(one.ids, one.finished) for one in some] for some in wanted
    ]
    for mine, other in zip(chain(*found), chain(*wanted), strict=True):
        assert mine.score == pytest.approx(other.score, rel=1e-4)
        assert mine.log_probs == pytest.approx(other.log_probs, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"size": 1},
        {"size": 3, "n_best": 2, "length_penalty": 0.0, "min_length": 4},
        {"normalisation": "gnmt", "max_ratio": 0.0, "max_extra": 2},
    ],
    ids=["plain", "one", "least", "cut off"],
)
@pytest.mark.parametrize("early", [False, True], ids=["full", "early"])
@torch.inference_mode()
def test_it_finds_what_steps_find(model, batch, settings, early, used, monkeypatch):
    for prefixes in (False, True):
        given = drawn(int(prefixes), prefixes=prefixes)
        search = BeamSearch(**settings).requiring(given, n_best=10, early=early)
        assert_same(search.run(model, batch), step_by_step(monkeypatch, search, model, batch))
    assert used == [TEXTS] * 2


@pytest.mark.parametrize("settings", [{}, {"size": 1}, {"size": 3, "length_penalty": 0.0, "min_length": 4}])
@torch.inference_mode()
def test_without_terms_it_is_the_plain_beam(model, batch, settings, used, monkeypatch):
    plain = BeamSearch(**settings, stop="full", max_extra=30)
    constrained = plain.requiring(Requirements({}, NEW))
    assert constrained.run(model, batch) == plain.run(model, batch)
    assert used == [TEXTS] * 2
    assert_same(step_by_step(monkeypatch, constrained, model, batch), step_by_step(monkeypatch, plain, model, batch))


@torch.inference_mode()
def test_an_answer_does_not_depend_on_its_batch_mates(model, used):
    sources, given = sources_of(TEXTS, VOCAB, 9, seed=3), drawn(6)
    together = BeamSearch(size=2).requiring(given, n_best=10).run(model, batch_of(sources))
    for line, (source, found) in enumerate(zip(sources, together, strict=True)):
        alone = given._replace(of={0: given.of.get(line, Requirement())})
        assert BeamSearch(size=2).requiring(alone, n_best=10).run(model, batch_of([source])) == [found]
    assert used == [TEXTS, *[1] * TEXTS]


@torch.inference_mode()
def test_long_terms_share_banks(model, batch, used, monkeypatch):
    search = BeamSearch(size=2).requiring(drawn(1, terms=4, longest=20))
    assert max(one.size for one in search.requirements.of.values()) > 32
    assert_same(search.run(model, batch), step_by_step(monkeypatch, search, model, batch))
    assert used == [TEXTS]


@torch.inference_mode()
def test_a_target_that_has_no_room_is_answered_by_what_has_most(model, batch, used, monkeypatch):
    monkeypatch.setattr(Translator, "longest", lambda *_: 4)
    search = BeamSearch(size=3).requiring(drawn(2, longest=4))
    found = search.run(model, batch)
    assert any(not some[0].finished for some in found)
    assert_same(found, step_by_step(monkeypatch, search, model, batch))
    assert used == [TEXTS]


@torch.inference_mode()
def test_unwanted_texts_are_written_no_further(model, batch, used, monkeypatch):
    def leaving(after):
        steps = [0]

        def unwanted():
            steps[0] += 1
            return {2, 5} if steps[0] > after else frozenset()

        return unwanted

    for after in (0, 3):
        found, wanted = (
            run(BeamSearch(size=3, min_length=6).requiring(drawn(3)).until(leaving(after)))
            for run in (
                lambda search: search.run(model, batch),
                lambda search: step_by_step(monkeypatch, search, model, batch),
            )
        )
        assert_same(found, wanted)
        assert len(found[2][0].ids) == after + 1 and not found[2][0].finished
    assert used == [TEXTS] * 2


@pytest.mark.parametrize("model", ["sinusoidal"], indirect=True)
@pytest.mark.parametrize("build", BUILDS)
@torch.inference_mode()
def test_other_processors_find_the_same(model, batch, build, used, monkeypatch):
    made = build_for(build, monkeypatch)
    for module in ("transformer", "vocabulary", "search"):
        monkeypatch.setattr(f"regard.ops.kernels.{module}.library", made)
    search = BeamSearch(size=4).requiring(drawn(4))
    assert_same(search.run(model, batch), step_by_step(monkeypatch, search, model, batch))
    assert used == [TEXTS]


@torch.inference_mode()
def test_features_shortlists_and_wide_beams_take_steps(model, batch, used):
    search = BeamSearch(size=3).requiring(drawn(5))
    search.run(model, batch, features=[CoverageFeature()])
    everything = Shortlist(torch.arange(VOCAB).expand(VOCAB, -1), torch.arange(0), VOCAB)
    found = search.run(ShortlistedWriter(model, everything), batch)
    BeamSearch(size=VOCAB).requiring(drawn(5)).run(model, batch)
    assert used == []
    assert_same(search.run(model, batch), found)
    assert used == [TEXTS]
