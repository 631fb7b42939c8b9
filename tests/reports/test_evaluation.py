"""regard evaluate: files and runs on the same sentences, with signatures and p-values."""

import json
import random
import warnings
from pathlib import Path

import pytest
from small_runs import regard
from typer.testing import CliRunner

from regard.cli.app import app
from regard.evaluation import METRICS
from regard.registry import Choice
from regard.reports.evaluation_report import length_buckets

REFERENCES = [f"the {word} sees a house by the river" for word in ("cat", "dog", "man", "owl", "fox", "hen")] * 5
WORSE = [text.replace("house by", "tree of") if number % 2 else text for number, text in enumerate(REFERENCES)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    texts = {"good": REFERENCES, "worse": WORSE, "reference": REFERENCES, "short": REFERENCES[:-1]}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def evaluate(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["evaluate", *map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def told(*words: object) -> dict:
    code, out, _ = evaluate(*words, "--json")
    assert code == 0
    return json.loads(out)


def test_scores_are_those_of_the_metrics_with_signatures(files):
    report = told(files / "worse", "--target", files / "reference")
    wanted = [METRICS.build(Choice(name)).score(WORSE, REFERENCES) for name in ("bleu", "chrf", "ter", "exact_match")]
    found = report["systems"][0]["scores"]
    assert [{**score, "interval": None} for score in found] == [{**one._asdict(), "interval": None} for one in wanted]
    assert all(low <= score["value"] <= high for score in found for low, high in [score["interval"]])
    assert "version:" in wanted[0].signature
    assert (report["examples"], report["comparisons"]) == (30, [])


def test_two_systems_are_compared_with_p_values(files):
    report = told(files / "good", files / "worse", "--target", files / "reference")
    by_metric = {row["metric"]: row for row in report["comparisons"]}
    assert set(by_metric) == {"BLEU", "chrF", "TER", "exact match"}
    assert by_metric["BLEU"]["difference"] < 0
    assert by_metric["BLEU"]["p_value"] < 0.05
    same = told(files / "good", files / "reference", "--target", files / "reference")
    assert {row["p_value"] for row in same["comparisons"]} == {1.0}
    assert "p = " in evaluate(files / "good", files / "worse", "--target", files / "reference")[1]


def test_changes_choose_the_metrics_of_files_too(files):
    report = told(files / "worse", "--target", files / "reference", "evaluation.metrics=chrf")
    assert [score["name"] for score in report["systems"][0]["scores"]] == ["chrF"]


def test_by_length_every_sentence_is_in_one_row(files):
    metrics = "evaluation.metrics=[untranslated_rate, bleu]"  # needs the source in every row
    words = [files / "worse", "--source", files / "reference", "--target", files / "reference", "--by-length", metrics]
    rows = told(*words)["by_length"]
    assert [(row["words"], row["examples"]) for row in rows] == [("6-10", 30)]


def test_the_translations_can_be_kept(files):
    evaluate(files / "worse", "--target", files / "reference", "--output", files / "kept")
    assert (files / "kept").read_text() == (files / "worse").read_text()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["short", "--target", "reference"], ["short", "29 lines", "30"]),
        (["good"], ["--target", "must be given"]),
        (["good", "--source", "short", "--target", "reference"], ["reference", "30 lines", "29"]),
        (["nothing", "--target", "reference"], ["nothing: there is no such run or file"]),
    ],
    ids=["short", "no reference", "unequal", "missing"],
)
def test_what_is_wrong_is_told_in_a_line(files, monkeypatch, words, parts):
    monkeypatch.chdir(files)
    code, out, err = evaluate(*words)
    assert (code, out, err.count("error:")) == (2, "", 1)
    assert all(part in err for part in parts)


def test_the_translations_of_one_system_alone_can_be_kept(files):
    kept = files / "kept"
    code, _, told = evaluate(files / "good", files / "worse", "--target", files / "reference", "-o", kept)
    assert (code, kept.exists()) == (2, False)
    assert "of one system, not of 2" in told


def stretches(lengths: list[int], least: int = 1) -> dict[str, int]:
    """What the buckets of texts of so many words are called, and how many are in each."""
    found = length_buckets(lengths, least)
    assert sorted(row for _, rows in found for row in rows) == list(range(len(lengths)))
    return {name: len(rows) for name, rows in found}


def test_lines_without_a_word_are_a_bucket_of_their_own():
    assert stretches([0, 0, 1, 5, 6, 30, 31, 40]) == {"0": 2, "1-5": 2, "6-10": 1, "21-30": 1, "31-40": 2}
    assert stretches([31]) == {"31": 1}


def test_small_buckets_join_the_smaller_one_beside_them():
    lengths = [3] * 7 + [8] * 377 + [13] * 433 + [18] * 137 + [25] * 45 + [33]
    assert stretches(lengths, 30) == {"1-10": 384, "11-15": 433, "16-20": 137, "21-33": 46}
    assert stretches([8] * 50 + [13] * 3 + [18] * 40, 30) == {"6-10": 50, "11-20": 43}
    assert stretches([1, 8, 40], 30) == {"1-40": 3}


def test_exchanged_sides_are_warned_of(tmp_path):
    """Letters are translated to capitals, so either side is unlikely on the other one."""
    draw = random.Random(1)
    lines = [" ".join(draw.choices("abcdefgh", k=5)) for _ in range(300)]
    for name, texts in (("low", lines), ("up", [line.upper() for line in lines])):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    tiny = ["model.dim=16", "model.encoder.num_layers=1", "model.decoder.num_layers=1", "text.tokenizer=characters"]
    tiny += ["model.position={name: learned, max_length: 64}"]
    short = ["training.max_updates=60", "training.schedule=constant", "training.learning_rate=0.01"]
    low, up, run = tmp_path / "low", tmp_path / "up", tmp_path / "run"
    done = regard("train", "--source", low, "--target", up, "--run", run, *tiny, *short, "training.patience=null", "-q")
    assert done.code == 0, done.said
    more, long = tmp_path / "more", tmp_path / "long"  # a target longer than any source that the model takes
    more.write_text("a\n" + low.read_text("utf-8"), encoding="utf-8")
    long.write_text(f"{'A ' * 99}\n" + up.read_text("utf-8"), encoding="utf-8")
    for source, target, exchanged in ((more, long, False), (up, low, True)):
        with warnings.catch_warnings(action="always"):
            code, _, err = evaluate(run, "--source", source, "--target", target)
        assert (code, err.count("seem exchanged")) == (0, exchanged)
