"""Answers with the steps of their search: in Python, on a terminal, as JSON and over the pipe."""

import pytest
from engines import sent
from networks import build_translator
from rich.console import Console
from tasks import engine_of, translation_of

from regard.answers import LabelPrediction, show
from regard.answers.terminal import search_lines
from regard.decoding import BeamSearch, SamplingSearch
from regard.errors import ConfigError
from regard.explain import to_json
from regard.predictor import Predictor
from regard.registry import Choice
from regard.results import SearchNode, SearchTree, TextPrediction
from regard.text import train_tokenizer

TREE = SearchTree(
    [
        SearchNode(-1, "▁the", -0.5, -0.5, "kept"),
        SearchNode(-1, "▁a", -1.0, -1.0, "kept"),
        SearchNode(-1, "▁an", -3.0, -3.0, "dropped"),
        SearchNode(0, "▁dog", -0.25, -0.75, "kept"),
        SearchNode(1, "▁dog", -2.0, -3.0, "dropped"),
        SearchNode(3, "</s>", -0.25, -0.33, "ended"),
    ],
    5,
)


@pytest.fixture
def translator():
    tokenizer = train_tokenizer(Choice("words"), ["a dog runs", "two old cats"])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    model = build_translator({"dim": 8, "encoder": blocks, "decoder": blocks}, len(tokenizer), len(tokenizer))
    task = translation_of(tokenizer)
    search = BeamSearch(size=3, max_extra=4)
    return Predictor(model, task, engine_of(model, task, Choice("beam", {"size": 3, "max_extra": 4})), search=search)


def test_the_tree_ends_with_the_answer(translator):
    (plain,) = translator.predict(["a dog runs"])
    (found,) = translator.explainer.with_search_tree([plain])
    tree, ids, node = found.search, [], found.search.answer
    while node >= 0:
        ids.insert(0, tree.nodes[node].token)
        node = tree.nodes[node].parent
    assert ids == [*translator.task.target.pieces(plain.ids), "</s>"]
    assert tree.nodes[tree.answer].score == pytest.approx(plain.score)
    assert plain.search is None and translator.predict(["a dog runs"])[0].search is None


def test_what_is_not_searched_has_no_tree(translator):
    label = LabelPrediction("a dog", "x", 0.0)
    assert translator.explainer.with_search_tree([TextPrediction("", "", 0.0), label]) == [
        TextPrediction("", "", 0.0),
        label,
    ]
    translator.setup.search = SamplingSearch()
    with pytest.raises(ConfigError, match="records no steps"):
        translator.explainer.with_search_tree([TextPrediction("a dog", "x", 0.0)])


def test_steps_as_lines():
    assert search_lines(TREE) == [
        "  1 the −0.50",
        "      held    a −1.00",
        "      dropped an −3.00",
        "  2 dog −0.75",
        "      dropped a dog −3.00",
        "  3 </s> = −0.33",
    ]
    assert search_lines(TREE._replace(whole=False))[-1] == "    further steps are not shown: the tree is too large"
    assert search_lines(SearchTree([], None)) == []


def test_a_terminal_shows_the_steps():
    console = Console(record=True, width=80)
    show([TextPrediction("ein Hund", "the dog", -0.33, search=TREE)], console)
    assert "dropped a dog −3.00" in console.export_text()


def test_json_and_the_pipe_carry_the_tree():
    one = TextPrediction("ein Hund", "the dog", -0.33, search=TREE)
    told = to_json([one])["predictions"][0]["details"]["search"]
    assert (told["answer"], told["whole"], len(told["nodes"])) == (5, True, 6)
    assert told["nodes"][4] == {"parent": 1, "token": "▁dog", "log_prob": -2.0, "score": -3.0, "fate": "dropped"}
    assert sent(one) == one
