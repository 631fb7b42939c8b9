"""regard memory: files in, matches out, files out."""

import gzip
import json
from xml.etree import ElementTree

import pytest
from small_runs import regard as run
from small_runs import unsaid
from typer.testing import CliRunner

from regard.cli.app import app

TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>A dog &amp; a cat</seg></tuv>
<tuv xml:lang="de-DE"><seg>Ein Hund und eine Katze</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Only English</seg></tuv></tu>
</body></tmx>"""


def regard(*words):
    """Return what a command prints on stdout, and on stderr where that is all that matters."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr
    return done


def refused(*words):
    """Return what a command that fails says."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 2
    return done.stderr


def filled(tmp_path):
    memory, units, table = tmp_path / "m.memory", tmp_path / "old.tmx", tmp_path / "more.tsv"
    units.write_text(TMX, encoding="utf-8")
    table.write_text(f"The house is red.\tDas Haus ist rot.\n{'x' * 10_001}\ty\n", encoding="utf-8")
    done = regard("memory", "add", memory, units, table, "--languages", "en", "de", "--author", "Ann")
    for part in ("old.tmx: 1 new segments", "more.tsv: 1 new segments; left out, too long: 1", "2 segments, en → de"):
        assert part in done.stderr
    return memory, units


def test_segments_of_files_are_found(tmp_path):
    memory, units = filled(tmp_path)
    done = regard("memory", "search", memory, "The house is green.", "a dog & a cat")
    assert done.stdout.split("\n")[0].split("\t") == ["75", "The house is red.", "Das Haus ist rot."]
    assert "99\tA dog & a cat\tEin Hund und eine Katze" in done.stdout
    again = regard("memory", "add", memory, units).stderr
    assert "0 new segments" in again and again.count("known already: 1") == 1 and "too long" not in again
    found = json.loads(regard("memory", "search", memory, "The house is green.", "--json").stdout)
    ((match),) = found["matches"]
    assert (match["origin"], match["author"]) == ("more.tsv", "Ann")
    assert match["differs"] == [["green.", "red.", len("The house is ")]]


def test_a_text_without_matches_is_reported_on_stderr(tmp_path):
    memory, _ = filled(tmp_path)
    done = regard("memory", "search", memory, "Nothing of the kind is here.")
    assert done.stdout == "\n" and "no segment is 70 % alike" in done.stderr
    assert regard("memory", "search", memory, "A dog & a cat").stderr == ""
    done = regard("memory", "search", memory, "Nothing of the kind is here.", "--json")
    assert json.loads(done.stdout)["matches"] == [] and done.stderr == ""


def test_a_removed_segment_is_not_found(tmp_path):
    memory, _ = filled(tmp_path)
    assert "1 segments" in regard("memory", "remove", memory, "The house is red.", "Das Haus ist rot.").stderr
    assert regard("memory", "search", memory, "The house is red.").stdout.strip() == ""
    done = run("memory", "remove", memory, "The house is red.", "Das Haus ist rot.")
    assert unsaid(done, "has no such segment") == []


def test_an_author_is_counted_before_anything_is_removed(tmp_path):
    memory, _ = filled(tmp_path)
    others = tmp_path / "others.tsv"
    for place, author in enumerate(("office", "Bob (office)", "Bob (offices)")):
        others.write_text(f"Text {place}\tText {place}\n", encoding="utf-8")
        regard("memory", "add", memory, others, "--author", author)
    for words, left in ((["Ann"], 5), (["Ann", "--yes"], 3), (["office"], 3), (["office", "--yes"], 1)):
        assert f"{left} segments" in regard("memory", "remove", memory, "--author", *words).stderr
    regard("memory", "export", memory, "-o", tmp_path / "out.tsv")
    assert "Text 2" in (tmp_path / "out.tsv").read_text(encoding="utf-8")
    assert unsaid(run("memory", "remove", memory, "--author", "bob (offices)"), "'Bob (offices)'") == []


def test_a_memory_is_written_and_read_again(tmp_path):
    memory, _ = filled(tmp_path)
    for name in ("out.tmx", "out.tmx.gz", "out.tsv"):
        regard("memory", "export", memory, "-o", tmp_path / name)
        done = regard("memory", "add", tmp_path / f"{name}.memory", tmp_path / name, "--languages", "en", "de")
        assert "2 new segments" in done.stderr
    units = ElementTree.fromstring(gzip.decompress((tmp_path / "out.tmx.gz").read_bytes())).findall(".//tu")
    assert [unit.get("creationid") for unit in units] == ["Ann", "Ann"]


def test_refusals(tmp_path):
    memory, _ = filled(tmp_path)
    (tmp_path / "a.pdf").write_text("x")
    (tmp_path / "wide.tsv").write_text("file\ta dog\tein Hund\n")
    (tmp_path / "comma.csv").write_text("Hello, world,Hallo Welt\n")
    (tmp_path / "none.tmx").write_text(TMX.replace('"en"', '"fr"'))
    for words, said in (
        (("search", tmp_path / "none.memory", "x"), "there is no such memory"),
        (("add", tmp_path / "none.memory", tmp_path / "old.tmx"), "there is no such memory"),
        (("add", memory, tmp_path / "a.pdf"), "unknown ending"),
        (("add", memory, tmp_path / "none.tmx"), "has no pair of en and de"),
        (("add", memory, tmp_path / "absent.tsv"), "there is no such file"),
        (("export", memory, "-o", tmp_path / "out.csv"), "expected one of .tmx, .xlf, .xliff, .tsv)"),
        (("add", memory, "--languages", "english", "de"), "'english' is not a language code"),
        (("add", memory, "--languages", "en", "xx"), "'xx' is not a language code"),
        (("search", tmp_path / "old.tmx", "x"), "is not a translation memory"),
        (("remove", memory), "--author"),
        (("remove", memory, "A dog"), "--author"),
        (("remove", memory, "A dog", "Ein Hund", "--yes"), "--author"),
        (("remove", memory, "A dog", "Ein Hund", "--author", "Ann"), "--author"),
        (("add", memory, tmp_path / "old.tmx", "--languages", "en", "fr"), "has en → de, not en → fr"),
        (("add", tmp_path / "same.memory", "--languages", "en", "en"), "both 'en'"),
        (("add", memory, tmp_path / "wide.tsv"), "has 3 columns"),
        (("add", memory, tmp_path / "comma.csv"), "has 3 columns"),
    ):
        assert unsaid(run("memory", *words), said) == []


def test_an_addition_that_fails_leaves_no_empty_memory(tmp_path):
    table, memory = tmp_path / "pairs.tsv", tmp_path / "new.memory"
    table.write_text("a dog\tein Hund\n", encoding="utf-8")
    refused("memory", "add", memory, tmp_path / "none.tsv", "--languages", "de", "fr")
    assert [*tmp_path.iterdir()] == [table]
    assert "1 segments, en → de" in regard("memory", "add", memory, table, "--languages", "en", "de").stderr
    refused("memory", "add", memory, tmp_path / "none.tsv")
    assert memory.exists()


def test_columns_of_a_wide_table_are_named_and_odd_lines_reported(tmp_path):
    wide, odd, memory = tmp_path / "wide.tsv", tmp_path / "odd.tsv", tmp_path / "new.memory"
    wide.write_text("file\ta dog\tein Hund\n", encoding="utf-8")
    odd.write_text("a cat\teine Katze\na cow\teine Kuh\ta note\na hen\tein Huhn\n", encoding="utf-8")
    regard("memory", "add", memory, wide, "--languages", "en", "de", "--columns", "2", "3")
    assert "odd.tsv: line 2 has more fields" in regard("memory", "add", memory, odd).stderr
    assert "100\ta dog\tein Hund" in regard("memory", "search", memory, "a dog").stdout


def test_what_is_left_out_is_counted(tmp_path):
    table, memory, units = tmp_path / "a.tsv", tmp_path / "new.memory", tmp_path / "a.xlf"
    table.write_text("a cat\teine Katze\na cow\t\na hen\t\n", encoding="utf-8")
    unit = '<trans-unit id="{0}"><source>{0}</source><target state="{1}">x</target></trans-unit>'
    body = "".join(unit.format(*one) for one in (("one", "final"), ("two", "needs-translation"), ("three", "new")))
    head = '<xliff version="1.2"><file source-language="en" target-language="de"><body>'
    units.write_text(f"{head}{body}</body></file></xliff>", encoding="utf-8")
    said = regard("memory", "add", memory, table, units, "--languages", "en", "de").stderr
    assert "without a translation: 2" in said and "approved: 2 (--all" in said and "2 segments, en → de" in said


def test_messages_of_gettext_are_segments(tmp_path):
    memory, file = tmp_path / "m.memory", tmp_path / "de.po"
    messages = 'msgid "Save"\nmsgstr "Sichern"\n\nmsgid "Open"\nmsgstr ""\n\n#, fuzzy\nmsgid "Close"\nmsgstr "zu"\n'
    file.write_text(messages, encoding="utf-8")
    said = regard("memory", "add", memory, file, "--languages", "en", "de").stderr
    assert "1 new segments" in said and "without a translation: 1" in said and "approved: 1 (--all" in said
    assert "1 new segments" in regard("memory", "add", memory, file, "--all").stderr
    found = regard("memory", "search", memory, "Close").stdout
    assert found.split("\n")[0].split("\t") == ["100", "Close", "zu"]
    file.write_text('msgid ""\nmsgstr "Language: fr\\n"\n\n' + messages, encoding="utf-8")
    assert "'fr', by its header" in refused("memory", "add", memory, file)


@pytest.mark.parametrize("names", ["source\ttarget", "English\tGerman"])
def test_a_line_of_column_names_is_no_segment(tmp_path, names):
    table, memory = tmp_path / "pairs.tsv", tmp_path / "new.memory"
    table.write_text(f"{names}\na dog\tein Hund\n", encoding="utf-8")
    told = regard("memory", "add", memory, table, "--languages", "zh-Hans", "de").stderr
    assert "pairs.tsv: first line read as column names" in told and "1 segments, zh-Hans → de" in told


def test_a_memory_that_is_not_there_needs_its_languages(tmp_path):
    assert "--languages" in refused("memory", "add", tmp_path / "new.memory", tmp_path / "pairs.tsv")
