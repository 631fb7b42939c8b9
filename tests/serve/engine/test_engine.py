"""Who is answered, who is told what, whatever the model does. The model is one that waits for the test."""

import asyncio
from pathlib import Path

import pytest
from engines import asking, pairs_of, texts_of, until

from regard.serve.engine.capacity import Batched, Limits
from regard.serve.engine.engine import Engine
from regard.serve.engine.faults import Busy, Failed, NotReady, OutOfMemory, TooLate, TooLong
from regard.serve.engine.questions import Explain, GivenText, Predict


async def busy(engine, model):
    """A request that the model works on until its gate opens."""
    model.gate.clear()
    first = asking(engine, "first")
    await until(lambda: engine.in_flight == 1)
    return first


def test_answers_come_in_the_order_of_the_texts(engine, run):
    found = run(engine.ask(Predict.lines(["b", "a", "c"])))
    assert [one.source for one in found] == ["b", "a", "c"]
    assert [one.text for one in found] == ["B", "A", "C"]
    assert run(engine.ask(Predict.lines([]))) == []


def test_what_it_tells_of_itself(engine):
    assert (engine.name, engine.cards[""]["languages"], engine.queue_size) == ("en-de", ["en", "de"], 0)
    assert repr(engine) == "Engine(en-de, ready)"


def test_those_who_come_while_the_model_works_share_the_next_batch(engine, models, run):
    async def case():
        first = await busy(engine, models[0])
        others = [asking(engine, text) for text in "abc"]
        await until(lambda: engine.queue_size == 3)
        models[0].gate.set()
        return [await texts_of(task) for task in (first, *others)]

    assert run(case()) == [["FIRST"], ["A"], ["B"], ["C"]]
    assert models[0].asked == [["first"], ["a", "b", "c"]]


def test_a_lone_request_waits_for_nobody_and_company_for_mates(engine, models, run):
    engine._lanes.batchers[0].limits.__dict__["batch_wait"] = 0.02

    async def case():
        first = await busy(engine, models[0])
        pair = [asking(engine, text) for text in "ab"]
        await until(lambda: engine.queue_size == 2)
        models[0].gate.set()
        await asyncio.gather(first, *pair)
        third = asking(engine, "c")
        await asyncio.sleep(0)
        await asyncio.gather(third, asking(engine, "d"))

    run(case())
    assert models[0].asked == [["first"], ["a", "b"], ["c", "d"]]


def test_requests_of_other_options_have_batches_of_their_own(engine, models, run):
    async def case():
        first = await busy(engine, models[0])
        others = [asking(engine, text, n_best=n) for text, n in (("a", 1), ("b", 2), ("c", 1))]
        forced = asyncio.ensure_future(engine.ask(Explain(pairs_of(["d"], ["D"]))))
        await until(lambda: engine.queue_size == 4)
        models[0].gate.set()
        await asyncio.gather(first, forced, *others)

    run(case())
    assert models[0].asked == [["first"], ["a", "c"], ["b"], ["d"]]
    assert models[0].messages[-1].question == Explain((GivenText("d", "D"),))


def test_a_queue_without_room_for_all_takes_none(engine, models, run):
    async def case():
        first = await busy(engine, models[0])
        seven = [asking(engine, text) for text in "abcdefg"]
        await until(lambda: engine.queue_size == 7)
        with pytest.raises(Busy) as caught:
            await engine.ask(Predict.lines(["h", "i"]))
        last = asking(engine, "h")
        await until(lambda: engine.queue_size == 8)
        models[0].gate.set()
        await asyncio.gather(first, *seven, last)
        return caught.value

    error = run(case())
    assert error.retry_after == 1
    assert str(error) == "server busy, retry in 1 second"
    assert all("i" not in batch for batch in models[0].asked)


def test_when_to_ask_again_is_told_by_how_fast_it_goes(engine, models, run):
    async def case():
        await engine.ask(Predict.lines(["a"]))
        for _ in range(50):  # of late a text has taken a second
            engine._lanes.batchers[0].pace.note(Predict(()), 1, 1, 1.0, full=False)
        first = await busy(engine, models[0])
        eight = [asking(engine, text) for text in "abcdefgh"]
        await until(lambda: engine.queue_size == 8)
        with pytest.raises(Busy) as caught:
            await engine.ask(Predict.lines(["i"]))
        models[0].gate.set()
        await asyncio.gather(first, *eight)
        return caught.value.retry_after

    assert run(case()) == 9


