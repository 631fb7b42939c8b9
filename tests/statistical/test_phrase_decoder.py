"""The stack decoder against enumeration, its features, and what it does with words that it does not know."""

import math
import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from regard.ops.plain import plain
from regard.runtime.compiled import library
from regard.statistical import stack_search
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.phrase_decoder import PHRASE_FEATURES, Box, PhraseDecoder, RequiredPhrase, SearchLimits, copies
from regard.statistical.phrase_table import PhraseEntry, PhraseTable

SOURCES, TARGETS = "abcd", "wxyz"
WIDE = SearchLimits(size=10**6, pops=10**6, options=100, jump=4)


def drawn_decoder(seed, limits=WIDE, *, reordering=True):
    """Random phrases of one to three words, a random language model and random weights."""
    draws = random.Random(seed)

    def logs(count):
        return tuple(math.log(draws.uniform(0.05, 1)) for _ in range(count))

    spans = [(word,) for word in SOURCES] * 2
    spans += [tuple(draws.choice(SOURCES) for _ in range(draws.randint(2, 3))) for _ in range(8)]
    pairs = {
        (span, tuple(draws.choices(TARGETS, k=draws.randint(1, 2)))): (logs(4), logs(6 * reordering)) for span in spans
    }
    table = PhraseTable.of(
        (source, PhraseEntry(target, scores, (), sides)) for (source, target), (scores, sides) in pairs.items()
    )
    language = kneser_ney([[draws.choice(TARGETS) for _ in range(5)] for _ in range(20)], 3)
    weights = [draws.uniform(0, 1) for _ in PHRASE_FEATURES]
    return PhraseDecoder(table, language, weights, limits), [draws.choice(SOURCES) for _ in range(4)]


def orientations(chosen, length):
    """Of each phrase to the one before it, and of the end to the last one."""
    last = (0, 0)
    for start, end, _ in chosen:
        yield 0 if start == last[1] else 1 if end == last[0] else 2
        last = (start, end)
    yield 0 if last[1] == length else 2


def scored(decoder, chosen, length):
    """The score of a derivation by the definition of each feature."""
    weights = dict(zip(PHRASE_FEATURES, decoder.weights, strict=True))
    words = [word for *_, entry in chosen for word in entry.target]
    total = weights["language model"] * sum(decoder.language.log_probs_of(words))
    total += weights["words"] * len(words) + weights["phrases"] * len(chosen)
    ends = [0, *(end for _, end, _ in chosen)]
    total -= weights["distance"] * sum(abs(start - end) for (start, *_), end in zip(chosen, ends, strict=False))
    sides = [*orientations(chosen, length)]
    for (*_, entry), before, behind in zip(chosen, sides, sides[1:], strict=False):
        total += np.dot(entry.scores, decoder.weights[:4])
        if entry.reordering:
            total += entry.reordering[before] * decoder.weights[8 + before]
            total += entry.reordering[3 + behind] * decoder.weights[11 + behind]
    return total, words


def known_pairs(decoder, sentence):
    """Every phrase pair of each stretch."""
    spans = [(start, end) for start in range(len(sentence)) for end in range(start + 1, len(sentence) + 1)]
    return [(*span, entry) for span in spans for entry in decoder.table.entries(sentence[slice(*span)])]


def enumerated(decoder, sentence, *, jump, pairs=None):
    """Every derivation as (score, words), the best first."""
    length, pairs = len(sentence), known_pairs(decoder, sentence) if pairs is None else pairs

    def walk(chosen, free, last):
        if not free:
            yield scored(decoder, chosen, length)
        for start, end, entry in pairs:
            rest = free - {*range(start, end)}
            if not {*range(start, end)} <= free or abs(start - last) > jump:
                continue
            if not rest or min(rest) > end or end - min(rest) <= jump:  # else the first gap is out of reach
                yield from walk([*chosen, (start, end, entry)], rest, end)

    return sorted(walk([], {*range(length)}, 0), key=lambda found: -found[0])


def ways():
    """With compiled code, where there is a compiler, and without."""
    compiled = library(Path(stack_search.__file__).with_suffix(".cpp")) is not None
    return [plain, *[nullcontext] * compiled]


@pytest.mark.parametrize("jump", [0, 1, 2, 4])
def test_equal_to_enumeration(jump):
    """Without pruning the n best are those of all derivations: fifty inputs for each limit of jumps."""
    for seed in range(50):
        decoder, sentence = drawn_decoder(seed, WIDE._replace(jump=jump), reordering=bool(seed % 5))
        every = enumerated(decoder, sentence, jump=jump)
        for way in ways():
            with way():
                found = decoder.translate(sentence, 10)
            assert [one.score for one in found] == pytest.approx([score for score, _ in every[:10]])
            assert list(found[0].words) == every[0][1]


def holds(target, part):
    return any(target[place : place + len(part)] == part for place in range(len(target)))


def test_required_phrases_equal_enumeration():
    """The best of all derivations in which each stretch is inside one phrase pair that writes one of its targets."""
    for seed in range(40):
        decoder, sentence = drawn_decoder(seed)
        draws = random.Random(seed)
        first = draws.randint(0, 1)
        required = [
            RequiredPhrase(first, first + 1, {("w",), ("y", "z", "w")}),
            RequiredPhrase(first + 1, draws.randint(first + 2, 4), {("x", "x", "x"), ("z",)}),
        ][seed % 2 :]
        pairs = []
        for start, end, entry in known_pairs(decoder, sentence):
            met = [one for one in required if one.start < end and start < one.end]
            around = len(met) == 1 and start <= met[0].start and met[0].end <= end
            if not met or (around and any(holds(entry.target, target) for target in met[0].targets)):
                pairs.append((start, end, entry))
        for one in required:
            there = {entry.target for start, end, entry in pairs if (start, end) == (one.start, one.end)}
            pairs += [(one.start, one.end, PhraseEntry(target, (0.0,) * 4, (), ())) for target in one.targets - there]
        every = enumerated(decoder, sentence, jump=4, pairs=pairs)
        for way in ways():
            with way():
                found = decoder.translate(sentence, 10, required)
            assert [one.score for one in found] == pytest.approx([score for score, _ in every[:10]])
            assert all(any(holds(one.words, target) for target in each.targets) for one in found for each in required)


