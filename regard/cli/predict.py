"""regard predict"""

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from io import BufferedReader, BytesIO, RawIOBase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

import typer

from regard.cli.emit import say
from regard.cli.exchange import engine_folder, export_engine
from regard.cli.files import check_writable, paths_and_changes
from regard.cli.group import warn
from regard.cli.options import RunArgument
from regard.errors import ConfigError, Fault

if TYPE_CHECKING:
    from regard.predictor import Predictor

N_BEST = "decoding.search.n_best"
_CHANGE = re.compile(r"[A-Za-z_][\w.-]*=")  # of a setting; anything else is a text
_FILE_NAME = re.compile(r"(?:[\w.-]*/)*[\w-]{2,}\.[a-z][a-z0-9]{1,4}")  # with an ending
_LONGEST_NAME = 256  # characters of a file
_with_texts = partial(typer.Option, rich_help_panel="Input and output")
_in_bulk = partial(typer.Option, rich_help_panel="Bulk")
_of_decoding = partial(typer.Option, rich_help_panel="Decoding")
TextsAndChanges = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TEXT...] [KEY=VALUE...]",
        help="Texts, or with --shards files; setting overrides: decoding.search.size=8.",
    ),
]
Input = Annotated[
    Path | None,
    _with_texts(
        "--input",
        "-i",
        metavar="FILE",
        help="Text, line by line (.gz too), or a document: .docx, .html, .md, .odt, .po, .pptx, .srt, .xlf, .xlsx. "
        "(default: stdin)",
    ),
]
PredictOutput = Annotated[
    Path | None, _with_texts("--output", "-o", metavar="FILE", help="File of the predictions. (default: stdout)")
]
SearchOption = Annotated[
    str | None, _of_decoding(metavar="NAME", help="greedy, beam or sampling. (default: as trained)")
]
NBest = Annotated[
    int,
    _of_decoding(
        "--n-best",
        min=1,
        metavar="INTEGER",
        help="Print the N best translations of each sentence, as number ||| text ||| score, or the N most probable "
        "labels of each text, as number ||| label ||| probability.",
    ),
]
ScoresOption = Annotated[
    bool, _with_texts("--scores", help="Print the log-probability (nats) and a tab before each text.")
]
Alignment = Annotated[
    bool, _with_texts("--alignment", help="Print a tab and the word alignment after each text: 0-0 1-2.")
]
Raw = Annotated[
    bool,
    _with_texts("--raw", help="Translate each line as one sentence: no splitting, no protected numbers and addresses."),
]
JsonRows = Annotated[bool, _with_texts("--json", help="Print one JSON object a line.")]
Terms = Annotated[
    Path | None,
    _of_decoding("--glossary", metavar="FILE", help="Terms to use: SOURCE<TAB>TARGET a line, or TARGET|TARGET."),
]
Abstain = Annotated[
    float | None, _of_decoding(min=0, max=1, metavar="NUMBER", help="Withhold answers of lower confidence (0 to 1).")
]
Prefixes = Annotated[
    Path | None, _of_decoding("--prefix", metavar="FILE", help="Target prefix of each line; it may be empty.")
]
EngineOption = Annotated[
    str | None,
    _of_decoding(
        "--engine",
        metavar="NAME",
        help="Engine that answers in place of Regard's: ctranslate2, onnx or runtime. An export is opened by its own; "
        "a run is exported once, into its folder engines.",
    ),
]
TranslationMemoryFile = Annotated[
    Path | None,
    _of_decoding(
        "--memory",
        metavar="FILE",
        help="Translation memory: it answers the sentences that it has; --json lists similar segments.",
    ),
]
MemoryWeight = Annotated[
    float | None,
    _of_decoding(
        "--memory-weight",
        min=0,
        max=1,
        metavar="NUMBER",
        help="Let the segments of --memory that are most relevant to a sentence guide its translation, with at most "
        "this weight (0.9 is good): the feature nearest_segments. --json names the segments behind each word.",
    ),
]
ShardsOption = Annotated[
    int | None,
    _in_bulk(
        "--shards",
        min=1,
        metavar="INTEGER",
        help="Cut files into that many shards, answer them in several processes, and join the answers in --output, a "
        "folder. The same command resumes. Files of lines, .jsonl, .parquet; .gz and .zst too.",
    ),
]
WorkersOption = Annotated[int | None, _in_bulk(min=1, metavar="INTEGER", help="Processes. (default: one a core)")]
LauncherOption = Annotated[str, _in_bulk("--on", metavar="NAME", help="processes, ray (Ray Data) or slurm (a script).")]
TextsColumn = Annotated[str | None, _in_bulk(metavar="NAME", help="Column of the texts. (default: source, else text)")]


