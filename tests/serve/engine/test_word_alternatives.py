"""Other words in place of one of a translation: what is forced, and what is written after it."""

import math

import pytest
import torch
from engines import pairs_of
from torch.testing import assert_close
from writers import drawn

from regard.data.columns import TextColumn
from regard.decoding import SEARCHES, Hypothesis
from regard.explain.tokens import words_of
from regard.models import ROUTE
from regard.pieces import END
from regard.predictor import load
from regard.records import EOS, Batch, Sequences
from regard.registry import Choice
from regard.serve.engine import explaining
from regard.serve.engine.answering import Answering
from regard.serve.engine.explaining import BeginningFeature, rewritten
from regard.serve.engine.questions import Alternatives, Explain
from regard.text import train_tokenizer

WORDS = [3, 4, 5, 6]


@pytest.fixture
def answering(tiny_run):
    found, _ = Answering.load(tiny_run, batch_tokens=8192)
    return found


def sources(count):
    items = torch.tensor([[4, 5, EOS]] * count)
    return Batch({"source": Sequences(items, torch.ones_like(items, dtype=torch.bool))}, ROUTE, torch.arange(count), 0)


@pytest.mark.parametrize("search", ["greedy", "beam", "sampling"])
def test_beginnings_are_written_with_the_models_own_probabilities(search):
    tree, beginnings = drawn(7, 1), [[4], [5, 5], [6, 4, 5]]
    found = SEARCHES.build(Choice(search)).run(tree, sources(3), features=[BeginningFeature(beginnings)])
    for (best, *_), beginning in zip(found, beginnings, strict=True):
        assert best.ids[: len(beginning)] == beginning
        for place, word in enumerate(best.ids):
            assert_close(best.log_probs[place], tree.log_probs((4, 5, EOS), tuple(best.ids[:place]))[word])


def test_the_rest_is_the_best_after_a_beginning():
    tree, search = (
        drawn(7, 2, ends=-3.0),
        SEARCHES.build(Choice("beam", {"size": 40, "max_ratio": 1.0, "max_extra": 1})),
    )  # wide enough to miss nothing
    [[free]] = search.run(tree, sources(1))
    assert len(free.ids) > 1
    rows = [[word] for word in WORDS]
    forced = [ranked[0] for ranked in search.run(tree, sources(4), features=[BeginningFeature(rows)])]
    assert max(forced, key=lambda one: one.score).ids == free.ids


def test_alternatives_go_on_from_another_word(tiny_run, answering):
    source, target = "a dog runs", "ein Hund läuft"
    done = answering.answer(Alternatives(pairs_of([source], [target]), word=1, count=4))
    others = done.found[0].alternatives
    assert 0 < len(others) <= 4
    column, words = answering.predictor.task.vocabularies["target"], []
    for other in others:
        found = other.explanation
        text = column.decode(other.ids)
        assert (other.source, other.text, text.split()[0]) == (source, text, "ein")
        assert len(found.target_tokens) == len(other.ids) + other.finished
        words.append(text.split()[1])
    assert len({*words, "Hund"}) == len(words) + 1
    assert done.found[0].text == target


def test_likely_words_come_first(tiny_run):
    predictor = load(tiny_run)
    found = rewritten(predictor, predictor.setup.engine.search, "two cats", "zwei Katzen", 0, 5)
    chances = []
    for other in found.alternatives:
        pieces = words_of([*predictor.task.target.pieces(other.ids), END])[0].pieces
        chances.append(math.exp(sum(other.log_probs[piece] for piece in pieces)))
    assert len(chances) > 1
    assert chances == sorted(chances, reverse=True)


def test_a_word_behind_the_last_is_refused(answering):
    refused = answering.answer(Alternatives(pairs_of(["yes"], ["ja"]), word=1, count=4)).refused[0]
    assert (refused.kind, "below 1, counted from 0" in refused.details) == ("wrong", True)


def test_long_targets_are_refused(answering):
    answering.predictor.encoder.max_source = 4
    assert answering.count(Explain(pairs_of(["yes"], ["ja " * 9])))[0].kind == "long"


def test_an_alternative_whose_words_are_parted_otherwise_has_no_such_word():
    """Where it has no word of that number, or that word begins elsewhere."""
    column = TextColumn(train_tokenizer(Choice("characters"), ["Hund Huhn"]))
    plain, spaced = (Hypothesis(column.encode(text), -1.0, [-0.5] * len(text), True) for text in ("Huhn", "Hu nd"))
    words = words_of([*column.pieces(plain.ids), END])
    place = len(words) - 2
    begin = words[place].pieces[0]
    assert explaining._word(column, plain, place, begin)[0] == words[place].text
    assert explaining._word(column, spaced, 3, 1) == explaining._word(column, spaced, 0, 1) == ("", 0.0)
