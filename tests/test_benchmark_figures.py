"""What programs of benchmarks/ count and tell, by hand: a row a figure, and a test where one row does not do."""

import gzip
import math
import random
from functools import partial

import numpy as np
import pytest
import torch
from engines import tiny_run_in
from torch import tensor
from torch.testing import assert_close
from weighted import translator

from benchmarks import benchmark
from regard import load
from regard.config import Choice
from regard.results import Explanation, Prediction, TextPrediction, TranslationFault, WordRelevance
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.symmetrisation import SYMMETRISATIONS
from regard.statistical.translations import Translations
from regard.text import train_tokenizer

NAMES = (
    "alignment", "captum_peer", "coherence", "conservation", "diagnosis_cases", "joeynmt_peer", "made_up",
    "planted_faults", "quality", "saturation", "shift", "under_translation", "unigram", "no_pairs",
)  # fmt: skip
alignment, captum_peer, coherence, conservation, cases, joeynmt, made_up, planted, quality = map(benchmark, NAMES[:9])
saturation, shift, under_translation, unigram, no_pairs = map(benchmark, NAMES[9:])
Mark = quality.Mark

GRID = "1 0; 0 1; 1 1; 0 0"  # the second and the third cell are marked
CAPTION = ["▁red", "▁circle", "▁and", "▁blue", "▁star", "</s>"]
DOCUMENTS = [("one", "a"), ("one", "b"), ("one", "c"), ("two", "d"), ("three", "a"), ("three", "a")]
SOURCE, TARGET = "Two dogs of Boston run", "Zwei Hunde aus Boston laufen"
PAIRS = [
    ("Two dogs sleep.", "Zwei Hunde schlafen."),
    ("Two cats sleep.", "Zwei Katzen schlafen."),
    ("Two dogs run.", "Zwei Hunde laufen."),
    ("Cats run.", "Katzen laufen."),
]
READ = cases.Read(
    ["der", "Zwickel", "."],
    ["<s>", "the", "UNK", "the", "."],
    ["the", "UNK", "the", "."],
    [[0.6, 0.1, 0.0], [0.1, 0.5, 0.0], [0.2, 0.0, 0.0], [0.0, 0.1, 0.7]],
    [[0.3, 0.0, 0.0, 0.0, 0.0], [0.0, 0.4, 0.0, 0.0, 0.0], [0.0, 0.5, -0.3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.0]],
)
ENTROPIES = Translations({"a": {"x": 4}, "b": {"x": 3, "y": 1}, "c": {"x": 1, "y": 1}})
RATES = {"c": (0, 2), "a": (1, 4), "b": (2, 4), "unknown": (1, 1)}


def judge(texts):
    """The share of words that stand where the alphabet has them."""
    pairs = [zip(text.split(), sorted(text.split()), strict=True) for text in texts]
    return [float(np.mean([one == other for one, other in some])) for some in pairs]


def counts(text, finished):
    return made_up.counts(Prediction("a a a b", text, 0.0, finished=finished), 3)


def looked_right(*cells):
    alignment = [(cell, word) for word, cell in enumerate(cells)]
    return made_up.looked_right(Explanation.of_text([], CAPTION, alignment, []), GRID)


