"""docs/results/speed.md out of what was measured: prose stands in speed.md.j2, every figure in a JSON file of its part.

python benchmarks/report.py [--results docs/results/speed] [--page docs/results/speed.md]
"""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from program import markdown, options, spread
from timing import Record, race_table, ratios

HERE = Path(__file__).parent
TEMPLATE = "speed.md.j2"
RESULTS, PAGE = Path("docs") / "results" / "speed", Path("docs") / "results" / "speed.md"
MANY = 12  # races of a part: of more of them a page has one table
SHOWN = ("torch", "transformers", "ctranslate2", "joeynmt")


WIDTH, HEIGHT, DOTS = 8.0, 3.2, 110  # inches of a panel, dots an inch
OURS, THEIRS = "#c0392b", "#7f8c8d"

Found = Mapping[str, Any]
Panel = Callable[[Any], None]


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
            blocks += [f"**{title}**", race_table(records(race), found["unit"], found["reference"])]
            blocks += found.get("notes", {}).get(title, [])
        for title, shown in found.get("tables", {}).items():
            blocks += [f"**{title}**", shown]
        if name in PICTURES:
            blocks.append(f"![{name}]({self.images}/{name}.png)")
        return "\n\n".join(blocks)

    def ratio(self, name: str, title: str, one: str, other: str) -> str:
        """How many times as fast one contender was as another: median [min..max] of the ratios inside a round."""
        race = self.parts.get(name, {}).get("races", {}).get(title, {})
        if not {one, other} <= set(race):
            return "(not measured)"
        known = records(race)
        return spread(ratios(known[one], known[other]))

    def memory(self, name: str, title: str, one: str, other: str) -> str:
        """How many times the peak memory of another contender one took."""
        race = self.parts.get(name, {}).get("races", {}).get(title, {})
        if not {one, other} <= set(race):
            return "(not measured)"
        return f"{race[one]['megabytes'] / race[other]['megabytes']:.2f}"


def overview(races: Mapping[str, Mapping[str, Any]], reference: str) -> str:
    """One table of many races with the same contenders: how many times as fast as the reference each one was."""
    names = [name for name in next(iter(races.values())) if name != reference]
    rows = []
    for title, race in races.items():
        known = records(race)
        rows.append([title, *(spread(ratios(known[name], known[reference])) for name in names)])
    return markdown([f"times as fast as {reference}, median [min..max]", *names], rows)


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
        if name in PICTURES:
            draw(name, found, results / f"{name}.png")
    environment = Environment(
        loader=FileSystemLoader(HERE), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    text = environment.get_template(TEMPLATE).render(part=report.part, ratio=report.ratio, memory=report.memory)
    page.write_text(text, encoding="utf-8")


def draw(name: str, found: Found, path: Path) -> None:
    """The picture of a part."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    panels = PICTURES[name](found)
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(WIDTH, HEIGHT * len(panels)), squeeze=False)
    for axis, panel in zip(axes[:, 0], panels, strict=True):
        panel(axis)
    figure.tight_layout()
    figure.savefig(path, dpi=DOTS, metadata={"Software": None})
    pyplot.close(figure)


def bars(found: Found) -> list[Panel]:
    """A panel for each race: medians, with a line from the least to the most."""

    def panel_of(title: str, race: Mapping[str, Found]) -> Panel:
        def panel(axis: Any) -> None:
            names = list(race)
            middles = [statistics.median(race[name]["speeds"]) for name in names]
            lows = [middle - min(race[name]["speeds"]) for name, middle in zip(names, middles, strict=True)]
            highs = [max(race[name]["speeds"]) - middle for name, middle in zip(names, middles, strict=True)]
            colours = [OURS if name.startswith("regard") else THEIRS for name in names]
            axis.barh(names, middles, xerr=[lows, highs], color=colours, capsize=3)
            axis.invert_yaxis()
            axis.set_title(title)
            axis.set_xlabel(found["unit"])

        return panel

    return [panel_of(title, race) for title, race in found["races"].items()]


def lines(found: Found) -> list[Panel]:
    """A panel for each of `curves`: title, axes, and of each name the points [x, y]."""

    def panel_of(curve: Found) -> Panel:
        def panel(axis: Any) -> None:
            for name, points in curve["points"].items():
                style = "-" if name.startswith("regard") else "--"
                axis.plot(*transposed(points), style, marker="o", markersize=3, label=name)
            axis.set_title(curve["title"])
            axis.set_xlabel(curve["x"])
            axis.set_ylabel(curve["y"])
            axis.set_xscale(curve.get("scale", "linear"))
            axis.grid(alpha=0.3)
            axis.legend()

        return panel

    return [panel_of(curve) for curve in found["curves"]]


def transposed(points: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """[[x, y], …] → all x, all y."""
    return [x for x, _ in points], [y for _, y in points]


PICTURES: dict[str, Callable[[Found], list[Panel]]] = {
    "training": bars,
    "decoding": bars,
    "data_sizes": lines,
    "trained": bars,
    "growth": lines,
    "quality": lines,
    "server": lines,
    "demo": lines,
}


def main() -> None:
    """The command line."""
    parser = options(__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help=f"of the parts ({RESULTS})")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help=f"that is written ({PAGE})")
    chosen = parser.parse_args()
    write(chosen.results, chosen.page)
    print(f"wrote {chosen.page}")


if __name__ == "__main__":
    main()
