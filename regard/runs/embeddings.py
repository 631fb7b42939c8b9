"""Words or documents of a trained model, with their vectors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch

from regard.errors import CheckpointError, ConfigError, PartError, nearest
from regard.layers.embedders import Embedder
from regard.models import Model
from regard.runs.run import Run
from regard.tasks import Task
from regard.text.vector_files import read_vectors
from regard.text.vector_table import VectorTable


class Embeddings(NamedTuple):
    """A table of words, and vectors of other words by their spelling."""

    table: VectorTable
    spelled: Callable[[str], VectorTable]  # a table with one more word, where its spelling gives it a vector


CHECKED = 10_000  # first rows of a file of vectors that are checked


def read_embeddings(path: Path, column: str | None = None) -> Embeddings:
    """Return the vectors of a run's embedder, for `column` or the first one, or of a file of vectors.

    Raises RegardError for a path that is neither, and for a model whose words have no vectors of their own.
    """
    if path.is_file():
        table = read_vectors(path)
        return Embeddings(table, lambda word: table)
    if not path.exists():
        raise CheckpointError(path, "there is no such run, and no such file of vectors")
    model, task, _ = Run.open(path).assembled()
    known = embedders_of(model, task)
    if not known:
        raise CheckpointError(path, "its model reads no text, so no word has a vector")
    if column is not None and column not in known:
        raise ConfigError("--column", f"this model has no vectors of '{column}'", nearest(column, known))
    embedder, names = next(iter(known.values())) if column is None else known[column]
    try:
        return _of_embedder(embedder, names)
    except PartError as error:
        raise CheckpointError(path, f"its {error}") from error


def embedders_of(model: Model, task: Task) -> Mapping[str, tuple[Embedder, Sequence[str]]]:
    """Return, by column, its embedder on the task's route, and the words or documents of its ids."""
    parts, found = model.parts(), dict[str, tuple[Embedder, Sequence[str]]]()
    inside = {id(module) for part in model.along(task.route) for module in part.modules()}
    for name, column in task.vocabularies.items():
        for module in parts.get(f"{name}_embedder", parts.get("embedder", ())):
            if id(module) in inside and (names := column.named()):
                found.setdefault(name, (cast(Embedder, module), names))
    return found


def fill_embedders(model: Model, tasks: Sequence[Task], say: Callable[[str], None], rows: int | None = None) -> None:
    """Initialise embedders from the vectors that their settings name, on each route of `tasks`.

    With `rows` only the first ones of a file are read, as a check: the model must then be discarded.
    Raises RegardError where vectors cannot be read, or do not fit.
    """

    def read(path: Path, words: Collection[str]) -> VectorTable:
        if not path.is_file():
            return read_embeddings(path).table
        return read_vectors(path, words) if rows is None else read_vectors(path, rows=rows)

    for embedder, words in dict(found for task in tasks for found in embedders_of(model, task).values()).items():
        try:
            message = embedder.take_words(words, read)
        except PartError as error:
            raise error.inside("model.embedder") from error
        if message:
            say(message)


@torch.no_grad()
def _of_embedder(embedder: Embedder, names: Sequence[str]) -> Embeddings:
    first = {name: number for number, name in reversed(list(enumerate(names))) if name}
    places = sorted(first.values())
    vectors = embedder.word_vectors(torch.tensor(places)).float().cpu().numpy()
    table = VectorTable([names[place] for place in places], vectors)

    def spelled(word: str) -> VectorTable:
        with torch.no_grad():
            vector = None if word in table else embedder.of_spelling(word)
        if vector is None:
            return table
        return VectorTable([*table.words, word], np.concatenate([table.vectors, vector.float().cpu().numpy()[None]]))

    return Embeddings(table, spelled)
