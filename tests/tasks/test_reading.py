"""Reading: the answer with the largest sum over its places, where it stands, and what cannot be answered."""

import io
import json
import math

import pytest
import torch
from rich.console import Console
from small_runs import regard as command

import regard
from regard.answers import show
from regard.answers.span import SpanPrediction
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.errors import DataError
from regard.explain import to_json
from regard.models import MODELS
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.tasks.reading import ReadingTask
from regard.tasks.task import outcome_of

NAMES = ("passage", "question", "answer")
ROWS = [
    ("John went to the hall. Mary left the hall.", "Where is John?", "hall"),
    ("Mary went home. Mary went to the hall. Mary left.", "Who went?", "Mary"),
    ("A dog.", "What?", "dog"),
]
SMALL = {"hidden_dim": 4}
ASKED = Choice("attention", {"hidden_dim": 4})


@pytest.fixture
def parts():
    rows = [Example(line, dict(zip(NAMES, row, strict=True))) for line, row in enumerate(ROWS, start=1)]
    columns = learn_columns(ReadingTask.columns, [rows], Choice("words"), shared=True)
    encoder, head = Choice("recurrent", SMALL), Choice("pointers", {"max_pieces": 3})
    settings = {"dim": 6, "encoder": encoder, "question_encoder": encoder, "dropout": 0.0, "head": head}
    torch.manual_seed(5)
    model = MODELS.build(Choice("reader", settings), columns).double().eval()
    for parameter in model.parameters():  # so that places differ
        torch.nn.init.normal_(parameter)
    return model.requires_grad_(False), ReadingTask(columns)


def examples(rows=ROWS):
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


def test_the_answer_has_the_largest_sum_over_its_places(parts):
    """Every stretch of at most three pieces, by a loop."""
    model, task = parts
    batch = task.batch(task.encode(examples()))
    first, last = model.places(batch)
    found = task.predict(model, batch)
    column = task.vocabularies["passage"]
    for row, (passage, *_) in enumerate(ROWS):
        ids, chances = column.encode(passage), {}
        for start in range(len(ids)):
            for end in range(start + 1, min(start + 3, len(ids)) + 1):
                chance = math.exp(float(first[row, start]) + float(last[row, end - 1]))
                chances.setdefault(tuple(ids[start:end]), []).append((chance, start, end))
        best = max(chances.values(), key=lambda places: sum(one[0] for one in places))
        _, start, end = max(best)
        assert found[row].text == column.decode(ids[start:end])
        assert found[row].score == pytest.approx(math.log(sum(one[0] for one in best)))
        assert found[row].source[found[row].start : found[row].end] == found[row].text
        assert found[row].source[: found[row].start].count(found[row].text) == column.decode(ids[:start]).count(
            found[row].text
        )


def test_places_are_those_of_the_passage_as_it_was_given(parts):
    model, task = parts
    example = {"passage": "  Mary   went home.\u00a0 Mary left. ", "question": "Who?"}
    (found,) = task.predict(model, task.batch(task.encode([example])))
    given = task.texts.as_given(found, example)
    assert example["passage"][given.start : given.end] == given.text
    assert given.details().keys() >= {"start", "end"}


@pytest.mark.parametrize(
    ("passage", "answer", "place", "wanted"),
    [
        ("banana  ana", "ana", 7, (8, 11)),  # as a part of "banana" it stands at 1 and at 3, one over the other
        ("aa a  a", "a", 5, (6, 7)),
        ("x  a  b c a b", "a b", 8, (10, 13)),
        ("x  a  b c a b", "a b", 2, (3, 7)),  # with the spaces that it has there
        ("a.  b (c)  a.", "a.", 9, (11, 13)),
    ],
)
def test_the_place_of_an_answer_is_the_same_word_as_it_was_given(parts, passage, answer, place, wanted):
    """`place` is that among single spaces."""
    _, task = parts
    single = " ".join(passage.split())
    assert single[place:].startswith(answer)
    found = SpanPrediction(f"{single}\tWhat?", answer, -1.0, start=place, end=place + len(answer))
    given = task.texts.as_given(found, {"passage": passage, "question": "What?"})
    assert (given.start, given.end) == wanted
    assert given.source == f"{passage}\tWhat?" and given.text == passage[slice(*wanted)]


