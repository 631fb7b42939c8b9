"""What goes over the pipe comes back the same."""

import pytest
from engines import sent
from hypothesis import given
from hypothesis import strategies as st

from regard.answers import LabelPrediction
from regard.answers.span import SpanPrediction
from regard.answers.tags import TagsPrediction
from regard.results import (
    AttentionMap,
    ColumnLink,
    Explanation,
    MemoryMatch,
    TermReport,
    TermUse,
    TextPrediction,
    TokenRole,
    Tokens,
)
from regard.serve.engine.messages import (
    HEAD,
    BatchReply,
    Carried,
    CountTexts,
    Failure,
    Found,
    Refused,
    heard,
    packed,
    unpacked,
)
from regard.serve.engine.questions import Alternatives, Explain, GivenText, Predict

numbers = st.floats(allow_nan=False)
texts = st.text(st.characters(), max_size=20)
matrices = st.lists(st.lists(numbers, max_size=3), max_size=3)
maps = st.builds(AttentionMap, texts, st.just("cross"), st.integers(0, 9), st.lists(matrices, max_size=2), texts, texts)
links = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3)
offsets = st.lists(st.none() | st.lists(st.integers(0, 99), min_size=2, max_size=2), min_size=1, max_size=3)
columns = st.builds(Tokens, st.lists(texts, max_size=3), st.sampled_from(TokenRole), st.just(()) | offsets)
explanations = st.builds(
    Explanation,
    st.dictionaries(texts, columns, max_size=3),
    st.lists(st.builds(ColumnLink, texts, texts, links, matrices), max_size=2),
    st.lists(maps, max_size=2),
    reasons=st.dictionaries(texts, st.builds(Explanation, st.dictionaries(texts, columns, max_size=2)), max_size=2),
)
places = st.lists(st.integers(0, 99), min_size=2, max_size=2)
uses = st.builds(TermUse, texts, st.lists(texts, max_size=2), places, st.none() | places)
reports = st.builds(TermReport, st.lists(uses, max_size=2), numbers, texts)
plain = st.builds(TextPrediction, texts, texts, numbers, st.lists(numbers, max_size=3), st.booleans())
whole = st.builds(
    TextPrediction,
    texts,
    texts,
    numbers,
    st.lists(numbers, max_size=3),
    st.booleans(),
    st.lists(plain, max_size=2),
    st.none() | explanations,
    ids=st.none() | st.lists(st.integers(0, 99), max_size=3),
    terms=st.none() | reports,
)


names = st.text(max_size=5)
labels = st.builds(LabelPrediction, texts, texts, numbers, probabilities=st.dictionaries(names, numbers, max_size=3))
tags = st.builds(TagsPrediction, texts, texts, numbers, tags=st.lists(names, max_size=3))
spans = st.builds(SpanPrediction, texts, texts, numbers, start=st.integers(0, 9), end=st.integers(0, 9))


@given(whole | labels | tags | spans)
def test_a_prediction_comes_back_the_same(prediction):
    assert sent(prediction) == prediction


def test_weights_cost_their_bytes_and_no_digits():
    """A third is eighteen digits; as bytes it is eight, a little more in text."""
    rows = [[1 / 3] * 100] * 100
    found = Explanation.of_text(["a"], ["b"], [], rows, [AttentionMap("cross", "cross", 0, [rows])])
    assert (
        len(packed(BatchReply(outcomes=[Found(Carried(TextPrediction("a", "b", 0.0, explanation=found)))])))
        < 2 * 100 * 100 * 8 * 1.4
    )


@given(plain)
def test_what_a_process_says_is_heard_with_its_predictions(prediction):
    said = BatchReply(number=3, outcomes=[Found(Carried(prediction)), Refused("failed", "KeyError")], sizes=[2, 1])
    told = heard(packed(said)[HEAD:])
    assert (told.number, told.sizes, told.outcomes[1]) == (3, [2, 1], Refused("failed", "KeyError"))
    assert told.outcomes[0].prediction.prediction == prediction
    assert heard(packed(Failure(reason="KeyError"))[HEAD:]) == Failure(reason="KeyError")


segments = st.builds(
    MemoryMatch, st.integers(0, 101), st.integers(0, 2**40), *(5 * [texts]), st.lists(st.nothing(), max_size=0)
)
similar = st.lists(segments, max_size=2).map(tuple)
pairs = st.lists(st.builds(GivenText, texts, texts, similar), max_size=2).map(tuple)
lines = st.lists(texts, max_size=2).map(tuple)
asked = st.lists(st.builds(GivenText, texts, st.just(""), similar), max_size=2).map(tuple)
questions = (
    st.builds(Predict, asked, texts, st.integers(1, 9), st.booleans(), st.booleans(), lines, texts)
    | st.builds(Explain, pairs, texts, texts, lines, st.booleans())
    | st.builds(Alternatives, pairs, texts, st.integers(0, 9), st.integers(1, 9))
)


@given(questions)
def test_a_question_comes_back_the_same(question):
    assert unpacked(packed(CountTexts(question=question, number=1))[HEAD:]) == CountTexts(question=question, number=1)


def test_the_length_stands_before_the_body():
    message = packed(Failure(reason="\ud800ä"))
    assert int.from_bytes(message[:HEAD], "big") == len(message) - HEAD
    assert heard(message[HEAD:]) == Failure(reason="\ud800ä")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"1", b"\xff", b"null", b"{}", b'{"type": "Job"}', packed(Failure(reason=""))[HEAD:]]
)
def test_what_is_no_message_is_a_value_error(body):
    with pytest.raises(ValueError):
        unpacked(body)
