"""A stretch of text files, so that one file can give all parts of a data set."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Share
from regard.data.examples import Example
from regard.data.readers.parallel import ParallelReader
from regard.data.readers.reader import Reader
from regard.data.readers.stretch import Stretch
from regard.errors import PartError


class ExcerptReader(Reader):
    """Lines from the share `start` of a text to the share `end`: `{files: {text: all.txt}, start: 0.9, end: 0.95}`."""

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        files: Annotated[Mapping[str, str], Doc("Text file of each column.")],
        start: Annotated[Share, Doc("Share of the text at which to begin.")] = 0.0,
        end: Annotated[Share, Doc("Share of the text at which to end.")] = 1.0,
    ) -> None:
        if start >= end:
            raise PartError(
                f"and end are {start} and {end}", "shares of the text: 0 ≤ start < end ≤ 1", setting="start"
            )
        self._lines = Stretch(ParallelReader(columns, files=files), start, end)
        self.columns, self.files = self._lines.columns, self._lines.files

    def key(self) -> str:
        return f"excerpt {self._lines.key()}"

    def __iter__(self) -> Iterator[Example]:
        return iter(self._lines)
