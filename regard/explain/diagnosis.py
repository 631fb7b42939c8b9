"""Possible errors of a translation, from its words, their attention and their confidence."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from regard.explain.alignment import Weights, word_alignment
from regard.explain.scale import bounded
from regard.explain.token_weights import search_words
from regard.explain.tokens import Word, words_of
from regard.results import Explanation, Place, Prediction, TranslationFault

_NEAR = 3  # a repeated word stands within this number of words
TOP = 2  # and shares one of this number of its most attended places
UNSURE_BELOW = 0.5  # probability below which a word is unsure; the page colours it so
GUESSES = {"dropped": "unattended"}  # of a fault by a lexicon: the flag that weights alone raise

_NUMBERS = (  # from two on, since "one" is an article elsewhere
    "two three four five six seven eight nine ten eleven twelve",
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "deux trois quatre cinq six sept huit neuf dix onze douze",
    "dos tres cuatro cinco seis siete ocho nueve diez once doce",
)
NUMBERS = {word: str(value) for words in _NUMBERS for value, word in enumerate(words.split(), start=2)}
_DIGITS = re.compile(r"\d+")


class Flag(NamedTuple):
    """Something worth a look."""

    kind: str  # "repeated", "untranslated", "unattended", "unsure", "unfinished", or a kind of TranslationFault
    side: str  # "source" or "target": where the word stands
    word: int  # position, from 0
    value: float  # repeated: distance in words; untranslated, unattended: weight; unsure: probability; others: 0
    source: str = ""  # what a word of the target is linked to, or should be the translation of; "": nobody knows
    suggestion: str = ""  # what that is most often translated by, where a run has counted it


def diagnose(prediction: Prediction) -> list[Flag]:
    """All flags of a prediction, by side and word; of labels, or without an explanation, that it was cut off."""
    found, report = prediction.explanation, prediction.lexicon_report()
    flags, last = list[Flag](), len(prediction.text.split()) - 1
    if found is not None and found.is_written:
        sure = prediction.confidences or []  # calibrated, as on pages; the end symbol keeps its own
        log_probs = [*(math.log(max(one, 1e-300)) for one in sure), *prediction.log_probs[len(sure) :]]
        flags, last = _explained(found, log_probs)
        if report is not None:
            read, written = (words_of(found.column(name).texts) for name in found.link[:2])
            places = {"source": word_places(read, prediction.source), "target": word_places(written, prediction.text)}
            flags = _with_faults(flags, report.faults, places)
        flags = _with_sources(flags, found, {} if report is None else report.usual)
    if not prediction.finished:
        flags.append(Flag("unfinished", "target", max(last, 0), 0.0))
    return sorted(flags, key=lambda flag: (flag.side, flag.word, flag.kind))


def _explained(found: Explanation, log_probs: Sequence[float]) -> tuple[list[Flag], int]:
    """Return the flags from words and weights, and the position of the last target word. There may be no weights."""
    read, written = (found.column(name).texts for name in found.link[:2])
    filled = found.link.weights or [[0.0] * len(read)] * len(written)
    sources, targets, weights, _ = word_alignment(read, written, filled)
    source, target = [word.text for word in sources], [word.text for word in targets]
    attended = weights if found.link.weights else []
    flags = [*untranslated(source, target, attended), *repeated_words(target, attended)]
    flags += [*unknown(targets), *other_numbers(source, target)]
    if attended and bounded(found.link.weights):  # a weight is small only on a known scale
        flags += unattended(source, attended)
    if len(log_probs) == len(written):
        flags += unsure([sum(log_probs[piece] for piece in word.pieces) for word in targets])
    return flags, len(targets) - 1


def word_places(words: Sequence[Word], text: str) -> list[Place | None]:
    """Return the place of each word in a text; None where a piece spells its text in another way."""
    found = search_words(text, [word.text for word in words], near=len(text))
    return [None if place is None else [*place] for place in found]


def _with_faults(
    flags: Sequence[Flag], faults: Sequence[TranslationFault], places: Mapping[str, Sequence[Place | None]]
) -> list[Flag]:
    """Return flags and faults; a fault that a lexicon finds replaces the flag of the same word and kind."""
    merged, weights = list[Flag](), {flag[:3]: flag.value for flag in flags}
    for fault in faults:
        first, behind = fault.place
        spots = enumerate(places[fault.side])
        word = next((word for word, spot in spots if spot and spot[0] < behind and first < spot[1]), None)
        if word is not None:
            value = weights.get((fault.kind, fault.side, word), 0.0)
            merged.append(Flag(fault.kind, fault.side, word, value, fault.source, fault.suggestion))
    known = {(flag.side, flag.word, GUESSES.get(flag.kind, flag.kind)) for flag in merged}
    return [*merged, *(flag for flag in flags if (flag.side, flag.word, flag.kind) not in known)]


def _with_sources(flags: Sequence[Flag], found: Explanation, usual: Mapping[str, str]) -> list[Flag]:
    """Return the flags with the source word that each is linked to, and the usual translation of that word."""
    sources, targets = (words_of(found.column(name).texts) for name in found.link[:2])
    of_piece = {piece: word.text for word in sources for piece in word.pieces}
    links = {target: of_piece[source] for source, target in reversed(found.link.pairs)}

    def sourced(flag: Flag) -> Flag:
        source = flag.source
        if not source and flag.side == "source":
            source = sources[flag.word].text
        elif not source:
            source = next((links[piece] for piece in targets[flag.word].pieces if piece in links), "")
        suggestion = flag.suggestion or usual.get(source.lower(), "")
        return flag._replace(source=source, suggestion=suggestion)

    def copied_by_people(flag: Flag) -> bool:
        word = targets[flag.word].text.lower() if flag.kind == "untranslated" else ""
        return bool(word) and usual.get(word) == word

    return [sourced(flag) for flag in flags if not copied_by_people(flag)]


def repeated_words(target: Sequence[str], weights: Weights = ()) -> list[Flag]:
    """Return words that repeat one of the last three; with weights only if both attend to the same source word."""
    flags = []
    for word, text in enumerate(target):
        earlier = [before for before in range(max(word - _NEAR, 0), word) if target[before] == text]
        if earlier and _letters(text) and (not weights or _top(weights[word]) & _top(weights[earlier[-1]])):
            flags.append(Flag("repeated", "target", word, float(word - earlier[-1])))
    return flags


def unknown(words: Sequence[Word]) -> list[Flag]:
    """Words that the model wrote without knowing which."""
    return [Flag("unknown", "target", place, 0.0) for place, word in enumerate(words) if word.unknown]


def other_numbers(source: Sequence[str], target: Sequence[str]) -> list[Flag]:
    """Numbers of the target that the source has not, while one of the source is missing."""
    missing, new = unmatched_numbers(source, target)
    return [Flag("number", "target", place, 0.0) for place in new] if missing else []


def unmatched_numbers(source: Sequence[str], target: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the places of numbers, digits or words for 2 to 12, whose value the other side has not as often."""
    values = [[number_of(word) for word in side] for side in (source, target)]
    both = Counter(values[0]) & Counter(values[1])
    found: tuple[list[int], list[int]] = ([], [])
    for side, places in zip(values, found, strict=True):
        left = Counter(both)
        for place, value in enumerate(side):
            left[value] -= 1
            if value and left[value] < 0:
                places.append(place)
    return found


