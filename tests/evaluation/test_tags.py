"""Figures of tags: spans and shares, each by hand."""

from itertools import pairwise, product
from random import Random

import pytest

from regard.evaluation.confusion import tag_confusion
from regard.evaluation.metric import corpus_of
from regard.evaluation.span_f1 import SpanF1, spans
from regard.evaluation.tag_accuracy import TagAccuracy

A, B = "A", "B"


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        ("", []),
        ("O O", []),
        ("B-A I-A O B-A", [(A, 0, 2), (A, 3, 4)]),  # IOB2
        ("B-A I-A I-A", [(A, 0, 3)]),
        ("B-A B-A", [(A, 0, 1), (A, 1, 2)]),
        ("I-A I-A O I-B", [(A, 0, 2), (B, 3, 4)]),  # IOB1: B only behind a span of the same type
        ("I-A B-A I-A", [(A, 0, 1), (A, 1, 3)]),
        ("B-A I-B", [(A, 0, 1), (B, 1, 2)]),  # the type changes
        ("O I-A I-B I-B", [(A, 1, 2), (B, 2, 4)]),
        ("B-A I-A E-A S-B", [(A, 0, 3), (B, 3, 4)]),  # IOBES
        ("S-A S-A B-A E-A", [(A, 0, 1), (A, 1, 2), (A, 2, 4)]),
        ("E-A E-A", [(A, 0, 1), (A, 1, 2)]),
        ("B-A E-A I-A", [(A, 0, 2), (A, 2, 3)]),
        ("U-A B-B I-B L-B O", [(A, 0, 1), (B, 1, 4)]),  # BILOU
        ("B-A L-A B-A L-A U-A", [(A, 0, 2), (A, 2, 4), (A, 4, 5)]),
        ("B-A-B I-A-B", [("A-B", 0, 2)]),  # a type with a hyphen
        ("B I O B", [("_", 0, 2), ("_", 3, 4)]),  # without types
    ],
)
def test_spans_follow_the_rules_of_seqeval(tags, wanted):
    assert [tuple(span) for span in spans(tags.split())] == wanted


WANTED = ["B-A I-A O B-B", "O B-B I-B", "O O", "B-C"]
GIVEN = ["B-A I-A O B-A", "O B-B O", "B-A O", "B-D"]
# A: 1 right of 3 given and 1 wanted; B: none of 1 given and 2 wanted; C: none of 0 and 1; D, of no reference: 1 given


@pytest.mark.parametrize(
    ("average", "value"), [("micro", 2 * 1 / (5 + 4)), ("macro", (2 * 1 / (3 + 1) + 0 + 0 + 0) / 4)]
)
def test_span_f1_by_hand(average, value):
    assert SpanF1(average=average).score(GIVEN, WANTED).value == pytest.approx(100 * value)


@pytest.mark.parametrize(("given", "value"), [(WANTED, 100.0), (["O", "O", "O", "O"], 0.0)])
@pytest.mark.parametrize("average", ["micro", "macro"])
def test_span_f1_has_its_ends(average, given, value):
    assert SpanF1(average=average).score(given, WANTED).value == value


def test_no_spans_at_all_are_no_error():
    for average in ("micro", "macro"):
        assert SpanF1(average=average).score(["O O"], ["O O"]).value == 0.0


def test_the_example_of_conlleval_counts_whole_spans_alone():
    """A span that begins a word too early is wrong, however much of it is right."""
    wanted = ["O O O B-MISC I-MISC I-MISC O", "B-PER I-PER O"]
    given = ["O O B-MISC I-MISC I-MISC I-MISC O", "B-PER I-PER O"]
    assert SpanF1().score(given, wanted).value == pytest.approx(50.0)


