"""regard-runtime: translate, score, align and serve with an export, without torch."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from .compiled import log_compiling
from .folder import FolderError
from .translator import RuntimeTranslator

_LINES = 256  # of the input that are read before they are translated


def translate(given: argparse.Namespace, translator: RuntimeTranslator) -> None:
    """Print a translation for each text, or its n best with their scores."""
    done = 1
    for lines in _blocks(given.texts or sys.stdin):
        found = translator.translations(lines, given.n_best, first=done)
        done += len(lines)
        for ranked in found:
            for one in ranked if given.n_best > 1 else ranked[:1]:
                print(f"{one.score:.4f}\t{one.text}" if given.n_best > 1 else one.text)
            if not ranked:
                print()
        sys.stdout.flush()


def score(given: argparse.Namespace, translator: RuntimeTranslator) -> None:
    """Print the log-probability of each given translation."""
    for number, source, target in _pairs(given.pairs):
        print(f"{translator.forced(source, target, number).score:.4f}")


def align(given: argparse.Namespace, translator: RuntimeTranslator) -> None:
    """Print pieces and attention weights of each given translation as JSON."""
    for number, source, target in _pairs(given.pairs):
        print(json.dumps(translator.forced(source, target, number)._asdict(), ensure_ascii=False))


def serve(given: argparse.Namespace, translator: RuntimeTranslator) -> None:
    """Answer requests until Ctrl-C."""
    from .server import Server

    with Server(translator, given.host, given.port) as server:
        print(f"http://{given.host}:{server.port}/translate is ready (Ctrl-C ends it)", flush=True)
        server.serve_forever()


def _blocks(lines: Sequence[str] | TextIO) -> Iterator[list[str]]:
    block = list[str]()
    for line in lines:
        block.append(line.rstrip("\n"))
        if len(block) == _LINES:
            yield block
            block = []
    if block:
        yield block


def _pairs(file: Path | None) -> Iterator[tuple[int, str, str]]:
    """Number, source and target of SOURCE<TAB>TARGET lines of a file, or of the input.

    Raises ValueError for a line without a tab.
    """
    lines = sys.stdin if file is None else file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        source, tab, target = line.rstrip("\n").partition("\t")
        if not tab:
            raise ValueError(f"{file or 'input'}, line {number}: has no tab; SOURCE<TAB>TARGET is needed")
        yield number, source, target


def _parser() -> argparse.ArgumentParser:
    module = f"python -m {__package__}" if Path(sys.argv[0]).name == "__main__.py" else None  # None: the script's name
    parser = argparse.ArgumentParser(prog=module, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run in {"translate": translate, "score": score, "align": align, "serve": serve}.items():
        command = commands.add_parser(name, help=(run.__doc__ or "").rstrip("."), description=run.__doc__)
        command.add_argument("folder", type=Path, metavar="FOLDER", help="of: regard export RUN --to runtime -o FOLDER")
        command.add_argument("--threads", type=int, default=0, metavar="INTEGER", help="0: as many as cores")
        command.set_defaults(run=run, search=[])
        if name in ("translate", "serve"):
            command.add_argument("--beam", type=int, metavar="INTEGER", help="beam size; 1: greedy")
    commands.choices["translate"].add_argument("texts", nargs="*", metavar="TEXT", help="by default lines of the input")
    commands.choices["translate"].add_argument("--n-best", type=int, default=1, metavar="INTEGER")
    for name in ("score", "align"):
        commands.choices[name].add_argument("pairs", nargs="?", type=Path, metavar="FILE", help="SOURCE<TAB>TARGET")
    commands.choices["serve"].add_argument("--host", default="127.0.0.1")
    commands.choices["serve"].add_argument("--port", type=int, default=8090, metavar="INTEGER")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what a user can get wrong is one line, and exit code 2."""
    given = _parser().parse_args(arguments)
    if sys.stderr.isatty():
        log_compiling()
    try:
        search = {} if getattr(given, "beam", None) is None else {"size": given.beam}
        given.run(given, RuntimeTranslator(given.folder, threads=given.threads, **search))
    except (FolderError, ValueError, OSError) as error:
        print(f"regard-runtime: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
