"""What questions cost, in pieces; what they keep, and which of their texts are counted by who answers them."""

import pytest

from regard.documents.glossary import Glossary
from regard.predictor import load
from regard.predictor.terminology import MOST_OF_ALL
from regard.serve.engine.lanes import lane_of
from regard.serve.engine.messages import Batch, Refused
from regard.serve.engine.questions import MAX_PREFIX, Alternatives, Explain, Predict
from regard.serve.engine.worker import answer


@pytest.mark.parametrize(
    ("question", "more", "pieces"),
    [
        (Predict(()), {}, 12),
        (Predict((), n_best=4), {}, 12),
        (Predict((), n_best=10), {}, 36),
        (Predict(()), {"prefix": 990}, 1002),
        (Predict((), n_best=10), {"prefix": 990}, 3006),
        (Predict(()), {"terms": [3, 5]}, 40),
        (Predict((), maps=True), {}, 24),
    ],
)
def test_a_text_to_predict(question, more, pieces):
    assert question.cost([12], **more) == pieces


def test_a_given_target():
    assert Explain(()).cost([12, 20]) == 20
    assert Explain((), method="lrp", reasons=("saliency",)).cost([12, 20]) == 32 * 9
    assert Explain((), steps=True).cost([12, 20]) == 32 * 5
    assert Alternatives((), word=1, count=5).cost([12, 20]) == 160


def test_what_a_short_text_has_to_keep_chooses_its_lane():
    assert [lane_of(Predict(()).cost([3], prefix=prefix)) for prefix in (0, 100, 990)] == [0, 1, 2]


def test_a_prefix_that_is_counted_is_one_that_is_kept():
    assert MAX_PREFIX == MOST_OF_ALL


TEXTS = ["a dog runs", "", "two cats", "yes"]


def test_terms_and_prefixes_are_kept_as_the_predictor_keeps_them(tiny_run, answering):
    predictor, lines = load(tiny_run), ("dog\tHund", "cats\tKatzen")
    done = answering.answer(Predict.lines(TEXTS, glossary=lines, prefix="ein"))
    wanted = predictor.predict(TEXTS, glossary=Glossary.of_lines(lines), prefixes=["ein"] * len(TEXTS))
    assert done.found == dict(enumerate(wanted))
    assert all(one.text.startswith("ein") for one in wanted if one.source)
    (said,) = answer(answering, Batch(name="0", lane=0, question=Predict.lines(["a dog"], glossary=lines))).outcomes
    assert said.prediction.prediction == predictor.predict(["a dog"], glossary=Glossary.of_lines(lines))[0]


def test_short_texts_are_counted_by_who_answers_them(answering):
    """What has more pieces comes back with their number, what is only copied with its answer; nobody else waits."""
    long, copied = "yes " * 20, "汉" * 30
    texts = ["a dog", long, copied, "yes"]
    sizes = [len(answering.predictor.task.source.encode(text)) for text in texts]
    done, plain = answering.answer(Predict.lines(texts), 40), answering.answer(Predict.lines(["a dog", "yes"]))
    assert sizes[1] > 40
    assert done.refused == {1: Refused("pieces", sizes[1])}
    assert {row: one.text for row, one in done.found.items()} == {
        0: plain.found[0].text,
        2: copied,
        3: plain.found[1].text,
    }
    assert [done.sizes[row] for row in (0, 1, 3)] == [sizes[row] + 1 for row in (0, 1, 3)]
    answering.predictor.encoder.max_source = 12
    assert answering.answer(Predict.lines([long]), 40).refused == {0: Refused("long", [sizes[1], 11])}


def test_who_leaves_a_batch_of_short_texts_is_the_one_who_is_meant(answering):
    """By the numbers that the server gave, whatever came back before the search."""
    found = answering.answer(
        Predict.lines(["yes " * 20, "a dog runs", "two cats"]), 40, unwanted=lambda: frozenset({2})
    ).found
    assert found[1] == answering.answer(Predict.lines(["a dog runs"])).found[0]
    assert not found[2].finished


def test_a_term_that_is_too_long_is_refused(answering):
    done = answering.answer(Predict.lines(["a dog"], glossary=(f"dog\t{'Hund ' * 200}",)))
    assert done.refused[0].kind == "wrong"
    assert "more than a beam can place" in done.refused[0].details
