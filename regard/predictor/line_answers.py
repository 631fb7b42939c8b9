"""Lines in, predictions out: what `regard predict` answers to a stream of lines, or to a document."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, NamedTuple

from regard.answers import answer_of
from regard.data.readers.lines import chunks_of_lines
from regard.data.readers.squad import SquadReader, squad_questions
from regard.documents.files import PACKAGES, SUFFIXES, FileError
from regard.documents.numeral_faults import compared
from regard.documents.size_budget import TooLarge
from regard.errors import ConfigError, DataError, TooLongError
from regard.explain.alignment import aligned_words, format_pharaoh
from regard.memory import SegmentMemory, reused
from regard.packed import file_kind, open_packed
from regard.predictor.confidence import abstained
from regard.predictor.kept_terms import KeptTerms, LineAnswer, Warn
from regard.predictor.memory_answers import MemoryAnswers
from regard.predictor.predictor import Predictor
from regard.predictor.whole_texts import of_matches, recalled_sentences
from regard.results import Prediction
from regard.tasks.example_texts import given_columns

_DOCUMENTS = tuple(suffix for suffix in SUFFIXES if suffix != ".txt")  # that is read line by line
_UNREAD = (".tmx", ".pdf", ".doc", ".odt", ".rtf", ".epub", ".xls", ".xlsx", ".ppt", ".pptx", ".zip", ".png", ".jpg")
_WRITTEN = {".pot": ".po"}  # other kinds that a translation may be of


ARGUMENT = "text"  # the source of texts on the command line, a line each


class LineFormat(NamedTuple):
    """The format in which predictions are written."""

    n_best: int = 1
    scores: bool = False
    alignment: bool = False
    as_json: bool = False
    min_confidence: float | None = None  # confidence of an answer that is not withheld

    def write(self, prediction: Prediction, number: int) -> str:
        """Return what is written for source line `number`, from 0; several lines only when several texts are wanted."""
        links = _links(prediction) if self.alignment else None
        if self.as_json:
            return _json(prediction, self.n_best, links)
        return _line(prediction, number, self.n_best, self.scores, links)


def answer_blocks(
    predictor: Predictor,
    document: Path | None,
    source: Path | BinaryIO,
    kept: KeptTerms,
    sure: "Abstention",
    shown: LineFormat,
    memory: MemoryAnswers,
    *,
    name: str,
    raw: bool,
) -> Iterator[bytes]:
    """Return the translated document, else the answers to lines; at the end warn of what was withheld or not used.

    `name`: of the source in messages. For ARGUMENT, a few texts, the segments of a memory are listed.
    """
    if isinstance(source, Path) and holds_questions(source, predictor):
        yield squad_predictions(predictor, source, sure, shown)
        sure.close()
        return
    if document:
        yield from translated_document(predictor, document, kept, memory)
        memory.close()
        kept.close()
        return
    numbers = count()
    answer = line_answer(predictor, kept, sure, memory, raw=raw, alignment=shown.alignment)
    with ExitStack() as stack:
        stream = stack.enter_context(open_packed(source)) if isinstance(source, Path) else source
        chunks = chunks_of_lines(stream, name, kept.warn)
        for some in kept.counted(predicted(answer, chunks, name, kept.warn)):
            if name == ARGUMENT and not shown.as_json:
                memory.list_matches(some)
            named = predictor.explainer.with_evidence(some) if shown.as_json else some
            yield "".join(f"{shown.write(one, next(numbers))}\n" for one in named).encode()
    sure.close()
    memory.close()
    kept.close()


def holds_questions(path: Path, predictor: Predictor) -> bool:
    """Return whether a file has questions in SQuAD's form, and the model answers them with spans."""
    return predictor.task.answer.form in SquadReader.answers and path.name.removesuffix(".gz").endswith(".json")


