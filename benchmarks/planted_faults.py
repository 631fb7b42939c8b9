"""Precision and recall of each kind of fault that `regard evaluate --diagnose` tells, on translations made by people.

    regard adequacy RUN
    python benchmarks/planted_faults.py RUN test.en test.de

Every translation gets one fault: a word dropped, said twice, a number changed, a name exchanged, or words of another
sentence put in. What is told at another place, or of another kind, is counted as wrong, also where people did translate
freely. Then each gets a word of the source, put in as it is. The last column tells how many faults of the kind are told
of 1,000 translations as people wrote them.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from program import lines_of, markdown, options

from regard.explain.adequacy.lexicon import TRANSLATIONS_FILE
from regard.explain.diagnosis import NUMBERS
from regard.explain.translation_faults import FaultFinder
from regard.results import TranslationFault
from regard.statistical.translations import Translations
from regard.text.words import cut_words

LEAST, PUT_IN = 4, 3  # letters of a word that is dropped; words that are put in
Places = set[tuple[str, str]]  # side and word, in lower case, that may be told of


class Planted(NamedTuple):
    """A translation with a fault, and the words by which it may be found."""

    kind: str
    source: str
    target: str
    words: Places


def told(faults: Sequence[TranslationFault], kind: str) -> Places:
    return {(fault.side, fault.word.lower()) for fault in faults if fault.kind == kind}


def words_of(text: str) -> list[str]:
    return [piece.strip() for piece in cut_words(text) if piece.strip()]


def dropped(source: str, target: str, others: Sequence[str], draw: random.Random) -> Planted | None:
    """A longer word left out; it may be told by any word of the source."""
    pieces = cut_words(target)
    places = [place for place, piece in enumerate(pieces) if len(piece.strip()) >= LEAST and piece.strip().isalpha()]
    if not places:
        return None
    place = draw.choice(places)
    text = "".join([*pieces[:place], *pieces[place + 1 :]]).strip()
    return Planted("dropped", source, text, {("source", word.lower()) for word in words_of(source)})


def repeated(source: str, target: str, others: Sequence[str], draw: random.Random) -> Planted | None:
    pieces = cut_words(target)
    places = [place for place, piece in enumerate(pieces) if piece.strip().isalpha()]
    place = draw.choice(places)
    word = pieces[place].strip()
    text = "".join([*pieces[: place + 1], f" {word}", *pieces[place + 1 :]]).strip()
    return Planted("repeated", source, text, {("target", word.lower())})


def number(source: str, target: str, others: Sequence[str], draw: random.Random) -> Planted | None:
    pieces = cut_words(target)
    places = [
        place for place, piece in enumerate(pieces) if piece.strip().lower() in NUMBERS or piece.strip().isdigit()
    ]
    if not places:
        return None
    place = draw.choice(places)
    word = pieces[place].strip()
    language = [*NUMBERS][[*NUMBERS].index(word.lower()) // 11 * 11 :][:11] if word.lower() in NUMBERS else []
    new = (
        draw.choice([one for one in language if one != word.lower()])
        if language
        else str(int(word) + draw.randint(1, 9))
    )
    pieces[place] = pieces[place].replace(word, new.capitalize() if word[0].isupper() else new)
    return Planted("number", source, "".join(pieces).strip(), {("target", new.lower())})


def name(source: str, target: str, others: Sequence[str], draw: random.Random) -> Planted | None:
    """A word with a capital that both sides have, exchanged for one of another sentence."""
    shared = [word for word in words_of(source)[1:] if word[0].isupper() and word in words_of(target) and len(word) > 2]
    if not shared or not others:
        return None
    word, new = draw.choice(shared), draw.choice(others)
    if new in source:
        return None
    text = "".join(piece.replace(word, new) if piece.strip() == word else piece for piece in cut_words(target)).strip()
    return Planted("name", source, text, {("source", word.lower())})


def invented(source: str, target: str, others: Sequence[str], draw: random.Random) -> Planted | None:
    """Some words of another translation, put between two words."""
    pieces, other = cut_words(target), cut_words(draw.choice(others))
    start = draw.randrange(max(len(other) - PUT_IN, 1))
    some, place = other[start : start + PUT_IN], draw.randrange(1, len(pieces))
    text = "".join([*pieces[:place], *some, *pieces[place:]]).strip()
    return Planted("invented", source, text, {("target", piece.strip().lower()) for piece in some})


def untranslated(source: str, target: str, others: Sequence[str], draw: random.Random) -> Planted | None:
    """A longer word of the source put in as it is, about where its translation stands."""
    read, pieces = words_of(source), cut_words(target)
    there = {piece.strip().lower() for piece in pieces}
    places = [place for place, word in enumerate(read) if len(word) >= LEAST and word.islower() and word not in there]
    if not places:
        return None
    place = draw.choice(places)
    at = place * (len(pieces) - 1) // max(len(read) - 1, 1)
    pieces.insert(at, f" {read[place]}")
    return Planted("untranslated", source, "".join(pieces).strip(), {("target", read[place])})


KINDS: dict[str, Callable[..., Planted | None]] = {
    "dropped": dropped, "repeated": repeated, "number": number, "name": name, "invented": invented,
    "untranslated": untranslated,
}  # fmt: skip


def planted(sources: Sequence[str], targets: Sequence[str], seed: int = 1) -> list[Planted]:
    """One fault in each translation: of the rarest kinds wherever they can be, of the others in turn."""
    draw, found = random.Random(seed), list[Planted]()
    pairs = [*zip(sources, targets, strict=True)]
    names = [
        word
        for source, target in pairs
        for word in words_of(source)[1:]
        if word[0].isupper() and word in target.split()
    ]
    common = ["dropped", "repeated", "invented"]
    for source, target in pairs:
        rare = [KINDS[kind](source, target, names, draw) for kind in ("name", "number")]
        one = next(filter(None, rare), None)
        if one is None or (one.kind == "number" and draw.random() < 0.5):
            one = KINDS[common[len(found) % 3]](source, target, targets, draw)
        if one is not None:
            found.append(one)
    return found


def repeated_later(source: str, target: str, words: int, distance: int, draw: random.Random) -> Planted | None:
    """A word, or some words of which one is longer, said again with so many words between."""
    pieces = [piece.strip() for piece in cut_words(target)]
    places = [
        place
        for place in range(len(pieces) - words - distance + 1)
        if all(piece.isalpha() for piece in pieces[place : place + words])
        and any(len(piece) >= LEAST for piece in pieces[place : place + words])
    ]
    if not places:
        return None
    place = draw.choice(places)
    again, at = pieces[place : place + words], place + words + distance
    text = " ".join([*pieces[:at], *again, *pieces[at:]])
    return Planted("repeated", source, text, {("target", word.lower()) for word in again})


def recall_by_distance(
    finder: FaultFinder, sources: Sequence[str], targets: Sequence[str], words: int, distance: int, seed: int = 1
) -> tuple[int, float]:
    """How many repeats of so many words were planted at a distance, and the share of them that is found."""
    draw = random.Random(seed)
    pairs = zip(sources, targets, strict=True)
    faults = [one for pair in pairs if (one := repeated_later(*pair, words, distance, draw)) is not None]
    hits = sum(bool(told(finder.faults(one.source, one.target), "repeated") & one.words) for one in faults)
    return len(faults), hits / max(len(faults), 1)


def planted_alone(kind: str, sources: Sequence[str], targets: Sequence[str], seed: int = 1) -> list[Planted]:
    """A fault of one kind in each translation that can have it."""
    draw = random.Random(seed)
    found = (KINDS[kind](source, target, [], draw) for source, target in zip(sources, targets, strict=True))
    return [one for one in found if one is not None]


def rates(finder: FaultFinder, faults: Sequence[Planted]) -> dict[str, tuple[int, float, float]]:
    """For each kind how many were planted, precision and recall."""
    planted_, hit, right, all_told = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for fault in faults:
        found = finder.faults(fault.source, fault.target)
        planted_[fault.kind] += 1
        for kind in KINDS:
            places = told(found, kind)
            all_told[kind] += bool(places)
            right[kind] += bool(places) and kind == fault.kind and bool(places & fault.words)
        hit[fault.kind] += bool(told(found, fault.kind) & fault.words)
    return {
        kind: (planted_[kind], right[kind] / max(all_told[kind], 1), hit[kind] / max(planted_[kind], 1))
        for kind in KINDS
    }


def main() -> None:
    """Prints a table."""
    parser = options(__doc__)
    for name in ("run", "source", "target"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    finder = FaultFinder(Translations.read(given.run / TRANSLATIONS_FILE))
    sources, targets = lines_of(given.source), lines_of(given.target)
    found = rates(finder, planted(sources, targets))
    left = planted_alone("untranslated", sources, targets)
    found["untranslated"] = rates(finder, left)["untranslated"]
    clean = Counter[str]()
    for source, target in zip(sources, targets, strict=True):
        clean.update({fault.kind for fault in finder.faults(source, target)})
    rows = [
        [kind, count, f"{precision:.2f}", f"{recall:.2f}", f"{1000 * clean[kind] / len(sources):.0f}"]
        for kind, (count, precision, recall) in found.items()
    ]
    print(markdown(["fault", "planted", "precision", "recall", "told of 1,000 as they were"], rows), "\n")
    rows = []
    for words, distance in product((1, 2, 3), (0, 1, 2, 3, 4, 6, 8)):
        count, recall = recall_by_distance(finder, sources, targets, words, distance)
        rows.append([f"{words} word{'s' * (words > 1)}", distance, count, f"{recall:.2f}"])
    print(markdown(["said again", "words between", "planted", "recall"], rows))


if __name__ == "__main__":
    main()
