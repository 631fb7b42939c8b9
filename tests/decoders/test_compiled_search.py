"""A search that runs whole in compiled code, against the same search step by step."""

import numpy as np
import pytest
import torch
from builds import BUILDS, build_for
from networks import build_translator
from writers import batch_of, sources_of

from regard.decoding import GreedySearch
from regard.decoding.beam import BeamSearch
from regard.decoding.features.coverage import CoverageFeature
from regard.models import MODELS, AttentionSettings
from regard.models.language_model import COUNTED, LanguageModel
from regard.models.translator import Translator
from regard.ops.kernels import search as kernel
from regard.ops.kernels.packing import set_precision
from regard.ops.kernels.search import CompiledWriter
from regard.ops.kernels.transformer import compiled_transformer
from regard.records import TEXT, Batch, Sequences
from regard.registry import Choice

VOCAB = 30
pytestmark = pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here: nothing to prove")

SEARCHES = [
    pytest.param(BeamSearch(size=size, n_best=n_best, stop=stop, **more), id=f"{size} {n_best} {stop} {place}")
    for size, n_best in ((1, 1), (4, 1), (5, 3), (2, 20))
    for stop in ("exact", "full", "best_full")
    for place, more in enumerate(
        [{}, {"length_penalty": 0.0, "min_length": 4}, {"normalisation": "gnmt", "max_ratio": 0.0, "max_extra": 3}]
    )
]
SEARCHES += [pytest.param(GreedySearch(min_length=least), id=f"greedy {least}") for least in (0, 5)]
SEARCHES += [
    pytest.param(search, id=f"{search.at_limit} {search.width}")
    for at_limit in ("end", "free", "cut")
    for search in (
        BeamSearch(size=4, n_best=2, stop="best_full", max_ratio=0.0, max_extra=5, at_limit=at_limit),
        GreedySearch(max_ratio=0.0, max_extra=5, at_limit=at_limit),
    )
]
BEGUN = [pytest.param(*one.values, id=one.id) for one in SEARCHES[-6:]]


POSTNORM = {"norm": "post", "norm_eps": 0.02}
ZERO_START = {"embedder": Choice("words", {"zero_start": True}), "head": Choice("linear", {"bias": True})}
INCLUSIVE = Choice("sinusoidal", {"layout": "halves", "frequencies": "inclusive"})


@pytest.fixture(params=["sinusoidal", None, "learned", "zero start", "ssru"])
def model(request):
    zero_start = request.param in ("zero start", "ssru")
    sizes = {"num_layers": 2, "feedforward_dim": 32, **(POSTNORM if zero_start else {})}
    history = {"history": Choice("recurrent")} if request.param == "ssru" else {}
    choices = {"encoder": Choice("transformer", sizes), "decoder": Choice("transformer", sizes | history)}
    heads = {"attention": AttentionSettings(num_heads=2), "self_attention": AttentionSettings(num_heads=4)}
    heads |= ZERO_START if zero_start else {}
    position = INCLUSIVE if zero_start else None if request.param is None else Choice(request.param)
    built = build_translator({"dim": 24, "position": position, **choices, **heads}, VOCAB, VOCAB)
    for parameter in built.parameters():
        parameter.data.normal_(std=0.3)
    return built.eval()


@pytest.fixture
def batch():
    return batch_of(sources_of(9, VOCAB, 9, seed=3))


@pytest.fixture
def used(monkeypatch):
    """How often compiled code has searched."""
    calls, whole = [], CompiledWriter.beam

    def beam(self, *given):
        calls.append(len(self.ids))
        return whole(self, *given)

    monkeypatch.setattr(CompiledWriter, "beam", beam)
    return calls


def step_by_step(monkeypatch, search, model, batch):
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "compiled_writer", lambda *_: None)
        return search.run(model, batch)


def assert_same(found, wanted):
    """Ids and log-probabilities to the bit; scores are divided by powers, which numpy rounds otherwise for many."""
    assert [[one[:1] + one[2:] for one in some] for some in found] == [
        [one[:1] + one[2:] for one in some] for some in wanted
    ]
    scores = [[[one.score for one in some] for some in each] for each in (found, wanted)]
    for mine, other in zip(*scores, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-14)


@pytest.mark.parametrize("search", SEARCHES)
@torch.inference_mode()
def test_a_search_finds_what_steps_find(model, batch, search, used, monkeypatch):
    assert_same(search.run(model, batch), step_by_step(monkeypatch, search, model, batch))
    assert used == [9]


