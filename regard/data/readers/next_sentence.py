"""Next sentence prediction of BERT: pairs whose second sentence follows the first or is from another document."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Seed, Size
from regard.data.examples import Example
from regard.data.readers.documents import DocumentPart, DocumentsReader, Every, part_of
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import FileName, Reader, check_columns
from regard.errors import DataError

NEXT, OTHER = "next", "other"
_TEXT = "text"
_Document = list[tuple[int, str]]  # its sentences with their lines, from 1
_EVERY, MIN_EVERY, DOCUMENTS = 10, 3, 2  # of `every`; documents that each part needs
_SHOWN = 3  # lines that an error lists


class NextSentenceReader(Reader):
    """n - 1 pairs of a document of n sentences; in half of them the second is a random one of another document.

    https://arxiv.org/abs/1810.04805, section 3.1, task 2. Random sentences come from all other documents, without the
    first of each, which follows none: so the second sentence alone does not reveal the label. A text is a span of
    `sentences` sentences, half of its document at most. Documents are those of an `index`, as in `documents`, or
    separated by empty lines; of each `every` the last is test and the one before is dev. A sample depends on `seed`,
    the round and the first sentence's line; each of `rounds` samples again, starts of spans included. All sentences
    of a part are in memory. An example has the number of its first line.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        index: Annotated[
            str | None,
            Doc("Tab-separated file with a line per document: name, category, first line from 1, number of lines."),
        ] = None,
        part: DocumentPart = "train",
        every: Every = _EVERY,
        sentences: Annotated[Size, Doc("Sentences per text; BERT's segments have several.")] = 1,
        rounds: Annotated[Size, Doc("Number of times all pairs are sampled.")] = 1,
        seed: Annotated[Seed, Doc("Random seed of the sampled pairs.")] = 1,
    ) -> None:
        check_columns(columns, 3, "makes two texts and a label", "task=next_sentence or task=pairs")
        self._path, self.columns = Path(file).expanduser(), columns
        self._part, self._every, self._sentences, self._rounds, self._seed = part, every, sentences, rounds, seed
        self._index = (
            None
            if index is None
            else DocumentsReader((_TEXT,), files={_TEXT: file}, index=index, part=part, every=every)
        )
        self.files = (self._path,) if self._index is None else self._index.files

    def key(self) -> str:
        sampling = f"{self._rounds} {self._seed} {self._index is not None} {self._sentences}"
        return f"next_sentence {self.columns} {self._part} {self._every} {sampling} by text"

    def __iter__(self) -> Iterator[Example]:
        documents = list(self._documents())
        self._check_lengths(documents)
        if len(documents) < DOCUMENTS:
            problem = f"there is {'one' if documents else 'no'} document in the {self._part} set, and pairs need two"
            hint = f"more documents, separated by empty lines; of each {self._every} one is dev and one is test"
            raise DataError(self._path, problem, hint=hint)
        for number in range(self._rounds):
            cut = [self._spans(number, document) for document in documents]
            seconds = [text for spans in cut for _, text in spans[1:]]
            end = 0
            for spans in cut:
                own = range(end, end := end + len(spans) - 1)
                for (line, first), (_, second) in pairwise(spans):
                    yield self._example(number, line, first, second, seconds, own)

    def _spans(self, number: int, document: _Document) -> _Document:
        """Return the texts of a document in a round; the start of the second one is sampled."""
        size = min(self._sentences, len(document) // 2)
        start = random.Random(f"{self._seed} {number} {document[0][0]}").randrange(size)
        ends = [*range(start, len(document), size), len(document)]
        spans = [document[first:last] for first, last in pairwise([0, *ends]) if first < last]
        return [(span[0][0], " ".join(sentence for _, sentence in span)) for span in spans]

    def _check_lengths(self, documents: list[_Document]) -> None:
        """Raise DataError for documents of one sentence, all of them in one line."""
        first, *others = [document[0][0] for document in documents if len(document) < 2] or [0]
        if not first:
            return
        problem = "a document of one sentence, so without a next one"
        if others:
            more = ", ".join(f"{line:,}" for line in others[:_SHOWN]) + (" …" if len(others) > _SHOWN else "")
            problem += f", and {len(others):,} more (line{'s' * (len(others) > 1)} {more})"
        hint = "join it with another document, or leave it out; only empty lines separate documents"
        raise DataError(self._path, problem, line=first, hint=hint)

    def _example(self, number: int, line: int, first: str, second: str, seconds: Sequence[str], own: range) -> Example:
        """Pair the first text with the second or with one of `seconds` outside `own`, those of its document."""
        rng = random.Random(f"{self._seed} {number} {line}")
        label = NEXT
        if rng.random() < 0.5:
            place = rng.randrange(len(seconds) - len(own))
            second, label = seconds[place if place < own.start else place + len(own)], OTHER
        return Example(line, dict(zip(self.columns, (first, second, label), strict=True)))

    def _documents(self) -> Iterator[_Document]:
        """Yield the documents of the part, without empty sentences."""
        if self._index is None:
            for number, document in enumerate(_parted(self._path)):
                if part_of(number, self._every) == self._part:
                    yield document
            return
        ranges, found = self._index.ranges(), _Document()
        lines = next(ranges, range(0))
        for example in self._index:
            while example.line not in lines:
                if found:
                    yield found
                lines, found = next(ranges), []
            if example.texts[_TEXT].strip():
                found.append((example.line, example.texts[_TEXT]))
        if found:
            yield found


def cycle_of(path: Path) -> int:
    """Return `every` for a text whose documents are separated by empty lines, so that each part has enough of them.

    Raises DataError for a text with too few documents for three parts.
    """
    count, least = sum(1 for _ in islice(_parted(path), _EVERY * DOCUMENTS)), MIN_EVERY * DOCUMENTS
    if count < least:
        problem = f"has {count} document{'s' * (count != 1)}, and next sentences are learnt from {least} or more"
        raise DataError(path, problem, hint="an empty line between two documents, a sentence a line")
    return count // DOCUMENTS


def _parted(path: Path) -> Iterator[_Document]:
    """Yield the documents between empty lines."""
    found = _Document()
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            found.append((number, line))
        elif found:
            yield found
            found = []
    if found:
        yield found
