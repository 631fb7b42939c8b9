"""docs/results/speed.md out of what was measured: prose stands in speed.md.j2, every figure in a JSON file of its part.

python benchmarks/report.py [--results docs/results/speed] [--page docs/results/speed.md]
"""

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plots
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rounds import Record, ratios, table

HERE = Path(__file__).parent
TEMPLATE = "speed.md.j2"
RESULTS, PAGE = Path("docs") / "results" / "speed", Path("docs") / "results" / "speed.md"
MANY = 12  # races of a part: of more of them a page has one table
SHOWN = ("torch", "transformers", "ctranslate2", "joeynmt")


class Report:
    """What was measured, for the template."""

    def __init__(self, results: Path, images: str) -> None:
        """`images`: the folder of the pictures as the page names it."""
        self.images, self.parts = images, dict[str, dict[str, Any]]()
        for path in sorted(results.glob("*.json")):
            self.parts[path.stem] = json.loads(path.read_text(encoding="utf-8"))

    def part(self, name: str) -> str:
        """Markdown of one part: what it belongs to, its tables, its picture; or how to measure it."""
        if name not in self.parts:
            return f'Not measured yet: `make bench BENCH="--only {name}"`.'
        found = self.parts[name]
        blocks, races = [about(found)], found.get("races", {})
        if len(races) > MANY:
            blocks, races = [*blocks, overview(races, found["reference"])], {}
        for title, race in races.items():
            blocks += [f"**{title}**", table(records(race), found["unit"], found["reference"])]
            blocks += found.get("notes", {}).get(title, [])
        for title, shown in found.get("tables", {}).items():
            blocks += [f"**{title}**", shown]
        if name in plots.PICTURES:
            blocks.append(f"![{name}]({self.images}/{name}.png)")
        return "\n\n".join(blocks)

    def ratio(self, name: str, title: str, one: str, other: str) -> str:
        """How many times as fast one contender was as another: median [min..max] of the ratios inside a round."""
        race = self.parts.get(name, {}).get("races", {}).get(title, {})
        if not {one, other} <= set(race):
            return "(not measured)"
        known = records(race)
        values = ratios(known[one], known[other])
        return f"{statistics.median(values):.2f} [{min(values):.2f}..{max(values):.2f}]"

    def memory(self, name: str, title: str, one: str, other: str) -> str:
        """How many times the peak memory of another contender one took."""
        race = self.parts.get(name, {}).get("races", {}).get(title, {})
        if not {one, other} <= set(race):
            return "(not measured)"
        return f"{race[one]['megabytes'] / race[other]['megabytes']:.2f}"


def overview(races: Mapping[str, Mapping[str, Any]], reference: str) -> str:
    """One table of many races with the same contenders: how many times as fast as the reference each one was."""
    names = [name for name in next(iter(races.values())) if name != reference]
    lines = [
        f"| times as fast as {reference}, median [min..max] | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for title, race in races.items():
        known = records(race)
        values = (ratios(known[name], known[reference]) for name in names)
        cells = (f"{statistics.median(some):.2f} [{min(some):.2f}..{max(some):.2f}]" for some in values)
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def records(race: Mapping[str, Mapping[str, Any]]) -> dict[str, Record]:
    """The contenders of a race, as they were before they became JSON."""
    return {name: Record(**one) for name, one in race.items()}


def about(found: Mapping[str, Any]) -> str:
    """A line on what the figures of a part belong to."""
    versions = ", ".join(f"{name} {found[name]}" for name in SHOWN if name in found)
    flags = " ".join(found.get("flags", [])) or "no flags known"
    memory = f", {found['memory_gb']} GB" if "memory_gb" in found else ""
    machine = f"{found['processor']} ({flags}), {found['cores']} processors{memory}, threads: {found['threads']}"
    line = f"{machine}; {versions}; commit {found.get('commit', 'unknown')}, {found.get('date', 'no date')}."
    return f"{line} {found['remark']}" if "remark" in found else line


def write(results: Path, page: Path) -> None:
    """The page and its pictures."""
    results.mkdir(parents=True, exist_ok=True)
    images = results.relative_to(page.parent).as_posix()
    report = Report(results, images)
    for name, found in report.parts.items():
        if name in plots.PICTURES:
            plots.draw(name, found, results / f"{name}.png")
    environment = Environment(
        loader=FileSystemLoader(HERE), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    text = environment.get_template(TEMPLATE).render(part=report.part, ratio=report.ratio, memory=report.memory)
    page.write_text(text, encoding="utf-8")


def main(words: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help=f"of the parts ({RESULTS})")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help=f"that is written ({PAGE})")
    chosen = parser.parse_args(words)
    write(chosen.results, chosen.page)
    print(f"wrote {chosen.page}")


if __name__ == "__main__":
    main()