def test_a_passage_of_nothing_has_no_answer(parts):
    model, task = parts
    (found,) = task.predict(model, task.batch(task.encode([{"passage": "", "question": "Who?"}])))
    assert (found.text, found.start, found.end) == ("", 0, 0)


def test_states_of_a_question_that_are_no_words_are_not_shown(parts):
    _, task = parts
    longer = Choice("bytenet", {"ratio": 2.0, "hidden_dim": 4, "dilations": [1], "num_layers": 1})
    settings = {"dim": 6, "encoder": Choice("recurrent", SMALL), "question_encoder": longer, "pooling": ASKED}
    model = MODELS.build(Choice("reader", settings), task.vocabularies).eval()
    for found in task.explain(model, task.batch(task.encode(examples()))):
        assert {one.keys for one in found.maps if not one.queries} == {"passage"}


@pytest.mark.parametrize("answer", ["garden", "hal", "hall left", "Hall"])
def test_an_answer_that_is_not_in_the_passage_is_refused(parts, answer):
    _, task = parts
    task.filter.check({"passage": "Mary left the hall.", "question": "?", "answer": "the hall"})
    with pytest.raises(DataError, match=f"'{answer}' does not occur in the passage"):
        task.filter.check({"passage": "Mary left the hall.", "question": "?", "answer": answer})


