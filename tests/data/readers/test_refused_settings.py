"""Settings and columns that a reader refuses, before it reads: the place that is named, and what is told of it."""

import pytest

from regard.data.readers import READERS
from regard.errors import ConfigError
from regard.registry import Choice

PAIR, TEXT, THREE = ("source", "target"), ("text",), ("a", "b", "c")
FILE = {"file": "a"}
EXCERPT = {"files": {"text": "a"}}

REFUSED = [
    ("adding", PAIR, {"length": 6, "min_length": 7}, "min_length", "is 7, more than the length of 6"),
    ("adding", PAIR, {"length": 6, "min_length": 1}, "min_length", "is 1 .at least 2"),
    ("adding", PAIR, {"length": 1}, "length", "is 1 .at least 2"),
    ("adding", PAIR, {"length": 0}, "length", "must be at least 1, not 0"),
    ("adding", PAIR, {"length": "many"}, "length", "must be a whole number"),
    ("adding", PAIR, {"operation": "divide"}, "operation", ""),
    ("adding", PAIR, {"seed": -1}, "seed", "must be at least 0, not -1"),
    ("adding", THREE, {}, "", "the task reads a, b, c"),
    ("babi", TEXT, FILE, "", "a story, a question and an answer"),
    ("babi", PAIR, {"file": "babi.tar.gz"}, "task", "must be given for an archive"),
    ("conll", ("text", "tags"), {**FILE, "delimiter": "::"}, "delimiter", "one character"),
    ("conll", ("text", "tags"), {**FILE, "fields": {"text": 1}}, "fields", "text, tags"),
    ("consecutive", TEXT, {**FILE, "index": "i"}, "", "the task reads text"),
    ("copying", THREE, {}, "", "the task reads a, b, c"),
    ("counting", THREE, {}, "", "the task reads a, b, c"),
    ("csv", PAIR, {**FILE, "delimiter": "::"}, "delimiter", "one character"),
    ("document_sentences", PAIR, FILE, "", "a sentence, its window and a translation.*source, target"),
    ("excerpt", TEXT, {**EXCERPT, "start": 0.5, "end": 0.5}, "start", "fractions of the text"),
    ("excerpt", TEXT, {**EXCERPT, "start": 0.9, "end": 0.1}, "start", "fractions of the text"),
    ("excerpt", TEXT, {**EXCERPT, "start": -0.1}, "start", "must be at least 0"),
    ("excerpt", TEXT, {**EXCERPT, "end": 1.1}, "end", "must be at most 1"),
    ("folders", TEXT, {"folder": "a"}, "folder", "a text and its label"),
    ("grids", PAIR, {"size": 2, "marked": 5}, "marked", "is 5, and a grid has 4 cells"),
    ("jsonl", PAIR, {**FILE, "fields": {"text": "a"}}, "fields", "source, target"),
    ("next_sentence", PAIR, FILE, "", "two texts and a label"),
    ("numbered", TEXT, FILE, "name", "the task reads text"),
    ("parallel", PAIR, {"files": {"source": "a", "traget": "b"}}, "files", "source, target"),
    ("parallel", PAIR, {"files": {}}, "files", "source, target"),
    ("sentence_order", THREE, FILE, "", "a text and a label, and the task reads a, b, c"),
    ("squad", ("text", "label"), FILE, "name", "reads passage, question, answer"),
    ("suggestions", TEXT, FILE, "", "a text and its translation"),
    ("tsv", PAIR, {**FILE, "fields": {"source": 1}}, "fields", "source, target"),
    ("tsv", PAIR, {**FILE, "fields": {"source": 0, "target": 1}}, "fields.source", "must be at least 1 or text, not 0"),
]


@pytest.mark.parametrize(("name", "columns", "settings", "place", "told"), REFUSED)
def test_what_a_reader_refuses_is_named(name, columns, settings, place, told):
    where = ".".join(filter(None, ("data.reader", place)))
    with pytest.raises(ConfigError, match=rf"{where}: .*{told}") as caught:
        READERS.build(Choice(name, settings), columns)
    assert str(caught.value).count("\n") == 0
