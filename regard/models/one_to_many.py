"""One source language, several target languages: a shared encoder, and a decoder for each language.

https://aclanthology.org/P15-1166: batches of one language alternate with those of another. A batch moves the encoder
and the decoder of its language alone.
"""

from regard.config.common_settings import DropoutShare
from regard.data.columns import Columns
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
    EncoderOfSource,
    Languages,
    SourceAttention,
    Translator,
    TranslatorParts,
    build_routes,
    check_languages,
)
from regard.registry import Choice


def one_to_many(
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
    """p(target | source, language): an encoder that all `languages` share, and a decoder and a head for each of them.

    `tied` all makes one table of all languages, so that only what is above the embeddings is a language's own; with
    `tied` target each decoder has a table of its own.
    """
    check_languages(languages)
    parts = TranslatorParts(dim, embedder, position, encoder, decoder, attention, self_attention, head, dropout, tied)
    return build_routes(columns, parts, languages)