BY_HAND = [  # figure, and what is called
    (["ein", "haus", ",", "dort", "."], partial(alignment.words, "Ein Haus, dort.")),
    ([["a", "b"], ["c"], ["d"], ["a", "a"]], partial(coherence.windows_of, DOCUMENTS, 2)),  # end with their documents
    ([["b", "a"]] * 3, partial(coherence.orders_of, ["a", "b"], np.random.default_rng(3), 3)),
    ([], partial(coherence.orders_of, ["a", "a"], np.random.default_rng(3))),
    ([1.0, 0.0], partial(coherence.ranking, [["a", "b", "c"], ["d"], ["b", "a"]], judge, 4)),  # one has no other order
    ([0.5], partial(coherence.ranking, [["a", "b"]], lambda texts: [0.5] * len(texts), 4)),  # a tie is half
    ([2.5, 1.0], partial(coherence.rewards, [["a", "b"], ["c"]], [["a", "a"], ["x"]],
                         lambda texts: [float(len({*one})) for one in texts])),
    ([(2.0, True), (4.0, False), (5.0, True)], partial(quality.schedule, [5.0, 2.0], 2.0)),
    ([(0.1, False), (0.2, False), (0.3, True)], partial(quality.schedule, [0.3], 0.1)),
    (pytest.approx(9.0), partial(quality.reaching, [Mark(5, 20.0), Mark(10, 40.0)])),  # 16 of 20 points further
    (5, partial(quality.reaching, [Mark(5, 36.0)])),
    (None, partial(quality.reaching, [Mark(5, 20.0), Mark(10, 35.9)])),
    (True, partial(counts, "b b", True)),
    (False, partial(counts, "b b", False)),
    (False, partial(counts, "b b b", True)),
    (False, partial(counts, "b a", True)),
    ([True] * 4, partial(looked_right, 1, 1, 0, 2, 2)),
    ([True, False, True, False], partial(looked_right, 1, 0, 1, 2, 1)),
    ("The UNK man, a UNK.", partial(cases.marked, "The old man, a walrus.", {"The", "man", "a"})),
    ([5], partial(cases.said_again, "a man in a red red hat is UNK UNK")),
    ([], partial(cases.said_again, "a dog and a cat and a bird")),
    (([1], [2]), partial(cases.places_of, READ)),
    ("| lrp | 1 | 100 % | 50 % |", partial(cases.unknown_line, "lrp", [READ], {"der"})),
    (["no word is said again: the model is too good"], lambda: [*cases.repeated_lines([READ], [])]),
    (None, partial(planted.name, SOURCE, TARGET, ["Boston"], random.Random(1))),
    (None, partial(planted.number, "dogs", "Hunde", [], random.Random(1))),
    (None, partial(planted.repeated_later, "", "Alpha beta gamma delta epsilon", 3, 3, random.Random(1))),
    ([2.5, 0, 2.5, 1], lambda: under_translation.ranks([3, 1, 3, 2]).tolist()),  # equal values share their rank
    (pytest.approx(1 - 12 / 210), lambda: under_translation.spearman([1, 2, 3, 4, 5, 6], [10, 30, 20, 40, 50, 60])[0]),
    (pytest.approx(-1), lambda: under_translation.spearman([1, 2, 3, 4], [4, 3, 2, 1])[0]),
    ({"a": 0, "b": 2, "c": 4}, partial(under_translation.fifths_of, RATES, ENTROPIES)),  # of ten occurrences
    (pytest.approx(200 / 3), partial(under_translation.DropRate().value, np.array([2.0, 3.0]))),
    # four pieces: seen 5, 2, 0 and 1 times, and once more each: 6, 3, 1 and 2 of 12
    (pytest.approx(math.log(2 * 2 * 12) / 3), partial(unigram.loss, unigram.Counter({0: 5, 1: 2, 3: 1}),
                                                      unigram.Counter({0: 2, 2: 1}), 4)),
]  # fmt: skip


@pytest.mark.parametrize(("figure", "call"), BY_HAND)
def test_a_figure_by_hand(figure, call):
    assert call() == figure


