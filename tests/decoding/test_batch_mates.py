"""Real models: neither batch mates nor caches matter, and a search reports what the model says."""

import itertools
import random
from functools import cache

import pytest
import torch
from covering import covering
from torch.testing import assert_close

from regard.decoders import DECODERS
from regard.decoding import SEARCHES, GreedySearch, forced
from regard.decoding.beam import BeamSearch
from regard.decoding.features.coverage import CoverageFeature
from regard.decoding.features.no_repeat import NoRepeatFeature
from regard.encoders import ENCODERS
from regard.models import ROUTE
from regard.records import BOS, EOS, PAD

VOCAB, EXTRA = 13, 8
PAIRS = list(itertools.product(ENCODERS, DECODERS))
KINDS = {"greedy": {}, "beam": {"size": 4, "n_best": 3}, "sampling": {"n_best": 2, "temperature": 0.8}}
KIND_OF = dict(zip(ENCODERS, itertools.cycle(KINDS), strict=False))
FEATURES = ("plain", "features")
TOGETHER = {"pair": ["-".join(one) for one in PAIRS], "kind": KINDS, "features": FEATURES}
ROWS = covering(TOGETHER, itertools.combinations(TOGETHER, 2))  # each two of them; all three are slow


def at_once(pair, kind=None):
    """Whether it is quick: each decoder above a Transformer with every search, each other encoder below one with one.

    A search knows a model by its steps, and steps read an encoder's states alone; other pairs and searches are slow.
    """
    encoder, decoder = pair
    return encoder == "transformer" or (decoder == "transformer" and kind == KIND_OF[encoder])


def case(*values, quick, name):
    return pytest.param(*values, id=name, marks=[] if quick else pytest.mark.slow)


def whole_product():
    for one, kind, features in itertools.product(PAIRS, KINDS, FEATURES):
        row = {"pair": "-".join(one), "kind": kind, "features": features}
        quick = row in ROWS and at_once(one, kind)
        yield case(one, kind, features == "features", quick=quick, name="-".join(row.values()))


EACH_PAIR = [case(one, quick=at_once(one), name="-".join(one)) for one in PAIRS]
EACH_KIND = [
    case(*both, quick=at_once(*both), name="-".join((*both[0], both[1]))) for both in itertools.product(PAIRS, KINDS)
]


@cache
def translator(writers, pair):
    return writers.translator(*pair, vocab=VOCAB)


@pytest.fixture
def model(pair, writers):
    return translator(writers, pair)


@pytest.fixture
def sources(writers):
    return writers.sources_of(12, VOCAB, 9)


@torch.no_grad()
@pytest.mark.parametrize(("pair", "kind", "featured"), [*whole_product()])
def test_batch_mates_do_not_matter(pair, sources, writers, kind, featured):
    search = SEARCHES[kind](max_extra=EXTRA, **KINDS[kind])
    features = [CoverageFeature(), NoRepeatFeature(size=2)] if featured else []
    shuffled = random.Random(2).sample(sources, len(sources))
    for seed in range(8, 40):
        model = writers.translator(*pair, vocab=VOCAB, seed=seed)
        together = search.run(model, writers.batch_of(shuffled, width=12), features=features)
        if len({tuple(found[0].ids) for found in together}) >= 4:
            break
    else:
        pytest.fail("models that write the same everywhere prove nothing")
    for source, found in list(zip(shuffled, together, strict=True))[::2]:
        [alone] = search.run(model, writers.batch_of([source]), features=features)
        assert [one.ids for one in alone] == [one.ids for one in found]
        assert [one.finished for one in alone] == [one.finished for one in found]
        for one, other in zip(alone, found, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-6 if featured else 1e-9)  # coverage is in float32
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-9)


