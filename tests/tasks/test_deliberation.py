"""Deliberation as a task: it starts from a translator, reads texts in windows, and shows its draft."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from engines import pairs_of
from serving import Process
from small_runs import SMALL, regard, unsaid, write_texts

from regard.data.packing import adjacent
from regard.errors import ConfigError, TooLongError
from regard.predictor import Predictor, load
from regard.reports.evaluation import evaluate
from regard.serve.engine.answering import Answering
from regard.serve.engine.messages import Refused
from regard.serve.engine.questions import Alternatives, Predict

TALK = [("Ein Hund läuft.", "A dog runs."), ("Er bellt.", "It barks."), ("Zwei Katzen.", "Two cats."), ("Ja.", "Yes.")]
LINES = [f"{talk}\t{source}\t{target}\n" for talk in range(4) for source, target in TALK]
READER = "{{name: document_sentences, file: '{}', window: 2}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator, and a deliberation that starts from it."""
    folder = tmp_path_factory.mktemp("deliberation")
    (folder / "talks.tsv").write_text("".join(LINES), encoding="utf-8")
    reader = f"{{name: tsv, file: '{folder / 'talks.tsv'}', fields: {{source: 2, target: 3}}}}"
    data = [f"data.{part}={reader}" for part in ("train", "dev")]
    done = regard("train", *data, *SMALL, "model.attention.num_heads=2", "--run", folder / "first", "--quiet")
    assert done.code == 0, done.said
    windows = [f"data.{part}={READER.format(folder / 'talks.tsv')}" for part in ("train", "dev", "test")]
    done = regard("train", "--from", folder / "first", *_task(2), *windows, *SMALL[-3:], "--run", folder / "second")
    assert done.code == 0, done.said
    assert "new: second, sides" in done.said
    return folder


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return load(folder / "second")


@pytest.fixture(scope="module")
def open_run(folder: Path) -> Path:
    """A translator that knows its sentences, and a second pass in large steps: the text of a sentence tells."""
    more = ["training.schedule=constant", "training.validate_every=40", "training.max_updates=120", "model.dropout=0"]
    more += ["training.learning_rate=0.02", "data.languages=[de,en]"]
    reader = f"{{name: tsv, file: '{folder / 'talks.tsv'}', fields: {{source: 2, target: 3}}}}"
    data = [f"data.{part}={reader}" for part in ("train", "dev")]
    done = regard("train", "--from", folder / "first", *data, *more, "--run", folder / "known")
    assert done.code == 0, done.said
    windows = [f"data.{part}={READER.format(folder / 'talks.tsv')}" for part in ("train", "dev")]
    done = regard("train", "--from", folder / "known", *_task(2), *windows, *more, "--run", folder / "open")
    assert done.code == 0, done.said
    return folder / "open"


@pytest.fixture(scope="module")
def ask(open_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable]:
    """Asks a server of that run."""
    process = Process(tmp_path_factory.mktemp("server"), open_run, "--port", 0)
    address = process.ready()

    def asked(path: str, **fields: object) -> dict:
        question = json.dumps({"source": "de", "target": "en", **fields}).encode()
        with urlopen(Request(address + path, question, {"Content-Type": "application/json"})) as answer:
            return json.load(answer)

    yield asked
    assert process.end() == 0, process.said


def _task(window: int) -> list[str]:
    return [f"task={{name: deliberation, window: {window}}}"]


def test_the_first_pass_is_the_translator(folder, predictor):
    first = load(folder / "first").model.state_dict()
    mine = predictor.model.first.state_dict()
    assert mine.keys() == first.keys()
    assert all(bool((mine[name] == value).all()) for name, value in first.items())
    assert predictor.model.second.blocks[0].cross.heads.num_heads == 2  # its settings are taken over


def test_a_text_is_read_in_windows(predictor):
    (found,) = predictor.translate(["Ein Hund läuft. Er bellt. Ja."])
    window = "Ein Hund läuft.\tEr bellt."
    assert [one.document for one in found.parts] == [window, window, "Ja."]
    lines = [f"Ein Hund läuft.\t{window}", f"Er bellt.\t{window}", "Ja."]
    assert [one.text for one in found.parts] == [one.text for one in predictor.predict(lines)]


def test_a_sentence_alone_is_its_own_text(predictor):
    alone, told = predictor.predict(["Er bellt.", "Er bellt.\tEr bellt."])
    assert (alone.text, alone.score, alone.document) == (told.text, told.score, "Er bellt.")


def test_files_are_read_in_windows(predictor):
    data, found = predictor.translate_file("Ein Hund läuft. Er bellt.".encode(), ".txt")
    assert [one.document for one in found] == ["Ein Hund läuft.\tEr bellt."] * 2
    assert data


def test_the_draft_is_shown(predictor):
    line = "Er bellt.\tEin Hund läuft.\tEr bellt."
    (found,) = predictor.predict([line], explain=True)
    shown, column = found.explanation, predictor.task.target
    drafts = [load_text for load_text in shown.columns["draft"].texts if load_text == "</s>"]
    assert len(drafts) == 2  # a draft for each sentence
    looks = [one for one in shown.maps if one.keys == "draft"]
    assert len(looks) == 1
    array = shown.array(looks[0])
    assert array.labels[2] == shown.columns["draft"].texts
    np.testing.assert_allclose(array.values.sum(axis=-1), 1.0, atol=1e-3)
    assert shown.source_tokens[-1] == "</s>" and column.decode(found.ids) == found.text


def test_windows_of_documents_are_evaluated(folder):
    found = evaluate([folder / "second"])
    assert found.examples == len(LINES)
    assert all(0 <= score.value <= 100 for score in found.systems[0].scores)


