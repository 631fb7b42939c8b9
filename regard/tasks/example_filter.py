"""Filters of examples: which of them a task learns from, validates with and judges, and as what."""

from collections.abc import Callable, Sequence

from regard.data.columns import Columns
from regard.data.examples import ColumnTexts
from regard.registry import Choice


class ExampleFilter:
    """Rules of which examples are learnt from, validated with and judged; `texts` are the values of one, by column."""

    def __init__(self, columns: Columns, most_ids: Callable[[int], int | None] = lambda limit: limit) -> None:
        """`columns` have to know what stands in them; `most_ids` is of an example that is learnt from.

        It is given data.max_length; None: any number, and examples with an empty column are kept, too.
        """
        self.columns, self.most_ids = columns, most_ids

    def check_transforms(self, transforms: Sequence[Choice]) -> None:
        """Raise ConfigError where training would read an example anew in each epoch, and the model cannot have it so.

        `transforms` are those of the run, beside whatever the columns draw.
        """

    def usable(self, texts: ColumnTexts) -> bool:
        """Return True for an example that can be learnt from and validated with."""
        return all(text.strip() for text in texts.values())

    def check(self, texts: ColumnTexts) -> None:
        """Raise DataError for an example that has no ids, as of a label that training has not seen."""
        for name, column in self.columns.items():
            if name in texts:
                column.check(texts[name])

    def learnt_from(self, texts: ColumnTexts) -> ColumnTexts | None:
        """Return a usable example as training has it, with one answer; None: training leaves it out, and counts it."""
        return texts

    def judged(self, texts: ColumnTexts) -> bool:
        """Return True for an example of a test part that is judged."""
        return True
