"""What tasks share whose answers are texts that a search writes."""

import math
from collections.abc import Sequence
from dataclasses import replace

from regard.data.columns import TextColumn
from regard.decoding import Hypothesis
from regard.records import PAD, Sequences
from regard.results import TextPrediction

COPIED = "its script was never learnt: copied"
LOOPED = "went round in a loop, which was cut"
UNKNOWN = 0.5  # of a text's letters
LOOP_PIECES, LOOP_TIMES = 8, 4  # pieces of a loop, and how often in succession they make one
ALL_LOOP_PIECES = 8  # of all its rounds together, at least
AGAIN = 6  # pieces of a loop that have stood there before, at least: two pieces in four rounds


def text_prediction(source: str, ranked: Sequence[Hypothesis], target: TextColumn) -> TextPrediction:
    """Return the best hypothesis as a prediction, the rest of the n best as its alternatives."""
    best, *rest = [
        TextPrediction(
            source,
            target.decode(one.ids),
            one.score,
            own_log_probs(one),
            one.finished,
            ids=list(one.ids),
            shares=dict(one.shares),
        )
        for one in ranked
    ]
    return best if not rest else TextPrediction(**{**vars(best), "alternatives": rest})


def own_log_probs(hypothesis: Hypothesis) -> list[float]:
    """Return the log-probabilities of what a model wrote: without that of an end that the limit forced."""
    return list(hypothesis.log_probs if hypothesis.finished else hypothesis.log_probs[: len(hypothesis.ids)])


def rows_of(sequences: Sequences) -> list[list[int]]:
    """Return the ids of each row, without padding."""
    return [[token for token in ids if token != PAD] for ids in sequences.items.tolist()]


def unknown_script(text: str, column: TextColumn) -> bool:
    """Return whether most letters of a text are in no piece of the vocabulary: training never saw their script."""
    if column.alphabet.issuperset(text.replace(" ", "")):
        return False
    letters = [character for character in text if character.isalpha()]
    unknown = [one for one in letters if column.alphabet.isdisjoint((one, one.lower(), one.upper()))]
    return len(unknown) > UNKNOWN * len(letters)


def without_loop(prediction: TextPrediction, source: Sequence[int], target: TextColumn) -> TextPrediction:
    """Return a prediction cut after the first round of a loop, where it has one and its source has none.

    A score that is the sum of the log-probabilities stays one: rounding adds up over what is cut off.
    """
    ids = prediction.ids or []
    end = loop_of(ids)
    if end is None or loop_of(source) is not None or not any(map(str.isalpha, target.decode(ids[end:]))):
        return prediction  # without a letter it may be a long number or a line
    text, log_probs, score = target.decode(ids[:end]), prediction.log_probs[:end], prediction.score
    if math.isclose(score, math.fsum(prediction.log_probs), abs_tol=1e-9):
        score = math.fsum(log_probs)
    return replace(
        prediction,
        text=text,
        ids=ids[:end],
        log_probs=log_probs,
        score=score,
        shares={},
        finished=False,
        warning=LOOPED,
    )


def loop_of(ids: Sequence[int]) -> int | None:
    """Return where the second round of the first loop begins; None where nothing goes round."""
    if len(ids) - len({*ids}) < AGAIN:
        return None
    for start in range(len(ids) - ALL_LOOP_PIECES + 1):
        for length in range(1, min(LOOP_PIECES, (len(ids) - start) // LOOP_TIMES) + 1):
            end = start + length
            while end < len(ids) and ids[end] == ids[end - length]:
                end += 1
            if end - start >= max(ALL_LOOP_PIECES, LOOP_TIMES * length):
                return start + length
    return None