def test_equal_values_stand_together():
    """The first of each value keeps its place."""
    order = np.array([3, 0, 4, 1, 2])
    assert adjacent(order, ["a", "b", "a", "b", "c"]).tolist() == [3, 1, 0, 2, 4]


def test_texts_without_documents_are_refused(folder, tmp_path):
    done = regard("train", *_task(2), *write_texts(tmp_path), "--run", tmp_path / "run")
    assert unsaid(done, "data.train", "document") == []


@pytest.mark.parametrize("change", ["data.transforms=noise", "text.tokenizer.sampling=0.1"])
def test_sentences_that_would_not_be_found_in_their_text_are_refused(folder, tmp_path, change):
    windows = [f"data.{part}={READER.format(folder / 'talks.tsv')}" for part in ("train", "dev")]
    done = regard("train", *_task(2), *windows, *SMALL, change, "--run", tmp_path / "run")
    assert unsaid(done, change.split("=")[0], "is not found in its text") == []


def test_a_window_may_have_more_pieces_than_one_sentence(folder):
    sentence, three = "Er bellt.", "Ein Hund läuft.\tEr bellt.\tJa."
    limits = load(folder / "second")
    longest = max(map(len, limits.task.source.encode_batch(three.split("\t"))))
    predictor = load(folder / "second", [f"decoding.max_source={longest + 1}"])
    (found,) = predictor.predict([f"{sentence}\t{three}"])
    assert found == limits.predict([f"{sentence}\t{three}"])[0]
    short = load(folder / "second", [f"decoding.max_source={longest}"])
    with pytest.raises(TooLongError, match=f"{longest} pieces are more than this model takes"):
        short.predict([f"{sentence}\t{three}"])


def test_the_server_counts_sentences_of_a_window_one_by_one(folder):
    line = "Er bellt.\tEin Hund läuft.\tEr bellt.\tJa."
    task = load(folder / "second").task
    whole, longest = (
        len(task.encode([task.texts.given(line)])[0]["document"]),
        len(task.source.encode("Ein Hund läuft.")),
    )
    limit = "decoding.max_source={}".format
    taken, _ = Answering.load(folder / "second", batch_tokens=512, changes=[limit(longest + 1)])
    assert taken.count(Predict.lines([line]))[0].pieces == whole and whole > longest
    short, _ = Answering.load(folder / "second", batch_tokens=512, changes=[limit(longest)])
    assert short.count(Predict.lines([line])) == [Refused("long", [longest, longest - 1])]


def test_a_served_explanation_is_of_the_sentence_in_its_text(ask):
    [text] = ask("v1/translate", q="Ein Hund läuft. Er bellt.")["texts"]
    sentence = text["sentences"][1]
    assert sentence["details"]["document"] == "Ein Hund läuft.\tEr bellt."
    question = {"source_text": sentence["source"], "target_text": sentence["text"]}
    alone = ask("v1/explain", **question)["sentence"]
    assert abs(alone["score"] - sum(sentence["log_probs"])) > 0.01 and "document" not in alone["details"]
    question["document"] = sentence["details"]["document"]
    found = ask("v1/explain", **question, reasons=["saliency"], steps=True)["sentence"]
    np.testing.assert_allclose(found["log_probs"], sentence["log_probs"], atol=1e-3)
    assert (found["source"], found["details"]["document"]) == (sentence["source"], question["document"])
    shown = found["explanation"]
    assert shown["columns"]["draft"]["tokens"].count("</s>") == 2 and "saliency" in shown["reasons"]
    tree = found["details"]["search"]
    assert tree == ask("v1/explain", **question, steps=True)["sentence"]["details"]["search"]
    del question["document"]
    assert tree != ask("v1/explain", **question, steps=True)["sentence"]["details"]["search"]


def test_other_words_are_those_of_the_sentence_in_its_text(ask, open_run):
    line = "Er bellt.\tEin Hund läuft.\tEr bellt."
    source, document = line.split("\t", 1)
    question = {"source_text": source, "target_text": "It barks.", "word": 0, "count": 4}
    found = ask("v1/alternatives", **question, document=document)["alternatives"]
    assert found != ask("v1/alternatives", **question)["alternatives"]
    answering, _ = Answering.load(open_run, batch_tokens=512)
    predictor, others = (
        answering.predictor,
        answering.answer(Alternatives(pairs_of([line], ["It barks."]), word=0, count=4)).found[0].alternatives,
    )
    assert [one["text"] for one in found] == [one.text for one in others]
    for one, ids in zip(others, predictor.encoder.encode_answered(others), strict=True):
        (scored,) = predictor.task.force(predictor.model, predictor.task.batch([ids]))
        np.testing.assert_allclose(one.log_probs, scored.log_probs[: len(one.log_probs)], atol=1e-4)


def test_another_run_explains_a_sentence_in_its_text(open_run):
    line, predictor = "Er bellt.\tEin Hund läuft.\tEr bellt.", load(open_run)
    (found,) = predictor.predict([line])
    assert (predictor.task.texts.line(found), found.source) == (line, "Er bellt.")
    (again,) = predictor.explainer.with_own_explanations([found])
    np.testing.assert_allclose(again.log_probs, found.log_probs, atol=1e-3)
    assert (predictor.task.texts.line(again), again.explanation.columns["draft"].texts.count("</s>")) == (line, 2)


def test_others_do_not_join_in(folder):
    with pytest.raises(ConfigError, match="one pass, and this one does not"):
        load(folder / "second", [f"decoding.ensemble=['{folder / 'second'}']"])
