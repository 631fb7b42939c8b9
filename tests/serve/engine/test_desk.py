"""The threads of a model's process: one that is ended takes no answer with it, and the next batch finds the others."""

from queue import SimpleQueue

import pytest

from regard.predictor import load
from regard.registry import Choice
from regard.serve.engine.answering import Answering
from regard.serve.engine.messages import Batch, Beat, Failure
from regard.serve.engine.questions import Predict
from regard.serve.engine.worker import Desk


def asked(name, text):
    return Batch(name=str(name), number=name, lane=0, question=Predict((text,)))


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
def test_a_thread_that_is_ended_is_told_to_who_waits(tiny_run, monkeypatch, ending):
    """As many times as there are threads: none of them is lost."""
    answering, said = Answering(load(tiny_run), Choice("greedy")), SimpleQueue()
    predict = Answering.predict

    def killed(self, question, *rest):
        if "killed" in question.texts:
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
