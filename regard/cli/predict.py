"""regard predict"""

import json
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from regard.errors import ConfigError, DataError

if TYPE_CHECKING:
    from regard.results import Prediction

BLOCK = 2**16  # bytes read at once from a file; a pipe gives what it has

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Changes = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes: decoding.search.size=8")]
Input = Annotated[
    Path | None, typer.Option("--input", "-i", metavar="FILE", help="Text, one sentence a line. (default: stdin)")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where predictions go. (default: stdout)")
]
Search = Annotated[str | None, typer.Option(metavar="NAME", help="greedy, beam or sampling. (default: as trained)")]
Best = Annotated[int, typer.Option("--n-best", min=1, help="So many a sentence: number ||| text ||| score.")]
Scores = Annotated[bool, typer.Option("--scores", help="The score (nats) and a tab before each text.")]
Alignment = Annotated[bool, typer.Option("--alignment", help="A tab and word links after each (best) text: 0-0 1-2.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def predict_command(
    run: Run,
    changes: Changes = None,
    *,
    input_file: Input = None,
    output_file: Output = None,
    search: Search = None,
    n_best: Best = 1,
    scores: Scores = False,
    alignment: Alignment = False,
    as_json: Json = False,
) -> None:
    """Translate (the same as `regard translate`): one line out for each line in, as soon as it is read.

    echo "Good morning!" | regard predict runs/en-de
    """
    from regard.predictor import load

    if input_file and output_file and output_file.exists() and output_file.samefile(input_file):
        raise ConfigError("--output", f"'{output_file}' is the input itself", "choose another file")
    wanted = [*(changes or []), *([f"decoding.search={search}"] if search else [])]
    wanted += [f"decoding.search.n_best={n_best}"] if n_best > 1 else []
    predictor = load(run, wanted)
    with ExitStack() as stack:
        lines = stack.enter_context(input_file.open("rb")) if input_file else sys.stdin.buffer
        out = stack.enter_context(output_file.open("wb")) if output_file else sys.stdout.buffer
        number = 0
        for chunk in chunks_of_lines(lines, str(input_file or "stdin")):
            for prediction in _predicted(predictor, chunk, number, str(input_file or "stdin"), alignment):
                links = _links(prediction) if alignment else None
                told = _json(prediction, n_best, links) if as_json else _line(prediction, number, n_best, scores, links)
                out.write((told + "\n").encode())
                number += 1
            out.flush()


def chunks_of_lines(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lines as they arrive, split at "\\n" alone; a DataError where they are not UTF-8."""
    rest, number = b"", 0
    for block in iter(lambda: _some(stream), b""):
        *whole, rest = (rest + block).split(b"\n")
        if whole and not number:
            whole[0] = whole[0].removeprefix(BOM_UTF8)  # as in texts to learn from
        if whole:
            yield [_decoded(line, name, number + place) for place, line in enumerate(whole, start=1)]
            number += len(whole)
    if rest:
        yield [_decoded(rest if number else rest.removeprefix(BOM_UTF8), name, number + 1)]


def _some(stream: Any) -> bytes:
    block: bytes = stream.read1(BLOCK)
    return block


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line is not UTF-8"
        raise DataError(name, problem, line=number, hint="convert it: iconv -t UTF-8") from error


def _predicted(predictor: Any, texts: list[str], before: int, name: str, explain: bool) -> "list[Prediction]":
    """Predictions of a chunk; a fault names the line of the whole input."""
    try:
        predictions: list[Prediction] = predictor.predict(texts, explain=explain)
    except DataError as error:
        line = None if error.line is None else error.line + before
        raise DataError(name, error.problem, line=line, hint=error.hint) from error
    return predictions


def _json(prediction: "Prediction", n_best: int, links: str | None) -> str:
    """One JSON object for one source line."""
    best = [prediction, *prediction.alternatives][:n_best]
    rows = [{"text": one.text, "score": one.score, "finished": one.finished} for one in best]
    more: dict[str, Any] = {"alternatives": rows[1:]} if n_best > 1 else {}
    more |= {} if links is None else {"alignment": links}
    return json.dumps({"source": prediction.source, **rows[0], **more}, ensure_ascii=False)


def _line(prediction: "Prediction", number: int, n_best: int, scores: bool, links: str | None) -> str:
    """What is written for one source line; several lines only when several texts are wanted."""
    after = "" if links is None else f"\t{links}"
    if n_best > 1:
        best = [prediction, *prediction.alternatives][:n_best]
        first, *rest = [f"{number} ||| {_one_line(one.text)} ||| {one.score:.4f}" for one in best]
        return "\n".join([first + after, *rest])  # the links are those of the best
    return (f"{prediction.score:.4f}\t" if scores else "") + _one_line(prediction.text) + after


def _links(prediction: "Prediction") -> str:
    """Links of words, from 0, source before target."""
    from regard.explain import format_pharaoh, word_alignment

    found = prediction.explanation
    if found is None or not found.weights:
        return ""
    return format_pharaoh(word_alignment(found.source_tokens, found.target_tokens, found.weights).links)


def _one_line(text: str) -> str:
    return text.replace("\n", " ")