def predict_command(  # noqa: PLR0913  an option each
    run: RunArgument,
    words: TextsAndChanges = None,
    *,
    input_file: Input = None,
    output_file: PredictOutput = None,
    search: SearchOption = None,
    n_best: NBest = 1,
    scores: ScoresOption = False,
    alignment: Alignment = False,
    raw: Raw = False,
    as_json: JsonRows = False,
    glossary: Terms = None,
    prefix: Prefixes = None,
    abstain: Abstain = None,
    memory: TranslationMemoryFile = None,
    weight: MemoryWeight = None,
    engine: EngineOption = None,
    shards: ShardsOption = None,
    workers: WorkersOption = None,
    launcher: LauncherOption = "processes",
    column: TextsColumn = None,
) -> None:
    """Translate, classify, tag or answer, line by line.

    A line may hold several sentences; numbers, units, addresses and emoji are copied. With --raw or --alignment a line
    is one sentence, and a warning lists lost numbers. Office files, web pages, Markdown, subtitles, XLIFF and PO
    keep their layout. Missing or badly fitting terms of a --glossary are reported; --json has an entry for each.
    decoding.ensemble=[RUN2,RUN3] averages several runs.

    A language model continues each line, or starts a text after an empty line. A pair of texts, or a passage and its
    question, is one line with a tab between; --json has probabilities and positions. A line that is too long for the
    model gets a warning and an empty answer. With --abstain 0.9 a line of lower confidence (the lowest of its
    sentences) is answered "[no answer: confidence 0.41]"; see regard calibrate.

    regard predict runs/en-de "Good morning!"
    echo "Good morning!" | regard predict runs/en-de
    regard predict runs/en-de -i report.docx -o bericht.docx
    regard predict runs/en-de news.en.gz web.jsonl --shards 100 -o answers
    """
    given = _Given(search, n_best, scores, alignment, raw, as_json, glossary, prefix, abstain, engine, memory, weight)
    if (engine := engine or export_engine(run)) is not None:
        given = given._replace(engine=engine)
        run = engine_folder(run, engine, _changes([*filter(_CHANGE.match, words or [])], search, n_best))
    if shards is None:
        _check_lines_only(workers, launcher, column)
        return _predict_lines(run, words or [], input_file, output_file, given)
    if input_file is not None:
        raise ConfigError("--input", "does not go with --shards", "name the files behind the run")
    return _predict_shards(run, words or [], output_file, given, (shards, workers, launcher, column))


def _check_lines_only(workers: int | None, launcher: str, column: str | None) -> None:
    """Raise ConfigError for an option of --shards without it."""
    elsewhere = None if launcher == "processes" else launcher
    for option, given in {"--workers": workers, "--on": elsewhere, "--column": column}.items():
        if given is not None:
            raise ConfigError(option, "needs --shards", "regard predict RUN FILE... --shards N -o FOLDER")


class _Given(NamedTuple):
    """Options of one call."""

    search: str | None
    n_best: int
    scores: bool
    alignment: bool
    raw: bool
    as_json: bool
    glossary: Path | None
    prefix: Path | None
    abstain: float | None
    engine: str | None
    memory: Path | None
    memory_weight: float | None


