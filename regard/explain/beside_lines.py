"""The same answer as two or more models explain it, word by word, as lines of text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from regard.explain.alignment import aligned_words
from regard.explain.diagnosis import word_places
from regard.explain.scale import amount, are_shares, largest, scaled
from regard.explain.tokens import visible
from regard.results import Place, Prediction

SHOWN = 3  # source words named beside a word
LEAST = 0.05  # of the strongest: worth a name


class _Words(NamedTuple):
    """The words of an answer as a model cuts them: where each stands, and what it rests on."""

    texts: list[str]
    places: list[Place | None]
    sources: list[str]


def beside_lines(explained: Mapping[str, Prediction]) -> list[str]:
    """Return for each word of the first model's answer what each model, by its name, says it rests on.

    Answers have the same text. One that a model does not explain has no words.
    """
    found = {name: _words(prediction) for name, prediction in explained.items()}
    first, lines = next(iter(found.values())), list[str]()
    width = max(map(len, found))
    for text, place in zip(first.texts, first.places, strict=True):
        lines.append(visible(text))
        for name, words in found.items():
            told = [one for one, spot in zip(words.sources, words.places, strict=True) if _meet(spot, place)]
            lines.append(f"  {visible(name):{width}} ← {' · '.join(told) or '–'}")
    return lines


def _meet(one: Place | None, other: Place | None) -> bool:
    return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def _words(prediction: Prediction) -> _Words:
    found = prediction.explanation
    if found is None or not found.link.weights:
        return _Words([], [], [])
    sources, targets, weights, _ = aligned_words(found)
    shares = are_shares(found.link.weights)
    told = [_strongest([word.text for word in sources], row, largest(weights), shares=shares) for row in weights]
    return _Words([word.text for word in targets], word_places(targets, prediction.text), told)


def _strongest(words: Sequence[str], row: Sequence[float], most: float, *, shares: bool) -> str:
    strong = [abs(scaled(weight, most)) for weight in row]
    order = sorted(range(len(row)), key=lambda place: -strong[place])[:SHOWN]
    return ", ".join(f"{visible(words[one])} {amount(row[one], shares)}" for one in order if strong[one] >= LEAST)
