"""Filters of examples: selection and preparation for training, validation and evaluation."""

from collections.abc import Callable, Sequence

from regard.data.columns import Columns
from regard.data.examples import ColumnTexts
from regard.registry import Choice


class ExampleFilter:
    """Rules that select examples for training, validation and evaluation; `texts` are the values of one, by column."""

    def __init__(self, columns: Columns, most_ids: Callable[[int], int | None] = lambda limit: limit) -> None:
        """`columns` must have learnt the values; `most_ids` is the limit of ids of a training example.

        Its argument is data.max_length; None: no limit, and examples with an empty column are kept, too.
        """
        self.columns, self.most_ids = columns, most_ids

    def check_transforms(self, transforms: Sequence[Choice]) -> None:
        """Raise ConfigError where examples change between epochs and the model does not support that.

        `transforms` are those of the run; columns may sample as well.
        """

    def usable(self, texts: ColumnTexts) -> bool:
        """Return True for an example that is usable for training and validation."""
        return all(text.strip() for text in texts.values())

    def check(self, texts: ColumnTexts) -> None:
        """Raise DataError for an example without ids, such as one with a label that training has not seen."""
        for name, column in self.columns.items():
            if name in texts:
                column.check(texts[name])

    def learnt_from(self, texts: ColumnTexts) -> ColumnTexts | None:
        """Return a usable example for training, with one answer; None: training leaves it out, and counts it."""
        return texts

    def evaluated(self, texts: ColumnTexts) -> bool:
        """Return True for an example of a test set that is evaluated."""
        return True
