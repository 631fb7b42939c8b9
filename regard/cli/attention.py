"""regard attention"""

import re
from typing import Annotated

import typer

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.options import Json, Plot
from regard.errors import ConfigError

attention_app = typer.Typer(help="What attention costs.", no_args_is_help=True)

Mechanisms = Annotated[
    list[str] | None,
    typer.Argument(metavar="MECHANISM...", help="luong, multihead ..., or score=dot,span=window,span.radius=8"),
]
LengthsOption = Annotated[str, typer.Option(metavar="N,N,...", help="How many keys there are.")]
Queries = Annotated[int | None, typer.Option(min=1, metavar="N", help="How many queries. (default: as many as keys)")]
DimOption = Annotated[int, typer.Option(min=1, metavar="N", help="Width of queries and keys.")]
HeadsOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="(default: as the mechanism says)")]
SizeOption = Annotated[int, typer.Option("--batch", min=1, metavar="N", help="Sentences at once.")]
Backward = Annotated[bool, typer.Option("--backward/--forward", help="With the gradients, or without.")]
ThreadsOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="(default: as torch chooses)")]
BenchRounds = Annotated[int, typer.Option(min=1, metavar="N", help="Turns of each; the median is told.")]
Plain = Annotated[bool, typer.Option("--plain", help="Each also with its fast paths off.")]
MemoryOption = Annotated[
    float | None,
    typer.Option(min=1, metavar="MB", help="Leave out what would take more. (default: half of what is free)"),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda ...")]


@attention_app.callback()
def attention() -> None:
    """What attention costs."""


@attention_app.command("bench")
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
    """Time mechanisms over lengths: median milliseconds, peak memory, and how both grow (the log-log slope).

    regard attention bench additive multihead score=scaled_dot,span=local_predictive --lengths 256,512,1024,2048
    """
    import torch

    from regard.reports.bench import Workload, bench, bench_report, mechanisms_of

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
