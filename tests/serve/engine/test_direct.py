"""A lone short text is searched in the server: its answer is that of the model's process, to the bit."""

import asyncio
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from engines import until
from known_engine import served

from regard.exchange import export_folder, format_named
from regard.predictor import load
from regard.runtime import FolderError, RuntimeTranslator
from regard.runtime.loops import loop_of
from regard.serve.engine.answering import Answering
from regard.serve.engine.capacity import Limits
from regard.serve.engine.engine import QUICK_REQUESTS, DirectSearch, Engine
from regard.serve.engine.questions import Predict
from regard.serve.security import Keys
from regard.serve.settings import Settings

SHORT = ["a dog runs", "two cats", "yes", "  a  b ", "a man sings", "the cat is black", "dogs"]
TEXT = "a dog runs"
OTHERS = ["Une e\u0301toile, \U0001f600 <<b>> 12", "\t", "dog " * 20]  # the process may have them


@pytest.fixture(scope="module")
def export(tiny_run, tmp_path_factory) -> Path:
    """The tiny run for the compiled engine."""
    folder = tmp_path_factory.mktemp("direct") / "export"
    export_folder(format_named("runtime"), load(tiny_run), folder, count=0, say=lambda line: None)
    return folder


@pytest.fixture(scope="module")
def both(export) -> tuple[Answering, DirectSearch]:
    """The same export as the model's process and as the server has it."""
    answering, cards = Answering.load(export, batch_tokens=8192, engine="runtime", threads=1)
    told = answering.shortcut()
    assert told is not None
    return answering, DirectSearch(export, told, cards[""]["alphabet"])


@pytest.mark.parametrize("text", [*SHORT, *OTHERS])
def test_answers_are_those_of_the_process(both, text):
    answering, direct = both
    (other,) = answering.answer(Predict.lines([text])).found.values()
    found = asyncio.run(direct.answer(Predict.lines([text])))
    if found is None:  # what safeguards change is left to the process
        assert text in OTHERS or loop_of(other.ids) is not None
        return
    assert (found[0], found[1].tokens) == (other, answering.count(Predict.lines([text]))[0].pieces + 1)


@pytest.mark.parametrize(
    "question",
    [
        Predict.lines(["a dog"], n_best=2),
        Predict.lines(["a dog"], explain=True),
        Predict.lines(["a dog"], prefix="ein"),
        Predict.lines(["a dog"], glossary=("dog\tHund",)),
        Predict.lines([""]),
        Predict.lines(["\u4f60\u597d"]),
        Predict.lines(["dog " * 60]),
    ],
    ids=["n best", "explained", "prefix", "terms", "nothing", "another script", "long"],
)
def test_more_than_a_short_search_is_left_to_the_process(both, question):
    assert asyncio.run(both[1].answer(question)) is None


def test_what_needs_more_than_a_search_has_no_shortcut(both, tiny_run):
    native, _ = Answering.load(tiny_run, batch_tokens=8192)
    deciding = both[0].beside()
    deciding.predictor._setup = replace(deciding.predictor.setup, threshold=0.5)
    assert (native.shortcut(), deciding.shortcut()) == (None, None)


def counted(export, most, at_hand, count=3, seconds=0.0):
    """Texts of each batch of a few requests at once, and how many of them the server searched itself.

    `seconds`: that a search has taken so far.
    """

    async def run():
        engine = Engine(export, limits=Limits(engine="runtime", threads=1, direct_search=most, batch_wait=0.2))
        batches, direct = list[int](), 0
        await engine.start()
        await until(lambda: engine.ready)
        engine.watchers.append(lambda told: batches.append(told.items))
        engine.requests_at_hand = lambda: at_hand
        if (search := engine._direct) is not None:
            found, search.seconds = search.answer, seconds

            async def answer(question, *, in_thread):
                nonlocal direct
                direct += 1
                assert in_thread == (at_hand > (most or 1))
                return await found(question, in_thread=in_thread)

            search.answer = answer
        answers = await asyncio.gather(*(engine.ask(Predict.lines([TEXT])) for _ in range(count)))
        await engine.stop()
        return [one.text for (one,) in answers], batches, direct

    return asyncio.run(run())


