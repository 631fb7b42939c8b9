"""How many small faults the quick tier catches: python tests/mutants.py --faults faults.jsonl --results after.jsonl

200 faults are drawn by a seed and kept in a file, so that another state of the tree is judged by the same ones. One run
of the tests with every fault's place marked finds the tests that compute it; only those are run, quickest first, in a
copy with that fault alone. Results are kept line by line: a second call goes on where the first was broken off.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

from faults import Fault, Site, applied, draw, find, marked

SEED = 30
LEFT = shutil.ignore_patterns(".venv*", "__pycache__", ".*_cache", "runs.*", "*.egg-info")
HIT = '''"""Notes which test computes which marked place, in this process and in those that it starts."""
import json, os
seen = set()
def hit(number):
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test is not None and (number, test) not in seen:
        seen.add((number, test))
        with open(os.path.join(os.environ["MARKS"], str(os.getpid())), "a", encoding="utf-8") as file:
            file.write(json.dumps([number, test.rpartition(" (")[0]]) + "\\n")
'''


def main() -> None:
    options = _options()
    if not options.faults.exists():
        _write(options.faults, map(asdict, draw(options.tree, options.count, SEED)))
    faults = [Fault(**row) for row in _read(options.faults)][: options.count]
    places = find(options.tree, faults)
    with tempfile.TemporaryDirectory() as folder:
        hits = options.results.with_suffix(".hits.json")
        if not hits.exists():
            hits.write_text(json.dumps(_hits(options, Path(folder), faults, places)), encoding="utf-8")
        tests = json.loads(hits.read_text(encoding="utf-8"))
        _judge(
            options,
            Path(folder),
            [(number, fault) for number, fault in enumerate(faults) if fault in places],
            places,
            tests,
        )
    _tell(list(_read(options.results)), len(faults) - len(places))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1], help="checkout whose tests are judged")
    parser.add_argument(
        "--faults", type=Path, required=True, help="JSON lines; drawn from the tree where there are none"
    )
    parser.add_argument("--results", type=Path, required=True, help="JSON lines, one for each fault")
    parser.add_argument("--count", type=int, default=200, help="use the first so many faults")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for the tests of one fault")
    parser.add_argument("--most", type=int, default=200, help="tests for one fault, the quickest")
    parser.add_argument("tests", nargs="*", help="only these files or folders of tests")
    return parser.parse_args()


def _hits(
    options: argparse.Namespace, folder: Path, faults: list[Fault], places: dict[Fault, Site]
) -> dict[str, list[str]]:
    """Number of each fault → the tests that compute its place, quickest first."""
    copy, marks, times = _copy(options.tree, folder / "marked"), folder / "marks", folder / "times.xml"
    marks.mkdir()
    (copy / "marks.py").write_text(HIT, encoding="utf-8")
    by_file = defaultdict[str, dict[int, Site]](dict)
    for number, fault in enumerate(faults):
        if site := places.get(fault):
            by_file[site.fault.path][number] = site
    for path, inner in by_file.items():
        (copy / path).write_bytes(marked((copy / path).read_bytes(), inner))
    words = [
        f"--numprocesses={options.processes}",
        "--dist=worksteal",
        f"--junitxml={times}",
        "-o",
        "junit_family=xunit1",
    ]
    _pytest(copy, [*words, *options.tests], {"MARKS": str(marks)})
    seconds = {
        f"{case.get('file')}::{case.get('name')}": float(case.get("time", 0))
        for case in ElementTree.parse(times).iter("testcase")
    }
    found = defaultdict[str, set[str]](set)
    for file in marks.iterdir():
        for number, test in _read(file):
            found[str(number)].add(test)
    return {number: sorted(tests & seconds.keys(), key=lambda test: seconds[test]) for number, tests in found.items()}


def _judge(
    options: argparse.Namespace,
    folder: Path,
    faults: list[tuple[int, Fault]],
    places: dict[Fault, Site],
    tests: dict[str, list[str]],
) -> None:
    """Runs the tests of each fault that has no result yet."""
    copies = SimpleQueue[Path]()
    for number in range(options.processes):
        copies.put(_copy(options.tree, folder / f"copy{number}"))
    done = {row["index"] for row in _read(options.results)} if options.results.exists() else set()

    def one(case: tuple[int, Fault]) -> None:
        number, fault = case
        computing, copy = tests.get(str(number), []), copies.get()
        caught = _caught(copy, places[fault], computing[: options.most], options.limit) if computing else None
        copies.put(copy)
        row = {"index": number, "room": fault.room, "tests": len(computing), "caught": caught, **asdict(fault)}
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    with ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(one, [case for case in faults if case[0] not in done]))


def _caught(copy: Path, site: Site, tests: list[str], limit: float) -> str | None:
    """The first test that fails with the fault, or "time" where they do not end; None where all of them pass."""
    path = copy / site.fault.path
    source = path.read_bytes()
    names = copy / "these_tests.txt"
    names.write_text("\n".join(tests), encoding="utf-8")
    path.write_bytes(applied(source, site))
    try:
        code, output = _pytest(copy, ["--exitfirst", "--tb=no", "-rfE", f"@{names}"], {}, limit)
    finally:
        path.write_bytes(source)
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return None if code == 0 else "time" if code is None else (failed or [f"ends with {code}"])[0][:200]


def _pytest(
    copy: Path, words: list[str], environment: dict[str, str], limit: float | None = None
) -> tuple[int | None, str]:
    """Exit code and output; None and nothing where it took longer than the limit: all its processes are ended."""
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *words]
    known = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **environment,
    }
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=known,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, output


def _copy(tree: Path, target: Path) -> Path:
    shutil.copytree(tree, target, ignore=LEFT, symlinks=True)
    return target


def _read(path: Path) -> Iterable[Any]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _write(path: Path, rows: Iterable[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _tell(rows: list[dict[str, object]], gone: int) -> None:
    rooms = defaultdict[str, Counter[str]](Counter)
    for row in rows:
        fate = "caught" if row["caught"] else "survived" if row["tests"] else "not run"
        rooms[row["room"]][fate] += 1
        if not row["caught"]:
            print(f"{fate}: {row['path']}: {row['kind']}: {row['statement']}: {row['before']} -> {row['after']}")
    print(f"\n{'room':<14}{'caught':>8}{'survived':>10}{'not run':>9}")
    for room, fates in [*sorted(rooms.items()), ("all", sum(rooms.values(), Counter[str]()))]:
        print(f"{room:<14}{fates['caught']:>8}{fates['survived']:>10}{fates['not run']:>9}")
    print(f"{gone} faults stand in code that is gone")


if __name__ == "__main__":
    main()
