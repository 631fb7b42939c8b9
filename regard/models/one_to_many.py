"""One source language, several target languages: a shared encoder, and a decoder for each language.

https://aclanthology.org/P15-1166: batches of one language alternate with those of another. A batch moves the encoder
and the decoder of its language alone.
"""

from regard.data.columns import Columns
from regard.models.settings import TranslatorSettings
from regard.models.translator import (
    Languages,
    Translator,
    build_routes,
    check_codes,
)


def one_to_many(columns: Columns, *, languages: Languages, shared: TranslatorSettings) -> Translator:
    """p(target | source, language): an encoder that all `languages` share, and a decoder and a head for each of them.

    `tied` all makes one table of all languages, so that only what is above the embeddings is a language's own; with
    `tied` target each decoder has a table of its own.
    """
    check_codes(languages)
    return build_routes(columns, shared, languages)
