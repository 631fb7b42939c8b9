"""The compiled engine of regard.runtime: its own beam and greedy search over an export."""

import functools
from ctypes import CDLL
from functools import partial
from typing import Any, NamedTuple

import torch

from regard.decoding import BeamSearch, GreedySearch, Hypothesis, Search
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.predictor.engines.export_engine import Export, ExportEngine, MissingNetwork, OpenedEngine
from regard.predictor.setup import WITHOUT_ENGINE
from regard.records import Batch, Decoded
from regard.runtime import RuntimeTranslator
from regard.runtime.compiled import library
from regard.runtime.engine import SearchRules
from regard.runtime.library import SOURCE, engine_library
from regard.tasks.text_predictions import rows_of


class RuntimeEngine(ExportEngine):
    """Searches in compiled code; see `RuntimeSearch` for the searches that it has."""

    name = "runtime"
    packages = ()
    extra = ""
    supported = frozenset({"confidence", "alignments"})

    def open(self, export: Export) -> OpenedEngine:
        try:
            loaded = LoadedFolder(RuntimeTranslator(export.folder, library=compiled_engine(), threads=1))
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(export.folder, f"cannot be opened: {error}") from error
        return OpenedEngine(AligningNetwork(self.name, loaded), partial(RuntimeSearch, loaded))


class LoadedFolder(NamedTuple):
    """An opened folder."""

    translator: RuntimeTranslator

    def __deepcopy__(self, memo: object) -> "LoadedFolder":
        """The same one: any thread may call it."""
        return self


class AligningNetwork(MissingNetwork):
    """Stands for the network: of all its uses, it has the weights that align given targets."""

    def __init__(self, engine: str, loaded: LoadedFolder) -> None:
        super().__init__(engine, loaded.translator.settings["max_source"])
        self._loaded = loaded

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, None]:
        sources, targets = (rows_of(batch.sequences(name)) for name in ("source", "target"))
        weights = torch.zeros(len(sources), max(map(len, targets)), max(map(len, sources)))
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            found = self._loaded.translator.forced_ids(source, target[:-1])
            weights[row, : len(target), : len(source)] = torch.tensor(found.weights)
        return Decoded(weights.new_zeros(*weights.shape[:2], 0), weights), None


class RuntimeSearch:
    """Greedy or beam search of the compiled engine."""

    def __init__(self, loaded: LoadedFolder, search: Search) -> None:
        """Raise ConfigError for a search that the engine does not have."""
        rules = beam_rules(search)
        if search.requirements.of or [*search.first] != [*loaded.translator.target.first]:
            hint = f"leave it out, or {WITHOUT_ENGINE}"
            raise ConfigError("glossary", "is not possible with the runtime engine", hint)
        if rules is None:
            problem = "is not one that the runtime engine has"
            raise ConfigError("decoding.search", problem, "greedy, or beam without recorded steps")
        self.loaded, self.search, self.rules = loaded, search, SearchRules(**rules)
        self.width, self.max_source = self.rules.size, loaded.translator.settings["max_source"]

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Translate a batch."""
        unwanted, sources = self.search.unwanted(), rows_of(batch.sequences("source"))
        rows = [row for row, line in enumerate(batch.lines.tolist()) if line not in unwanted]
        n_best = getattr(self.search, "n_best", 1)
        answers = self.loaded.translator.searched([sources[row] for row in rows], self.rules, n_best) if rows else []
        found = [[Hypothesis([], 0.0, [], False)] for _ in sources]
        for row, some in zip(rows, answers, strict=True):
            found[row] = [Hypothesis(*one) for one in some]
        return found


def beam_rules(search: Search) -> dict[str, Any] | None:
    """Return the settings of a greedy or a beam search as `SearchRules` has them; None of others."""
    match search:
        case GreedySearch():
            beam: dict[str, Any] = {"size": 1, "length_penalty": 0.0, "gnmt": False, "stop": "full"}
        case BeamSearch(trace=None):
            beam = {name: getattr(search, name) for name in ("size", "length_penalty", "gnmt", "stop")}
        case _:
            return None
    return beam | {name: getattr(search, name) for name in ("max_ratio", "max_extra", "min_length", "at_limit")}


@functools.cache
def compiled_engine() -> CDLL:
    """Return the engine compiled for this machine, else one that was built ahead. Raises RegardError without both."""
    try:
        return library(SOURCE) or engine_library()
    except OSError as error:
        raise RegardError(f"runtime: there is no compiled engine: {error} (regard doctor says more)") from error