def test_few_requests_are_searched_directly_and_more_share_batches(export):
    alone, off = counted(export, 2, 2), counted(export, 0, 1)
    batched = counted(export, 2, 3, seconds=1e-4)  # a number that is given has no threads
    assert alone[1:] == ([1, 1, 1], 3)
    assert (batched[2], sum(batched[1]), max(batched[1]) > 1) == (0, 3, True)
    assert (off[2], sum(off[1])) == (0, 3)
    assert alone[0] == batched[0] == off[0]


@pytest.mark.parametrize(("cores", "at_hand", "seconds", "direct"), [
    (2, 3, 1e-4, 3), (2, QUICK_REQUESTS + 1, 1e-4, 0), (2, 3, 1.0, 0), (1, 3, 1e-4, 0),
], ids=["quick", "many at hand", "slow", "one core"])  # fmt: skip
def test_threads_of_the_server_search_a_few_quick_texts(export, monkeypatch, cores, at_hand, seconds, direct):
    for place in ("engine", "capacity"):
        monkeypatch.setattr(f"regard.serve.engine.{place}.cores", lambda: cores)
    monkeypatch.setattr("regard.serve.engine.capacity.DIRECT", 1)
    texts, batches, found = counted(export, None, at_hand, seconds=seconds)
    assert (found, sum(batches), max(batches) > 1) == (direct, 3, not direct)
    assert texts == counted(export, 0, 1)[0]


def test_weights_that_are_cut_or_changed_end_no_direct_search(export, tmp_path, both):
    folder = tmp_path / "export"
    folder.mkdir()
    for file in filter(Path.is_file, export.iterdir()):
        (folder / file.name).write_bytes(file.read_bytes())
    opened, weights = RuntimeTranslator(folder, mapped=False), folder / "weights.bin"
    with weights.open("r+b") as file:  # in place, so that a map would see it
        file.write(bytes(weights.stat().st_size))
    assert opened.translate(SHORT) == both[1]._translator.translate(SHORT)
    os.truncate(weights, 0)  # here a map would end the process
    assert opened.translate(SHORT) == both[1]._translator.translate(SHORT)
    with pytest.raises(FolderError, match="damaged"):
        RuntimeTranslator(folder, mapped=False)


def test_a_slow_search_leaves_all_others_to_the_process(export, monkeypatch, caplog):
    clock = iter(range(1000))
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    _, batches, direct = counted(export, 8, 1)
    assert (direct, sum(batches)) == (1, 3)
    assert "from here on" in caplog.text


def test_one_slow_search_after_quick_ones_is_enough(export, monkeypatch):
    clock = (0.1 * number for number in range(1000))  # the mean stays below 0.05
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    assert counted(export, 8, 1, seconds=1e-6)[2] == 1


def test_direct_answers_have_the_keys_limits_and_log_of_all_others(export, tmp_path):
    log, keys = tmp_path / "log", tmp_path / "keys"
    keys.write_text("secret\tann\nno\tbob\tsuggest\n", encoding="utf-8")
    settings = Settings(keys=Keys(file=keys), access_log=str(log), char_limit=20, req_limit=4, metrics=True)
    engine = Engine(export, name="tiny", limits=Limits(engine="runtime", threads=1, direct_search=4))
    with served([engine], settings) as client:
        while client.get("/readyz").status_code != 200:
            time.sleep(0.05)
        pair = dict(zip(("source", "target"), engine.cards[""]["languages"], strict=True))

        def ask(text, key="secret"):
            return client.post("/translate", json={"q": text, **pair, "api_key": key})

        questions = (TEXT,), (TEXT, "wrong"), (TEXT, "no"), ("a" * 21,)
        statuses = [ask(*words).status_code for words in questions]
        answer = ask(TEXT)
        ask(TEXT)
        slow = ask(TEXT)
        metrics = client.get("/metrics").text
    assert statuses == [200, 403, 403, 400]
    assert (slow.status_code, "Retry-After" in slow.headers) == (429, True)
    assert answer.json()["translatedText"] and answer.headers["x-model"].startswith("tiny@")
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    asked = [(one["key"], one["status"], one["model"]) for one in lines if one["route"] == "/translate"]
    assert asked[0] == ("ann", 200, "tiny") and asked[-1][:2] == ("ann", 429)
    assert TEXT not in log.read_text("utf-8")
    assert 'regard_characters_total{model="tiny",route="/translate"} 30.0' in metrics