def test_alignment_tables_have_every_model_and_another_program(tmp_path, monkeypatch):
    """A gold set of two sentences, all on the diagonal."""
    texts = {"ro": "una casa\nuna carte\n", "en": "A house\na book\n", "gold": "1-1 2-2\n1-1 2-2\n"}
    (tmp_path / "alignment").mkdir()
    for side, text in texts.items():
        (tmp_path / "alignment" / f"ro-en.{side}.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(alignment, "DATA", tmp_path)
    program = "sh -c 'while read line; do echo 0-1; done < {text} | tee {forward} > {reverse}'"
    monkeypatch.setattr(alignment, "WAYS", alignment.WAYS[-1:])
    title, head, *rows = alignment.tables("ro-en", program)
    assert "2 sentences with links, 2 to learn from" in title and head.startswith("| model | directions | ")
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert [row[0] for row in cells] == ["on the diagonal", "ibm1", "ibm2", "diagonal", "hmm", "sh"]
    assert cells[0][2:9] == ["0.0"] * len(SYMMETRISATIONS)
    assert cells[-1][2:9] == ["100.0"] * len(SYMMETRISATIONS)


def test_coherence_intervals_are_of_the_mean():
    low, high = coherence.interval(np.array([0.0, 1.0] * 50))
    assert low == pytest.approx(0.4, abs=0.02) and high == pytest.approx(0.6, abs=0.02)


def test_pieces_for_joeynmt_come_back_as_text():
    texts = ["Two dogs run.", "a man in a hat"]
    lines = joeynmt.pieces_of(train_tokenizer(Choice("subwords", {"size": 300}), texts * 20), texts)
    assert all(line.startswith("\u2581") for line in lines)
    assert joeynmt.joined(lines) == texts


def test_progress_of_a_contender_is_kept(tmp_path):
    assert quality.progress(tmp_path) == {"minutes": 0.0, "marks": []}
    quality.keep(tmp_path, {"minutes": 2.5, "marks": [[2.5, 3.0]]})
    assert quality.progress(tmp_path) == {"minutes": 2.5, "marks": [[2.5, 3.0]]}
    lines = quality.table({"a": [Mark(5, 20.0), Mark(10, 40.0)], "b": [Mark(5, 1.0)]}).splitlines()
    assert lines[2:] == ["| a | 20.00 | 40.00 | 9.0 |", "| b | 1.00 |  | not reached |"]


@pytest.mark.parametrize("dim", [4, 64])
def test_the_variance_of_products_is_their_width(dim):
    assert abs(saturation.variance(dim) - 1) < 0.05


def test_saturation_is_that_of_a_softmax():
    scores = torch.randn(7)
    jacobian = torch.autograd.functional.jacobian(lambda one: one.softmax(dim=-1), scores)
    assert_close(saturation.jacobian_norm(scores.softmax(dim=-1)), jacobian.norm())
    assert_close(saturation.entropy(tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])), tensor([math.log(2), 0.0]))
    (scaled, steep), (plain, flat) = saturation.saturation(256, 256**-0.5), saturation.saturation(256, 1.0)
    assert scaled > 0.8 and plain < 0.3 and steep > flat


@pytest.mark.parametrize(("dim", "count"), [(6, 1), (16, 9)])
def test_a_shift_of_sinusoids_is_a_rotation(dim, count):
    places = tensor([0.0, 5.0, 300.0]).double()
    rates = 1e4 ** (-torch.arange(0, dim, 2).double() / dim)

    def waves(one):
        return torch.stack([(one[:, None] * rates).sin(), (one[:, None] * rates).cos()], dim=-1).flatten(1)

    assert_close(waves(places) @ shift.rotation(dim, count).t(), waves(places + count))
    assert max(shift.residuals(dim, count)) < 1e-5
    assert shift.spread(dim, count) < 1e-9


@pytest.mark.parametrize("name", ["gru", "transformer"])
def test_gradients_are_slopes_and_wrong_ones_are_not(name, monkeypatch):
    question, right = translator(name), conservation.gradients
    exact, differences = conservation.slopes(question, 1)
    assert exact.abs().max() > 1e-3
    assert_close(exact, differences.detach(), rtol=1e-5, atol=1e-7)
    monkeypatch.setattr(conservation, "gradients", lambda *given: [1.01 * one for one in right(*given)])
    exact, differences = conservation.slopes(question, 1)
    assert not torch.allclose(exact, differences, rtol=1e-3)