def test_words_beside_a_required_phrase_are_copied_when_unknown():
    decoder, _ = drawn_decoder(1)
    sentence = ["?", "a", "!", "!"]
    (found,) = decoder.translate(sentence, 1, [RequiredPhrase(1, 3, {("new",)})])
    assert set(found.words) == {"?", "new", "!"}
    assert [(box.start, box.end) for box in sorted(found.boxes)] == [(0, 1), (1, 3), (3, 4)]


def test_a_score_is_the_weighted_sum_of_features():
    for seed in range(10):
        decoder, sentence = drawn_decoder(seed)
        sentence[seed % 4 :: 3] = ["unknown"] * len(sentence[seed % 4 :: 3])
        for one in decoder.translate(sentence, 5):
            assert decoder.features(one, len(sentence)) @ decoder.weights == pytest.approx(one.score)
            assert sorted(place for box in one.boxes for place in range(box.start, box.end)) == [*range(4)]


def test_compiled_and_plain_prune_alike():
    for seed in range(10):
        limits = SearchLimits(size=3 + seed, pops=10 + 5 * seed, options=3, jump=seed)
        decoder, _ = drawn_decoder(seed, limits)
        sentence = random.Random(seed).choices([*SOURCES, "unknown"], k=12)
        found = []
        for way in ways():
            with way():
                found.append(decoder.translate(sentence, 20))
        assert all(one == found[0] for one in found)
        assert len(found[0]) == 20


def test_pruning_finds_nothing_better():
    for seed in range(5):
        decoder, _ = drawn_decoder(seed)
        sentence = random.Random(seed).choices(SOURCES, k=6)
        (best,) = decoder.translate(sentence)
        for size in (1, 5, 1000):
            limits = WIDE._replace(size=size, pops=4 * size)
            (found,) = PhraseDecoder(decoder.table, decoder.language, decoder.weights, limits).translate(sentence)
            assert found.score <= best.score + 1e-9


def test_a_limit_of_zero_is_monotone():
    decoder, sentence = drawn_decoder(3, WIDE._replace(jump=0))
    for one in decoder.translate(sentence, 50):
        assert [box.start for box in one.boxes] == [0, *(box.end for box in one.boxes[:-1])]


def test_nothing_is_translated_by_nothing():
    decoder, _ = drawn_decoder(1)
    for way in ways():
        with way():
            (found,) = decoder.translate([])
        assert found.boxes == []
        assert found.score == pytest.approx(decoder.features(found, 0) @ decoder.weights)


def test_long_sentences_are_translated():
    decoder, _ = drawn_decoder(2, SearchLimits(size=2, pops=4, options=2, jump=60))
    sentence = random.Random(1).choices(SOURCES, k=150)
    for way in ways():
        with way():
            (found,) = decoder.translate(sentence)
        assert sum(box.end - box.start for box in found.boxes) == 150


def test_unknown_words_are_copied():
    decoder, _ = drawn_decoder(1, WIDE._replace(jump=0))
    (found,) = decoder.translate(["a", "Zürich", "Nord", "b"])
    assert [word for word in found.words if word not in TARGETS] == ["Zürich", "Nord"]
    assert copies(["a", "x", "y", "b"], [Box(0, 1, (), 0), Box(3, 4, (), 1)]) == [Box(1, 3, ("x", "y"), -1)]


@pytest.mark.parametrize("count", [60, 61, 64, 65, 200])
def test_any_number_of_unknown_words_is_copied(count):
    decoder, _ = drawn_decoder(1, WIDE._replace(jump=0))
    sentence = ["a", *(f"unknown{number}" for number in range(count)), "b"]
    for way in ways():
        with way():
            (found,) = decoder.translate(sentence)
        assert [word for word in found.words if word not in TARGETS] == sentence[1:-1]


def test_a_word_that_only_a_longer_phrase_knows_is_copied_by_itself():
    found = copies(["x", "y", "a"], [Box(1, 3, (), 0), Box(2, 3, (), 1)])
    assert found == [Box(0, 1, ("x",), -1), Box(1, 2, ("y",), -1)]


def test_phrases_that_give_a_text_are_found():
    for seed in range(20):
        decoder, sentence = drawn_decoder(seed, WIDE._replace(options=2))
        sentence[seed % 4] = "unknown"
        for one in decoder.translate(sentence, 5):
            for way in ways():
                with way():
                    found = decoder.explain(sentence, one.words)
            assert found.words == one.words
            alike = [other for other in decoder.translate(sentence, 10**4) if other.words == one.words]
            weights = np.where(np.array(PHRASE_FEATURES) == "language model", 0, decoder.weights)
            best = max(decoder.features(other, 4) @ weights for other in alike)
            assert found.score >= best - 1e-9


def test_a_text_that_phrases_do_not_give_has_no_boxes():
    decoder, sentence = drawn_decoder(1)
    (found,) = decoder.translate(sentence)
    assert decoder.explain(sentence, ["q"]) is None
    assert decoder.explain(sentence, [*found.words, "q"]) is None
    assert decoder.explain(sentence, []) is None
    assert decoder.explain([], []).boxes == []
