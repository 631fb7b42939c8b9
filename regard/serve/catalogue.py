"""Models of a server, by their languages and names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from regard.answers import ANSWERS
from regard.config import SETTINGS_FILE, read_yaml, settings_folder
from regard.documents.numeral_faults import compared
from regard.errors import ConfigError, nearest
from regard.results import Prediction
from regard.serve.engine.engine import Engine
from regard.serve.engine.questions import QuestionRow
from regard.serve.languages import inward, outward

_SHORT = 12  # digits of a digest


class ServedModel:
    """A model for clients: an engine along one of its routes, with the values of its card."""

    def __init__(self, engine: Engine, route: str, card: Mapping[str, Any]) -> None:
        self.engine, self.route, self.card = engine, route, card
        self.name = f"{engine.name}:{route}" if route else engine.name
        self.languages: Sequence[str] = card["languages"]  # codes of source and target; none: not a translator
        self.given: Sequence[str] = card["given"]  # input columns
        self.alphabet = frozenset(card.get("alphabet", ""))  # characters of its vocabulary; empty: any
        self.answer = ANSWERS[card["answers"]]
        self.known: int = card.get("vocabulary", {}).get(card["predicted"], 1)  # pieces or labels of answers
        self.explains: bool = card["explains"]  # False: its engine has no attention weights
        self.read_together: int = card.get("read_together", 1)  # sentences of a text
        # minimum similarity in per cent and maximum number of the segments that it reads with a sentence; None: none
        self.reads_memory: Sequence[int] | None = card.get("reads_memory")

    @property
    def version(self) -> str:
        """Start of the SHA-256 of its weights."""
        return str(self.card.get("sha256") or "")[:_SHORT]

    @property
    def pair(self) -> str:
        """Its languages in normal form: en-de; "" if it is not a translator."""
        return "-".join(map(inward, self.languages))

    @property
    def codes(self) -> dict[str, str | None]:
        """Its languages in the form for clients."""
        source, target = (outward(inward(code)) or None for code in self.languages or ("", ""))
        return {"source": source, "target": target}

    async def ask(self, question: QuestionRow, *, seconds: float) -> list[Prediction]:
        """Return one prediction per text, in order. Raises the engine's errors."""
        return await self.engine.ask(replace(question, route=self.route), seconds=seconds)

    def empty_answer(self, line: str) -> Prediction | None:
        """Return the answer to an empty line; None for any other."""
        return self.answer.empty(self.given, line)

    def checked(self, predictions: Sequence[Prediction]) -> Sequence[Prediction]:
        """Return predictions with warnings of lost numbers."""
        return compared(predictions) if self.languages else predictions


def models_of(engine: Engine) -> list[ServedModel]:
    """Return the models of a loaded engine, one for each route."""
    return [ServedModel(engine, route, card) for route, card in engine.cards.items()]


class Catalogue:
    """The models, and the translators by pair of languages; the first of a pair is its default.

    `canaries` are engines, by name, each with the fraction of a pair's requests that it takes from the default.
    """

    def __init__(self, models: Sequence[ServedModel], canaries: Mapping[str, float] = MappingProxyType({})) -> None:
        self.models, self._canaries = list(models), canaries
        self._pairs: dict[tuple[str, str], list[ServedModel]] = {}
        for model in models:
            for source, target in [model.languages] * bool(model.languages):
                self._pairs.setdefault((inward(source), inward(target)), []).append(model)

    @property
    def languages(self) -> list[str]:
        """Every source or target language, sorted."""
        return sorted({code for pair in self._pairs for code in pair})

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Source and target of each pair, sorted."""
        return sorted(self._pairs)

    @property
    def first(self) -> tuple[str, str] | None:
        """The first pair; None without a translator."""
        return next(iter(self._pairs), None)

    def targets(self, source: str) -> list[str]:
        """Return the target languages of a source."""
        return sorted(target for known, target in self._pairs if known == source)

    def model(self, source: str, target: str, sample: float = 1.0) -> ServedModel | None:
        """Return the default model of a pair, or the canary that a uniform sample in [0, 1) falls to."""
        models = self._pairs.get((source, target), [])
        for model in models:
            if sample < (fraction := self._canaries.get(model.engine.name, 0.0)):
                return model
            sample -= fraction
        return next((one for one in models if one.engine.name not in self._canaries), next(iter(models), None))

    def named(self, name: str) -> ServedModel | None:
        """Return the model of a name."""
        return next((model for model in self.models if model.name == name), None)

    def hint(self, name: str) -> str:
        """Return a hint for an unknown name."""
        return nearest(name, [model.name for model in self.models])


def wanted(runs: Sequence[Path], only: Collection[str]) -> list[Path]:
    """Return the runs between some languages, by their settings; a run without languages stays, as its model may fit.

    No languages: all runs. Nothing is loaded. Raises ConfigError if no run is left.
    """
    named = {run: _named(run) for run in runs} if only else {}
    found = [run for run in runs if not (pairs := named.get(run)) or any(between(pair, only) for pair in pairs)]
    if not found:
        raise none_between(only, [pair for pairs in named.values() for pair in pairs])
    return found


def between(languages: Iterable[str], only: Collection[str]) -> bool:
    """Return True if a model's languages are among some, in any spelling; no languages: any model."""
    return not only or {*map(inward, languages)} <= {*map(inward, only)}


def none_between(only: Collection[str], pairs: Collection[Sequence[str]]) -> ConfigError:
    """Return the error of languages without any run."""
    served = ", ".join(dict.fromkeys("-".join(map(inward, pair)) for pair in pairs))
    problem = f"no run translates between {', '.join(only)}; the runs have {served}"
    return ConfigError("--load-only", problem, "name both languages of a run, or omit it to serve all runs")


def _named(run: Path) -> list[tuple[str, str]]:
    """Return the codes of sources and targets in a run's settings; errors in them are reported on loading."""
    try:
        settings = read_yaml(settings_folder(run) / SETTINGS_FILE)
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
