"""Checks of sentence pairs: each fault by hand, none in sound pairs, planted faults found among many."""

import json
import random
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError
from regard.packed import write_packed
from regard.registry import Choice
from regard.reports.data_check.check_data import check_data, data_check_page, read_text_pairs
from regard.statistical.pair_checks import CLEAR_FAULT, PAIR_CHECKS, PairCorpus, TextPair
from regard.statistical.pair_checks.language import CharacterModel
from regard.statistical.pair_checks.unrelated import posteriors_of

ENGLISH = ["dog", "cat", "house", "car", "child", "woman", "man", "bird", "tree", "boat"]
GERMAN = ["Hund", "Katze", "Haus", "Auto", "Kind", "Frau", "Mann", "Vogel", "Baum", "Boot"]
ACTS = {"sees": "sieht", "likes": "mag", "finds": "findet", "hears": "hört", "paints": "malt", "buys": "kauft"}
WHEN = {"today": "heute", "often": "oft", "now": "jetzt", "again": "wieder", "never": "nie", "always": "immer"}


def sound(count=600, seed=1):
    """Pairs of a small language in which each word has one translation."""
    drawn = random.Random(seed)
    found = dict[TextPair, None]()
    while len(found) < count:
        (one, other), act, when = drawn.sample(range(10), 2), drawn.choice([*ACTS]), drawn.choice([*WHEN])
        german = f"{GERMAN[one]} {ACTS[act]} {GERMAN[other]} {WHEN[when]}."
        found[TextPair(f"the {ENGLISH[one]} {act} the {ENGLISH[other]} {when}.", german)] = None
    return [*found]


def faults(name, *pairs):
    """The faults that a check finds in pairs behind sound ones: (number of the pair, severity)."""
    corpus = [*sound(), *pairs]
    found = PAIR_CHECKS.build(Choice(name)).findings(PairCorpus(corpus))
    return {one.row - len(corpus) + len(pairs): one.severity for one in found}


def test_an_escaped_character_is_named_without_being_escaped_again(tmp_path):
    for name, text in (("a.en", "the dog & the cat"), ("a.de", "Hund &amp; Katze")):
        (tmp_path / name).write_text(f"{text}\n")
    shown = CliRunner().invoke(app, ["data", "check", str(tmp_path / "a.en"), str(tmp_path / "a.de")]).stdout
    assert "HTML entity 'amp'" in shown and "&amp;" not in shown


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("empty", "the dog sees the cat now.", ""),
        ("empty", "the dog sees the cat now.", "..."),
        ("copied", "the dog sees the cat now.", "The dog  sees the cat now."),
        (
            "copied",
            "the dog sees the old cat over there in the house now.",
            "the dog sees the old cat over there in the house jetzt.",
        ),
        ("encoding", "the bird hears it.", "Der Vogel hÃ¶rt es."),
        ("encoding", "the bird hears it.", "Der Vogel h\ufffdrt es."),
        ("markup", "the dog & the cat", "Hund &amp; Katze"),
        ("markup", "the dog sees", "<b>Hund</b> sieht"),
        ("numbers", "the dog is 12.", "Der Hund ist 21 5."),
        ("numbers", "room 14", "Zimmer 15"),
        ("script", "the dog sees", "Der Hund видит"),
        ("long_word", "the dog sees", f"Hund {'sieht' * 20}"),
        ("length", "the dog sees the cat today.", "Hund sieht Katze heute. " * 9),
        ("length", "the dog sees the cat and the bird and the house today.", "Hund sieht Katze"),
        ("language", "Hund sieht Katze heute und immer.", "the dog sees the cat today and always."),
        ("language", "the dog sees the cat today.", "the woman paints the house now."),
        ("unrelated", "the dog sees the cat today.", "Frau malt Haus jetzt."),
        ("repeated", "the dog", "Hund"),
    ],
)
def test_faults_are_found(name, source, target):
    pairs = (
        [TextPair("The dog", "hund "), TextPair(source, target)] if name == "repeated" else [TextPair(source, target)]
    )
    found = faults(name, *pairs)
    number = len(pairs) - 1
    strict = {number} if name != "numbers" or "12" not in source else set()
    assert found.get(number, 0) > 0 and strict <= {row for row, severity in found.items() if severity >= CLEAR_FAULT}


