"""Texts of one language: overlaps, one language given as two, exchanged sides; each an error of one line."""

import random
from collections import Counter

import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import ConfigError, DataError
from regard.experiment import read_experiment, time_plan
from regard.runs.training import data_findings
from regard.statistical import language_checks
from regard.statistical.language_checks import (
    PlainText,
    check_disjoint,
    check_expected_language,
    check_two_languages,
    in_one_language,
    misnamed_languages,
)

ENGLISH = ["the", "dog", "sees", "house", "woman", "with", "and", "runs", "through", "green", "children", "playing"]
GERMAN = ["der", "Hund", "sieht", "Haus", "Frau", "mit", "und", "läuft", "durch", "grüne", "Kinder", "spielen", "zwei"]


def text(words, seed, count=300):
    drawn = random.Random(seed)
    return PlainText(f"{words[0]}{seed}", [" ".join(drawn.choices(words, k=8)) for _ in range(count)])


def test_a_text_given_twice_overlaps():
    one = text(ENGLISH, 1)
    with pytest.raises(
        DataError, match=r"^the1: 300 of 300 different lines also stand in the1 .the two texts must not"
    ):
        check_disjoint(one, one)


def test_halves_that_overlap_by_a_tenth_are_refused():
    lines = text(ENGLISH, 1).lines
    with pytest.raises(DataError, match=r"^a: 20 of 160 different lines also stand in b "):
        check_disjoint(PlainText("a", lines[:160]), PlainText("b", lines[140:]))
    check_disjoint(PlainText("a", lines[:150]), PlainText("b", lines[150:]))


def test_greetings_in_both_texts_are_no_overlap():
    greetings = ["Good morning!", "OK"] * 50
    check_disjoint(PlainText("a", [*text(ENGLISH, 1).lines, *greetings]), PlainText("b", greetings))


def test_overlaps_ignore_case_and_spaces():
    lines = text(ENGLISH, 1).lines
    with pytest.raises(DataError, match=r"^a: 300 of 300 different lines also stand in b "):
        check_disjoint(PlainText("a", lines), PlainText("b", [f" {line.upper()}  " for line in lines]))


def test_one_language_given_as_two_is_refused():
    with pytest.raises(DataError, match=r"^the1: is in the language of the2.*two texts of two languages are needed"):
        check_two_languages(text(ENGLISH, 1), text(ENGLISH, 2))
    check_two_languages(text(ENGLISH, 1), text(GERMAN, 2))


def test_a_language_that_nobody_knows_is_still_one():
    letters = str.maketrans("abcdefghijklmnopqrstuvwxyz", "qzjxkvbwpygfdmculhrsniatoe")
    words = [word.translate(letters) for word in ENGLISH]
    assert in_one_language(text(words, 1).lines, text(words, 2).lines)
    assert not in_one_language(text(words, 1).lines, text(ENGLISH, 2).lines)


def test_few_lines_are_not_judged():
    few = text(ENGLISH, 1, count=99)
    check_two_languages(few, few)
    assert not in_one_language(few.lines, few.lines)


def test_text_of_the_other_side_is_refused():
    source, target = text(ENGLISH, 1), text(GERMAN, 2)
    with pytest.raises(
        DataError, match=r"^der3: is in the language of der2, not in that of the1 .are the two sides ex"
    ):
        check_expected_language(text(GERMAN, 3), source, target)
    check_expected_language(text(ENGLISH, 3), source, target)


@pytest.fixture
def files(tmp_path):
    named = {"en": text(ENGLISH, 1), "de": text(GERMAN, 2), "same": text(ENGLISH, 3)}
    for name, one in named.items():
        (tmp_path / f"a.{name}").write_text("".join(f"{line}\n" for line in one.lines), encoding="utf-8")
    return {name: f"{tmp_path}/a.{name}" for name in named}


def experiment_of(files, source, target, *more):
    changes = [f"data.train.source={files[source]}", f"data.train.target={files[target]}", *more]
    return read_experiment(None, changes, say=lambda line: None)


def test_training_says_that_both_sides_are_one_language(files):
    assert data_findings(experiment_of(files, "en", "same"))[0].startswith("both sides are in one language")
    assert data_findings(experiment_of(files, "en", "de")) == []


