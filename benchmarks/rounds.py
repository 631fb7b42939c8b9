"""Interleaved rounds: each contender lives in its own process, and one at a time is granted a turn.

A shared machine is fast now and slow then. Ratios are taken inside a round, and their median is told. Nothing here
imports torch unless a contender does, so that the memory of a peer without torch is its own.
"""

import argparse
import importlib.util
import itertools
import json
import multiprocessing
import os
import statistics
import string
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from machine import as_line, machine, peak

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")
PRODUCTS = {"auto": "", "torch": ", products by torch's BLAS", "onednn": ", products by oneDNN"}


class Contender(NamedTuple):
    """What takes part, as it lives in its process."""

    turn: Callable[[], float]  # does some work → units of work done, which are divided by the seconds it took
    model: "nn.Module | None"  # whose parameters are counted
    outputs: list[Any]  # what the last turn made, for those who want to compare


def learner(model: "nn.Module", run: "Callable[[Tensor], Tensor]", inputs: "Tensor", seconds: float) -> Contender:
    """Forward and backward again and again for so many seconds a turn; a unit of work is a row's place."""

    def turn() -> float:
        places, start = 0.0, time.perf_counter()
        while time.perf_counter() < start + seconds:
            model.zero_grad()
            inputs.grad = None
            run(inputs).square().mean().backward()
            places += inputs.shape[0] * inputs.shape[1]
        return places

    return Contender(turn, model, [])


class Record(NamedTuple):
    """What is known of a contender after a race."""

    speeds: list[float]  # units per second in each round
    parameters: int
    megabytes: int  # the most memory its process ever held
    outputs: list[Any]


Make = tuple[Callable[..., Contender], tuple[Any, ...]]


def race(contenders: Mapping[str, Make], rounds: int, threads: int) -> dict[str, Record]:
    """Every contender warms up with one turn, then they take turns; the order rotates from round to round."""
    context = multiprocessing.get_context("spawn")
    pipes, processes, names = dict[str, Connection](), [], list(contenders)
    for name, (make, arguments) in contenders.items():
        pipes[name], other = context.Pipe()
        made = _importable(make), arguments
        processes.append(context.Process(target=_live, args=(made, threads, other), daemon=True))
        with _without_main():
            processes[-1].start()
        other.close()
        _answer(pipes[name], name)
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            pipes[name].send(True)
            speeds[name].append(_answer(pipes[name], name))
    records = {}
    for name, pipe in pipes.items():
        pipe.send(False)
        records[name] = Record(speeds[name], *_answer(pipe, name))
    for process in processes:
        process.join()
    return records


def table(records: Mapping[str, Record], unit: str, reference: str) -> str:
    """Markdown: medians and ranges of the speed and of its ratios to the reference within each round."""
    lines = [
        f"| contender | {unit}, median [min..max] | ratio to {reference}, median [min..max] | parameters | peak MB |",
        "|---|---|---|---|---|",
    ]
    for name, record in records.items():
        speed, ratio = _spread(record.speeds, ".0f"), _spread(ratios(record, records[reference]), ".2f")
        lines.append(f"| {name} | {speed} | {ratio} | {record.parameters:,} | {record.megabytes:,} |")
    return "\n".join(lines)


def races(
    about: str,
    make: Callable[..., Contender],
    names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    *,
    title: str,
    unit: str,
    reference: str,
    beside: Callable[[Mapping[str, Record]], str] | None = None,
) -> None:
    """The command line of a benchmark: `make(name, *shape)` for every name, at every shape or at the one that is given.

    `title` tells a shape, with a {name} for each of its numbers; `beside` tells more of a race.
    """
    numbers = [name for _, name, *_ in string.Formatter().parse(title) if name]
    parser = commands(about, threads=2)
    parser.add_argument(
        "--shape", type=count, nargs=len(numbers), metavar=tuple(map(str.upper, numbers)), help="one shape"
    )
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help="these contenders")
    parser.add_argument(
        "--products", nargs="+", choices=PRODUCTS, default=["auto"], help="a race for each library of Regard's products"
    )
    chosen, found = parser.parse_args(), dict[str, dict[str, Record]]()
    wanted = shapes if chosen.shape is None else [tuple(chosen.shape)]
    for products, shape in itertools.product(chosen.products, wanted):
        os.environ["REGARD_PRODUCTS"] = products  # which contenders inherit
        told = title.format(**dict(zip(numbers, shape, strict=True))) + PRODUCTS[products]
        makes = {name: (make, (name, *shape)) for name in names if name in {*chosen.only, reference}}
        found[told] = race(makes, chosen.rounds, chosen.threads)
        more = "" if beside is None else f"\n\n{beside(found[told])}"
        print(f"\n{told}\n\n{table(found[told], unit, reference)}{more}", flush=True)
    if chosen.json is not None:
        save(chosen.json, {**machine(chosen.threads), "unit": unit, "reference": reference}, found)


