"""The default classifier learns at once at least what counting words and pairs of words knows."""

import math
import random
from collections import Counter
from itertools import pairwise

import pytest

import regard

FILLERS = [f"w{number}" for number in range(400)]
PRAISE, BLAME = ("fine", "lovely", "bright"), ("dull", "awful", "grey")


def review(draw):
    """Words that say nothing, and three judgements, each of which "not" turns around; 5 % of labels are wrong."""
    good = draw.random() < 0.5
    words = draw.choices(FILLERS, k=12)
    for _ in range(3):
        turned = draw.random() < 0.4
        judgement = draw.choice(PRAISE if good != turned else BLAME)
        words.insert(draw.randrange(len(words) + 1), f"not {judgement}" if turned else judgement)
    return ("good" if good != (draw.random() < 0.05) else "bad"), " ".join(words)


def grams(text):
    words = text.split()
    return [*words, *pairwise(words)]


def naive_bayes(train):
    """Return what answers by log p(label) + sum of log p(gram | label), counts smoothed by one."""
    counts = {label: Counter(gram for one, text in train if one == label for gram in grams(text)) for label, _ in train}
    size = len({gram for one in counts.values() for gram in one})
    totals = {label: sum(one.values()) + size for label, one in counts.items()}
    return lambda text: max(
        counts,
        key=lambda label: sum(math.log((counts[label][gram] + 1) / totals[label]) for gram in grams(text)),
    )


@pytest.mark.slow
def test_the_default_is_as_good_as_counted_words_and_pairs(tmp_path):
    draw = random.Random(5)
    train, test = ([review(draw) for _ in range(count)] for count in (2_000, 500))
    (tmp_path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in train), encoding="utf-8")
    run = regard.train(text=tmp_path / "a.tsv", run=tmp_path / "run", quiet=True, changes=["training.max_epochs=10"])
    answers = [one.text for one in regard.load(run).predict([text for _, text in test])]
    counted = naive_bayes(train)
    right = sum(answer == label for answer, (label, _) in zip(answers, test, strict=True))
    assert right >= sum(counted(text) == label for label, text in test) - 5  # a point
    assert right > 0.85 * len(test)
