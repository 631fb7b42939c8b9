"""Extractive question answering: a passage and a question → the span of the passage that answers."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, cast

import torch
from torch import Tensor

from regard.answers.span import SpanAnswer, SpanPrediction
from regard.attention import fitting, recording
from regard.config import Doc
from regard.data.columns import Columns, TextColumn
from regard.data.examples import ColumnTexts
from regard.decoding import Answering
from regard.errors import DataError
from regard.explain.alignment_view import mean_of_heads
from regard.explain.maps import POOLING, attention_maps
from regard.models import Model
from regard.models.reader import SpanReader
from regard.pieces import BOS, END, SPECIALS
from regard.records import ANSWER, PASSAGE, QUESTION, Batch
from regard.results import (
    BETWEEN_ANSWERS,
    AttentionMap,
    ColumnLink,
    Explanation,
    Prediction,
    TokenRole,
    Tokens,
    as_line,
)
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, encodable
from regard.tasks.files import ExampleFiles
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.tasks.text_predictions import rows_of

_NONE = SPECIALS[BOS]  # the answer that there is none, as training data has it


class AnswerColumn(TextColumn):
    """The pieces of an answer; no answer is <s>, which stands before every passage."""

    def key(self) -> str:
        return f"{super().key()} or none"

    def encode(self, value: str) -> list[int]:
        return self.encode_batch([value])[0]

    def encode_batch(self, values: Sequence[str]) -> list[list[int]]:
        return [
            [BOS] if _is_none(value) else ids for value, ids in zip(values, super().encode_batch(values), strict=True)
        ]


class PassageFilter(ExampleFilter):
    """A filter of examples whose answer occurs literally in the passage, or that may have none."""

    def __init__(self, columns: Columns, *, no_answer: bool) -> None:
        super().__init__(columns)
        self.no_answer = no_answer

    def usable(self, texts: Mapping[str, str]) -> bool:
        return super().usable({**texts, ANSWER: texts[ANSWER] or _NONE} if self.no_answer else texts)

    def learnt_from(self, texts: Mapping[str, str]) -> Mapping[str, str] | None:
        """Return an example with the first of its answers that occurs there, or _NONE."""
        if self.no_answer and _is_none(texts[ANSWER]):
            return {**texts, ANSWER: _NONE}
        passage = self.columns[PASSAGE].encode(texts[PASSAGE])
        for gold in texts[ANSWER].split(BETWEEN_ANSWERS):
            answer = self.columns[ANSWER].encode(gold)
            ends = range(len(answer), len(passage) + 1)
            if answer and any(passage[end - len(answer) : end] == answer for end in ends):
                return {**texts, ANSWER: gold}
        return None

    def check(self, texts: Mapping[str, str]) -> None:
        if not texts[ANSWER] and not self.no_answer:
            hint = "this reader always answers with a span, so that it counts as wrong (train with task.no_answer=true)"
            raise DataError(ANSWER, "there is no gold answer", hint=hint)
        if self.learnt_from(texts) is None:
            problem = f"'{texts[ANSWER]:.60}' does not occur in the passage"
            raise DataError(ANSWER, problem, hint="words of the passage, or task=question_answering")


class PassageTexts(ExampleTexts):
    """Passages and questions, with answers located in a passage."""

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        """Return a prediction with its place in the original passage and its text there; spaces may differ."""
        span, passage = cast(SpanPrediction, prediction), encodable(example[PASSAGE])
        source = as_line([passage, encodable(example[QUESTION])])
        if span.best is not None:
            best = cast(SpanPrediction, self.as_given(span.best, example))
            return replace(span, source=source, best=best)
        before = sum(start < span.start for start, _ in _stretches(span.source, span.text))
        places = _stretches(passage, span.text)
        if before >= len(places):
            return prediction
        start, end = places[before]
        return replace(span, source=source, text=passage[start:end], start=start, end=end)


class ReadingTask(Task):
    """A passage and a question → one word, or successive words, of the passage.

    An answer may have several lines: gold answers, of which training takes the first that occurs in the passage, and
    metrics the nearest. With `no_answer` there may be none, as in https://arxiv.org/abs/1806.03822: <s> before the
    passage then stands for it, and competes with the spans.
    """

    columns: ClassVar[Mapping[str, str]] = {PASSAGE: "text", QUESTION: "text", ANSWER: "text"}
    spec = TaskSpec(
        "reader",
        "exact_match",
        SpanReader,
        validates=("exact_match",),
        texts=PassageTexts,
        wording=Wording("questions", "words of the passage", "answer questions"),
        defaults={
            "data": {"max_length": 10_000},
            "decoding": {"max_source": 100_000},
            "text": {"tokenizer": {"name": "words"}, "shared": True},
            "model": {
                "dim": 128,
                "position": None,
                "window": 384,
                "stride": 128,
                "encoder": {"name": "recurrent", "cell": "gru", "hidden_dim": 64},
                "attention": {"score": "relu_dot", "num_heads": 1},
            },
            "objective": {"name": "likelihood", "label_smoothing": 0.0},
            "evaluation": {"metrics": ["exact_match", "word_f1"]},
        },
    )
    answer = SpanAnswer()
    files = ExampleFiles(default=True)

    def __init__(
        self,
        columns: Columns,
        *,
        no_answer: Annotated[
            bool, Doc("Questions may have no answer (SQuAD 2.0), which is learnt and predicted.")
        ] = False,
    ) -> None:
        self.no_answer = no_answer
        if no_answer:
            text = cast(TextColumn, columns[PASSAGE])
            columns = {**columns, PASSAGE: text.cut(None, begins=True), ANSWER: AnswerColumn(text.tokenizer)}
        super().__init__(columns)

    @property
    def filter(self) -> PassageFilter:
        return PassageFilter(self.vocabularies, no_answer=self.no_answer)

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the likeliest answer to each question, by the sum over its occurrences, and its place.

        The score is that of the answer, summed over its occurrences. An empty passage has no place, and a score of 0.
        With `no_answer`, there is none where that is likelier than the likeliest span.
        """
        reader, found = cast(SpanReader, model), list[Prediction]()
        places = reader.places(batch)
        questions = rows_of(batch.sequences(QUESTION))
        passages = rows_of(batch.sequences(PASSAGE))
        for ids, question, first, last in zip(passages, questions, places.first, places.last, strict=True):
            begin = 1 if self.no_answer else 0
            pieces = ids[begin:-1]
            start, end, score = _likeliest(first[begin:], last[begin:], pieces, reader.head.max_pieces)
            text, before = self._text.decode(pieces[start:end]), self._text.decode(pieces[:end])
            source = as_line([self._text.decode(pieces), self._text.decode(question[:-1])])
            place, null = len(before) - len(text), float(first[0] + last[0]) if self.no_answer else None
            span = SpanPrediction(source, text, score, start=place, end=place + len(text), null=null)
            found.append(SpanAnswer.threshold.decided(span))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the pointer weights of the head, and each attention between words."""
        with recording(model) as records:
            cast(SpanReader, model).places(batch)
        seen = cast(SpanReader, model).without_windowed(batch, records)
        fit = fitting(seen, {name: batch.sequences(name).mask.shape[1] for name in self.inputs})
        ids = {name: rows_of(batch.sequences(name)) for name in self.columns}
        found = []
        for row in range(len(batch.lines)):
            tokens = {name: [*self._text.pieces(rows[row][:-1]), END] for name, rows in ids.items()}
            lengths = {name: len(one) for name, one in tokens.items()}
            maps = attention_maps(fit, row, lengths, pooled=True)
            link = ColumnLink(PASSAGE, ANSWER, [], _pointed(maps, len(tokens[ANSWER])))
            columns = {name: Tokens(tokens[name], TokenRole.GIVEN) for name in self.inputs}
            columns[ANSWER] = Tokens(tokens[ANSWER], TokenRole.ITEMS)
            found.append(Explanation(columns, [link], maps))
        return found

    @property
    def _text(self) -> TextColumn:
        """Return the column of questions, in whose vocabulary all three are."""
        return cast(TextColumn, self.vocabularies[QUESTION])


def _is_none(answer: str) -> bool:
    return answer.strip() in ("", _NONE)


def _likeliest(first: Tensor, last: Tensor, ids: Sequence[int], most: int) -> tuple[int, int, float]:
    """Return start, end and score of the likeliest answer, given log-probabilities (n,) of both ends and the pieces.

    An answer has at most `most` pieces. Spans of equal pieces are found by a polynomial hash of the ids, modulo 2^64.
    """
    if not ids:
        return 0, 0, 0.0
    pieces, count = torch.tensor(ids), len(ids)
    codes, scores, places = [], [], []
    code = torch.zeros(count, dtype=torch.long)
    for length in range(1, min(most, count) + 1):
        starts = torch.arange(count - length + 1)
        code = code[: len(starts)] * _BASE + pieces[length - 1 :] + 1
        codes.append(code)
        scores.append((first[starts] + last[starts + length - 1]).cpu())
        places.append(torch.stack([starts, starts + length], dim=-1))
    score, place = torch.cat(scores).double(), torch.cat(places)
    answers, which = torch.cat(codes).unique(return_inverse=True)
    total = score.new_zeros(len(answers)).index_add(0, which, score.exp())
    best = int(total.argmax())
    start, end = place[int(score.where(which == best, -torch.inf).argmax())].tolist()
    return start, end, min(math.log(float(total[best])), 0.0)


_BASE = 6364136223846793005  # of the polynomial: odd and large, so that stretches of the same code are the same


def _pointed(maps: Sequence[AttentionMap], count: int) -> list[list[float]]:
    """Return the head's weights (count, n) over the passage: the mean of its pointers, without the end."""
    looks = [mean_of_heads(one)[0] for one in maps if one.kind == POOLING and one.keys == PASSAGE]
    if not looks:
        return []
    mean = [sum(cells) / len(looks) for cells in zip(*looks, strict=True)]
    return [*[mean] * (count - 1), [0.0] * len(mean)]


def _stretches(text: str, part: str) -> list[tuple[int, int]]:
    """Return start and end of each occurrence of a part in a text, ignoring spaces; occurrences may overlap."""
    spelt = r"\s*".join(map(re.escape, "".join(part.split())))
    return [one.span(1) for one in re.finditer(f"(?=({spelt}))", text)] if spelt else []
