"""The words that a trained model knows, with their vectors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch

from regard.data.columns import Columns
from regard.errors import CheckpointError, ConfigError, PartError, nearest
from regard.layers.embedders import Embedder
from regard.models import Model
from regard.pieces import SPECIALS, byte_of
from regard.runs.assembly import assemble
from regard.runs.folder import RunFolder
from regard.text import Tokenizer
from regard.text.vector_table import VectorTable
from regard.text.word2vec_format import read_word2vec


class Embeddings(NamedTuple):
    """A table of words, and what else has a vector."""

    table: VectorTable
    spelled: Callable[[str], VectorTable]  # a table with one word more, where its spelling gives it a vector


def read_embeddings(path: Path, column: str | None = None) -> Embeddings:
    """Return the vectors of a run's embedder, that of `column` or of the first text, or of a file of word2vec's.

    Raises RegardError for what is neither, and for a model whose words have no vectors of their own.
    """
    if path.is_file():
        table = read_word2vec(path)
        return Embeddings(table, lambda word: table)
    model, task, _ = assemble(RunFolder(path))
    known = embedders_of(model, task.vocabularies)
    if not known:
        raise CheckpointError(path, "its model reads no text, so no word has a vector")
    if column is not None and column not in known:
        raise ConfigError("--column", f"this model reads no text '{column}'", nearest(column, known))
    embedder, tokenizer = next(iter(known.values())) if column is None else known[column]
    try:
        return _of_embedder(embedder, tokenizer)
    except PartError as error:
        raise CheckpointError(path, f"its {error}") from error


def embedders_of(model: Model, columns: Columns) -> Mapping[str, tuple[Embedder, Tokenizer]]:
    """Return, by column of text, the embedder that reads it and what cuts it into the words that have vectors."""
    parts, found = model.parts(), dict[str, tuple[Embedder, Tokenizer]]()
    for name, column in columns.items():
        for module in parts.get(f"{name}_embedder", parts.get("embedder", ())):
            if column.tokenizer is not None:
                found.setdefault(name, (cast(Embedder, module), column.tokenizer))
    return found


def fill_embedders(model: Model, columns: Columns, say: Callable[[str], None]) -> None:
    """Start embedders from the vectors that their settings name. Raises ConfigError where these do not fit."""
    for embedder, tokenizer in dict(embedders_of(model, columns).values()).items():
        try:
            told = embedder.take_words(spelled_words(tokenizer), lambda path: read_embeddings(path).table)
        except PartError as error:
            raise error.inside("model.embedder") from error
        if told:
            say(told)


def spelled_words(tokenizer: Tokenizer) -> list[str]:
    """Return the word of each id as texts have it; "" for specials, bytes and mere spaces."""
    pieces = tokenizer.pieces(range(len(tokenizer)))
    return ["" if one in SPECIALS or byte_of(one) is not None else one.strip(" ▁\t\n\r") for one in pieces]


@torch.no_grad()
def _of_embedder(embedder: Embedder, tokenizer: Tokenizer) -> Embeddings:
    words = spelled_words(tokenizer)
    first = {
        word: number for number, word in reversed(list(enumerate(words))) if word and not any(map(str.isspace, word))
    }
    places = sorted(first.values())
    vectors = embedder.word_vectors(torch.tensor(places)).float().cpu().numpy()
    table = VectorTable([words[place] for place in places], vectors)

    def spelled(word: str) -> VectorTable:
        with torch.no_grad():
            vector = None if word in table else embedder.of_spelling(word)
        if vector is None:
            return table
        return VectorTable([*table.words, word], np.concatenate([table.vectors, vector.float().cpu().numpy()[None]]))

    return Embeddings(table, spelled)
