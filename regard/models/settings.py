"""Settings that networks share, by their names in the signatures of the rows of MODELS.

Rows with many common settings take these as one value, `shared`; a config sets them one by one.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.attention.recipes import RECIPES
from regard.config import Doc, FieldsOf, Fixed, OneOrMany, PartOf, SharedSettings, Taken
from regard.config.bounds import Fraction, Positive, Size
from regard.config.common_settings import DropoutProbability
from regard.decoders import DecoderChoice
from regard.encoders import EncoderChoice
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS
from regard.layers.positions import POSITIONS
from regard.registry import Choice


@dataclass(frozen=True)
class AttentionSettings:
    """Settings of one attention and its parts."""

    score: Annotated[Choice, Doc("Score function between query and key.")] = Choice("scaled_dot")
    span: Annotated[tuple[Choice, ...], Doc("Attention span (mask or bias); several spans are intersected.")] = (
        Choice("everywhere"),
    )
    weighting: Annotated[Choice, Doc("Weighting function that turns scores into weights.")] = Choice("softmax")
    num_heads: Annotated[Size, Doc("Number of attention heads; they split the width of the query.")] = 1
    head_dim: Annotated[Size | None, Doc("Width of a head; null: the width of the query / num_heads.")] = None
    project: Annotated[bool | None, Doc("Project queries, keys and values; null: only with several heads.")] = None
    bias: Annotated[bool, Doc("Add a bias to the projections.")] = True
    out_proj: Annotated[bool, Doc("Output projection of the concatenated heads.")] = True
    gate: Annotated[bool, Doc("Output gate: multiply the context by sigmoid(w · query + b).")] = False
    dropout: Annotated[Fraction, Doc("Dropout probability of the attention weights.")] = 0.0


SOCKET_FIELDS = FieldsOf(
    AttentionSettings,
    RECIPES.aliases(),
    RECIPES.resolve,
    RECIPES.instead,
    score=Annotated[Choice, PartOf(SCORES)],
    span=Annotated[tuple[Annotated[Choice, PartOf(SPANS)], ...], OneOrMany()],
    weighting=Annotated[Choice, PartOf(WEIGHTINGS)],
)
AttentionChoice = Annotated[AttentionSettings, SOCKET_FIELDS]
SelfAttention = Annotated[AttentionChoice, Doc("Self-attention of a text, in the parts that use it."), Taken()]
EmbedderChoice = Annotated[Choice, PartOf(EMBEDDERS), Doc("Embedding of pieces."), Taken()]
PositionChoice = Annotated[Choice, PartOf(POSITIONS)]
ModelDim = Annotated[Size, Doc("Width of the embeddings, and of a transformer's states."), Taken()]
WordPosition = Annotated[
    PositionChoice | None,
    Doc("Positional encoding; null: none, as recurrent networks need."),
    Taken(),
]
HeadChoice = Annotated[Choice, PartOf(HEADS), Doc("Output layer over the vocabulary.")]
Tied = Annotated[
    Literal["all", "target", "none"],
    Doc("Weight tying: share source, target and output embeddings (all), target and output (target), or none."),
]
TiedText = Annotated[Tied, Doc("Weight tying: share embeddings and output (all or target), or none.")]
InitUniform = Annotated[
    Positive | None,
    Doc("Uniform initialisation: sample all weight matrices from U(-a, a); null: each part's own."),
    Fixed(),
]

HEADS_OF_FOUR = AttentionSettings(num_heads=4)
PROJECTED_HEADS = AttentionSettings(num_heads=4, project=True)

EncoderOfSource = Annotated[EncoderChoice, Doc("Encoder of the source."), Taken()]
DecoderOfTarget = Annotated[DecoderChoice, Doc("Decoder of the target."), Taken()]
SourceAttention = Annotated[AttentionChoice, Doc("Attention of the decoder over the encoder states.")]


@dataclass(frozen=True)
class TranslatorSettings(SharedSettings):
    """Settings of rows that translate a source, into one language or several, in one pass or two."""

    dim: ModelDim = 256
    embedder: EmbedderChoice = Choice("words")
    position: WordPosition = Choice("sinusoidal")
    encoder: EncoderOfSource = Choice("transformer")
    decoder: DecoderOfTarget = Choice("transformer")
    attention: SourceAttention = HEADS_OF_FOUR
    self_attention: SelfAttention = PROJECTED_HEADS
    head: HeadChoice = Choice("linear")
    dropout: Annotated[DropoutProbability, Taken()] = 0.1
    tied: Tied = "all"


@dataclass(frozen=True)
class ReadingSettings(SharedSettings):
    """Settings of rows that read texts with an embedder and an encoder."""

    dim: ModelDim = 256
    embedder: EmbedderChoice = Choice("words")
    position: WordPosition = Choice("sinusoidal")
    encoder: EncoderOfSource = Choice("transformer")
    self_attention: SelfAttention = PROJECTED_HEADS
    dropout: DropoutProbability = 0.1
    init_uniform: InitUniform = None


@dataclass(frozen=True)
class ReadingOfPair(ReadingSettings):
    """Settings of rows that encode two texts jointly."""

    embedder: EmbedderChoice = Choice("segments")
    position: WordPosition = Choice("learned")
    encoder: Annotated[EncoderChoice, Doc("Joint encoder of both texts.")] = Choice("transformer")


@dataclass(frozen=True)
class LanguageModelSettings(SharedSettings):
    """Settings of rows that read and generate text from left to right."""

    dim: ModelDim = 256
    embedder: EmbedderChoice = Choice("words")
    position: WordPosition = Choice("sinusoidal")
    decoder: Annotated[DecoderChoice, Doc("Decoder of the text.")] = Choice("transformer")
    self_attention: SelfAttention = PROJECTED_HEADS
    head: HeadChoice = Choice("linear")
    dropout: DropoutProbability = 0.1
    tied: TiedText = "all"
    init_uniform: InitUniform = None
