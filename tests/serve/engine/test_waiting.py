"""Which texts share a batch: those of like lengths, a text of each request in turn, within the budget."""

import asyncio

import pytest
from engines import pairs_of
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.engine.messages import TextCost
from regard.serve.engine.questions import SHORT_PIECES, Explain, Predict
from regard.serve.engine.waiting import QueuedRequest, Waiting, alike


@pytest.fixture(scope="module")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def request_of(loop, texts, **wanted):
    """With its end each text has as many pieces as characters."""
    sizes = [TextCost(len(text) - 1) for text in texts]
    return QueuedRequest(Predict.lines(texts, **wanted), range(len(texts)), sizes, loop.create_future())


def waiting_of(loop, *requests):
    queue = Waiting()
    for texts in requests:
        queue.add(request_of(loop, texts))
    return queue


def texts_of(items):
    return [item.text.source for item in items]


def test_requests_take_turns(loop):
    queue = waiting_of(loop, ["a1", "a2", "a3", "a4", "a5"], ["b1"], ["c1", "c2"])
    assert texts_of(queue.take(8)) == ["a1", "b1", "c1"]  # a third of it is one text
    assert texts_of(queue.take(8)) == ["a2", "c2", "a3"]
    assert texts_of(queue.take(8)) == ["a4", "a5"]
    assert (queue.size, list(queue)) == (0, [])


def test_no_more_texts_than_wanted(loop):
    queue = waiting_of(loop, ["a1", "a2", "a3"], ["b1"])
    assert texts_of(queue.take(100, 3)) == ["a1", "b1", "a2"]
    assert texts_of(queue.take(100, 3)) == ["a3"]


def test_none_has_more_than_its_part_while_others_wait(loop):
    """Also those who cannot share the batch: it takes their time."""
    queue = waiting_of(loop, ["x" * 10] * 50, ["y" * 10], ["z" * 500])
    queue.add(request_of(loop, ["w" * 10], n_best=2))
    assert texts_of(queue.take(400)) == ["x" * 10, "y" * 10, *["x" * 10] * 9]
    queue = waiting_of(loop, ["x" * 10] * 50)
    assert len(queue.take(400)) == 40


def test_turns_are_by_pieces(loop):
    queue = waiting_of(loop, ["a" * 30] * 5, ["b" * 10] * 12)
    taken = texts_of(queue.take(100_000))
    for count in range(2, 9):
        some = "".join(taken[:count])
        assert abs(some.count("a") - some.count("b")) <= 30


def test_who_comes_after_a_large_request_is_in_the_next_batch(loop):
    queue = waiting_of(loop, ["xx"] * 100)
    queue.take(20)
    queue.add(request_of(loop, ["new"]))
    assert "new" in texts_of(queue.take(20))


def test_long_texts_and_short_ones_are_apart(loop):
    long, longer = "l" * 100, "l" * 250
    queue = waiting_of(loop, ["short", long], [longer], ["s"], ["m" * 41])
    assert texts_of(queue.take(10_000)) == ["short", "s"]
    assert texts_of(queue.take(10_000)) == [longer, long]
    assert texts_of(queue.take(10_000)) == ["m" * 41]


def test_the_budget_counts_padding_and_one_text_always_goes(loop):
    queue = waiting_of(loop, ["aa"], ["bbbb"], ["c"], ["x" * 1000])
    assert texts_of(queue.take(8)) == ["aa", "bbbb"]
    assert texts_of(queue.take(8)) == ["c"]
    assert texts_of(queue.take(8)) == ["x" * 1000]


def test_only_those_that_wait_here_are_taken(loop):
    """The other texts of a caller wait elsewhere."""
    question = Explain(pairs_of(["a", "bbbb", "c"], ["x", "y", "z"]))
    queue = Waiting()
    queue.add(QueuedRequest(question, [0, 2], [TextCost(3), TextCost(4)], loop.create_future(), before=10))
    items = queue.take(100)
    assert [(*item.text[:2], item.size, item.place) for item in items] == [("a", "x", 4, 10), ("c", "z", 5, 12)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (0, SHORT_PIECES, True),
        (200, 600, True),
        (200, 601, False),
        (14, SHORT_PIECES + 2, True),
        (13, SHORT_PIECES + 2, False),
    ],
)
def test_alike(one, other, same):
    assert alike(one, other) is alike(other, one) is same


@given(st.lists(st.lists(st.integers(1, 900), min_size=1, max_size=9), min_size=1, max_size=9), st.integers(1, 2000))
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
            part = most / (len(queue) + len({item.request for item in items if not item.request.waiting}))
            for request in {item.request for item in items}:
                mine = sum(item.request is request for item in items)
                assert mine == 1 or mine * max(item.size for item in items if item.request is request) <= part
            assert len(items) == 1 or longest * len(items) <= most
            assert all(alike(item.size, items[0].size) for item in items)
            seen += items
        assert len({(id(item.request), item.number) for item in seen}) == len(seen) == sum(map(len, sizes))
    finally:
        loop.close()
