"""Many-to-many multilingual translation: one network, conditioned on the target language.

https://arxiv.org/abs/1611.04558 puts a token of the target language before the source. Here a vector of the language is
added to the embedding of the source's end symbol. So pieces and places stay those of the text, and a new language needs
no new piece.
"""

import torch
from torch import nn

from regard.data.columns import Columns
from regard.models.model import ROUTE
from regard.models.settings import TranslatorSettings
from regard.models.translator import EmbeddedEncoder, Languages, Route, Translator, build_routes, check_codes


def many_to_many(columns: Columns, *, languages: Languages, shared: TranslatorSettings) -> Translator:
    """p(target | source, language): one encoder, decoder and head, and a vector for each of the `languages`.

    With one language it is many-to-one.
    """
    check_codes(languages)
    one = build_routes(columns, shared, [ROUTE])
    reader = one.encoders[ROUTE]
    encoders = {
        name: EmbeddedEncoder(reader.embedder, reader.encoder, nn.Parameter(torch.randn(reader.embedder.dim)))
        for name in languages
    }
    routes = {name: Route(name, ROUTE, ROUTE) for name in languages}
    return Translator(encoders, one.decoders, one.heads, {ROUTE: routes[languages[0]], **routes})
