"""regard predict --memory: the memory answers what it has, the model the rest."""

import json

import pytest
from small_runs import SMALL, regard, unsaid, write_texts
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import DataError
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
    assert "memory: 2 of 4 sentences reused, 0 with similar segments" in said and "warning: memory" not in said


def test_similar_segments_are_in_json(run, memory):
    lines, said = predicted(run, "--memory", memory, "--json", given="a dog runs\nyes\ntwo cats\nthe dog sits\n")
    found = [[(one["percent"], one["target"]) for one in json.loads(line).get("memory", [])] for line in lines]
    assert found == [[], [], [(101, "DORT ZWEI"), (100, "ZWEI KATZEN")], []]
    lines, said = predicted(run, "--memory", memory, "--json", given="a big dog sits\n")
    assert [one["percent"] for one in json.loads(lines[0])["memory"]] == [75]
    assert "1 with similar segments" in said


@pytest.mark.parametrize("words", [(), ("--raw",)])
def test_a_stored_translation_reports_terms_that_it_lacks(run, memory, tmp_path, words):
    (tmp_path / "terms.tsv").write_text("cats\tKater\n")
    options = ["--memory", memory, "--glossary", tmp_path / "terms.tsv", *words]
    _, said = predicted(run, *options, given="two cats\n")
    assert "'cats' is not translated as 'Kater'" in said and "1 of the 1 terms" in said


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
    ):
        assert unsaid(regard("predict", run, *words, given="x\n"), said) == []


def test_sentences_of_a_line_are_reused(run, memory):
    TranslationMemory(memory).add([TranslationUnit("See {name} at 10.", "Siehe {name} um zehn.")])
    given = "Two cats. See {name} at 10.\n- See {name} at 10.\n"
    lines, said = predicted(run, "--memory", memory, given=given)
    plain, _ = predicted(run, given="Two cats.\n")
    assert lines == [f"{plain[0]} Siehe {{name}} um zehn.", "- Siehe {name} um zehn."]
    assert "memory: 2 of 3 sentences reused" in said
    found = json.loads(predicted(run, "--memory", memory, "--json", given=given)[0][0])["sentences"]
    assert [one["memory"][0]["percent"] for one in found] == [99, 100]
    assert found[0]["memory"][0]["differs"] == [["Two ", "two ", 0], ["cats.", "cats", 4]]


def test_segments_like_a_text_on_the_command_line_are_listed(run, memory):
    lines, said = predicted(run, "--memory", memory, "Two cats. Two cats.", given="")
    assert said.count("memory: 99 %: two cats → DORT ZWEI") == 2 and len(lines) == 1
    assert "memory: 99 %" not in predicted(run, "--memory", memory, given="Two cats.\n")[1]
    assert "memory: 99 %" not in predicted(run, "--memory", memory, "--json", "Two cats.", given="")[1]


def test_a_whole_line_comes_before_its_sentences(run, memory):
    TranslationMemory(memory).add([TranslationUnit("Two cats. A dog.", "KATZEN UND EIN HUND")])
    lines, _ = predicted(run, "--memory", memory, given="Two cats. A dog.\n")
    assert lines == ["KATZEN UND EIN HUND"]


