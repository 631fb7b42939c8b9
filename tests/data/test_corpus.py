"""A corpus holds exactly the usable examples, tells the others, and its cache is right or absent."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.data import corpus, sealed
from regard.data.corpus import Corpus
from regard.data.readers import READERS, HoldOut
from regard.errors import DataError
from regard.registry import Choice
from regard.text.clean import clean

BUILDER = Path(__file__).parents[1] / "helpers" / "builder.py"


def build_elsewhere(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, BUILDER, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(regard.__file__).parents[1])}
    return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True, env=environment)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_what_was_read_is_kept(tmp_path, corpus_of, letters, sentences):
    built = corpus_of(tmp_path, sentences)
    assert len(built) == len(sentences)
    assert built.columns == ("source", "target")
    assert built.lines.tolist() == list(range(1, len(sentences) + 1))
    for side, column in enumerate(built.columns):
        assert [built.text(column, line) for line in range(len(built))] == [clean(pair[side]) for pair in sentences]
        wanted = [letters().encode(clean(pair[side])) for pair in sentences]
        assert [built.ids(column, line).tolist() for line in range(len(built))] == wanted
        assert built.lengths(column).tolist() == [len(ids) for ids in wanted]
        flat, lengths = built.gather(column, np.array([7, 0, 7, 499]))
        assert flat.tolist() == wanted[7] + wanted[0] + wanted[7] + wanted[499]
        assert lengths.tolist() == [len(wanted[line]) for line in (7, 0, 7, 499)]
    assert str(built.report) == "500 examples, none skipped"


TEXT = st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=30), st.integers(1, 5))
def test_any_texts_survive_whatever_the_size_of_a_chunk(tmp_path_factory, write, letters, pairs, chunk):
    folder = tmp_path_factory.mktemp("any")
    pairs = [("never", "empty"), *pairs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "EXAMPLES_AT_ONCE", chunk)
        built = Corpus.open(write(folder, pairs), dict.fromkeys(("source", "target"), letters()), folder / "cache")
    kept = [
        (line, clean(source), clean(target))
        for line, (source, target) in enumerate(pairs, start=1)
        if clean(source).strip() and clean(target).strip()
    ]
    assert kept == [
        (number, built.text("source", line), built.text("target", line))
        for line, number in enumerate(built.lines.tolist())
    ]
    assert built.report.kept + sum(built.report.skipped.values()) == len(pairs)


def test_c1_control_characters_are_counted_and_told_by_number(tmp_path, corpus_of):
    built = corpus_of(tmp_path, [("a", "b"), ("d\x92accord", "b"), ("naïve", "b"), ("a", "\x80")])
    assert str(built.report).startswith("4 examples, none skipped; C1 control characters in 2 (lines 2, 4): cp1252 ")


def test_skipped_lines_are_counted_and_told_by_number(tmp_path, corpus_of):
    pairs = [("a", "b"), ("", ""), ("a", ""), (" \u3000", "\t"), ("", "b"), ("aaaa", "b"), ("aaa", "bbb")]
    pairs += [("a", "")] * 6
    built = corpus_of(tmp_path, pairs, max_tokens=3)
    assert built.lines.tolist() == [1, 7]
    report = built.report
    assert report.skipped == {"empty": 2, "one_sided": 8, "too_long": 1}
    assert report.first == {"empty": (2, 4), "one_sided": (3, 5, 8, 9, 10), "too_long": (6,)}
    assert str(report) == (
        "2 examples; skipped: 2 empty (lines 2, 4), 8 empty on one side only (lines 3, 5, 8, 9, 10 …), "
        "1 too long (line 6)"
    )
    rows = [line.split("\t") for line in report.file.read_text("utf-8").splitlines()]
    assert [int(line) for line, _, _ in rows] == [2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13]
    assert rows[1] == ["3", "one_sided", "no text in target"]
    assert rows[4] == ["6", "too_long", "4 tokens in source, at most 3"]


def test_a_data_set_of_which_nothing_is_left_is_refused(corpus_of, tmp_path):
    with pytest.raises(
        DataError, match=r"no example can be used: 0 examples; skipped: 2 empty on one side only \(lines 1, 2\)"
    ):
        corpus_of(tmp_path, [("a", ""), ("", "b")])
    assert names(tmp_path / "cache") == []


def test_a_column_without_tokenizer_keeps_its_text(tmp_path, letters):
    (tmp_path / "labels.tsv").write_text("good\tpositive\nbad\tnegative\n", "utf-8")
    reader = READERS.build(Choice("tsv", {"file": str(tmp_path / "labels.tsv")}), ("text", "label"))
    built = Corpus.open(reader, {"text": letters()}, tmp_path / "cache")
    assert [built.text("label", line) for line in range(2)] == ["positive", "negative"]
    assert built.lengths("text").tolist() == [4, 3]


@pytest.mark.parametrize(("size", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_large_vocabularies_fit(tmp_path, write, letters, size, dtype):
    tokenizer = letters(size)
    built = Corpus.open(write(tmp_path, [("a\uffff", "\U0010fffd")]), {"source": tokenizer}, tmp_path / "cache")
    assert built.ids("source", 0).dtype == dtype
    assert built.ids("source", 0).tolist() == tokenizer.encode("a\uffff")


def test_progress_is_told(tmp_path, corpus_of, monkeypatch, sentences):
    monkeypatch.setattr(corpus, "EXAMPLES_AT_ONCE", 200)
    told: list[int] = []
    corpus_of(tmp_path, sentences, progress=told.append)
    assert told == [200, 400, 500]


def test_parts_make_disjoint_corpora(tmp_path, write, letters, sentences):
    reader = write(tmp_path, sentences)
    corpora = [
        Corpus.open(HoldOut(reader, 0.2, held_out=held_out), {"source": letters()}, tmp_path / "cache")
        for held_out in (True, False)
    ]
    assert sorted(line for built in corpora for line in built.lines.tolist()) == list(range(1, 501))
    assert 50 < len(corpora[0]) < 150


def test_a_cache_is_used_again_and_keyed_by_all_that_matters(tmp_path, write, letters, sentences, monkeypatch):
    reader, cache = write(tmp_path, sentences), tmp_path / "cache"
    built = Corpus.open(reader, {"source": letters()}, cache)
    again = Corpus.open(reader, {"source": letters()}, cache, progress=pytest.fail)
    assert (again.folder, again.report) == (built.folder, built.report)
    keys = {
        built.key,
        Corpus.open(reader, {"source": letters(999)}, cache).key,
        Corpus.open(reader, {"target": letters()}, cache).key,
        Corpus.open(reader, {"source": letters()}, cache, max_tokens=20).key,
        Corpus.open(write(tmp_path, [*sentences, ("one", "more")]), {"source": letters()}, cache).key,
    }
    monkeypatch.setattr(corpus, "VERSION", "another")
    keys.add(Corpus.open(reader, {"source": letters()}, cache).key)
    assert len(keys) == 6
    assert names(cache) == sorted(keys)


def damages() -> dict[str, object]:
    def flip(folder: Path) -> None:
        path = max(folder.glob("*.ids.bin"), key=lambda path: path.stat().st_size)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    def retell(folder: Path) -> None:
        path = folder / sealed.SEAL
        path.write_text(path.read_text("utf-8").replace('"kept": 500', '"kept": 501'), "utf-8")

    return {
        "a flipped bit": flip,
        "a truncated file": lambda folder: os.truncate(folder / "source.text.bin", 10),
        "a missing file": lambda folder: (folder / "lines.bin").unlink(),
        "another manifest": retell,
        "half a manifest": lambda folder: os.truncate(folder / sealed.SEAL, 100),
        "a foreign manifest": lambda folder: (folder / sealed.SEAL).write_text("[]", "utf-8"),
        "no manifest": lambda folder: (folder / sealed.SEAL).unlink(),
    }


@pytest.mark.parametrize("damage", damages().values(), ids=damages().keys())
def test_a_damaged_cache_is_built_anew(corpus_of, sentences, damage, tmp_path):
    built = corpus_of(tmp_path, sentences)
    before = {path.name: path.read_bytes() for path in built.folder.iterdir()}
    damage(built.folder)
    again = corpus_of(tmp_path, sentences)
    assert {path.name: path.read_bytes() for path in again.folder.iterdir()} == before
    assert names(tmp_path / "cache") == [built.key]


def test_files_that_change_meanwhile_make_no_cache(tmp_path, write, letters, sentences):
    reader = write(tmp_path, sentences)

    def append(_: int) -> None:
        with reader.files[0].open("a") as file:
            file.write("more\n")

    with pytest.raises(DataError, match=r"text\.source: was changed while it was read"):
        Corpus.open(reader, {"source": letters()}, tmp_path / "cache", progress=append)
    assert names(tmp_path / "cache") == []


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, write, letters, sentences, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(sealed, "seal", full)
    with pytest.raises(DataError, match="cache: the data cache cannot be written: No space left on device"):
        Corpus.open(write(tmp_path, sentences), {"source": letters()}, tmp_path / "cache")
    assert names(tmp_path / "cache") == []


def test_a_disk_that_does_not_keep_what_is_written_is_told(tmp_path, write, letters, sentences, monkeypatch):
    monkeypatch.setattr(sealed, "file_digest", lambda path: str(time.perf_counter_ns()))
    with pytest.raises(DataError, match="does not read back the same"):
        Corpus.open(write(tmp_path, sentences), {"source": letters()}, tmp_path / "cache")


@pytest.mark.parametrize("moment", ["encode", "seal", "publish"])
def test_a_builder_killed_on_the_way_leaves_no_cache(tmp_path, write, letters, sentences, moment):
    reader = write(tmp_path, sentences)
    with build_elsewhere(tmp_path / "cache", *reader.files, "--die-at", moment) as process:
        assert process.wait() == -9
    left = names(tmp_path / "cache")
    assert len(left) == 1
    assert left[0].startswith(".")
    built = Corpus.open(reader, dict.fromkeys(("source", "target"), letters()), tmp_path / "cache")
    assert [built.text("source", line) for line in range(500)] == [clean(source) for source, _ in sentences]
    assert names(tmp_path / "cache") == [built.key]


def test_builders_at_the_same_time_all_end_well(tmp_path, write, sentences):
    reader = write(tmp_path, sentences)
    processes = [build_elsewhere(tmp_path / "cache", *reader.files, "--meet", tmp_path / "meet", 3) for _ in range(3)]
    told = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    facts = [json.loads(line) for line in told]
    assert facts[0] == facts[1] == facts[2]
    assert facts[0]["texts"] == [clean(source) for source, _ in sentences]
    assert names(tmp_path / "cache") == [facts[0]["key"]]