def squad_predictions(predictor: Predictor, path: Path, sure: "Abstention", shown: LineFormat) -> bytes:
    """Return the answers to the questions of a file as SQuAD's own programs read them: a JSON object, id → text.

    With scores, the value of a question is the probability that it has no answer (--na-prob-file); as JSON, all that is
    known of its answer. Raises DataError for another file, and ConfigError for scores of a model that always answers.
    """
    columns, questions, answered = [*predictor.task.inputs], [*squad_questions(path)], list[Prediction]()

    def answers(texts: list[str], before: int) -> list[Prediction]:
        some = questions[before : before + len(texts)]
        made = [*predictor.predict([dict(zip(columns, (one.passage, one.question), strict=True)) for one in some])]
        answered.extend(made)
        return made

    found = sure.answer(answers)([one.question for one in questions], 0)
    values: list[Any] = [one.text for one in found]
    if shown.as_json:
        values = [{"text": one.text, "score": one.score, **one.details()} for one in found]
    elif shown.scores:
        values = [one.details().get("no_answer") for one in answered]  # a withheld answer has none
        if None in values:
            problem = "are probabilities that a question has no answer, and this model always answers"
            raise ConfigError("--scores", problem, "a run with task.no_answer=true")
    names = (one.name for one in questions)
    return (json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n").encode()


def line_answer(
    predictor: Predictor,
    kept: KeptTerms,
    sure: "Abstention",
    memory: MemoryAnswers,
    *,
    raw: bool,
    alignment: bool,
) -> LineAnswer:
    """Return what answers lines: with terms, a memory, and without answers that are not sure enough."""
    single = partial(raw_lines, predictor, explain=alignment)
    plain = partial(single if raw or alignment else predictor.translate, memory=memory.memory)
    return memory.answer(sure.answer(beside_empty(kept.answer(plain), predictor)))


def beside_empty(answer: LineAnswer, predictor: Predictor) -> LineAnswer:
    """Return what answers lines of which a column is empty with nothing, and the others as `answer` does.

    A model that writes is asked about all: it may begin a text.
    """
    kind, columns = predictor.task.answer, given_columns(predictor.task.columns)

    def answered(texts: list[str], before: int) -> list[Prediction]:
        found = {place: one for place, text in enumerate(texts) if (one := kind.empty(columns, text)) is not None}
        places = [place for place in range(len(texts)) if place not in found]
        try:
            answered_lines = answer([texts[place] for place in places], before) if places else []
        except DataError as error:
            raise error if error.line is None else error.at(places[error.line - 1] + 1) from error
        found |= zip(places, answered_lines, strict=True)
        return [found[place] for place in range(len(texts))]

    return answered


class Abstention:
    """Answers that are not sure enough, withheld and counted; of none without a `min_confidence`."""

    def __init__(self, min_confidence: float | None, predictor: Predictor, run: Path, warn: Warn) -> None:
        """Raise ConfigError where the run has no calibrated confidence."""
        if min_confidence is not None:
            predictor.setup.abilities.check("confidence", "--abstain")
        if min_confidence is not None and not predictor.task.answer.items:
            problem = (
                "needs a calibrated confidence, and the answers of this model have no items that are right or wrong"
            )
            raise ConfigError("--abstain", problem, "leave it out")
        if min_confidence is not None and predictor.setup.calibration is None:
            problem = "needs a calibrated confidence, which this run does not have"
            raise ConfigError("--abstain", problem, f"regard calibrate {run}")
        self.min_confidence, self.warn, self.lines, self.withheld = min_confidence, warn, 0, 0

    def answer(self, answer: LineAnswer) -> LineAnswer:
        """The same predictions without what is withheld."""

        def sure(texts: list[str], before: int) -> list[Prediction]:
            found = answer(texts, before)
            if self.min_confidence is not None:
                found = abstained(found, self.min_confidence)
                self.lines += len(found)
                self.withheld += sum(one.withheld is not None for one in found)
            return found

        return sure

    def close(self) -> None:
        """Warn of the lines that have no answer."""
        if self.withheld:
            below = f"their confidence is below {self.min_confidence:g}"
            self.warn(f"{self.withheld:,} of {self.lines:,} lines have no answer: {below}")


def predicted(
    answer: LineAnswer, chunks: Iterable[list[str]], name: str, warn: Warn, *, before: int = 0
) -> Iterator[list[Prediction]]:
    """Return predictions chunk by chunk; at a fault those of the lines before it, then the fault with their number.

    `before`: the number of lines of the file before the first chunk.
    """
    done = before
    try:
        for texts in chunks:
            found, fault = _answered(answer, texts, done)
            for line, one in enumerate(found, start=done + 1):
                if one.warning:
                    warn(f"{name}{' ' if name == ARGUMENT else ':'}{line}: {one.warning}")
            if found:
                yield found
            done += len(found)
            if fault is not None:
                raise DataError(name, fault.problem, line=done + 1, hint=fault.hint) from fault
    except DataError as error:
        hints = [error.hint] if error.hint else []
        hint = "; ".join([*hints, f"lines answered before it: {done:,}"])
        raise DataError(name, error.problem, line=error.line, hint=hint) from error


def _answered(answer: LineAnswer, texts: list[str], before: int) -> tuple[list[Prediction], DataError | None]:
    """Predictions of the lines before the first that cannot be read, and why it cannot.

    A line that is too long for the model has an empty answer, whose warning says so.
    """
    found = list[Prediction]()
    while rest := texts[len(found) :]:
        try:
            return found + answer(rest, before + len(found)), None
        except TooLongError as error:
            good, warning = _before(rest, error), f"{error.problem}: it has no answer ({error.hint})"
        except DataError as error:
            good = _before(rest, error)
            return found + (answer(good, before + len(found)) if good else []), error
        found += answer(good, before + len(found)) if good else []
        found.append(Prediction(rest[len(good)], "", 0.0, finished=False, warning=warning))
    return found, None


def _before(texts: list[str], error: DataError) -> list[str]:
    """The texts before that of a fault."""
    return texts[: (error.line or 1) - 1]


def raw_lines(
    predictor: Predictor, texts: list[str], *, memory: SegmentMemory | None = None, **options: Any
) -> list[Prediction]:
    """Each line as one sentence with nothing kept; a warning says which numerals a translation lost."""
    matches = recalled_sentences(memory, texts, predictor.setup.context)

    def answers(left: list[int]) -> Sequence[Prediction]:
        found = predictor.predict([texts[place] for place in left], matches=of_matches(matches, left), **options)
        return compared(found) if {"source", "target"} <= predictor.task.columns.keys() else found

    return reused(texts, matches, answers)


def document_path(path: Path | None, output: Path | None, *, details: bool, terminal: bool) -> Path | None:
    """The input where it is a document; raises ConfigError where its translation cannot be shown as asked.

    `terminal`: what is not written to a file is shown on one.
    """
    suffix = "" if path is None else path.suffix.lower()
    if path is not None and file_kind(path) == "jsonl":
        hint = f"regard predict RUN --shards 1 {quote(str(path))} -o FOLDER translates its texts"
        raise ConfigError(str(path), "holds JSON objects, and texts are read line by line", hint)
    if suffix in _UNREAD and suffix not in _DOCUMENTS:
        problem = f"files of the kind '{suffix}' cannot be translated"
        raise ConfigError(str(path), problem, f"these can: {', '.join(_DOCUMENTS)}, and texts of one line a sentence")
    if path is None or suffix not in _DOCUMENTS:
        return None
    same = output is None or output.suffix.lower() in (suffix, _WRITTEN.get(suffix))
    if output and not same and (output.is_file() or not output.exists()):
        raise ConfigError(
            str(output), f"will be a file as {path.name} is", f"name it {output.with_suffix(suffix).name}"
        )
    if details:
        problem = "is translated as a whole: it has no scores, links or alternatives"
        raise ConfigError(str(path), problem, "--raw reads the file line by line")
    if suffix in PACKAGES and not output and terminal:
        raise ConfigError(str(path), "cannot be shown on a terminal", f"--output FILE{suffix}")
    return path


def translated_document(predictor: Predictor, path: Path, kept: KeptTerms, memory: MemoryAnswers) -> Iterator[bytes]:
    """The translated file, once; warnings name the sentences that they are about."""
    try:
        data, predictions = kept.translated(predictor, path, memory.memory)
    except (FileError, TooLarge) as error:
        raise DataError(str(path), str(error)) from error
    for number, one in enumerate(predictions, start=1):
        if one.warning:
            kept.warn(f"{path}: sentence {number}: {one.warning}")
    yield data


def _json(prediction: Prediction, n_best: int, links: str | None) -> str:
    """One JSON object for one source line."""
    best = [prediction, *prediction.alternatives][:n_best]
    rows = [{"text": one.text, "score": one.score, "finished": one.finished} for one in best]
    others = [{**row, **one.details()} for row, one in zip(rows[1:], best[1:], strict=True)]
    more: dict[str, Any] = {"alternatives": others} if n_best > 1 else {}
    more |= {} if links is None else {"alignment": links}
    more |= prediction.details()
    return json.dumps({"source": prediction.source, **rows[0], **more}, ensure_ascii=False)


def _line(prediction: Prediction, number: int, n_best: int, scores: bool, links: str | None) -> str:
    after = "" if links is None else f"\t{links}"
    if n_best > 1:
        best = [prediction, *prediction.alternatives][:n_best]
        ranking = answer_of(prediction).ranking
        figures = [one.score if ranking is None else ranking.figure(one) for one in best]
        first, *rest = [
            f"{number} ||| {_one_line(str(one))} ||| {figure:.4f}" for one, figure in zip(best, figures, strict=True)
        ]
        return "\n".join([first + after, *rest])  # the links are those of the best
    return (f"{prediction.score:.4f}\t" if scores else "") + _one_line(str(prediction)) + after


def _links(prediction: Prediction) -> str:
    """Links of words, from 0, source before target."""
    found = prediction.explanation
    if found is None or not found.link.weights:
        return ""
    return format_pharaoh(aligned_words(found).links)


def _one_line(text: str) -> str:
    return text.replace("\n", " ")
