"""Alignment models against the sum over all alignments, and EM whose likelihood rises."""

import math
from collections import defaultdict
from itertools import pairwise, product

import numpy as np
import pytest

from regard.statistical.aligner import Direction, fit, fit_both
from regard.statistical.bitext import NULL, Bitext
from regard.statistical.diagonal import Diagonal
from regard.statistical.hmm import Hmm
from regard.statistical.ibm1 import Ibm1
from regard.statistical.ibm2 import Ibm2
from regard.statistical.lexical_table import Lexicon
from regard.statistical.symmetrisation import intersection

TEXT = [
    ("das Haus", "the house"),
    ("das alte Buch ist ein Buch", "the old book is a book"),
    ("ein Haus", "a house"),
    ("ein altes Haus", "an old house"),
    ("", "hm"),
    ("ja", ""),
    ("Buch das", "the book"),
    ("es ist das Buch", "it is the book"),
]
MODELS = {
    "ibm1": Ibm1(),
    "ibm2": Ibm2(),
    "diagonal": Diagonal(null_probability=0.2),
    "hmm": Hmm(null_probability=0.2, max_jump=2),
}
SHAPE = (3, 4)


def bitext(lines=TEXT) -> Bitext:
    return Bitext.of((source.split(), target.split()) for source, target in lines)


def diagonal_step(tension, j, i, last) -> float:
    near = [math.exp(-tension * abs(k / SHAPE[0] - j / SHAPE[1])) for k in range(1, SHAPE[0] + 1)]
    return 0.8 * near[i - 1] / sum(near) if i else 0.2


def hmm_step(jumps, j, i, last) -> float:
    weights = [jumps[max(-2, min(2, k - last)) + 2] for k in range(1, SHAPE[0] + 1)]
    return 0.8 * weights[i - 1] / sum(weights) if i else 0.2


STEPS = {  # p(link of target word j from 1 on = i), 0 standing for NULL, as the papers have it; `last` is not NULL
    "ibm1": lambda positions, j, i, last: 1 / (SHAPE[0] + 1),
    "ibm2": lambda positions, j, i, last: positions[SHAPE][j - 1, i],
    "diagonal": diagonal_step,
    "hmm": hmm_step,
}


def path_probability(name, positions, alignment) -> float:
    total, last = 1.0, 0
    for j, i in enumerate(alignment, start=1):
        total *= STEPS[name](positions, j, i, last)
        last = i or last
    return total


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return MODELS[name]


def drawn_positions(model):
    """What a model has learnt of posteriors that are drawn."""
    words = np.random.default_rng(1).uniform(0.1, 1, (2, SHAPE[1], SHAPE[0] + 1))
    start = model.start([SHAPE])
    return model.maximise(start, {SHAPE: model.expect(start, words).counts})


def test_expectations_are_those_of_all_alignments(name, model):
    positions = drawn_positions(model)
    words = np.random.default_rng(2).uniform(0.1, 1, (2, SHAPE[1], SHAPE[0] + 1))
    found = model.expect(positions, words)
    likelihood = 0.0
    for sentence, table in enumerate(words):
        posteriors = np.zeros_like(table)
        for alignment in product(range(SHAPE[0] + 1), repeat=SHAPE[1]):
            joint = path_probability(name, positions, alignment)
            joint *= math.prod(table[j, i] for j, i in enumerate(alignment))
            for j, i in enumerate(alignment):
                posteriors[j, i] += joint
        likelihood += math.log(posteriors[0].sum())
        np.testing.assert_allclose(found.posteriors[sentence], posteriors / posteriors[0].sum(), rtol=1e-9)
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)


def test_jumps_are_counted_as_in_all_alignments():
    model = MODELS["hmm"]
    positions = drawn_positions(model)
    table = np.random.default_rng(2).uniform(0.1, 1, (SHAPE[1], SHAPE[0] + 1))
    jumps, total = np.zeros((SHAPE[0] + 1, SHAPE[0])), 0.0
    for alignment in product(range(SHAPE[0] + 1), repeat=SHAPE[1]):
        joint = path_probability("hmm", positions, alignment)
        joint *= math.prod(table[j, i] for j, i in enumerate(alignment))
        total, last = total + joint, 0
        for i in alignment:
            if i:
                jumps[last, i - 1] += joint
                last = i
    np.testing.assert_allclose(model.expect(positions, table[None]).counts, jumps / total, rtol=1e-9)


def test_likelihood_rises(model):
    found: list[float] = []
    fit(bitext(), model, warm_up=0, iterations=12, report=found.append)
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(found))
    assert found[-1] > found[0] + 1


def nudged(positions, noise):
    return positions * noise.uniform(0.9, 1.1, np.shape(positions))


def nudged_table(positions, noise):
    table = nudged(positions[SHAPE], noise)
    return {SHAPE: table / table.sum(axis=1, keepdims=True)}


