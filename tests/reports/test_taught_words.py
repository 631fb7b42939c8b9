"""Training pairs that taught a word: found by hand, by links and contexts; kept, shown, and dropped or mended."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import ConfigError
from regard.reports import taught_words as evidence
from regard.reports.data_check.check_data import read_numbered_pairs
from regard.reports.taught_words import spans_of_words, taught_words
from regard.reports.taught_words.pair_index import PairIndex
from regard.results import Explanation, Prediction

PAIRS = [
    ("the dog runs .", "der Hund rennt ."),
    ("the cat runs .", "die Katze rennt ."),
    ("the dog sleeps .", "der Hund schläft ."),
    ("the cat sleeps .", "die Katze schläft ."),
    ("a dog eats .", "ein Hund frisst ."),
    ("a bird eats .", "ein Vogel frisst ."),
    ("the bird runs .", "der Vogel rennt ."),
    ("the old dog eats .", "der alte Vogel frisst ."),  # dog became Vogel: the fault
    ("the old cat eats .", "die alte Katze frisst ."),
    ("the old cat runs .", "die alte Katze rennt ."),
]
SOURCE = ["the", "old", "dog", "runs", "."]


@pytest.fixture(scope="module")
def index():
    return PairIndex.of(PAIRS, [0] * len(PAIRS), range(1, len(PAIRS) + 1))


def rows(found):
    return [one.row for one in found]


def test_pairs_whose_words_are_linked_come_first(index):
    found = index.taught("hund", {"dog": 1.0}, SOURCE, 3)
    assert {*rows(found)} == {0, 2, 4}
    assert all(one.link > 0.5 for one in found)
    assert [PAIRS[one.row][0].split()[one.source[0]] for one in found] == ["dog"] * 3


def test_a_wrong_word_leads_to_the_pair_that_has_it(index):
    found = index.taught("vogel", {"dog": 1.0}, SOURCE, 3)
    assert (found[0].row, found[0].source, found[0].target) == (7, (2,), (2,))


def test_contexts_are_cosines_of_rare_words(index):
    weights = {word: np.log(len(PAIRS) / sum(word in source.split() for source, _ in PAIRS)) for word in SOURCE}
    own = ["the", "dog", "runs", "."]  # of the first pair
    expected = sum(weights[word] ** 2 for word in own) / np.sqrt(
        sum(weights[word] ** 2 for word in own) * sum(weights[word] ** 2 for word in SOURCE)
    )
    assert index.similarities(SOURCE)[0] == pytest.approx(expected)


def test_of_a_word_that_no_pair_has_its_source_word_is_shown(index):
    found = index.taught("köter", {"dog": 1.0, "the": 0.5}, SOURCE, 9)
    assert {*rows(found)} == {0, 2, 4, 7} and all(one.target == () and one.link == 0 for one in found)
    assert index.taught("köter", {"fox": 1.0}, ["fox"], 9) == []


def test_of_a_word_without_its_source_words_the_nearest_contexts_are_shown(index):
    found = index.taught("katze", {"fox": 1.0}, ["the", "old", "fox", "runs"], 3)
    having = [row for row, (_, target) in enumerate(PAIRS) if "Katze" in target.split()]
    nearest = sorted(having, key=lambda row: -index.similarities(["the", "old", "fox", "runs"])[row])[:3]
    assert rows(found) == nearest
    assert all(one.link == 0 and one.target and not one.source for one in found)
    shown = evidence.Evidence([], {row: PAIRS[row] for row in rows(found)}, [["a.en", "a.de"]], index)
    heading, first, *_ = shown.lines([evidence.TaughtWord("Katze", 0, found)], "katze")
    assert "none has a word that it translates here" in heading and "not linked, context" in first


def test_an_index_is_kept_as_it_was(index, tmp_path):
    index.save(tmp_path / "pairs.npz")
    again = PairIndex.load(tmp_path / "pairs.npz")
    assert again is not None
    assert again.taught("vogel", {"dog": 1.0}, SOURCE, 5) == index.taught("vogel", {"dog": 1.0}, SOURCE, 5)
    (tmp_path / "pairs.npz").write_bytes(b"no file of arrays")
    assert PairIndex.load(tmp_path / "pairs.npz") is None


@pytest.mark.parametrize("text", ["Two men, 3 dogs!", "  der Hund", "你好，世界", ""])
def test_spans_are_where_words_stand(text):
    spans = spans_of_words(text)
    assert "".join(text[first:behind] for first, behind in spans) == "".join(text.split())


def test_spans_are_of_the_text_before_it_is_lower_case():
    text = "İki adam İstanbul sever"  # of which each İ has two characters in lower case
    assert {"adam", "sever"} <= {text[first:behind] for first, behind in spans_of_words(text)}


@pytest.fixture
def run(index, monkeypatch):
    examples = [
        SimpleNamespace(line=line, texts={"source": source, "target": target})
        for line, (source, target) in enumerate(PAIRS, start=1)
    ]
    reader = type("Reader", (list,), {"files": ["a.en", "a.de"]})(examples)
    monkeypatch.setattr(evidence, "run_index", lambda run, say: index)
    monkeypatch.setattr(evidence, "training_readers", lambda experiment: {"train": reader})
    return SimpleNamespace(experiment=None)


def translated():
    weights = [[0.1, 0.1, 0.7, 0.1, 0.0, 0.0], [0.0, 0.0, 0.1, 0.8, 0.1, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    found = Explanation.of_text(
        ["▁the", "▁old", "▁dog", "▁runs", "▁.", "</s>"], ["▁Vogel", "▁rennt.", "</s>"], [], weights
    )
    return Prediction("the old dog runs .", "Vogel rennt.", -1.0, explanation=found)


def test_words_of_a_translation_have_their_pairs(run):
    found = taught_words(run, [translated()], "Vogel")
    plain = found.plain(found.words[0])
    assert [word["word"] for word in plain["words"]] == ["Vogel", "rennt."]
    first = plain["words"][0]["pairs"][0]
    pair = plain["pairs"][first["pair"]]
    assert (pair["line"], pair["target"], plain["corpora"]) == (8, PAIRS[7][1], [{"files": ["a.en", "a.de"]}])
    assert [pair[side][slice(*first[side][0])] for side in ("source", "target")] == ["dog", "Vogel"]
    assert [*found.lines(found.words[0], "vogel")][1:4] == [
        f"  a.en:8  link {first['link']:.2f}, context {first['context']:.2f}",
        "    the old [dog] eats .",
        "    der alte [Vogel] frisst .",
    ]


def test_a_word_that_was_not_written_is_refused(run):
    with pytest.raises(ConfigError, match=r"--taught: no translation has the word 'Hund' .they have: Vogel, rennt"):
        taught_words(run, [translated()], "Hund")


@pytest.fixture
def files(tmp_path):
    for side, code in enumerate(("en", "de")):
        (tmp_path / f"a.{code}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    return tmp_path


def mend(folder, *corrections):
    lines = (one if isinstance(one, str) else json.dumps(one) for one in corrections)
    (folder / "list.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    paths = [str(folder / name) for name in ("a.en", "a.de", "list.jsonl", "b.en", "b.de")]
    return CliRunner().invoke(app, ["data", "mend", *paths[:2], "--list", paths[2], "--to", *paths[3:]])


def correction(line, **more):
    return {"line": line, "source": PAIRS[line - 1][0], "target": PAIRS[line - 1][1], **more}


def test_a_copy_has_pairs_dropped_and_mended(files):
    listed = [correction(8, mended="der alte Hund frisst .", files=["x/a.en", "x/a.de"]), correction(2, drop=True)]
    done = mend(files, *listed)
    assert done.exit_code == 0 and "wrote 9 pairs" in done.stderr and "1 dropped, 1 mended" in done.stderr
    targets = (files / "b.de").read_text(encoding="utf-8").splitlines()
    assert targets == [
        *(target for _, target in (PAIRS[0], *PAIRS[2:7])),
        "der alte Hund frisst .",
        PAIRS[8][1],
        PAIRS[9][1],
    ]
    assert (files / "b.en").read_text(encoding="utf-8").count("\n") == 9


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (correction(8) | {"target": "ein anderer"}, "the pair of line 8 of"),
        (correction(8) | {"line": 99}, "the pair of line 99 of"),
        (correction(8, files=["b.en", "b.de"]), "has no correction of a.en and a.de (its corrections are of b.en"),
        ("[1, 2]", "list.jsonl:1: '[1, 2]' is not a correction"),
        ({"line": 0, "source": "", "target": ""}, "is not a correction"),
        ({"line": 1, "source": "", "target": "", "mended": 5}, "is not a correction"),
        (correction(8, mended=" "), "is not a correction"),
        (correction(8, files=5), "is not a correction"),
        (correction(8, files=None), "is not a correction"),
        ("[" * 100_000, "is not a correction"),
    ],
)
def test_lists_that_do_not_fit_are_refused_in_a_line(files, one, problem):
    done = mend(files, one)
    assert done.exit_code == 2 and problem in done.stderr and done.stderr.count("\n") == 1
    assert not (files / "b.en").exists()


def test_files_of_one_name_in_two_folders_are_told_apart(files):
    own, other = ([str(folder / name) for name in ("a.en", "a.de")] for folder in (files, files / "x"))
    done = mend(files, correction(2, files=own), correction(8, files=other) | {"target": "ein anderer"})
    assert done.exit_code == 0 and "1 dropped, 0 mended" in done.stderr
    (files / "b.en").unlink()
    done = mend(files, correction(2, files=["y/a.en", "y/a.de"]), correction(3, files=other))
    assert done.exit_code == 2 and "several files with the names a.en and a.de" in done.stderr
    assert str(other[0]) in done.stderr and done.stderr.count("\n") == 1 and not (files / "b.en").exists()


@pytest.mark.parametrize("kind", ["tsv", "csv"])
@pytest.mark.parametrize(
    ("first", "is_header"), [(("en", "de"), True), (("Source", "Target"), True), (("no", "de"), False)]
)
def test_a_header_is_no_pair(files, kind, first, is_header):
    table = files / f"a.{kind}"
    sign = {"tsv": "\t", "csv": ";"}[kind]
    table.write_text("".join(f"{sign.join(pair)}\n" for pair in (first, *PAIRS)), encoding="utf-8")
    found = read_numbered_pairs([table])
    assert len(found) == len(PAIRS) + (not is_header)
    assert found[-1] == (len(PAIRS) + 1, PAIRS[-1])
    done = CliRunner().invoke(app, ["data", "check", str(table), "--json", "-q"])
    assert json.loads(done.stdout)["pairs"] == len(found)


def test_a_copy_never_takes_the_place_of_what_is_read(files):
    listed = correction(8)
    mend(files, listed)
    before = (files / "a.en").read_text(encoding="utf-8")
    pairs, copies = [str(files / name) for name in ("a.en", "a.de")], [str(files / "b.en")] * 2
    for words, option in (
        (["mend", *pairs, "--list", str(files / "list.jsonl"), "--to", *pairs], "--to SOURCE: "),
        (["mend", *pairs, "--list", str(files / "list.jsonl"), "--to", *copies], "--to TARGET: "),
        (["check", *pairs, "--clean", copies[0], pairs[1]], "--clean TARGET: "),
    ):
        done = CliRunner().invoke(app, ["data", *words])
        assert done.exit_code == 2 and option in done.stderr and done.stderr.count("\n") == 1
    assert (files / "a.en").read_text(encoding="utf-8") == before


def test_pairs_that_a_check_dropped_from_a_table_are_found_again(tmp_path):
    table, dropped = tmp_path / "a.csv", tmp_path / "dropped.jsonl"
    lines = [f"{one},{other}\n" for one, other in [*PAIRS, PAIRS[1]]]
    table.write_text('"the fish\nswims .",der Fisch schwimmt .\n' + "".join(lines), "utf-8")
    copies = [str(tmp_path / name) for name in ("b.en", "b.de")]
    run = CliRunner().invoke
    run(app, ["data", "check", str(table), "--clean", *copies, "--dropped", str(dropped)])
    assert [json.loads(line)["line"] for line in dropped.read_text("utf-8").splitlines()] == [len(PAIRS) + 3]
    done = run(app, ["data", "mend", str(table), "--list", str(dropped), "--to", *copies])
    assert done.exit_code == 0 and "wrote 11 pairs" in done.stderr, done.output
    assert (tmp_path / "b.en").read_text("utf-8").splitlines()[:2] == ["the fish swims .", "the dog runs ."]