def test_training_counts_dev_pairs_that_it_learns_from(files):
    dev = [f"data.dev.source={files['en']}", f"data.dev.target={files['de']}"]
    assert data_findings(experiment_of(files, "en", "de", *dev))[0].startswith("300 dev pairs are training pairs: dev")


def test_training_finds_a_dev_set_whose_sides_are_exchanged(files, tmp_path):
    for name, words in {"x": GERMAN, "y": ENGLISH}.items():
        (tmp_path / f"dev.{name}.txt").write_text("\n".join(text(words, 4, count=30).lines), encoding="utf-8")
    dev = [f"data.dev.{side}={tmp_path}/dev.{name}.txt" for side, name in (("source", "x"), ("target", "y"))]
    assert any("dev set are exchanged" in line for line in data_findings(experiment_of(files, "en", "de", *dev)))
    straight = [dev[0].replace("dev.x", "dev.y"), dev[1].replace("dev.y", "dev.x")]
    assert data_findings(experiment_of(files, "en", "de", *straight)) == []


@pytest.fixture
def named_texts(tmp_path):
    """Sentences in which py3langid finds German and English, in files with and without codes: their paths by name."""
    lines = {
        "de": [f"Zwei Männer stehen am Herd und bereiten Essen für {number} Gäste zu." for number in range(30)],
        "en": [f"Two men are at the stove and are preparing food for {number} guests." for number in range(30)],
    }
    for code, texts in lines.items():
        for name in (f"{code}.txt", f"train.{code}", f"exchanged.{'ende'.replace(code, '')}"):
            (tmp_path / name).write_text("\n".join(texts), encoding="utf-8")
    return tmp_path


def test_training_compares_texts_with_the_given_languages(named_texts):
    def found(*changes):
        files = [f"data.train.source={named_texts}/de.txt", f"data.train.target={named_texts}/en.txt"]
        return data_findings(read_experiment(None, [*files, *changes], say=lambda line: None))

    (line,) = [line for line in found("data.languages=[en,de]") if "exchanged" in line]
    assert "'en', is in 'de'" in line and "'de', is in 'en'" in line
    for languages in ("[de,en]", "[xx,yy]", "null"):
        assert not any("named" in line for line in found(f"data.languages={languages}"))


def test_names_of_files_against_the_given_languages_are_an_error(named_texts):
    files = [f"data.train.source={named_texts}/train.de", f"data.train.target={named_texts}/train.en"]
    with pytest.raises(ConfigError, match=r"^data.languages: .*other way round"):
        read_experiment(None, [*files, "data.languages=[en,de]"], say=lambda line: None)


def test_languages_that_are_easily_confused_are_no_contradiction(monkeypatch):
    monkeypatch.setattr(language_checks, "count_languages", lambda lines: Counter({lines[0][:2]: 200}))
    croatian, english, french = ([f"{code} {number}" for number in range(30)] for code in ("hr", "en", "fr"))
    assert misnamed_languages((croatian, english), ("sr", "en")) is None
    assert misnamed_languages((french, english), ("sr", "en")) == "the source, named 'sr', is in 'fr'"
    assert misnamed_languages((french[:19], english), ("sr", "en")) is None
    assert misnamed_languages((french[:1] * 30, english), ("sr", "en")) is None


def test_data_check_compares_texts_with_the_names_of_their_files(named_texts):
    shown = CliRunner().invoke(app, ["data", "check", *(f"{named_texts}/exchanged.{code}" for code in ("en", "de"))])
    assert "are the two exchanged?" in shown.stdout
    shown = CliRunner().invoke(app, ["data", "check", *(f"{named_texts}/train.{code}" for code in ("en", "de"))])
    assert "exchanged" not in shown.stdout


def test_a_time_for_nothing_is_refused(files, monkeypatch):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 1_024.0 / 0.85)  # an update a second
    with pytest.raises(ConfigError, match=r"^training.max_minutes: 0.2 minutes are about 12 updates .* 3.3 minutes.$"):
        experiment_of(files, "en", "de", "training.max_minutes=0.2")
    with pytest.raises(ConfigError, match=r"^training.max_core_minutes: "):
        experiment_of(files, "en", "de", "training.max_core_minutes=0.1")


def test_data_check_says_that_both_sides_are_one_language(files):
    shown = CliRunner().invoke(app, ["data", "check", files["en"], files["same"]])
    assert "both sides are in one language" in shown.stdout + shown.stderr
