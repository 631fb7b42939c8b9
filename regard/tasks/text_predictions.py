"""What tasks share whose answers are texts that a search writes."""

from collections.abc import Sequence

from regard.data.columns import TextColumn
from regard.decoding import Hypothesis
from regard.records import PAD, Sequences
from regard.results import TextPrediction


def text_prediction(source: str, ranked: Sequence[Hypothesis], target: TextColumn) -> TextPrediction:
    """Return the best hypothesis as a prediction, the rest of the n best as its alternatives."""
    best, *rest = [
        TextPrediction(source, target.decode(one.ids), one.score, list(one.log_probs), one.finished, ids=list(one.ids))
        for one in ranked
    ]
    return best if not rest else TextPrediction(**{**vars(best), "alternatives": rest})


def rows_of(sequences: Sequences) -> list[list[int]]:
    """Return the ids of each row, without padding."""
    return [[token for token in ids if token != PAD] for ids in sequences.items.tolist()]
