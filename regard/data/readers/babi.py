"""bAbI tasks (https://arxiv.org/abs/1502.05698): stories, questions about them, and answers."""

import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Annotated, Literal, cast

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.examples import Example
from regard.data.readers.lines import lines_in, read_lines, reading_faults
from regard.data.readers.reader import FileReader, GroupedReader
from regard.errors import DataError, PartError

ARCHIVES = (".tar.gz", ".tgz", ".tar")
_LINE = re.compile(r"(\d+) (.*)", re.DOTALL)


class BabiReader(FileReader, GroupedReader):
    """Lines `7 a sentence.` and `8 a question?<tab>answer<tab>supporting lines`; number 1 begins a new story.

    An example is a question with all earlier sentences of its story. Three columns hold the story, the question and
    the answer; two hold story with question, and the answer. A held-out part takes all questions of a story or none.
    An archive needs no unpacking: the member of the `task` and the `part` is read.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: Annotated[str, Doc("File of one task, plain or .gz, or the archive of all tasks (.tar.gz).")],
        task: Annotated[Size | None, Doc("Number of the task; required for an archive.")] = None,
        part: Annotated[Literal["train", "test"], Doc("Split of the task in an archive.")] = "train",
    ) -> None:
        if len(columns) not in (2, 3):
            problem = f"has no {', '.join(columns)}: a task of bAbI has a story, a question and an answer"
            raise PartError(problem, "use it for reading, question_answering or classification")
        if file.endswith(ARCHIVES) and task is None:
            raise PartError("must be given for an archive", "the number of a task, 1 to 20", setting="task")
        super().__init__(columns, file)
        self._task, self._part = task, part

    def key(self) -> str:
        return f"babi {self._task} {self._part}, stories together"

    def grouped(self) -> Iterator[tuple[str, Example]]:
        """Yield the examples, each after its whole story, later sentences included."""
        path = self.path
        if not path.name.endswith(ARCHIVES):
            yield from self._examples(path, read_lines(path))
            return
        with reading_faults(path):
            if not path.stat().st_size:
                raise DataError(path, "the file is empty")
            try:
                with tarfile.open(path) as archive:
                    member = self._member(archive, path)
                    with cast(IO[bytes], archive.extractfile(member)) as file:
                        place = path / member.name
                        yield from self._examples(place, lines_in(file, place))
            except tarfile.TarError as error:
                raise DataError(path, f"damaged archive: {error}") from error

    def _examples(self, path: Path, lines: Iterable[str]) -> Iterator[tuple[str, Example]]:
        story, asked, some = list[str](), list[Example](), False
        for line, text in enumerate(lines, start=1):
            found = _LINE.fullmatch(text)
            if found is None:
                hint = "1 Mary moved to the garden."
                raise DataError(path, "a line of bAbI begins with a number and a space", line=line, hint=hint)
            number, rest = found.groups()
            if number == "1":
                yield from ((" ".join(story), example) for example in asked)
                story, asked = [], []
            question, tab, answers = rest.partition("\t")
            if tab:
                texts = self._texts(" ".join(story), question.strip(), answers.partition("\t")[0])
                asked.append(Example(line, texts))
                some = True
            else:
                story.append(rest.strip())
        if not some:
            raise DataError(path, "no line asks a question", hint="its number, the question, a tab, the answer")
        yield from ((" ".join(story), example) for example in asked)

    def _texts(self, story: str, question: str, answer: str) -> dict[str, str]:
        given = [story, question] if len(self.columns) == 3 else [f"{story} {question}".strip()]
        return dict(zip(self.columns, [*given, answer.strip()], strict=True))

    def _member(self, archive: tarfile.TarFile, path: Path) -> tarfile.TarInfo:
        """Return the task's member of the archive; links are not followed."""
        wanted = re.compile(rf"qa{self._task}_[^/]*_{self._part}\.txt")
        members = [one for one in archive if one.isfile() and wanted.fullmatch(Path(one.name).name)]
        if len(members) != 1:
            problem = f"{len(members)} files qa{self._task}_…_{self._part}.txt in it, and one is needed"
            raise DataError(path, problem, hint="look into it: tar tf")
        return members[0]