def test_sentences_of_documents_are_reused(run, memory, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<p>two <b>cats</b></p><p>a dog runs</p>", encoding="utf-8")
    done = regard("predict", run, "--memory", memory, "-i", page, "-o", tmp_path / "out.html")
    assert "memory: 1 of 2 sentences reused, 0 with similar" in done.said
    written = (tmp_path / "out.html").read_text("utf-8")
    assert written.startswith("<p>") and written.count("<b>") == 1
    assert "DORT ZWEI" in written.replace("<b>", "").replace("</b>", "")


@pytest.mark.parametrize("shards", [1, 7])
def test_shards_have_the_memory(shards, run, memory, tmp_path):
    """A shard goes on in the context of the rows before it."""
    TranslationMemory(memory).add([TranslationUnit("two cats", "ZWEI KATZEN", "a dog")], newest=True)
    text = f"{LINES}It is late. yes\n\ntwo cats\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    words = (tmp_path / "a.txt", "--shards", shards, "--workers", "1", "-o", tmp_path / "out", "--memory", memory)
    done = regard("predict", run, *words)
    assert done.code == 0, done.said
    lines, _ = predicted(run, "--memory", memory, given=text)
    assert (lines[1], lines[4], lines[7]) == ("ZWEI KATZEN", "DORT ZWEI", "DORT ZWEI")
    assert (tmp_path / "out" / "a.txt").read_text("utf-8").splitlines() == lines


def test_files_in_shards_have_contexts_of_their_own(run, memory, tmp_path):
    TranslationMemory(memory).add([TranslationUnit("two cats", "ZWEI KATZEN", "a dog")], newest=True)
    (tmp_path / "a.txt").write_text("yes\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("two cats\n", encoding="utf-8")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    words = ("--shards", "2", "--workers", "1", "-o", tmp_path / "out", "--memory", memory)
    assert regard("predict", run, *files, *words).code == 0
    assert (tmp_path / "out" / "b.txt").read_text("utf-8") == "ZWEI KATZEN\n"


def test_shards_of_a_changed_memory_are_refused(run, memory, tmp_path):
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    words = (tmp_path / "a.txt", "--shards", "2", "--on", "slurm", "-o", tmp_path / "out", "--memory", memory)
    assert regard("predict", run, *words).code == 0
    TranslationMemory(memory).add([TranslationUnit("yes", "JA")])
    assert unsaid(regard("predict", run, *words), "was begun with other memory") == []


def test_a_predictor_has_a_memory(run, memory):
    import regard as package

    predictor, found = package.load(run), TranslationMemory(memory)
    first, second = predictor.translate(["yes", "two cats"], memory=found)
    assert (first.memory, second.text, second.memory[0].percent) == ([], "DORT ZWEI", 101)
    with pytest.raises(DataError, match="prefixes"):
        predictor.translate(["yes"], memory=found, prefixes=["a"])


def test_similar_segments_guide_the_model(run, memory):
    text = "a big dog sits"
    plain, _ = predicted(run, "--json", text)
    lines, _ = predicted(run, "--memory", memory, "--memory-weight", "0.9", "--json", text)
    found = json.loads(lines[0])
    assert {*found["shares"]} == {"model", "nearest_segments"}
    assert sum(found["shares"].values()) == pytest.approx(found["score"])
    assert found["text"] != json.loads(plain[0])["text"]
    (segment,) = {one["source"] for word in found["evidence"] for one in word["segments"]}
    assert segment == "a dog sits"
    assert all(0 < one["percent"] <= 100 for word in found["evidence"] for one in word["segments"])


def test_refusals_of_a_weight(run, memory, tmp_path):
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    shards = (tmp_path / "a.txt", "--shards", "1", "-o", tmp_path / "out", "--memory", memory)
    for words, said in (
        (("--memory-weight", "0.5", "x"), "--memory-weight: needs a translation memory (--memory FILE)"),
        ((*shards, "--memory-weight", "0.5"), "--memory-weight: does not go with --shards"),
        (("x", "--workers", "2"), "--workers: needs --shards"),
        (("x", "--on", "slurm"), "--on: needs --shards"),
        (("decoding.features=nearest_segments", "x"), "decoding.features.nearest_segments.memory: is not given"),
        (("decoding.features=[{name: nearest_segments, memory: no.memory}]", "x"), "there is no such memory"),
    ):
        assert unsaid(regard("predict", run, *words), said) == []


def test_other_languages_and_memories_as_texts_are_refused(run, tmp_path):
    (tmp_path / "a.tmx").write_text("<tmx/>")
    assert unsaid(regard("predict", run, "-i", tmp_path / "a.tmx"), "'.tmx' cannot be translated") == []
    words = ("check", run, "--languages", "en", "fr", "--only", "empty")
    assert unsaid(regard(*words), "--languages", "en → de") == []