def test_a_request_larger_than_the_queue_goes_portion_by_portion(engine, models, run):
    texts = [f"t{number}" for number in range(21)]
    assert [one.text for one in run(engine.ask(Predict.lines(texts)))] == [text.upper() for text in texts]
    assert max(len(batch) for batch in models[0].asked) <= 2
    with pytest.raises(TooLong, match="text 12 has 12 pieces, this model takes 9") as caught:
        run(engine.ask(Predict.lines([*texts[:11], "long", *texts[11:]])))
    assert caught.value.index == 11


@pytest.mark.parametrize("size", [3, 6, 8, 9, 20])
def test_a_request_of_any_size_asks_for_no_more_than_a_portion_of_the_queue(engine, models, run, size):
    """Two texts: with one place less none is taken, however many texts it has."""

    async def case():
        first = await busy(engine, models[0])
        others = [asking(engine, text) for text in "abcdef"]
        await until(lambda: engine.queue_size == 6)
        taken = asking(engine, *(["x"] * size))
        await until(lambda: engine.queue_size == 8 or taken.done())
        with pytest.raises(Busy):
            await engine.ask(Predict.lines(["y"] * size))
        models[0].gate.set()
        await asyncio.gather(first, *others)
        return await texts_of(taken)

    assert run(case()) == ["X"] * size


def test_only_so_many_large_requests_are_taken(engine, models, run):
    async def case():
        models[0].gate.clear()
        large = [asking(engine, *"abcdefghijk") for _ in range(3)]
        await until(lambda: engine.in_flight + engine.queue_size == 6)
        with pytest.raises(Busy):
            await engine.ask(Predict.lines([*"abcdefghijk"]))
        models[0].gate.set()
        await asyncio.gather(*large, asking(engine, "x"))

    run(case())


def test_who_waited_too_long_is_told_and_not_worked_for(engine, models, run):
    async def case():
        first = await busy(engine, models[0])
        late = asking(engine, "late", seconds=0.01)
        with pytest.raises(TooLate):
            await late
        assert engine.queue_size == 0
        models[0].gate.set()
        await first
        await engine.ask(Predict.lines(["next"]))

    run(case())
    assert models[0].asked == [["first"], ["next"]]


def test_what_the_model_works_on_when_time_is_over_is_answered(engine, models, run):
    async def case():
        models[0].gate.clear()
        task = asking(engine, "a", seconds=0.01)
        await asyncio.sleep(0.03)
        models[0].gate.set()
        return await texts_of(task)

    assert run(case()) == ["A"]


def test_who_goes_away_is_not_worked_for(engine, models, run):
    async def case():
        first = await busy(engine, models[0])
        gone, stays = asking(engine, "gone", "too"), asking(engine, "stays")
        await until(lambda: engine.queue_size == 3)
        gone.cancel()
        await asyncio.wait([gone])
        assert engine.queue_size == 1
        first.cancel()  # the model works on it: the answer is nobody's
        models[0].gate.set()
        return await texts_of(stays)

    assert run(case()) == ["STAYS"]
    assert models[0].asked == [["first"], ["stays"]]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("long", TooLong, "text 2 has 12 pieces, this model takes 9"),
        ("memory", OutOfMemory, "text 2 does not fit into memory"),
        ("failed", Failed, "text 2 could not be answered: ValueError"),
    ],
)
def test_a_text_that_cannot_be_answered_fails_its_own_request_alone(engine, models, run, text, error, said):
    async def case():
        first = await busy(engine, models[0])
        good, bad = asking(engine, "good"), asking(engine, "fine", text)
        await until(lambda: engine.queue_size == 3 or bad.done())  # one that is too long is not even queued
        models[0].gate.set()
        with pytest.raises(error, match=said) as caught:
            await bad
        await first
        return await texts_of(good), caught.value.index

    assert run(case()) == (["GOOD"], 1)


