"""The engine without torch beside Regard with torch: start, memory, texts and speed.

    python benchmarks/runtime.py RUN FILE [--rounds 5] [--json FILE]

The run is exported to runtime in float32 and int8, and FILE has the texts, a line each. A start is a process that
translates one sentence, from its begin to its end. Seconds of texts are those of the processor, of one thread. Texts
are compared without safeguards, which are Regard's own.
"""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from program import lines_of, machine, markdown, options, save, spread
from startup import race
from timing import interleaved

PROGRAM = """import ctypes, sys
from regard.runtime import __main__, translator
place = sys.argv.pop(1)
translator.engine_library = lambda: ctypes.CDLL(place)
__main__.main()"""


def opened(
    run: Path, lines: list[str], folder: Path
) -> tuple[dict[str, Callable[[], Any]], dict[str, list[str]], list[str]]:
    """Functions that translate the lines, processes that translate one sentence, and how many texts are equal."""
    from regard.exchange import export_folder, format_named
    from regard.predictor import load
    from regard.predictor.engines.runtime import compiled_engine
    from regard.runtime import RuntimeTranslator

    compiled = compiled_engine()
    runs, starts, equal = dict[str, Callable[[], Any]](), {"regard": ["-m", "regard", "predict", str(run)]}, list[str]()
    for precision in ("float32", "int8"):
        predictor, place = load(run, [f"decoding.precision={precision}"]), folder / precision
        row = format_named("runtime", {"quantization": precision})
        export_folder(row, predictor, place, count=0, say=lambda line: None)
        translator = RuntimeTranslator(place, threads=1, library=compiled)
        pairs = zip(
            predictor.predict(lines, safeguards=False), translator.translate(lines, safeguards=False), strict=True
        )
        equal.append(f"{precision}: {sum(one.text == other for one, other in pairs)} of {len(lines)} texts are equal")
        runs[f"regard, {precision}"] = lambda one=predictor: one.predict(lines, safeguards=False)
        runs[f"runtime, {precision}"] = lambda one=translator: one.translate(lines, safeguards=False)
        starts[f"runtime, {precision}"] = ["-c", PROGRAM, compiled._name, "translate", str(place)]
    return runs, starts, equal


def main() -> None:
    """The command line."""
    parser = options(__doc__, rounds=5, threads=1)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("file", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)
    lines = lines_of(chosen.file)
    with TemporaryDirectory() as folder:
        runs, starts, equal = opened(chosen.run, lines, Path(folder))
        started, texts = race(starts, chosen.rounds), interleaved(runs, chosen.rounds)
    print("\n".join(equal))
    rows = [
        [name, spread([one.cpu for one in each], ".3f"), spread([one.wall for one in each], ".3f")]
        for name, each in started.items()
    ]
    print(markdown(["start and one sentence", "CPU s", "wall s"], rows))
    speeds = [[name, spread([len(lines) / one for one in each], ".1f")] for name, each in texts.items()]
    print(markdown(["texts", "sentences a CPU second"], speeds))
    save(chosen.json, {**machine(chosen.threads), "equal": equal, "starts": rows, "speeds": speeds})


if __name__ == "__main__":
    main()
