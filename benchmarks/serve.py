"""Servers under load: how many translations a second, how soon, and what ours does when it is asked for too many.

    python benchmarks/serve.py RUN [--texts FILE] [--rounds 3] [--seconds 5] [--clients 1 8 32 128] [--json FILE]
    python benchmarks/serve.py RUN --overload 60                     what `regard serve` does with twice as much

The servers and their clients share the machine, over its loopback; each request is one line, of FILE or of the run's
test part. So many clients ask again as soon as they are answered; the servers take turns at every number of clients.
  regard serve               as it is shipped; --options threads=2 … for others
  regard serve, stop: full   whose beam ends as the peer's does
  regard serve, int8         the same, in 8 bits
  regard serve, export       of the run, to runtime
  CTranslate2                the same model converted, as many workers as threads, as LibreTranslate has it
  CTranslate2, int8          the same in 8 bits
  regard serve, one by one   whose model gets one text at a time: --max-batch-tokens 1
Milliseconds of the processor are those of a request in all processes of a server: where other programs share the
machine, these say more than translations a second. With --overload twice as many requests a second as were answered
come evenly for so many seconds.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ctranslate2_peer import convert
from load import Server, at_once, figures, serving, started, whatever_it_says
from program import as_line, count, lines_of, machine, markdown, need, options, save, spread
from timing import rotated
from workload import with_shortlist

from regard.exchange import export_folder, format_named
from regard.predictor import load
from regard.runs import RunFolder

WARM = 2.0  # seconds before the clock starts
OURS, PEER = "regard serve", "CTranslate2"
EXPORT = f"{OURS}, export"
PEER_IN_EIGHT = f"{PEER}, int8"
STOP, SHORT, EIGHT = "decoding.search.stop=full", "decoding.shortlist=true", "decoding.precision=int8"
CONTENDERS: dict[str, Sequence[str]] = {  # words behind a run, or behind the peer's model
    OURS: (),
    f"{OURS}, stop: full": (STOP,),
    f"{OURS}, shortlist": (STOP, SHORT),
    f"{OURS}, int8": (STOP, EIGHT),
    f"{OURS}, int8, shortlist": (STOP, EIGHT, SHORT),
    EXPORT: (),
    PEER: ("--precision", "float32"),
    PEER_IN_EIGHT: ("--precision", "int8"),
    f"{OURS}, one by one": ("--max-batch-tokens", "1"),
}
Rows = dict[int, dict[str, list[dict[str, Any]]]]  # by clients and contender: what every round told


def main() -> None:
    """Prints the figures of every measurement."""
    parser = options(__doc__, rounds=3, seconds=5.0, overload=0.0, threads=2)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, help="one a line (default: the sources of the run's test part)")
    parser.add_argument("--clients", type=count, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    parser.add_argument("--options", nargs="*", default=[], help="of regard serve, without dashes: threads=2")
    given = parser.parse_args()
    if any(name.startswith(PEER) for name in given.only):
        need("ctranslate2")
    about, texts = machine(given.threads), texts_of(given)
    if any(SHORT in CONTENDERS[name] for name in given.only):
        with_shortlist(given.run)
    print(as_line(about))
    words = [word for option in given.options for word in f"--{option}".split("=", 1)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = {name: stack.enter_context(server_of(name, given, words, Path(folder))) for name in given.only}
        rows = measure(servers, texts, given)
        print(table(rows))
        found = {**about, "rounds": rows, "tables": {title(given.run): table(rows)}, "curves": curves(rows)}
        if given.overload:
            best = max(statistics.median(one["per_second"] for one in row[OURS]) for row in rows.values())
            found["overload"] = overload(servers[OURS], texts, 2 * best, given.overload)
            print(f"overload: {json.dumps(found['overload'])}")
    save(given.json, found)


def texts_of(given: argparse.Namespace) -> list[str]:
    """What is asked for."""
    if given.texts is not None:
        return [line for line in lines_of(given.texts) if line.strip()]
    from translate import test_part

    return test_part(RunFolder(given.run))["source"]


def server_of(name: str, given: argparse.Namespace, words: Sequence[str], folder: Path) -> Any:
    """A contender, to be entered."""
    if name == EXPORT:
        export_folder(format_named("runtime"), load(given.run), folder / "export", count=0, say=lambda line: None)
        return serving(folder / "export", *words)
    if not name.startswith(PEER):
        return serving(given.run, *CONTENDERS[name], *words)
    from translate import weights

    run = RunFolder(given.run)
    model = convert(run, weights(run), folder / name)
    script = Path(__file__).parent / "ctranslate2_server.py"
    files = "--source", model.source, "--target", model.target
    return started(script, model.folder, *files, "--threads", given.threads, *CONTENDERS[name])


def measure(servers: Mapping[str, Server], texts: Sequence[str], given: argparse.Namespace) -> Rows:
    """Every server at every number of clients, in turns."""
    names, rows = list(servers), Rows()
    for server in servers.values():
        asyncio.run(at_once(server, texts, max(given.clients), WARM))
    for clients in given.clients:
        rows[clients] = {name: [] for name in names}
        for name in rotated(names, given.rounds):
            before = servers[name].cpu()
            answers = asyncio.run(at_once(servers[name], texts, clients, given.seconds))
            cost = 1000 * (servers[name].cpu() - before) / max(len(answers), 1)
            rows[clients][name].append({**figures(answers, given.seconds), "cpu_ms": cost})
    return rows


def table(rows: Rows) -> str:
    """Markdown: a row for each number of clients and contender.

    Ratios are taken inside a round, to the peer in the same precision: above 1 is ahead of it.
    """
    speed, cost = "translations/s, median [min..max]", "CPU ms a request"
    lines = []
    for clients, row in rows.items():
        for name, each in row.items():
            speeds = [one["per_second"] for one in each]
            peer = row.get(PEER_IN_EIGHT if "int8" in name else PEER, [])
            against = [mine / one["per_second"] for mine, one in zip(speeds, peer, strict=False)]
            cheaper = [one["cpu_ms"] / mine["cpu_ms"] for mine, one in zip(each, peer, strict=False)]
            costs = [spread([one["cpu_ms"] for one in each], ".2f"), spread(cheaper) if cheaper else ""]
            bad = sum(number for one in each for status, number in one["statuses"].items() if status != "200")
            waits = [f"{statistics.median(one[quantile] for one in each):.0f}" for quantile in ("p50", "p99")]
            lines.append(
                [clients, name, spread(speeds, ".1f"), spread(against) if against else "", *costs, *waits, bad]
            )
    return markdown(["clients", "server", speed, "ratio", cost, "ratio", "p50 ms", "p99 ms", "not answered"], lines)


def curves(rows: Rows) -> list[dict[str, Any]]:
    """Plots of the translations a second and of the waits."""
    names = list(next(iter(rows.values())))
    found = []
    for heading, unit, key in (
        ("Translations", "translations/s", "per_second"), ("The slowest of a hundred", "p99, ms", "p99")
    ):  # fmt: skip
        points = {
            name: [[clients, statistics.median(one[key] for one in row[name])] for clients, row in rows.items()]
            for name in names
        }
        found.append({"title": heading, "x": "clients", "y": unit, "scale": "log", "points": points})
    return found


def title(run: Path) -> str:
    """What a run is called in a heading."""
    return f"The model {run.name}" if run.name != "model" else f"The model of {run.parent.name}"


def overload(server: Server, texts: list[str], rate: float, seconds: float) -> dict[str, Any]:
    """More than it can answer, evenly. Memory is compared from a fifth of the time on."""
    memory: list[dict[str, float]] = []
    answers = asyncio.run(whatever_it_says(server, texts, rate, seconds, lambda: memory.append(server.memory())))
    early, late = memory[len(memory) // 5], memory[-1]
    refused = [answer for answer in answers if answer.status == 429]
    return {
        "asked_per_second": rate,
        **figures(answers, seconds),
        "refused_without_retry_after": sum(answer.retry_after is None for answer in refused),
        "megabytes": late,
        "growth": {name: late[name] / early[name] - 1 for name in late},
    }


if __name__ == "__main__":
    main()
