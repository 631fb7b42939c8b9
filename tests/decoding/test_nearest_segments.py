"""Nearest segments by hand, over real decoders, beside other texts, and in compiled code as in steps."""

import math
import random

import pytest
import torch
from networks import build_translator
from torch.testing import assert_close

from regard.data.columns import TextColumn
from regard.decoding import FEATURES, SEARCHES, SearchEngine
from regard.decoding.beam import BeamSearch
from regard.decoding.features import nearest_segments
from regard.decoding.features.feature import Surroundings
from regard.decoding.features.nearest_segments import NearestSegmentsFeature, SegmentStates
from regard.decoding.phrases import Phrase, Requirement, Requirements
from regard.decoding.shortlist import Shortlist
from regard.errors import ConfigError, DataError
from regard.memory import TranslationMemory, TranslationUnit
from regard.models import AttentionSettings
from regard.models.ensemble import Ensemble
from regard.models.translator import Translator
from regard.ops.kernels.search import CompiledWriter
from regard.ops.kernels.transformer import compiled_transformer
from regard.records import BOS, EOS, PAD, Batch, Step
from regard.registry import Choice
from regard.text import TOKENIZERS

WORDS = ["dog", "cat", "man", "runs", "sits", "sees", "red", "green", "small", "house", "field", "the"]
DECODERS = ["transformer", "recurrent", "convolutional"]


def sentences(count, seed):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(2, 7))) for _ in range(count)]


@pytest.fixture(scope="module")
def columns():
    source, target = (TextColumn(TOKENIZERS.build(Choice("words")).train([" ".join(some)]))
                      for some in (WORDS, map(str.upper, WORDS)))  # fmt: skip
    return {"source": source, "target": target}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path, chance = tmp_path_factory.mktemp("memory") / "en-de.memory", random.Random(4)
    pairs = [(text, " ".join(chance.sample(text.upper().split(), len(text.split())))) for text in sentences(60, 1)]
    TranslationMemory(path, ("en", "de")).add(TranslationUnit(*pair) for pair in pairs)
    return path


def network(decoder, columns, *, double=True):
    torch.manual_seed(3)
    sizes = {"transformer": {"num_layers": 2, "feedforward_dim": 32}, "convolutional": {"num_layers": 2}}
    choices = {
        "encoder": Choice("transformer", sizes["transformer"]),
        "decoder": Choice(decoder, sizes.get(decoder, {})),
    }
    heads = {"attention": AttentionSettings(num_heads=2), "self_attention": AttentionSettings(num_heads=4)}
    model = build_translator({"dim": 24, **choices, **heads}, *(len(columns[name]) for name in ("source", "target")))
    for parameter in model.parameters():
        parameter.data.normal_(std=0.4)
    return (model.double() if double else model).eval()


def bound(model, columns, file, **settings):
    return NearestSegmentsFeature(memory=file, **settings).bind(Surroundings(columns, model, file.parent, None))


def batch_of(columns, texts):
    rows = [columns["source"].encode(text) for text in texts]
    return Batch({"source": columns["source"].collate(rows)}, "translate", torch.arange(len(texts)), 0)


def test_a_mixture_by_hand():
    """Two stored states near the row's: each next piece gets the share of its distance, the model what is left."""
    keys, state = torch.tensor([[[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]]]), torch.tensor([[0.8, 0.6]])
    feature = NearestSegmentsFeature(neighbours=2, temperature=0.1, radius=0.4, max_weight=0.5)
    slots, pieces, nothing = torch.tensor([[1, 0, 0]]), torch.tensor([[2, 4]]), torch.zeros(1, 3, dtype=torch.long)
    stored = SegmentStates(keys, keys.square().sum(-1), slots, pieces, nothing, ((),), torch.zeros(1, dtype=torch.long))
    log_probs = torch.tensor([[0.0, 0.1, 0.2, 0.3, 0.4]]).log()
    added, _ = feature.step(Step(log_probs, None, state), torch.tensor([[BOS]]), stored)
    distances = {4: 1 - 0.8, 2: 1 - (0.48 + 0.48)}  # relative to squared lengths of 1
    weight = 0.5 * (1 - distances[2] / 0.4)
    shares = {piece: math.exp(-one / 0.1) for piece, one in distances.items()}
    wanted = [(1 - weight) * p + weight * shares.get(piece, 0) / sum(shares.values())
              for piece, p in enumerate(log_probs.exp()[0].tolist())]  # fmt: skip
    assert_close((log_probs + added).exp()[0], torch.tensor(wanted))
    assert sum(wanted) == pytest.approx(1)


@pytest.mark.parametrize(("radius", "slot"), [(0.4, 0), (2.0, 0), (2.0, -1)])  # -1: padding, beside batch mates
def test_a_state_that_is_too_far_changes_nothing(radius, slot):
    feature, keys = NearestSegmentsFeature(radius=radius), torch.tensor([[[-1.0, 0.0]]])
    one = torch.zeros(1, 1, dtype=torch.long)
    stored = SegmentStates(keys, torch.ones(1, 1), one + slot, one + 4, one, ((),), one[0])
    added, _ = feature.step(Step(torch.zeros(1, 5), None, torch.tensor([[1.0, 0.0]])), torch.tensor([[BOS]]), stored)
    assert not added.any()


