"""Windows: every piece counted once an epoch, with its context before it, and the same from any place on."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from letters import Letters
from streaming import batch_at, epoch_batches, take

from regard.data import READERS, Corpus
from regard.data.batches import Windows
from regard.data.ragged import Ragged
from regard.errors import ConfigError, DataError
from regard.records import EOS
from regard.registry import Choice

LINES = [[4, 5, 6], [], [7], [8, 9, 10, 11, 12], [], [], [13, 14]]


def windows(lines=LINES, window=5, context=2, tokens=15, **settings):
    ragged = Ragged.of(lines, np.dtype(np.uint16))
    return Windows(ragged, column="text", route="any", window=window, context=context, tokens=tokens, **settings)


def rows_of(batch):
    """(pieces, which are counted) of each window, without padding."""
    text = batch.sequences("text")
    return [
        (ids[mask].tolist(), counted[mask].tolist())
        for ids, mask, counted in zip(text.items, text.mask, batch.columns["counted"], strict=True)
    ]


def counted_of(batch):
    return [piece for ids, counted in rows_of(batch) for piece, one in zip(ids, counted, strict=True) if one]


def test_windows_by_hand():
    rows = [row for batch in windows().all() for row in rows_of(batch)]
    assert [ids for ids, _ in rows] == [
        [4, 5, 6], [5, 6, EOS, EOS, 7], [EOS, 7, EOS, 8, 9], [8, 9, 10, 11, 12],
        [11, 12, EOS, EOS, EOS], [EOS, EOS, 13, 14, EOS],
    ]  # fmt: skip
    assert [counted for _, counted in rows] == [[True] * 3] + [[False] * 2 + [True] * 3] * 5


@given(
    lines=st.lists(st.lists(st.integers(4, 99), max_size=6), min_size=1, max_size=12),
    window=st.integers(1, 9), context=st.integers(0, 8), tokens=st.integers(1, 40), seed=st.integers(0, 9),
)  # fmt: skip
def test_each_piece_is_counted_once_with_what_stands_before_it(lines, window, context, tokens, seed):
    context = min(context, window - 1)
    made = windows(lines, window, context, tokens, seed=seed)
    stream = [piece for line in lines for piece in [*line, EOS]]
    assert len(made) == len(stream)
    assert [piece for batch in made.all() for piece in counted_of(batch)] == stream
    for batches, offset in ((made.all(), None), (epoch_batches(made, 0), "drawn"), (epoch_batches(made, 3), "drawn")):
        starts = []
        for batch in batches:
            assert batch.count == len(counted_of(batch))
            assert batch.columns["text"].mask.numel() <= max(tokens, window)
            for ids, counted in rows_of(batch):
                first = counted.index(True)
                assert counted == [False] * first + [True] * (len(ids) - first)
                assert len(ids) <= window and first <= context
                starts.append((ids, first))
        assert sorted(piece for batch in batches for piece in counted_of(batch)) == sorted(stream)
        found = sum(len(ids) - first for ids, first in starts)
        assert found == len(stream), offset
        spelled = "".join(map(chr, stream))
        assert all("".join(map(chr, ids)) in spelled for ids, _ in starts)
        assert sum(first < min(context, len(stream)) for _, first in starts) <= context + 1  # at the beginning alone


def test_epochs_cut_and_order_anew_and_the_seed_decides():
    lines = [[4 + number % 90 for number in range(200)]]
    made, again, other = (windows(lines, 10, 3, 40, seed=seed) for seed in (1, 1, 2))
    first, second = ([rows_of(batch) for batch in epoch_batches(made, epoch)] for epoch in (0, 1))
    assert first == [rows_of(batch) for batch in epoch_batches(again, 0)]
    assert first != second
    assert first != [rows_of(batch) for batch in epoch_batches(other, 0)]
    offsets = {min(len(ids) for batch in epoch_batches(made, epoch) for ids, _ in rows_of(batch)) for epoch in range(9)}
    assert len(offsets) > 2


@pytest.mark.parametrize("workers", [0, 2])
def test_any_place_is_found_again(workers):
    made = windows()
    places = take(made, 8, workers=workers)
    assert places[-1][0]["epoch"] >= 2
    for (before, _), (_, batch) in itertools.pairwise(places):
        assert rows_of(batch_at(made, **before)) == rows_of(batch)
        assert torch.equal(batch_at(made, **before).lines, batch.lines)


def test_a_place_that_is_none_is_told(tmp_path):
    with pytest.raises(DataError, match="epoch 2 has no batch 99"):
        batch_at(windows(place=tmp_path), 2, 99)


@pytest.mark.parametrize(("window", "context"), [(4, 4), (4, 5), (4, -1)])
def test_a_window_that_counts_nothing_is_refused(window, context):
    with pytest.raises(ConfigError, match=r"^context: "):
        windows(window=window, context=context)


def test_a_corpus_keeps_every_line_of_a_text_that_is_to_stay_whole(tmp_path):
    texts = ["a", "", "b" * 9, "  ", "cc"]
    (tmp_path / "text").write_text("".join(f"{text}\n" for text in texts))
    reader = READERS.build(Choice("parallel", {"files": {"text": str(tmp_path / "text")}}), ("text",))
    tokenizers = {"text": Letters()}
    whole = Corpus.open(reader, tokenizers, tmp_path / "cache", max_tokens=None)
    some = Corpus.open(reader, tokenizers, tmp_path / "cache", max_tokens=5)
    assert (len(whole), len(some)) == (5, 2)
    assert whole.key != some.key
    made = Windows(whole.pieces("text"), column="text", route="any", window=4)
    pieces = [piece for batch in made.all() for piece in counted_of(batch)]
    assert pieces == [piece for text in texts for piece in [*Letters().encode(text), EOS]]