def _predict_lines(run: Path, words: list[str], source: Path | None, output: Path | None, given: _Given) -> None:
    """Answer texts, lines or a document."""
    from regard.predictor.kept_terms import KeptTerms
    from regard.predictor.line_answers import ARGUMENT, Abstention, LineFormat, answer_blocks, document_path
    from regard.predictor.memory_answers import MemoryAnswers

    texts, changes = _texts_and_changes(words, source)
    changed, kept = _changes(changes, given.search, given.n_best), KeptTerms(given.glossary, given.prefix, warn)
    _check_output(source, output)
    shown = LineFormat(given.n_best, given.scores, given.alignment, given.as_json, given.abstain)
    details, terminal = shown != LineFormat(), sys.stdout.isatty()
    document = None if given.raw else document_path(source, output, details=details, terminal=terminal)
    predictor = _loaded(run, changed, given)
    _check_options(predictor, given.search, given.n_best, alignment=given.alignment)
    kept.check(predictor)
    if given.memory is not None and given.prefix is not None:
        raise ConfigError("--memory", "does not go with --prefix: it answers whole sentences", "leave one out")
    memory = MemoryAnswers(given.memory, say)
    memory.check(predictor)
    lines = BytesIO("".join(f"{text}\n" for text in texts).encode()) if texts else sys.stdin.buffer
    if "" in texts:
        warn('the text is empty (to read lines of stdin, leave "" out)')
    sure = Abstention(given.abstain, predictor, run, warn)
    name = str(source or (ARGUMENT if texts else "stdin"))
    read = source and (_table_lines(predictor, source) or source)
    blocks = answer_blocks(predictor, document, read or lines, kept, sure, shown, memory, name=name, raw=given.raw)
    _write(blocks, output)


class _StreamedLines(RawIOBase):
    """Texts as the bytes of a file with one a line, made as they are read."""

    def __init__(self, texts: Iterator[str]) -> None:
        super().__init__()
        self._texts, self._rest = texts, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while len(self._rest) < len(buffer) and (text := next(self._texts, None)) is not None:
            self._rest += f"{text}\n".encode()
        found, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)


def _table_lines(predictor: "Predictor", path: Path) -> BinaryIO | None:
    """Return the given columns of a table in the fields of the run's training set; None for other files."""
    from regard.data.readers import READERS
    from regard.errors import RegardError
    from regard.experiment.data import by_ending
    from regard.registry import Choice

    kind = by_ending(str(path))
    if kind is None or predictor.task.answer.written:
        return None
    try:
        train, given = predictor.run.experiment.reader("train"), predictor.task.inputs
        fields = {} if train is None else train.settings.get("fields") or {}
        if train is None or train.name != kind["name"] or not {*given} <= fields.keys():
            return None
        own = {name: fields[name] for name in given}
        reader = READERS.build(Choice(train.name, {"file": str(path), "fields": own}), tuple(given), place="--input")
        next(iter(reader), None)
    except RegardError:  # no run, or a table without the field of the answer: its lines are read as they are
        return None
    texts = ("\t".join(one.texts[name] for name in given) for one in reader)
    say(f"{path.name}: " + ", ".join(f"{name} in field {field}" for name, field in own.items()))
    return BufferedReader(_StreamedLines(texts))


