"""Constrained beam search against every target that contains what is required."""

import random

import numpy as np
import pytest
import torch

from regard.decoding.beam import BeamSearch
from regard.decoding.phrases import Phrase, PhraseTracker, Requirement, Requirements
from regard.records import BOS, EOS, UNK

VOCAB, EXTRA, HUGE = 6, 3, 3**7
A, B, C = 3, 4, 5  # all words there are
NEW = {A, EOS}  # what does not go on with the word before it


def requirements(given, new=NEW):
    return Requirements(dict(enumerate(given)), np.array([word in new for word in range(VOCAB)]))


def term(*phrases, whole=False):
    return tuple(Phrase(tuple(ids), whole) for ids in phrases)


def times(ids, wanted):
    """How often one of some phrases ends, by looking at every place."""
    told = [BOS, *ids, EOS]
    return sum(
        any(
            tuple(told[end - len(phrase.ids) : end]) == phrase.ids and (not phrase.whole or told[end] in NEW)
            for phrase in wanted
        )
        for end in range(1, len(told))
    )


def holds(ids, requirement):
    counts = {wanted: requirement.terms.count(wanted) for wanted in requirement.terms}
    begins = list(ids[: len(requirement.prefix)]) == list(requirement.prefix)
    return begins and all(times(ids, wanted) >= count for wanted, count in counts.items())


def best_of(writers, tree, source, requirement, extra=EXTRA):
    limit = requirement.size + extra if requirement.size else extra
    ended = [one for one in writers.every(tree, source, limit, VOCAB) if one.has_end and holds(one.ids, requirement)]
    ended = [one._replace(score=one.score / len(one.log_probs)) for one in ended]
    return sorted(ended, key=lambda one: -one.score)


def search(size, given, **settings):
    beam = BeamSearch(size=size, **{"max_ratio": 0.0, "max_extra": EXTRA, **settings})
    return beam.requiring(requirements(given))


REQUIRED = {
    "nothing": Requirement(),
    "a word": Requirement([term([B])]),
    "a phrase": Requirement([term([B, B, C])]),
    "a phrase that ends as it begins": Requirement([term([B, A, B])]),
    "one of several": Requirement([term([B, C], [C, C, A], [A, A])]),
    "one inside another": Requirement([term([B]), term([C, B, A])]),
    "two that overlap": Requirement([term([A, B]), term([B, C])]),
    "one twice": Requirement([term([C]), term([C])]),
    "a whole word": Requirement([term([B], whole=True)]),
    "a whole word, or a part": Requirement([(Phrase((A, B), True), Phrase((C, B)))]),
    "at the beginning": Requirement([term([BOS, C])]),
    "a prefix": Requirement([], [B, A]),
    "a prefix and a term": Requirement([term([A, C])], [B, A]),
}


@pytest.mark.parametrize("required", REQUIRED.values(), ids=REQUIRED)
def test_a_huge_beam_finds_the_best_of_all_targets_that_hold_it(writers, required):
    tree, source = writers.drawn(VOCAB, 3), [A, EOS]
    [found] = search(HUGE, [required], n_best=5).run(tree, writers.batch_of([source]))
    wanted = best_of(writers, tree, source, required)[:5]
    assert [(one.ids, one.has_end) for one in found] == [(one.ids, True) for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-12)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_small_beams_hold_it_too_whatever_their_batch_mates(writers, size):
    draw = random.Random(4)
    given = [
        Requirement(
            [term([draw.randrange(UNK, VOCAB) for _ in range(draw.randrange(1, 4))]) for _ in range(draw.randrange(4))]
        )
        for _ in range(12)
    ]
    tree, sources = writers.drawn(VOCAB, 5, 1.0), writers.sources_of(12, VOCAB, 6)
    together = search(size, given, max_extra=12).run(tree, writers.batch_of(sources))
    assert all(holds(found[0].ids, one) and found[0].has_end for found, one in zip(together, given, strict=True))
    for one, source, found in zip(given, sources, together, strict=True):
        assert search(size, [one], max_extra=12).run(tree, writers.batch_of([source])) == [found]


