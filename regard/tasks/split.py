"""Which examples of a training part are held out, for want of parts of their own."""

from regard.data import Fold, HoldOut, Reader, Stretch
from regard.errors import ConfigError

Parts = tuple[Reader, Reader, Reader]  # what is learnt from, the dev part, the test part


class ScatteredSplit:
    """Examples that stand alone: they are held out from everywhere."""

    def apart(self, reader: Reader, dev: float, test: float) -> Parts:
        """Return what of a reader is learnt from, and dev and test parts of about these shares."""
        rest = HoldOut(reader, dev + test, held_out=False)
        return rest, HoldOut(reader, dev, held_out=True), HoldOut(reader, test, start=dev, held_out=True)

    def folded(self, reader: Reader, folds: int, fold: int, seed: int) -> tuple[Reader, Reader]:
        """Return all folds of a reader but one, and that one: see `Fold`. Raises ConfigError where it has no folds."""
        rest, held = (Fold(reader, folds, fold, seed, held_out=held_out) for held_out in (False, True))
        return rest, held


class LastLinesSplit(ScatteredSplit):
    """Lines that follow on each other: the last ones are held out, those of the test part at the very end."""

    def apart(self, reader: Reader, dev: float, test: float) -> Parts:
        borders = 1 - dev - test, 1 - test
        return Stretch(reader, 0.0, borders[0]), Stretch(reader, *borders), Stretch(reader, borders[1], 1.0)


class TextSplit(LastLinesSplit):
    """Lines of one text, which cannot be cut into folds."""

    def folded(self, reader: Reader, folds: int, fold: int, seed: int) -> tuple[Reader, Reader]:
        problem = "cuts examples that stand alone, and the lines of a text follow on each other"
        raise ConfigError("data.folds", problem, "data.test_share=0.1")


class LearntSplit(ScatteredSplit):
    """Examples that are all learnt from, so that each has a vector; shares of them are judged as well."""

    def apart(self, reader: Reader, dev: float, test: float) -> Parts:
        _, judged, tested = super().apart(reader, dev, test)
        return reader, judged, tested