def test_an_explanation_shows_where_the_head_looked(parts):
    model, task = parts
    batch = task.batch(task.encode(examples()))
    places = model.places(batch)
    for row, found in enumerate(task.explain(model, batch)):
        looked = torch.stack(list(places)).exp()[:, row].mean(dim=0).tolist()
        assert found.weights[0] == pytest.approx(looked[: len(found.source_tokens)], abs=1e-3)  # each is rounded
        (asked,) = [one for one in found.maps if (one.queries, one.keys) == ("passage", "question")]
        for line in asked.weights[0]:
            assert sum(line) == pytest.approx(1.0, abs=1e-3)
        assert found.target_tokens == found.columns["answer"].texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs on stories whose answer is the last word before the first full stop."""
    folder = tmp_path_factory.mktemp("reading")
    lines = [f"1 Mary went to the {place}.\n2 Where is Mary?\t{place}\t1\n" for place in ("hall", "garden", "park")] * 8
    (folder / "stories.txt").write_text("".join(lines))
    part = f"{{name: babi, file: {folder / 'stories.txt'}}}"
    for name in ("aligned", "concatenated"):
        (folder / f"{name}.yaml").write_text(
            f"task: reading\ndata: {{train: {part}, dev: {part}, test: {part}}}\n"
            "model: {dim: 8, dropout: 0.0, encoder: {name: recurrent, hidden_dim: 8},"
            f" question_encoder: {{name: recurrent, hidden_dim: 8}}, fusion: {name}}}\n"
            "training: {batch_sentences: 24, learning_rate: 0.05, max_updates: 25, validate_every: 25, average: 1}\n"
            f"run: {folder / name}\n"
        )
        done = command("train", folder / f"{name}.yaml", "--quiet")
        assert done.code == 0, done.said
    return folder


def test_it_is_trained_evaluated_and_compared(folder):
    evaluation = evaluate([folder / "aligned", folder / "concatenated"])
    scores = {score.name: score.value for score in evaluation.systems[0].scores}
    assert scores["exact match"] == scores["word f1"] == 100.0
    assert len(evaluation.comparisons) == 2


def test_answers_have_their_place_and_maps_of_the_question(folder):
    line = "Mary went to the garden.\tWhere is Mary?"
    (found,) = regard.load(folder / "aligned").predict([line], explain=True)
    assert (str(found), found.start, found.end) == ("garden", 17, 23)
    assert found.details()["probability"] == pytest.approx(math.exp(found.score))
    assert found.score == pytest.approx(0.0, abs=0.7)
    shown = json.loads(json.dumps(to_json([found])))["predictions"][0]
    assert (shown["details"]["start"], shown["details"]["end"]) == (17, 23)
    assert {("passage", "question")} <= {(one["queries"], one["keys"]) for one in shown["explanation"]["maps"]}
    console = Console(file=io.StringIO(), width=120)
    show([found], console)
    assert "garden" in console.file.getvalue()


def test_a_passage_without_the_answer_is_one_line_with_its_place(folder):
    (folder / "bad.txt").write_text("1 Mary went to the hall.\n2 Where is Mary?\tpark\t1\n")
    done = command(
        "train", folder / "aligned.yaml", f"data.train.file={folder / 'bad.txt'}", "run=" + str(folder / "x")
    )
    assert done.code == 2
    assert "bad.txt:2: column answer" in done.said and "'park' does not occur in the passage" in done.said


def test_the_first_answer_that_stands_in_the_passage_is_learnt(parts):
    _, task = parts
    (first, *_) = examples()
    assert task.filter.learnt_from({**first, "answer": "the park\nhall\nthe hall"}) == {**first, "answer": "hall"}
    assert task.filter.learnt_from({**first, "answer": "park\nsofa"}) is None


def test_the_nearest_of_several_answers_counts_and_one_not_there_is_wrong(parts):
    model, task = parts
    answers = [one.text for one in task.predict(model, task.batch(task.encode(examples())))]
    golds = ["park\n" + answers[0], "sofa", answers[2]]
    rows = {name: [row[name] for row in examples()] for name in NAMES} | {"answer": golds}
    outcome = outcome_of(task, model, model, rows, 64)
    (measure,) = task.measures([Choice("exact_match")])
    assert measure.statistics(outcome)[:, 0].tolist() == [1, 0, 1]
    assert outcome.losses[1].tolist() == [0, 0]  # no loss can be told of it
    alone = {name: [values[2]] for name, values in rows.items()}
    assert outcome.losses[2] == pytest.approx(outcome_of(task, model, model, alone, 64).losses[0])


@pytest.mark.filterwarnings("default:.*cannot answer")
def test_squad_trains_and_is_judged_with_one_file_each(tmp_path):
    def squad(name, *golds):
        asked = [{"question": "Where is Mary?", "answers": [{"text": one} for one in some]} for some in golds]
        content = {"data": [{"paragraphs": [{"context": "Mary is in the hall.", "qas": asked}]}]}
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        return str(tmp_path / name)

    train, dev = (
        squad("train.json", ["hall"], [], ["sofa"], ["hall"]),
        squad("dev.json", ["sofa"], ["hall", "the hall"]),
    )
    small = ["model.dim=8", "training.max_updates=1", "training.validate_every=1", "device=cpu"]
    done = command("train", "--text", train, f"data.dev={dev}", *small, f"run={tmp_path / 'run'}")
    assert "cannot answer 1 of 2 examples" in done.said
    assert done.code == 0
    assert "skipped: 1 empty on one side only (line 2)" in done.said
    assert "1 examples whose answer is not in the passage are left out (lines 3)" in done.said
    (answer,) = regard.load(tmp_path / "run").predict(["Mary is in the hall.\tWhere is Mary?"])
    golds = [["sofa", f"The {answer.text.upper()}!"], [f"{answer.text} sofa", "car"], ["sofa"], ["car", answer.text]]
    test = squad("test.json", *golds)
    changes = [f"data.test={test}", "evaluation.metrics=[squad_exact_match,word_f1]"]
    (scored,) = evaluate(tmp_path / "run", changes=changes).systems
    words = [word for word in answer.text.lower().replace(".", " ").split() if word != "the"]
    by_hand = {"squad exact match": 2 / 4, "word f1": (2 + 2 * len(words) / (2 * len(words) + 1)) / 4}
    assert {one.name: one.value / 100 for one in scored.scores} == pytest.approx(by_hand)


def test_a_question_without_an_answer_is_told(parts):
    with pytest.raises(DataError, match=r"no gold answer.*always answers with a span, so that it counts as wrong"):
        parts[1].filter.check({"passage": "Mary is in the hall.", "question": "Who?", "answer": ""})


def test_a_question_that_is_missing_is_told(folder):
    with pytest.raises(DataError, match="1 field, and 2 are read"):
        regard.load(folder / "aligned").predict(["Mary went."])
