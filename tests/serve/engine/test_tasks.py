"""In the model's process: any task is asked as translators are, and nobody asks it which it is."""

import math
from dataclasses import replace
from typing import NamedTuple

import pytest
from classifiers import LABELS, tiny_classifier_in
from small_runs import regard

from regard.answers import LabelPrediction
from regard.predictor import load
from regard.serve.engine.answering import Answering
from regard.serve.engine.explaining import AttentionExplainer
from regard.serve.engine.messages import HEAD, Batch, CountTexts, Refused, TextCost, Warm, heard, packed, unpacked
from regard.serve.engine.questions import Predict
from regard.serve.engine.worker import answer, count
from regard.tasks import TASKS

TEXTS = ["a fine film", "", "dull, dull and dull"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tiny_classifier_in(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def loaded(run):
    return Answering.load(run, batch_tokens=8192)


@pytest.fixture(scope="module")
def answering(loaded):
    return loaded[0]


def test_what_is_told_of_a_classifier(loaded):
    info = loaded[1][""]
    told = {key: info[key] for key in ("task", "given", "predicted", "answers", "languages")}
    assert told == {
        "task": "classification", "given": ["text"], "predicted": "label", "answers": "label",
        "languages": [],
    }  # fmt: skip
    assert (info["encoder"], info["pooling"], info["layers"]) == ("transformer", "attention", {"encoder": 1})
    assert info["vocabulary"]["label"] == len(LABELS)
    assert set(info["scores"]) == {"accuracy"}
    assert info["bleu"] is None
    assert set(info["examples"]) <= {"a fine film", "a dull film", "fine and witty"}


def test_a_classifier_answers_as_the_predictor_does(run, answering):
    done = answering.answer(Predict.lines(TEXTS, explain=True, maps=True))
    found = [done.found[row] for row in range(len(TEXTS))]
    assert found == load(run).predict(TEXTS, explain=True)
    for one in found:
        assert isinstance(one, LabelPrediction)
        assert set(one.probabilities) == set(LABELS)
        assert math.isclose(sum(one.probabilities.values()), 1.0, rel_tol=1e-5)
        assert one.text == max(one.probabilities, key=one.probabilities.get)


def test_pieces_of_a_text_are_counted(answering, monkeypatch):
    column = answering.predictor.task.vocabularies["text"]
    sizes = [len(column.encode(text)) for text in TEXTS]
    assert [one.pieces for one in answering.count(Predict.lines(TEXTS))] == sizes
    monkeypatch.setattr(answering.predictor.encoder, "max_source", max(sizes))
    assert answering.count(Predict.lines(TEXTS))[-1] == Refused("long", [max(sizes), max(sizes) - 1])


def test_the_words_stay_where_maps_are_left_out(answering):
    """The pooling's question is one: its map is as long as the text. What looks at itself grows with its square."""
    (whole,) = answering.answer(Predict.lines(TEXTS[:1], explain=True, maps=True)).found.values()
    (told,) = answering.answer(Predict.lines(TEXTS[:1], explain=True)).found.values()
    assert [(one.queries, one.keys) for one in whole.explanation.maps] == [("text", "text"), ("", "text")]
    assert told.explanation.maps == [whole.explanation.maps[1]]
    weights = answering.looking.weights(whole)
    assert weights >= sum(len(row) for each in whole.explanation.maps for head in each.weights for row in head) > 0


def test_messages_about_a_classifier(answering):
    assert answer(answering, Warm()).speed > 0
    told = count(answering, CountTexts(question=Predict.lines(TEXTS[:1])))
    assert [one.pieces for one in told.outcomes] == [3]
    said = answer(answering, Batch(name="0", lane=0, question=Predict.lines(TEXTS)))
    assert [type(one.prediction.prediction) for one in said.outcomes] == [LabelPrediction] * 3


GREEDY = "decoding.search={name: greedy, max_extra: 4}"
CHARACTERS = (
    "text.tokenizer=characters",
    "model.dim=16",
    GREEDY,
)
STORY = ("1 Mary went home.\n2 Where is Mary? \thome\t1\n3 John went out.\n4 Where is John? \tout\t3\n") * 6
WORDS = "a\tDET\ndog\tNOUN\n\ndogs\tNOUN\nrun\tVERB\n\n" * 8
TABLE = "a fine film\tgood\na dull film\tbad\n" * 6
SETS = TABLE + "a fine end\tgood, bad\n"
PAIRS = "a dog runs\tit moves\tyes\na dog sleeps\tit moves\tno\n" * 6
RATED = PAIRS.replace("yes", "4.5").replace("no", "1")
GRID = "0 0 1 0 0 0 1 0 1; 0 1 0 0 0 0 1 0 0; 0 1 0 0 0 0 1 0 0; 0 0 1 0 1 0 0 0 0"
ASKED = "Mary went home.\tWhere is Mary?"
NUMBER = "numbers: 'one' is not a number"
DOCUMENTS = "a dog runs\nit barks\n\ntwo cats read\nthey sleep\n\n" * 6
TALKS = "one\ta dog runs\tein Hund\none\tit barks\tbellt\n" * 6
LINES = "a dog runs\ntwo cats read\n" * 6


class Served(NamedTuple):
    """How a task is tried."""

    reader: str  # of its examples
    content: str  # of the reader's file
    asked: str
    wrong: str | None = None  # what is no question
    why: str = ""
    settings: tuple[str, ...] = ()
    first: str | None = None  # what a translator to start from reads of the same file


MASKED = ("text.tokenizer=characters", "model.dim=16", "model.encoder={num_layers: 1, feedforward_dim: 16}")
UNCASED = ("text.tokenizer=uncased_words",)
UNPAIRED = (
    "data.languages=[en, de]",
    "data.routes.back={train: {source: FILE, target: FILE}, dev: {source: FILE, target: FILE}, languages: [de, en]}",
    "model={name: many_to_many, languages: [de, en]}",
    "objective=denoising_back_translation",
)


SERVED = {
    "algorithmic": Served(
        "{{name: adding, examples: 12, length: 4}}", "", "0.5 1; 0.25 0; -0.5 1", "one", NUMBER
    ),
    "captioning": Served(
        "{{name: grids, size: 2, marked: 1, examples: 12}}", "", GRID, "one", NUMBER, (GREEDY,)
    ),
    "cipher": Served(
        "{{name: ciphered, file: {}, length: 4, every: 3}}", LINES, "a dog", settings=("model.dim=8",)
    ),
    "classification": Served("{{name: tsv, file: {}}}", TABLE, "a fine film"),
    "deliberation": Served(
        "{{name: document_sentences, file: {}}}",
        TALKS,
        "a dog\ta dog\tit barks",
        settings=CHARACTERS,
        first="{{name: tsv, file: {}, header: false, fields: {{source: 2, target: 3}}}}",
    ),
    "document_vectors": Served("{{name: numbered, file: {}}}", LINES, "a dog", settings=UNCASED),
    "language_model": Served("{{name: parallel, files: {{text: {}}}}}", LINES, "a dog", settings=CHARACTERS),
    "masked_language_model": Served(
        "{{name: parallel, files: {{text: {}}}}}", LINES, "a d<mask>g", settings=MASKED
    ),
    "multi_label": Served(
        "{{name: tsv, file: {}, header: false, fields: {{text: 1, labels: 2}}}}", SETS, "a dull film"
    ),
    "next_sentence": Served("{{name: next_sentence, file: {}}}", DOCUMENTS, "a dog runs\tit barks", settings=MASKED),
    "pairs": Served(
        "{{name: tsv, file: {}}}", PAIRS, "a dog runs\tit moves", "a dog\t ", "text: has an empty field 2"
    ),
    "phrases": Served("{{name: parallel, files: {{source: {0}, target: {1}}}}}", LINES, "a dog"),
    "question_answering": Served(
        "{{name: babi, file: {}}}",
        STORY,
        ASKED,
        "Mary went home.",
        "text: has 1 field, and 2 are read (passage, a tab, question)",
    ),
    "reading": Served("{{name: babi, file: {}}}", STORY, ASKED, "Mary went home.", "text: has 1 field"),
    "tagging": Served("{{name: conll, file: {}}}", WORDS, "a dog"),
    "translation": Served(
        "{{name: parallel, files: {{source: {0}, target: {1}}}}}", LINES, "a dog", settings=CHARACTERS
    ),
    "unpaired_translation": Served(
        "{{name: parallel, files: {{source: {0}, target: {0}}}}}", LINES, "a dog", settings=(*UNPAIRED, *CHARACTERS)
    ),
    "pair_regression": Served(
        "{{name: tsv, file: {}, header: false, fields: {{first: 1, second: 2, number: 3}}}}",
        RATED,
        "a dog runs\tit moves",
    ),
    "regression": Served(
        "{{name: tsv, file: {}, header: false, fields: {{text: 1, number: 3}}}}", RATED, "a dog runs"
    ),
    "word_vectors": Served("{{name: parallel, files: {{text: {}}}}}", LINES, "a dog", settings=UNCASED),
}  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_any_task_is_loaded_warmed_and_asked(task, tmp_path, monkeypatch):
    served = SERVED[task]
    (tmp_path / "data").write_text(served.content)
    (tmp_path / "target").write_text(served.content.replace("a ", "the "))  # one text as both sides is refused
    data = [f"data.{part}={served.reader.format(tmp_path / 'data', tmp_path / 'target')}" for part in ("train", "dev")]
    updates = ["training.max_updates=2", "training.validate_every=1", "training.average=1"]
    settings = [one.replace("FILE", str(tmp_path / "data")) for one in served.settings]
    words = [f"task={task}", *settings, *data, *updates]
    if served.first is not None:
        pairs = [f"data.{part}={served.first.format(tmp_path / 'data')}" for part in ("train", "dev")]
        done = regard("train", *served.settings, *pairs, *updates, "--run", tmp_path / "first", "--quiet")
        assert done.code == 0, done.said
        words.append(f"init.run={tmp_path / 'first'}")
    done = regard("train", *words, "--run", tmp_path / "run", "--quiet")
    assert done.code == 0, done.said
    answering, cards = Answering.load(tmp_path / "run", batch_tokens=8192)
    translates = task in ("deliberation", "translation", "unpaired_translation", "phrases")
    assert bool(cards[""]["languages"]) == bool(cards[""]["alphabet"]) == translates
    assert answer(answering, Warm()).speed > 0
    (found,) = answering.answer(Predict.lines([served.asked], explain=True, maps=True)).found.values()
    assert found == load(tmp_path / "run").predict([served.asked], explain=True)[0]
    assert answering.looking.weights(found) >= sum(
        len(row) for each in found.explanation.maps for head in each.weights for row in head
    )
    question = Predict.lines((served.asked,))
    (counted,) = heard(packed(count(answering, CountTexts(question=question)))[HEAD:]).outcomes
    if isinstance(counted, TextCost):  # its pieces come back with the batch, and nobody encodes the text again
        asked = unpacked(packed(Batch(name="0", lane=0, question=question, encoded=[counted.encoded]))[HEAD:])
        monkeypatch.setattr(answering.predictor.task, "encode", None)
        (told,) = answer(answering, asked).outcomes
        assert told.prediction.prediction == replace(found, explanation=None)
        monkeypatch.undo()
    if served.wrong is not None:
        (refused,) = answering.count(Predict.lines([served.wrong]))
        assert refused.kind == "wrong"
        assert refused.details.startswith(served.why)


def test_a_language_model_is_asked_too(tmp_path):
    """It has one column, which is given and goes on; what it looked at is the text and what follows."""
    (tmp_path / "text.en").write_text("a dog runs\ntwo cats read\n" * 6, encoding="utf-8")
    config = tmp_path / "config.yaml"
    part = f"{{name: parallel, files: {{text: {tmp_path / 'text.en'}}}}}"
    config.write_text(f"data:\n  train: {part}\n  dev: {part}\n", encoding="utf-8")
    small = ["model.dim=16", "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}"]
    steps = ["training.max_updates=2", "training.validate_every=1", "training.average=1"]
    search = "decoding.search={name: greedy, max_extra: 4}"
    words = ["task=language_model", "text.tokenizer=characters", *small, *steps, search]
    done = regard("train", config, "--run", tmp_path / "run", "--quiet", *words)
    assert done.code == 0, done.said
    answering, cards = Answering.load(tmp_path / "run", batch_tokens=8192)
    info = cards[""]
    assert (info["given"], info["predicted"], info["languages"]) == (["text"], "text", [])
    (found,) = answering.answer(Predict.lines(["a dog"], explain=True, maps=True)).found.values()
    shown = [row for each in found.explanation.maps for head in each.weights for row in head]
    assert answering.looking.weights(found) >= sum(map(len, shown)) > 0
    assert isinstance(answering.looking, AttentionExplainer)
    assert answer(answering, Warm()).speed > 0
