"""What may be wrong with a translation, read from its words and from counts of what each word is translated by."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from regard.data.manifest import verify_file
from regard.errors import CheckpointError
from regard.explain.adequacy.lexicon import FILE, folded_words
from regard.explain.diagnosis import number_of, repeated, unmatched_numbers
from regard.results import LexiconReport, Place, TranslationFault
from regard.statistical.translations import DROPPED, Translations

CERTAIN, LEAST = 0.9, 5  # as of decoding.adequacy=lexicon: share of occurrences, occurrences
COMMON = 0.002  # share of all words above which a word, as "the", may well come again soon
EVERYWHERE = 0.03  # share of all words of the source above which one, as "a", tells nothing of what translates it
FREE = 2  # words more than the source accounts for that are no free translation
NARROW, SURE = 5, 0.8  # source words that together account for this share of a word that is judged for repeats
STEM = 4  # letters that an inflected name keeps, and that a word has at least that is judged for repeats


class _Word(NamedTuple):
    text: str  # in lower case
    place: Place
    written: str


class FaultFinder:
    """Finds faults by the counts that `regard adequacy RUN` keeps, whatever has translated.

    A word is judged where counts tell enough of it, so what is rare is passed over, but for numbers and names.
    """

    def __init__(self, translations: Translations) -> None:
        self.translations, self._origins = translations, dict[str, Counter[str]]()
        for source, counts in translations.counts.items():
            for target, count in counts.items():
                for word in target.split():
                    self._origins.setdefault(word, Counter())[source] += count
        self._total = sum(sum(counts.values()) for counts in self._origins.values())
        self._read = sum(map(translations.count, translations.counts))

    def faults(self, source: str, target: str) -> list[TranslationFault]:
        """Return what may be wrong with a translation, by side and place. One word has one fault at most."""
        sides = _Sides(_words(source), _words(target))
        finders = (
            self._unknown,
            self._numbers,
            self._names,
            self._repeated,
            self._dropped,
            self._invented,
            self._untranslated,
        )
        found: dict[tuple[str, int], TranslationFault] = {}
        for find in finders:
            for fault in find(sides):
                found.setdefault((fault.side, fault.place[0]), fault)
        return [found[key] for key in sorted(found)]

    def report(self, source: str, target: str) -> LexiconReport:
        """Return the faults of a translation, and what each word of its source is most often translated by."""
        usual = {word.text: self.suggestion(word.text) for word in _words(source)}
        return LexiconReport(self.faults(source, target), {word: one for word, one in usual.items() if one})

    def suggestion(self, source: str) -> str:
        """Return what a source word is most often translated by; "" where it was never seen."""
        counts = self.translations.counts.get(source, {})
        return max((word for word in counts if word != DROPPED), key=lambda word: counts[word], default="")

    def _unknown(self, sides: "_Sides") -> Iterator[TranslationFault]:
        """What a model wrote in place of a word that it does not know, with the only word that nothing translates."""
        alone = [word for word in sides.source if _lettered(word) and not self._covered(word.text, sides.written)]
        for place in (word.place for word in sides.target if word.text == "⁇"):
            source = alone[0].written if len(alone) == 1 else ""
            yield TranslationFault("unknown", "target", "⁇", place, source, self.suggestion(source.lower()) or source)

    def _numbers(self, sides: "_Sides") -> Iterator[TranslationFault]:
        """Values of digits and of number words that only one side has."""
        both = unmatched_numbers(*([word.text for word in side] for side in sides))
        sources, targets = ([side[place] for place in places] for side, places in zip(sides, both, strict=True))
        sources = [word for word in sources if not self._covered(word.text, sides.written)]
        targets = [word for word in targets if not self._known_origins(word.text) & sides.read]
        for word in targets:
            source = sources.pop(0) if sources else None
            suggestion = "" if source is None else self.suggestion(source.text) or source.written
            yield TranslationFault(
                "number", "target", word.written, word.place, source.written if source else "", suggestion
            )
        for word in sources:
            yield TranslationFault(
                "number", "source", word.written, word.place, word.written, self.suggestion(word.text)
            )

    def _names(self, sides: "_Sides") -> Iterator[TranslationFault]:
        """Words with a capital inside a sentence that are neither kept nor translated as they ever were."""
        for word in sides.source[1:]:
            known = any(one.startswith(word.text[: max(STEM, len(word.text) - 2)]) for one in sides.written)
            counts = self.translations.counts.get(word.text, {})
            judged = counts.get(DROPPED, 0) <= (1 - CERTAIN) * sum(counts.values())
            if (
                word.written[0].isupper()
                and _lettered(word)
                and not known
                and judged
                and not self._covered(word.text, sides.written, 1)
            ):
                yield TranslationFault(
                    "name", "source", word.written, word.place, word.written, self.suggestion(word.text) or word.written
                )

    def _repeated(self, sides: "_Sides") -> Iterator[TranslationFault]:
        """Words that come again at once; rarer ones also later, unless the source accounts for them."""
        texts = [word.text for word in sides.target]
        reads = Counter(word.text for word in sides.source)
        for flag in repeated(texts):
            word, origins = sides.target[flag.word], self._known_origins(texts[flag.word])
            common = sum(self._origins.get(word.text, {}).values()) > COMMON * self._total
            twice = any(reads[origin] > 1 for origin in origins)
            if flag.value == 1 or not (twice or common):
                yield TranslationFault("repeated", "target", word.written, word.place)
        for place in self._beyond_source(texts, reads):
            yield TranslationFault("repeated", "target", sides.target[place].written, sides.target[place].place)

    def _beyond_source(self, texts: Sequence[str], reads: Mapping[str, int]) -> Iterator[int]:
        """Places of words, however far apart, that come more often than words of the source account for them.

        A word of `STEM` letters or more is judged where it translates few words of the source, and its usual one is not
        among the commonest, as "a" is: such words come again for many reasons.
        """
        seen = Counter[str]()
        for place, text in enumerate(texts):
            seen[text] += 1
            if seen[text] == 1 or len(text) < STEM or not text.isalpha() or number_of(text):
                continue
            counts = self._origins.get(text, Counter[str]())
            total, origins = sum(counts.values()), self._known_origins(text)
            narrow = sum(count for _, count in counts.most_common(NARROW)) >= SURE * total
            accounted = sum(reads[origin] for origin in origins | {text})
            usual = max(counts, key=counts.__getitem__, default="")
            rare = self.translations.count(usual) <= EVERYWHERE * self._read
            if total >= LEAST and narrow and rare and seen[text] > max(accounted, 1):
                yield place

    def _dropped(self, sides: "_Sides") -> Iterator[TranslationFault]:
        """Source words whose usual translations are all missing, unless new words may be free translations of them."""
        left, new = self._left(sides), self._new(sides)
        for word in left if len(left) > len(new) else ():
            yield TranslationFault(
                "dropped", "source", word.written, word.place, word.written, self.suggestion(word.text)
            )

    def _invented(self, sides: "_Sides") -> Iterator[TranslationFault]:
        """Words that translate nothing, where these are more than what is left of the source by `FREE` or more."""
        left, new = self._left(sides), self._new(sides)
        for word in new if len(new) >= len(left) + FREE else ():
            yield TranslationFault("invented", "target", word.written, word.place)

    def _untranslated(self, sides: "_Sides") -> Iterator[TranslationFault]:
        """Words that stand in the source as they are, though these were always translated by another word."""
        for word in sides.target:
            counts = self.translations.counts.get(word.text, {})
            judged = sum(counts.values()) - counts.get(DROPPED, 0) >= LEAST and word.text not in self._origins
            if _lettered(word) and word.text in sides.read and judged:
                yield TranslationFault(
                    "untranslated", "target", word.written, word.place, word.written, self.suggestion(word.text)
                )

    def _left(self, sides: "_Sides") -> list[_Word]:
        """Source words that were nearly always translated by what they were translated by before, and now are not."""
        found = []
        for word in sides.source:
            counts = self.translations.counts.get(word.text, {})
            total, usual = sum(counts.values()), sum(count for one, count in counts.items() if one and count > 1)
            judged = total >= LEAST and usual >= CERTAIN * total and not number_of(word.text)
            if judged and not self._covered(word.text, sides.written):
                found.append(word)
        return found

    def _new(self, sides: "_Sides") -> list[_Word]:
        """Target words, seen often enough to know, that were the translation of no word of the source before."""
        return [
            word
            for word in sides.target
            if _lettered(word)
            and not number_of(word.text)
            and sum(self._origins.get(word.text, {}).values()) >= LEAST
            and word.text not in sides.read
            and not self._known_origins(word.text) & sides.read
        ]

    def _known_origins(self, word: str) -> set[str]:
        return {source for source, count in self._origins.get(word, {}).items() if count > 1}

    def _covered(self, word: str, written: set[str], least: int = 2) -> bool:
        """Whether a translation has a source word as it is, or as it was translated `least` times or more."""
        counts: Any = self.translations.counts.get(word, {})
        return word in written or any(
            count >= least and one and set(one.split()) <= written for one, count in counts.items()
        )


class KeptFaultFinder:
    """That of the counts in a file, which is read when it is first asked."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _finder(self) -> FaultFinder:
        return FaultFinder(Translations.read(self.path))

    def report(self, source: str, target: str) -> LexiconReport:
        """As of FaultFinder. Raises DataError for a file that is cut off."""
        return self._finder.report(source, target)


def fault_finder_of(run: Path) -> KeptFaultFinder | None:
    """Return what finds faults by the counts of `regard adequacy RUN`; None where nothing was counted.

    Counts that are damaged are warned of and not used.
    """
    try:
        verify_file(run / FILE, f"make it again: regard adequacy {quote(str(run))}")
    except CheckpointError as error:
        warnings.warn(f"{error}; it is not used", stacklevel=2)
        return None
    return KeptFaultFinder(run / FILE) if (run / FILE).exists() else None


class _Sides(NamedTuple):
    source: Sequence[_Word]
    target: Sequence[_Word]

    @property
    def read(self) -> set[str]:
        return {word.text for word in self.source}

    @property
    def written(self) -> set[str]:
        return {word.text for word in self.target}


def _words(text: str) -> list[_Word]:
    return [_Word(word, place, text[place[0] : place[1]]) for word, place in folded_words(text)]


def _lettered(word: _Word) -> bool:
    return any(character.isalpha() for character in word.text)
