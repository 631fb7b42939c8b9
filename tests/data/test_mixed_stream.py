"""A mixed stream: its parts in drawn order, in their shares, and the same from any place on."""

import json
from itertools import islice

import pytest
from streaming import assert_same_batch, assert_same_batches, take

from regard.data.batches import Batches
from regard.data.streams import MixedStream, Shard
from regard.errors import ConfigError, DataError

COLUMNS = ("source", "target")
WEIGHTS = {"large": 3.0, "small": 1.0}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory, corpus_of, sentences):
    folder = tmp_path_factory.mktemp("mixed")
    for name in WEIGHTS:
        (folder / name).mkdir()
    return {
        "large": corpus_of(folder / "large", sentences[:60]),
        "small": corpus_of(folder / "small", [(two, one) for one, two in sentences[60:80]]),
    }


@pytest.fixture
def parts(corpora):
    return {name: Batches(corpus, COLUMNS, sentences=8, route=name, seed=3) for name, corpus in corpora.items()}


@pytest.fixture
def mixed(parts):
    return MixedStream(parts, WEIGHTS, seed=7)


def test_each_part_gives_its_own_batches_in_order(mixed, parts):
    found = [batch for _, batch in take(mixed, 60)]
    for name, part in parts.items():
        mine = [batch for batch in found if batch.route == name]
        for one, (_, other) in zip(mine, take(part, len(mine)), strict=True):
            assert_same_batch(one, other)


def test_shares_are_those_of_the_weights(mixed):
    routes = [batch.route for _, batch in take(mixed, 2000)]
    assert abs(routes.count("large") / 2000 - 0.75) < 5 * (0.75 * 0.25 / 2000) ** 0.5
    assert len({tuple(routes[first : first + 8]) for first in range(0, 2000, 8)}) > 50  # drawn, no cycle


@pytest.mark.parametrize("workers", [0, 2])
def test_any_place_is_found_again_from_json(mixed, workers):
    whole = take(mixed, 40)
    for stop in (1, 2, 17, 39):
        place = json.loads(json.dumps(whole[stop - 1][0]))
        assert_same_batches(take(mixed, 40 - stop, place, workers=workers), whole[stop:])


def test_shards_are_together_the_whole_mix(mixed):
    whole = take(mixed, 36)
    groups = [whole[first : first + 3] for first in range(0, 36, 3)]
    for rank in range(3):
        own = [(group[-1][0], group[rank][1]) for group in groups]
        assert_same_batches(take(mixed, 12, shard=Shard(rank, 3)), own)
        half = take(mixed, 6, shard=Shard(rank, 3))
        assert_same_batches(take(mixed, 6, half[-1][0], shard=Shard(rank, 3)), own[6:])


def test_the_epoch_is_that_of_the_slowest_part(mixed):
    seen = {name: 0 for name in WEIGHTS}
    for place, batch in islice(mixed.stream(), 80):
        seen[batch.route] += len(batch.lines)
        assert place["epoch"] == min(seen["large"] // 60, seen["small"] // 20)
    assert place["epoch"] >= 2


def test_a_part_may_take_another_route(parts):
    mixed = MixedStream(parts, WEIGHTS, routes={"small": "denoise"})
    assert {batch.route for _, batch in take(mixed, 30)} == {"large", "denoise"}


def test_mixes_can_be_mixed(mixed, parts):
    nested = MixedStream({"mix": mixed, "more": parts["large"]}, {"mix": 1, "more": 1})
    whole = take(nested, 30)
    assert_same_batches(take(nested, 12, whole[17][0]), whole[18:])


@pytest.mark.parametrize("place", [{"epoch": 1, "index": 3}, {"epoch": 1, "number": 9, "parts": {"large": None}}])
def test_a_place_of_another_stream_is_refused(mixed, place):
    with pytest.raises(DataError, match=r"epoch 1 has no .* \(the data or settings have changed"):
        take(mixed, 1, place)


@pytest.mark.parametrize(
    ("weights", "routes", "told"),
    [
        ({"large": 1.0}, {}, r"data\.weights: names large, the streams are large, small"),
        ({"large": 1.0, "small": 0.0}, {}, r"data\.weights\.small: is 0\.0 \(a number above 0\)"),
        (WEIGHTS, {"smal": "x"}, r"data\.routes\.smal: there is no such stream"),
    ],
)
def test_weights_that_do_not_go_with_the_parts_are_refused(parts, weights, routes, told):
    with pytest.raises(ConfigError, match=told):
        MixedStream(parts, weights, routes=routes)
