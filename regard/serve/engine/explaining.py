"""Explanations in the model's process, in bounded memory, and alternatives to a word of a translation.

The attention weights of all heads grow with the square of a text's length.
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
from regard.errors import ConfigError
from regard.explain.tokens import words_of
from regard.models import Generator
from regard.pieces import BOS, END, EOS, PAD, UNK
from regard.predictor import Predictor
from regard.records import Batch, Step
from regard.results import AttentionMap, Prediction, TextPrediction
from regard.tasks.example_texts import Ids
from regard.tasks.text_predictions import own_log_probs
from regard.text.clean import clean

MOST_WEIGHTS, MOST_SHOWN = 4_000_000, 500_000  # maximum weights of an explained text; of its maps
AT_ONCE = 500_000  # maximum weights of texts explained in one pass, which holds the core
TOO_LONG = "the texts are too long for attention maps"
FIRST_PIECES = 2  # first tokens tried per requested word: several may begin one word
_LIKELIEST = 500  # likeliest tokens; some continue the word before


class AttentionExplainer:
    """Explains predictions of a model, some at a time."""

    def __init__(self, predictor: Predictor) -> None:
        """Run the model once to count the heads from each column to each column.

        An engine without explanations has none; its predictions stay as they are.
        """
        self.predictor, self.explains = predictor, "explanations" in predictor.setup.abilities.supported
        columns = predictor.task.vocabularies
        example = {name: columns[name].spread(2) for name in predictor.task.inputs}
        (seen,) = predictor.predict([example], explain=self.explains)
        self.heads = Counter[tuple[str, str]]()
        for each in seen.explanation.maps if seen.explanation is not None else ():
            self.heads[each.queries, each.keys] += len(each.weights)

    def of(self, predictor: Predictor) -> "AttentionExplainer":
        """Return the explainer of another copy of the model."""
        other = copy.copy(self)
        other.predictor = predictor
        return other

    def explained(
        self, predictions: Sequence[Prediction], *, maps: bool, unwanted: Unwanted = frozenset
    ) -> list[Prediction]:
        """Return the predictions with explanations; without maps if they are not requested, or too large.

        Maps stay if the explanation consists of them alone, as for a pair of texts with attention between them.

        A text with more weights than the limit gets no explanation, nor does one that is `unwanted` by then.
        """
        if not self.explains:
            return list(predictions)
        found, weights = list(predictions), [self.weights(one) for one in predictions]
        explain = self.predictor.explainer.with_attention
        for portion in _portions(weights):
            gone = unwanted()
            rows = [row for row in portion if row not in gone]
            for row, one in zip(rows, explain([predictions[row] for row in rows]), strict=True):
                alone = _has_maps_alone(one)
                keeps = weights[row] <= MOST_SHOWN and (maps or alone)
                shown = one if keeps else _without_maps(one)
                found[row] = shown.warned(TOO_LONG) if alone and not keeps and _maps_of(one) else shown
        return found

    def weights(self, prediction: Prediction) -> int:
        """Return the maximum number of attention weights of a text and its answer, over all heads."""
        task, sizes = self.predictor.task, Counter[str]()
        answered = task.texts.answered(replace(prediction, source=clean(prediction.source)))
        for name, ids in answered.items():
            sizes[name if name in task.columns else task.last] += len(ids)  # a continuation belongs to its text
        lengths = {"": 1, **{name: size + 1 for name, size in sizes.items()}}  # "": a learned query
        asked = {name for pair in self.heads for name in pair}
        written = self.predictor.model.written_columns
        lengths |= {name: column.longest(answered) for name, column in written.items() if name in asked}
        longest = max(lengths.values())  # for anything that is not a column, as the sentences of a text
        looks = [
            count * lengths.get(one, longest) * lengths.get(other, longest)
            for (one, other), count in self.heads.items()
        ]
        return sum(looks) + lengths[task.first] * lengths[task.last]


def _portions(weights: Sequence[int]) -> Iterator[list[int]]:
    """Yield numbers of predictions to explain together; one with more than MOST_WEIGHTS weights is left out."""
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
    """Return True if an explanation would be empty without the maps that are as large as two texts."""
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
    maps = [each for each in found.maps if not each.queries]  # of one query: as long as the text
    return replace(prediction, explanation=replace(found, maps=maps))


class Beginnings:
    """Forced beginning of each row, and its written length."""

    def __init__(self, rows: Sequence[Sequence[int]], written: int = 0) -> None:
        self.rows, self.written = rows, written

    def select(self, rows: Tensor) -> "Beginnings":
        """Return the rows in that order."""
        return Beginnings([self.rows[row] for row in rows.tolist()], self.written)


class BeginningFeature(Feature):
    """Feature with -inf for any word but the next one of a row's forced beginning."""

    name = "beginning"

    def __init__(self, beginnings: Sequence[Sequence[int]]) -> None:
        self.beginnings = beginnings  # of each row of the batch

    def start(self, batch: Batch) -> Beginnings:
        """Return the state before the first word."""
        return Beginnings([self.beginnings[line] for line in batch.lines.tolist()])

    def step(self, step: Step, ids: Tensor, state: Beginnings) -> tuple[Tensor, Beginnings]:
        """Return 0 for the next forced word, and for all words after the beginning."""
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
    *,
    augmented: str = "",
) -> TextPrediction:
    """Return the target with up to `count` alternatives: another word in one place, and the model's continuation.

    The likeliest words come first. An alternative equals the target before that word. Raises ConfigError where
    the translation has no such word.
    `line` is the source, or a line of several columns as in `predict`; `encoded` are the tokens of both. `augmented`
    is the source with its context, if it was read with any.
    """
    task = predictor.task
    column, example = cast(TextColumn, task.vocabularies["target"]), task.texts.given(line)
    if encoded is None:
        encoded = task.encode([{name: clean(value) for name, value in task.texts.scored(line, target).items()}])
    row = dict(encoded[0])
    ids = [*row.pop("target")]
    words = words_of([*column.pieces(ids), END])
    forced = TextPrediction(example["source"], target, 0.0, ids=ids, augmented=augmented)
    given = cast(TextPrediction, task.texts.as_given(forced, example))
    if word >= len(words) - 1:
        raise ConfigError("word", f"there is no word {word}", f"a number below {len(words) - 1}, counted from 0")
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
    """Return the best target after each of the likeliest tokens that begin a word after the beginning."""
    task, model = predictor.task, cast(Generator, predictor.model)
    column = cast(TextColumn, task.vocabularies["target"])
    with torch.inference_mode():
        likely = _next(model, task.batch([row]).to(model.device), beginning, search)
        pieces = list(islice((one for one in likely if _begins(column, beginning, one)), count))
        rows = [[*beginning, piece] for piece in pieces]
        if not rows:
            return []
        batch = task.batch([row] * len(rows)).to(model.device)
        engine = cast(Engine, task.engine(model, search, [*predictor.setup.features, BeginningFeature(rows)]))
        found = [ranked[0] for ranked in engine.answer(batch)]
    # a feature may forbid a forced word; then the row is dropped
    return [one for one, wanted in zip(found, rows, strict=True) if one.ids[: len(wanted)] == wanted]


