"""regard attention"""

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.files import check_writable
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.reports.bench.bench import Timing, Workload

attention_app = typer.Typer(help="What attention costs.", no_args_is_help=True)

Mechanisms = Annotated[
    list[str] | None,
    typer.Argument(metavar="MECHANISM...", help="luong, multihead ..., or score=dot,span=window,span.radius=8"),
]
Lengths = Annotated[str, typer.Option(metavar="N,N,...", help="How many keys there are.")]
Queries = Annotated[int | None, typer.Option(min=1, metavar="N", help="How many queries. (default: as many as keys)")]
Dim = Annotated[int, typer.Option(min=1, metavar="N", help="Width of queries and keys.")]
Heads = Annotated[int | None, typer.Option(min=1, metavar="N", help="(default: as the mechanism says)")]
Size = Annotated[int, typer.Option("--batch", min=1, metavar="N", help="Sentences at once.")]
Backward = Annotated[bool, typer.Option("--backward/--forward", help="With the gradients, or without.")]
Threads = Annotated[int | None, typer.Option(min=1, metavar="N", help="(default: as torch chooses)")]
Rounds = Annotated[int, typer.Option(min=1, metavar="N", help="Turns of each; the median is told.")]
Plain = Annotated[bool, typer.Option("--plain", help="Each also with its fast paths off.")]
Memory = Annotated[
    float | None,
    typer.Option(min=1, metavar="MB", help="Leave out what would take more. (default: half of what is free)"),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda ...")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="A picture: .svg, .png or .pdf")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]


@attention_app.callback()
def attention() -> None:
    """What attention costs."""


@attention_app.command("bench")
def bench_command(  # noqa: PLR0913  an option each
    mechanisms: Mechanisms = None,
    *,
    lengths: Lengths = "128,256,512,1024",
    queries: Queries = None,
    dim: Dim = 256,
    heads: Heads = None,
    batch: Size = 1,
    backward: Backward = True,
    threads: Threads = None,
    rounds: Rounds = 5,
    plain: Plain = False,
    max_memory: Memory = None,
    device: Device = "cpu",
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Time mechanisms over lengths: median milliseconds, peak memory, and how both grow (the log-log slope).

    regard attention bench additive multihead score=scaled_dot,span=local_predictive --lengths 256,512,1024,2048
    """
    import torch

    from regard.reports.bench.bench import Workload, bench
    from regard.reports.bench.mechanisms import mechanisms_of
    from regard.reports.bench.report import as_values, check_plot

    if plot is not None:
        check_plot(plot)
        check_writable(plot, "--plot")
    if threads is not None:
        torch.set_num_threads(threads)
    work = Workload(_lengths(lengths), queries, dim, heads, batch, backward, rounds, max_memory, device)
    wanted = mechanisms_of(mechanisms or [], heads=heads, with_plain=plain)
    try:
        timings = bench(wanted, work, lambda line: print(line, file=sys.stderr))
    except ConfigError as error:  # the device is an option here and a setting elsewhere
        faults = (fault._replace(place=re.sub("^device$", "--device", fault.place)) for fault in error.faults)
        raise ConfigError.of(faults) from error
    if as_json:
        print(json.dumps(as_values(timings, work), ensure_ascii=False))
    else:
        _show(timings, work)
    if plot is not None:
        _draw(timings, work, plot)


def _lengths(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and 0 < int(word) < 2**31 for word in words):
        problem = f"must be numbers with commas between them, not '{text}'"
        raise ConfigError("--lengths", problem, "each at least 1, as in 128,256,512")
    lengths = sorted({int(word) for word in words})
    if len(lengths) < len(words):
        print("a length that is given twice is measured once", file=sys.stderr)
    return tuple(lengths)


def _show(timings: "list[Timing]", work: "Workload") -> None:
    """Two tables: as text on a terminal, else as Markdown."""
    from regard.reports.bench.report import about, memory_table, time_table

    print(f"{about(work)}\n")
    tables = [time_table(timings, work.lengths), memory_table(timings, work.lengths)]
    terminal = sys.stdout.isatty()
    print("\n".join(table.terminal() if terminal else table.markdown() for table in tables), end="")


def _draw(timings: "list[Timing]", work: "Workload", path: Path) -> None:
    from regard.reports.bench.report import about, plot

    path.write_bytes(plot(timings, title=about(work), kind=path.suffix))
    print(f"wrote {path}", file=sys.stderr)
