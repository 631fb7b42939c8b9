"""Links read off a translator, by hand: words of several pieces, heads, words that rest on the end symbol."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from regard.data.columns import TextColumn
from regard.errors import DataError
from regard.evaluation.alignments import GoldAlignment
from regard.explain.alignment import AlignmentHead, heads_of
from regard.recipes import translator_alignment
from regard.recipes.translator_alignment import SpannedText, Way, chosen_way, rated_ways, translator_links, word_weights
from regard.registry import Choice
from regard.results import AttentionMap, Explanation, Prediction, WordRelevance
from regard.runs.measurements import Measurements
from regard.text import train_tokenizer

# das | Haus | end, of a target with the pieces a, b | c | end: by one head as it is written, by the other a step later
WRITTEN = [[0.9, 0.0, 0.1], [0.1, 0.7, 0.2], [0.1, 0.3, 0.6], [0.0, 0.0, 1.0]]
LATER = [[0.0, 0.1, 0.9], [0.8, 0.1, 0.1], [0.8, 0.2, 0.0], [0.3, 0.6, 0.1]]
PAIR = (SpannedText.of_words(["das", "Haus"]), SpannedText.of_words(["ab", "c"]))
SIDES = "target", "source"  # that look, and that are looked at
TEXTS = ["das Haus", "ab c"]


class Characters:
    """A column whose pieces are letters."""

    def offsets(self, text: str):
        return [(place, place + 1) for place, letter in enumerate(text) if letter != " "]


class Known:
    """A translator whose weights are known."""

    def __init__(self, folder=Path("run")):
        self.run = SimpleNamespace(path=folder, measurements=Measurements(folder, lambda: "abc"))
        columns = {"source": TextColumn(train_tokenizer(Choice("words"), TEXTS)), "target": Characters()}
        self.task = SimpleNamespace(vocabularies=columns, alignment_head=None)

    def score(self, sources, targets):
        return [Prediction(source, target, 0.0) for source, target in zip(sources, targets, strict=True)]

    @property
    def explainer(self):
        return self

    def with_attention(self, predictions):
        cross = AttentionMap("cross", "cross", 0, [WRITTEN, LATER], *SIDES)
        maps = [AttentionMap("self", "encoder", 0, [WRITTEN]), cross]
        found = Explanation.of_text(["das", "Haus", "</s>"], ["a", "b", "c", "</s>"], [], WRITTEN, maps)
        return [Prediction(one.source, one.text, 0.0, explanation=found) for one in predictions]

    def relevance(self, predictions, by):
        return [WordRelevance(by, [], {}, {"source": (-np.array(WRITTEN)).tolist()}, []) for _ in predictions]


def test_a_text_is_cut_where_its_words_stand():
    assert SpannedText.of_text("Hi, all 7.") == ("Hi, all 7.", [(0, 2), (2, 3), (4, 7), (8, 9), (9, 10)])
    assert SpannedText.of_text("").words == []
    assert PAIR[0] == ("das Haus", [(0, 3), (4, 8)])
    assert SpannedText.of_words(["a", "bc"]).pieces([None, (0, 1), (1, 3), (3, 4)]).tolist() == [
        [0, 1, 0, 0],
        [0, 0, 1, 1],
    ]


def test_a_word_has_the_mean_of_its_pieces():
    (found,) = word_weights(Known(), [PAIR], "attention")
    written, later = found[AlignmentHead(0, 0)], found[AlignmentHead(0, 1, ahead=True)]
    assert_allclose(written, [[0.5, 0.35, 0.15], [0.1, 0.3, 0.6]])
    assert_allclose(later, [[0.8, 0.15, 0.05], [0.3, 0.6, 0.1]])
    assert_allclose(found[AlignmentHead(0)], [[0.45, 0.225, 0.325], [0.45, 0.25, 0.3]])


def test_a_word_is_linked_to_what_it_rests_on_most():
    def links(way):
        return translator_links(Known(), [PAIR], way)

    assert links(Way(head=AlignmentHead(0, 0))) == [[(0, 0), (1, 1)]]
    assert links(Way(head=AlignmentHead(0, 0), null=True)) == [[(0, 0)]]
    assert links(Way("lrp")) == [[]]  # all speaks against it


def test_the_head_with_least_error_comes_first():
    links = frozenset({(0, 0), (1, 1)})
    best, *others = rated_ways(Known(), [PAIR], [GoldAlignment(links, links)], "attention")
    assert best.error_rate == 0
    assert (
        len(others) + 1
        == 2 * len(heads_of(Known().with_attention([Prediction("", "", 0.0)])[0].explanation.maps))
        == 12
    )
    assert [one.error_rate for one in others] == sorted(one.error_rate for one in others)
    gone = frozenset({(0, 0)})
    best, *_ = rated_ways(Known(), [PAIR], [GoldAlignment(gone, gone)], "attention")
    assert (best.error_rate, best.way.null) == (0, True)
    assert translator_links(Known(), [PAIR], best.way) == [[(0, 0)]]


def test_a_way_is_measured_once_and_kept(tmp_path, monkeypatch):
    links, told = frozenset({(0, 0)}), []
    monkeypatch.setattr(translator_alignment, "_dev", lambda predictor, say: ([PAIR], [GoldAlignment(links, links)]))
    predictor = Known(tmp_path)
    way = chosen_way(predictor, None, told.append)
    assert translator_links(Known(), [PAIR], way) == [[(0, 0)]]
    assert len(told) == len(translator_alignment.TRIED)
    monkeypatch.setattr(translator_alignment, "_dev", lambda predictor, say: pytest.fail("measured again"))
    assert chosen_way(predictor, None, told.append) == way
    assert chosen_way(predictor, "lrp", told.append).by == "lrp"


def test_a_trained_head_links_where_nothing_is_there_to_choose_by(tmp_path, monkeypatch):
    monkeypatch.setattr(translator_alignment, "_dev", lambda predictor, say: None)
    predictor = Known(tmp_path)
    with pytest.raises(DataError, match="no dev set to select an alignment on"):
        chosen_way(predictor, None, print)
    predictor.task.alignment_head = AlignmentHead(0, 1, ahead=True)
    assert chosen_way(predictor, None, print) == Way(head=AlignmentHead(0, 1, ahead=True))
    with pytest.raises(DataError, match="no dev set"):
        chosen_way(predictor, "lrp", print)
