"""SQuAD 2.0's published evaluation, written a second time as one loop over questions, beside our figures."""

import collections
import math
import random
import re
import string

import pytest

from regard.evaluation.metric import corpus_of
from regard.evaluation.squad_exact_match import SquadExactMatch
from regard.evaluation.word_f1 import WordF1

WORDS = ["the", "A", "an", "Ann", "Nile", "nile.", "river", "(river)", "$5", "5", "né", "dog's", "dogs", "--", "U.S."]
METRICS = {"exact": SquadExactMatch, "f1": WordF1}


def normalised(text):
    text = "".join(one for one in text.lower() if one not in set(string.punctuation))
    return " ".join(re.compile(r"\b(a|an|the)\b", re.UNICODE).sub(" ", text).split())


def exact(gold, given):
    return int(normalised(gold) == normalised(given))


def f1(gold, given):
    wanted, found = (normalised(text).split() if text else [] for text in (gold, given))
    same = sum((collections.Counter(wanted) & collections.Counter(found)).values())
    if not wanted or not found:
        return int(wanted == found)
    if not same:
        return 0
    precision, recall = same / len(found), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def published(questions):
    """(golds, answer) of each question → the figures by the script's names."""
    rows = []
    for golds, given in questions:
        kept = [one for one in golds if normalised(one)] or [""]
        has = bool(golds)
        rows.append((has, max(exact(one, given) for one in kept), max(f1(one, given) for one in kept)))
    found = {}
    for prefix, some in (
        ("", rows),
        ("HasAns_", [row for row in rows if row[0]]),
        ("NoAns_", [row for row in rows if not row[0]]),
    ):
        found[f"{prefix}exact"] = 100 * math.fsum(row[1] for row in some) / len(some)
        found[f"{prefix}f1"] = 100 * math.fsum(row[2] for row in some) / len(some)
    return found


def made(count, seed):
    """Questions with none to three golds, and answers near one of them, near none, or empty."""
    draw = random.Random(seed)

    def text():
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 5)))

    questions = []
    for _ in range(count):
        golds = [text() for _ in range(draw.choice([0, 0, 1, 2, 3]))]
        near = draw.choice(golds) if golds else text()
        extra = f"{near} {draw.choice(WORDS)}"
        questions.append((golds, draw.choice([near, extra, near.upper(), text(), "", "the"])))
    return questions


@pytest.mark.parametrize("kind", [("", "all"), ("HasAns_", "answerable"), ("NoAns_", "unanswerable")])
def test_a_thousand_answers_have_the_published_figures(kind):
    prefix, counted = kind
    questions = made(1000, seed=3)
    wanted = published(questions)
    references = [golds or [""] for golds, _ in questions]
    for name, metric in METRICS.items():
        found = metric(questions=counted).score([answer for _, answer in questions], references)
        assert found.value == pytest.approx(wanted[f"{prefix}{name}"])


def test_each_question_counts_where_it_belongs():
    """Question by question, so that no two errors cancel."""
    questions = made(300, seed=4)
    for golds, answer in questions:
        corpus = corpus_of([answer], [golds or [""]])
        for name, metric in METRICS.items():
            ((value, one),) = metric().statistics(corpus)
            kept = [gold for gold in golds if normalised(gold)] or [""]
            rule = exact if name == "exact" else f1
            assert (value, one) == (pytest.approx(max(rule(gold, answer) for gold in kept)), 1)
        for kind, counts in (("answerable", bool(golds)), ("unanswerable", not golds)):
            assert SquadExactMatch(questions=kind).statistics(corpus)[0, 1] == counts


def test_figures_of_both_kinds_have_names_and_signatures_of_their_own():
    metrics = [SquadExactMatch(), SquadExactMatch(questions="answerable"), WordF1(questions="unanswerable")]
    corpus = corpus_of(["a"], [["a"]])
    assert len({one.name for one in metrics}) == len({one.signature(corpus) for one in metrics}) == 3
