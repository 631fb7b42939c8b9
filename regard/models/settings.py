"""Settings that networks share, as the signatures of the rows of MODELS name them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.attention.names import ALIASES, advised, instead, placed, resolve, short, short_row, short_rows, shorts
from regard.config import FieldsOf, OneOrMany, PartOf
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS
from regard.layers.positions import POSITIONS
from regard.registry import Choice, Registry


@dataclass(frozen=True)
class AttentionSettings:
    """One socket and what is put into it."""

    score: Choice = Choice("scaled_dot")
    span: tuple[Choice, ...] = (Choice("everywhere"),)  # a key is seen if every span shows it
    weighting: Choice = Choice("softmax")
    num_heads: int = 1
    project: bool | None = None  # project queries, keys and values; None: only when num_heads > 1
    bias: bool = True  # of the projections
    out_proj: bool = True  # join the heads by one more projection
    gate: bool = False  # multiply the context by sigmoid(w · query + b)
    dropout: float = 0.0  # of the weights


def aliased(kind: str, table: Registry[Any], advice: Callable[[str], str] | None = None) -> PartOf:
    """A part that has other names in the literature of attention."""
    return PartOf(table, short=partial(short_row, kind), aliases=short_rows(kind), advice=advice)


def _part(kind: str, table: Registry[Any]) -> PartOf:
    """A part of an attention, which can be given by every name that stands for it alone."""
    return PartOf(table, short=partial(short, kind), aliases=shorts(kind), advice=partial(advised, kind))


SOCKET = FieldsOf(
    AttentionSettings,
    ALIASES,
    resolve,
    instead,
    score=Annotated[Choice, _part("score", SCORES)],
    span=Annotated[tuple[Annotated[Choice, _part("span", SPANS)], ...], OneOrMany()],
    weighting=Annotated[Choice, _part("weighting", WEIGHTINGS)],
)
AttentionChoice = Annotated[AttentionSettings, SOCKET]
EmbedderChoice = Annotated[Choice, PartOf(EMBEDDERS)]
PositionChoice = Annotated[Choice, aliased("position", POSITIONS, placed)]
HeadChoice = Annotated[Choice, PartOf(HEADS)]
Dim = Annotated[int, Ge(1)]
Share = Annotated[float, Ge(0), Lt(1)]
Tied = Literal["all", "target", "none"]  # which embeddings and output tables are one

HEADS_OF_FOUR = AttentionSettings(num_heads=4)
PROJECTED_HEADS = AttentionSettings(num_heads=4, project=True)