def reread(model, writers, source, limit):
    """Greedy without any cache: the whole prefix is decoded anew for every word, and EOS is the last one's."""
    ids, each = [], []
    while len(each) < limit:
        decoded, encoded = model.decode(writers.batch_of([source], [[*ids, EOS]]))
        log_probs = model.heads[ROUTE].log_probs(decoded, encoded)[0, -1].clone()
        word = int(log_probs.index_fill(0, torch.tensor([PAD, BOS]), float("-inf")).argmax())
        word = EOS if len(each) == limit - 1 else word
        each.append(float(log_probs[word]))
        if word == EOS:
            return ids, each
        ids.append(word)
    raise AssertionError("the limit is an end")


@torch.no_grad()
@pytest.mark.parametrize("pair", EACH_PAIR)
def test_greedy_is_a_rereading_of_every_prefix(model, sources, writers, assert_agrees):
    found = GreedySearch(max_extra=EXTRA).run(model, writers.batch_of(sources))
    for source, [one] in list(zip(sources, found, strict=True))[::3]:  # each costs as many passes as it has words
        ids, each = reread(model, writers, source, 2 * len(source) + EXTRA)
        assert one.ids == ids
        told, wanted = [*one.log_probs, one.score], [*each, sum(each)]
        assert_agrees("C14", *(torch.tensor(row, dtype=torch.float64) for row in (told, wanted)), tolerance=1e-9)


@torch.no_grad()
@pytest.mark.parametrize(("pair", "kind"), EACH_KIND)
def test_what_stands_in_the_padding_does_not_matter(model, sources, writers, kind):
    search, batch = SEARCHES[kind](max_extra=EXTRA, **KINDS[kind]), writers.batch_of(sources, width=11)
    source = batch.sequences("source")
    refilled = source._replace(items=source.items.masked_fill(~source.mask, 7))
    assert search.run(model, batch) == search.run(model, batch._replace(columns={"source": refilled}))


@torch.no_grad()
@pytest.mark.parametrize(("pair", "kind"), EACH_KIND)
def test_log_probs_are_those_of_the_forced_target(model, sources, writers, kind):
    found = SEARCHES[kind](max_extra=EXTRA, **KINDS[kind]).run(model, writers.batch_of(sources))
    every = [(source, one) for source, row in zip(sources, found, strict=True) for one in row]
    batch = writers.batch_of([source for source, _ in every], [[*one.ids, EOS] for _, one in every])
    for (_, one), told in zip(every, forced(model, batch), strict=True):
        assert told.ids == one.ids
        assert told.finished
        assert one.log_probs == pytest.approx(told.log_probs[: len(one.log_probs)], abs=1e-9)
        assert sum(one.log_probs) == pytest.approx(told.score - (0 if one.has_end else told.log_probs[-1]), abs=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("pair", EACH_PAIR)
def test_beams_score_is_its_log_probs_over_its_length(model, sources, writers):
    for row in BeamSearch(max_extra=EXTRA, n_best=5, length_penalty=0.6).run(model, writers.batch_of(sources)):
        for one in row:
            assert one.score == pytest.approx(sum(one.log_probs) / len(one.log_probs) ** 0.6, abs=1e-9)


@torch.no_grad()
@pytest.mark.parametrize(("pair", "kind"), EACH_KIND)
def test_an_empty_batch(model, writers, kind):
    assert SEARCHES[kind](**KINDS[kind]).run(model, writers.batch_of([], width=3)) == []


@torch.no_grad()
@pytest.mark.parametrize("pair", EACH_PAIR)
def test_dropped_rows_leave_the_others_alone(model, writers):
    """The limits of 12 copies are all different, so rows leave one by one and those that stay are one sentence."""
    limits = torch.arange(1, 13)
    search = GreedySearch()
    search.limits = lambda writer, batch: limits[: len(batch.lines)]
    found = [one for [one] in search.run(model, writers.batch_of([[5, 9, 4, EOS]] * 12))]
    for one in found:
        assert found[-1].ids[: len(one.ids)] == one.ids
        assert_close(torch.tensor(one.log_probs), torch.tensor(found[-1].log_probs)[: len(one.log_probs)])
