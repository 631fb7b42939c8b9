"""One source language, several target languages: a shared encoder, and a decoder for each language.

https://aclanthology.org/P15-1166: batches of one language alternate with those of another. A batch moves the encoder
and the decoder of its language alone.
"""

from regard.data.columns import Columns
from regard.models.settings import TranslatorSettings
from regard.models.translator import Languages, Translator, build_routes, check_codes


def one_to_many(columns: Columns, *, languages: Languages, shared: TranslatorSettings) -> Translator:
    """p(target | source, language): a shared encoder, and a decoder and a head for each of the `languages`.

    `tied` all shares one embedding matrix, so that languages differ only above the embeddings; with `tied` target each
    decoder has its own.
    """
    check_codes(languages)
    return build_routes(columns, shared, languages)
