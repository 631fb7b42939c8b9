"""SQuAD's JSON: gold answers are lines of the answer, and other JSON is told from it."""

import gzip
import json

import pytest

from regard.data.readers import READERS
from regard.errors import DataError
from regard.registry import Choice

COLUMNS = ("passage", "question", "answer")


def question(text, *answers, **more):
    return {"question": text, "answers": [{"text": one, "answer_start": 0} for one in answers], **more}


def squad(*questions, context="A dog\n runs."):
    return {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def rows(path, content, columns=COLUMNS):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    reader = READERS.build(Choice("squad", {"file": str(path)}), columns)
    return [(one.line, *(one.texts[name] for name in columns)) for one in reader]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_questions_are_numbered_and_gold_answers_are_lines(tmp_path, name):
    content = squad(
        question("Who?", "dog", "A dog", "dog"),
        question("What else?", is_impossible=True, plausible_answers=[{"text": "dog", "answer_start": 2}]),
        question("Why\t?", "\ud800"),
    )
    assert rows(tmp_path / name, content) == [
        (1, "A dog runs.", "Who?", "dog\nA dog"),
        (2, "A dog runs.", "What else?", ""),
        (3, "A dog runs.", "Why ?", "\ufffd"),
    ]


def test_an_answer_may_end_with_its_passage_or_have_no_place(tmp_path):
    answers = [{"text": "runs.", "answer_start": 7}, {"text": "dog"}]
    assert rows(tmp_path / "a.json", squad({"question": "b", "answers": answers})) == [
        (1, "A dog runs.", "b", "runs.\ndog")
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([{"text": "a", "label": "b"}], "this JSON is a list"),
        ({"text": "a"}, "not an object with 'data'"),
        (b'{"a": 1}\n{"a": 2}\n', r":2: not JSON.*\.jsonl"),
        (b'{"data": [', "not JSON"),
        (b"[" * 100_000, "nested too deep|not JSON"),
        (b'\n{"data": "\xe9t\xe9"}', ":2: not UTF-8.*latin1"),
        ({"data": [{"paragraphs": [{"context": 5, "qas": [question("a")]}]}]}, "'context' must be a string"),
        ({"data": [{"paragraphs": {}}]}, "'paragraphs' must be a list"),
        ({"data": []}, "there is no question"),
        (squad({"question": None}), "question 1: 'question' must be a string"),
        (
            squad(question("a", "dog"), {"question": "b", "answers": [{"text": "runs.", "answer_start": 8}]}),
            r"a\.json: question 2: the answer 'runs\.' is at characters 8 to 13, outside its passage of 12 .*correct",
        ),
        (squad({"question": "b", "answers": [{"text": "A", "answer_start": -1}]}), "is at characters -1 to 0, outside"),
    ],
)
def test_other_json_is_refused_in_one_line(tmp_path, content, told):
    with pytest.raises(DataError, match=told) as found:
        rows(tmp_path / "a.json", content)
    assert "\n" not in str(found.value)
