"""The contract of answers: the prediction of one kind, its metrics and its display."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from regard.errors import ConfigError
from regard.evaluation import METRICS
from regard.evaluation.confusion import Confusion
from regard.results import Prediction

if TYPE_CHECKING:  # a server reads answers without torch, and prints none
    from rich.console import RenderableType

    from regard.answers.label import LabelRanking
    from regard.data.columns import Column, TextColumn
    from regard.results import Explanation

_P = TypeVar("_P", bound=Prediction)


class AnswerThreshold(ABC, Generic[_P]):
    """A probability above which an answer is given; it can be tuned."""

    usual = 0.5

    def check(self, column: "Column", place: str) -> None:
        """Raise ConfigError where it does not decide the answers of a column."""

    @abstractmethod
    def compared(self, prediction: _P) -> Sequence[float]:
        """Return the probabilities that are compared with it; none where it does not decide."""

    @abstractmethod
    def decided(self, prediction: _P, threshold: float = usual) -> _P:
        """Return the answer at a threshold, whatever decided before."""


class Answer(ABC, Generic[_P]):
    """A kind of answer. A row of ANSWERS; it keeps nothing.

    Its items are the pieces of a text, the tags, the label: each is right or not, which a calibration learns from.
    """

    name: ClassVar[str]  # of the row
    form: ClassVar[str]  # as metrics, readers and the API say it: "text" of all that is written
    records: ClassVar[tuple[type[Prediction], ...]] = ()  # the predictions that only answers of this kind are
    items: ClassVar[str] = ""  # what its items are called; "": none of it is right or wrong by itself
    calibration: ClassVar[str] = "platt"  # row of CALIBRATIONS: an item is right or not, and which more often?
    written: ClassVar[bool] = False  # by a search, which may find several
    threshold: ClassVar[AnswerThreshold[Any] | None] = None  # None: none decides what the answer is
    ranking: ClassVar["LabelRanking | None"] = None  # of all labels that an answer is one of; None: of no closed set

    def metrics(self) -> list[str]:
        """Return the rows of METRICS that score it."""
        rows: dict[str, Any] = {name: METRICS[name] for name in METRICS}
        return [name for name, row in rows.items() if row.answer_kind == self.form]

    def counted(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Return the columns whose tokens count for speeds: the last, which is the answer."""
        return (*columns,)[-1:]

    def references(self, text: str) -> list[str]:
        """Return the right answers that an example has, given its last column."""
        return [text]

    def empty(self, columns: Sequence[str], line: str) -> Prediction | None:
        """Return the answer of nothing to a line, tabs between its columns, of which one is empty; None for others."""
        values = line.split("\t") if len(columns) > 1 else [line]
        empty = next((name for name, value in zip(columns, values, strict=False) if not value.strip()), None)
        if empty is None:
            return None
        return Prediction(line, "", 0.0, finished=False, warning=f"its {empty} is empty: it has no answer")

    def check_search(self, option: str) -> None:
        """Raise ConfigError for an option of a search where none writes answers."""
        if not self.written:
            hint = "--json prints probabilities" if self.items else "leave it out"
            raise ConfigError(option, "chooses among texts, and this model writes none", hint)

    def check_n_best(self, count: int, known: int, option: str) -> None:
        """Raise ConfigError for an option that asks for more answers than there are; `known`: size of the column."""
        if self.ranking is None:
            self.check_search(option)
        elif count > known:
            raise ConfigError(option, f"is {count:,}, and the model has {known:,} labels", f"at most {known}")

    def checked_threshold(self, column: "Column", place: str) -> AnswerThreshold[Any]:
        """Return the threshold. Raises ConfigError where none decides on answers of a column."""
        if self.threshold is None:
            raise ConfigError(place, "has no effect: no threshold decides the answers of this model", "leave it out")
        self.threshold.check(column, place)
        return self.threshold

    def can_show(self, column: "Column") -> bool:
        """Return whether a column keeps what answers are made of, or shown with."""
        return True

    def choices(self, prediction: _P) -> list[list[float]]:
        """Return the probabilities (item, choice) of an answer that a calibration mends.

        By default of two choices: what an item of the answer has, and what all others have together.
        """
        return [[one, 1 - one] for one in prediction.item_probabilities()]

    def recalibrated(self, prediction: _P, probabilities: Sequence[Sequence[float]]) -> _P:
        """Return a prediction with others (item, choice) in place of its `choices`; the answer stays what it is."""
        return replace(prediction, confidences=[one[0] for one in probabilities])

    def correct_items(self, prediction: _P, right: str, column: "TextColumn") -> list[bool]:
        """Return which items of an answer are right, given the right one, which stands in `column`.

        Raises ConfigError where none can be.
        """
        raise ConfigError("task", "has no items that are right or wrong", "use another run")

    def right_choices(self, prediction: _P, right: str, column: "TextColumn") -> list[int]:
        """Return which of the `choices` of each item is right; nothing where the right answer is not among them."""
        return [0 if correct else 1 for correct in self.correct_items(prediction, right, column)]

    def word_items(self, prediction: _P, column: "TextColumn") -> list[list[int]]:
        """Return the places of the items that make up each word of an answer."""
        return [[place] for place in range(len(prediction.item_probabilities()))]

    def confusion(self, answers: Sequence[str], references: Sequence[str]) -> Confusion | None:
        """Return the confusion matrix of labels; None for other answers."""
        return None

    def beside_lines(self, found: "Explanation") -> "Explanation":
        """Return what of an explanation is shown beside the lines of an answer."""
        return found

    def lines(self, prediction: _P) -> "Iterator[RenderableType]":
        """Return what a terminal shows of an answer, beside its explanation."""
        from regard.answers.drawing import written_text  # rich is loaded with what prints

        yield written_text(prediction)


class ReadAnswer(Answer[_P], ABC):
    """The code that answers share which are found in what was given, rather than written: labels, tags, spans."""

    def counted(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Return all columns but the answer."""
        return (*columns,)[:-1]

    def beside_lines(self, found: "Explanation") -> "Explanation":
        """Return it without learned questions: the lines show the given words with their attention."""
        from regard.explain.token_weights import without_questions

        return without_questions(found)
