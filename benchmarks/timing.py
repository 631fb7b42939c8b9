"""The one timing helper: warm up, take turns in an order that rotates, tell medians and ratios inside a round.

A shared machine is fast now and slow then. `interleaved` measures functions of this process, `run_process` a whole
program from outside, and `race` contenders that live in a process each. Nothing here imports torch unless a contender
does, so that the memory of a peer without torch is its own.
"""

import argparse
import gc
import itertools
import math
import multiprocessing
import os
import statistics
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from program import MEGABYTE, as_line, count, machine, markdown, need, options, peak, save, spread

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")
Name = TypeVar("Name", bound=Hashable)
PRODUCTS = {"auto": "", "torch": ", products by torch's BLAS", "onednn": ", products by oneDNN"}


def rotated(names: Sequence[Name], rounds: int) -> Iterator[Name]:
    """Yield every name once a round, from another one on in each."""
    for number in range(rounds):
        first = number % len(names)
        yield from (*names[first:], *names[:first])


def interleaved(
    runs: Mapping[Name, Callable[[], Any]],
    rounds: int,
    *,
    repeats: Callable[[Name], int] = lambda name: 1,
    clock: Callable[[], float] = time.process_time,
) -> dict[Name, list[float]]:
    """Return the seconds of each function in every round, after a first call that warms it up.

    The clock is that of the process's own processor time, which other work on the machine hardly changes; short
    functions are called `repeats` times.
    """
    found: dict[Name, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for name in rotated(list(runs), rounds):
        often, start = repeats(name), clock()
        for _ in range(often):
            runs[name]()
        found[name].append((clock() - start) / often)
        gc.collect()
    return found


def exponent(seconds: Mapping[int, float]) -> float:
    """Return the slope of log time over log length, by least squares: 1 grows as the length, 2 as its square.

    nan of fewer than two lengths.
    """
    if len(seconds) < 2:
        return math.nan
    return statistics.linear_regression(*zip(*((math.log(n), math.log(s)) for n, s in seconds.items()), strict=True))[0]


class Process(NamedTuple):
    """A program from its start to its end."""

    cpu: float  # seconds of the processor, user and system, with the processes that it has waited for
    wall: float  # seconds
    megabytes: float  # the most memory that one process of it held
    said: str = ""  # what it printed


def run_process(words: Sequence[object], given: bytes = b"", **variables: str) -> Process:
    """Run Python with these words and `given` on stdin. Ends the program where that fails."""
    command, begin = [sys.executable, *map(str, words)], time.perf_counter()
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out:
        source.write(given)
        source.seek(0)
        running = subprocess.Popen(command, stdin=source, stdout=out, env=os.environ | variables)
        _, status, used = os.wait4(running.pid, 0)
        wall, running.returncode = time.perf_counter() - begin, os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode()
    if running.returncode:
        raise SystemExit(f"benchmark: 'python {' '.join(command[1:])}' failed; its own message stands above")
    return Process(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / MEGABYTE, said)


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


def seconds() -> float:
    """Return the time of the clock on the wall."""
    return time.perf_counter()


def race(
    contenders: Mapping[str, Make], rounds: int, threads: int, clock: Callable[[], float] = seconds
) -> dict[str, Record]:
    """Every contender warms up with one turn, then they take turns; the order rotates from round to round.

    With one thread the clock may be that of its processor, which other work on the machine hardly changes.
    """
    context = multiprocessing.get_context("spawn")
    pipes, processes, names = dict[str, Connection](), [], list(contenders)
    for name, (make, arguments) in contenders.items():
        pipes[name], other = context.Pipe()
        made = _importable(make), arguments
        processes.append(context.Process(target=_live, args=(made, threads, other, clock), daemon=True))
        with _without_main():
            processes[-1].start()
        other.close()
        _answer(pipes[name], name)
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    for name in rotated(names, rounds):
        pipes[name].send(True)
        speeds[name].append(_answer(pipes[name], name))
    records = {}
    for name, pipe in pipes.items():
        pipe.send(False)
        records[name] = Record(speeds[name], *_answer(pipe, name))
    for process in processes:
        process.join()
    return records


def race_table(records: Mapping[str, Record], unit: str, reference: str) -> str:
    """Return medians and ranges of the speed and of its ratios to the reference within each round, in Markdown."""
    told = "median [min..max]"
    cells = ("contender", f"{unit}, {told}", f"ratio to {reference}, {told}", "parameters", "peak MB")
    rows = (
        (
            name,
            spread(one.speeds, ".0f"),
            spread(ratios(one, records[reference])),
            f"{one.parameters:,}",
            f"{one.megabytes:,}",
        )
        for name, one in records.items()
    )
    return markdown(cells, rows)


class Races:
    """The races of a program: each is printed as it ends, and all are saved. `more` is saved, too."""

    def __init__(
        self,
        chosen: argparse.Namespace,
        unit: str,
        reference: str,
        clock: Callable[[], float] = seconds,
        **more: Any,
    ) -> None:
        """`chosen`: rounds, threads, json, and in `only` the contenders that are wanted beside the reference."""
        about = machine(chosen.threads)
        print(as_line(about))
        self.chosen, self.unit, self.reference, self.clock = chosen, unit, reference, clock
        self.settings = {**about, "unit": unit, "reference": reference, **more}
        self.found, self.notes = dict[str, dict[str, Record]](), dict[str, list[str]]()

    def run(
        self, title: str, makes: Mapping[str, Make], tell: Callable[[Mapping[str, Record]], list[str]] | None = None
    ) -> dict[str, Record]:
        """Race and print; `tell` gives lines that stand below the table."""
        wanted = {*(getattr(self.chosen, "only", None) or makes), self.reference}
        some = {name: made for name, made in makes.items() if name in wanted}
        self.found[title] = records = race(some, self.chosen.rounds, self.chosen.threads, self.clock)
        self.notes[title] = [] if tell is None else tell(records)
        print("\n".join(["", title, "", race_table(records, self.unit, self.reference), ""]), flush=True)
        print("\n".join(self.notes[title]), flush=True)
        return records

    def save(self) -> None:
        """Write everything that was measured, as JSON, where a file is named."""
        told = {
            title: {name: record._replace(outputs=[])._asdict() for name, record in records.items()}
            for title, records in self.found.items()
        }
        save(self.chosen.json, {**self.settings, "races": told, "notes": self.notes})


def race_shapes(
    about: str | None,
    make: Callable[..., Contender],
    names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    *,
    title: str,
    unit: str,
    reference: str,
    tell: Callable[[Mapping[str, Record]], list[str]] | None = None,
) -> None:
    """The command line of a benchmark: `make(name, *shape)` for every name, at every shape or at the one that is given.

    `title` tells a shape, with a {name} for each of its numbers; `tell` tells more of a race.
    """
    numbers = [name for _, name, *_ in string.Formatter().parse(title) if name]
    parser = options(about, rounds=5, threads=2)
    parser.add_argument(
        "--shape", type=count, nargs=len(numbers), metavar=tuple(map(str.upper, numbers)), help="one shape"
    )
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help="these contenders")
    parser.add_argument(
        "--products", nargs="+", choices=PRODUCTS, default=["auto"], help="a race for each library of Regard's products"
    )
    chosen = parser.parse_args()
    races = Races(chosen, unit, reference)
    for products, shape in itertools.product(
        chosen.products, shapes if chosen.shape is None else [tuple(chosen.shape)]
    ):
        os.environ["REGARD_PRODUCTS"] = products  # which contenders inherit
        told = title.format(**dict(zip(numbers, shape, strict=True))) + PRODUCTS[products]
        races.run(told, {name: (make, (name, *shape)) for name in names}, tell)
    races.save()


