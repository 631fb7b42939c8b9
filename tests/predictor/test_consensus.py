"""Consensus decoding: the candidate with the highest expected BLEU, by brute force, of several translators' n best."""

from itertools import product
from math import fsum

import numpy as np
import pytest

from regard.decoding import SEARCHES
from regard.errors import TooLongError
from regard.evaluation import METRICS
from regard.predictor.consensus import Consensus, best_of, sentence_bleu_of_pairs, wide_search
from regard.registry import Choice
from regard.results import TextPrediction

OWN = ["ein Hund läuft im Schnee .", "ein Hund rennt im Schnee .", "der Hund läuft"]
OTHER = ["ein Hund rennt durch den Schnee .", "ein Hund rennt im Schnee .", "Hund"]


def listed(source, texts):
    first, *others = [TextPrediction(source, text, -float(rank), [0.0], True) for rank, text in enumerate(texts)]
    return TextPrediction(**{**vars(first), "alternatives": others})


def expected(texts, weights, candidate):
    """The expected BLEU of a candidate, by loops, and the part of each list in it."""
    bleu, parts = METRICS.build(Choice("sentence_bleu")), []
    for some, weight in zip(texts, weights, strict=True):
        falling = [1 / (rank + 1) ** 0.5 for rank in range(len(some))]
        gain = fsum(share * bleu.of_one(candidate, text) for share, text in zip(falling, some, strict=True))
        parts.append(weight / sum(weights) * gain / sum(falling))
    return parts


def test_bleu_of_pairs_is_that_of_the_metric():
    texts = [*OWN, *OTHER, "", "雪里有一只狗。", "狗在雪里跑。", "ein", "ein ein ein ein ein"]
    found, bleu = sentence_bleu_of_pairs(texts), METRICS.build(Choice("sentence_bleu"))
    for (row, text), (column, reference) in product(enumerate(texts), repeat=2):
        assert found[row, column] == pytest.approx(bleu.of_one(text, reference), abs=1e-12)


@pytest.mark.parametrize("weight", [0.25, 1.0, 4.0])
def test_the_best_have_the_highest_expected_bleu(weight):
    found = best_of([OWN, OTHER], [1.0, weight], 10)
    assert {*found} == {*OWN, *OTHER}
    for text, shares in found.items():
        assert shares == pytest.approx(expected([OWN, OTHER], [1.0, weight], text))
    sums = [fsum(shares) for shares in found.values()]
    assert sums == sorted(sums, reverse=True)


def test_rows_that_others_answer_nothing_and_warned_answers_stay():
    others = {
        "one": lambda sources, matches: [OTHER for _ in sources],
        "two": lambda sources, matches: [[]] * len(sources),
    }
    warned = TextPrediction(**{**vars(listed("b", OWN)), "warning": "copied"})
    found = Consensus(read_all, others, 9.0, 3).ranked([listed("a", OWN), warned], 1)
    assert found[0].text == OTHER[0] and found[1] is warned
    repeated = Consensus(read_all, {}, 1.0, 3).ranked([listed("a", ["ein Hund", "ein Hund", "Hund"])], 1)
    assert repeated[0].log_probs == [0.0] and repeated[0].text == "ein Hund"


def test_a_source_that_is_too_long_for_another_has_its_own_number():
    def refuse(sources, matches):
        raise TooLongError("source", "is too long", line=2)

    warned = TextPrediction(**{**vars(listed("b", OWN)), "warning": "copied"})
    with pytest.raises(TooLongError) as caught:
        Consensus(read_all, {"one": refuse}, 1.0, 3).ranked([listed("a", OWN), warned, listed("c", OWN)], 1)
    assert caught.value.line == 3


def read_all(sources, targets, matches):
    return [TextPrediction(source, target, 0.0, [-1.0], True) for source, target in zip(sources, targets, strict=True)]


def test_a_translation_of_another_translator_is_read_as_the_models_own():
    asked, draws = [], np.random.default_rng(1)

    def scores(sources, targets, matches):
        asked.extend(zip(sources, targets, strict=True))
        return [TextPrediction(source, target, 0.0, draws.normal(size=2).tolist(), True) for source, target in asked]

    alone, both = (
        Consensus(scores, others, 4.0, 3) for others in ({}, {"phrases": lambda sources, matches: [OTHER, OTHER]})
    )
    given = [listed("a", OWN), listed("b", ["nichts davon", "nichts"])]
    assert [one.text for one in alone.ranked(given, 1)] == [OWN[0], "nichts davon"] and not asked
    found = both.ranked(given, 2)
    assert [one.text for one in found] == [OTHER[1], OTHER[0]]
    assert found[0].log_probs == [0.0]  # the model has found this one itself
    assert ("b", OTHER[0]) in asked and ("a", OTHER[1]) not in asked and len(found[1].log_probs) == 2
    for one in found:
        assert fsum(one.shares.values()) == pytest.approx(one.score) and [*one.shares] == ["model", "phrases"]
        assert one.score >= one.alternatives[0].score and len(one.alternatives) == 1


@pytest.mark.parametrize("name", ["greedy", "beam", "sampling"])
def test_the_search_is_as_wide_as_the_list(name):
    found = wide_search(SEARCHES.build(Choice(name)), 7)
    assert (found.n_best, found.width) == (7, 7)
    assert getattr(found, "size", 7) == 7
