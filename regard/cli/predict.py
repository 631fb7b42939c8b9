"""regard predict"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.files import check_writable, chunks_of_lines, open_text
from regard.cli.group import tell
from regard.cli.options import Run
from regard.cli.rows import row
from regard.cli.terms import Kept
from regard.errors import ConfigError, DataError, Fault, TooLongError

if TYPE_CHECKING:
    from regard.predictor import Predictor
    from regard.results import Prediction

    Answer = Callable[[list[str], int], list[Prediction]]  # of lines, so many others before them

N_BEST = "decoding.search.n_best"
UNREAD = (".pdf", ".doc", ".odt", ".rtf", ".epub", ".xls", ".xlsx", ".ppt", ".pptx", ".zip", ".png", ".jpg")
DOCUMENTS = (".html", ".htm", ".srt", ".docx")  # a .txt file is read line by line

PredictChanges = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes: decoding.search.size=8")
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input",
        "-i",
        metavar="FILE",
        help="Text, line by line (.gz too); .html, .srt and .docx are translated as a whole. (default: stdin)",
    ),
]
PredictOutput = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where predictions go. (default: stdout)")
]
Search = Annotated[str | None, typer.Option(metavar="NAME", help="greedy, beam or sampling. (default: as trained)")]
NBest = Annotated[int, typer.Option("--n-best", min=1, help="So many a sentence: number ||| text ||| score.")]
Scores = Annotated[bool, typer.Option("--scores", help="The score (nats) and a tab before each text.")]
Alignment = Annotated[bool, typer.Option("--alignment", help="A tab and word links after each (best) text: 0-0 1-2.")]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="Read each line as one sentence, with nothing kept or split; lost numbers are warned of."
    ),
]
JsonRows = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Terms = Annotated[
    Path | None,
    typer.Option("--glossary", metavar="FILE.tsv", help="Terms to keep: source, tab, target or target|other target."),
]
Abstain = Annotated[
    float | None,
    typer.Option(min=0, max=1, metavar="SHARE", help="Withhold answers of less confidence: 0.9. See regard calibrate."),
]
Prefixes = Annotated[
    Path | None, typer.Option("--prefix", metavar="FILE", help="What the answer to each line begins with, or nothing.")
]


def predict_command(  # noqa: PLR0913  an option each
    run: Run,
    changes: PredictChanges = None,
    *,
    input_file: Input = None,
    output_file: PredictOutput = None,
    search: Search = None,
    n_best: NBest = 1,
    scores: Scores = False,
    alignment: Alignment = False,
    raw: Raw = False,
    as_json: JsonRows = False,
    glossary: Terms = None,
    prefix: Prefixes = None,
    abstain: Abstain = None,
) -> None:
    """Translate, label, tag, answer or go on with: one line out for each line in, as soon as it is read.

    A line may hold several sentences; addresses, emoji and numbers with sign and unit in it are kept. With --raw or
    --alignment a line is one sentence, nothing is kept, and a warning says which numbers are lost. Web pages, subtitles
    and Word files keep their markup and layout. Terms of a --glossary are translated as it says; those that are missing
    or fit badly are told, and --json tells of each. decoding.ensemble=[RUN2,RUN3] lets several runs write together.

    A language model goes on with each line; after an empty one it begins a text. Two texts, or a passage and its
    question, are one line with a tab between them; --json tells probabilities and places. A line that is too long
    for the model is told, and its answer is empty. With --abstain 0.9 a line whose answer has less confidence
    (of several sentences the least) is answered by "no answer: confidence 0.41", in brackets.

    `regard translate` is the same command.

    echo "Good morning!" | regard predict runs/en-de

    regard predict runs/en-de -i report.docx -o bericht.docx
    """
    changed, kept = _changes(changes or [], search, n_best), Kept.read(glossary, prefix)
    _check_output(input_file, output_file)
    shown = n_best > 1 or scores or alignment or as_json or abstain is not None
    document = None if raw else _document_path(input_file, output_file, details=shown)
    predictor = _loaded(run, changed, n_best)
    _check_options(predictor, search, n_best, alignment=alignment)
    kept.check(predictor)
    sure = Abstention(abstain, predictor, run)
    if document:
        _write(_document(predictor, document, kept), output_file)
    else:
        written = partial(row, n_best=n_best, scores=scores, alignment=alignment, as_json=as_json)
        answer = partial(_raw, predictor, explain=alignment) if raw or alignment else predictor.translate
        _write_lines(sure.answer(_beside_empty(kept.answer(answer), predictor)), kept, written, input_file, output_file)
        sure.close()
    kept.close()


def _beside_empty(answer: "Answer", predictor: "Predictor") -> "Answer":
    """Return what answers lines of which a column is empty with nothing, and the others as `answer` does.

    A model that writes is asked about all: it may begin a text.
    """
    from regard.results import empty_answer

    if predictor.task.answers == "text":
        return answer
    columns = predictor.task.inputs

    def answered(texts: list[str], before: int) -> "list[Prediction]":
        found = {place: one for place, text in enumerate(texts) if (one := empty_answer(columns, text)) is not None}
        places = [place for place in range(len(texts)) if place not in found]
        try:
            told = answer([texts[place] for place in places], before) if places else []
        except DataError as error:
            raise error if error.line is None else error.at(places[error.line - 1] + 1) from error
        found |= zip(places, told, strict=True)
        return [found[place] for place in range(len(texts))]

    return answered


def _raw(predictor: "Predictor", texts: list[str], **options: Any) -> "list[Prediction]":
    """Each line as one sentence with nothing kept; a warning says which numerals a translation lost."""
    from regard.documents.numeral_faults import compared

    found = predictor.predict(texts, **options)
    return compared(found) if {"source", "target"} <= predictor.task.columns.keys() else found


def _check_output(source: Path | None, output: Path | None) -> None:
    """Raise ConfigError for a file that cannot be written, or is the one that is read."""
    if source and output and output.exists() and output.samefile(source):
        raise ConfigError("--output", f"'{output}' is the input itself", "choose another file")
    check_writable(output, "--output")


class Abstention:
    """Answers that are not sure enough, withheld and counted; of none without a `least` confidence."""

    def __init__(self, least: float | None, predictor: "Predictor", run: Path) -> None:
        """Raise ConfigError where the run tells no calibrated confidence."""
        if least is not None and not predictor.task.wording.items:
            problem = (
                "needs a calibrated confidence, and the answers of this model have no items that are right or wrong"
            )
            raise ConfigError("--abstain", problem, "leave it out")
        if least is not None and predictor.calibration is None:
            problem = "needs a calibrated confidence, which this run does not tell"
            raise ConfigError("--abstain", problem, f"regard calibrate {run}")
        self.least, self.lines, self.withheld = least, 0, 0

    def answer(self, answer: "Answer") -> "Answer":
        """The same predictions without what is withheld."""
        from regard.predictor.confidence import abstained

        def sure(texts: list[str], before: int) -> "list[Prediction]":
            found = answer(texts, before)
            if self.least is not None:
                found = abstained(found, self.least)
                self.lines += len(found)
                self.withheld += sum(one.withheld is not None for one in found)
            return found

        return sure

    def close(self) -> None:
        """Tells how many lines have no answer."""
        if self.withheld:
            told = f"{self.withheld:,} of {self.lines:,} lines have no answer: their confidence is below {self.least:g}"
            tell(told, "warning")


def _write_lines(
    answer: "Answer", kept: Kept, written: "Callable[[Prediction, int], str]", source: Path | None, target: Path | None
) -> None:
    """Answers line by line as `written` has them, each with its number."""
    name, numbers = str(source or "stdin"), count()
    with ExitStack() as stack:
        stream = stack.enter_context(open_text(source)) if source else sys.stdin.buffer
        answers = kept.counted(_predicted(answer, chunks_of_lines(stream, name), name))
        lines = ([written(one, next(numbers)) for one in some] for some in answers)
        _write(("".join(f"{line}\n" for line in some).encode() for some in lines), target)


def _document_path(path: Path | None, output: Path | None, *, details: bool) -> Path | None:
    """The input where it is a document; raises ConfigError where its translation cannot be shown as asked."""
    suffix = "" if path is None else path.suffix.lower()
    if suffix in UNREAD:
        told = f"files of the kind '{suffix}' cannot be translated"
        raise ConfigError(str(path), told, f"these can: {', '.join(DOCUMENTS)}, and texts of one line a sentence")
    if path is None or suffix not in DOCUMENTS:
        return None
    if output and output.suffix.lower() != suffix and (output.is_file() or not output.exists()):
        raise ConfigError(
            str(output), f"will be a file as {path.name} is", f"name it {output.with_suffix(suffix).name}"
        )
    if details:
        told = "is translated as a whole: it has no scores, links or alternatives"
        raise ConfigError(str(path), told, "--raw reads the file line by line")
    if path.suffix.lower() == ".docx" and not output and sys.stdout.isatty():
        raise ConfigError(str(path), "cannot be shown on a terminal", "--output FILE.docx")
    return path


def _document(predictor: "Predictor", path: Path, kept: Kept) -> Iterator[bytes]:
    """The translated file, once; warnings name the sentences that they are about."""
    from regard.documents.files import FileError
    from regard.documents.size_budget import TooLarge

    try:
        data, predictions = kept.translated(predictor, path)
    except (FileError, TooLarge) as error:
        raise DataError(str(path), str(error)) from error
    for number, one in enumerate(predictions, start=1):
        if one.warning:
            tell(f"{path}: sentence {number}: {one.warning}", "warning")
    yield data


def _changes(changes: list[str], search: str | None, n_best: int) -> list[str]:
    """The search comes first: what changes say of it is meant for the one that is named."""
    for word in changes:
        if "=" not in word:
            hint = f"a file to translate: --input {word}; a change: decoding.search.size=8"
            raise ConfigError(word, "is no change of a setting", hint)
    named = [f"decoding.search={search}"] if search else []
    return [*named, *changes, *([f"{N_BEST}={n_best}"] if n_best > 1 else [])]


def _loaded(run: Path, changes: list[str], n_best: int) -> "Predictor":
    from regard.predictor import load

    try:
        return load(run, changes)
    except ConfigError as error:
        option = Fault("--n-best", "needs a search that finds several", "--search beam or --search sampling")
        told = [option if n_best > 1 and fault.place == N_BEST else fault for fault in error.faults]
        raise ConfigError.of(told) from error


def _check_options(predictor: "Predictor", search: str | None, n_best: int, *, alignment: bool) -> None:
    """Raise ConfigError for links where nothing is translated, and for options of a search where nothing is written."""
    if alignment and not {"source", "target"} <= predictor.task.columns.keys():
        problem = "links words of a text and its translation, and this model does not translate"
        raise ConfigError("--alignment", problem, "leave it out")
    for option, given in (("--n-best", n_best > 1), ("--search", search is not None)):
        if given and predictor.task.answers != "text":
            raise ConfigError(option, "chooses among texts, and this model writes none", "--json tells probabilities")


def _predicted(answer: "Answer", chunks: Iterator[list[str]], name: str) -> "Iterator[list[Prediction]]":
    """Predictions, chunk by chunk. At a fault those of the lines before it, then the fault, with how many they were."""
    done = 0
    try:
        for texts in chunks:
            found, fault = _answered(answer, texts, done)
            for line, one in enumerate(found, start=done + 1):
                if one.warning:
                    tell(f"{name}:{line}: {one.warning}", "warning")
            if found:
                yield found
            done += len(found)
            if fault is not None:
                raise DataError(name, fault.problem, line=done + 1, hint=fault.hint) from fault
    except DataError as error:
        told = [error.hint] if error.hint else []
        hint = "; ".join([*told, f"lines answered before it: {done:,}"])
        raise DataError(name, error.problem, line=error.line, hint=hint) from error


def _answered(answer: "Answer", texts: list[str], before: int) -> "tuple[list[Prediction], DataError | None]":
    """Predictions of the lines before the first that cannot be read, and why it cannot.

    A line that is too long for the model has an empty answer, whose warning says so.
    """
    from regard.results import Prediction

    found = list[Prediction]()
    while rest := texts[len(found) :]:
        try:
            return found + answer(rest, before + len(found)), None
        except TooLongError as error:
            good, told = _before(rest, error), f"{error.problem}: it has no answer ({error.hint})"
        except DataError as error:
            good = _before(rest, error)
            return found + (answer(good, before + len(found)) if good else []), error
        found += answer(good, before + len(found)) if good else []
        found.append(Prediction(rest[len(good)], "", 0.0, finished=False, warning=told))
    return found, None


def _before(texts: list[str], error: DataError) -> list[str]:
    """The texts before that of a fault."""
    return texts[: (error.line or 1) - 1]


def _write(blocks: Iterator[bytes], path: Path | None) -> None:
    """The file is opened when its first line is there: a fault before it leaves an older file as it was."""
    first = next(blocks, b"")
    with ExitStack() as stack:
        out = stack.enter_context(path.open("wb")) if path else sys.stdout.buffer
        for block in chain([first], blocks):
            out.write(block)
            out.flush()