def race_against(
    peer: str,
    about: str | None,
    contenders: Callable[[Path, str, int], Mapping[str, Make]],
    *,
    kinds: Sequence[str],
    words: int,
) -> None:
    """The command line of a benchmark of training beside another toolkit, the package `peer`: a race for each kind.

    `contenders` (an empty folder, a kind, words of a turn) prepares a race; one of them bears the name of the peer.
    Ends the program where the peer is missing.
    """
    import torch

    parser = options(about, rounds=5, words=words, threads=torch.get_num_threads())
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=list(kinds), help="of networks (default all)")
    chosen = parser.parse_args()
    need(peer)
    races = Races(chosen, "words/s", peer, words=chosen.words)
    with tempfile.TemporaryDirectory() as folder:
        for kind in chosen.kinds:
            races.run(kind, contenders(Path(folder), kind, chosen.words))
    races.save()


def turns(
    stream: Iterator[T],
    update: Callable[[T], Any],
    count_words: Callable[[T], int],
    words: int,
    finish: Callable[[], None] = lambda: None,
) -> Callable[[], float]:
    """A turn of updates with one batch after another, until so many words are done; `finish` waits for a GPU."""

    def turn() -> float:
        done = 0
        while done < words:
            batch = next(stream)
            update(batch)
            done += count_words(batch)
        finish()
        return done

    return turn


def ratios(record: Record, reference: Record) -> list[float]:
    """Of the speeds, round by round."""
    return [speed / other for speed, other in zip(record.speeds, reference.speeds, strict=True)]


def _live(made: Make, threads: int, pipe: Connection, clock: Callable[[], float]) -> None:
    if torch := sys.modules.get("torch"):  # a contender without it has its threads among its arguments
        torch.set_num_threads(threads)
        torch.manual_seed(1)
    make, arguments = made
    contender = make(*arguments)
    contender.turn()  # warm up
    pipe.send(0.0)
    while pipe.recv():
        start = clock()
        units = contender.turn()
        pipe.send(units / (clock() - start))
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
