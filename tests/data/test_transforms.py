"""Transforms draw by (seed, epoch, line) alone, and leave batches whole."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from streaming import assert_same_batch, assert_same_batches, epoch_batches, take

from regard.data.batches import Batches
from regard.data.collate import collate
from regard.data.streams import MixedStream, Shard
from regard.data.transforms import TRANSFORMS, LineSeeds, transformed
from regard.errors import ConfigError
from regard.records import EOS, PAD, UNK, Batch
from regard.registry import Choice

COLUMNS = ("source", "target")
STRONG = {"noise": Choice("noise", {"drop": 0.3, "blank": 0.2, "swap": 2})}  # what is sure to change a batch


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, corpus_of, sentences):
    return corpus_of(tmp_path_factory.mktemp("transforms"), sentences[:120])


@pytest.fixture(params=sorted(TRANSFORMS))
def choice(request):
    return STRONG[request.param]


def rows_of(batches):
    """line → its pieces in every column, without padding."""
    return {
        line: tuple(tuple(ids[mask].tolist()) for ids, mask in zip(items, masks, strict=True))
        for batch in batches
        for line, items, masks in zip(
            batch.lines.tolist(),
            zip(*(batch.columns[name].items for name in COLUMNS), strict=True),
            zip(*(batch.columns[name].mask for name in COLUMNS), strict=True),
            strict=True,
        )
    }


def test_batch_mates_do_not_matter(corpus, choice):
    """Batches of another size and order, with other rows around each line."""
    streams = [transformed(Batches(corpus, COLUMNS, sentences=rows, seed=4), [choice], 9) for rows in (1, 8, 50)]
    alone, some, many = (rows_of(epoch_batches(stream, 2)) for stream in streams)
    assert alone == some == many
    assert alone != rows_of(epoch_batches(Batches(corpus, COLUMNS, sentences=8, seed=4), 2))


def test_epoch_seed_and_stage_draw_anew(corpus, choice):
    batches = Batches(corpus, COLUMNS, sentences=8)
    rows = [
        rows_of(epoch_batches(transformed(batches, [choice], seed), epoch)) for seed, epoch in ((1, 0), (1, 1), (2, 0))
    ]
    transform, batch = TRANSFORMS.build(choice), take(batches, 1)[0][1]
    rows += [rows_of([transform(batch, LineSeeds(1, stage, 0))]) for stage in (1, 2)]
    assert all(one != other for number, one in enumerate(rows) for other in rows[:number])


def test_masks_ends_and_counts_stay_right(corpus, choice):
    for _, batch in take(transformed(Batches(corpus, COLUMNS, sentences=8), [choice], 0), 15):
        for name in COLUMNS:
            items, mask = batch.sequences(name)
            lengths = mask.sum(dim=1)
            assert torch.equal(mask, torch.arange(mask.shape[1]) < lengths[:, None])
            assert int(lengths.max()) == mask.shape[1] and int(lengths.min()) >= 1
            assert torch.equal(items == EOS, torch.arange(mask.shape[1]) == lengths[:, None] - 1)
            assert torch.equal(items == PAD, ~mask)
        assert batch.count == int(batch.sequences("target").mask.sum())


@pytest.mark.parametrize("workers", [0, 2])
def test_places_and_shards_are_those_of_the_stream_inside(corpus, choice, workers):
    inner = Batches(corpus, COLUMNS, sentences=8)
    stream = transformed(inner, [choice, choice], 5)
    whole = take(stream, 40)
    assert [place for place, _ in whole] == [place for place, _ in take(inner, 40)]
    assert_same_batches(take(stream, 23, whole[16][0], workers=workers), whole[17:])
    own = take(stream, 20, workers=workers, shard=Shard(1, 2))
    for (_, one), (_, other) in zip(own, whole[1::2], strict=True):
        assert_same_batch(one, other)


def test_a_round_of_a_small_corpus_in_a_mix_is_noisy_anew(corpus, choice):
    """Though the epoch of the mix, which is that of its slowest part, has not changed."""
    parts = {"often": Batches(corpus, COLUMNS, sentences=60, route="often"), "rare": Batches(corpus, COLUMNS)}
    stream = transformed(MixedStream(parts, {"often": 1, "rare": 1e-9}), [choice], 0)
    taken = take(stream, 4)
    assert taken[-1][0]["epoch"] == 0
    assert rows_of(batch for _, batch in taken[:2]) != rows_of(batch for _, batch in taken[2:])


def noisy(rows, lines=None, epoch=0, **settings):
    """Rows of pieces → the same after noise, as lists without padding or end symbols."""
    lines = range(len(rows)) if lines is None else lines
    batch = Batch({"source": collate([[*row, EOS] for row in rows])}, "any", torch.tensor(list(lines)), 0)
    items, mask = TRANSFORMS.build(Choice("noise", settings))(batch, LineSeeds(3, 0, epoch)).sequences("source")
    return [ids[known].tolist()[:-1] for ids, known in zip(items, mask, strict=True)]


@given(
    st.lists(st.lists(st.integers(4, 99), max_size=12), min_size=1, max_size=6), st.integers(0, 5), st.integers(0, 9)
)
def test_noise_keeps_pieces_and_moves_them_a_little(rows, swap, epoch):
    for number, row in enumerate(noisy([list(range(4, 4 + len(row))) for row in rows], epoch=epoch, drop=0, swap=swap)):
        assert sorted(row) == list(range(4, 4 + len(rows[number])))
        assert all(abs(piece - 4 - place) <= swap for place, piece in enumerate(row))
    assert noisy(rows, drop=0, swap=0) == rows
    for before, after in zip(rows, noisy(rows, epoch=epoch, drop=1.0, swap=swap), strict=True):
        assert len(after) == min(1, len(before)) and set(after) <= set(before)
    assert noisy(rows, drop=0, blank=1.0) == [[UNK] * len(row) for row in rows]


def test_noise_drops_and_blanks_as_often_as_it_is_told():
    rows, drop, blank = [list(range(4, 54))] * 400, 0.1, 0.2
    found = noisy(rows, drop=drop, blank=blank, swap=0)
    total, kept = 400 * 50, sum(map(len, found))
    assert abs(kept / total - (1 - drop)) < 5 * (drop * (1 - drop) / total) ** 0.5
    blanked = sum(row.count(UNK) for row in found)
    assert abs(blanked / kept - blank) < 5 * (blank * (1 - blank) / kept) ** 0.5
    often = np.bincount([piece for row in noisy(rows, drop=drop, swap=0) for piece in row], minlength=54)[4:]
    assert often.min() > 300  # no place is spared or always hit


def test_noise_reorders_as_far_as_it_may():
    found = noisy([list(range(4, 24))] * 300, drop=0, swap=3)
    moves = {abs(piece - 4 - place) for row in found for place, piece in enumerate(row)}
    assert moves == {0, 1, 2, 3}
    assert len({tuple(row) for row in found}) > 290


def test_noise_of_examples_without_a_source_is_refused(corpus):
    stream = transformed(Batches(corpus, ("target",)), [Choice("noise")], 0)
    with pytest.raises(ConfigError, match=r"data\.transforms: 'noise' changes a source"):
        take(stream, 1)


def test_no_transform_leaves_the_stream_as_it_is(corpus):
    stream = Batches(corpus, COLUMNS)
    assert transformed(stream, [], 0) is stream