@pytest.mark.parametrize(
    ("name", "change", "shares"),
    [
        ("ibm2", nudged_table, lambda model, positions: model.prior(positions, SHAPE)),
        ("diagonal", nudged, lambda model, positions: model.prior(positions, SHAPE)),
        ("hmm", nudged, lambda model, positions: model.transitions(positions, SHAPE[0])[0]),
    ],
)
def test_no_positions_near_those_of_the_m_step_are_likelier(name, change, shares):
    model = MODELS[name]
    words = np.random.default_rng(3).uniform(0.1, 1, (3, SHAPE[1], SHAPE[0] + 1)) ** 4
    positions = model.start([SHAPE])
    counts = model.expect(positions, words).counts
    for _ in range(30):  # a generalised M step comes nearer each time
        positions = model.maximise(positions, {SHAPE: counts})
    best = (counts * np.log(shares(model, positions))).sum()
    for seed in range(5):
        other = change(positions, np.random.default_rng(seed))
        assert best > (counts * np.log(shares(model, other))).sum()


def test_ibm1_equals_the_loops_of_its_paper():
    pairs = [([NULL, *source.split()], target.split()) for source, target in TEXT]
    beside = defaultdict(set)
    for source, target in pairs:
        for word in source:
            beside[word] |= set(target)
    table = {(word, other): 1 / len(beside[word]) for word in beside for other in beside[word]}
    for _ in range(3):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            for other in target:
                whole = sum(table[word, other] for word in source)
                for word in source:
                    counts[word, other] += table[word, other] / whole
                    totals[word] += table[word, other] / whole
        table = {pair: counts[pair] / totals[pair[0]] for pair in table}
    found = {(source, target): p for source, target, p in fit(bitext(), Ibm1(), warm_up=1, iterations=2).lexicon}
    assert found == pytest.approx(table)


def companions(pairs) -> dict[tuple[str, str], float]:
    """p(word | other) = 1 / the number of words that stand beside the other, of pairs (others, words)."""
    beside = defaultdict(set)
    for others, words in pairs:
        for other in (NULL, *others):
            beside[other] |= set(words)
    return {(word, other): 1 / len(words) for other, words in beside.items() for word in words}


def posteriors(table, others, words) -> list[list[float]]:
    shares = [[table[word, other] for other in (NULL, *others)] for word in words]
    return [[share / sum(row) for share in row] for row in shares]


def counted(pairs, mine, theirs) -> dict[tuple[str, str], float]:
    """p(word | other) when a link counts by the product of both posteriors."""
    counts, totals = defaultdict(float), defaultdict(float)
    for others, words in pairs:
        here, there = posteriors(mine, others, words), posteriors(theirs, words, others)
        for (j, word), (i, other) in product(enumerate(words), enumerate((NULL, *others))):
            count = here[j][i] * (there[i - 1][j + 1] if i else 1)
            counts[word, other] += count
            totals[other] += count
    return {pair: count / totals[pair[1]] for pair, count in counts.items()}


def test_directions_that_agree_equal_loops():
    """IBM model 1 twice."""
    text = [one for one in TEXT if all(one)]
    pairs = [(source.split(), target.split()) for source, target in text]
    turned = [pair[::-1] for pair in pairs]
    forward, reverse = companions(pairs), companions(turned)
    for _ in range(3):
        forward, reverse = counted(pairs, forward, reverse), counted(turned, reverse, forward)
    models = fit_both(bitext(text), Ibm1(), warm_up=0, iterations=3)
    for one, table in zip(models, (forward, reverse), strict=True):
        assert {(word, other): p for other, word, p in one.lexicon} == pytest.approx(table)


def test_both_directions_are_symmetrised(model):
    models = fit_both(bitext(), model, agree=False)
    assert models.forward.lexicon.best("Haus")[0][0] == "house"
    assert models.reverse.lexicon.best("house")[0][0] == "Haus"
    links = models.links(bitext([("ein Haus", "a house"), ("", "a"), ("das", "")]), intersection)
    assert links == [[(0, 0), (1, 1)], [], []]


def test_links_are_those_of_known_words(model):
    fitted = fit(bitext(TEXT * 2), model, iterations=5)
    links = fitted.links(bitext([("ein Haus", "a house"), ("", "hm"), ("das", ""), ("das neue Haus", "the house")]))
    assert links[:3] == [[(0, 0), (1, 1)], [], []]
    assert links[3][0] == (0, 0)


def test_a_text_without_words_is_no_fault(model):
    fitted = fit(bitext([("", ""), ("a", "")]), model)
    assert fitted.links(bitext([("a", "b"), ("", "")])) in ([[], []], [[(0, 0)], []])


def test_an_unknown_word_goes_where_its_position_says():
    lexicon = Lexicon.uniform(bitext(), bitext().blocks())
    links = Direction(Diagonal(null_probability=0.01), 8.0, lexicon).links(bitext([("u v w", "x y z")]))
    assert links == [[(0, 0), (1, 1), (2, 2)]]


def test_variational_bayes_by_hand():
    text = bitext([("a", "x y")])
    lexicon = Lexicon.uniform(text, text.blocks())
    counts = np.array([0.0, 1.0, 0.0, 1.0])  # of NULL x, NULL y, a x, a y
    values = lexicon.with_counts(counts, alpha=1.0).values
    np.testing.assert_allclose(values[2:], [math.exp(-1.5), math.exp(-0.5)])  # digamma(1), (2), (3) = 0, 1, 1.5 - γ
