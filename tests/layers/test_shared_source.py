"""A source kept once per sentence reads as one kept once per row, whatever rows are written of it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SCORES, Attended, Attention, Memory
from regard.attention.parts import Score
from regard.layers.shared_source import Reading, SharedSource, begin, has_past, read_source, shared
from regard.models import AttentionSettings, build_attention
from regard.records import select
from regard.registry import Choice

SENTENCES, KEY, DIM = 4, 5, 4


def memory(start: int = 0) -> Memory:
    """Every number tells its sentence and place."""
    keys = torch.arange(start, start + SENTENCES * KEY, dtype=torch.float64).view(SENTENCES, KEY, 1)
    return Memory(keys, -keys, torch.arange(KEY) < torch.tensor([[5], [2], [3], [0]]))


def per_row(source: SharedSource) -> tuple[Memory, ...]:
    """What each row reads, by its place in the groups alone."""
    rows = torch.arange(len(source.memories[0].keys) * source.fold) // source.fold
    return tuple(Memory(one.keys[rows], one.values[rows], one.mask[rows]) for one in source.memories)


@st.composite
def journeys(draw: st.DrawFn) -> list[tuple[list[int], bool]]:
    """Selections one after the other, each of the rows the one before left, and whether rows by then have a past."""
    count, steps = SENTENCES, []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(
            st.lists(st.integers(0, count - 1), min_size=1, max_size=8)
            | st.integers(1, 3).map(lambda times, n=count: [row for row in range(n) for _ in range(times)])
        )
        steps.append((rows, draw(st.booleans())))
        count = len(rows)
    return steps


@given(journeys())
def test_any_selection_equals_plain_indexing_of_a_memory_per_row(journey):
    source = SharedSource((memory(), memory(100)))
    wanted = source.memories
    for rows, differing in journey:
        past = torch.arange(len(wanted[0].keys)) if differing else None
        source = source._replace(pasts=(None, past)).select(torch.tensor(rows))
        wanted = select(wanted, torch.tensor(rows))
        if differing:
            assert source.fold == 1 and source.pasts[1].tolist() == rows
        assert_close(per_row(source), wanted, rtol=0, atol=0)
        assert source.unfolded().fold == 1
        assert_close(source.unfolded().memories, wanted, rtol=0, atol=0)


def test_a_beam_keeps_one_memory_per_sentence_and_does_not_copy_it():
    whole = SharedSource((memory(),))
    beam = whole.select(torch.arange(SENTENCES).repeat_interleave(3))
    assert beam.fold == 3 and beam.memories[0] is whole.memories[0]
    shuffled = beam.select(torch.tensor([2, 2, 0, 3, 5, 4, 8, 7, 7, 9, 9, 9]))
    assert shuffled.fold == 3 and shuffled.memories[0] is whole.memories[0]
    fewer = shuffled.select(torch.tensor([3, 4, 5, 9, 10, 11]))
    assert fewer.fold == 3 and torch.equal(fewer.memories[0].keys, memory().keys[[1, 3]])
    torn = fewer.select(torch.tensor([0, 1, 3]))
    assert torn.fold == 1 and torch.equal(torn.memories[0].keys, memory().keys[[1, 1, 3]])


def test_no_rows_and_no_memories():
    nothing = torch.zeros(0, dtype=torch.long)
    assert len(SharedSource((memory(),)).select(nothing).memories[0].keys) == 0
    assert SharedSource().select(torch.tensor([0, 0, 1])).unfolded() == SharedSource()
    assert SharedSource().reading(0) is None


def test_pasts_of_the_next_step_replace_those_before():
    attention = build_attention(AttentionSettings(), DIM, DIM).double()
    keys = torch.randn(2, KEY, DIM, dtype=torch.float64)
    source = shared([begin(attention, DIM, keys), begin(attention, DIM, keys + 1)])
    assert source.fold == 1 and source.reading(1).memory is source.memories[1]
    after = source.after([Attended(keys, past=(1,)), Attended(keys, past=(2,))])
    assert after.pasts == ((1,), (2,)) and after.reading(0) == Reading(source.memories[0], (1,), 1)
    assert SharedSource().after([None]) == SharedSource()


@pytest.fixture(
    params=[(score, heads) for score in SCORES if SCORES[score].begin is Score.begin for heads in (1, 2)], ids=str
)
def attention(request: pytest.FixtureRequest) -> Attention:
    """Of every score without a past: who has one is never folded."""
    score, num_heads = request.param
    settings = AttentionSettings(score=Choice(score), num_heads=num_heads)
    return build_attention(settings, DIM, DIM).double().eval()


def remembered(attention: Attention, length: int = KEY) -> Memory:
    mask = torch.arange(length) < torch.tensor([[length], [2]])
    return attention.remember(torch.randn(2, length, DIM, dtype=torch.float64), mask=mask)


@pytest.mark.parametrize("length", [KEY, 80])
def test_looking_folded_equals_unfolded(attention, length):
    folded = SharedSource((remembered(attention, length),), (None,), 3)
    queries = torch.randn(6, 1, DIM, dtype=torch.float64)
    flat = folded.unfolded().reading(0)
    seen = read_source(attention, queries, folded.reading(0), need_weights=True)
    alone = read_source(attention, queries, flat, need_weights=True)
    assert seen.context.shape == (6, 1, DIM) and seen.weights.shape == (6, 1, length)
    assert_close((seen.context, seen.weights), (alone.context, alone.weights))
    assert read_source(attention, queries, flat).weights is None


def test_weights_are_the_mean_over_the_heads(attention):
    queries, source = torch.randn(2, 4, DIM, dtype=torch.float64), remembered(attention)
    weights: Tensor = attention(queries, source, need_weights=True).weights
    heads = weights.unsqueeze(1) if attention.heads is None else weights
    wanted = sum(heads[:, head] for head in range(heads.shape[1])) / heads.shape[1]
    assert_close(read_source(attention, queries, Reading(source), need_weights=True).weights, wanted)


@pytest.mark.parametrize(("rows", "steps"), [(2, 0), (0, 1)], ids=["no-steps", "no-rows"])
def test_looking_with_nothing_is_no_error(attention, rows, steps):
    source = select(remembered(attention), torch.arange(rows))
    queries = torch.zeros(rows, steps, DIM, dtype=torch.float64)
    seen = read_source(attention, queries, Reading(source), need_weights=True)
    assert seen.context.shape == (rows, steps, DIM) and seen.weights.shape == (rows, steps, KEY)


def test_has_past():
    assert not has_past(None) and not has_past((None, None))
    assert has_past((None, 0)) and has_past((torch.zeros(1), None))
    assert not has_past((None, (None, None), None)) and has_past((None, (None, 3), None))  # of several spans
