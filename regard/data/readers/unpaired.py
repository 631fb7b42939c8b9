"""Text files whose lines are not paired: banks of texts."""

from collections.abc import Iterator
from itertools import count

from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.parallel import FileOfColumn, ParallelReader
from regard.data.readers.reader import Reader


class UnpairedReader(Reader):
    """One text file per column, of any length; shorter ones start again until the longest is read.

    An example has the number of its line in the longest file. Its texts are not a pair.
    """

    def __init__(self, columns: tuple[str, ...], *, files: FileOfColumn) -> None:
        parallel = ParallelReader(columns, files=files)
        self.columns, self.files = parallel.columns, parallel.files

    def key(self) -> str:
        return f"unpaired {self.columns}"

    def __iter__(self) -> Iterator[Example]:
        streams, left = [read_lines(path) for path in self.files], {*range(len(self.files))}
        for number in count(1):
            texts = list[str]()
            for place, path in enumerate(self.files):
                text = next(streams[place], None)
                if text is None:
                    left.discard(place)
                    streams[place] = read_lines(path)
                    text = next(streams[place])
                texts.append(text)
            if not left:
                return
            yield Example(number, dict(zip(self.columns, texts, strict=True)))
