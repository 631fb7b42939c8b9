"""N-gram models by hand, against a slow loop of the paper's equations, and through ARPA files."""

import gzip
import math
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from regard.errors import DataError
from regard.statistical.arpa import read_arpa, write_arpa
from regard.statistical.kneser_ney import FALLBACK, discounts, kneser_ney

SMALL = [["a", "b"], ["a", "c"]]
WORDS = "abcdefghijklmnopqrstuvwxyz"


def drawn_sentence(number):
    """Words of which few are frequent; each depends on the one before."""
    draws, sentence = random.Random(number), ["a"]
    while len(sentence) <= number % 7:
        start = 3 * (sentence[-1] in "ace")
        sentence.append(WORDS[start + min(int(draws.expovariate(0.25)), 20)])
    return sentence[1:] or ["b"]


DRAWN = [drawn_sentence(number) for number in range(60)]


def slow_probability(word, context, order, sentences):
    """p(word | context) as equations 21 to 26 of the paper have it, by counting everything anew."""
    padded = [["<s>", *sentence, "</s>"] for sentence in sentences]

    def counts(length):
        own = Counter(tuple(one[at : at + length]) for one in padded for at in range(len(one) - length + 1))
        if length == order:
            return own
        longer = {tuple(one[at : at + length + 1]) for one in padded for at in range(len(one) - length)}
        kinds = Counter(ngram[1:] for ngram in longer)
        return Counter({ngram: own[ngram] if ngram[0] == "<s>" else kinds[ngram] for ngram in own})

    def probability(ngram):
        if not ngram:
            return 1 / (len({word for one in padded for word in one}) - 1 + 1)  # without <s>, with <unk>
        level = counts(len(ngram))
        if len(ngram) == 1:
            del level[("<s>",)]
        number = Counter(level.values())
        n1, n2, n3, n4 = (number[one] for one in (1, 2, 3, 4))
        share = n1 / (n1 + 2 * n2)
        taken = (0.0, 1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
        beside = [count for other, count in level.items() if other[:-1] == ngram[:-1]]
        lower = probability(ngram[1:])
        if not beside:
            return lower
        rest = sum(taken[min(count, 3)] for count in beside) / sum(beside)
        own = level[ngram]
        return (own - taken[min(own, 3)]) / sum(beside) + rest * lower

    return probability((*context[-(order - 1) :], word) if order > 1 else (word,))


def states(model):
    """Every context that a model knows, as words."""
    found, waiting = {(): 0}, [((), 0)]
    while waiting:
        context, state = waiting.pop()
        for arc in range(model.firsts[state], model.firsts[state + 1]):
            after = int(model.nexts[arc])
            if model.lengths[after] == len(context) + 1:
                longer = (*context, model.words[model.arcs[arc]])
                found[longer] = after
                waiting.append((longer, after))
    return found


def test_bigrams_by_hand():
    """Continuation counts are 1 of a, b and c and 2 of </s>; too few to estimate discounts of."""
    model = kneser_ney(SMALL, 2)
    a, b, end, unknown = 0.5 / 5 + 0.5 / 5, 0.5 / 5 + 0.5 / 5, 1 / 5 + 0.5 / 5, 0.5 / 5
    by_hand = [(1 / 2 + a / 2), (0.5 / 2 + b / 2), 0.5 + end / 2]
    assert model.log_probs_of(["a", "b"]) == pytest.approx([math.log(one) for one in by_hand])
    by_hand = [unknown / 2, unknown, a]  # <s> leads to a by half; the unknown word leads nowhere
    found = model.log_probs_of(["x", "x", "a"])[:3]
    assert found == pytest.approx([math.log(one) for one in by_hand])
    assert model.log_probs_of(["a", "b"]) == pytest.approx([math.log(one) for one in (0.6, 0.35, 0.65)])


def test_discounts_by_hand():
    counts = np.array([1] * 8 + [2] * 4 + [3] * 2 + [4])
    assert discounts(counts) == pytest.approx((1 - 2 * 0.5 * 4 / 8, 2 - 3 * 0.5 * 2 / 4, 3 - 4 * 0.5 * 1 / 2))
    assert discounts(np.array([1, 1, 2])) == FALLBACK


@pytest.mark.parametrize("order", [1, 2, 3])
def test_equal_to_counting_all_anew(order):
    model = kneser_ney(DRAWN, order)
    for sentence in (*DRAWN[::20], ["y", "a", "y"]):
        padded = ["<s>", *sentence, "</s>"]
        slow = [slow_probability(padded[at], padded[:at], order, DRAWN) for at in range(1, len(padded))]
        assert np.exp(model.log_probs_of(sentence)) == pytest.approx(slow)


@pytest.mark.parametrize("sentences", [SMALL, DRAWN], ids=["small", "drawn"])
def test_words_sum_to_one_in_every_context(sentences):
    model = kneser_ney(sentences, 4)
    words = [place for place, word in enumerate(model.words) if word != "<s>"]
    for state in states(model).values():
        assert math.fsum(math.exp(model.step(state, word)[0]) for word in words) == pytest.approx(1)


def test_a_state_is_the_longest_context_that_matters():
    model, line = kneser_ney(DRAWN, 3), DRAWN[5]
    known, state = states(model), model.start
    for at, word in enumerate(line):
        _, state = model.step(state, model.id(word))
        past = ("<s>", *line[: at + 1])
        longest = next(past[start:] for start in range(max(0, len(past) - 2), len(past) + 1) if past[start:] in known)
        assert state == known[longest]


def test_many_steps_at_once_are_single_ones():
    model, draws = kneser_ney(DRAWN, 3), np.random.default_rng(1)
    given = draws.integers(0, len(model.backoffs), (50, 4)), draws.integers(0, len(model.words), (50, 4))
    values, after = model.steps(*given)
    for place in np.ndindex(50, 4):
        assert (values[place], after[place]) == pytest.approx(model.step(*(int(one[place]) for one in given)))


def test_training_text_is_likelier_with_more_words_seen():
    four, two = (sum(sum(kneser_ney(DRAWN, order).log_probs_of(one)) for one in DRAWN) for order in (4, 2))
    assert four > two


def test_sentences_shorter_than_the_order():
    model = kneser_ney([["a"], []], 5)
    assert model.order == 3
    assert math.isfinite(sum(model.log_probs_of(["a", "a"])))


def test_without_sentences_there_is_no_model():
    with pytest.raises(DataError, match="nothing to count"):
        kneser_ney([], 3)


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_written_model_is_read_again(tmp_path, end):
    model, path = kneser_ney(DRAWN, 3), tmp_path / f"model.arpa{end}"
    write_arpa(model, path)
    again = read_arpa(path)
    for sentence in (*DRAWN, ["unknown", "a"]):
        assert again.log_probs_of(sentence) == pytest.approx(model.log_probs_of(sentence), abs=1e-5)
    assert again.order == 3
    if not end:
        lines = path.read_text("utf-8").splitlines()
        assert lines[:2] == ["\\data\\", f"ngram 1={len(model.words)}"] and lines[-1] == "\\end\\"


KENLM = """\\data\\
ngram 1=4
ngram 2=3

\\1-grams:
-0.7\t<unk>\t0
0\t<s>\t-0.3
-0.4\t</s>\t0
-0.5\ta\t-0.2

\\2-grams:
-0.1\t<s> a
-0.6\ta </s>
-0.9\ta a

\\end\\
"""


def test_a_file_of_kenlm_by_hand(tmp_path):
    path = tmp_path / "model.arpa"
    path.write_text(KENLM, "utf-8")
    model = read_arpa(path)
    tens = [one / math.log(10) for one in model.log_probs_of(["a", "a", "x"])]
    assert tens == pytest.approx([-0.1, -0.9, -0.2 - 0.7, -0.4])
    with gzip.open(tmp_path / "model.arpa.gz", "wt", encoding="utf-8") as file:
        file.write("a comment\n\n" + KENLM.replace("\t", " "))
    assert read_arpa(tmp_path / "model.arpa.gz").log_probs_of(["a"]) == model.log_probs_of(["a"])


def test_an_ngram_whose_suffix_is_missing_backs_off_to_a_shorter_one(tmp_path):
    path = tmp_path / "model.arpa"
    text = KENLM.replace("ngram 2=3", "ngram 2=2\nngram 3=1").replace("-0.9\ta a\n", "")
    path.write_text(text.replace("\\end\\", "\\3-grams:\n-0.2\t<s> a a\n\n\\end\\"), "utf-8")
    model = read_arpa(path)
    tens = [one / math.log(10) for one in model.log_probs_of(["a", "a", "a"])]
    assert tens == pytest.approx([-0.1, -0.2, -0.2 - 0.5, -0.6])


def test_a_file_cut_off_after_any_line_is_named(tmp_path):
    path, lines = tmp_path / "model.arpa", KENLM.splitlines(keepends=True)
    for kept in range(1, len(lines)):
        path.write_text("".join(lines[:kept]), "utf-8")
        with pytest.raises(DataError, match=r"model\.arpa:\d+: .*cut off"):
            read_arpa(path)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("ngram 2=3", "ngram 2=4", "has 3 2-grams, and its counts say 4"),
        ("ngram 2=3", "ngram 3=3", "'ngram 3=3' is not a count"),
        ("-0.5\ta", "0.5\ta", "0.5 is not a log-probability"),
        ("-0.5\ta", "nan\ta", "nan is not a log-probability"),
        ("-0.9\ta a", "-0.9\ta x", "stands before what it is made of"),
        ("-0.9\ta a", "-0.9\ta </s>", "'a </s>' stands there twice"),
        ("-0.9\ta a", "-0.9\ta", "is not a 2-gram"),
        ("-0.9\ta a", "x\ta a", "no number"),
    ],
)
def test_a_broken_line_is_named(tmp_path, before, after, problem):
    path = tmp_path / "model.arpa"
    path.write_text(KENLM.replace(before, after), "utf-8")
    with pytest.raises(DataError, match=problem):
        read_arpa(path)


def test_a_word_with_a_space_is_not_written(tmp_path):
    with pytest.raises(DataError, match="cannot stand in an ARPA file"):
        write_arpa(kneser_ney([["New York"]], 2), tmp_path / "model.arpa")


def test_states_of_an_order_follow_the_shorter_ones():
    model = kneser_ney(DRAWN, 3)
    assert all(one <= other for one, other in pairwise(model.lengths.tolist()))