def _predict_shards(run: Path, words: list[str], folder: Path | None, given: _Given, bulk: tuple[Any, ...]) -> None:
    """Answer files in shards. Raises ConfigError where files or folder are missing."""
    from regard.recipes.shards.plan import PredictOptions
    from regard.recipes.shards.program import ShardedRequest, predict_shards

    files, changes = paths_and_changes(words)
    lines_only = {"--prefix": given.prefix, "--memory-weight": given.memory_weight}
    lines_only["--n-best"] = given.n_best > 1 or None
    for option, present in lines_only.items():
        if present is not None:
            raise ConfigError(option, "does not go with --shards", "leave it out")
    if not files:
        raise ConfigError("--shards", "needs files", "regard predict RUN FILE... --shards N -o FOLDER")
    if folder is None or folder.is_file():
        raise ConfigError("--output", "a folder is needed with --shards", "-o FOLDER")
    glossary = None if given.glossary is None else str(given.glossary)
    memory = None if given.memory is None else str(given.memory)
    shown = (given.raw, given.scores, given.alignment, given.as_json, given.abstain, given.engine, memory)
    options = PredictOptions(str(run), tuple(_changes(changes, given.search, 1)), glossary, *shown)
    predict_shards(ShardedRequest(options, files, folder, *bulk), say)


def _check_output(source: Path | None, output: Path | None) -> None:
    """Raise ConfigError for a file that cannot be written, or is the one that is read."""
    if source and output and output.exists() and output.samefile(source):
        raise ConfigError("--output", f"'{output}' is the input itself", "choose another file")
    check_writable(output, "--output")


def _texts_and_changes(words: list[str], source: Path | None) -> tuple[list[str], list[str]]:
    """Return texts and setting overrides. Raises ConfigError for a file that --input does not name, and for both."""
    texts = [word for word in words if not _CHANGE.match(word)]
    for text in filter(None, texts):
        if len(text) < _LONGEST_NAME and Path(text).exists():
            raise ConfigError(text, "is a file", f"to translate it: --input {text}")
        if _FILE_NAME.fullmatch(text):
            warn(f"there is no file '{text:.60}': it is answered as a text (a file: --input FILE)")
        if source is not None:
            raise ConfigError("--input", "does not go with a text on the command line", "leave one out")
    return texts, [word for word in words if _CHANGE.match(word)]


def _changes(changes: list[str], search: str | None, n_best: int) -> list[str]:
    """The search comes first: overrides of it are of the search that is named."""
    named = [f"decoding.search={search}"] if search else []
    return [*named, *changes, *([f"{N_BEST}={n_best}"] if n_best > 1 else [])]


def _loaded(run: Path, changes: list[str], given: _Given) -> "Predictor":
    from regard.predictor import load
    from regard.registry import Choice

    n_best, features = given.n_best, list[Choice]()
    if given.memory_weight is not None and given.memory is None:
        raise ConfigError("--memory-weight", "needs a translation memory", "--memory FILE")
    if given.memory_weight:
        settings = {"memory": str(given.memory), "max_weight": min(given.memory_weight, 0.99)}
        features.append(Choice("nearest_segments", settings))
    try:
        return load(run, changes, engine=given.engine, features=features)
    except ConfigError as error:
        option = Fault("--n-best", "needs a search that finds several", "--search beam or --search sampling")
        faults = [option if n_best > 1 and fault.place == N_BEST else fault for fault in error.faults]
        raise ConfigError.of(faults) from error


def _check_options(predictor: "Predictor", search: str | None, n_best: int, *, alignment: bool) -> None:
    """Raise ConfigError for links where nothing is translated, and for options of a search where nothing is written."""
    if alignment:
        predictor.setup.abilities.check("alignments", "--alignment")
    if alignment and not {"source", "target"} <= predictor.task.columns.keys():
        problem = "links words of a text and its translation, and this model does not translate"
        raise ConfigError("--alignment", problem, "leave it out")
    task = predictor.task
    if n_best > 1:
        task.answer.check_n_best(n_best, len(task.vocabularies[task.last]), "--n-best")
    if search is not None:
        task.answer.check_search("--search")


def _write(blocks: Iterator[bytes], path: Path | None) -> None:
    """The file is opened when its first line is there: a fault before it leaves an older file as it was."""
    first = next(blocks, b"")
    with ExitStack() as stack:
        out = stack.enter_context(path.open("wb")) if path else sys.stdout.buffer
        for block in chain([first], blocks):
            out.write(block)
            out.flush()