@torch.no_grad()
@pytest.mark.parametrize("decoder", DECODERS)
def test_stored_states_are_those_that_writing_reaches(decoder, columns, file):
    """Along the translation of an equal segment the nearest state is at distance 0, and the next piece gets all."""
    model, [unit, *_] = network(decoder, columns), [*TranslationMemory(file).segments()]
    feature, batch = bound(model, columns, file, segments=1, neighbours=1), batch_of(columns, [unit.source])
    state, guide, last = model.start(batch), feature.start(batch), BOS
    for piece in [*columns["target"].encode(unit.target), EOS]:
        step, state = model.step(torch.tensor([[last]]), state)
        added, guide = feature.step(step, torch.tensor([[last]]), guide)
        joined = (step.log_probs + added).exp()[0]
        assert joined.sum().item() == pytest.approx(1)
        assert joined[piece].item() == pytest.approx(0.9 + 0.1 * step.log_probs[0, piece].exp().item(), abs=1e-5)
        last = piece


@torch.no_grad()
def test_states_of_segments_that_are_less_relevant_are_farther(columns, file):
    """Products with a state shrink by mismatch · (1 - relevance); its squared length stays."""
    model, texts, memory = network("transformer", columns), sentences(4, 9), TranslationMemory(file)
    plain, scaled = (bound(model, columns, file, mismatch=one).start(batch_of(columns, texts)) for one in (0.0, 0.3))
    assert_close(plain.lengths, scaled.lengths)
    for row, text in enumerate(texts):
        relevance = {one.match: one.relevance for one in memory.related(text, threshold=30, limit=16)}
        used = plain.slots[row] >= 0
        of_segments = torch.tensor([relevance[one] for one in plain.matches[row]], dtype=torch.double)
        factors = 1 - 0.3 * (1 - of_segments[plain.owners[row][used]])
        assert_close(scaled.keys[row][used], plain.keys[row][used] * factors.unsqueeze(-1), rtol=1e-6, atol=1e-7)
        assert of_segments.min() < 0.6


