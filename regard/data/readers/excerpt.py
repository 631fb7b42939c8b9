"""A stretch of text files, so that one file can hold all splits of a data set."""

from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Ratio
from regard.data.readers.parallel import FileOfColumn, ParallelReader
from regard.data.readers.part import Stretch
from regard.errors import PartError


class ExcerptReader(Stretch):
    """Lines from the fraction `start` of a text to `end`: `{files: {text: all.txt}, start: 0.9, end: 0.95}`."""

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        files: FileOfColumn,
        start: Annotated[Ratio, Doc("Start of the excerpt, as a fraction of the text.")] = 0.0,
        end: Annotated[Ratio, Doc("End of the excerpt, as a fraction of the text.")] = 1.0,
    ) -> None:
        if start >= end:
            raise PartError(
                f"and end are {start} and {end}", "fractions of the text: 0 ≤ start < end ≤ 1", setting="start"
            )
        super().__init__(ParallelReader(columns, files=files), start, end)

    def key(self) -> str:
        return f"excerpt {super().key()}"
