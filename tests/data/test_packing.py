"""Texts to be worked on together: all of them, within the budget, the longest first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.collate import collate
from regard.data.packing import chunks, packed_rows


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 200))
def test_chunks_cover_all_within_the_budget_longest_first(lengths, tokens):
    found = chunks(lengths, tokens)
    assert sorted(place for rows in found for place in rows.tolist()) == list(range(len(lengths)))
    sizes = [lengths[place] for rows in found for place in rows]
    assert sizes == sorted(lengths, reverse=True)
    for rows in found:
        assert len(rows) == 1 or len(rows) * max(lengths[place] for place in rows) <= tokens


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 100), st.integers(1, 9))
def test_packing_equals_adding_one_by_one(lengths, tokens, sentences):
    wanted = [[0]]
    for place in range(1, len(lengths)):
        grown = [*wanted[-1], place]
        fits = len(grown) * max(lengths[one] for one in grown) <= tokens and len(grown) <= sentences
        wanted[-1:] = [grown] if fits else [wanted[-1], [place]]
    order = np.arange(len(lengths))
    found = packed_rows(np.array(lengths, np.int32), order, tokens=tokens, sentences=sentences)
    assert [rows.tolist() for rows in found] == wanted


@given(st.lists(st.lists(st.integers(1, 9), max_size=7), max_size=9))
def test_collate_pads_on_the_right(rows):
    ids, mask = collate(rows)
    longest = max(map(len, rows), default=0)
    assert ids.tolist() == [row + [0] * (longest - len(row)) for row in rows]
    assert mask.tolist() == [[True] * len(row) + [False] * (longest - len(row)) for row in rows]
    assert ids.shape == mask.shape == (len(rows), longest)
