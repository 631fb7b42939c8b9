"""What all programs share: arguments, the machine that figures belong to, tables in Markdown, and figures in JSON.

Nothing here imports torch unless it is asked for a run, so that the memory of a peer without torch is its own.
"""

import argparse
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.runs import Run
    from regard.tasks import Examples, Task

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("REGARD_DATA", "data"))

MEGABYTE = 2**10 if sys.platform == "linux" else 2**20  # of ru_maxrss, which is in KB on Linux and in bytes on a Mac
FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8",
         "asimd", "sve")  # fmt: skip
PACKAGES = ("torch", "numpy", "transformers", "ctranslate2", "joeynmt")


def options(about: str | None, *, threads: int | None = None, **numbers: float) -> argparse.ArgumentParser:
    """Return a parser of `--json` and of a number for each name with a default; whole ones are 1 or more.

    `threads`: those of torch, where a program has them.
    """
    parser = argparse.ArgumentParser(
        description=about, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    if threads is not None:
        numbers["threads"] = threads
    for name, default in numbers.items():
        kind = count if isinstance(default, int) else float
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"default {default:g}")
    return parser


def count(text: str) -> int:
    """Return a number of 1 or more, as an argument. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number of 1 or more, not '{text}'")
    return int(text)


def need(package: str, install: str = "") -> None:
    """End with one line where a peer is not installed."""
    if importlib.util.find_spec(package) is None:
        raise SystemExit(
            f"benchmark: {package} is missing, which Regard is measured against: pip install {install or package}"
        )


def regard(*words: object, **variables: str) -> str:
    """Return what a command of Regard prints, with further variables of the environment."""
    command = [sys.executable, "-m", "regard", *map(str, words)]
    return subprocess.run(command, env=os.environ | variables, check=True, stdout=subprocess.PIPE, text=True).stdout


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, plain or .gz."""
    from regard.data.readers.lines import read_lines

    return [*read_lines(path)]


def part_of(run: "Run", task: "Task", part: str = "test") -> "Examples":
    """Return the examples of a part that a run has, its `test` or its `dev` part; ends the program without them."""
    from regard.runs.texts import dev_examples, test_examples

    found = test_examples(run.experiment, task) if part == "test" else dev_examples(run.experiment, task, print)
    if found is None:
        raise SystemExit(f"benchmark: the settings of {run.folder.path} name no {part} part")
    return found


def head(*cells: str, align: str = "---") -> str:
    """Return the first two lines of a table in Markdown."""
    return f"{row(*cells)}\n{f'|{align}' * len(cells)}|"


def row(*cells: object) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def markdown(cells: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    return "\n".join([head(*cells), *(row(*each) for each in rows)])


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Return the median, the least and the most of figures."""
    return f"{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"


def save(path: Path | None, found: Any) -> None:
    """Write figures as JSON, where a file is named."""
    if path is not None:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def machine(threads: int) -> dict[str, Any]:
    """What figures belong to; packages only where they are installed."""
    models, flags = _told("model name"), _told("flags") or _told("Features")
    found = dict[str, Any](processor=(models or [platform.processor()])[0], cores=os.cpu_count(), threads=threads)
    known = set(" ".join(flags).split())
    found |= {"flags": [flag for flag in FLAGS if flag in known], "memory_gb": _memory()}
    found |= {"python": platform.python_version(), **versions(), "dtype": "float32", "commit": _commit()}
    return found | {"date": f"{datetime.now(UTC):%Y-%m-%d}"}


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for it."""
    return bool({"avx512_bf16", "amx_bf16"} & set(" ".join(_told("flags")).split()))


def versions() -> dict[str, str]:
    """Of the packages that are measured, where they are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def as_line(found: dict[str, Any]) -> str:
    """The same for people."""
    return ", ".join(f"{name} {' '.join(value) if isinstance(value, list) else value}" for name, value in found.items())


def peak() -> float:
    """The most megabytes that this process ever held.

    Where the system tells it, of this process alone: `ru_maxrss` begins with what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
    (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 2**10


def _told(name: str) -> list[str]:
    """The values of /proc/cpuinfo under a name, of the first processor."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(name)][:1]


def _memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _commit() -> str:
    """Of the code, where git knows it."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
