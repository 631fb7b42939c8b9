"""SQuAD's JSON, versions 1.1 and 2.0 (https://arxiv.org/abs/1606.05250, https://arxiv.org/abs/1806.03822)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.examples import Example
from regard.data.readers.lines import encoding_hint, reading_faults
from regard.data.readers.reader import FileName, FileReader
from regard.errors import DataError, PartError
from regard.packed import open_packed
from regard.results import BETWEEN_ANSWERS
from regard.text.clean import without_surrogates

_LARGEST = 2**28  # bytes of a file, unpacked: it is held as a whole
_COLUMNS = ("passage", "question", "answer")
_READ = "SQuAD is {data: [{paragraphs: [{context, qas: [{question, answers: [{text}]}]}]}]}; rows of objects are .jsonl"


class SquadReader(FileReader):
    """Passages, questions and gold answers, one answer per line: `regard evaluate` takes the nearest.

    A question without an answer (`is_impossible`) has an empty one. Examples are numbered by the questions, from 1.
    Line ends in texts become spaces.
    """

    aliases = "json, squad_v2"
    answers = ("span",)

    def __init__(self, columns: tuple[str, ...], *, file: FileName) -> None:
        if tuple(columns) != _COLUMNS:
            problem = f"reads {', '.join(_COLUMNS)}, not {', '.join(columns)}"
            raise PartError(problem, "task=reading; rows of other tasks: .jsonl, .csv or .tsv", setting="name")
        super().__init__(columns, file)

    def key(self) -> str:
        return "squad"

    def __iter__(self) -> Iterator[Example]:
        for number, one in enumerate(squad_questions(self.path), start=1):
            texts = (one.passage, one.question, BETWEEN_ANSWERS.join(filter(None, one.answers)))
            yield Example(number, dict(zip(_COLUMNS, texts, strict=True)))


class SquadQuestion(NamedTuple):
    """A question with its passage, gold answers and name; line ends in the texts are spaces."""

    name: str  # its id; of a question without one its number
    passage: str
    question: str
    answers: Sequence[str]


def squad_questions(path: Path) -> Iterator[SquadQuestion]:
    """Yield the questions of a file. Raises DataError for a file that is not SQuAD's, or has none."""
    number = 0
    for article in _listed(path, _content(path), "data"):
        for paragraph in _listed(path, article, "paragraphs"):
            passage = _text(path, paragraph, "context", number + 1)
            for question in _listed(path, paragraph, "qas"):
                number += 1
                answers = [] if question.get("is_impossible") is True else _listed(path, question, "answers")
                golds = dict.fromkeys(_text(path, one, "text", number) for one in answers)
                for one in answers:
                    _check_place(path, one, paragraph["context"], number)
                name, text = str(question.get("id", number)), _text(path, question, "question", number)
                yield SquadQuestion(name, passage, text, [*golds])
    if not number:
        raise DataError(path, "there is no question in it", hint=_READ)


def _content(path: Path) -> Mapping[str, Any]:
    with reading_faults(path), open_packed(path) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        problem = f"more than {_LARGEST >> 20} MiB of JSON in one value"
        raise DataError(path, problem, hint="JSON lines (.jsonl) have no limit")
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = encoding_hint(path, data[error.start : error.start + 2], error.reason, data)
        raise DataError(path, f"not UTF-8: byte 0x{data[error.start]:02x}", line=line, hint=hint) from error
    except json.JSONDecodeError as error:
        several = error.msg == "Extra data" and error.lineno > 1
        hint = "one object a line is JSON lines: name the file .jsonl" if several else _READ
        raise DataError(path, f"not JSON: {error.msg}", line=error.lineno, hint=hint) from error
    except RecursionError as error:
        raise DataError(path, "not SQuAD: nested too deep", hint=_READ) from error
    if not isinstance(content, dict) or "data" not in content:
        hint = "jq -c '.[]' FILE > rows.jsonl makes JSON lines of a list" if isinstance(content, list) else _READ
        kind = "a list" if isinstance(content, list) else "not an object with 'data'"
        raise DataError(path, f"this JSON is {kind}; of .json files only SQuAD is read", hint=hint)
    return content


def _listed(path: Path, value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = value.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise DataError(path, f"not SQuAD: '{name}' must be a list of objects", hint=_READ)
    return found


def _text(path: Path, value: Mapping[str, Any], name: str, number: int) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise DataError(path, f"question {number:,}: '{name}' must be a string", hint=_READ)
    return " ".join(without_surrogates(found).split())


def _check_place(path: Path, answer: Mapping[str, Any], context: str, number: int) -> None:
    """Raise DataError for an answer whose characters, from `answer_start`, are not all within its passage."""
    start, length = answer.get("answer_start"), len(answer["text"])
    if isinstance(start, int) and not 0 <= start <= len(context) - length:
        where = f"characters {start:,} to {start + length:,}, outside its passage of {len(context):,}"
        problem = f"question {number:,}: the answer '{without_surrogates(answer['text']):.60}' is at {where}"
        raise DataError(path, problem, hint="correct 'answer_start', or remove it: the text is then looked for")
