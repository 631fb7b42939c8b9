"""regard attention"""

import re
from typing import Annotated

import typer

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.help_page import Command, PageGroup
from regard.cli.options import Json, Plot, integer_option, name_option
from regard.errors import ConfigError

attention_app = typer.Typer(cls=PageGroup, rich_markup_mode=None, no_args_is_help=True)

Mechanisms = Annotated[
    list[str] | None,
    typer.Argument(metavar="MECHANISM...", help="luong, multihead ..., or score=dot,span=window,span.radius=8."),
]
LengthsOption = Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of keys.")]
Queries = Annotated[int | None, integer_option(min=1, help="Number of queries. (default: as many as keys)")]
DimOption = Annotated[int, integer_option(min=1, help="Dimension of queries and keys.")]
HeadsOption = Annotated[int | None, integer_option(min=1, help="Number of heads. (default: the mechanism's)")]
SizeOption = Annotated[int, integer_option("--batch", min=1, help="Batch size.")]
Backward = Annotated[bool, typer.Option("--backward/--forward", help="Time forward and backward, or forward alone.")]
ThreadsOption = Annotated[int | None, integer_option(min=1, help="Number of threads. (default: torch's)")]
BenchRounds = Annotated[int, integer_option(min=1, help="Timing rounds; the median is reported.")]
Plain = Annotated[bool, typer.Option("--plain", help="Time each also without its optimized kernels.")]
MemoryOption = Annotated[
    float | None,
    typer.Option(min=1, metavar="MB", help="Skip cases that need more memory. (default: half of the free memory)"),
]
Device = Annotated[str, name_option(help="cpu, cuda ...")]


@attention_app.callback()
def attention() -> None:
    """Measure time and memory of attention mechanisms."""


@attention_app.command("bench", cls=Command)
def bench_command(  # noqa: PLR0913  an option each
    mechanisms: Mechanisms = None,
    *,
    lengths: LengthsOption = "128,256,512,1024",
    queries: Queries = None,
    dim: DimOption = 256,
    heads: HeadsOption = None,
    batch: SizeOption = 1,
    backward: Backward = True,
    threads: ThreadsOption = None,
    rounds: BenchRounds = 5,
    plain: Plain = False,
    max_memory: MemoryOption = None,
    device: Device = "cpu",
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Time attention mechanisms by sequence length.

    Reports the median in milliseconds, the peak memory, and how both grow (the log-log slope).

    regard attention bench additive multihead score=scaled_dot,span=local_predictive --lengths 256,512,1024,2048
    """
    import torch

    from regard.reports.bench.bench import Workload, bench, bench_report, mechanisms_of

    check_plot_file(plot)
    if threads is not None:
        torch.set_num_threads(threads)
    work = Workload(_lengths(lengths), queries, dim, heads, batch, backward, rounds, max_memory, device)
    wanted = mechanisms_of(mechanisms or [], heads=heads, with_plain=plain)
    try:
        timings = bench(wanted, work, say)
    except ConfigError as error:  # the device is an option here and a setting elsewhere
        faults = (fault._replace(place=re.sub("^device$", "--device", fault.place)) for fault in error.faults)
        raise ConfigError.of(faults) from error
    emit(bench_report(timings, work), as_json=as_json, plot=plot)


def _lengths(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and 0 < int(word) < 2**31 for word in words):
        problem = f"must be numbers with commas between them, not '{text}'"
        raise ConfigError("--lengths", problem, "each at least 1, as in 128,256,512")
    lengths = sorted({int(word) for word in words})
    if len(lengths) < len(words):
        say("a length that is given twice is measured once")
    return tuple(lengths)