def races_against(
    peer: str,
    about: str,
    contenders: Callable[[Path, str, int], Mapping[str, Make]],
    *,
    kinds: Sequence[str],
    option: str,
    words: int,
) -> None:
    """The command line of a benchmark of training beside another toolkit, the package `peer`: a race for each kind.

    `contenders` (an empty folder, a kind, words of a turn) prepares a race; one of them bears the name of the peer.
    `option` names the kinds that are wanted. Ends the program where the peer is missing.
    """
    import torch

    parser = commands(about, threads=torch.get_num_threads())
    parser.add_argument("--words", type=count, default=words, help=f"words of a turn (default {words})")
    parser.add_argument(f"--{option}", dest="kinds", nargs="+", choices=kinds, default=list(kinds))
    chosen = parser.parse_args()
    if importlib.util.find_spec(peer) is None:
        raise SystemExit(f"benchmark: {peer} is missing, which Regard is measured against: pip install {peer}")
    settings, found = machine(chosen.threads), dict[str, dict[str, Record]]()
    print(as_line(settings))
    with tempfile.TemporaryDirectory() as folder:
        for kind in chosen.kinds:
            found[kind] = race(contenders(Path(folder), kind, chosen.words), chosen.rounds, chosen.threads)
            print(f"\n{kind}\n{table(found[kind], 'words/s', peer)}", flush=True)
    if chosen.json:
        save(chosen.json, {**settings, "unit": "words/s", "reference": peer, "words": chosen.words}, found)


def turns(
    stream: Iterator[T], update: Callable[[T], Any], count_words: Callable[[T], int], words: int
) -> Callable[[], float]:
    """A turn of updates with one batch after another, until so many words are done."""

    def turn() -> float:
        done = 0
        while done < words:
            batch = next(stream)
            update(batch)
            done += count_words(batch)
        return done

    return turn


def commands(about: str, *, threads: int) -> argparse.ArgumentParser:
    """What every benchmark can be told."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=count, default=5, help="interleaved rounds (default 5)")
    parser.add_argument("--threads", type=count, default=threads, help=f"of torch (default {threads})")
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    return parser


def count(text: str) -> int:
    """A number of 1 or more, as an argument. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number of 1 or more, not '{text}'")
    return int(text)


def ratios(record: Record, reference: Record) -> list[float]:
    """Of the speeds, round by round."""
    return [speed / other for speed, other in zip(record.speeds, reference.speeds, strict=True)]


def save(
    path: Path,
    settings: Mapping[str, Any],
    races: Mapping[str, Mapping[str, Record]],
    notes: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Everything that was measured, as JSON; `notes` are lines that stand below the table of a race."""
    told = {
        title: {name: record._replace(outputs=[])._asdict() for name, record in records.items()}
        for title, records in races.items()
    }
    path.write_text(json.dumps({**settings, "races": told, "notes": notes or {}}, indent=1) + "\n", encoding="utf-8")


def _live(made: Make, threads: int, pipe: Connection) -> None:
    if torch := sys.modules.get("torch"):  # a contender without it has its threads among its arguments
        torch.set_num_threads(threads)
        torch.manual_seed(1)
    make, arguments = made
    contender = make(*arguments)
    contender.turn()  # warm up
    pipe.send(0.0)
    while pipe.recv():
        start = time.perf_counter()
        units = contender.turn()
        pipe.send(units / (time.perf_counter() - start))
    counted = () if contender.model is None else contender.model.parameters()
    pipe.send((sum(one.numel() for one in counted), round(peak()), contender.outputs))


def _importable(make: Callable[..., Contender]) -> Callable[..., Contender]:
    """The same function under the name of its file, where that file is what was started."""
    if make.__module__ != "__main__":
        return make
    found: Callable[..., Contender] = getattr(
        import_module(Path(sys.modules["__main__"].__file__ or "").stem), make.__name__
    )
    return found


@contextmanager
def _without_main() -> Iterator[None]:
    """A process that is started here imports the module of its contender, not the benchmark that was started.

    So what a contender is made of must not be of a class of that benchmark.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _answer(pipe: Connection, name: str) -> Any:
    try:
        return pipe.recv()
    except EOFError:
        raise SystemExit(f"benchmark: the process of '{name}' ended; its own message stands above") from None


def _spread(values: list[float], form: str) -> str:
    return f"{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]"
