"""Shards of a stream are together the stream of one process, and each makes its own batches alone."""

import pytest
from streaming import assert_same_batches, take

from regard.data.batches import Batches, Windows
from regard.data.ragged import Ragged
from regard.data.streams import Shard, epoch_of, saved_place

COLUMNS = ("source", "target")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, corpus_of, sentences):
    return corpus_of(tmp_path_factory.mktemp("streams"), sentences[:90])


@pytest.fixture(params=["one pool", "pools", "windows"])
def stream(request, corpus):
    if request.param == "windows":
        lines = Ragged.of([list(range(4, 14))] * 9, "uint16")
        return Windows(lines, column="text", route="any", window=5, context=2, tokens=15, seed=1)
    return Batches(corpus, COLUMNS, sentences=7, pool=30 if request.param == "pools" else 1000, seed=2)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("workers", [0, 2])
def test_shards_are_together_the_whole_stream(stream, size, workers):
    whole = take(stream, 12 * size)
    groups = [whole[first : first + size] for first in range(0, len(whole), size)]
    for rank in range(size):
        own = [(group[-1][0], group[rank][1]) for group in groups]
        assert_same_batches(take(stream, 12, workers=workers, shard=Shard(rank, size)), own)


def test_shards_go_on_from_their_common_place(stream):
    for rank in range(2):
        found = take(stream, 12, shard=Shard(rank, 2))
        for stop in (1, 5, 11):
            assert_same_batches(take(stream, 12 - stop, found[stop - 1][0], shard=Shard(rank, 2)), found[stop:])


@pytest.mark.parametrize("epochs", [1, 3])
def test_batches_of_epochs_are_counted(stream, epochs):
    ends = [epoch_of(place) for place, _ in take(stream, 200)]
    whole = 1 + next(number for number, epoch in enumerate(ends) if epoch >= epochs)
    assert stream.count(epochs, 1000) == stream.count(epochs, whole) == whole
    assert stream.count(epochs, whole - 1) == whole and stream.count(epochs, 2) == 3


def test_a_shard_makes_no_batch_of_others(corpus, monkeypatch):
    made, make = [], Batches._make
    monkeypatch.setattr(Batches, "_make", lambda self, *plan: made.append(plan) or make(self, *plan))
    take(Batches(corpus, COLUMNS, sentences=7), 10, shard=Shard(1, 3))
    assert len(made) == 10


def test_places_of_checkpoints_old_and_new():
    assert saved_place({"cursor": [3, 17]}) == {"epoch": 3, "index": 17}
    assert saved_place({"place": {"epoch": 1, "parts": {}}}) == {"epoch": 1, "parts": {}}
    assert saved_place({}) is None and epoch_of(None) == 0 and epoch_of({"epoch": 2}) == 2
