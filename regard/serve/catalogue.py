"""Which languages are served, from which into which, and by what."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from regard.config import SETTINGS_FILE, read_yaml
from regard.errors import ConfigError, nearest
from regard.serve.engine import Predicts
from regard.serve.languages import inward


class Catalogue:
    """The engines, and those that translate by their pair; the first of a pair is its default."""

    def __init__(self, engines: Sequence[Predicts]) -> None:
        self.engines = list(engines)
        self._pairs: dict[tuple[str, str], list[Predicts]] = {}
        for engine in engines:
            if not engine.translates:
                continue
            self._pairs.setdefault((inward(engine.source), inward(engine.target)), []).append(engine)

    @property
    def languages(self) -> list[str]:
        """Every language that is read or written, in alphabetical order."""
        return sorted({code for pair in self._pairs for code in pair})

    @property
    def first(self) -> tuple[str, str] | None:
        """The pair that was named first; None where nothing is translated."""
        return next(iter(self._pairs), None)

    def targets(self, source: str) -> list[str]:
        """What a language is translated into."""
        return sorted(target for known, target in self._pairs if known == source)

    def engine(self, source: str, target: str) -> Predicts | None:
        """The default of a pair."""
        return next(iter(self._pairs.get((source, target), ())), None)

    def named(self, name: str) -> Predicts | None:
        """An engine by its name."""
        return next((engine for engine in self.engines if engine.name == name), None)

    def hint(self, name: str) -> str:
        """What there is in place of a name that there is not."""
        return nearest(name, [engine.name for engine in self.engines])


def wanted(runs: Sequence[Path], only: Collection[str]) -> list[Path]:
    """The runs between some languages, by what their settings say; of those that say nothing only the model can tell.

    No language stands for all. Nothing is loaded. Raises ConfigError where no run is left.
    """
    named = {run: _named(run) for run in runs} if only else {}
    found = [run for run in runs if not (pairs := named.get(run)) or any(between(*pair, only) for pair in pairs)]
    if not found:
        raise none_between(only, [pair for pairs in named.values() for pair in pairs])
    return found


def between(source: str, target: str, only: Collection[str]) -> bool:
    """Whether a pair is among some languages, however they are spelled; no language stands for all."""
    return not only or {inward(source), inward(target)} <= {inward(code) for code in only}


def none_between(only: Collection[str], pairs: Collection[tuple[str, str]]) -> ConfigError:
    """For languages that leave nothing to serve."""
    there = ", ".join(dict.fromkeys("-".join(map(inward, pair)) for pair in pairs))
    problem = f"no run is between {', '.join(only)}: there is {there}"
    return ConfigError("--load-only", problem, "name both languages of a run, or leave it away to serve all")


def _named(run: Path) -> list[tuple[str, str]]:
    """The codes of sources and targets that a run's settings name; what is wrong with them tells whoever loads it."""
    try:
        settings = read_yaml(run / SETTINGS_FILE)
    except ConfigError:
        return []
    data = settings.get("data")
    first = data if isinstance(data, Mapping) else {}
    routes = first.get("routes")
    found = []
    for one in (first, *(routes.values() if isinstance(routes, Mapping) else ())):
        match one:
            case {"languages": [str(source), str(target)]}:
                found.append((source, target))
    return found
