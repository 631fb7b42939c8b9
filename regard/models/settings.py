"""Settings that networks share, as the signatures of the rows of MODELS name them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.attention.recipes import RECIPES
from regard.config import FieldsOf, OneOrMany, PartOf
from regard.config.bounds import Fraction, Size
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS
from regard.layers.positions import POSITIONS
from regard.registry import Choice


@dataclass(frozen=True)
class AttentionSettings:
    """One socket and what is put into it."""

    score: Choice = Choice("scaled_dot")
    span: tuple[Choice, ...] = (Choice("everywhere"),)  # a key is seen if every span shows it
    weighting: Choice = Choice("softmax")
    num_heads: Size = 1
    project: bool | None = None  # project queries, keys and values; None: only when num_heads > 1
    bias: bool = True  # of the projections
    out_proj: bool = True  # join the heads by one more projection
    gate: bool = False  # multiply the context by sigmoid(w · query + b)
    dropout: Fraction = 0.0  # of the weights


SOCKET = FieldsOf(
    AttentionSettings,
    RECIPES.aliases(),
    RECIPES.resolve,
    RECIPES.instead,
    score=Annotated[Choice, PartOf(SCORES)],
    span=Annotated[tuple[Annotated[Choice, PartOf(SPANS)], ...], OneOrMany()],
    weighting=Annotated[Choice, PartOf(WEIGHTINGS)],
)
AttentionChoice = Annotated[AttentionSettings, SOCKET]
EmbedderChoice = Annotated[Choice, PartOf(EMBEDDERS)]
PositionChoice = Annotated[Choice, PartOf(POSITIONS)]
HeadChoice = Annotated[Choice, PartOf(HEADS)]
Tied = Literal["all", "target", "none"]  # which embeddings and output tables are one

HEADS_OF_FOUR = AttentionSettings(num_heads=4)
PROJECTED_HEADS = AttentionSettings(num_heads=4, project=True)
