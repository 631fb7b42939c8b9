"""Every reader streams the same examples, plain or packed, and names the line of what it cannot use."""

import gzip
import itertools
import json
from pathlib import Path

import pytest

from regard.data.readers import READERS, HoldOut
from regard.errors import DataError
from regard.registry import Choice

COLUMNS = ("source", "target")
PAIRS = [("a dog", "ein Hund"), ("", "leer"), ("two\u2028lines", "zwei \\ 'Zeilen'"), ("", ""), ("naïve 你好", "naiv")]


def save(path: Path, lines: list[str]) -> str:
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def parallel(folder, ending):
    sides = zip(*PAIRS, strict=True)
    files = {column: save(folder / (column + ending), list(side)) for column, side in zip(COLUMNS, sides, strict=True)}
    return {"files": files}


def tsv(folder, ending):
    return {"file": save(folder / f"pairs.tsv{ending}", ["\t".join(pair) if any(pair) else "" for pair in PAIRS])}


def jsonl(folder, ending):
    rows = [json.dumps(dict(zip(COLUMNS, pair, strict=True))) if any(pair) else "" for pair in PAIRS]
    return {"file": save(folder / f"pairs.jsonl{ending}", rows)}


def babi(folder, ending):
    """Each question with a story of its own, of no sentence."""
    return {"file": save(folder / f"qa1.txt{ending}", [f"1 {question}\t{answer}\t1" for question, answer in PAIRS])}


def csv(folder, ending):
    rows = [",".join(f'"{side}"' if side else "" for side in pair) if any(pair) else "" for pair in PAIRS]
    return {"file": save(folder / f"pairs.csv{ending}", rows)}


def tmx(folder, ending):
    sides = [
        "".join(
            f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in zip(("en-GB", "de"), pair, strict=True)
        )
        for pair in PAIRS
    ]
    rows = ["<tmx><body>", *(f"<tu>{unit}</tu>" for unit in sides), "</body></tmx>"]
    return {"file": save(folder / f"pairs.tmx{ending}", rows)}


def documents(folder, ending):
    return {**parallel(folder, ending), "index": save(folder / "index.tsv", [f"a\tnews\t1\t{len(PAIRS)}"])}


def consecutive(folder, ending):
    """A document of two lines for each pair."""
    text = save(folder / f"text{ending}", [side for pair in PAIRS for side in pair])
    index = [f"a{number}\tnews\t{2 * number + 1}\t2" for number in range(len(PAIRS))]
    return {"file": text, "index": save(folder / "index.tsv", index)}


WRITERS = {
    "babi": babi,
    "consecutive": consecutive,
    "csv": csv,
    "documents": documents,
    "excerpt": parallel,
    "parallel": parallel,
    "tmx": tmx,
    "tsv": tsv,
    "unpaired": parallel,
    "jsonl": jsonl,
}
ELSEWHERE = {
    "adding",
    "ciphered",
    "conll",
    "copying",
    "counting",
    "document_sentences",
    "folders",
    "grids",
    "next_sentence",
    "numbered",
    "po",
    "sentence_order",
    "squad",
    "suggestions",
}  # with tests of their own


def test_every_reader_of_any_columns_is_tried_here():
    assert set(READERS) <= set(WRITERS) | ELSEWHERE


def read(name, **settings):
    return [(line, *texts.values()) for line, texts in READERS.build(Choice(name, settings), COLUMNS)]


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("name", sorted(WRITERS))
def test_every_reader_reads_what_was_written_as_often_as_asked(name, ending, tmp_path):
    reader = READERS.build(Choice(name, WRITERS[name](tmp_path, ending)), COLUMNS)
    step = 2 if name == "consecutive" else 1  # lines that an example takes
    wanted = [(step * number, dict(zip(COLUMNS, pair, strict=True))) for number, pair in enumerate(PAIRS, start=1)]
    assert list(reader) == wanted
    assert list(reader) == wanted
    assert [reader.count(most) for most in (0, 2)] == [0, 2] and reader.count() == len(wanted)
    assert reader.columns == COLUMNS
    assert all(path.exists() for path in reader.files)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_every_reader_refuses_missing_and_empty_files(name, tmp_path):
    settings = WRITERS[name](tmp_path, "")
    for path in READERS.build(Choice(name, settings), COLUMNS).files:
        text = path.read_bytes()
        path.write_bytes(b"")
        with pytest.raises(DataError, match=rf"{path.name}: the file is empty"):
            read(name, **settings)
        path.unlink()
        with pytest.raises(DataError, match=rf"{path.name}: there is no such file"):
            read(name, **settings)
        path.write_bytes(text)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_parts_divide_the_examples(name, tmp_path):
    reader = READERS.build(Choice(name, WRITERS[name](tmp_path, "")), COLUMNS)
    held, rest = (HoldOut(reader, 0.5, seed=3, held_out=held_out) for held_out in (True, False))
    assert sorted([*held, *rest]) == sorted(reader)
    assert len({reader.key(), held.key(), rest.key(), HoldOut(reader, 0.5, seed=4, held_out=True).key()}) == 4
    assert held.files == reader.files


