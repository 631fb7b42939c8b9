"""Questions without an answer, and passages of several windows: and SQuAD's files end to end."""

import json
import math
from dataclasses import replace

import pytest
import torch
from small_runs import figures_of, trained_in, unsaid
from small_runs import regard as command

import regard
from regard.answers.span import SpanAnswer, SpanPrediction
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.errors import ConfigError, DataError
from regard.models import MODELS
from regard.predictor import Predictor
from regard.predictor.confidence import abstained
from regard.predictor.line_answers import LineFormat, squad_predictions
from regard.recipes.tuning import thresholds, tune_threshold
from regard.registry import Choice
from regard.tasks.reading import ReadingTask

NAMES = ("passage", "question", "answer")
ROWS = [
    ("John went to the hall. Mary left the hall.", "Where is John?", "hall"),
    ("Mary went home. Mary went to the hall. Mary left.", "Who went?", ""),
    ("A dog.", "What?", "dog"),
]
SMALL = {"hidden_dim": 4}


def built(**settings):
    rows = [Example(line, dict(zip(NAMES, row, strict=True))) for line, row in enumerate(ROWS, start=1)]
    columns = learn_columns(ReadingTask.columns, [[rows[0], rows[2]], rows[1:2]], Choice("words"), shared=True)
    encoder, head = Choice("recurrent", SMALL), Choice("pointers", {"max_pieces": 3})
    parts = {"dim": 6, "encoder": encoder, "question_encoder": encoder, "dropout": 0.0, "head": head, **settings}
    torch.manual_seed(5)
    model = MODELS.build(Choice("reader", parts), columns).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model.requires_grad_(False), columns


