"""What may be wrong with a translation, read from its words, where they looked and how sure the model was."""

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

_NEAR = 3  # a repeated word stands within so many words
TOP = 2  # and shares one of so many places it looked at most
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
        sure = prediction.confidences or []  # calibrated, as pages tell them; the end symbol keeps its own
        told = [*(math.log(max(one, 1e-300)) for one in sure), *prediction.log_probs[len(sure) :]]
        flags, last = _explained(found, told)
        if report is not None:
            read, written = (words_of(found.column(name).texts) for name in found.link[:2])
            places = {"source": word_places(read, prediction.source), "target": word_places(written, prediction.text)}
            flags = _with_faults(flags, report.faults, places)
        flags = _with_sources(flags, found, {} if report is None else report.usual)
    if not prediction.finished:
        flags.append(Flag("unfinished", "target", max(last, 0), 0.0))
    return sorted(flags, key=lambda flag: (flag.side, flag.word, flag.kind))


def _explained(found: Explanation, log_probs: Sequence[float]) -> tuple[list[Flag], int]:
    """What words and weights tell, and the position of the last target word. A model may tell no weights at all."""
    read, written = (found.column(name).texts for name in found.link[:2])
    told = found.link.weights or [[0.0] * len(read)] * len(written)
    sources, targets, weights, _ = word_alignment(read, written, told)
    source, target = [word.text for word in sources], [word.text for word in targets]
    looked = weights if found.link.weights else []
    flags = [*untranslated(source, target, looked), *repeated_words(target, looked)]
    flags += [*unknown(targets), *other_numbers(source, target)]
    if looked and bounded(found.link.weights):  # little is little only where it is known how much there can be
        flags += unattended(source, looked)
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
    """Flags and faults; what a lexicon says of a word stands in place of the guess of the same."""
    told, weights = list[Flag](), {flag[:3]: flag.value for flag in flags}
    for fault in faults:
        first, behind = fault.place
        spots = enumerate(places[fault.side])
        word = next((word for word, spot in spots if spot and spot[0] < behind and first < spot[1]), None)
        if word is not None:
            value = weights.get((fault.kind, fault.side, word), 0.0)
            told.append(Flag(fault.kind, fault.side, word, value, fault.source, fault.suggestion))
    known = {(flag.side, flag.word, GUESSES.get(flag.kind, flag.kind)) for flag in told}
    return [*told, *(flag for flag in flags if (flag.side, flag.word, flag.kind) not in known)]


def _with_sources(flags: Sequence[Flag], found: Explanation, usual: Mapping[str, str]) -> list[Flag]:
    """Flags with the source word that each is linked to, and what that is most often translated by."""
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
    """Words that stand among the last three already; with weights only where both looked at a same source word."""
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
    """Return the value that a word tells, in English, German, French or Spanish; "" where it is no number."""
    bare = word.strip(".,;:!?\"'()").casefold()
    return str(int(bare)) if _DIGITS.fullmatch(bare) else NUMBERS.get(bare, "")


def untranslated(source: Sequence[str], target: Sequence[str], weights: Weights = ()) -> list[Flag]:
    """Target words copied from the source; with weights only where they looked at that very word most.

    Names and numbers are copied rightly, so this is a question, not a verdict; words without letters do not count.
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
    """Source words that no target word looked at with a weight of `below` or more."""
    most = [max((row[word] for row in weights), default=0.0) for word in range(len(source))]
    return [
        Flag("unattended", "source", word, weight)
        for word, weight in enumerate(most)
        if weight < below and _letters(source[word])
    ]


def unsure(log_probs: Sequence[float], *, below: float = UNSURE_BELOW) -> list[Flag]:
    """Target words the model gave a probability under `below`; `log_probs` of words, in nats."""
    probabilities = [math.exp(min(value, 0.0)) for value in log_probs]
    return [Flag("unsure", "target", word, value) for word, value in enumerate(probabilities) if value < below]


def _letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _top(row: Sequence[float]) -> set[int]:
    order = sorted(range(len(row)), key=lambda place: -row[place])
    return {place for place in order[:TOP] if row[place] > 0}
