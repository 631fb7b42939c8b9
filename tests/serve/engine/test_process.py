"""A real process of a tiny model: it answers as the predictor does, it comes back when it is killed, it ends."""

import asyncio
import os
import signal
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import pytest
from engines import pairs_of, sleeping, until

from regard.errors import RegardError
from regard.predictor import load
from regard.registry import Choice
from regard.serve.engine.answering import Answering
from regard.serve.engine.capacity import BEAT, Limits
from regard.serve.engine.engine import Engine
from regard.serve.engine.engines import Engines, open_engines
from regard.serve.engine.faults import NotReady, TooLong
from regard.serve.engine.messages import Batch, BatchReply, Beat, Failure, heard
from regard.serve.engine.pipe import Pulse
from regard.serve.engine.questions import Explain, Predict
from regard.serve.engine.worker import Desk

TEXTS = ["a dog runs", "", "two cats", "\ud800 \0", "yes"]


@pytest.fixture(scope="module")
def real(run, tiny_run):
    engine = Engine(tiny_run, name="tiny", limits=Limits(threads=2))
    run(engine.start())
    run(until(lambda: engine.ready))
    yield engine
    pid = engine.pid
    run(engine.stop())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_answers_as_the_predictor_does(real, run, tiny_run):
    predictor = load(tiny_run)
    found = run(real.ask(Predict.lines(TEXTS, n_best=1, explain=True, maps=True)))
    wanted = predictor.predict(TEXTS, explain=True)
    assert [one.text for one in found] == [one.text for one in wanted]
    for one, other in zip(found, wanted, strict=True):  # batches may differ, and with them the last bits
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.explanation.alignment == other.explanation.alignment
        assert [each.name for each in one.explanation.maps] == [each.name for each in other.explanation.maps]
    given = run(real.ask(Explain(pairs_of(["yes"], ["ja"]))))
    assert [one.score for one in given] == [one.score for one in predictor.score(["yes"], ["ja"])]
    assert {"lrp", "attention"} <= set(real.cards[""]["methods"])
    (weighted,) = run(real.ask(Explain(pairs_of(["yes"], ["ja"]), method="lrp")))
    assert (
        weighted.explanation
        == predictor.explainer.with_relevance(predictor.score(["yes"], ["ja"]), "lrp")[0].explanation
    )
    assert (real.name, real.cards[""]["languages"]) == ("tiny", ["en", "de"])


def test_a_text_that_is_too_long_is_told(real, run):
    with pytest.raises(TooLong) as caught:
        run(real.ask(Predict.lines(["yes", "word " * 3000])))
    assert (caught.value.index, caught.value.limit) == (1, 1023)


def test_many_at_once(real, run, tiny_run):
    async def case():
        return await asyncio.gather(*(real.ask(Predict.lines([text, text])) for text in TEXTS * 10))

    wanted = [one.text for one in load(tiny_run).predict(TEXTS)] * 10
    assert [[one.text for one in pair] for pair in run(case())] == [[text, text] for text in wanted]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_the_servers_business(real, run, number):
    pid = real.pid
    os.kill(pid, number)
    assert len(run(real.ask(Predict.lines(TEXTS)))) == len(TEXTS)
    assert real.pid == pid


