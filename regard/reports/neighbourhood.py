"""A picture of words that are near each other, through matplotlib (the extra `[plot]`)."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import ConfigError, RegardError
from regard.explain.pictures import plot_fonts
from regard.explain.tokens import visible_line
from regard.text.vector_table import Floats, VectorTable

KINDS = (".svg", ".png", ".pdf")


def check_plot(path: Path) -> None:
    """Raises RegardError, before anything is read, where no picture can be made."""
    if path.suffix.lower() not in KINDS:
        known = ", ".join(KINDS)
        raise ConfigError("--plot", f"there is no kind of picture '{path.suffix}'", f"a name that ends with {known}")
    _figure()


def neighbourhood(table: VectorTable, words: Sequence[str], *, kind: str) -> bytes:
    """Return a picture of words on the plane of their two main directions, the first word marked."""
    from matplotlib import rc_context

    places = on_a_plane(np.stack([table.vector(word) for word in words]))
    with rc_context({"font.family": plot_fonts(), "svg.fonttype": "none"}):
        figure = _figure()(figsize=(7, 6), dpi=150, layout="constrained")
        axes = figure.subplots()
        axes.scatter(*places.T, s=14, c=["#b45309", *["#4338ca"] * (len(words) - 1)])
        for word, (right, up) in zip(words, places, strict=True):
            told = {"xytext": (4, 4), "textcoords": "offset points", "parse_math": False}
            axes.annotate(visible_line(word), (right, up), fontsize=9, **told)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(0.15)
        file = io.BytesIO()
        figure.savefig(file, format=kind.removeprefix(".").lower())
    return file.getvalue()


def on_a_plane(vectors: Floats) -> Floats:
    """(word, dim) → (word, 2): the two directions of unit vectors that differ most, by principal components."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1)
    centred = units - units.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane: Floats = centred @ directions[:2].T
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RegardError("--plot needs matplotlib: pip install 'regard[plot]'") from error
    return Figure
