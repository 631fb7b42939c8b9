"""Texts of different lengths wait apart, and the model is told what nobody waits for."""

import asyncio
from dataclasses import replace

import pytest
from engines import asking, pairs_of, texts_of, until

from regard.serve.engine.capacity import Limits
from regard.serve.engine.faults import Busy, Failed, TooCostly, TooLate, TooLong
from regard.serve.engine.lanes import MIN_BATCH, Pace, lane_of
from regard.serve.engine.messages import Leave
from regard.serve.engine.questions import Explain, Predict


def test_the_lane_of_a_text_is_by_its_pieces():
    assert [lane_of(size) for size in (0, 40, 41, 120, 121, 1023)] == [0, 0, 1, 1, 2, 2]


def test_a_short_text_that_comes_alone_is_not_counted_first(engine, models, run):
    """Which would be a message more there and back."""
    assert [one.text for one in run(engine.ask(Predict.lines(["abc"])))] == ["ABC"]
    assert models[0].counted == []
    assert [one.text for one in run(engine.ask(Predict.lines(["abc", "d"])))] == ["ABC", "D"]
    assert models[0].counted == ["abc", "d"]


@pytest.mark.parametrize("pieces", [41, 100, 119])
def test_a_text_of_more_pieces_than_was_guessed_waits_with_those_of_its_length(engine, models, run, pieces):
    """Its batch among the short ones answers nothing; it is counted, and comes again."""
    text = "x" * pieces
    assert [one.text for one in run(engine.ask(Predict.lines([text])))] == [text.upper()]
    assert models[0].counted == [text]
    assert [message.lane for message in models[0].messages] == [0, 1]
    assert [message.most for message in models[0].messages] == [40, None]


def test_a_request_that_costs_too_much_is_refused_before_any_of_it_is_worked_on(engine, models, run):
    engine.limits = replace(engine.limits, max_cost=30)
    with pytest.raises(TooCostly, match="33 pieces"):
        run(engine.ask(Predict.lines(["x" * 10] * 3 + ["abc"])))
    assert models[0].messages == []
    assert len(run(engine.ask(Predict.lines(["x" * 10] * 3)))) == 3


def test_an_explanation_is_given_up_after_its_time(engine, models, run):
    """Although the model has begun with it."""

    async def case():
        models[0].gate.clear()
        with pytest.raises(TooLate):
            await engine.ask(Explain(pairs_of(["abc"], ["ABC"])), seconds=0.05)
        await until(lambda: models[0].told)
        models[0].gate.set()

    run(case())
    assert models[0].told[0].rows == [0]


def test_a_short_text_that_is_too_long_for_the_model_is_refused(engine, models, run):
    """By who works on it, since nobody has counted it before."""
    with pytest.raises(TooLong) as caught:
        run(engine.ask(Predict.lines(["long"])))
    assert (caught.value.index, caught.value.pieces, caught.value.limit) == (0, 12, 9)


def test_a_batch_waits_for_mates_shorter_than_a_text_takes():
    pace = Pace(Limits(batch_wait=0.005))
    assert pace.wait() == 0.005  # before the first batch
    for seconds in (0.001, 0.1):
        pace.item_seconds = seconds
        assert pace.wait() == min(0.005, seconds / 4)


def test_the_model_is_told_who_has_left(engine, models, run):
    """Of a batch under way; nobody tells of those who have their answer."""

    async def case():
        models[0].gate.clear()
        gone = asking(engine, "b", "c")
        await until(lambda: engine.in_flight == 2)
        gone.cancel()
        await asyncio.wait([gone])
        models[0].gate.set()
        await asking(engine, "d", "e")

    run(case())
    assert models[0].told == [Leave(batch=models[0].messages[0].name, rows=[0, 1])]


def test_a_text_too_many_leaves_the_others_of_its_request(engine, models, run):
    """Which are worked on already: nobody will hear of them."""

    async def case():
        models[0].gate.clear()
        task = asking(engine, "x" * 38, "failed")
        await until(lambda: engine.in_flight == 1)
        models[0].gate.set()
        with pytest.raises(Failed):
            await task

    run(case())
    assert engine.in_flight == engine.queue_size == 0


