"""Context in the sources of a model that was trained with data.source_augmentations, and in explanations of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeVar

from regard.augmentations import SourceAugmentation, SourceHints, TermHint
from regard.data.columns import Column
from regard.data.examples import ColumnTexts
from regard.documents.glossary import Glossary
from regard.errors import ConfigError
from regard.explain.alignment import align
from regard.memory import MATCHES, THRESHOLD
from regard.results import AttentionMap, Explanation, MemoryMatch, TokenRole, Tokens, WordRelevance
from regard.text.clean import clean
from regard.text.source_marks import given_stretches, without_source_marks

TermMethod = Literal["constraints", "annotations", "both"]
_SOURCE, _CONTEXT, _SETTING = "source", "context", "decoding.terms"
_NONE = -1  # no stretch of the given text
_T = TypeVar("_T")


class SourceContext:
    """Writes hints into sources as in training; a model without augmentations reads texts as they are."""

    def __init__(self, rows: Mapping[str, SourceAugmentation]) -> None:
        """`rows` are the augmentations of the training, by name."""
        self._rows = rows
        self._least = [one.min_percent for one in rows.values() if one.min_percent is not None]

    @property
    def min_percent(self) -> int:
        """Minimum similarity of the segments of a memory that are worth a search."""
        return min([THRESHOLD, *self._least])

    @property
    def reads_memory(self) -> bool:
        """Return whether the model reads segments of a translation memory."""
        return bool(self._least)

    @property
    def most_matches(self) -> int:
        """Maximum number of segments of a memory that the model reads with a source."""
        return max((one.matches for one in self._rows.values()), default=0)

    @property
    def most_searched(self) -> int:
        """Maximum number of segments of a memory that are searched for."""
        return max(MATCHES, self.most_matches)

    def term_method(self, method: Literal["auto"] | TermMethod) -> TermMethod:
        """Return how terms of a glossary are kept. Raises ConfigError for annotations that the model does not read."""
        reads_terms = any(one.reads_terms for one in self._rows.values())
        if method == "auto":
            return "annotations" if reads_terms else "constraints"
        if method != "constraints" and not reads_terms:
            problem = f"'{method}' needs a model trained with data.source_augmentations=terms"
            raise ConfigError(_SETTING, problem, f"{_SETTING}=constraints")
        return method

    def hints(
        self, sources: Sequence[str], matches: Sequence[Sequence[MemoryMatch]], glossaries: Sequence[Glossary]
    ) -> list[SourceHints]:
        """Return the hints of sources: the segments like each, and the terms of its glossary."""
        if not self._rows:
            return [SourceHints()] * len(sources)
        found = list[SourceHints]()
        for source, similar, glossary in zip(sources, matches, glossaries, strict=True):
            terms = [TermHint(one.start, one.end, one.entry.targets[0]) for one in glossary.found(clean(source))]
            found.append(SourceHints(similar, terms))
        return found

    def augmented(self, example: ColumnTexts, hints: SourceHints) -> ColumnTexts:
        """Return an example with the hints in its source; the same where there are none."""
        if not self._rows:
            return example
        given = clean(example[_SOURCE])
        source = without_source_marks(given)  # of the same length, so terms stay in their places
        for one in self._rows.values():
            source = one.augmented(source, hints)
        return example if source == given else {**example, _SOURCE: source}


class SourceParts(NamedTuple):
    """Places of the pieces of an augmented source; the end symbol belongs to the given text."""

    given: list[int]
    context: list[int]
    offsets: list[list[int] | None]  # [first, behind] of each given piece in the given text

    @classmethod
    def of(cls, column: Column, augmented: str, source: str) -> "SourceParts":
        """Return the parts of a source as `column` cuts it; `source` is the given text."""
        given, context, offsets, place = list[int](), list[int](), list[list[int] | None](), 0
        stretches = [*given_stretches(augmented)]
        moved = list[int]()  # of each stretch: from the augmented to the given text
        for start, end in stretches:
            text = augmented[start:end].strip()
            place = max(source.find(text, place), place)
            moved.append(place - augmented.index(text, start))
            place += len(text)
        places, row = column.offsets(augmented), _NONE
        rows = list[int]()  # of each piece: its stretch; a space belongs to the piece behind it
        for found in reversed(places):
            if found is not None:
                row = next((one for one, (start, end) in enumerate(stretches) if start <= found[0] < end), _NONE)
            rows.append(row)
        for number, (found, row) in enumerate(zip(places, reversed(rows), strict=True)):
            if row == _NONE:
                context.append(number)
            else:
                given.append(number)
                offsets.append(None if found is None else [one + moved[row] for one in found])
        return cls([*given, len(places)], context, [*offsets, None])

    def of_explanation(self, found: Explanation) -> Explanation:
        """Return the attention of a translation with the context in a column of its own."""
        link, tokens = found.link, found.column(_SOURCE)
        weights = [_at(row, self.given) for row in link.weights]
        pairs = align([row[:-1] for row in weights[:-1]])
        given = Tokens(_at(tokens.texts, self.given), tokens.role, self.offsets)
        columns = {_SOURCE: given, _CONTEXT: Tokens(_at(tokens.texts, self.context), TokenRole.DERIVED)}
        return replace(
            found,
            columns={**columns, **{name: one for name, one in found.columns.items() if name != _SOURCE}},
            links=[link._replace(pairs=pairs, weights=weights), *found.links[1:]],
            maps=[part for one in found.maps for part in self._maps(one)],
        )

    def of_relevance(self, found: WordRelevance) -> WordRelevance:
        """Return the relevance of a translation with the context in a column of its own."""
        parts = ((_SOURCE, self.given), (_CONTEXT, self.context))
        tokens = {name: _at(found.tokens[_SOURCE], places) for name, places in parts}
        values = {name: [_at(row, places) for row in found.values[_SOURCE]] for name, places in parts}
        return replace(found, tokens={**found.tokens, **tokens}, values={**found.values, **values})

    def _maps(self, one: AttentionMap) -> list[AttentionMap]:
        """Return a map for each part that queries, and each that is queried."""
        parts = {_SOURCE: self.given, _CONTEXT: self.context}
        queries, keys = ([*parts] if side == _SOURCE else [side] for side in (one.queries, one.keys))
        return [
            replace(
                one,
                queries=query,
                keys=key,
                weights=[_block(head, parts.get(query), parts.get(key)) for head in one.weights],
            )
            for query in queries
            for key in keys
        ]


def _at(values: Sequence[_T], places: Sequence[int]) -> list[_T]:
    return [values[place] for place in places]


def _block(
    rows: Sequence[Sequence[float]], queries: Sequence[int] | None, keys: Sequence[int] | None
) -> list[list[float]]:
    """Return some rows and columns of a map; None: all."""
    chosen = rows if queries is None else _at(rows, queries)
    return [[*row] if keys is None else _at(row, keys) for row in chosen]