def examples():
    return [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def learnt(task):
    return [task.filter.learnt_from(one) for one in examples()]


def test_the_loss_of_no_answer_is_that_of_the_place_before_the_passage():
    model, columns = built()
    task = ReadingTask(columns, no_answer=True)
    batch = task.batch(task.encode(learnt(task)))
    places, losses = model.places(batch), model.nll(batch).sum(dim=1)
    assert losses[1].item() == pytest.approx(-float(places.first[1, 0] + places.last[1, 0]))
    assert model.counted(batch)[1].sum() == 2  # the answer and its end
    stands = [place for place, word in enumerate(ROWS[0][0].replace(".", " .").split(), start=1) if word == "hall"]
    chance = sum(math.exp(float(places.first[0, place] + places.last[0, place])) for place in stands)
    assert losses[0].item() == pytest.approx(-math.log(chance))


def test_there_is_no_answer_where_that_is_likelier_than_the_likeliest_span():
    model, columns = built()
    with_none, without = ReadingTask(columns, no_answer=True), ReadingTask(columns)
    batch = with_none.batch(with_none.encode([{name: one[name] for name in NAMES[:2]} for one in examples()]))
    places, found = model.places(batch), with_none.predict(model, batch)
    for row, one in enumerate(found):
        null = float(places.first[row, 0] + places.last[row, 0])
        span = one.span()
        assert one.null == pytest.approx(null)
        assert one.no_answer == pytest.approx(math.exp(null) / (math.exp(null) + math.exp(span.score)))
        assert (one.text == "") == (null > span.score)
        assert one.score == pytest.approx(max(null, span.score))
        assert span.source[span.start : span.end] == span.text
    assert all(one.null is None for one in without.predict(model, without.batch(without.encode(examples()))))


@pytest.mark.parametrize(("threshold", "text"), [(0.0, ""), (0.59, ""), (0.61, "dog"), (1.0, "dog")])
def test_a_threshold_decides_again(threshold, text):
    null = math.log(0.3)
    span = SpanPrediction("A dog.\tWhat?", "dog", math.log(0.2), start=2, end=5, null=null)
    row = SpanAnswer.threshold
    for one in (span, row.decided(span, 0.0), row.decided(span, 1.0)):  # whatever was decided before
        found = row.decided(one, threshold)
        assert found.text == text
        assert found.confidence == pytest.approx(0.3 if text == "" else 0.2)
        assert row.compared(found) == [pytest.approx(0.6)]
    assert row.decided(span, 0.0).details()["best"]["text"] == "dog"


def test_examples_of_no_answer_are_learnt_where_there_may_be_none():
    _, columns = built()
    task, other = ReadingTask(columns, no_answer=True), ReadingTask(columns)
    assert [one["answer"] for one in learnt(task)] == ["hall", "<s>", "dog"]
    assert task.filter.usable(examples()[1]) and not other.filter.usable(examples()[1])
    assert not task.filter.usable({**examples()[0], "passage": " "})
    task.filter.check(examples()[1])
    with pytest.raises(DataError, match="no gold answer"):
        other.filter.check(examples()[1])


def test_long_passages_are_read_in_windows_and_answered_as_a_whole():
    """All states of a passage by a loop over its windows, and one softmax over all of them."""
    model, columns = built(window=8, stride=4)
    whole, _ = built()
    whole.load_state_dict(model.state_dict())
    task = ReadingTask(columns)
    rows = [{**one, "answer": "hall"} for one in examples()[:2]] + examples()[2:]
    rows[0]["passage"] = " ".join(["John went home ."] * 6 + [rows[0]["passage"]])
    batch = task.batch(task.encode(rows))
    places = model.places(batch)
    assert_sums = places.first.exp().sum(dim=1)
    torch.testing.assert_close(assert_sums, torch.ones_like(assert_sums))
    (short,) = task.predict(whole, task.batch(task.encode(rows[2:])))
    assert task.predict(model, batch)[2].score == pytest.approx(short.score)  # one window: read as a whole
    (found, *_) = task.predict(model, batch)
    assert found.source[found.start : found.end] == found.text
    explained = task.explain(model, batch)[0]
    assert len(explained.columns["passage"].texts) == len(columns["passage"].encode(rows[0]["passage"])) + 1


def test_a_stride_that_leaves_pieces_out_is_refused():
    with pytest.raises(ConfigError, match=r"stride.*windows of 8 leave pieces out"):
        built(window=8, stride=9)


def test_thresholds_lie_between_probabilities():
    assert thresholds([0.2, 0.8, 0.2]) == [pytest.approx(0.5)]
    many = thresholds([number / 1000 for number in range(1001)])
    assert len(many) == 100 and many == sorted(many) and many[0] < 0.001 and many[-1] > 0.999
    assert thresholds([0.3]) == []


def squad(path, questions):
    """Write (id, passage, question, golds)."""
    paragraphs = [
        {"context": passage, "qas": [{"id": name, "question": question, "is_impossible": not golds,
                                      "answers": [{"text": one, "answer_start": passage.index(one)} for one in golds]}]}
        for name, passage, question, golds in questions
    ]  # fmt: skip
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}))
    return path


def questions(count):
    """Where somebody is, which some passages do not say; every fourth passage is long."""
    found = []
    for number in range(count):
        place = ("hall", "park", "barn")[number % 3]
        rest = " ".join(["Bob saw a dog ."] * (40 if number % 4 == 0 else 1))
        known = number % 2 == 0
        passage = f"{rest} Mary went to the {place} . {rest}" if known else f"{rest} Bob left . {rest}"
        found.append((f"q{number}", passage, "Where is Mary ?", [place, f"the {place}"] if known else []))
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("squad")
    train, dev = squad(folder / "train.json", questions(48)), squad(folder / "dev.json", questions(24))
    return trained_in(
        folder,
        f"task: {{name: reading, no_answer: true}}\ndata: {{train: {{name: squad, file: {train}}}, dev: {dev}}}\n"
        "model: {dim: 16, dropout: 0.0, encoder: {name: recurrent, hidden_dim: 16}, window: 32, stride: 16,"
        " question_encoder: {name: recurrent, hidden_dim: 16}}\n"
        "training: {batch_sentences: 24, learning_rate: 0.02, max_updates: 60, validate_every: 30, average: 1}\n"
        "evaluation: {metrics: [squad_exact_match, {name: word_f1, questions: unanswerable}]}\n",
    )


