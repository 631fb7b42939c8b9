"""A lone short text is searched in the server: its answer is that of the model's process, to the bit."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from engines import until

from regard.exchange import export_folder, format_named
from regard.predictor import load
from regard.serve.engine import Engine, Limits, Predict
from regard.serve.engine.answering import Answering
from regard.serve.engine.engine import DirectSearch
from regard.text.clean import clean

TEXTS = ["a dog runs", "two cats", "Une e\u0301toile, \U0001f600 <<b>> 12", "yes", "  a  b ", "\t", "dog " * 20]


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


def test_answers_are_those_of_the_process(both):
    answering, direct = both
    answered = 0
    for text in TEXTS:
        (other,) = answering.answer(Predict.lines([text])).found.values()
        if (found := direct.answer(Predict.lines([text]))) is not None:
            answered += 1
            assert (found[0], found[1].tokens) == (other, answering.count(Predict.lines([text]))[0].pieces + 1)
    assert answered >= 2


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
    assert both[1].answer(question) is None


def test_what_needs_more_than_a_search_has_no_shortcut(both, tiny_run):
    native, _ = Answering.load(tiny_run, batch_tokens=8192)
    deciding = both[0].beside()
    deciding.predictor._setup = replace(deciding.predictor.setup, threshold=0.5)
    assert (native.shortcut(), deciding.shortcut()) == (None, None)


def test_a_request_beside_others_is_batched(export):
    async def run() -> tuple[list[int], int]:
        engine, measured = Engine(export, limits=Limits(engine="runtime", threads=1)), list[int]()
        await engine.start()
        await until(lambda: engine.ready)
        engine.watchers.append(lambda told: measured.append(told.items))
        alone = await engine.ask(Predict.lines(["a dog runs"]))
        direct = len(measured)
        engine.alone = lambda: False
        others = await asyncio.gather(*(engine.ask(Predict.lines(["a dog runs"])) for _ in range(3)))
        await engine.stop()
        assert all(clean(one.text) == alone[0].text for (one,) in others)
        return measured, direct

    measured, direct = asyncio.run(run())
    assert (measured[:direct], sum(measured)) == ([1], 4)
