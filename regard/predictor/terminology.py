"""Terms of a glossary and prefixes that translations have to keep, as the ids that a search requires."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from regard.data.columns import TextColumn
from regard.decoding import BeamSearch, Search
from regard.decoding.phrases import Phrase, Requirement, Requirements, Term
from regard.documents.glossary import Glossary, Occurrence, missing_terms, uses
from regard.documents.sentences import sentences
from regard.documents.text_spans import in_word, unspaced, word_spans
from regard.errors import DataError
from regard.pieces import BOS, EOS, SPECIALS, byte_of
from regard.results import Prediction, TermReport
from regard.text.clean import clean
from regard.text.offsets import TextPlace

MOST_PIECES, MOST_OF_ALL = 100, 1000  # of a term; of a prefix, or of all terms of a text
MOST_CELLS = 4_000_000  # of the arrays of a text's terms: 32 MB each
KNOWN = 20_000  # terms whose pieces are kept
_TRIED = 2  # translations with terms, times the beam's size: loops and others that are cut off are left out

Predicted = Callable[[Sequence[int], Search | None], list[Prediction]]  # of some texts, with another search


class TermPhrases:
    """Terms as pieces of a column, and their places in the pieces of the `source`."""

    def __init__(self, column: TextColumn, source: TextColumn | None = None) -> None:
        self.column, self.source = column, source
        self._known = dict[tuple[str, ...], Term]()
        self._checked = WeakSet[Glossary]()

    @cached_property
    def parts_words(self) -> NDArray[np.bool_]:
        """(vocab,) pieces that do not go on with the word before them."""
        parts = [
            byte_of(piece) is None and not in_word(piece[:1] or " ")
            for piece in self.column.pieces(range(len(self.column)))
        ]
        parts[: len(SPECIALS)] = [number == EOS for number in range(len(SPECIALS))]
        return np.array(parts)

    def check(self, glossaries: Iterable[Glossary]) -> None:
        """Raises DataError for a translation that is too long for a beam."""
        new = [one for one in dict.fromkeys(glossaries) if one not in self._checked]
        texts = list(dict.fromkeys(text for one in new for entry in one.entries for text in entry.targets))
        for text, ids in zip(texts, self.column.encode_batch(texts), strict=True):
            if len(ids) > MOST_PIECES:
                problem = f"'{text[:40]}…' has {len(ids)} pieces, more than a beam can place ({MOST_PIECES})"
                raise DataError("glossary", problem, hint="give shorter terms")
        self._checked.update(new)

    def requirement(self, found: Sequence[Occurrence], prefix: str, text: str = "") -> Requirement:
        """Return the phrases and the prefix that the translation of a `text` must have."""
        terms = [self._term(one.entry.targets) for one in found]
        offsets = [] if self.source is None or not found else self.source.offsets(text)
        places = [_pieces_at(offsets, one) for one in found] if offsets else []
        return Requirement(terms, self.column.encode(prefix), places)

    def _term(self, targets: tuple[str, ...]) -> Term:
        if targets not in self._known:
            if len(self._known) >= KNOWN:
                self._known.clear()
            phrases = (phrase for target in targets for phrase in self._phrases(target))
            self._known[targets] = tuple(dict.fromkeys(phrases))
        return self._known[targets]

    def _phrases(self, target: str) -> list[Phrase]:
        """A target behind another word, and at the beginning of a text, where its pieces may be others."""
        alone, whole = tuple(self.column.encode(target)), in_word(target[-1])
        befores = [("0", " "), ("、", "")] if unspaced(target[0]) else [("0", " ")]
        inside = [self._behind(*before, target) for before in befores]
        begins = [] if alone in inside else [Phrase((BOS, *alone), whole)]
        return [*begins, *(Phrase(ids, whole) for ids in inside if ids)]

    def _behind(self, before: str, space: str, target: str) -> tuple[int, ...]:
        """The pieces of a target behind another text; none where they cannot be separated."""
        start, both = self.column.encode(before), self.column.encode(before + space + target)
        return tuple(both[len(start) :]) if both[: len(start)] == start else ()


def _pieces_at(offsets: Sequence[TextPlace], one: Occurrence) -> tuple[int, int]:
    """The first piece of a term and the one behind its last, by the places of the pieces of its text."""
    inside = [number for number, place in enumerate(offsets) if place and place[0] < one.end and place[1] > one.start]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


class RequiredTerms(NamedTuple):
    """Terms and prefixes of each translation."""

    glossaries: Sequence[Glossary]
    prefixes: Sequence[str]

    @classmethod
    def of(
        cls, glossary: Glossary | Sequence[Glossary] | None, prefixes: Sequence[str] | None, texts: int
    ) -> "RequiredTerms":
        """A glossary for all, or one for each text. Raises DataError where there are too few or too many."""
        each = [glossary or Glossary([])] * texts if glossary is None or isinstance(glossary, Glossary) else glossary
        if len(each) != texts:
            raise DataError("glossary", f"{len(each):,} for {texts:,} texts", hint="one for all, or one for each")
        if prefixes is not None:
            _check_prefixes(prefixes, texts)
        return cls(each, [clean(one) for one in prefixes or [""] * texts])


def of_places(
    glossary: Glossary | Sequence[Glossary] | None, places: Sequence[int]
) -> Glossary | Sequence[Glossary] | None:
    """Return the glossaries of some texts, where each text has its own."""
    return glossary if glossary is None or isinstance(glossary, Glossary) else [glossary[place] for place in places]


def prefixes_of_sentences(prefixes: Sequence[str], sentences: Sequence[Sequence[str]]) -> list[str]:
    """The prefixes of texts → those of all their sentences: the first of each has it, the others have none."""
    _check_prefixes(prefixes, len(sentences))
    pairs = zip(prefixes, sentences, strict=True)
    return [prefix if number == 0 else "" for prefix, some in pairs for number in range(len(some))]


def _check_prefixes(prefixes: Sequence[str], texts: int) -> None:
    """Raises DataError unless there is one for each text."""
    if isinstance(prefixes, str) or len(prefixes) != texts:
        raise DataError("prefixes", f"one is needed for each text, of {texts:,}", hint="it may be empty")


def with_terms(
    predicted: Predicted,
    beam: BeamSearch,
    phrases: TermPhrases,
    requested: RequiredTerms,
    most: float,
    method: str = "constraints",
) -> list[Prediction]:
    """A prediction for each text that begins with its prefix and has its terms, and what became of them.

    What has all terms in any case stays as it is; what lacks one is searched for again, unless `method` is annotations:
    then `predicted` reads them in the sources, and inflected terms count as used. Terms may cost `most` nats a word
    before a warning is printed.
    """
    inflected = method != "constraints"
    phrases.check(requested.glossaries)

    def again(of: Mapping[int, Requirement], n_best: int) -> dict[int, Prediction]:
        search = beam.requiring(Requirements(of, phrases.parts_words), n_best=n_best, early=True)
        return dict(zip(of, predicted([*of], search), strict=True))

    begins = {row: phrases.requirement([], one) for row, one in enumerate(requested.prefixes)}
    for row, one in begins.items():
        if one.size > MOST_OF_ALL:
            raise DataError("prefixes", f"{one.size:,} pieces are more than {MOST_OF_ALL:,}", line=row + 1)
    free = again(begins, beam.n_best) if any(requested.prefixes) else dict(enumerate(predicted([*begins], None)))
    found = [glossary.found(free[row].source) for row, glossary in enumerate(requested.glossaries)]
    required_by_search = free if method != "annotations" else {}
    lacking = [row for row, one in required_by_search.items() if _lacks(one, found[row], inflected)]
    required = {row: phrases.requirement(found[row], requested.prefixes[row], free[row].source) for row in lacking}
    required = {row: one for row, one in required.items() if one.size <= 2 * MOST_OF_ALL and one.cells <= MOST_CELLS}
    searched = again(required, _TRIED * beam.size)
    best = {row: _best(one, free[row], found[row], beam.n_best) for row, one in searched.items()}
    report = partial(_reported, most=most, method=method)
    return [report(best.get(row) or one, one, found[row]) if found[row] else one for row, one in free.items()]


def _best(prediction: Prediction, free: Prediction, found: Sequence[Occurrence], n_best: int) -> Prediction | None:
    """The first of all that is whole and has the terms, with the rest of the n best behind it; None: none is.

    A term that fits badly is likeliest behind a sentence that is whole without it. So what has more sentences than the
    source and the `free` translation is taken only where nothing else has the terms.
    """
    ranked = [replace(prediction, alternatives=[]), *prediction.alternatives]
    whole = (one for one in ranked if one.finished and not _lacks(one, found))  # looked at as far as need be
    first = next(whole, None)
    if first is None:
        return None
    most, passed = max(map(_sentences, (free.source, free.text))), [first]
    while _sentences(passed[-1].text) > most and (another := next(whole, None)) is not None:
        passed.append(another)
    best = passed[-1] if _sentences(passed[-1].text) <= most else first
    others = [one for one in passed if one is not best]
    return replace(best, alternatives=[*others, *islice(whole, n_best)][: n_best - 1])


def _sentences(text: str) -> int:
    """Return the number of sentences."""
    return sum(1 for _ in sentences(text))


def _lacks(prediction: Prediction, found: Sequence[Occurrence], inflected: bool = False) -> bool:
    """Return whether a translation lacks a term of its source; `inflected`: another form of it counts, too."""
    return not all(one.used for one in uses(found, prediction.text, inflected=inflected))


def _reported(
    prediction: Any, free: Prediction, found: Sequence[Occurrence], *, most: float, method: str
) -> Prediction:
    """A TextPrediction with what became of its terms, and a warning where some are missing or fit badly.

    `free` is the translation without them; they may cost `most` nats a word before a warning is printed.
    """
    used = uses(found, prediction.text, inflected=method != "constraints")
    cost = max(sum(free.log_probs) - sum(prediction.log_probs), 0.0)
    if cost:
        cost /= max(len(word_spans(prediction.text)), 1)
    warnings = [*filter(None, [prediction.warning]), *missing_terms(used)]
    if cost > most:
        warnings.append(
            f"terms fit badly: they cost {cost:.1f} nats a word (decoding.term_cost={most:g}); "
            f"without them: '{free.text}'"
        )
    report = TermReport(used, cost, free.text if free.text != prediction.text else "", method)
    return replace(prediction, warning="; ".join(warnings), terms=report)