@pytest.mark.parametrize("name", PAIR_CHECKS)
def test_sound_pairs_stay(name):
    found = PAIR_CHECKS.build(Choice(name)).findings(PairCorpus(sound()))
    assert sum(one.severity >= CLEAR_FAULT for one in found) == 0


@pytest.mark.parametrize("name", PAIR_CHECKS)
def test_one_finding_a_pair_within_bounds(name):
    pairs = [*sound(300), TextPair("", ""), TextPair("<b> 1 &amp;", "ÃŸ 2 <i>"), TextPair("a" * 100, "б" * 100)]
    found = [*PAIR_CHECKS.build(Choice(name)).findings(PairCorpus(pairs))]
    assert len({one.row for one in found}) == len(found)
    assert all(0 <= one.severity <= 1 and 0 <= one.row < len(pairs) and one.reason for one in found)


@pytest.mark.parametrize("name", PAIR_CHECKS)
@pytest.mark.parametrize("pairs", [[], [TextPair("a", "b")], [TextPair("", "")]], ids=["none", "one", "empty"])
def test_few_pairs_are_checked(name, pairs):
    assert len([*PAIR_CHECKS.build(Choice(name)).findings(PairCorpus(pairs))]) <= len(pairs)


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("copied", "Tom!", "Tom!"),
        ("numbers", "It costs 1,000.50.", "Es kostet 1.000,50."),
        ("numbers", "the year 1999", "das Jahr 1999"),
        ("markup", "<b>dog</b>", "<b>Hund</b>"),
        ("script", "π is 3", "π ist 3"),
    ],
)
def test_what_may_be_right_is_not_dropped(name, source, target):
    assert faults(name, TextPair(source, target)).get(0, 0) < CLEAR_FAULT


def test_character_model_by_hand():
    model = CharacterModel(["ab", "ab"])
    shares = {"a": 1 / 3, "b": 1 / 3, "\0": 1 / 3}  # a, b, end: twice each
    logs = [np.log((2 + 4 * shares[one]) / (2 + 4)) for one in "ab\0"]
    np.testing.assert_allclose(model.log_probs(["ab"]), [sum(logs)])
    assert model.log_probs(["zz"]) < model.log_probs(["aa"]) < model.log_probs(["ab"])


def test_empty_texts_do_not_shift_others():
    model = CharacterModel(["hello", "world"])
    np.testing.assert_allclose(model.log_probs(["", "hello", "", "world"])[[1, 3]], model.log_probs(["hello", "world"]))


def test_posteriors_fall_with_the_score():
    drawn = np.random.default_rng(0)
    null, good = drawn.normal(-2, 0.5, 1000), drawn.normal(1, 0.5, 1000)
    scores = np.concatenate([good, null[:50]])
    sizes = np.full(len(scores), 6.0)
    found = posteriors_of(scores, sizes, null, np.full(1000, 6.0), 0.05)
    assert (found[1000:] > 0.9).all() and (found[:1000] < 0.1).mean() > 0.99
    assert (np.diff(found[np.argsort(scores)]) <= 1e-12).all()


