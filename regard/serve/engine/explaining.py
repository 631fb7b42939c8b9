"""In the model's process: explanations in bounded memory, and other words in place of one of a translation.

What every head looked at grows with the square of a text's length.
"""

import copy
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import cast

import torch
from torch import Tensor

from regard.data.columns import TextColumn
from regard.decoding import Engine, Hypothesis, Search, Unwanted
from regard.decoding.features import Feature
from regard.explain.tokens import words_of
from regard.models import Generator
from regard.pieces import BOS, END, EOS, PAD, UNK
from regard.predictor import Predictor
from regard.records import Batch, Step
from regard.results import AttentionMap, Prediction, TextPrediction
from regard.tasks.example_texts import Ids
from regard.tasks.text_predictions import own_log_probs
from regard.text.clean import clean

MOST_WEIGHTS, MOST_SHOWN = 4_000_000, 500_000  # weights of a text that is explained; those that go out as maps
AT_ONCE = 500_000  # of several texts that are explained together, while nobody else has the core
TOO_LONG = "the texts are too long for maps of what they look at"
FIRST_PIECES = 2  # first pieces that are tried for each word that is wanted: several may begin one word
_LIKELIEST = 500  # of the likeliest pieces, of which some only go on with the word before


class Looking:
    """Explains predictions of a model, some at a time."""

    def __init__(self, predictor: Predictor) -> None:
        """Asks the model once, to see how many heads look from which column at which."""
        self.predictor = predictor
        columns = predictor.task.vocabularies
        (seen,) = predictor.predict([{name: columns[name].spread(2) for name in predictor.task.inputs}], explain=True)
        self.heads = Counter[tuple[str, str]]()
        for each in seen.explanation.maps if seen.explanation is not None else ():
            self.heads[each.queries, each.keys] += len(each.weights)

    def of(self, predictor: Predictor) -> "Looking":
        """The same of another one of the same model."""
        other = copy.copy(self)
        other.predictor = predictor
        return other

    def explained(
        self, predictions: Sequence[Prediction], *, maps: bool, unwanted: Unwanted = frozenset
    ) -> list[Prediction]:
        """The same predictions, each with its explanation; without maps where those are not wanted, or too large.

        Maps are told in any case where they alone tell something, as of a pair of texts that attend to each other.

        A text that alone has more weights than may be held has no explanation, nor has one that is `unwanted` by then.
        """
        found, weights = list(predictions), [self.weights(one) for one in predictions]
        for portion in _portions(weights):
            gone = unwanted()
            rows = [row for row in portion if row not in gone]
            for row, one in zip(rows, self.predictor.explained([predictions[row] for row in rows]), strict=True):
                alone = _has_maps_alone(one)
                keeps = weights[row] <= MOST_SHOWN and (maps or alone)
                shown = one if keeps else _without_maps(one)
                found[row] = shown.warned(TOO_LONG) if alone and not keeps and _maps_of(one) else shown
        return found

    def weights(self, prediction: Prediction) -> int:
        """How many weights all heads together give to a text and its answer, at most."""
        task, sizes = self.predictor.task, Counter[str]()
        answered = task.texts.answered(replace(prediction, source=clean(prediction.source)))
        for name, ids in answered.items():
            sizes[name if name in task.columns else task.last] += len(ids)  # a continuation goes on with its text
        lengths = {"": 1, **{name: size + 1 for name, size in sizes.items()}}  # "": a learned question
        asked = {name for pair in self.heads for name in pair}
        written = self.predictor.model.written_columns
        lengths |= {name: column.longest(answered) for name, column in written.items() if name in asked}
        longest = max(lengths.values())  # stands for what is no column of an example, as the sentences of a text
        looks = [
            count * lengths.get(one, longest) * lengths.get(other, longest)
            for (one, other), count in self.heads.items()
        ]
        return sum(looks) + lengths[task.first] * lengths[task.last]


