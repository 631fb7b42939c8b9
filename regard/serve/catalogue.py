"""Which models are served, from which languages into which."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from regard.answers import ANSWERS
from regard.config import SETTINGS_FILE, read_yaml
from regard.documents.numeral_faults import compared
from regard.errors import ConfigError, nearest
from regard.results import Prediction
from regard.serve.engine import Engine, QuestionRow
from regard.serve.languages import inward, outward


class ServedModel:
    """A model as clients know it: an engine along one of its routes, with what its card tells."""

    def __init__(self, engine: Engine, route: str, card: Mapping[str, Any]) -> None:
        self.engine, self.route, self.card = engine, route, card
        self.name = f"{engine.name}:{route}" if route else engine.name
        self.languages: Sequence[str] = card["languages"]  # codes of source and target; none: it translates nothing
        self.given: Sequence[str] = card["given"]  # columns that an answer is predicted from
        self.alphabet = frozenset(card.get("alphabet", ""))  # characters that it can read; empty: any
        self.answer = ANSWERS[card["answers"]]
        self.most_answers = math.inf if self.answer.written else 1
        self.read_together: int = card.get("read_together", 1)  # sentences of a text

    @property
    def pair(self) -> str:
        """Its languages as they are compared: en-de; "" where it translates nothing."""
        return "-".join(map(inward, self.languages))

    @property
    def codes(self) -> dict[str, str | None]:
        """Its languages as clients are told."""
        source, target = (outward(inward(code)) or None for code in self.languages or ("", ""))
        return {"source": source, "target": target}

    async def ask(self, question: QuestionRow, *, seconds: float) -> list[Prediction]:
        """One prediction per text, in order. Raises the faults of the engine."""
        return await self.engine.ask(replace(question, route=self.route), seconds=seconds)

    def empty_answer(self, line: str) -> Prediction | None:
        """The answer to a line that has nothing to judge; None where it has."""
        return self.answer.empty(self.given, line)

    def checked(self, predictions: Sequence[Prediction]) -> Sequence[Prediction]:
        """Predictions with warnings of numbers that a translation lacks."""
        return compared(predictions) if self.languages else predictions


def models_of(engine: Engine) -> list[ServedModel]:
    """The models of an engine that is loaded, one for each of its routes."""
    return [ServedModel(engine, route, card) for route, card in engine.cards.items()]


class Catalogue:
    """The models, and those that translate by their pair; the first of a pair is its default."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self.models = list(models)
        self._pairs: dict[tuple[str, str], list[ServedModel]] = {}
        for model in models:
            for source, target in [model.languages] * bool(model.languages):
                self._pairs.setdefault((inward(source), inward(target)), []).append(model)

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

    def model(self, source: str, target: str) -> ServedModel | None:
        """The default of a pair."""
        return next(iter(self._pairs.get((source, target), ())), None)

    def named(self, name: str) -> ServedModel | None:
        """A model by its name."""
        return next((model for model in self.models if model.name == name), None)

    def hint(self, name: str) -> str:
        """What there is in place of a name that there is not."""
        return nearest(name, [model.name for model in self.models])


def wanted(runs: Sequence[Path], only: Collection[str]) -> list[Path]:
    """The runs between some languages, by what their settings say; of those that say nothing only the model can tell.

    No language stands for all. Nothing is loaded. Raises ConfigError where no run is left.
    """
    named = {run: _named(run) for run in runs} if only else {}
    found = [run for run in runs if not (pairs := named.get(run)) or any(between(pair, only) for pair in pairs)]
    if not found:
        raise none_between(only, [pair for pairs in named.values() for pair in pairs])
    return found


def between(languages: Iterable[str], only: Collection[str]) -> bool:
    """Return True if the languages of a model are among some, however they are spelled; no language stands for all."""
    return not only or {*map(inward, languages)} <= {*map(inward, only)}


def none_between(only: Collection[str], pairs: Collection[Sequence[str]]) -> ConfigError:
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
