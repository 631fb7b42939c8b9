"""Cold fusion: a translator that learns to use a language model (https://arxiv.org/abs/1708.06426)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.config import Before, Doc
from regard.data.columns import Columns
from regard.decoders import DECODERS, DecoderChoice
from regard.decoders.decoder import Decoder, DecoderState
from regard.errors import PartError
from regard.layers.embedders.embedder import Embedder
from regard.models.build import build_embedder, build_sockets
from regard.models.model import ROUTE
from regard.models.settings import HEADS_OF_FOUR, TranslatorSettings
from regard.models.translator import Translator, build_routes
from regard.ops.linear import Linear
from regard.records import Decoded, Encoded
from regard.registry import Choice


class Heard(NamedTuple):
    """States of a translator's embedder and of a language model after the same words."""

    words: Any  # past of the translator's embedder
    text: DecoderState  # of the language model


class ListeningEmbedder(Embedder):
    """[vectors of a translator's embedder; states of a language model after the same words]."""

    def __init__(self, embedder: Embedder, language_model: Decoder) -> None:
        super().__init__()
        self.embedder, self.language_model = embedder, language_model
        self.dim, self.dropout = embedder.dim + language_model.dim, embedder.dropout
        lengths = [one for one in (embedder.max_length, language_model.embedder.max_length) if one is not None]
        self.max_length = min(lengths, default=None)

    def forward(self, ids: Tensor, past: Heard | None = None) -> tuple[Tensor, Heard]:
        vectors, words = self.embedder(ids, None if past is None else past.words)
        rows = torch.arange(len(ids), device=ids.device)
        text = self.language_model.start(rows=rows) if past is None else past.text
        read, text = self.language_model(ids, text)
        return torch.cat([vectors, read.states], dim=-1), Heard(words, text)


class FusedDecoder(Decoder):
    """s + g ∘ l, l = W h + c, g = σ(V [s; l] + b): s are the states of a decoder, h those of a language model.

    The gate has one number per feature. The paper uses the logits of the language model in place of h, and one more
    layer over [s; g ∘ l]. With g = 0 the states are those of the decoder.
    """

    embedder: ListeningEmbedder

    def __init__(self, decoder: Decoder, language_model: Decoder) -> None:
        super().__init__()
        self.decoder, self.dim, self.masked = decoder, decoder.dim, decoder.masked
        self.embedder = ListeningEmbedder(decoder.embedder, language_model)
        self.projection, self.gate = Linear(language_model.dim, self.dim), Linear(2 * self.dim, self.dim)

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        reader = self.embedder.language_model
        return {"embedder": [reader.embedder], "target_embedder": [reader.embedder], "decoder": [reader]}

    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        return self.decoder.begin(seen, rows)

    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        own, heard = vectors.split([self.decoder.embedder.dim, self.embedder.language_model.dim], dim=-1)
        decoded, after = self.decoder.advance(own, mask, state, need_weights)
        projected = self.projection(heard)
        gate = self.gate(torch.cat([decoded.states, projected], dim=-1)).sigmoid()
        return decoded._replace(states=decoded.states + gate * projected), after


def cold_fusion(
    columns: Columns,
    *,
    shared: TranslatorSettings,
    language_model: Annotated[
        DecoderChoice, Doc("Decoder of the language model: `model.decoder` of its run."), Before("attention")
    ] = Choice("transformer"),
) -> Translator:
    """p(target | source) by a translator whose states are combined with those of a language model by a gate.

    `init` takes the parts `embedder` and `decoder` of a run of a `language_model`, and `init.frozen` freezes them;
    both share width, embedder, position and self-attention.
    """
    plain = build_routes(columns, shared, [ROUTE])
    reads = build_embedder(shared.embedder, shared.position, len(columns["target"]), shared.dim, shared.dropout)
    sockets = build_sockets(HEADS_OF_FOUR, shared.self_attention)
    given = {"dropout": shared.dropout}
    reader = DECODERS.build(language_model, reads, None, sockets, given=given, place="language_model")
    if reader.masked:
        problem = f"the layers of '{language_model.name}' depend on other rows, padding included"
        raise PartError(problem, "another decoder, or another normalisation of its layers", setting="language_model")
    decoders = {ROUTE: FusedDecoder(plain.decoders[ROUTE], reader)}
    return Translator(plain.encoders, decoders, plain.heads, plain.routes)
