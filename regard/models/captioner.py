"""Image captioning: a decoder attends to the cells of a grid (https://arxiv.org/abs/1502.03044)."""

from typing import Annotated, Any, cast

from torch import Tensor, nn

from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.data.columns import Columns
from regard.data.columns.numbers import NumbersColumn
from regard.decoders import DECODERS, DecoderChoice
from regard.encoders import ENCODERS, EncoderChoice
from regard.errors import PartError
from regard.heads import HEADS
from regard.layers.embedders.embedder import Embedder
from regard.layers.positions import POSITIONS
from regard.layers.positions.position import Position
from regard.models.build import build_embedder, build_sockets
from regard.models.model import ROUTE
from regard.models.settings import (
    HEADS_OF_FOUR,
    PROJECTED_HEADS,
    AttentionChoice,
    EmbedderChoice,
    HeadChoice,
    PositionChoice,
    WordPosition,
)
from regard.models.translator import EmbeddedEncoder, Route, Translator
from regard.ops.dropout import Dropout
from regard.registry import Choice


class CellEmbedder(Embedder):
    """W x_i + b + PE(i) of cells x_i, then dropout. Without positions a grid is a set of cells."""

    def __init__(self, width: int, dim: int, position: Position | None = None, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dim, self.position = dim, position
        most = None if position is None else position.max_length
        self.max_length = None if most is None else most * width + 1  # in numbers; other sequences have an end, too
        self.enter, self.dropout = nn.Linear(width, dim), Dropout(dropout)

    def forward(self, ids: Tensor, past: Any = None) -> tuple[Tensor, None]:
        """Numbers (batch, n, width), all cells at once → vectors (batch, n, dim)."""
        vectors = self.enter(ids.to(self.enter.weight))
        if self.position is not None:
            vectors = vectors + self.position(0, ids.shape[1]).to(vectors)
        return self.dropout(vectors), None


def captioner(
    columns: Columns,
    *,
    dim: Annotated[Size, Doc("Width of the embeddings of cells and words.")] = 128,
    places: Annotated[
        PositionChoice | None, Doc("Positional encoding of cells, row by row; null: none, a grid is a set.")
    ] = Choice("learned"),
    encoder: Annotated[EncoderChoice, Doc("Encoder of the cells.")] = Choice("embeddings"),
    embedder: EmbedderChoice = Choice("words"),
    position: WordPosition = None,
    decoder: Annotated[DecoderChoice, Doc("Decoder of the caption.")] = Choice("recurrent", {"cell": Choice("lstm")}),
    attention: Annotated[AttentionChoice, Doc("Attention of the decoder over the encoder states.")] = HEADS_OF_FOUR,
    self_attention: Annotated[
        AttentionChoice, Doc("Self-attention of cells and of words, in the parts that use it.")
    ] = PROJECTED_HEADS,
    head: HeadChoice = Choice("linear"),
    dropout: DropoutProbability = 0.0,
) -> Translator:
    """p(caption | cells): a translator whose source are the cells of a grid."""
    cells = cast(NumbersColumn, columns["source"])
    sockets = build_sockets(attention, self_attention)
    reads = CellEmbedder(cells.width, dim, None if places is None else POSITIONS.build(places, dim), dropout=dropout)
    writes = build_embedder(embedder, position, len(columns["target"]), dim, dropout)
    encodes = ENCODERS.build(encoder, dim, sockets, given={"dropout": dropout})
    decodes = DECODERS.build(decoder, writes, encodes.dim, sockets, given={"dropout": dropout})
    chooses = HEADS.build(head, decodes.dim, len(columns["target"]), None)
    if chooses.copies:
        raise PartError(f"'{head.name}' copies words, and a grid has none", "model.head=linear", setting="head")
    route = {ROUTE: Route(ROUTE, ROUTE, ROUTE)}
    return Translator({ROUTE: EmbeddedEncoder(reads, encodes)}, {ROUTE: decodes}, {ROUTE: chooses}, route)