def test_batches_that_were_left_tell_only_that_they_were_slow(engine, models, run):
    """Given up early they say nothing of how long they would have taken."""
    pace = engine._lanes.batchers[0].pace
    noted = []
    pace.note = lambda kind, items, size, seconds, *, full: noted.append(seconds)

    async def case(seconds):
        models[0].seconds = seconds
        models[0].gate.clear()
        gone = asking(engine, "gone")
        await until(lambda: engine.in_flight == 1)
        gone.cancel()
        await asyncio.wait([gone])
        models[0].gate.set()
        await until(lambda: engine.in_flight == 0)

    run(case(0.01))
    run(case(7.0))
    assert noted == [7.0]


def test_long_texts_have_batches_and_a_queue_of_their_own(engine, models, run):
    """The others do not wait for them, and a crowd of long ones leaves the queue to them."""
    long = "x" * 200

    async def case():
        models[0].gate.clear()
        whole = asking(engine, long, "a")
        await until(lambda: engine.in_flight == 2)
        crowd = [asking(engine, long) for _ in range(4)]
        await until(lambda: engine.queue_size == 4)
        with pytest.raises(Busy):
            await engine.ask(Predict.lines([long]))
        short = [asking(engine, text) for text in "cdef"]
        await until(lambda: engine.queue_size == 8)
        models[0].gate.set()
        await asyncio.gather(*crowd, *short)
        return await texts_of(whole)

    assert run(case()) == [long.upper(), "A"]
    assert [message.lane for message in models[0].messages[:2]] == [0, 2]
    assert models[0].asked[:2] == [["a"], [long]]


def test_the_place_of_a_text_that_is_at_fault_is_told(engine, models, run):
    """Among all that were given, in whichever queue it was."""
    for texts, place in ((["a", "x" * 200, "failed"], 2), (["x" * 200, "b", "long"], 2)):
        with pytest.raises((Failed, TooLong)) as caught:
            run(engine.ask(Predict.lines(texts)))
        assert caught.value.index == place


KIND = Predict(())


@pytest.fixture
def pace():
    found = Pace(Limits(max_batch_tokens=20_000, max_batch_seconds=0.5))
    found.warmed(4000.0)
    return found


def test_the_first_batch_is_as_large_as_the_warm_up_says(pace):
    assert pace.budget(KIND) == 4000 * 0.5
    assert pace.budget(Predict((), n_best=4)) == 1000


@pytest.mark.parametrize("speed", [500.0, 2000.0, 6000.0, 15_000.0])
def test_batches_come_to_take_as_long_as_they_may(pace, speed):
    for _ in range(100):
        size = pace.budget(KIND)
        pace.note(KIND, 10, int(size), size / speed, full=True)
    assert pace.budget(KIND) == pytest.approx(speed * 0.5, rel=0.01) or pace.budget(KIND) == MIN_BATCH


def test_never_beyond_the_budget_nor_below_what_a_call_is_worth(pace):
    for seconds, limit in ((1e-6, 20_000), (1e6, MIN_BATCH)):
        for _ in range(100):
            pace.note(KIND, 1, int(pace.budget(KIND)), seconds, full=True)
        assert pace.budget(KIND) == pytest.approx(limit, rel=0.01)


def test_small_batches_say_nothing_of_what_large_ones_would_take(pace):
    before = pace.budget(KIND)
    for _ in range(100):
        pace.note(KIND, 1, 10, 0.1, full=False)
    assert pace.budget(KIND) == before


def test_when_to_ask_again(pace):
    assert pace.seconds_for(0) == 1
    for _ in range(100):
        pace.note(KIND, 10, 100, 1.0, full=False)
    assert (pace.seconds_for(5), pace.seconds_for(95), pace.seconds_for(10**6)) == (1, 10, 60)