def test_without_requirements_it_is_beam_search_that_stops_when_full(writers):
    tree, batch = writers.drawn(VOCAB, 6, 1.0), writers.batch_of(writers.sources_of(15, VOCAB, 8))
    for size, n_best in ((1, 1), (3, 2), (5, 5)):
        beam = BeamSearch(size=size, n_best=n_best, stop="full")
        found = beam.requiring(requirements([])).run(tree, batch)
        for mine, other in zip(found, beam.run(tree, batch), strict=True):
            assert [(one.ids, one.has_end) for one in mine] == [(one.ids, one.has_end) for one in other]
            assert [one.score for one in mine] == pytest.approx([one.score for one in other], abs=1e-12)


def test_an_early_stop_finds_what_a_full_search_has_found_by_then(writers):
    tree, batch = writers.drawn(VOCAB, 5, 1.0), writers.batch_of(writers.sources_of(12, VOCAB, 6))
    given = [Requirement([term([B, C])])] * 10 + [Requirement()] * 2
    beam, both = BeamSearch(size=5, n_best=2, max_ratio=0.0, max_extra=12), []
    for early in (False, True):
        search = beam.requiring(requirements(given), n_best=20, early=early)
        found = search.run(tree, batch)
        both.append([{tuple(one.ids): one.score for one in some if one.has_end} for some in found])
    full, soon = both
    for some, all_of_them in zip(soon, full, strict=True):
        longest = max(map(len, some))
        assert some == {ids: score for ids, score in all_of_them.items() if len(ids) <= longest}
        assert len(some) >= beam.n_best
    assert any(len(one) < len(other) for one, other in zip(soon, full, strict=True))
    assert soon[10:] == full[10:]  # without terms


def test_what_does_not_fit_is_answered_by_what_has_most_of_it(writers):
    tree = writers.drawn(VOCAB, 7)
    tree.most = 4
    [[found]] = search(3, [Requirement([term([B, C, A]), term([C, C, C])])]).run(tree, writers.batch_of([[EOS]]))
    assert not found.has_end
    assert len(found.ids) == 4
    assert times(found.ids, term([B, C, A])) + times(found.ids, term([C, C, C])) == 1


def test_a_line_that_nobody_wants_is_given_up(writers):
    tree, batch = writers.drawn(VOCAB, 8), writers.batch_of(writers.sources_of(3, VOCAB, 6))
    beam = BeamSearch(size=3).until(lambda: {1})
    found = beam.requiring(requirements([Requirement([term([B, C])])] * 3)).run(tree, batch)
    assert [some[0].has_end for some in found] == [True, False, True]
    assert len(found[1][0].ids) == 1


def test_the_automaton_counts_as_a_look_at_every_place_does():
    draw = random.Random(1)
    for _ in range(200):
        terms = [
            tuple(
                Phrase(tuple(draw.randrange(UNK, VOCAB) for _ in range(draw.randrange(1, 4))), draw.random() < 0.5)
                for _ in range(draw.randrange(1, 3))
            )
            for _ in range(draw.randrange(1, 4))
        ]
        terms += terms[:1]
        ids = [draw.randrange(UNK, VOCAB) for _ in range(8)]
        tracker = PhraseTracker([Requirement(terms)], requirements([]).parts_words)
        progress = tracker.start()
        for word in [*ids, EOS]:
            progress = tracker.read(progress, np.array([word]))
        wanted = [min(times(ids, each), terms.count(each)) for each in dict.fromkeys(terms)]
        assert progress.met[0].tolist() == wanted
        assert bool(tracker.complete(progress)[0]) == holds(ids, Requirement(terms))


def test_it_asks_half_precision_writers(writers):
    model = writers.translator("transformer", "transformer", vocab=VOCAB).bfloat16()
    with torch.inference_mode():
        [[found]] = search(2, [Requirement([term([B, C])])], max_extra=12).run(model, writers.batch_of([[A, EOS]]))
    assert found.has_end
    assert times(found.ids, term([B, C])) == 1


def test_cells_bound_the_arrays_of_an_automaton():
    draws = random.Random(2)
    for _ in range(20):
        phrases = [Phrase(tuple(draws.choices(range(5, 12), k=draws.randint(1, 4)))) for _ in range(8)]
        required = Requirement([tuple(phrases[:3]), tuple(phrases[3:]), tuple(phrases[:3])])
        tracker = PhraseTracker([required], np.ones(20, np.bool_))
        assert max(tracker.next.size - len(tracker.next), tracker.left.size) <= required.cells