@pytest.mark.parametrize("borders", [[0, 0.2, 1], [0, 0.5, 0.55, 1], [0, 1 / 3, 2 / 3, 1]])
def test_excerpts_that_meet_are_the_whole_text(borders, tmp_path):
    path = save(tmp_path / "text", [f"line {number}" for number in range(17)])
    stretches = [
        [(line, *texts.values()) for line, texts in READERS.build(Choice("excerpt", settings), ("text",))]
        for start, end in itertools.pairwise(borders)
        for settings in [{"files": {"text": path}, "start": start, "end": end}]
    ]
    assert all(stretches)
    assert [row for rows in stretches for row in rows] == [(n + 1, f"line {n}") for n in range(17)]


def test_documents_fall_to_a_part_as_a_whole(tmp_path):
    """Ten documents of 1, 2, … lines, and the index knows nothing of what stands between two of them."""
    lines, index = [], []
    for number in range(10):
        index.append(f"d{number}\tnews\t{len(lines) + 1}\t{number + 1}")
        lines += [f"{number}.{line}" for line in range(number + 1)] + ["between"]
    settings = {"files": {"text": save(tmp_path / "text", lines)}, "index": save(tmp_path / "index", index), "every": 5}
    found = {part: {text.split(".")[0] for _, text in _text(settings, part)} for part in ("train", "dev", "test")}
    assert found == {"train": set("012567"), "dev": set("38"), "test": set("49")}
    assert sum(len(_text(settings, part)) for part in found) == 55
    assert all(lines[line - 1] == text for line, text in _text(settings, "test"))


def _text(settings, part):
    reader = READERS.build(Choice("documents", {**settings, "part": part}), ("text",))
    return [(line, texts["text"]) for line, texts in reader]


def test_a_line_is_paired_with_the_next_of_its_document(tmp_path):
    """Twelve documents of 1, 2, … lines, one right after the other: of n lines n - 1 pairs, and none between two."""
    lines, index = [], []
    for number in range(12):
        index.append(f"d{number}\tnews\t{len(lines) + 1}\t{number + 1}")
        lines += [f"{number}.{line}" for line in range(number + 1)]
    settings = {"file": save(tmp_path / "text", lines), "index": save(tmp_path / "index", index), "every": 4}
    found = {part: read("consecutive", part=part, **settings) for part in ("train", "dev", "test")}
    documents = {"train": (0, 1, 4, 5, 8, 9), "dev": (2, 6, 10), "test": (3, 7, 11)}
    for part, rows in found.items():
        wanted = [(f"{number}.{line}", f"{number}.{line + 1}") for number in documents[part] for line in range(number)]
        assert [(source, target) for _, source, target in rows] == wanted
        assert all(lines[line - 1] == target for line, _, target in rows)


@pytest.mark.parametrize("row", ["a\tnews\t1", "a\tnews\t1\tmany", "a"])
def test_an_index_that_is_none_is_named(tmp_path, row):
    settings = {"files": {"text": save(tmp_path / "t", ["a"])}, "index": save(tmp_path / "i", ["a\tb\t1\t1", row])}
    with pytest.raises(DataError, match="i:2: is not a line of an index"):
        _text(settings, "train")


@pytest.mark.parametrize("first", [0, 2])
def test_an_index_whose_documents_overlap_or_count_from_0_is_named(tmp_path, first):
    rows = ["a\tb\t0\t2"] if first == 0 else ["a\tb\t1\t2", f"c\tb\t{first}\t1"]
    settings = {"files": {"text": save(tmp_path / "t", ["a", "b", "c"])}, "index": save(tmp_path / "i", rows)}
    with pytest.raises(DataError, match=rf"i:{len(rows)}: document '.' begins at line {first}; .* count from 1"):
        _text(settings, "train")


@pytest.mark.parametrize("name", ["documents", "consecutive"])
def test_an_index_of_more_lines_than_there_are_is_named(tmp_path, name):
    text, index = save(tmp_path / "t", ["a", "b", "c"]), save(tmp_path / "i", ["a\tb\t1\t20"])
    files = {"file": text} if name == "consecutive" else {"files": {"source": text, "target": text}}
    with pytest.raises(DataError, match=r"i: names lines up to 20, and .*t has 3"):
        read(name, index=index, **files)


