"""Which texts share a batch: those of like lengths, a text of each request in turn, within the budget."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.engine.options import Options
from regard.serve.engine.waiting import SHORT, Request, Waiting, alike, size_of


@pytest.fixture(scope="module")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def waiting_of(loop, *requests):
    queue = Waiting()
    for texts in requests:
        queue.add(Request(texts, None, Options(), loop.create_future()))
    return queue


def texts_of(items):
    return [item.request.sources[item.place] for item in items]


def test_requests_take_turns(loop):
    queue = waiting_of(loop, ["a1", "a2", "a3", "a4", "a5"], ["b1"], ["c1", "c2"])
    assert texts_of(queue.take(8)) == ["a1", "b1", "c1", "a2"]
    assert texts_of(queue.take(8)) == ["a3", "c2", "a4", "a5"]
    assert (queue.size, list(queue)) == (0, [])


def test_who_comes_after_a_large_request_is_in_the_next_batch(loop):
    queue = waiting_of(loop, ["xx"] * 100)
    queue.take(20)
    queue.add(Request(["new"], None, Options(), loop.create_future()))
    assert "new" in texts_of(queue.take(20))


def test_long_texts_and_short_ones_are_apart(loop):
    long, longer = "l" * 400, "l" * 1000
    queue = waiting_of(loop, ["short", long], [longer], ["s"], ["m" * 161])
    assert texts_of(queue.take(10_000)) == ["short", "s"]
    assert texts_of(queue.take(10_000)) == [longer, long]
    assert texts_of(queue.take(10_000)) == ["m" * 161]


def test_the_budget_counts_padding_and_one_text_always_goes(loop):
    queue = waiting_of(loop, ["aa"], ["bbbb"], ["c"], ["x" * 1000])
    assert texts_of(queue.take(8)) == ["aa", "bbbb"]
    assert texts_of(queue.take(8)) == ["c"]
    assert texts_of(queue.take(8)) == ["x" * 1000]


def test_a_given_target_counts_as_its_source_does(loop):
    request = Request(["a", "b"], ["t" * 60, ""], Options(), loop.create_future())
    assert request.sizes == [60, 1]


def test_bytes_are_counted():
    assert [size_of(text) for text in ("", "ab", "äö", "汉", "\ud800")] == [0, 2, 4, 3, 3]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(0, SHORT, True), (200, 600, True), (200, 601, False), (54, SHORT + 2, True), (53, SHORT + 2, False)],
)
def test_alike(one, other, same):
    assert alike(one, other) is alike(other, one) is same


@given(st.lists(st.lists(st.integers(0, 900), min_size=1, max_size=9), min_size=1, max_size=9), st.integers(1, 2000))
def test_every_text_goes_once_and_each_batch_keeps_the_rules(sizes, most):
    loop = asyncio.new_event_loop()
    try:
        queue = waiting_of(loop, *(["x" * size for size in some] for some in sizes))
        seen = []
        while queue:
            first = queue.first
            items = queue.take(most)
            assert items[0].request is first
            longest = max(item.size for item in items)
            assert len(items) == 1 or longest * len(items) <= most
            assert all(alike(item.size, items[0].size) for item in items)
            seen += items
        assert len({(id(item.request), item.place) for item in seen}) == len(seen) == sum(map(len, sizes))
    finally:
        loop.close()
