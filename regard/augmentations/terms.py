"""Terms annotated with their translations: https://aclanthology.org/P19-1294."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np

from regard.arrays import Longs
from regard.augmentations.augmentation import BatchFraction, SourceAugmentation, SourceHints, TermHint, TrainingPair
from regard.config import Doc
from regard.config.bounds import Ratio, Size
from regard.data.ragged import Ragged
from regard.statistical.recombination import TightPhrases
from regard.text.source_marks import AS, TERM, TERM_END, without_source_marks
from regard.text.stems import same_stem
from regard.text.words import cut_words

_Sides = tuple[Sequence[str], Sequence[str]]  # words of source and target
_Forms = Mapping[str, Counter[str]]  # source phrase in lower case → its translations


class AnnotatedTerms(SourceAugmentation):
    """Writes terms as ⟦term⟧ dog ⟦as⟧ Hund ⟦end⟧, so that a model learns to copy and to inflect translations.

    In training the terms are aligned phrases of the pair, rare ones first. With `base_forms` many of them are given in
    the most frequent form of their translation, so that the model must inflect: forms are translations of one source
    phrase that differ in endings alone. At prediction terms come from a glossary.
    """

    reads_terms = True

    def __init__(
        self,
        *,
        mode: Annotated[
            Literal["append", "replace"], Doc("Write translations behind the terms, or in place of them.")
        ] = "append",
        words: Annotated[Size, Doc("Maximum number of words of a training term.")] = 3,
        terms: Annotated[Size, Doc("Maximum number of terms in a training source.")] = 3,
        base_forms: Annotated[
            Ratio, Doc("Probability that a training term is given in the most frequent form of its translation.")
        ] = 0.5,
        fraction: BatchFraction = 0.3,
    ) -> None:
        self.mode, self.words, self.terms, self.base_forms, self.fraction = mode, words, terms, base_forms, fraction

    def augmented(self, source: str, hints: SourceHints) -> str:
        parts, end = list[str](), 0
        for one in hints.terms:
            before, target = source[end : one.start], without_source_marks(one.target)
            parts.append(before if not before or before[-1].isspace() else f"{before} ")
            parts.append("" if self.mode == "replace" else f"{TERM} {source[one.start : one.end]} ")
            parts.append(f"{AS} {target} {TERM_END}")
            end = one.end
        return "".join([*parts, source[end:]])

    def hints(self, pairs: Sequence[TrainingPair], seed: int) -> Iterator[tuple[int, SourceHints]]:
        words = [(cut_words(source), cut_words(target)) for source, target in pairs]
        phrases = TightPhrases.of(words, self.words)
        order = np.argsort(phrases.rows, kind="stable")
        by_pair = Ragged(phrases.spans()[order], np.searchsorted(phrases.rows[order], np.arange(len(pairs) + 1)))
        forms = defaultdict[str, Counter[str]](Counter)
        for place, sides in enumerate(words):
            for span in by_pair.row(place):
                source, target = _texts(sides, span)
                forms[source.casefold()][target] += 1
        bases = dict[TrainingPair, str]()
        for place, sides in enumerate(words):
            draws = np.random.default_rng((seed, place))
            chosen = self._chosen(sides, by_pair.row(place), forms, draws)
            terms = list[TermHint]()
            for span in chosen:
                key = source, target = _texts(sides, span)
                if draws.random() < self.base_forms:
                    target = bases.setdefault(key, _base_form(target, forms[source.casefold()]))
                terms.append(TermHint(*_place(sides[0], span), target))
            if terms:
                yield place, SourceHints(terms=terms)

    def _chosen(self, sides: _Sides, spans: Longs, forms: _Forms, draws: np.random.Generator) -> list[Longs]:
        """Sample phrases that do not overlap, from the left; the weight of one is the root of its rarity."""
        counts = np.array([forms[_texts(sides, span)[0].casefold()].total() for span in spans], float)
        ranked = np.argsort(np.log(draws.random(len(spans))) * np.sqrt(counts))[::-1]
        most, found = int(draws.integers(1, self.terms + 1)), list[Longs]()
        for place in ranked:
            first, count = spans[place][:2]
            if all(one[0] + one[1] <= first or first + count <= one[0] for one in found):
                found.append(spans[place])
            if len(found) == most:
                break
        return sorted(found, key=lambda one: int(one[0]))


def _texts(sides: _Sides, span: Longs) -> TrainingPair:
    """Return the texts of a phrase pair."""
    first, count, start, length = span.tolist()
    return "".join(sides[0][first : first + count]).strip(), "".join(sides[1][start : start + length]).strip()


def _place(words: Sequence[str], span: Longs) -> tuple[int, int]:
    """Return the characters of a phrase in the text, which `cut_words` reads behind one more space."""
    first, count = span[:2].tolist()
    start, phrase = len("".join(words[:first])) - 1, "".join(words[first : first + count])
    return start + len(phrase) - len(phrase.lstrip()), start + len(phrase.rstrip())


def _base_form(target: str, forms: Counter[str]) -> str:
    """Return the most frequent of the forms of a translation; of equal ones the shortest."""
    return min((one for one in forms if same_stem(one, target)), key=lambda one: (-forms[one], len(one), one))