def _portions(weights: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of predictions that are explained together; those of more than MOST_WEIGHTS weights are left out."""
    portion, held = list[int](), 0
    for row, count in enumerate(weights):
        if count > MOST_WEIGHTS:
            continue
        if portion and held + count > AT_ONCE:
            yield portion
            portion, held = [], 0
        portion.append(row)
        held += count
    if portion:
        yield portion


def _has_maps_alone(prediction: Prediction) -> bool:
    """Return whether an explanation would be empty without the maps that are as large as two texts."""
    found = prediction.explanation
    return found is not None and not (
        found.link.weights or found.link.pairs or any(not each.queries for each in found.maps)
    )


def _maps_of(prediction: Prediction) -> Sequence[AttentionMap]:
    return () if prediction.explanation is None else prediction.explanation.maps


def _without_maps(prediction: Prediction) -> Prediction:
    found = prediction.explanation
    if found is None:
        return prediction
    maps = [each for each in found.maps if not each.queries]  # of one question: no longer than the text
    return replace(prediction, explanation=replace(found, maps=maps))


class Beginnings:
    """What each row has to write first, and how much of it is written."""

    def __init__(self, rows: Sequence[Sequence[int]], written: int = 0) -> None:
        self.rows, self.written = rows, written

    def select(self, rows: Tensor) -> "Beginnings":
        """Rows in that order."""
        return Beginnings([self.rows[row] for row in rows.tolist()], self.written)


class BeginningFeature(Feature):
    """-inf for any word but the next of a row's beginning, as long as there is one."""

    name = "beginning"

    def __init__(self, beginnings: Sequence[Sequence[int]]) -> None:
        self.beginnings = beginnings  # of each line of the batch

    def start(self, batch: Batch) -> Beginnings:
        """Nothing is written."""
        return Beginnings([self.beginnings[line] for line in batch.lines.tolist()])

    def step(self, step: Step, ids: Tensor, state: Beginnings) -> tuple[Tensor, Beginnings]:
        """0 for the next word, and for all words behind the beginning."""
        added = torch.zeros_like(step.log_probs)
        for row, beginning in enumerate(state.rows):
            if state.written < len(beginning):
                added[row] = float("-inf")
                added[row, beginning[state.written]] = 0.0
        return added, Beginnings(state.rows, state.written + 1)


def rewritten(
    predictor: Predictor,
    search: Search,
    line: str,
    target: str,
    word: int,
    count: int,
    encoded: Sequence[Ids] | None = None,
) -> TextPrediction:
    """The target with at most `count` alternatives: another word in place of one, and what the model writes after it.

    The likeliest words come first. Up to that word an alternative is the target. There is none behind the last word.
    `line` is the source, or a line of several columns as `predict` takes it; `encoded` are the pieces of both.
    """
    task = predictor.task
    column, example = cast(TextColumn, task.vocabularies["target"]), task.texts.given(line)
    if encoded is None:
        encoded = task.encode([{name: clean(value) for name, value in task.texts.scored(line, target).items()}])
    row = dict(encoded[0])
    ids = [*row.pop("target")]
    words = words_of([*column.pieces(ids), END])
    given = cast(TextPrediction, task.texts.as_given(TextPrediction(example["source"], target, 0.0, ids=ids), example))
    if word >= len(words) - 1:
        return given
    begin = words[word].pieces[0]
    found: dict[str, tuple[float, Hypothesis]] = {}
    for hypothesis in _written(predictor, search, row, ids[:begin], FIRST_PIECES * count):
        text, probability = _word(column, hypothesis, word, begin)
        if text not in ("", words[word].text) and probability > found.get(text, (0.0,))[0]:
            found[text] = probability, hypothesis
    likely = sorted(found.values(), key=lambda one: -one[0])[:count]
    others = [
        replace(
            given,
            text=column.decode(one.ids),
            score=one.score,
            log_probs=own_log_probs(one),
            finished=one.finished,
            ids=list(one.ids),
        )
        for _, one in likely
    ]
    return replace(given, alternatives=[*others])


def _written(predictor: Predictor, search: Search, row: Ids, beginning: list[int], count: int) -> list[Hypothesis]:
    """The best target after each of the likeliest pieces that begin a word behind the beginning."""
    task, model = predictor.task, cast(Generator, predictor.model)
    column = cast(TextColumn, task.vocabularies["target"])
    with torch.inference_mode():
        likely = _next(model, task.batch([row]).to(model.device), beginning, search)
        pieces = list(islice((one for one in likely if _begins(column, beginning, one)), count))
        rows = [[*beginning, piece] for piece in pieces]
        if not rows:
            return []
        batch = task.batch([row] * len(rows)).to(model.device)
        engine = cast(Engine, task.engine(model, search, [*predictor.features, BeginningFeature(rows)]))
        found = [ranked[0] for ranked in engine.answer(batch)]
    # a feature may forbid what is forced, and then nothing is written as it should be
    return [one for one, wanted in zip(found, rows, strict=True) if one.ids[: len(wanted)] == wanted]


def _next(writer: Generator, batch: Batch, beginning: Sequence[int], search: Search) -> list[int]:
    """The likeliest pieces that may follow, best first; none where nobody wants them any more."""
    state = writer.start(batch)
    for token in [BOS, *beginning]:
        if search.dropped(batch.lines) is not None:
            return []
        step, state = writer.step(torch.tensor([[token]], device=batch.lines.device), state)
    likely = step.log_probs[0].topk(min(_LIKELIEST, step.log_probs.shape[-1])).indices.tolist()
    return [piece for piece in likely if piece not in (PAD, BOS, EOS, UNK)]


def _begins(column: TextColumn, beginning: list[int], piece: int) -> bool:
    """Return whether a piece begins a word, and does not go on with the one before."""
    return words_of([*column.pieces([*beginning, piece]), END])[-2].pieces == [len(beginning)]


def _word(column: TextColumn, hypothesis: Hypothesis, number: int, begin: int) -> tuple[str, float]:
    """The word of that number and its probability; "" where none begins there, as spaces may part others."""
    words = words_of([*column.pieces(hypothesis.ids), END])
    if number >= len(words) - 1 or words[number].pieces[0] != begin:
        return "", 0.0
    word = words[number]
    if not column.decode([hypothesis.ids[piece] for piece in word.pieces]).strip():
        return "", 0.0  # bytes that are spaces
    return word.text, math.exp(sum(hypothesis.log_probs[piece] for piece in word.pieces))
