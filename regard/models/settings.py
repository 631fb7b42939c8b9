"""Settings that networks share, as the signatures of the rows of MODELS name them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.attention.recipes import RECIPES
from regard.config import Doc, FieldsOf, OneOrMany, PartOf
from regard.config.bounds import Fraction, Positive, Size
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS
from regard.layers.positions import POSITIONS
from regard.registry import Choice


@dataclass(frozen=True)
class AttentionSettings:
    """One socket and what is put into it."""

    score: Annotated[Choice, Doc("How well a query and a key match.")] = Choice("scaled_dot")
    span: Annotated[tuple[Choice, ...], Doc("What may be looked at; of several spans what all of them show.")] = (
        Choice("everywhere"),
    )
    weighting: Annotated[Choice, Doc("How scores become weights.")] = Choice("softmax")
    num_heads: Annotated[Size, Doc("Attentions side by side; they divide the width of the query.")] = 1
    project: Annotated[bool | None, Doc("Project queries, keys and values; null: only with several heads.")] = None
    bias: Annotated[bool, Doc("Add a bias to the projections.")] = True
    out_proj: Annotated[bool, Doc("Join several heads by one more projection.")] = True
    gate: Annotated[bool, Doc("Multiply the context by sigmoid(w · query + b).")] = False
    dropout: Annotated[Fraction, Doc("Share of the weights set to zero in training, at random.")] = 0.0


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
SelfAttention = Annotated[AttentionChoice, Doc("How a text looks at itself, in the parts that do so.")]
EmbedderChoice = Annotated[Choice, PartOf(EMBEDDERS), Doc("How pieces become vectors.")]
PositionChoice = Annotated[Choice, PartOf(POSITIONS)]
ModelDim = Annotated[Size, Doc("Width of the embeddings, and of the states of a transformer.")]
WordPosition = Annotated[
    PositionChoice | None, Doc("How places of words are told; null: not at all, as recurrent networks want it.")
]
HeadChoice = Annotated[Choice, PartOf(HEADS), Doc("What chooses a piece from a state of the decoder.")]
Tied = Annotated[
    Literal["all", "target", "none"],
    Doc("Tables that are one: source, target and output (all), target and output (target), or none."),
]
InitUniform = Annotated[
    Positive | None, Doc("Draw all matrices of weights from U(-a, a), a this number; null: each part draws its own.")
]

HEADS_OF_FOUR = AttentionSettings(num_heads=4)
PROJECTED_HEADS = AttentionSettings(num_heads=4, project=True)