def test_columns_of_a_table_are_chosen(tmp_path):
    path = save(tmp_path / "t.tsv", ["id\tde\ten", "1\tHund\tdog\textra"])
    assert read("tsv", file=path, fields={"source": 3, "target": 2}, header=True) == [(2, "dog", "Hund")]
    path = save(tmp_path / "t.jsonl", [' {"de": "Hund", "en": "dog", "id": 1}\r'])
    assert read("jsonl", file=path, fields={"source": "en", "target": "de"}) == [(1, "dog", "Hund")]


@pytest.mark.parametrize("row", ["only one", "a", "\u2028"])
def test_a_short_first_row_is_another_format(tmp_path, row):
    path = save(tmp_path / "t.tsv", [row, "a\tb"])
    with pytest.raises(DataError, match=r"t\.tsv:1: 1 field, 2 are read"):
        read("tsv", file=path)


@pytest.mark.parametrize(("name", "sign"), [("tsv", "\t"), ("csv", ",")])
def test_a_short_row_is_empty_on_one_side(tmp_path, name, sign):
    path = save(tmp_path / f"t.{name}", [f"a{sign}b", "only one", f"c{sign}d"])
    assert list(read(name, file=path)) == [(1, "a", "b"), (2, "only one", ""), (3, "c", "d")]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "not JSON"),
        ('{"source": "a", "target": "b"} x', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 10_000, "not JSON"),
        ('["a", "b"]', "expected a JSON object, not an array"),
        ('"text"', "expected a JSON object, not a string"),
        ('{"source": "a", "traget": "b"}', r"the object has no 'target' \(did you mean 'traget'\?\)"),
        ("{}", r"the object has no 'source' \(there is none\)"),
        ('{"source": "a", "target": null}', "'target' must be a string, not null"),
        ('{"source": true, "target": "b"}', "'source' must be a string, not a truth value"),
        ('{"source": [1.5], "target": "b"}', "'source' must be a string, not an array"),
    ],
)
def test_rows_that_are_no_objects_of_strings_are_named(tmp_path, row, problem):
    path = save(tmp_path / "t.jsonl", ['{"source": "a", "target": "b"}', row])
    with pytest.raises(DataError, match=r"t\.jsonl:2: " + problem):
        read("jsonl", file=path)


def test_numbers_of_json_are_texts_that_read_back(tmp_path):
    path = save(tmp_path / "t.jsonl", ['{"source": "a b", "target": 3.5}', '{"source": 0.1, "target": -7}'])
    assert list(read("jsonl", file=path)) == [(1, "a b", "3.5"), (2, "0.1", "-7")]


def test_settings_that_change_what_is_read_change_the_key(tmp_path):
    keys = [
        READERS.build(Choice("tsv", {"file": "x", **settings}), COLUMNS).key()
        for settings in ({}, {"header": True}, {"fields": {"source": 2, "target": 1}})
    ]
    assert len(set(keys)) == 3


def test_csv_keeps_quoted_delimiters_quotes_and_line_ends(tmp_path):
    path = save(tmp_path / "pairs.csv", ["en;de", '"a; ""b""', 'c";d', "e;f"])
    examples = list(read("csv", file=path, delimiter=";", header=True))
    assert examples == [(3, 'a; "b" c', "d"), (4, "e", "f")]


def test_csv_faults_name_the_line(tmp_path):
    path = save(tmp_path / "pairs.csv", ["c", "a,b"])
    with pytest.raises(DataError, match=r"pairs.csv:1: 1 field, 2 are read"):
        list(read("csv", file=path))


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["a;b", "c, d;e, f"], ";"),
        (["a, b;c", "d, e;f"], ";"),  # both cut every line in two, one is followed by spaces
        (["a,b; c", "d,e; f"], ","),
        (["a, b", "c, d"], ","),
        (['"a;b";c', '"d', 'e";f'], ";"),
        (['"a;b","c;d"', '"e;f",g'], ","),
        (["a\tb", "c, d\te"], "\t"),
        (["a|b;c", "d|e"], "|"),
    ],
)
def test_csv_finds_the_delimiter_that_cuts_lines_alike(lines, delimiter, tmp_path):
    path = save(tmp_path / "pairs.csv", lines)
    assert list(read("csv", file=path)) == list(read("csv", file=path, delimiter=delimiter))
    readers = [
        READERS.build(Choice("csv", {"file": str(path), "delimiter": sign}), COLUMNS) for sign in (None, delimiter)
    ]
    assert readers[0].key() == readers[1].key()


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["a,b", 'c,"d', 'e,"f"'], 2),
        (["a,b", 'c,"d ""e"" ', "f,g"], 2),  # up to the end of the file
        (['a,"b', 'c","d', "e,f"], 2),  # the first quote of the row is closed
        (["a;b", '"c;d', "e;f", '"g;h'], 2),
    ],
)
def test_the_line_of_a_quote_that_is_not_closed_is_named(tmp_path, lines, line):
    with pytest.raises(DataError, match=rf"pairs\.csv:{line}: the quote that opens in this line is not closed"):
        read("csv", file=save(tmp_path / "pairs.csv", lines))


