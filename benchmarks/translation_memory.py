"""A translation memory of many segments: seconds to import them, milliseconds to search, to confirm one, and its size.

    python benchmarks/translation_memory.py TEXT... [--segments 1000000] [--searches 1000] [--json FILE]

Segments are the different lines of the texts; where they are fewer, others are made of them by two words of other lines
each. Each search is a segment with one word of another line: a fuzzy match. Imports and searches are measured in
processor time, confirmations, which wait for the disk, by the clock.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from program import machine, markdown, options, save

from regard.data.readers.lines import read_lines
from regard.memory import TranslationMemory, TranslationUnit

CONFIRMED = 200  # segments that are added one by one


def varied(lines: Sequence[str], words: Sequence[str], changes: int, chance: random.Random) -> Iterator[str]:
    """Yield lines without end in which words are replaced by others."""
    while True:
        line = chance.choice(lines).split()
        for _ in range(changes):
            line[chance.randrange(len(line))] = chance.choice(words)
        yield " ".join(line)


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value below which a part of the values lie."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main() -> None:
    """The command line."""
    parser = options(__doc__, segments=1_000_000, searches=1000, seed=1)
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT", help="source texts, plain or packed")
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    lines = [*dict.fromkeys(line for line in chain.from_iterable(map(read_lines, chosen.texts)) if line.split())]
    words = [word for line in lines for word in line.split()]
    segments = [*islice(chain(lines, varied(lines, words, 2, chance)), chosen.segments)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.memory"
        memory, start = TranslationMemory(path, ("en", "de")), time.process_time()
        memory.add(TranslationUnit(line, line) for line in segments)
        seconds, size, count = time.process_time() - start, path.stat().st_size, len(memory)
        searches, hits, confirmed = [], 0, []
        for text in islice(varied(segments, words, 1, chance), chosen.searches):
            start = time.process_time()
            hits += bool(memory.search(text))
            searches.append(1000 * (time.process_time() - start))
        for number in range(CONFIRMED):
            start = time.perf_counter()
            memory.add([TranslationUnit(f"{segments[number]} {number}", "x")])
            confirmed.append(1000 * (time.perf_counter() - start))
    found = {
        "segments": count,
        "import, s": seconds,
        "size, MB": size / 1e6,
        "searches with a match, %": 100 * hits / chosen.searches,
        "search, ms: median": statistics.median(searches),
        "search, ms: p99": quantile(searches, 0.99),
        "confirm one, ms: median": statistics.median(confirmed),
        "confirm one, ms: p99": quantile(confirmed, 0.99),
    }
    shown = markdown(["", ""], [[name, f"{value:,.1f}"] for name, value in found.items()])
    print(shown)
    save(chosen.json, {**machine(1), "found": found, "tables": {"Translation memory": shown}})


if __name__ == "__main__":
    main()