def test_conservation_measures_every_item_of_a_run(tmp_path):
    predictor = load(tiny_run_in(tmp_path), ["device=cpu", "decoding.search=greedy"])
    rows = [{"source": "a dog runs"}, {"source": "two cats"}]
    found = conservation.measured(predictor, rows)
    answers = predictor.encoder.encode_answered(predictor.predict(rows))
    assert (found.examples, found.items) == (2, sum(len(one["target"]) + 1 for one in answers))  # the end is an item
    assert max(found.worst_missed, found.worst_slope) < 1e-6


def test_differences_of_relevance_are_a_share_of_the_largest():
    one, other = [tensor([[1.0, -4.0]])], [tensor([[1.0, -3.0]])]
    difference, seconds = captum_peer.compared(None, [lambda question: one, lambda question: other], 2)
    assert difference == pytest.approx(0.25) and len(seconds) == 2


def test_items_one_by_one_are_those_asked_at_once():
    question, method = translator("transformer"), captum_peer.ours("gradient_times_input")
    for whole, part in zip(method(question), captum_peer.one_by_one(method)(question), strict=True):
        assert_close(whole, part)


def test_words_rest_on_what_speaks_most_for_them():
    assert [READ.main_source(place) for place in range(3)] == ["der", "Zwickel", "der"]
    assert [READ.share_before(place) for place in range(3)] == pytest.approx([0.3, 0.4, 0.8])
    again, first, every, more = cases.repeated_lines([READ], [READ])
    assert (again, first) == ("| words said again | 1 | 80 % |", "| the same words, said first | 1 | 30 % |")
    assert every.endswith(f"{round(100 * (0.4 + 0.8 + 0.2) / 3)} % |") and "100 %" in more


def test_pieces_are_read_as_words():
    tokens = {"source": ["▁Zwi", "ckel", "</s>"], "target": ["<s>", "▁U", "NK"]}
    values = {"source": [[3, 1, 0], [1, 1, 0], [0, 0, 1]], "target": [[0, 0, 0], [2, 4, 0], [0, 0, 1]]}
    read = cases.read_of(WordRelevance("lrp", ["▁U", "NK", "</s>"], tokens, values, []))
    assert read[:3] == (["Zwickel"], ["<s>", "UNK"], ["UNK"])
    assert read.by_source == [[pytest.approx((4 / 4 + 2 / 8) / 2)]]
    assert read.by_before == [pytest.approx([(0 + 2 / 8) / 2, (0 + 4 / 8) / 2])]


def test_each_case_of_a_diagnosis_has_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "SHORT", range(1, 9))
    told = [*cases.draw([READ], {"der"}, tmp_path)]
    assert [line.partition(":")[0].rpartition("/")[2] for line in told] == ["case-unknown.svg", "case-repeated.svg"]
    drawn = (tmp_path / "case-unknown.svg").read_text()
    assert drawn.count("<title>") == 1 and "<title>UNK comes from “Zwickel”</title>" in drawn
    assert "“the” again: 80% from the words before" in (tmp_path / "case-repeated.svg").read_text()


def plant(kind, others=()):
    return planted.KINDS[kind](SOURCE, TARGET, list(others), random.Random(1))


KINDS = [
    ("dropped", [], -1),
    ("repeated", [], 1),
    ("number", [], 0),
    ("name", ["Berlin"], 0),
    ("invented", [TARGET], 3),
]


@pytest.mark.parametrize(("kind", "others", "change"), [*KINDS, ("untranslated", [], 1)])
def test_each_fault_changes_what_it_says(kind, others, change):
    found = plant(kind, others)
    before, after = TARGET.split(), found.target.split()
    assert (found.kind, found.source, len(after) - len(before)) == (kind, SOURCE, change)
    assert found.target != TARGET
    assert {word for side, word in found.words if side == "target"} <= {word.lower() for word in after}