def test_planted_faults_are_found_and_sound_pairs_kept():
    pairs, drawn = sound(600), random.Random(2)
    planted = drawn.sample(range(600), 60)
    for number, row in enumerate(planted):
        source, target = pairs[row]
        other = pairs[(row + 7) % 600].target
        pairs[row] = [
            TextPair(source, ""), TextPair(source, source), TextPair(target, source),
            TextPair(source, f"<p>{target}</p>"),
            TextPair(source, target[: len(target) // 3]), TextPair(source, other if other != target else ""),
        ][number % 6]  # fmt: skip
    gone = {one.row for one in check_data(pairs).dropped(CLEAR_FAULT)}
    assert len(gone & {*planted}) >= 54 and len(gone - {*planted}) <= 6


def test_the_command_writes_a_clean_copy_reasons_and_a_page(tmp_path):
    pairs = [*sound(300), TextPair("the dog sees <b>", "Hund sieht"), TextPair("a \u2028 </script>", "")]
    for side, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.en", "a.de", "c.en", "c.de", "d.jsonl", "p.html")]
    words = ["data", "check", *files[:2], "--clean", *files[2:4], "--dropped", files[4], "--html", files[5], "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    values = json.loads(done.stdout)
    assert (values["pairs"], values["dropped"]) == (302, 2)
    swallowed = CliRunner().invoke(app, [*words[:5], *words[6:]])
    assert swallowed.exit_code == 2 and "--clean: needs two files, but --dropped" in swallowed.stderr
    assert read_text_pairs([tmp_path / "c.en", tmp_path / "c.de"]) == pairs[:300]
    rows = [json.loads(line) for line in read_lines(tmp_path / "d.jsonl")]
    assert [(row["line"], row["check"]) for row in rows] == [(301, "markup"), (302, "empty")]
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 1 and "http" not in page.split("<body")[1].split("<script")[0]


@pytest.mark.parametrize("slow", [True, False])
def test_only_checks_that_take_long_are_reported(monkeypatch, slow):
    monkeypatch.setattr(import_module("regard.reports.data_check.check_data"), "SLOW", 0.05 if slow else 60.0)
    findings, said = PAIR_CHECKS["markup"].findings, list[str]()

    def waits(self, corpus):
        time.sleep(1.0 if slow else 0.0)
        return findings(self, corpus)

    monkeypatch.setattr(PAIR_CHECKS["markup"], "findings", waits)
    check_data(sound(20), ["empty", "markup"], said.append)
    assert said == (["checking 20 pairs: markup"] if slow else [])


def test_a_page_counts_each_fault_once():
    check = check_data([*sound(300), TextPair("x y z", "x y z")])
    shown = data_check_page(check, 0.5, [Path("my texts/a.en"), Path("a.de")])
    data = json.loads(shown.split("const DATA = ")[1].split(";\n")[0])
    assert sum(sum(kind["counts"]) for kind in data["kinds"]) == len(check.faults)
    assert (data["files"], data["alike"]) == ("'my texts/a.en' a.de", False)
    assert "<title>Data check: a.en · a.de</title>" in shown


@pytest.mark.parametrize(
    ("names", "error"), [(["a.txt"], ConfigError), (["a", "b", "c"], ConfigError), (["a.en", "b.de"], DataError)]
)
def test_files_that_are_no_pairs_are_refused(tmp_path, names, error):
    with pytest.raises(error):
        read_text_pairs([tmp_path / name for name in names])


@pytest.mark.parametrize("name", ["pairs.TSV", "pairs.tsv.gz"])
def test_a_file_of_pairs_may_be_packed_and_its_ending_in_capitals(tmp_path, name):
    with write_packed(tmp_path / name) as file:
        file.write("Good day .\tGuten Tag .\n")
    assert read_text_pairs([tmp_path / name]) == [TextPair("Good day .", "Guten Tag .")]


def test_equal_pairs_are_one_example_of_the_page():
    pairs = [TextPair(f"a{place} b c", f"x{place} y z") for place in range(40)] + [TextPair("a3 b c", "x3 y z")] * 20
    shown = data_check_page(check_data(pairs, ["repeated"]), 0.5, [Path("a.tsv")])
    (kind,) = json.loads(shown.split("const DATA = ")[1].split(";\n")[0])["kinds"]
    (one,) = kind["examples"]
    assert one["count"] == 20 and one["lines"] == [41, 42, 43, 44, 45]
