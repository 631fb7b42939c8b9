"""Explanations in bounded memory: what every head looked at grows with the square of a text's length."""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.decoding import Unwanted
from regard.predictor import Predictor
from regard.results import AttentionMap, Prediction
from regard.text.clean import clean

MOST, MOST_SHOWN = 4_000_000, 500_000  # weights of a text that is explained; those that go out as maps
AT_ONCE = 500_000  # of several texts that are explained together, while nobody else has the core
TOO_LONG = "the texts are too long for maps of what they look at"


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
        answered = task.answered(replace(prediction, source=clean(prediction.source)))
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
    """Numbers of predictions that are explained together; those of more than MOST weights are left out."""
    portion, held = list[int](), 0
    for row, count in enumerate(weights):
        if count > MOST:
            continue
        if portion and held + count > AT_ONCE:
            yield portion
            portion, held = [], 0
        portion.append(row)
        held += count
    if portion:
        yield portion


def _has_maps_alone(prediction: Prediction) -> bool:
    """Whether an explanation would be empty without the maps that are as large as two texts."""
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
