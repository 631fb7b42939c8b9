"""Classification: one label of a closed set for a text."""

import sys
from abc import ABC
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal, cast

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.columns import Columns, TextColumn
from regard.data.streams import Stream, first_epoch
from regard.models import Model
from regard.models.classifier import Classifier
from regard.records import LABEL, TEXT
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.examples import Examples
from regard.tasks.label_task import LabelFiles, LabelTask
from regard.tasks.spec import Wording


class OneTextTask(LabelTask, ABC):
    """One text → an answer. A longer text is truncated to `max_pieces`, in training and in prediction."""

    def __init__(
        self,
        columns: Columns,
        *,
        max_pieces: Annotated[
            Size | None, Doc("Maximum number of pieces read; null: all, with the limit data.max_length.")
        ] = 400,
        prepend_bos: Annotated[
            bool, Doc("Prepend <s>, as masked language models do; the pooling `first` uses its state.")
        ] = False,
        keep: Annotated[Literal["first", "last"], Doc("Truncation of longer texts: pieces to keep.")] = "first",
    ) -> None:
        text = cast(TextColumn, columns[TEXT])
        super().__init__({**columns, TEXT: text.cut(max_pieces, from_end=keep == "last", begins=prepend_bos)})
        self.max_pieces = max_pieces

    def fit(self, model: Model, batches: Stream, examples: Examples | None, say: Callable[[str], None]) -> None:
        """Count the words of the training set, where the model starts from what naive Bayes makes of them."""
        if isinstance(model, Classifier) and model.naive_bayes_start:
            model.start_as_naive_bayes(first_epoch(batches))

    @property
    def filter(self) -> ExampleFilter:
        return ExampleFilter(self.vocabularies, lambda limit: limit if self.max_pieces is None else sys.maxsize)


class ClassificationTask(OneTextTask):
    """A text → one label."""

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text", LABEL: "label"}
    spec = LabelTask.spec._replace(
        wording=Wording(
            "texts", "words of the text", "classify texts", longer="read a part of each: task.max_pieces={limit}"
        ),
        defaults={
            **LabelTask.spec.defaults,
            "text": {"tokenizer": {"name": "uncased_words", "size": 20_000}},
            "model": {
                "dim": 128,
                "dropout": 0.5,
                "encoder": {"name": "recurrent", "cell": "gru", "hidden_dim": 64, "bidirectional": True},
                "pooling": "attention",
            },
            "training": {"learning_rate": 0.002, "patience": 6},
        },
        # a bag of words and word pairs: docs/results/understanding.md has the comparison
        default_network={
            "task": {"max_pieces": 1_000},
            "model": {
                "dim": 32,
                "dropout": 0.5,
                "naive_bayes_start": True,
                "position": None,
                "embedder": {"name": "word_ngrams", "order": 2, "buckets": 200_000, "std": 0.01, "ngram_std": 0.0},
                "encoder": "embeddings",
                "pooling": "mean",
            },
            "training": {
                "batch_tokens": None,
                "batch_sentences": 64,
                "optimizer": "lazy_adam",
                "learning_rate": 0.005,
                "schedule": {"name": "inverse_sqrt", "warmup": 50},
                "max_epochs": 20,
                "validate_every": 100,
                "keep_best": 3,  # halves the size on disk of a run with such a large table
                "average": 3,
            },
        },
    )
    files = LabelFiles(default=True)