def test_squad_is_learnt_evaluated_and_answered_in_its_own_form(run):
    assert figures_of(run / "run", f"data.test={run / 'dev.json'}") == {
        "squad exact match": 100.0,
        "word f1 (unanswerable)": 100.0,
    }
    file = run / "predictions.json"
    assert command("predict", run / "run", "-i", run / "dev.json", "-o", file).code == 0
    given = json.loads(file.read_text())
    assert given == {name: next(iter(golds), "") for name, _, _, golds in questions(24)}
    chances = json.loads(command("predict", run / "run", "-i", run / "dev.json", "--scores").printed)
    assert all((chances[name] > 0.5) == (text == "") for name, text in given.items())
    known = json.loads(command("predict", run / "run", "-i", run / "dev.json", "--json").printed)
    long = questions(1)[0][1]
    assert long[known["q0"]["start"] : known["q0"]["end"]] == known["q0"]["text"] == "hall"


def test_a_withheld_answer_is_none_in_squads_form(run):
    predictor = regard.load(run / "run")

    class Unsure:
        def answer(self, answers):
            return lambda texts, before: abstained([*answers(texts, before)], 1.1)

    texts, chances = (
        json.loads(squad_predictions(predictor, run / "dev.json", Unsure(), LineFormat(scores=scores)))
        for scores in (False, True)
    )
    assert set(texts.values()) == {""}
    assert all(0 <= one <= 1 for one in chances.values()) and len(chances) == 24


def test_the_usual_threshold_stays_where_no_other_is_better(run):
    line = f"{questions(2)[1][1]}\tWhere is Mary ?"
    assert str(regard.load(run / "run").predict([line])[0]) == ""
    (answered,) = regard.load(run / "run", ["decoding.threshold=1"]).predict([line])
    assert answered.text and answered.no_answer > 0.5
    done = command("tune", run / "run")
    assert done.code == 0, done.said
    assert "0.5000 stays" in done.printed and not (run / "run" / "threshold.json").exists()  # no other one is better
    assert unsaid(command("tune", run / "run", "--rounds", "2"), "--rounds: tunes weights") == []


def test_the_tuned_threshold_is_the_best_one(run, monkeypatch):
    """Of unsure answers, the one likeliest to be none is none in the dev set: wrong at the usual threshold."""
    rows = questions(12)
    rows[10] = (*rows[10][:3], [])
    chances = [0.9 if row % 2 else 0.2 + 0.02 * row for row in range(12)]
    predict = Predictor.predict

    def unsure(self, lines, **options):
        spans = [one.span() for one in predict(self, lines, **options)]
        pairs = zip(spans, chances, strict=True)
        return [
            SpanAnswer.threshold.decided(replace(one, null=one.score + math.log(chance / (1 - chance))))
            for one, chance in pairs
        ]

    monkeypatch.setattr(Predictor, "predict", unsure)
    tuned = tune_threshold(run / "run", [f"data.dev={squad(run / 'other.json', rows)}"])
    assert (tuned.before, tuned.after) == (pytest.approx(1100 / 12), 100.0)
    assert tuned.threshold == pytest.approx(0.38)


def test_scores_of_a_model_that_always_answers_are_refused(run):
    settings = (run / "config.yaml").read_text().replace("name: reading, no_answer: true", "name: reading")
    always = squad(run / "always.json", [one for one in questions(24) if one[3]])
    (run / "always.yaml").write_text(settings.replace(str(run / "train.json"), str(always)))
    made = [f"data.dev={always}", f"run={run / 'always'}", "training.max_updates=1", "training.validate_every=1"]
    assert command("train", run / "always.yaml", *made, "--quiet", "device=cpu").code == 0
    done = command("predict", run / "always", "-i", run / "dev.json", "--scores")
    assert (done.code, "always answers" in done.said) == (2, True)
    tuned = command("tune", run / "always")
    assert (tuned.code, tuned.said.count("\n"), "task.no_answer=true" in tuned.said) == (2, 1, True)
    done = command("predict", run / "always", "a dog\twhat?", "decoding.threshold=0.7")
    assert unsaid(done, "decoding.threshold: needs a reader that may give no answer", "task.no_answer=true") == []
