"""Nearest words: lines, and a plot through matplotlib (the extra `[plot]`)."""

from collections.abc import Sequence

import numpy as np

from regard.explain.pictures import plot_fonts
from regard.explain.tokens import visible_line
from regard.reports.report import Report, figure_bytes, new_figure
from regard.text.vector_table import Float32s, Neighbour, VectorTable


def neighbours_report(found: Sequence[Neighbour]) -> Report:
    """Report words with their cosines."""
    lines = "\n".join(f"{one.cosine:.4f}\t{one.word}" for one in found)
    return Report([], [one._asdict() for one in found], lines)


def nearest_report(table: VectorTable, word: str, count: int) -> Report:
    """Report the nearest words of a word, also as a plot on a plane."""
    found = table.nearest(word, count)
    shown = [word, *(one.word for one in found)]
    return neighbours_report(found)._replace(figure=lambda ending: neighbourhood(table, shown, kind=ending))


def neighbourhood(table: VectorTable, words: Sequence[str], *, kind: str) -> bytes:
    """Return a plot of words on the plane of their two main directions, the first word marked."""
    from matplotlib import rc_context

    places = on_a_plane(np.stack([table.vector(word) for word in words]))
    with rc_context({"font.family": plot_fonts(), "svg.fonttype": "none"}):
        figure = new_figure(7, 6)
        axes = figure.subplots()
        axes.scatter(*places.T, s=14, c=["#b45309", *["#4338ca"] * (len(words) - 1)])
        for word, (right, up) in zip(words, places, strict=True):
            style = {"xytext": (4, 4), "textcoords": "offset points", "parse_math": False}
            axes.annotate(visible_line(word), (right, up), fontsize=9, **style)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(0.15)
        return figure_bytes(figure, kind)


def on_a_plane(vectors: Float32s) -> Float32s:
    """(word, dim) → (word, 2): the two directions of unit vectors that differ most, by principal components."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1)
    centred = units - units.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane: Float32s = centred @ directions[:2].T
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))
