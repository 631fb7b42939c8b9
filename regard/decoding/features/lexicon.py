"""Log-probability of each piece as a translation of the source by a lexicon (He et al. 2016, https://ojs.aaai.org/index.php/AAAI/article/view/9983)."""

import copy
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import torch
from annotated_types import Gt, Le
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.decoding.features.feature import Feature, Surroundings
from regard.decoding.features.tables import LEXICON, LexiconFile, PieceTranslations, learnt_file
from regard.pieces import SPECIALS
from regard.records import EOS, Batch, Sequences, Step

_COUNT = 20  # translations of a source piece


class Sources(NamedTuple):
    """The translations of each source piece of each row."""

    ids: Tensor  # (rows, source, count)
    values: Tensor  # (rows, source, count)
    mask: Tensor  # (rows, source): pieces, not the end symbol

    def select(self, rows: Tensor) -> "Sources":
        """Rows in that order."""
        return Sources(self.ids[rows], self.values[rows], self.mask[rows])


class LexiconReader(Feature):
    """A feature that reads the likeliest translations of source pieces."""

    reads_tables = True
    file: Path | None
    _likely: PieceTranslations

    def bind(self, run: Surroundings) -> Self:
        other = copy.copy(self)
        other._likely = PieceTranslations.read(learnt_file(self.file, run, LEXICON), run, _COUNT)
        return other

    def likely(self, source: Sequences) -> tuple[Tensor, Tensor, Tensor]:
        """Return ids and probabilities (row, source, count) of translations, and a mask (row, source) of words."""
        ids, values = (table.to(source.items.device)[source.items] for table in self._likely)
        return ids, values, source.mask & (source.items >= len(SPECIALS))


class LexiconFeature(LexiconReader):
    """`weight` · log sum_j a_j p(piece | source piece j), a_j where the model looks, or the same for each j."""

    name = "lexicon"
    weight: float

    def __init__(
        self,
        *,
        weight: Annotated[AnyFloat, Doc("Interpolation weight of the lexicon.")] = 0.1,
        file: LexiconFile = None,
        look: Annotated[
            Literal["attention", "everywhere"], Doc("Weights of source pieces: the model's attention, or uniform.")
        ] = "attention",
        min_probability: Annotated[float, Gt(0), Le(1), Doc("Floor of the probability of a piece.")] = 1e-3,
    ) -> None:
        self.weight, self.file, self.min_probability = weight, file, min_probability
        self.needs_weights = look == "attention"

    def start(self, batch: Batch) -> Sources:
        return Sources(*self.likely(batch.sequences("source")))

    def step(self, step: Step, ids: Tensor, state: Sources) -> tuple[Tensor, Sources]:
        """Add up the translations of the attended pieces; the end of a target has no score."""
        looks = step.weights if self.needs_weights and step.weights is not None else state.mask
        shares = looks.to(state.values) * state.mask
        shares = shares / shares.sum(dim=-1, keepdim=True).clamp(min=1e-9)
        found = torch.zeros(len(ids), step.log_probs.shape[-1], device=ids.device)
        found.scatter_add_(-1, state.ids.flatten(1), (state.values * shares.unsqueeze(-1)).flatten(1))
        added = self.weight * found.clamp(self.min_probability, 1.0).log()
        added[:, EOS] = 0.0
        return added.to(step.log_probs), state