@pytest.mark.parametrize("search", BEGUN)
@torch.inference_mode()
def test_a_search_that_begins_with_given_ids_finds_what_steps_find(model, batch, search, used, monkeypatch):
    search = search.beginning([7, 9])
    found, wanted = search.run(model, batch), step_by_step(monkeypatch, search, model, batch)
    assert used == [9]
    for mine, other in zip(found, wanted, strict=True):
        assert [one.ids for one in mine] == [one.ids for one in other]
        assert all(one.ids[:2] == [7, 9] for one in mine)
        np.testing.assert_allclose([one.score for one in mine], [one.score for one in other], rtol=1e-5)


@torch.inference_mode()
def test_a_beam_as_wide_as_the_vocabulary_takes_steps(model, batch, monkeypatch):
    search = BeamSearch(size=VOCAB, max_extra=3)
    assert search.run(model, batch) == step_by_step(monkeypatch, search, model, batch)


@torch.inference_mode()
def test_in_eight_bits(model, batch, used, monkeypatch):
    with pytest.warns(UserWarning) if not eight() else monkeypatch.context():
        set_precision(model, "int8")
    search = BeamSearch(size=4)
    assert_same(search.run(model, batch), step_by_step(monkeypatch, search, model, batch))
    assert used == [9]


def eight():
    found = kernel.library(kernel.Path(kernel.__file__).with_name("search.cpp"))
    return found is not None and found.multiplies_eight()


@pytest.mark.parametrize("build", BUILDS)
@torch.inference_mode()
def test_other_processors_find_the_same(model, batch, build, used, monkeypatch):
    made = build_for(build, monkeypatch)
    for module in ("transformer", "vocabulary", "search"):
        monkeypatch.setattr(f"regard.ops.kernels.{module}.library", made)
    search = BeamSearch(size=4, n_best=2)
    assert_same(search.run(model, batch), step_by_step(monkeypatch, search, model, batch))
    assert used == [9]


@torch.inference_mode()
def test_whoever_left_is_written_no_further(model, batch, used, monkeypatch):
    """After some steps two texts are unwanted; the others do not notice."""

    def leaving(after):
        steps = [0]

        def unwanted():
            steps[0] += 1
            return {2, 5} if steps[0] > after else frozenset()

        return unwanted

    search = BeamSearch(size=3, min_length=6)
    for after in (0, 1, 4):
        found = search.until(leaving(after)).run(model, batch)
        assert_same(found, step_by_step(monkeypatch, search.until(leaving(after)), model, batch))
        assert len(found[2][0].ids) == after + 1 and not found[2][0].finished
    assert used == [9] * 3


@torch.inference_mode()
def test_a_fault_of_who_is_asked_reaches_the_caller(model, batch, used):
    def unwanted():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        BeamSearch(size=3).until(unwanted).run(model, batch)
    assert used == [9]


@torch.inference_mode()
def test_features_and_hooks_need_steps(model, batch, used):
    search = BeamSearch(size=3)
    search.run(model, batch, features=[CoverageFeature()])
    for module in (next(iter(model.decoders.values())), next(iter(model.decoders.values())).embedder):
        seen = []
        handle = module.register_forward_hook(lambda *_, seen=seen: seen.append(1))
        search.run(model, batch)
        handle.remove()
        assert seen
    assert used == []
    search.run(model, batch)
    assert used == [9]


@torch.inference_mode()
def test_no_text_at_all(model, used):
    assert BeamSearch(size=3).run(model, batch_of([])) == []
    assert GreedySearch().run(model, batch_of([])) == []
    assert used == []


@pytest.fixture
def language_model():
    decoder = {"name": "transformer", "num_layers": 2, "feedforward_dim": 32}
    built = MODELS.build(Choice("language_model", {"dim": 24, "decoder": decoder}), {TEXT: range(VOCAB)})
    for parameter in built.parameters():
        parameter.data.normal_(std=0.3)
    return built.eval()


@torch.inference_mode()
def test_a_language_model_goes_on_behind_a_prompt(language_model, used, monkeypatch):
    for length in (0, 4):
        ids = torch.randint(4, VOCAB, (3, length), generator=torch.Generator().manual_seed(1))
        text = Sequences(ids, torch.ones_like(ids, dtype=torch.bool))
        given = Batch({TEXT: text, COUNTED: torch.zeros_like(text.mask)}, "", torch.arange(3), 0)
        for search in (BeamSearch(size=4, n_best=2, max_extra=12), GreedySearch(max_extra=12)):
            found = search.run(language_model, given)
            with monkeypatch.context() as patch:
                patch.setattr(LanguageModel, "compiled_writer", lambda *_: None)
                assert_same(found, search.run(language_model, given))
    assert used == [3] * 4
