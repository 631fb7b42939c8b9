"""regard predict --memory: the memory answers what it has, the model the rest."""

import json

import pytest
from small_runs import SMALL, regard, unsaid, write_texts
from typer.testing import CliRunner

from regard.cli.app import app
from regard.memory import TranslationMemory, TranslationUnit

LINES = "a dog runs\ntwo cats\n\nyes\ntwo cats\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    assert regard("train", *write_texts(folder), "--run", folder / "run", "data.languages=[en, de]", *SMALL).code == 0
    return folder / "run"


@pytest.fixture
def memory(tmp_path):
    found = TranslationMemory(tmp_path / "m.memory", ("en", "de"))
    found.add([TranslationUnit("two cats", "ZWEI KATZEN"), TranslationUnit("two cats", "DORT ZWEI", "yes")])
    found.add([TranslationUnit("a dog sits", "EIN HUND SITZT")])
    return found.path


def predicted(*words, given=LINES):
    done = CliRunner().invoke(app, ["predict", *map(str, words)], input=given)
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_equal_lines_are_reused_in_their_context(run, memory):
    plain, _ = predicted(run)
    lines, said = predicted(run, "--memory", memory)
    assert lines == [plain[0], "DORT ZWEI", "", plain[3], "DORT ZWEI"]
    assert "memory: 2 of 5 lines reused, 0 with similar segments" in said


def test_similar_segments_are_in_json(run, memory):
    lines, said = predicted(run, "--memory", memory, "--json", given="a dog runs\nyes\ntwo cats\nthe dog sits\n")
    found = [[(one["percent"], one["target"]) for one in json.loads(line).get("memory", [])] for line in lines]
    assert found == [[], [], [(101, "DORT ZWEI"), (100, "ZWEI KATZEN")], []]
    lines, said = predicted(run, "--memory", memory, "--json", given="a big dog sits\n")
    assert [one["percent"] for one in json.loads(lines[0])["memory"]] == [75]
    assert "1 with similar segments" in said


def test_a_line_that_is_too_long_leaves_the_others(run, memory):
    long = "dog " * 3000
    lines, said = predicted(run, "--memory", memory, "--raw", given=f"two cats\ntwo cats\n{long}\nyes\n")
    plain, _ = predicted(run, "--raw", given=f"{long}\nyes\n")
    assert lines[2:] == plain
    assert all(lines[:2])
    assert "stdin:3:" in said


def test_refusals(run, memory, tmp_path):
    other = TranslationMemory(tmp_path / "other.memory", ("fr", "de"))
    page = tmp_path / "page.html"
    page.write_text("<p>yes</p>")
    for words, said in (
        (("--memory", tmp_path / "none.memory"), "there is no such memory"),
        (("--memory", other.path), "has fr → de, and the model translates en → de"),
        (("--memory", memory, "--prefix", page), "does not go with --prefix"),
        (("--memory", memory, "-i", page, "-o", tmp_path / "out.html"), "is for lines"),
    ):
        assert unsaid(regard("predict", run, *words, given="x\n"), said) == []