def test_half_a_surrogate_pair_in_json_becomes_the_sign_for_nothing(tmp_path):
    path = save(tmp_path / "t.jsonl", ['{"source": "\\ud800 a", "target": "\\udc00"}'])
    assert read("jsonl", file=path) == [(1, "\ufffd a", "\ufffd")]


def test_tmx_languages_may_be_named_and_markup_is_left_out(tmp_path):
    german = '<tuv xml:lang="DE"><seg>ein <bpt i="1">&lt;b&gt;</bpt><hi>Hund</hi></seg></tuv>'
    unit = f'<tu>{german}<tuv lang="en-US"><seg>a\n   dog</seg></tuv></tu>'
    path = save(tmp_path / "pairs.tmx", [f"<tmx><body>{unit}</body></tmx>"])
    assert [row[1:] for row in read("tmx", file=path)] == [("ein Hund", "a dog")]
    assert [row[1:] for row in read("tmx", file=path, languages=("en", "de"))] == [("a dog", "ein Hund")]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["<tmx><body><tu>"], "not TMX"),
        (['<?xml version="1.0" encoding="gb2312"?><tmx></tmx>'], "save it as UTF-8"),
        (["<tmx><body></body></tmx>"], "there is no unit"),
        (["<tmx><tu><tuv xml:lang='en'><seg>a</seg></tuv></tu></tmx>"], "the first unit has 1 languages, 2 are needed"),
        (["<tu><tuv xml:lang='en'><seg>a</seg></tuv></tu>"], "the first unit has 1 languages"),  # of a root <tu>
        (["<tmx><tu>", "<hi>" * 1500], ":2: more than 200 elements in one another"),
        (["<!DOCTYPE tmx [", '<!ENTITY a "aaaa">', "]><tmx/>"], ":1: the DOCTYPE of 'tmx' has declarations"),
        (['<!DOCTYPE tu [<!ATTLIST tu a CDATA "b">]><tu/>'], ":1: the DOCTYPE of 'tu' has declarations"),
        (["<tmx>", "<tu><seg>" + "a " * 2**21], ":2: more than 4,194,304 characters in the unit"),
        (["<tmx>", "<tu>" + "<a/>" * 2**19], ":2: more than 4,194,304 characters in the unit"),
        (["<tmx><!-- " + "a" * 2**23], "bytes in one tag, comment"),
    ],
)
def test_tmx_faults_are_told(tmp_path, lines, told):
    with pytest.raises(DataError, match=told):
        list(read("tmx", file=save(tmp_path / "pairs.tmx", lines)))


def numbered(path, columns=("text", "document")):
    return READERS.build(Choice("numbered", {"file": str(path)}), columns)


def test_each_line_is_named_by_its_number(tmp_path):
    (tmp_path / "text").write_text("one\n\n two three\n", encoding="utf-8")
    reader = numbered(tmp_path / "text")
    wanted = [("one", "1"), ("", ""), (" two three", "3")]  # an empty line is no document
    assert [tuple(texts.values()) for _, texts in reader] == wanted
    assert [line for line, _ in reader] == [1, 2, 3]
    assert reader.files == (tmp_path / "text",)


def test_a_missing_file_of_numbered_lines_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        list(numbered(tmp_path / "none"))


@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_fields_are_named_by_the_header(kind, tmp_path):
    sign = "\t" if kind == "tsv" else ","
    path = tmp_path / f"a.{kind}"
    path.write_text("\n".join(sign.join(row) for row in [("id", "German", "English"), ("7", "Hund", "dog")]) + "\n")
    assert read(kind, file=str(path), fields={"source": "English", "target": 2}) == [(2, "dog", "Hund")]
    with pytest.raises(DataError, match=r":1: the header has no 'Englisch' \(did you mean 'English'\?\)"):
        read(kind, file=str(path), fields={"source": "Englisch", "target": 2})