def test_a_process_that_ends_is_started_again(engine, models, run):
    async def case():
        first = await busy(engine, models[0])
        waits = asking(engine, "waits")
        await until(lambda: engine.queue_size == 1)
        models.door.clear()
        models[0].dead.set()
        for task in (first, waits):
            with pytest.raises(NotReady, match="model not ready, retry in 2 seconds"):
                await task
        with pytest.raises(NotReady):
            await engine.ask(Predict.lines(["a"]))
        models.door.set()
        await until(lambda: engine.ready)
        return await texts_of(asking(engine, "again"))

    assert run(case()) == ["AGAIN"]
    assert [model.closed for model in models] == [True, False]


def test_stopping_tells_who_waits(engine, models, run):
    async def case():
        first = await busy(engine, models[0])
        await engine.stop()
        assert not engine.ready
        for task in (first, asking(engine, "late")):
            with pytest.raises(NotReady):
                await task

    run(case())
    assert models[0].closed


def test_whoever_watches_is_told_of_every_batch(engine, models, run):
    seen: list[Batched] = []
    engine.watchers.append(seen.append)
    run(engine.ask(Predict.lines(["a", "b"])))
    ((items, tokens, seconds, waited, short, confidences, withheld),) = seen
    assert (items, tokens, seconds, short, confidences, withheld) == (
        2,
        4,
        0.01,
        0,
        [],
        0,
    )  # a piece and an end for each
    assert waited >= 0


@pytest.mark.parametrize(("cores", "seconds", "first", "count", "in_flight"), [
    (2, 0.001, {}, 3, 1), (2, 0.1, {}, 3, 2), (3, 0.001, {}, 3, 2), (2, 1e-4, {}, 17, 17),
    (2, 0.001, {"n_best": 2}, 3, 2),
], ids=["quick", "slow", "a core is left", "many", "behind another kind"])  # fmt: skip
def test_quick_texts_leave_a_core_to_the_server(models, run, monkeypatch, cores, seconds, first, count, in_flight):
    """Texts that come one by one: all else is worked on by both threads at once."""
    monkeypatch.setattr("regard.serve.engine.lanes.cores", lambda: cores)
    engine = Engine(Path("runs/en-de"), limits=Limits(threads=2, batch_wait=0.0))

    async def case():
        await engine.start()
        await until(lambda: engine.ready)
        engine._lanes.batchers[0].pace.item_seconds = seconds
        models[0].gate.clear()
        tasks = []
        for number in range(count):
            tasks.append(asking(engine, chr(97 + number), **({} if number else first)))
            await until(lambda number=number: engine.in_flight + engine.queue_size == number + 1)
        await until(lambda: engine.in_flight == in_flight)
        assert engine.queue_size == count - in_flight
        models[0].gate.set()
        await asyncio.gather(*tasks)
        await engine.stop()

    run(case())
    assert sorted(text for batch in models[0].asked for text in batch) == [chr(97 + one) for one in range(count)]


def test_what_waits_is_shared_among_idle_threads(models, run):
    engine = Engine(Path("runs/en-de"), limits=Limits(threads=2, batch_wait=0.0))

    async def case():
        await engine.start()
        await until(lambda: engine.ready)
        models[0].gate.clear()
        tasks = [asking(engine, text) for text in "abcde"]
        await until(lambda: engine.in_flight == 5)
        models[0].gate.set()
        await asyncio.gather(*tasks)
        await engine.stop()

    run(case())
    assert sorted(map(len, models[0].asked)) == [2, 3]


@pytest.mark.parametrize("how", ["late", "gone"])
def test_who_is_half_worked_on_when_time_is_over_leaves_nothing_behind(engine, models, run, how):
    async def case():
        models[0].gate.clear()
        task = asking(engine, *("x" * 100 for _ in range(5)), seconds=0.02 if how == "late" else 30.0)
        await until(lambda: engine.in_flight > 0)
        if how == "gone":
            task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0.05)
        models[0].gate.set()
        again = await texts_of(asking(engine, "again", seconds=5.0))
        return again, (engine.queue_size, engine.in_flight)

    assert run(case()) == (["AGAIN"], (0, 0))


def test_a_fault_of_our_own_does_not_end_the_engine(engine, models, run):
    def fault(batch):
        engine.watchers.clear()
        raise ZeroDivisionError

    engine.watchers.append(fault)

    async def case():
        first = await texts_of(asking(engine, "first"))
        await until(lambda: len(models) == 2 and engine.ready)
        return first + await texts_of(asking(engine, "again"))

    assert run(case()) == ["FIRST", "AGAIN"]
    assert [model.closed for model in models] == [True, False]
