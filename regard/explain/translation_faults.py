"""Possible errors of a translation, from its words and from counts of each word's translations in training."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from regard.data.manifest import verify_file
from regard.errors import CheckpointError
from regard.explain.adequacy.lexicon import MIN_SEEN, TRANSLATIONS_FILE, USUAL_FRACTION, folded_words, is_left_out
from regard.explain.diagnosis import number_of, repeated_words, unmatched_numbers
from regard.results import LexiconReport, Place, TranslationFault
from regard.statistical.translations import DROPPED, Translations

_COMMON = 0.002  # share of all words above which a word, as "the", may well come again soon
EVERYWHERE = 0.03  # fraction of all source words above which a word, as "a", says nothing about its translation
_FREE = 2  # words beyond those that the source accounts for that are more than a free translation
_NARROW, _SURE = 5, 0.8  # a word is checked for repeats if this number of source words has this fraction of its counts
STEM = 4  # letters that an inflected name keeps, and the shortest word that is checked for repeats


class _Word(NamedTuple):
    text: str  # in lower case
    place: Place
    written: str

    @property
    def is_lettered(self) -> bool:
        return any(map(str.isalpha, self.text))


class _Pair:
    """The words of a source and of its translation, and the counts of their translations."""

    def __init__(self, counts: Translations, source: str, target: str) -> None:
        self.counts = counts
        self.source, self.target = (
            [_Word(word, place, text[slice(*place)]) for word, place in folded_words(text)] for text in (source, target)
        )
        self.read, self.written = ({word.text for word in side} for side in (self.source, self.target))

    def covers(self, word: _Word, least: int = 2) -> bool:
        """Return whether a source word is translated as it was before, or kept as it is."""
        return self.counts.is_covered(word.text, self.written, least)

    def originates(self, word: _Word) -> bool:
        """Return whether a target word translates a source word as it did before."""
        return bool(self.counts.usual_origins(word.text) & self.read)

    def suspect(self, kind: str, word: _Word, *, side: str = "source", other: str = "") -> TranslationFault:
        """Return the fault of a word of the source, or one as it stands there; `other` where counts suggest none."""
        suggestion = self.counts.suggestion(word.text) or other
        return TranslationFault(kind, side, word.written, word.place, word.written, suggestion)

    @cached_property
    def left(self) -> list[_Word]:
        """Return source words with a usual translation that the target lacks."""
        words = [word for word in self.source if not number_of(word.text)]
        return [word for word in words if is_left_out(self.counts, word.text, self.written)]

    @cached_property
    def new(self) -> list[_Word]:
        """Return target words, frequent in training, that never translated a word of the source."""
        return [
            word
            for word in self.target
            if word.is_lettered
            and not number_of(word.text)
            and _total(self.counts.origins.get(word.text, {})) >= MIN_SEEN
            and word.text not in self.read
            and not self.originates(word)
        ]


def _unknown(pair: _Pair) -> Iterator[TranslationFault]:
    """Yield each sign of a word that the model does not know, with the only word that nothing translates."""
    alone = [word for word in pair.source if word.is_lettered and not pair.covers(word)]
    for place in (word.place for word in pair.target if word.text == "⁇"):
        source = alone[0].written if len(alone) == 1 else ""
        suggestion = pair.counts.suggestion(source.lower()) or source
        yield TranslationFault("unknown", "target", "⁇", place, source, suggestion)


def _numbers(pair: _Pair) -> Iterator[TranslationFault]:
    """Yield numbers, in digits or words, that only one side has."""
    missing, new = unmatched_numbers(*([word.text for word in side] for side in (pair.source, pair.target)))
    sources = [pair.source[place] for place in missing if not pair.covers(pair.source[place])]
    for word in (pair.target[place] for place in new if not pair.originates(pair.target[place])):
        source = sources.pop(0) if sources else None
        known = ("", "") if source is None else (source.written, pair.counts.suggestion(source.text) or source.written)
        yield TranslationFault("number", "target", word.written, word.place, *known)
    yield from (pair.suspect("number", word) for word in sources)


def _names(pair: _Pair) -> Iterator[TranslationFault]:
    """Yield capitalised words inside a sentence that are neither copied nor translated as in training."""
    for word in pair.source[1:]:
        counts = pair.counts.counts.get(word.text, {})
        if (
            word.written[0].isupper()
            and word.is_lettered
            and not any(one.startswith(word.text[: max(STEM, len(word.text) - 2)]) for one in pair.written)
            and counts.get(DROPPED, 0) <= (1 - USUAL_FRACTION) * _total(counts)
            and not pair.covers(word, 1)
        ):
            yield pair.suspect("name", word, other=word.written)


def _repeated(pair: _Pair) -> Iterator[TranslationFault]:
    """Yield words repeated at once; rarer words also later, unless the source accounts for them."""
    texts, reads = [word.text for word in pair.target], Counter(word.text for word in pair.source)
    origins, total = pair.counts.origins, pair.counts.written_total
    places = list[int]()
    for flag in repeated_words(texts):
        text = texts[flag.word]
        common = _total(origins.get(text, {})) > _COMMON * total
        twice = any(reads[origin] > 1 for origin in pair.counts.usual_origins(text))
        if flag.value == 1 or not (twice or common):
            places.append(flag.word)
    for place in (*places, *_beyond_source(pair.counts, texts, reads)):
        yield TranslationFault("repeated", "target", pair.target[place].written, pair.target[place].place)


def _beyond_source(known: Translations, texts: Sequence[str], reads: Mapping[str, int]) -> Iterator[int]:
    """Yield places of words that occur more often than the words of the source account for, however far apart.

    Only words of `STEM` letters or more are checked that translate few source words, the usual one of which is not
    among the commonest, as "a" is: such words recur for many reasons.
    """
    seen = Counter[str]()
    for place, text in enumerate(texts):
        seen[text] += 1
        if seen[text] == 1 or len(text) < STEM or not text.isalpha() or number_of(text):
            continue
        counts = known.origins.get(text, Counter[str]())
        narrow = sum(count for _, count in counts.most_common(_NARROW)) >= _SURE * _total(counts)
        accounted = sum(reads[origin] for origin in known.usual_origins(text) | {text})
        usual = max(counts, key=counts.__getitem__, default="")
        rare = known.count(usual) <= EVERYWHERE * known.read_total
        if _total(counts) >= MIN_SEEN and narrow and rare and seen[text] > max(accounted, 1):
            yield place


def _dropped(pair: _Pair) -> Iterator[TranslationFault]:
    """Yield source words whose usual translations are all missing, unless new words may be free translations."""
    if len(pair.left) > len(pair.new):
        yield from (pair.suspect("dropped", word) for word in pair.left)


def _invented(pair: _Pair) -> Iterator[TranslationFault]:
    """Yield words that translate nothing, if they exceed the uncovered source words by `_FREE` or more."""
    if len(pair.new) >= len(pair.left) + _FREE:
        yield from (TranslationFault("invented", "target", word.written, word.place) for word in pair.new)


def _untranslated(pair: _Pair) -> Iterator[TranslationFault]:
    """Yield words copied from the source that training always translated by another word."""
    for word in pair.target:
        counts = pair.counts.counts.get(word.text, {})
        known = _total(counts) - counts.get(DROPPED, 0) >= MIN_SEEN and word.text not in pair.counts.origins
        if word.is_lettered and word.text in pair.read and known:
            yield pair.suspect("untranslated", word, side="target")


def _total(counts: Mapping[str, int]) -> int:
    return sum(counts.values())


# signs of a bad translation from counts; a word gets the first that fits
FAULT_SIGNS = (_unknown, _numbers, _names, _repeated, _dropped, _invented, _untranslated)


class FaultFinder:
    """Find errors of any translation by the counts of `regard adequacy RUN`.

    A word is checked if it was counted often enough: rare words are passed over, except numbers and names.
    """

    def __init__(self, counted: Translations | Path) -> None:
        self._counted = counted

    @cached_property
    def translations(self) -> Translations:
        """The counts; those of a file are read once."""
        return Translations.read(self._counted) if isinstance(self._counted, Path) else self._counted

    def faults(self, source: str, target: str) -> list[TranslationFault]:
        """Return the possible errors of a translation, by side and place. A word has one at most."""
        pair, found = _Pair(self.translations, source, target), dict[tuple[str, int], TranslationFault]()
        for sign in FAULT_SIGNS:
            for fault in sign(pair):
                found.setdefault((fault.side, fault.place[0]), fault)
        return [found[key] for key in sorted(found)]

    def report(self, source: str, target: str) -> LexiconReport:
        """Return the errors of a translation, and the most frequent translation of each source word."""
        usual = {word: self.translations.suggestion(word) for word, _ in folded_words(source)}
        return LexiconReport(self.faults(source, target), {word: one for word, one in usual.items() if one})


def fault_finder_of(run: Path) -> FaultFinder | None:
    """Return a FaultFinder with the counts of `regard adequacy RUN`; None without counts.

    The counts are read when first needed, which raises DataError for a truncated file. Damaged counts are not used,
    with a warning.
    """
    try:
        verify_file(run / TRANSLATIONS_FILE, f"make it again: regard adequacy {quote(str(run))}")
    except CheckpointError as error:
        warnings.warn(f"{error}; it is not used", stacklevel=2)
        return None
    return FaultFinder(run / TRANSLATIONS_FILE) if (run / TRANSLATIONS_FILE).exists() else None
