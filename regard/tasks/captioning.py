"""Captioning: the cells of a grid → a text."""

from collections.abc import Mapping
from math import isqrt
from typing import ClassVar, cast

from regard.answers.text import CaptionAnswer
from regard.attention import recording
from regard.data.columns import Columns, TextColumn
from regard.data.columns.numbers import NumbersColumn, fixed
from regard.decoding import Answering, Engine, forced
from regard.explain.alignment import align
from regard.explain.maps import attention_maps
from regard.models import Generator, Model
from regard.pieces import END
from regard.records import Batch
from regard.results import Explanation, Prediction
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import NumbersTexts
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.tasks.text_predictions import rows_of, text_prediction


class CaptioningTask(Task):
    """A grid, one row of numbers per cell, row by row (`0.31 1; -0.5 0`) → its caption."""

    aliases = "image_captioning, 图像描述, 图像字幕"

    columns: ClassVar[Mapping[str, str]] = {"source": "numbers", "target": "text"}
    spec = TaskSpec(
        "captioner",
        "exact_match",
        validates=("exact_match", "bleu"),
        texts=NumbersTexts,
        wording=Wording("grids", "cells of the grid", "write captions"),
        defaults={"evaluation": {"metrics": ["exact_match", "bleu"]}, "decoding": {"max_source": 100_000}},
    )
    answer = CaptionAnswer()

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        self.cells, self.caption = cast(NumbersColumn, columns["source"]), cast(TextColumn, columns["target"])

    @property
    def filter(self) -> ExampleFilter:
        return ExampleFilter(self.vocabularies, lambda limit: limit * self.cells.width)

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        pairs = zip(self._texts(batch), cast(Engine, model).answer(batch), strict=True)
        return [text_prediction(text, ranked, self.caption) for text, ranked in pairs]

    def force(self, model: Model, batch: Batch) -> list[Prediction]:
        pairs = zip(self._texts(batch), forced(cast(Generator, model), batch), strict=True)
        return [text_prediction(text, [found], self.caption) for text, found in pairs]

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the attention weights of each caption word over the cells, in one forced pass."""
        with recording(model) as records:
            decoded, _ = cast(Generator, model).decode(batch, need_weights=True)
        counts, found = batch.sequences("source").mask.sum(dim=-1).tolist(), list[Explanation]()
        for row, (cells, ids) in enumerate(zip(counts, rows_of(batch.sequences("target")), strict=True)):
            weights = [] if decoded.weights is None else decoded.weights[row, : len(ids), :cells].float().tolist()
            maps = attention_maps(records, row, {"source": cells, "target": len(ids)})
            words = [*self.caption.pieces(ids[:-1]), END]
            found.append(Explanation.of_text(cell_names(cells), words, align(weights[:-1]), weights, maps))
        return found

    def _texts(self, batch: Batch) -> list[str]:
        items, mask = batch.sequences("source")
        rows = zip(items.double().cpu().numpy(), mask.cpu().numpy(), strict=True)
        return [self.cells.decode(fixed(numbers[shown])) for numbers, shown in rows]


def cell_names(cells: int) -> list[str]:
    """Return a name for each cell: row and column of a square grid, `2,3`, counted from 1; else its number."""
    side = isqrt(cells)
    if side * side != cells:
        return [str(cell + 1) for cell in range(cells)]
    return [f"{row + 1},{column + 1}" for row in range(side) for column in range(side)]
