"""The engine without torch beside Regard with torch: start, memory, texts and speed.

    python benchmarks/runtime.py RUN --lines test.en --rounds 5

The run is exported to runtime in float32 and int8. A start is a process that translates one sentence, from its begin to
its end; rounds of the programs are interleaved, and the median is printed. Texts are compared without safeguards.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.exchange import export_folder, format_named
from regard.exchange.runtime import ENGINE_SOURCE
from regard.ops.kernels.library import library
from regard.predictor import load
from regard_runtime import RuntimeTranslator

SENTENCE = "A man is sleeping on the couch."
PROGRAM = "import regard_runtime.library as l, ctypes, sys; l.engine_library = lambda: ctypes.CDLL(sys.argv.pop(1)); "
PROGRAM += "from regard_runtime import translator; translator.engine_library = l.engine_library; "
PROGRAM += "from regard_runtime.__main__ import main; main()"


def process(command: Sequence[str]) -> tuple[float, float]:
    """Seconds of a process, and its largest memory in MB."""
    begun = time.perf_counter()
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    assert status == 0, command
    return time.perf_counter() - begun, used.ru_maxrss / 1024


def timed(run: Callable[[], Any]) -> float:
    """Seconds of a call."""
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All figures."""
    lines, compiled = given.lines.read_text(encoding="utf-8").splitlines(), library(ENGINE_SOURCE)
    assert compiled is not None, "there is no compiler"
    found, opened = dict[str, Any](), dict[str, Callable[[], Any]]()
    starts = {"regard": ["regard", "predict", str(given.run), SENTENCE]}
    for precision in ("float32", "int8"):
        predictor = load(given.run, [f"decoding.precision={precision}"])
        row = format_named("runtime", {"quantization": precision})
        export_folder(row, predictor, folder / precision, count=0, say=lambda line: None)
        translator = RuntimeTranslator(folder / precision, threads=1, library=compiled)
        ours = [one.text for one in predictor.predict(lines, safeguards=False)]
        equal = sum(one == other for one, other in zip(translator.translate(lines), ours, strict=True))
        found[f"equal texts, {precision}"] = f"{equal} of {len(lines)}"
        opened |= {f"regard {precision}": lambda one=predictor: one.predict(lines, safeguards=False)}
        opened |= {f"runtime {precision}": lambda one=translator: one.translate(lines)}
        command = [sys.executable, "-c", PROGRAM, compiled._name, "translate", str(folder / precision), SENTENCE]
        starts |= {f"runtime {precision}": command}
    seconds = {name: list[tuple[float, float]]() for name in starts}
    speeds = {name: list[float]() for name in opened}
    for _ in range(given.rounds):
        for name, command in starts.items():
            seconds[name].append(process(command))
        for name, run in opened.items():
            speeds[name].append(len(lines) / timed(run))
    for name, rows in seconds.items():
        start, memory = (statistics.median(values) for values in zip(*rows, strict=True))
        found[f"start, {name}"] = f"{start:.3f} s, {memory:.0f} MB"
    return found | {f"sentences/s, {name}": round(statistics.median(rows), 1) for name, rows in speeds.items()}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--lines", type=Path, required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=5)
    with TemporaryDirectory() as folder:
        print(json.dumps(measure(parser.parse_args(), Path(folder)), indent=1))


if __name__ == "__main__":
    main()
