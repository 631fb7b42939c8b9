"""regard explain --taught of real runs: pairs with their lines, on the terminal, in JSON and on the page."""

import json

import pytest
from small_runs import SMALL, regard, write_texts
from typer.testing import CliRunner

from regard.cli.app import app

SHARES = ["data.dev_fraction=0", "data.test_fraction=0"]


@pytest.fixture(scope="module", params=["phrases", "network"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    settings = ["task=phrases"] if request.param == "phrases" else SMALL
    done = regard("train", *settings, *write_texts(folder), "--run", folder / "run", *SHARES, "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


def shown(run, *options):
    done = CliRunner().invoke(app, ["explain", str(run), "a dog runs", *options])
    assert done.exit_code == 0, done.stderr
    return done


def test_words_have_pairs_with_lines_and_the_index_is_made_once(run, tmp_path):
    first = shown(run, "--taught", "*", "--json", "--html", str(tmp_path / "page.html"))
    (prediction,) = json.loads(first.stdout)["predictions"]
    taught = prediction["taught"]
    assert [name.rpartition("/")[2] for name in taught["corpora"][0]["files"]] == ["a.en", "a.de"]
    assert {pair["line"] for pair in taught["pairs"]} <= {*range(1, 13)}
    assert '"taught":{' in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "indexing the words of 12 training pairs" in first.stderr
    again = shown(run, "--taught", "*", "--json")
    assert "indexing" not in again.stderr and again.stdout == first.stdout


def test_of_phrases_the_word_leads_to_its_pairs(run):
    if "phrases" not in str(run):
        pytest.skip("two updates teach a network no word")
    lines = shown(run, "--taught", "Hund").stdout.splitlines()
    start = lines.index("pairs that taught “Hund”")
    assert [line.split("  ")[1].rpartition(":")[2] for line in lines[start + 1 : start + 10 : 3]] == ["1", "5", "9"]
    assert lines[start + 2 : start + 4] == ["    a [dog] runs", "    ein [Hund] läuft"]


def test_what_cannot_be_looked_up_is_refused_in_a_line(run):
    for options, problem in (
        (["--taught", "Krokodil"], "--taught: no translation has the word 'Krokodil'"),
        (["--taught", "Hund", "--method", "lrp", "--of", "encoder"], "--taught: is for words of a translation"),
    ):
        done = regard("explain", run, "a dog runs", *options)
        assert done.code == 2 and problem in done.said
