"""The engine without torch beside Regard with torch and CTranslate2: start, memory, texts and speed.

    python benchmarks/runtime.py RUN FILE [--rounds 5] [--json FILE]

The run is exported to runtime in float32 and int8, and to CTranslate2 where that is installed; FILE has the texts, a
line each. Whole processes translate one sentence, then all of FILE, from their start to their end, with the peak of
their memory. Seconds of texts are those of the processor, of one thread. Texts are compared without safeguards, which
are Regard's own.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from program import machine, markdown, options, regard, save, spread
from startup import race
from timing import Process, interleaved

from regard.runtime.compiled import KERNELS, library

ENGINE = KERNELS / "engine.cpp"
PRECISIONS = ("float32", "int8")
PROGRAM = """import ctypes, sys
from regard.runtime import __main__, translator
place = sys.argv.pop(1)
translator.engine_library = lambda: ctypes.CDLL(place)
__main__.main()"""
PEER, PEER_TOKENS = "CTranslate2", 1024  # tokens of its batches
PEER_PROGRAM = """import sys
folder, precision, tokens = sys.argv[2:]
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from ctranslate2_peer import Model, ctranslate2
model = Model(Path(folder), Path(folder) / "source.spm", Path(folder) / "target.spm", precision)
contender = ctranslate2(model, sys.stdin.read().splitlines(), 5, None, 1, int(tokens))
contender.turn()
print(*contender.outputs, sep="\\n")"""


def processes(run: Path, folder: Path, threads: int) -> dict[str, list[str]]:
    """Export the run, and return processes that translate what they read, with `threads` threads; the peer has one.

    All this happens without torch in this process: a child's peak of memory begins with its parent's.
    """
    found, compiled = {"regard": ["-m", "regard", "predict", str(run)]}, library(ENGINE)
    if compiled is None:
        raise SystemExit("benchmark: the engine could not be compiled here; regard doctor says why")
    for precision in PRECISIONS:
        place = folder / precision
        regard("export", run, "--to", "runtime", "-o", place, "--quantization", precision, "--lines", 0)
        words = ["-c", PROGRAM, compiled._name, "translate", str(place), f"--threads={threads}"]
        found[f"runtime, {precision}"] = words
    if find_spec("ctranslate2") is not None:
        regard("export", run, "--to", "ctranslate2", "-o", folder / PEER, "--lines", 0)
        words = ["-c", PEER_PROGRAM, str(Path(__file__).parent), str(folder / PEER)]
        found |= {f"{PEER}, {precision}": [*words, precision, str(PEER_TOKENS)] for precision in PRECISIONS}
    return found


def opened(run: Path, lines: list[str], folder: Path) -> tuple[dict[str, Callable[[], Any]], list[str]]:
    """Return functions that translate the lines, and how many texts are equal."""
    from regard.predictor import load
    from regard.runtime import RuntimeTranslator

    runs, equal = dict[str, Callable[[], Any]](), list[str]()
    for precision in PRECISIONS:
        predictor = load(run, [f"decoding.precision={precision}"])
        translator = RuntimeTranslator(folder / precision, threads=1, library=library(ENGINE))
        pairs = zip(
            predictor.predict(lines, safeguards=False), translator.translate(lines, safeguards=False), strict=True
        )
        equal.append(f"{precision}: {sum(one.text == other for one, other in pairs)} of {len(lines)} texts are equal")
        runs[f"regard, {precision}"] = partial(predictor.predict, lines, safeguards=False)
        runs[f"runtime, {precision}"] = partial(translator.translate, lines, safeguards=False)
    return runs, equal


def table(title: str, found: Mapping[str, Sequence[Process]]) -> str:
    """Markdown: a row of each process, seconds of the processor and of the clock, and the most memory it held."""
    rows = [
        [
            name,
            spread([one.cpu for one in each], ".3f"),
            spread([one.wall for one in each], ".3f"),
            f"{max(one.megabytes for one in each):,.0f}",
        ]
        for name, each in found.items()
    ]
    return markdown([title, "CPU s", "wall s", "peak MB"], rows)


def main() -> None:
    """The command line."""
    parser = options(__doc__, rounds=5, threads=1)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("file", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)
    lines, tables = chosen.file.read_text(encoding="utf-8").splitlines(), dict[str, str]()
    with TemporaryDirectory() as folder:
        started = processes(chosen.run, Path(folder), chosen.threads)
        for title, given in (("one sentence", lines[:1]), (f"{len(lines):,} sentences", lines)):
            tables[title] = table(title, race(started, chosen.rounds, "\n".join(given).encode()))
        runs, equal = opened(chosen.run, lines, Path(folder))
        texts = interleaved(runs, chosen.rounds)
    speeds = [[name, spread([len(lines) / one for one in each], ".1f")] for name, each in texts.items()]
    tables["speed"] = markdown(["texts", "sentences a CPU second"], speeds)
    print("\n".join([*equal, *tables.values()]))
    save(chosen.json, {**machine(chosen.threads), "equal": equal, "tables": tables})


if __name__ == "__main__":
    main()