def test_a_kind_by_itself_is_planted_wherever_it_can_be():
    found = planted.planted_alone("untranslated", [SOURCE, "a b"], [TARGET, "ein b"])
    assert [(one.kind, one.source) for one in found] == [("untranslated", SOURCE)]
    (word,) = [word for _, word in found[0].words]
    assert word in SOURCE.split() and word in found[0].target.split()


@pytest.mark.parametrize(("words", "distance"), [(1, 0), (1, 3), (2, 2), (3, 1)])
def test_a_repeat_stands_as_far_behind_as_it_says(words, distance):
    target = "Alpha beta gamma delta epsilon"
    found = planted.repeated_later("", target, words, distance, random.Random(1)).target.split()
    step = words + distance
    places = range(len(found) - step - words + 1)
    first = next(at for at in places if found[at : at + words] == found[at + step : at + step + words])
    del found[first + step : first + step + words]
    assert found == target.split()


class RepeatedEverywhere:
    """Tells that every word of the target was said twice."""

    def faults(self, source, target):
        return [TranslationFault("repeated", "target", word, [0, 0]) for word in target.split()]


def test_precision_and_recall_by_hand():
    found = planted.rates(RepeatedEverywhere(), [plant("repeated"), plant("dropped"), plant("number")])
    assert (found["repeated"], found["dropped"], found["name"]) == ((1, 1 / 3, 1.0), (1, 0.0, 0.0), (0, 0.0, 0.0))


@pytest.fixture(scope="module")
def aligners():
    pairs = under_translation.pairs_of(*zip(*PAIRS, strict=True))
    return fit_both(Bitext.of(pairs), ALIGNERS.build(Choice("hmm")))


def test_all_words_are_linked_and_none_dropped(aligners):
    found = under_translation.drops(aligners, under_translation.pairs_of(*zip(*PAIRS, strict=True)))
    rates = under_translation.drop_rates(found)
    assert rates == {"two": (0, 3), "dogs": (0, 2), "sleep": (0, 2), "cats": (0, 2), "run": (0, 2)}
    some = [[("a", True), ("b", False)], [("b", True)], [("a", False), ("a", True)]]
    assert under_translation.counts_of(some, {"a"}).tolist() == [[1, 1], [0, 0], [1, 2]]


def test_equal_length_takes_the_penalty_whose_answers_are_as_long(monkeypatch, tmp_path):
    """References have four words; answers have two for each one of the penalty."""

    class Written:
        def __init__(self, changes):
            self.count = round(2 * float(changes[0].split("length_penalty: ")[1].rstrip("}")))

        def predict(self, sources):
            return [TextPrediction(one, " ".join(["w"] * self.count), 0.0) for one in sources]

    monkeypatch.setattr(under_translation, "lines", lambda name: ["a b c d"])
    monkeypatch.setattr(under_translation.regard, "load", lambda run, changes: Written(changes))
    assert under_translation.loaded(tmp_path, equal_length=True).count == 4


def test_a_word_goes_with_what_it_is_linked_to(aligners):
    """Of words of four letters or more: run and two stay."""
    for seed in range(3):
        assert under_translation.without_a_word(aligners, *PAIRS[2], random.Random(seed)) == ("Zwei laufen.", [4, 8])
    assert under_translation.without_a_word(aligners, "Two run", "Zwei laufen", random.Random(1)) is None


def test_orders_of_words_without_pairs():
    words = {"der": "the", "hund": "dog", "rote": "red", "sieht": "sees", "ihn": "him", "oft": "often"}
    text = ["the red dog sees him often"] * 3
    found = no_pairs.order_figures(["der hund rote sieht ihn oft"], ["the red dog sees him often"], words, text)
    assert found["word by word"] < 50
    assert found["swapped"] == found["oracle order"] == pytest.approx(100)
