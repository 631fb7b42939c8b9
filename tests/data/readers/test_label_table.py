"""Which field of a table is the label."""

import gzip
import json
import time
from pathlib import Path

import pytest

from regard.data.readers.label_table import holds_pairs, label_layout
from regard.errors import DataError

TEXTS = [f"a film that is number {number}, and long" for number in range(9)]
LABELS = ["pos", "neg", "so so"] * 3
ROWS = list(zip(LABELS, TEXTS, strict=True))


def saved(path: Path, rows: list[tuple[str, ...]], sign: str = "\t") -> Path:
    text = "".join(sign.join(f'"{cell}"' if sign == "," else cell for cell in row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.csv"])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("label", [1, 2])
def test_the_field_of_few_short_values_is_the_label(name, header, label, tmp_path):
    rows = [("label", "text"), *ROWS] if header else ROWS
    rows = rows if label == 1 else [row[::-1] for row in rows]
    kind = name.split(".")[1]
    found = label_layout(saved(tmp_path / name, rows, "," if kind == "csv" else "\t"), kind, ("text", "label"))
    assert found.fields == {"label": label, "text": 3 - label}
    assert found.header is header
    assert found.labels == ("neg", "pos", "so so")


def test_long_numbers_are_read_at_once(tmp_path):
    """Each cell is compared with the form of a number: a pattern that begins anew at every digit takes minutes."""
    rows = [(f"{'0' * 200_000}x", str(n % 2), text) for n, text in enumerate(TEXTS)]
    began = time.process_time()
    found = label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label"))
    assert (found.fields["label"], time.process_time() - began < 2.0) == (2, True)


@pytest.mark.parametrize("value", ["1", "-1.5", "+,5", "1,5e-3", "12E4"])
def test_measurements_are_no_labels(tmp_path, value):
    rows = [(f"{value}{n}", str(n % 2), text) for n, text in enumerate(TEXTS)]
    assert label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label")).fields["label"] == 2


def test_numbers_and_names_beside_the_text_are_left_aside(tmp_path):
    rows = [(f"id{n}", str(n % 2), str(n % 4), text) for n, text in enumerate(TEXTS)]
    found = label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label"))
    assert found.fields == {"text": 4, "label": 2}
    assert str(found) == "label in field 2 (2: 0, 1), text in field 4"


def test_two_texts_stand_in_their_order(tmp_path):
    rows = [(text, label, f"{text} and longer") for label, text in ROWS]
    found = label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("first", "second", "label"))
    assert found.fields == {"first": 1, "second": 3, "label": 2}


def test_a_first_line_of_names_is_told_from_an_example(tmp_path):
    path = saved(tmp_path / "a.tsv", [("judgment", "sentence_A"), *ROWS])
    found = label_layout(path, "tsv", ("text", "label"))
    assert (found.fields, found.header, found.labels) == ({"text": 2, "label": 1}, True, ("neg", "pos", "so so"))
    for first in (("rare", "a film unlike others"), ("pos", "bad"), ("", "sentence_A")):
        found = label_layout(saved(tmp_path / "b.tsv", [first, *ROWS]), "tsv", ("text", "label"))
        assert found.header is False and found.fields == {"text": 2, "label": 1}


PAIRS = [(label, text, f"{text} and longer") for label, text in ROWS]


@pytest.mark.parametrize(
    ("rows", "pairs"),
    [
        (PAIRS, True),
        ([("label", "question", "answer"), *PAIRS], True),
        ([(f"id {n}", f"{n}.5", *row) for n, row in enumerate(PAIRS)], True),
        ([(label, "同样的句子", "另外一个句子") for label, *_ in PAIRS], True),
        (ROWS, False),
        ([(f"id{n}", *row) for n, row in enumerate(ROWS)], False),
        ([(f"{n} 12:30", *row) for n, row in enumerate(ROWS)], False),
        ([(f"user_{n}", *row) for n, row in enumerate(ROWS)], False),
        ([(*row, row[1]) for row in PAIRS], False),  # three texts
        ([(f"{n} texts", f"{n} texts") for n in range(9)], False),  # no label
    ],
)
@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_two_texts_beside_the_label_are_pairs(rows, pairs, kind, tmp_path):
    assert holds_pairs(saved(tmp_path / f"a.{kind}", rows, "," if kind == "csv" else "\t"), kind) is pairs


def test_objects_of_two_texts_are_pairs(tmp_path):
    rows = [{"premise": text, "hypothesis": f"not {text}", "gold": label} for label, text in ROWS]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert holds_pairs(tmp_path / "a.jsonl", "jsonl")


def test_objects_are_told_by_their_names(tmp_path):
    lines = "".join(json.dumps({"id": n, "review": text, "stars": n % 3}) + "\n" for n, text in enumerate(TEXTS))
    (tmp_path / "a.jsonl").write_text(lines)
    found = label_layout(tmp_path / "a.jsonl", "jsonl", ("text", "label"))
    assert (found.fields, found.header) == ({"text": "review", "label": "stars"}, False)


def test_a_small_table_is_read_as_the_one_beside_it(tmp_path):
    path = saved(tmp_path / "a.tsv", [("good", "pos"), ("bad", "pos")])
    assert label_layout(path, "tsv", ("text", "label"), {"text": 1, "label": 2}).fields == {"text": 1, "label": 2}


@pytest.mark.parametrize("rows", [[("one",), ("two",)], [("a", "b"), ("c", "d")]])
def test_a_table_without_labels_is_told(rows, tmp_path):
    with pytest.raises(DataError, match="no field looks like a label") as found:
        label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label"))
    assert "data.train" not in str(found.value)  # it may be a test set


@pytest.mark.parametrize("place", [0, 4])
@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_lines_of_other_numbers_of_fields_are_told_and_give_no_label(place, kind, tmp_path):
    rows = [*ROWS[:place], ("lonely text",), ("pos", "a film", "cut"), *ROWS[place:]]
    path = saved(tmp_path / f"a.{kind}", rows, "," if kind == "csv" else "\t")
    found = label_layout(path, kind, ("text", "label"))
    assert (found.fields, found.labels) == ({"text": 2, "label": 1}, ("neg", "pos", "so so"))
    wanted = f"line {place + 1} has fewer fields than 2; line {place + 2} has more fields than 2, which are not read"
    assert str(found).endswith(wanted)


def test_numbers_that_hardly_come_again_are_no_label(tmp_path):
    rows = [(f"0.{n}", text) for n, text in zip((1, 2, 3, 4, 5, 6, 7, 8, 8), TEXTS, strict=True)]
    with pytest.raises(DataError, match="no field looks like a label"):
        label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label"))


def test_labels_with_commas_are_quoted(tmp_path):
    rows = [(f"yes, {n % 2}", text) for n, text in enumerate(TEXTS)]
    found = label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label"))
    assert str(found) == "label in field 1 (2: 'yes, 0', 'yes, 1'), text in field 2"


def test_an_array_of_objects_is_no_table(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps([{"text": text, "label": label} for label, text in ROWS]))
    with pytest.raises(DataError, match=r"holds no JSON object .one object a line"):
        label_layout(tmp_path / "a.jsonl", "jsonl", ("text", "label"))


@pytest.mark.parametrize("sign", [";", "\t", "|"])
@pytest.mark.parametrize("header", [False, True])
def test_another_delimiter_is_found_and_told(sign, header, tmp_path):
    rows = [("label", "text"), *ROWS] if header else ROWS  # each text holds one comma
    found = label_layout(saved(tmp_path / "a.csv", rows, sign), "csv", ("text", "label"))
    assert (found.fields, found.header, found.labels) == ({"text": 2, "label": 1}, header, ("neg", "pos", "so so"))
    assert str(found).endswith(f"; the delimiter is {sign!r}")


def test_a_rare_delimiter_is_offered(tmp_path):
    (tmp_path / "a.csv").write_text('"a film"#good\n"a book"#bad\n')
    with pytest.raises(DataError, match=r"a\.csv:1: not CSV with the delimiter ','.*delimiter: '#'"):
        label_layout(tmp_path / "a.csv", "csv", ("text", "label"))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [("positive", f"a film number {place} indeed") for place in range(9)],
            "all 9 rows have one label, 'positive'",
        ),
        (
            [("pos", "the same film"), ("neg", "the same film")] * 5,
            "the texts of all 10 rows are equal: 'the same film'",
        ),
    ],
)
def test_one_label_and_equal_texts_are_named(tmp_path, rows, told):
    (tmp_path / "a.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=told):
        label_layout(tmp_path / "a.tsv", "tsv", ("text", "label"))


SETS = ["sport", "sport, art", "art, money", "money, sport", "art"] * 6


@pytest.mark.parametrize("sign", [", ", "; ", "|"])
def test_values_like_sets_of_labels_name_the_task_of_several(sign, tmp_path):
    rows = [(labels.replace(", ", sign), f"a text of number {n}") for n, labels in enumerate(SETS)]
    found = str(label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label")))
    assert "task=multi_label" in found and ("with commas" in found) is (sign != ", ")


@pytest.mark.parametrize("cities", [["Paris, France", "Rome, Italy"], ["Seattle, WA", "Spokane, WA", "Yakima, WA"]])
def test_labels_with_a_comma_are_no_sets(cities, tmp_path):
    rows = [(cities[n % len(cities)], f"a text of number {n}") for n in range(30)]
    assert "multi_label" not in str(label_layout(saved(tmp_path / "a.tsv", rows), "tsv", ("text", "label")))


@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
def test_the_field_of_sets_is_found_by_their_labels(kind, tmp_path):
    """There are nearly as many sets as rows; of the labels in them there are seven."""
    rows = [
        (", ".join("abcdefg"[k] for k in range(7) if n >> k & 1) or "-", f"text {n}, and it ends") for n in range(99)
    ]
    if kind == "jsonl":
        lines = [json.dumps({"topics": labels.split(", "), "review": text}) for labels, text in rows]
        path = saved(tmp_path / "a.jsonl", [(line,) for line in lines])
    else:
        path = saved(tmp_path / "a.tsv", rows)
    found = label_layout(path, kind, ("text", "labels"), sets=True)
    assert found.fields == ({"labels": "topics", "text": "review"} if kind == "jsonl" else {"labels": 1, "text": 2})
    assert found.labels == tuple("abcdefg")
