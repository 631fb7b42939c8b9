"""A thousand sentences, alone and in batches, in the arithmetic that users have."""

import random

import pytest
import torch

from regard.decoding import SEARCHES

VOCAB, COUNT, TOGETHER = 10_000, 1000, 64


@pytest.fixture(scope="module")
def model(writers):
    return writers.translator("transformer", "transformer", vocab=VOCAB, dim=128, num_layers=4).float()


@pytest.mark.slow
@torch.no_grad()
@pytest.mark.parametrize(("name", "settings"), [("greedy", {}), ("beam", {"size": 5})])
def test_batch_mates_do_not_matter_in_float32(model, writers, name, settings):
    """Sorted by length, as in use, and shuffled: the same ids, scores but for rounding."""
    search = SEARCHES[name](max_ratio=1.0, max_extra=5, **settings)
    sources = writers.sources_of(COUNT, VOCAB, 16)
    alone = [search.run(model, writers.batch_of([source]))[0][0] for source in sources]
    assert len({tuple(one.ids) for one in alone}) > COUNT / 2  # else the sources would hardly matter
    places = list(range(COUNT))
    for order in (sorted(places, key=lambda place: len(sources[place])), random.Random(1).sample(places, COUNT)):
        for first in range(0, COUNT, TOGETHER):
            some = order[first : first + TOGETHER]
            for place, [one] in zip(some, search.run(model, writers.batch_of([sources[p] for p in some])), strict=True):
                assert one.ids == alone[place].ids
                assert one.score == pytest.approx(alone[place].score, abs=1e-4)