def number_of(word: str) -> str:
    """Return the value of a number word in English, German, French or Spanish; "" for any other word."""
    bare = word.strip(".,;:!?\"'()").casefold()
    return str(int(bare)) if _DIGITS.fullmatch(bare) else NUMBERS.get(bare, "")


def untranslated(source: Sequence[str], target: Sequence[str], weights: Weights = ()) -> list[Flag]:
    """Return target words copied from the source; with weights only if they attend to that word most.

    Names and numbers may be copied, so this is a hint, not a verdict; words without letters do not count.
    """
    flags = []
    for word, text in enumerate(target):
        places = [place for place, other in enumerate(source) if other == text]
        if not places or not _letters(text):
            continue
        weight = max(weights[word][place] for place in places) if weights else 1.0
        if not weights or weight >= max(weights[word]):
            flags.append(Flag("untranslated", "target", word, weight))
    return flags


def unattended(source: Sequence[str], weights: Weights, *, below: float = 0.2) -> list[Flag]:
    """Return source words that no target word attends to with a weight of `below` or more."""
    most = [max((row[word] for row in weights), default=0.0) for word in range(len(source))]
    return [
        Flag("unattended", "source", word, weight)
        for word, weight in enumerate(most)
        if weight < below and _letters(source[word])
    ]


def unsure(log_probs: Sequence[float], *, below: float = UNSURE_BELOW) -> list[Flag]:
    """Return target words with a probability under `below`; `log_probs` of words, in nats."""
    probabilities = [math.exp(min(value, 0.0)) for value in log_probs]
    return [Flag("unsure", "target", word, value) for word, value in enumerate(probabilities) if value < below]


def _letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _top(row: Sequence[float]) -> set[int]:
    order = sorted(range(len(row)), key=lambda place: -row[place])
    return {place for place in order[:TOP] if row[place] > 0}