def test_killed_it_is_started_again(real, run):
    pid = real.pid

    async def case():
        waits = asyncio.ensure_future(real.ask(Predict.lines(["a dog runs"] * 200)))
        await until(lambda: real.in_flight > 0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(NotReady):
            await waits
        assert not real.ready  # who is told so need not ask to hear it again
        await until(lambda: real.ready)
        return await real.ask(Predict.lines(["yes"]))

    assert len(run(case())) == 1
    assert real.pid != pid


def test_a_process_that_stands_still_is_started_again(run, tiny_run):
    """Whatever it is doing then, and although it has not ended."""
    engine = Engine(tiny_run, name="tiny", limits=Limits(threads=1, silent_after=2.0))

    async def case():
        await engine.start()
        await until(lambda: engine.ready)
        pid, began = engine.pid, time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(NotReady):
            await engine.ask(Predict.lines(["a dog runs"]), seconds=30.0)
        seconds = time.monotonic() - began
        await until(lambda: not engine.ready)
        with pytest.raises(NotReady):
            await engine.ask(Predict.lines(["yes"]))
        await until(lambda: engine.ready)
        found = await engine.ask(Predict.lines(["yes"]))
        assert engine.pid != pid
        await engine.stop()
        return seconds, found

    seconds, found = run(case())
    assert 1.0 <= seconds < 10.0  # since its last sign of life, which it gave before it was stopped
    assert len(found) == 1


def test_what_everybody_has_left_is_given_up(real, run, monkeypatch):
    """A text that would take a minute; the process lives on, and is free for the next."""
    text = "dog " * 250

    async def case():
        pid, began = real.pid, time.monotonic()
        gone = asyncio.ensure_future(real.ask(Predict.lines([text] * 20, n_best=10)))
        await until(lambda: real.in_flight > 0)
        gone.cancel()
        await asyncio.wait([gone])
        assert real.queue_size == 0
        await until(lambda: real.in_flight == 0)
        return pid, time.monotonic() - began

    pid, seconds = run(case())
    assert seconds < 10.0
    assert real.pid == pid
    assert len(run(real.ask(Predict.lines(["yes"])))) == 1


def test_short_texts_do_not_wait_for_long_ones(real, run):
    async def case():
        long = asyncio.ensure_future(real.ask(Predict.lines(["dog " * 250] * 8, n_best=10)))
        await until(lambda: real.in_flight > 0)
        for _ in range(5):
            await real.ask(Predict.lines(["a dog runs"]))
        assert not long.done()
        long.cancel()
        await asyncio.wait([long])

    run(case())


def test_what_cannot_be_served_is_told_and_nothing_is_left(run, tiny_run, tmp_path):
    assert list(open_engines([tiny_run, tmp_path, tiny_run])) == ["run", tmp_path.name, "run-2"]
    engines = open_engines([tiny_run, tmp_path])

    async def case():
        with pytest.raises(RegardError, match="is not a run folder"):
            await engines.start()
        return [engine.pid for engine in engines.values()]

    assert run(case()) == [None, None]


def test_a_process_that_cannot_begin_is_told(run, monkeypatch):
    monkeypatch.setattr("regard.serve.engine.pipe.run_worker", int)
    with pytest.raises(RegardError, match=r"runs/x: the process of the model ended with code 1"):
        run(Engine(Path("runs/x")).start())


def test_a_process_that_does_not_load_is_told(run, monkeypatch):
    """And it is ended: its pipe is closed, and there is no process left to wait for."""
    monkeypatch.setattr("regard.serve.engine.pipe.run_worker", sleeping)
    began = time.monotonic()
    with pytest.raises(RegardError, match=r"runs/x: not loaded within 0.3 seconds"):
        run(Engine(Path("runs/x"), limits=Limits(load_within=0.3)).start())
    assert time.monotonic() - began < 10


def test_engines_are_found_by_name(tiny_run):
    first, second = Engine(tiny_run, name="a"), Engine(tiny_run, name="b")
    engines = Engines([first, second])
    assert (len(engines), list(engines), engines["b"]) == (2, ["a", "b"], second)


def test_a_large_answer_is_read_beside_those_who_wait(real, run, monkeypatch):
    """In a thread of its own, with the same in it."""
    question, threads = Predict.lines(("yes",), maps=True), []

    def hearing(body):
        if isinstance(said := heard(body), BatchReply):
            threads.append(threading.current_thread())
        return said

    small = run(real.ask(question))
    monkeypatch.setattr("regard.serve.engine.pipe.heard", hearing)
    assert run(real.ask(question)) == small
    monkeypatch.setattr("regard.serve.engine.pipe.LARGE_MESSAGE", 10)
    assert run(real.ask(question)) == small
    assert [thread is threading.main_thread() for thread in threads] == [True, False]


LIMITS = Limits(silent_after=2.0, idle_after=5.0, stuck_after=20.0)


def beats(said, count, *, begun=False):
    """The fault after so many beats, of each of which `said` tells what was heard; and after how many seconds."""
    pulse = Pulse(LIMITS)
    if begun:
        pulse.begin()
    for beat in range(count):
        heard = said(beat)
        if heard is not None:
            pulse.hear(Beat(**heard))
        if fault := pulse.fault():
            return fault, beat * BEAT
    return None


def test_one_that_is_loading_has_no_pulse_yet():
    assert beats(lambda beat: None, 1000) is None


def test_one_that_has_loaded_and_says_nothing_is_noticed():
    fault, seconds = beats(lambda beat: None, 1000, begun=True)
    assert fault == "no heartbeat for 2 seconds"
    assert seconds == pytest.approx(2.0)


def test_one_that_falls_silent_is_noticed():
    fault, seconds = beats(lambda beat: {"steps": {}, "cpu": 0.0} if beat < 10 else None, 1000)
    assert fault == "no heartbeat for 2 seconds"
    assert seconds == pytest.approx(9 * BEAT + 2.0)  # since the last one


def test_one_without_work_may_do_nothing():
    assert beats(lambda beat: {"steps": {}, "cpu": 1.0}, 1000) is None


def test_a_long_batch_that_goes_on_is_well():
    """Seen by its steps, even if they hardly use the processor."""
    assert beats(lambda beat: {"steps": {"a": beat // 8}, "cpu": 1.0}, 10_000) is None


def test_a_long_step_is_well_as_long_as_it_works():
    """Up to where it can only be a loop."""
    fault, seconds = beats(lambda beat: {"steps": {"a": 7}, "cpu": beat * BEAT}, 1000)
    assert fault == "a batch without progress for 20 seconds"
    assert seconds == pytest.approx(20.0)


def test_a_batch_that_only_waits_hangs():
    fault, seconds = beats(lambda beat: {"steps": {"a": 7}, "cpu": 1.0}, 1000)
    assert fault == "an idle batch for 5 seconds"
    assert seconds == pytest.approx(5.0, abs=BEAT)


def test_another_batch_that_goes_on_hides_it_only_for_a_while():
    fault, seconds = beats(lambda beat: {"steps": {"a": 7, "b": beat}, "cpu": 1.0}, 1000)
    assert fault == "a batch without progress for 20 seconds"
    assert seconds == pytest.approx(20.0)


def test_new_batches_count_from_their_own_beginning():
    assert beats(lambda beat: {"steps": {str(beat // 8): 1}, "cpu": 1.0}, 1000) is None


def asked(name, text):
    return Batch(name=str(name), number=name, lane=0, question=Predict.lines((text,)))


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
def test_a_thread_that_is_ended_is_told_to_who_waits(tiny_run, monkeypatch, ending):
    """As many times as there are threads: none of them is lost."""
    answering, said = Answering(load(tiny_run), Choice("greedy")), SimpleQueue()
    predict = Answering.predict

    def killed(self, question, *rest):
        if "killed" in [line.source for line in question.texts]:
            raise ending
        return predict(self, question, *rest)

    monkeypatch.setattr(Answering, "predict", killed)

    def answers():
        while isinstance(one := said.get(timeout=30), Beat):
            pass
        return one

    with Desk(answering, 1, said.put) as desk:
        for number in range(4):
            desk.hear(asked(number, "killed"))
            told = answers()
            assert (type(told), told.number) == (Failure, number)
        desk.hear(asked(9, "a dog runs"))
        assert [one.prediction.prediction.source for one in answers().outcomes] == ["a dog runs"]
