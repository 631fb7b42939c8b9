"""Context in the sources of a model that was trained with data.source_augmentations."""

from collections.abc import Mapping, Sequence
from typing import Literal

from regard.augmentations import SourceAugmentation, SourceHints, TermHint
from regard.data.examples import ColumnTexts
from regard.documents.glossary import Glossary
from regard.errors import ConfigError
from regard.memory import THRESHOLD
from regard.results import MemoryMatch
from regard.text.clean import clean
from regard.text.source_marks import without_marks

TermMethod = Literal["constraints", "annotations", "both"]
_SOURCE, _SETTING = "source", "decoding.terms"


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
        source = without_marks(given)  # of the same length, so terms stay in their places
        for one in self._rows.values():
            source = one.augmented(source, hints)
        return example if source == given else {**example, _SOURCE: source}
