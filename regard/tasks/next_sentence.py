"""Next sentence prediction with masked pieces: does a sentence follow another one?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import torch

from regard.config import Doc
from regard.config.bounds import Ratio
from regard.data.columns import Columns, TextColumn
from regard.data.columns.masked_text import mask_of
from regard.data.readers.next_sentence import cycle_of
from regard.data.transforms import LineSeeds, Transform
from regard.data.transforms.masking import Masking
from regard.models.next_sentence import FILLED, NextSentenceModel
from regard.pieces import PAD
from regard.records import FIRST, LABEL, SECOND, Batch
from regard.tasks.example_texts import Ids
from regard.tasks.label_task import LabelFiles, LabelTask
from regard.tasks.masked_language_model import MaskedLanguageModelTask, MaskedTask
from regard.tasks.spec import Wording


class MaskingOfPairs(Transform):
    """Masks both texts of each pair; the label counts as one more piece."""

    def __init__(self, masks: Sequence[Masking]) -> None:
        self.masks = tuple(masks)

    def __call__(self, batch: Batch, draws: LineSeeds) -> Batch:
        """Return the batch with masked texts, and the pieces to predict in the columns FILLED."""
        count = len(batch.lines)
        read = 0
        for number, mask in enumerate(self.masks):
            batch = mask(batch, draws._replace(stage=draws.stage + number))
            count, read = count + batch.count, read + (batch.read or 0)
        return batch._replace(count=count, read=read)


class DocumentFiles(LabelFiles):
    """Plain texts whose documents are separated by empty lines."""

    def parts_of_text(self, columns: Sequence[str], file: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the settings that read a text. Raises DataError for too few documents."""
        path = Path(file).expanduser()
        every = {"every": cycle_of(path)} if path.is_file() else {}
        return {
            part: {"name": "next_sentence", "file": file, "part": part, **every} for part in ("train", "dev", "test")
        }


class NextSentenceTask(MaskedTask, LabelTask):
    """Two sentences → does the second follow the first? In training, masked pieces of both are predicted as well."""

    aliases = "nsp, next_sentence_prediction, 下一句预测"
    files = DocumentFiles()

    columns: ClassVar[Mapping[str, str]] = {FIRST: "masked_text", SECOND: "masked_text", LABEL: "label"}
    spec = LabelTask.spec._replace(
        model="next_sentence",
        contract=NextSentenceModel,
        wording=Wording("pairs", "words of the first sentence", "classify pairs"),
        starts=MaskedLanguageModelTask.spec.starts,
        defaults={
            **LabelTask.spec.defaults,
            "text": {"shared": True},
            "model": {"position": "learned", "encoder": {"feedforward": "gelu"}, "dropout": 0.1},
        },
    )

    def __init__(
        self,
        columns: Columns,
        *,
        mask_probability: Annotated[Ratio, Doc("Masking probability of a piece, sampled again in each epoch.")] = 0.15,
    ) -> None:
        super().__init__(columns)
        mask = mask_of(cast(TextColumn, columns[FIRST]))
        self._masking = MaskingOfPairs(
            [
                Masking(name, mask, probability=mask_probability, masked=0.8, random=0.1, answers=filled)
                for name, filled in FILLED.items()
            ]
        )

    def batch(self, rows: Sequence[Ids]) -> Batch:
        made = super().batch(rows)
        empty = {filled: torch.full_like(made.sequences(name).items, PAD) for name, filled in FILLED.items()}
        return made._replace(columns={**made.columns, **empty})