def _next(writer: Generator, batch: Batch, beginning: Sequence[int], search: Search) -> list[int]:
    """Return the likeliest next tokens, best first; none once the text is unwanted."""
    state = writer.start(batch)
    for token in [BOS, *beginning]:
        if search.dropped(batch.lines) is not None:
            return []
        step, state = writer.step(torch.tensor([[token]], device=batch.lines.device), state)
    likely = step.log_probs[0].topk(min(_LIKELIEST, step.log_probs.shape[-1])).indices.tolist()
    return [piece for piece in likely if piece not in (PAD, BOS, EOS, UNK)]


def _begins(column: TextColumn, beginning: list[int], piece: int) -> bool:
    """Return True if a token begins a word, False if it continues the one before."""
    return words_of([*column.pieces([*beginning, piece]), END])[-2].pieces == [len(beginning)]


def _word(column: TextColumn, hypothesis: Hypothesis, number: int, begin: int) -> tuple[str, float]:
    """Return the word of that number and its probability; "" if no word begins there, as at other spaces."""
    words = words_of([*column.pieces(hypothesis.ids), END])
    if number >= len(words) - 1 or words[number].pieces[0] != begin:
        return "", 0.0
    word = words[number]
    if not column.decode([hypothesis.ids[piece] for piece in word.pieces]).strip():
        return "", 0.0  # bytes that are spaces
    return word.text, math.exp(sum(hypothesis.log_probs[piece] for piece in word.pieces))
