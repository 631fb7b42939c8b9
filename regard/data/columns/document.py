"""Document names: each document has a vector of its own."""

from collections.abc import Sequence

from regard.data.columns.label import LabelColumn


class DocumentColumn(LabelColumn):
    """A document by its number, in the alphabetical order of the names; lines of one name are one document."""

    what = "document"
    closed = False

    def rare(self) -> list[str]:
        """Return none: most documents have one line."""
        return []

    def named(self) -> Sequence[str]:
        return self.labels
