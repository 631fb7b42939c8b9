"""Algorithmic tasks: rows of numbers → rows of numbers, for memory networks."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

import torch

from regard.answers.numbers import NumbersAnswer, NumbersPrediction
from regard.attention import fitting, recording
from regard.data.columns.numbers import NumbersColumn, fixed
from regard.decoding import Answering
from regard.explain.alignment import align
from regard.explain.alignment_view import MEMORY
from regard.explain.maps import MAP_DIGITS, attention_maps, mean_of_questions
from regard.models import Model
from regard.models.number_model import GIVEN, WANTED, HeadTrace, NumberModel
from regard.records import Batch, Sequences
from regard.results import AttentionMap, ColumnLink, Explanation, Prediction, TokenRole, Tokens
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import NumbersTexts
from regard.tasks.measures import LikelihoodMeasure, Measure
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.text.numbers import read_rows

STEPS, SLOTS, MARKED = "steps", "slots", "read"  # steps and slots of a memory; the input with its mark
STEP_MARK = "·"  # the step between input and output


class AlgorithmicTask(Task):
    """Rows of numbers → rows of numbers, written `0.31 1; -0.5 0`."""

    columns: ClassVar[Mapping[str, str]] = {GIVEN: "numbers", WANTED: "numbers"}
    spec = TaskSpec(
        "sequence_regressor",
        "within_tolerance",
        NumberModel,
        validates=("within_tolerance", "wrong_bits"),
        texts=NumbersTexts,
        wording=Wording("sequences", "rows", "answer sequences"),
        defaults={
            "objective": {"name": "likelihood", "label_smoothing": 0.0},
            "evaluation": {"metrics": ["within_tolerance", "wrong_bits"]},
            "decoding": {"max_source": 100_000},
            "model": {"dim": 100, "dropout": 0.0, "encoder": None},
            "training": {"batch_sentences": 100, "batch_tokens": None},
        },
    )
    answer = NumbersAnswer()

    @property
    def filter(self) -> ExampleFilter:
        width = max(self._numbers(name).width for name in self.columns)
        return ExampleFilter(self.vocabularies, lambda limit: limit * width)

    @classmethod
    def likelihoods(cls) -> list[Measure]:
        """Return the loss of a row, in nats or squared error, depending on the model."""
        return [LikelihoodMeasure("loss", "rows", unit="nats")]

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        (numbers, mask), scores = cast(NumberModel, model).answer(batch)
        rows = zip(numbers.double().cpu().numpy(), mask.cpu().numpy(), scores.tolist(), strict=True)
        found = list[Prediction]()
        for text, (answer, shown, score) in zip(self._texts(batch, GIVEN), rows, strict=True):
            written = self._numbers(WANTED).decode(fixed(answer[shown]))
            found.append(NumbersPrediction(text, written, score, numbers=read_rows(written).tolist()))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the attention weights of each example with its answer, or those of a memory's heads."""
        with recording(model) as records:
            traces = cast(NumberModel, model).traces(batch)
            if not traces:
                cast(NumberModel, model).answer(batch)
        fit = fitting(records, {GIVEN: batch.sequences(GIVEN).mask.shape[1]})
        texts, found = zip(self._texts(batch, GIVEN), self._texts(batch, WANTED), strict=True), list[Explanation]()
        for row, (given, wanted) in enumerate(texts):
            read, written = (text.replace("; ", ";").replace(" ", ",").split(";") for text in (given, wanted))
            columns = {GIVEN: Tokens(read, TokenRole.GIVEN), WANTED: Tokens(written, TokenRole.ITEMS)}
            maps = attention_maps(fit, row, {GIVEN: len(read), WANTED: len(written)}, pooled=True)
            mean = mean_of_questions(maps, GIVEN)
            source, weights = GIVEN, [mean] if mean else []
            if traces:
                steps = [*read, STEP_MARK, *written]
                columns |= {
                    STEPS: Tokens(steps, TokenRole.DERIVED),
                    SLOTS: Tokens([*map(str, range(traces[0].weights.shape[-1]))], TokenRole.DERIVED),
                }
                maps += _memory_maps(traces, row, len(steps))
                source, weights = MARKED, _origins(traces, row, len(read) + 1, len(written))
                columns[MARKED] = Tokens([*read, STEP_MARK])
            found.append(Explanation(columns, [ColumnLink(source, WANTED, align(weights), weights)], maps))
        return found

    def _numbers(self, name: str) -> NumbersColumn:
        return cast(NumbersColumn, self.vocabularies[name])

    def _texts(self, batch: Batch, name: str) -> list[str]:
        column: Sequences = batch.sequences(name)
        rows = zip(column.items.double().cpu().numpy(), column.mask.cpu().numpy(), strict=True)
        return [self._numbers(name).decode(fixed(numbers[shown])) for numbers, shown in rows]


def _memory_maps(traces: Sequence[HeadTrace], row: int, steps: int) -> list[AttentionMap]:
    """Return a map (step, slot) for each head."""
    counts, maps = {True: 0, False: 0}, []
    for one in traces:
        weights = one.weights[row, :steps].float().round(decimals=MAP_DIGITS).tolist()
        name = f"{'write' if one.writes else 'read'}_head.{counts[one.writes]}"
        maps.append(AttentionMap(name, MEMORY, counts[one.writes], [weights], STEPS, SLOTS))
        counts[one.writes] += 1
    return maps


def _origins(traces: Sequence[HeadTrace], row: int, read: int, written: int) -> list[list[float]]:
    """Return (written, read): how far each output row read the slots written at each input step.

    The sum over slots of reading weight times writing weight, averaged over the heads. A machine may write its input
    one step later, so the step of the mark is included.
    """
    writing, reading = (
        torch.stack([one.weights[row].float() for one in traces if one.writes is writes]).mean(dim=0)
        for writes in (True, False)
    )
    shares: list[list[float]] = (reading[read : read + written] @ writing[:read].T).tolist()
    return [[round(share, MAP_DIGITS) for share in line] for line in shares]
