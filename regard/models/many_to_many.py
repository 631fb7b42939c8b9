"""Several source languages, several target languages: one network, told which language to write.

https://arxiv.org/abs/1611.04558 puts a token of the target language before the source. Here the end symbol of the
source tells it: a vector of the language is added to its embedding. So pieces and places stay those of the text, and a
new language needs no new piece.
"""

import torch
from torch import nn

from regard.config.common_settings import DropoutShare
from regard.data.columns import Columns
from regard.models.model import ROUTE
from regard.models.settings import (
    HEADS_OF_FOUR,
    PROJECTED_HEADS,
    EmbedderChoice,
    HeadChoice,
    ModelDim,
    SelfAttention,
    Tied,
    WordPosition,
)
from regard.models.translator import (
    DecoderOfTarget,
    EmbeddedEncoder,
    EncoderOfSource,
    Languages,
    Route,
    SourceAttention,
    Translator,
    TranslatorParts,
    build_routes,
    check_languages,
)
from regard.registry import Choice


def many_to_many(
    columns: Columns,
    *,
    languages: Languages,
    dim: ModelDim = 256,
    embedder: EmbedderChoice = Choice("words"),
    position: WordPosition = Choice("sinusoidal"),
    encoder: EncoderOfSource = Choice("transformer"),
    decoder: DecoderOfTarget = Choice("transformer"),
    attention: SourceAttention = HEADS_OF_FOUR,
    self_attention: SelfAttention = PROJECTED_HEADS,
    head: HeadChoice = Choice("linear"),
    dropout: DropoutShare = 0.1,
    tied: Tied = "all",
) -> Translator:
    """p(target | source, language): one encoder, decoder and head, and a vector for each of the `languages`.

    Of one language it is many to one.
    """
    check_languages(languages)
    parts = TranslatorParts(dim, embedder, position, encoder, decoder, attention, self_attention, head, dropout, tied)
    shared = build_routes(columns, parts, [ROUTE])
    reader = shared.encoders[ROUTE]
    encoders = {
        name: EmbeddedEncoder(reader.embedder, reader.encoder, nn.Parameter(torch.randn(reader.embedder.dim)))
        for name in languages
    }
    routes = {name: Route(name, ROUTE, ROUTE) for name in languages}
    return Translator(encoders, shared.decoders, shared.heads, {ROUTE: routes[languages[0]], **routes})
