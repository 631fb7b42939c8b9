"""A neural language model beside the translator: shallow fusion (https://arxiv.org/abs/1503.03535, section 4.1)."""

import copy
from pathlib import Path
from typing import Annotated, Any, cast

from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.data.columns import TextColumn
from regard.decoding.features.feature import Feature, Surroundings
from regard.decoding.features.tables import target_column
from regard.errors import ConfigError
from regard.models.language_model import COUNTED, LanguageModel
from regard.records import TEXT, Batch, Sequences, State, Step


class LanguageModelFeature(Feature):
    """`weight` · log p(piece | the pieces before it) by another run, a language model of the same pieces."""

    name = "language_model"
    weight: float
    reads_tables = True

    def __init__(
        self,
        *,
        run: Annotated[Path | None, Doc("Folder of a language model with the target vocabulary.")] = None,
        weight: Annotated[AnyFloat, Doc("Interpolation weight of the language model.")] = 0.1,
    ) -> None:
        self.run, self.weight = run, weight
        self._model: LanguageModel

    def bind(self, run: Surroundings) -> "LanguageModelFeature":
        """Open the run. Raises ConfigError where it is not a language model, or has another vocabulary."""
        place, hint = "decoding.features.language_model.run", "train one: init.run=RUN init.vocabularies={text: target}"
        if self.run is None:
            raise ConfigError(place, "is not given", f"the folder of a language model; {hint}")
        model, columns = run.open_run(self.run)
        if not isinstance(model, LanguageModel):
            raise ConfigError(place, f"'{self.run}' is not a language model", hint)
        if cast(TextColumn, columns[TEXT]).tokenizer.key() != target_column(run).tokenizer.key():
            raise ConfigError(place, f"'{self.run}' has another vocabulary than the target", hint)
        other = copy.copy(self)
        other._model = model
        return other

    def start(self, batch: Batch) -> State:
        nothing = batch.lines.new_zeros(len(batch.lines), 0)
        columns: dict[str, Sequences | Tensor] = {TEXT: Sequences(nothing, nothing.bool()), COUNTED: nothing.bool()}
        self._model.to(batch.lines.device)  # its run may have been trained elsewhere
        return self._model.start(Batch(columns, batch.route, batch.lines, 0))

    def step(self, step: Step, ids: Tensor, state: Any) -> tuple[Tensor, State]:
        found, after = self._model.step(ids, state)
        return self.weight * found.log_probs.to(step.log_probs), after
