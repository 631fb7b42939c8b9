"""regard align: links, tables, the error rate, and what is wrong told in one line."""

import gzip

import pytest
from classifiers import tiny_classifier_in
from engines import tiny_run_in
from typer.testing import CliRunner

from regard.cli.app import app
from regard.explain.alignment import parse_pharaoh
from regard.statistical.lexical_table import Lexicon
from regard.statistical.phrase_table import PhraseTable

SOURCE = ["das Haus", "ein Haus", "das Buch", "", "ein Buch", "Das alte Haus", "das alte Buch"]
TARGET = ["the house", "a house", "the book", "", "a book", "The old house", "the old book"]
WANTED = ["0-0 1-1", "0-0 1-1", "0-0 1-1", "", "0-0 1-1", "0-0 1-1 2-2", "0-0 1-1 2-2"]


@pytest.fixture
def files(tmp_path):
    """Paths of both texts and of gold links with one that is not found: sure 2-2, possible 2p1."""
    sides = [tmp_path / "a.de", tmp_path / "a.en"]
    for path, lines in zip(sides, (SOURCE, TARGET), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    gold = [" ".join(f"{s + 1}-{t + 1}" for s, t in parse_pharaoh(line)) for line in WANTED]
    (tmp_path / "gold").write_text("\n".join([gold[0].replace("1-1", "1-1 2p1"), *gold[1:]]) + "\n", "utf-8")
    return tmp_path, *map(str, sides)


def told(*words, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["align", *map(str, words)])
    assert done.exit_code == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.mark.parametrize(
    "model", ["hmm", "diagonal", "fast_align", "ibm2", "ibm1", "{name: hmm, null_probability: 0.2}"]
)
def test_each_line_has_its_links(files, model):
    _, source, target = files
    assert told(source, target, "--model", model, "--lowercase").splitlines() == WANTED


def test_packed_texts_are_read_and_a_file_is_written(files):
    folder, source, target = files
    packed = folder / "b.de.gz"
    packed.write_bytes(gzip.compress("\n".join(SOURCE).encode()))
    assert told(packed, target, "--lowercase", "-o", folder / "links") == ""
    assert (folder / "links").read_text("utf-8") == told(source, target, "--lowercase")


def test_words_with_no_break_spaces_are_one_word(files):
    folder, *_ = files
    space, lines = "\u00a0", "\u2028"  # neither parts words here, nor the second one lines
    (folder / "b.fr").write_text(f"{space}la maison{lines}\n\n10{space}000 maisons !\nla maison\n", "utf-8")
    (folder / "b.en").write_text("the house\n\n10,000 houses !\nthe house\n", "utf-8")
    found = told(folder / "b.fr", folder / "b.en", "--model", "ibm1").splitlines()
    assert found[1] == "" and len(found) == 4
    assert [len({source for source, _ in parse_pharaoh(line)}) for line in found] == [2, 0, 3, 2]


def test_other_texts_are_learnt_from_and_not_linked(files):
    folder, source, target = files
    for side, line in (("de", "Haus ein"), ("en", "a house")):
        (folder / f"one.{side}").write_text(f"{line}\n", "utf-8")
    one = (folder / "one.de", folder / "one.en", "--model", "ibm1")
    assert told(*one, "--also", source, target) == "0-1 1-0\n" != told(*one)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--method", "lrp"], "--method: is for a translator"),
        (["--reverse", "runs/x"], "--reverse: is for a translator"),
        (["--model", "runs/x", "--lexicon", "l.tsv"], "--lexicon: is for a model that learns from these texts"),
        (["--model", "runs/x"], "runs/x"),
    ],
)
def test_options_of_translators_and_of_aligners_are_told_apart(files, options, problem):
    folder, source, target = files
    assert problem in told(source, target, *[folder / one if one == "l.tsv" else one for one in options], code=2)


def test_a_run_that_does_not_translate_has_no_links(files, tmp_path):
    _, source, target = files
    run = tiny_classifier_in(tmp_path)
    assert (
        told(source, target, "--model", run, code=2)
        == f"error: --model: {run} does not translate (the folder of a translator)\n"
    )


def test_a_translator_of_the_same_direction_is_no_reverse(files, tmp_path):
    _, source, target = files
    run = tiny_run_in(tmp_path)
    said = told(source, target, "--model", run, "--reverse", run, "--method", "attention", code=2)
    assert said == "error: --reverse: translates en → de (a run that translates de → en)\n"


def test_the_error_rate_takes_the_place_of_links(files):
    folder, source, target = files
    assert (
        told(source, target, "--gold", folder / "gold", "--lowercase") == "AER 0.0%, precision 100.0%, recall 100.0%\n"
    )


def test_lexicon_and_phrases_are_written(files):
    folder, source, target = files
    tables = [folder / name for name in ("lexicon.tsv", "phrases.gz", "reordering.gz")]
    options = [word for pair in zip(("--lexicon", "--phrases", "--reordering"), tables, strict=True) for word in pair]
    told(source, target, "--lowercase", *options)
    assert Lexicon.read(tables[0]).best("haus")[0][0] == "house"
    table = PhraseTable.read(*tables[1:])
    assert [entry.target for entry in table.entries(("Das", "alte", "Haus"))] == [("The", "old", "house")]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--model", "hmn"], "--model: there is no 'hmn' (did you mean 'hmm'?)"),
        (["--model", "{name: hmm, null_probability: 1}"], "--model.null_probability: must be"),
        (["--model", "{name: hmm, tension: 1}"], "--model.tension: there is no such setting"),
        (["--symmetrise", "grow"], "--symmetrise: there is no 'grow'"),
        (["--reordering", "FOLDER/r"], "--reordering: needs a phrase table"),
        (["--output", "FOLDER/none/links"], "--output: "),
        (["--gold", "FOLDER/none"], "none: cannot be read"),
        (["--gold", "FOLDER/short"], "short: has 1 lines, but there are 7 sentence pairs"),
        (["--gold", "FOLDER/far"], "far:2: the link 3-1 is beyond 2 and 2 words"),
        (["--also", "FOLDER/none", "FOLDER/a.en"], "none: there is no such file"),
        (["--also", "FOLDER/short", "FOLDER/a.en"], "a.en: 7 lines, but"),
    ],
)
def test_what_is_wrong_is_one_line(files, words, problem):
    folder, source, target = files
    (folder / "short").write_text("1-1\n", "utf-8")
    (folder / "far").write_text("1-1\n3-1\n1-1\n\n1-1\n1-1\n1-1\n", "utf-8")
    line = told(source, target, *(word.replace("FOLDER", str(folder)) for word in words), code=2)
    assert problem in line and line.count("\n") == 1
