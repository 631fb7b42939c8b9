"""Phrases out of two texts without pairs: the first table by hand, a cipher that is translated, rounds found again."""

import math
import random

import pytest
import torch
from small_runs import regard, unsaid

from regard.config.merging import parse_changes
from regard.predictor import load
from regard.recipes import no_pairs, phrases_without_pairs
from regard.recipes.no_pairs import in_words
from regard.recipes.phrases_without_pairs import PHRASE_ROUNDS, phrases_of_words, word_log_probs
from regard.reports.dictionary import Dictionary
from regard.statistical.dictionaries.method import Space

NOUNS = {"dog": "hund", "cat": "katze", "house": "haus", "tree": "baum", "man": "mann", "car": "auto"}
WORDS = {"the": "das", "sees": "sieht", "and": "und", "red": "rotes", "new": "neues", "more": "mehr", **NOUNS}


def sentences(seed):
    """Five hundred drawn sentences; the numbers at their ends are of one text alone."""
    draws, nouns = random.Random(seed), [*NOUNS]
    return [
        f"the {draws.choice(['red', 'new'])} {draws.choice(nouns)} sees the {draws.choice(nouns)} and {place} more"
        for place in range(seed, 1_000, 2)
    ]


def test_rows_of_the_first_table_sum_to_one():
    found = word_log_probs(*(torch.nn.functional.normalize(torch.randn(count, 5), dim=1) for count in (7, 9)))
    torch.testing.assert_close(found.forward.exp().sum(dim=1), torch.ones(7))
    torch.testing.assert_close(found.reverse.exp().sum(dim=0), torch.ones(9))


def test_the_first_table_by_hand():
    """Words at a right angle: cosines are 1 and 0. The known pair stands alone; a sign has no entry."""
    dictionary = Dictionary(Space(["a", "b"], torch.eye(2)), Space(["x", "y"], torch.eye(2)), 0.5)
    table = phrases_of_words(dictionary, [("b", "z")], [" a", " b", "."], [" x", "x", " x", " y", " z", "."])
    near, far = -math.log(1 + math.exp(-30)), -30 - math.log(1 + math.exp(-30))
    first, second = table.entries([" a"])
    assert (first.target, second.target) == ((" x",), (" y",))
    assert first.scores == pytest.approx((near,) * 4, abs=1e-5) and second.scores == pytest.approx((far,) * 4)
    assert [one.target for one in table.entries([" b"])] == [(" z",)] and ["."] not in table


@pytest.mark.parametrize("change", ["task=phrases", "task.name=phrases", "task={name: phrases}"])
def test_each_spelling_of_the_task_takes_phrases(change, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        phrases_without_pairs, "train_phrases_without_pairs", lambda request, *_, **__: asked.append(request) or True
    )
    assert regard("train", "--text", "a.en", "--text", "b.de", "--run", tmp_path / "run", change).code == 0
    assert len(asked) == 1
    assert parse_changes(["task.name=phrases", *asked[0].changes])["task"] == {"name": "phrases"}


@pytest.mark.slow
def test_a_cipher_is_translated_and_rounds_are_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(no_pairs, "_VECTORS", ("model.dim=8", "training.max_updates=2", "data.dev_fraction=0"))
    own, other = sentences(0), [in_words(line, WORDS) for line in sentences(1)]
    for name, lines in {"a.en": own, "b.de": other}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "known.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in WORDS.items()))
    both = ["--text", tmp_path / "a.en", "--text", tmp_path / "b.de", "--seed-pairs", tmp_path / "known.tsv"]
    assert regard("train", *both, "--run", tmp_path / "run", "task=phrases").code == 0
    found = [one.text for one in load(tmp_path / "run").predict(own[:30])]
    assert found == [in_words(line, WORDS) for line in own[:30]]
    rounds = [
        tmp_path / "run-start" / f"phrases-{number}.{('en', 'de')[number % 2]}" for number in range(PHRASE_ROUNDS + 1)
    ]
    assert rounds[1].read_text().splitlines() == sentences(1)
    (tmp_path / "run").rename(tmp_path / "first")
    for file in rounds[:-1]:
        file.write_text("not read\n")
    assert regard("train", *both, "--run", tmp_path / "run", "task=phrases").code == 0
    assert [one.text for one in load(tmp_path / "run").predict(own[:30])] == found
    again = regard("train", *both, "--run", tmp_path / "run", "task=phrases")
    assert not unsaid(again, "exists and is not empty")
