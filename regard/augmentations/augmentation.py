"""The contract of source augmentations, and the reader of training pairs with augmented sources."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Gt, Lt

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.reader import Reader
from regard.errors import DataError
from regard.registry import Choice
from regard.results import MemoryMatch
from regard.text.clean import clean
from regard.text.source_marks import without_source_marks

_PAUSE = 10.0  # seconds between two lines of progress
TrainingPair = tuple[str, str]  # source and target
BatchFraction = Annotated[
    float, Gt(0), Lt(1), Doc("Fraction of the training batches made of augmented pairs; the others stay plain.")
]


class TermHint(NamedTuple):
    """A term of a source, at the characters `start` to `end` (exclusive), and its translation."""

    start: int
    end: int
    target: str


class SourceHints(NamedTuple):
    """Knowledge about one source that its text lacks."""

    matches: Sequence[MemoryMatch] = ()  # segments of a translation memory, the most similar first
    terms: Sequence[TermHint] = ()  # of a glossary, from the left, apart from each other


class SourceAugmentation(ABC):
    """Writes hints into a source between marks. A row of AUGMENTATIONS."""

    fraction: float  # of the training batches
    min_percent: int | None = None  # minimum similarity of the segments that it reads; None: it reads none
    matches: int = 0  # maximum number of segments that it reads
    reads_terms: ClassVar[bool] = False

    @abstractmethod
    def augmented(self, source: str, hints: SourceHints) -> str:
        """Return a source with its hints; the same text where there are none that this row reads."""

    @abstractmethod
    def hints(self, pairs: Sequence[TrainingPair], seed: int) -> Iterator[tuple[int, SourceHints]]:
        """Yield the hints of training pairs that have some, each after the place of its pair.

        Hints of a pair may come from other pairs and from word alignments, never from its own source and target alone.
        """


class AugmentedPairs(Reader):
    """The pairs of a reader that have hints, with augmented sources. An example has the line of its pair."""

    derived = True

    def __init__(
        self,
        reader: Reader,
        choice: Choice,
        augmentation: SourceAugmentation,
        seed: int,
        most: int | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`most`: maximum number of examples, of pairs in a shuffled order; None: all. `say` gets the progress."""
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._choice, self._augmentation, self._seed = reader, choice, augmentation, seed
        self._most, self._say = most, say

    @property
    def place(self) -> str:
        return f"data.source_augmentations.{self._choice.name}"

    @property
    def names(self) -> list[str]:
        return [f"{self._choice.name} for {self._reader.names[0]}"]

    def key(self) -> str:
        settings = sorted(self._choice.settings.items())
        return f"augmented {self._choice.name} {settings} {self._seed} {self._most} of {self._reader.key()}"

    def __iter__(self) -> Iterator[Example]:
        """Yield the examples. Raises DataError where there are none."""
        if not self._made:
            problem = f"no pair of {self._reader.names[0]} has a hint, so nothing can be learnt from it"
            raise DataError(self.place, problem, hint="leave it out, or change its settings")
        return iter(self._made)

    @cached_property
    def _made(self) -> list[Example]:
        source, target = self.columns
        examples = list(self._reader)
        if self._most is not None:
            order = np.random.default_rng(self._seed).permutation(len(examples))
            examples = [examples[place] for place in order]
        pairs = [(without_source_marks(clean(one.texts[source])), clean(one.texts[target])) for one in examples]
        made, said = list[Example](), monotonic()
        for place, hints in islice(self._augmentation.hints(pairs, self._seed), self._most):
            text, given = pairs[place]
            made.append(
                Example(examples[place].line, {source: self._augmentation.augmented(text, hints), target: given})
            )
            if monotonic() >= said + _PAUSE:
                said = monotonic()
                self._say(f"{self.place}: {place + 1:,} of {len(pairs):,} pairs")
        return made
