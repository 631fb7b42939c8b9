"""Text predictions of a search: alternatives, unknown scripts and repetition loops."""

import math
from collections.abc import Sequence
from dataclasses import replace

from regard.data.columns import TextColumn
from regard.decoding import Hypothesis
from regard.evaluation.rates import loops_inside
from regard.records import PAD, Sequences
from regard.results import Prediction, TextPrediction
from regard.runtime.loops import LOOPED, loop_of

STUTTERS = "repeats itself inside"  # the warning of a word


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
    """Return the log-probabilities of a model's own pieces: without that of an end forced by the limit."""
    return list(hypothesis.log_probs if hypothesis.finished else hypothesis.log_probs[: len(hypothesis.ids)])


def rows_of(sequences: Sequences) -> list[list[int]]:
    """Return the ids of each row, without padding."""
    return [[token for token in ids if token != PAD] for ids in sequences.items.tolist()]


def with_loops_named(prediction: Prediction) -> Prediction:
    """Return a prediction with a warning of its first word that repeats itself inside, unless the source has it."""
    known = {*prediction.source.split()}
    word = next((one for one in prediction.text.split() if one not in known and loops_inside(one)), None)
    return prediction if word is None or prediction.warning else replace(prediction, warning=f"'{word:.60}' {STUTTERS}")


def without_loop(prediction: TextPrediction, source: Sequence[int], target: TextColumn) -> TextPrediction:
    """Return a prediction truncated after the first round of a loop, where it has one and its source has none.

    A score that is the sum of the log-probabilities is summed again over the kept pieces, so rounding does not add up.
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