@pytest.mark.parametrize("metric", [SpanF1(), SpanF1(average="macro"), TagAccuracy()], ids=["micro", "macro", "tags"])
def test_figures_are_those_of_sums(metric):
    """Resampling a sentence twice is the same as having it twice."""
    once = metric.statistics(corpus_of(GIVEN, WANTED))
    twice = metric.score(GIVEN + GIVEN[:1], WANTED + WANTED[:1]).value
    assert metric.value(once.sum(axis=0) + once[0]) == pytest.approx(twice)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (["D N V", "N"], 4 / 4),
        (["D V V", "N"], 3 / 4),
        (["D N", "N"], 3 / 4),  # one is missing
        (["D N V X", "N"], 4 / 5),  # one too many
        (["", ""], 0.0),
    ],
)
def test_tag_accuracy_by_hand(given, value):
    found = TagAccuracy().score(given, ["D N V", "N"])
    assert (found.value, found.signature) == (pytest.approx(100 * value), "tags:3")


def test_types_of_spans_are_told_apart_by_hand():
    found = tag_confusion(GIVEN, WANTED)
    assert found.labels == ("", "A", "B", "C", "D")
    counts = {
        (one, other): int(found.counts[row, column])
        for row, one in enumerate(found.labels)
        for column, other in enumerate(found.labels)
        if found.counts[row, column]
    }
    assert counts == {("A", "A"): 1, ("B", "A"): 1, ("B", ""): 1, ("", "B"): 1, ("", "A"): 1, ("C", "D"): 1}


def test_figures_of_types_are_those_of_span_f1():
    """The mean over all types is the macro average, where each type has an example or an answer."""
    classes = tag_confusion(GIVEN, WANTED).classes()
    assert [one.label for one in classes] == ["A", "B", "C", "D"]
    assert sum(one.f1 for one in classes) / 4 == pytest.approx(SpanF1(average="macro").score(GIVEN, WANTED).value)
    assert (classes[0].precision, classes[0].recall) == (pytest.approx(100 / 3), 100.0)


@pytest.mark.parametrize("given", ["D V V", "D V"])
def test_tags_of_words_are_told_apart(given):
    """One more word than answers is taken for nothing."""
    found = tag_confusion([given], ["D N V"])
    row = {one.label: one for one in found.classes()}
    assert (row["D"].f1, row["N"].recall) == (100.0, 0.0)
    assert row["V"].recall == (100.0 if given == "D V V" else 0.0)
    assert found.counts.sum() == 3


def test_tags_without_a_span_are_words():
    assert tag_confusion(["O O"], ["O O"]).labels == ("O",)


# conlleval's rules, as pairs of neighbouring letters; S (of IOBES) as seqeval has it
ENDS = {*product("BI", "BSO"), *product("ES", "BIESO")}
BEGINS = {*product("OBIES", "BS"), *product("OES", "IE")}


def chunks_of(tags):
    """Every (type, first, last) whose first word begins a chunk, whose last one ends it, and none between does."""
    pairs = [("O", ""), *((tag[0], tag[2:]) for tag in tags), ("O", "")]
    steps = [(one[0] + two[0], one[1] != two[1]) for one, two in pairwise(pairs)]
    ends = [tuple(step) in ENDS or (step[0] != "O" and other) for step, other in steps][1:]
    begins = [tuple(step) in BEGINS or (step[1] != "O" and other) for step, other in steps][:-1]
    firsts = [place for place, begun in enumerate(begins) if begun]
    return {(tags[one][2:], one, next(place for place in range(one, len(tags)) if ends[place])) for one in firsts}


def test_span_f1_is_that_of_conlleval_on_made_sequences():
    draws = Random(11)
    known = ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in (A, B))]
    wanted, given = (
        [[draws.choice(known) for _ in range(length)] for length in (1 + row % 9 for row in range(1000))]
        for _ in range(2)
    )
    right = sum(len(chunks_of(one) & chunks_of(two)) for one, two in zip(given, wanted, strict=True))
    precision, recall = (right / sum(len(chunks_of(tags)) for tags in several) for several in (given, wanted))
    assert 0.05 < precision < 0.95
    for tags in (*given, *wanted):
        assert {(kind, start, end - 1) for kind, start, end in spans(tags)} == chunks_of(tags)
    value = SpanF1().score([*map(" ".join, given)], [*map(" ".join, wanted)]).value
    assert value == pytest.approx(100 * 2 * precision * recall / (precision + recall))