@torch.no_grad()
@pytest.mark.parametrize("search", ["greedy", "beam"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_batch_mates_do_not_matter(decoder, search, columns, file):
    model, texts = network(decoder, columns), [*sentences(9, 2), "", "the"]
    feature, search = bound(model, columns, file, threshold=30), SEARCHES[search]()
    together = search.run(model, batch_of(columns, texts), features=[feature])
    assert together != search.run(model, batch_of(columns, texts))
    for text, found in zip(texts, together, strict=True):
        [alone] = search.run(model, batch_of(columns, [text]), features=[bound(model, columns, file, threshold=30)])
        assert [one.ids for one in alone] == [one.ids for one in found]
        assert [one.score for one in alone] == pytest.approx([one.score for one in found], abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("decoder", DECODERS)
def test_texts_without_similar_segments_are_written_as_without_the_feature(decoder, columns, file):
    model, texts = network(decoder, columns, double=False), ["house house house house", "", "red " * 9]
    batch, feature = batch_of(columns, texts), bound(model, columns, file, threshold=100)
    assert feature.start(batch).keys.shape[:2] == (3, 0)
    assert feature.evidence(batch._replace(columns={**batch.columns, "target": batch.columns["source"]}))[1] == [[]]
    plain, found = (BeamSearch().run(model, batch, features=some) for some in ((), [feature]))
    for [one], [other] in zip(plain, found, strict=True):
        assert one.ids == other.ids
        assert one.score == pytest.approx(other.score, abs=1e-5)  # a feature takes the steps of all words


@pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here: nothing to prove")
@torch.no_grad()
@pytest.mark.parametrize("required", [False, True], ids=["free", "terms"])
@pytest.mark.parametrize("settings", [{}, {"size": 1}, {"size": 3, "n_best": 3, "stop": "full", "min_length": 3}])
def test_compiled_code_finds_what_steps_find(settings, required, columns, file, monkeypatch):
    model, texts = network("transformer", columns, double=False), [*sentences(12, 5), ""]
    batch, search, used = batch_of(columns, texts), BeamSearch(**settings), []
    if required:
        chance = random.Random(6)
        of = {
            line: Requirement([(Phrase((chance.randrange(4, 12), chance.randrange(4, 12)), False),)]) for line in (1, 4)
        }
        of[2] = Requirement([], [5, 6])
        search = search.requiring(Requirements(of, torch.ones(len(columns["target"])).bool().numpy()))
    features, whole = [bound(model, columns, file, threshold=30)], CompiledWriter.beam
    monkeypatch.setattr(CompiledWriter, "beam", lambda *given: used.append(1) or whole(*given))
    found = search.run(model, batch, features=features)
    plain = search.run(model, batch)
    assert len(used) == 2
    monkeypatch.setattr(Translator, "compiled_writer", lambda *_: None)
    assert plain != found
    for mine, other in zip(found, search.run(model, batch, features=features), strict=True):
        assert [(one.ids, one.finished) for one in mine] == [(one.ids, one.finished) for one in other]
        assert [one.score for one in mine] == pytest.approx([one.score for one in other], abs=2e-5)


@torch.no_grad()
def test_a_shortlist_keeps_other_words_out(columns, file):
    model = network("transformer", columns, double=False)
    allowed = torch.arange(4, 8)
    shortlist = Shortlist(allowed.repeat(len(columns["source"]), 1), allowed, len(columns["target"]))
    features = [bound(model, columns, file, threshold=30)]
    for [one] in SearchEngine(model, BeamSearch(), features, shortlist).answer(batch_of(columns, sentences(5, 7))):
        assert {*one.ids} <= {*range(3, 8)}  # specials may always stand
        assert math.isfinite(one.score)


@torch.no_grad()
def test_shares_of_a_lone_feature_sum_to_the_score(columns, file):
    model = network("recurrent", columns)
    features = [bound(model, columns, file)]
    for [one] in SearchEngine(model, BeamSearch(), features).answer(batch_of(columns, sentences(5, 2))):
        assert one.shares["model"] == pytest.approx(sum(one.log_probs) / len(one.log_probs))
        assert sum(one.shares.values()) == pytest.approx(one.score)


@torch.no_grad()
@pytest.mark.parametrize("decoder", DECODERS)
def test_evidence_is_the_part_of_the_mixture_that_segments_give(decoder, columns, file):
    """Where the model's probability is known, the sum over segments is 1 - (1 - weight) p / joined."""
    model, [text] = network(decoder, columns), sentences(1, 2)
    feature, batch = bound(model, columns, file, threshold=20), batch_of(columns, [text])
    ids = columns["target"].encode(text.upper())
    target = columns["target"].collate([ids])
    [found] = feature.evidence(batch._replace(columns={**batch.columns, "target": target}))
    state, guide, last = model.start(batch), feature.start(batch), BOS
    for piece, evidence in zip([*ids, EOS], found, strict=True):
        step, state = model.step(torch.tensor([[last]]), state)
        added, guide = feature.step(step, torch.tensor([[last]]), guide)
        unnamed = next(one for one in range(len(columns["target"])) if one not in guide.pieces[0].tolist())
        rest = math.exp(added[0, unnamed].item() - added[0, piece].item())  # of the piece's joined probability
        assert sum(one.fraction for one in evidence) == pytest.approx(1 - rest, abs=0.03)  # the smallest are left out
        assert [one.fraction for one in evidence] == sorted((one.fraction for one in evidence), reverse=True)
        last = piece


@torch.no_grad()
def test_states_are_kept_within_a_bound(columns, file, monkeypatch):
    model, batch, forced = network("recurrent", columns), batch_of(columns, sentences(6, 2)), []
    feature = bound(model, columns, file)
    whole = feature._store.model.decode
    monkeypatch.setattr(feature._store.model, "decode", lambda batch: forced.append(len(batch.lines)) or whole(batch))
    first = feature.start(batch)
    again = feature.start(batch)
    assert len(forced) == 1
    assert_close(first.keys, again.keys)
    monkeypatch.setattr(nearest_segments, "_CACHED_BYTES", 2000)
    feature.start(batch_of(columns, sentences(20, 3)))
    assert sum(one.states.nbytes for one in feature._store._kept.values()) == feature._store._bytes <= 2000
    assert_close(feature.start(batch).keys, first.keys)


@torch.no_grad()
def test_a_segment_that_is_confirmed_speaks_at_once(columns, tmp_path):
    path, model, batch = tmp_path / "new.memory", network("recurrent", columns), batch_of(columns, ["the dog runs"])
    memory = TranslationMemory(path, ("en", "de"))
    feature = bound(model, columns, path)
    assert feature.start(batch).keys.shape[1] == 0
    memory.add([TranslationUnit("the dog runs", "RUNS THE DOG"), TranslationUnit("the dog runs", "FIELD " * 4000)])
    state = feature.start(batch)
    assert [one.target for one in state.matches[0]][-1] == "RUNS THE DOG"
    assert PAD not in state.pieces[0]


def test_bad_settings_and_models_are_refused(columns, file, tmp_path):
    model = network("recurrent", columns)
    with pytest.raises(ConfigError, match="memory"):
        NearestSegmentsFeature().bind(Surroundings(columns, model, tmp_path, None))
    with pytest.raises(ConfigError, match=r"en → de.* fr → de"):
        NearestSegmentsFeature(memory=file).bind(Surroundings(columns, model, tmp_path, None, ("fr", "de")))
    with pytest.raises(ConfigError, match="radius"):
        FEATURES.build(Choice("nearest_segments", {"radius": 2.5}))
    with pytest.raises(DataError, match="no such memory"):
        bound(model, columns, tmp_path / "missing.memory")
    with pytest.raises(ConfigError, match="source"):
        bound(model, {"target": columns["target"]}, file)
    both = Ensemble([model, model])
    with torch.no_grad(), pytest.raises(ConfigError, match="one decoder"):
        BeamSearch().run(both, batch_of(columns, ["the dog"]), features=[bound(both, columns, file)])
