"""Pairs: one label of a closed set for two texts, such as entailment."""

from collections.abc import Mapping
from typing import ClassVar

from regard.data.examples import ColumnTexts
from regard.errors import DataError
from regard.records import FIRST, LABEL, SECOND
from regard.tasks.label_task import LabelTask, LabelTexts
from regard.tasks.spec import Wording


class PairTexts(LabelTexts):
    """Two texts to compare."""

    def given(self, text: str) -> ColumnTexts:
        """Return both texts of a line. Raises DataError where one is empty: nothing to compare."""
        example = super().given(text)
        for number, (name, value) in enumerate(example.items(), start=1):
            if not value.strip():
                raise DataError("text", f"has an empty field {number}, the {name} text", hint="first, a tab, second")
        return example


class PairsTask(LabelTask):
    """Two texts → one label. To predict, a line is both texts, tab-separated."""

    columns: ClassVar[Mapping[str, str]] = {FIRST: "text", SECOND: "text", LABEL: "label"}
    spec = LabelTask.spec._replace(
        model="pair_classifier",
        texts=PairTexts,
        wording=Wording("pairs", "words of the first text", "classify pairs"),
        defaults={
            **LabelTask.spec.defaults,
            "text": {"shared": True, "tokenizer": {"name": "words", "size": 20_000}},
            "model": {
                "dim": 200,
                "dropout": 0.2,
                "embedder": {"name": "words", "scale": False},
                "encoder": {"name": "recurrent", "cell": "lstm", "hidden_dim": 100, "bidirectional": True},
                "comparison": {"name": "siamese", "pooling": "max"},
            },
            "training": {"learning_rate": 0.002, "patience": 6},
        },
    )
