"""The threads of a model's process: one that is ended takes no answer with it, and the next batch finds the others."""

from queue import SimpleQueue

import pytest

from regard.predictor import load
from regard.registry import Choice
from regard.serve.engine.answering import Answering
from regard.serve.engine.worker import Desk

PLAIN = {"n_best": 1, "explain": False, "maps": False, "word": None}


def asked(name, text):
    return {"batch": name, "number": name, "sources": [text], "targets": None, "options": PLAIN}


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
def test_a_thread_that_is_ended_is_told_to_who_waits(tiny_run, monkeypatch, ending):
    """As many times as there are threads: none of them is lost."""
    answering, said = Answering(load(tiny_run), Choice("greedy")), SimpleQueue()
    predict = Answering.predict

    def killed(self, texts, *rest):
        if "killed" in texts:
            raise ending
        return predict(self, texts, *rest)

    monkeypatch.setattr(Answering, "predict", killed)

    def answers():
        while "beat" not in (one := said.get(timeout=30)) and "steps" in one:
            pass
        return one

    with Desk(answering, 1, said.put) as desk:
        for number in range(4):
            desk.hear(asked(number, "killed"))
            assert {"fault", "number"} <= answers().keys()
        desk.hear(asked(9, "a dog runs"))
        assert [one["prediction"]["source"] for one in answers()["answers"]] == ["a dog runs"]
