"""Ciphertexts → plaintexts, learnt from unpaired texts of both kinds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from regard.answers.symbols import SymbolsAnswer, SymbolsPrediction
from regard.data.columns import Columns
from regard.data.columns.symbols import SymbolsColumn
from regard.data.examples import ColumnTexts
from regard.data.streams import Stream, first_epoch
from regard.decoding import Answering
from regard.explain.maps import MAP_DIGITS
from regard.models import Model
from regard.models.decipherer import CIPHER, MIN_PROBABILITY, PLAIN, Decipherer
from regard.models.frequency_analysis import FrequencyAnalysis
from regard.records import PAD, Batch, Sequences
from regard.results import AttentionMap, ColumnLink, Explanation, Prediction, TokenRole, Tokens
from regard.tasks.example_texts import ExampleTexts, encodable
from regard.tasks.examples import Examples
from regard.tasks.files import ExampleFiles
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task

ALPHABET = "plain symbols"  # a column of an explanation: the symbols of the answer, each once
_UNKNOWN = "{} of {} symbols were not in the training text: copied unchanged"


class CipherFiles(ExampleFiles):
    """A plaintext that is enciphered: by Caesar's shift of its characters, unless settings name another cipher."""

    def parts_of_text(self, columns: Sequence[str], file: str) -> Mapping[str, Mapping[str, Any]]:
        return {part: {"name": "ciphered", "file": file, "part": part} for part in ("train", "dev", "test")}


class CipherTexts(ExampleTexts):
    """Ciphertexts; symbols that training did not see are copied."""

    def unasked(self, example: ColumnTexts) -> Prediction | None:
        return None if example[CIPHER].strip() else SymbolsPrediction(example[CIPHER], example[CIPHER], 0.0)

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        """Return a prediction with unknown symbols copied from the ciphertext."""
        column, source = cast(SymbolsColumn, self.columns[CIPHER]), encodable(example[CIPHER])
        ids, given = column.encode(source), column.cut(source)
        if not isinstance(prediction, SymbolsPrediction) or PAD not in ids:
            return replace(prediction, source=source)
        found = [old if one == PAD else new for one, old, new in zip(ids, given, prediction.symbols, strict=True)]
        sure = [one and each for one, each in zip(map(bool, ids), prediction.probabilities, strict=True)]
        text = cast(SymbolsColumn, self.columns[PLAIN]).joined(found)
        mended = replace(prediction, source=source, symbols=found, text=text, probabilities=[*map(float, sure)])
        return mended.warned(_UNKNOWN.format(ids.count(PAD), len(ids)))


class CipherTask(Task):
    """A ciphertext → its plaintext, symbol by symbol."""

    aliases = "decipherment, decipher, 密码"

    columns: ClassVar[Mapping[str, str]] = {CIPHER: "symbols", PLAIN: "symbols"}
    spec = TaskSpec(
        "cipher_gan",
        "character_accuracy",
        Decipherer,
        validates=("character_accuracy",),
        texts=CipherTexts,
        wording=Wording(
            "texts", "symbols of the text", "decipher texts", use="decipher with: regard predict {run} < FILE"
        ),
        defaults={
            "objective": "cycle_gan",
            "text": {"tokenizer": "characters"},
            "evaluation": {"metrics": ["character_accuracy"]},
            "training": {
                "batch_sentences": 32,
                "batch_tokens": None,
                "optimizer": {"name": "adam", "betas": [0.9, 0.999]},
                "learning_rate": 2e-4,
                "schedule": "constant",
                "clip_norm": 0.0,
                "average": 1,
                "patience": None,
            },
        },
    )
    answer = SymbolsAnswer()
    files = CipherFiles()

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        self.sides = {name: cast(SymbolsColumn, column) for name, column in self.vocabularies.items()}

    def fit(
        self, model: Model, batches: Stream, examples: Examples | None, say: Callable[[str], None] = lambda line: None
    ) -> None:
        """Count the symbols of the training set, where a model needs their frequencies."""
        if isinstance(model, FrequencyAnalysis):
            model.fit(first_epoch(batches))
            say(f"{len(self.sides[CIPHER].symbols):,} symbols matched by their frequencies")

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the likeliest plaintext symbols; the score is the log-probability of all of them."""
        cipher, found = batch.sequences(CIPHER), list[Prediction]()
        best = cast(Decipherer, model).plain_probs(cipher).max(dim=-1)
        rows = zip(_rows(cipher), (best.indices + PAD + 1).tolist(), best.values.tolist(), strict=True)
        for given, ids, each in rows:
            symbols = self.sides[PLAIN].shown(ids[: len(given)])
            sure = [min(one, 1.0) for one in each[: len(given)]]
            logs = [math.log(max(one, MIN_PROBABILITY)) for one in sure]
            text, source = self.sides[PLAIN].joined(symbols), self.sides[CIPHER].decode(given)
            found.append(SymbolsPrediction(source, text, math.fsum(logs), logs, symbols=symbols, probabilities=sure))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the alignment of the symbols, and a map of the probability of each plaintext symbol at each place."""
        probs, found = cast(Decipherer, model).plain_probs(batch.sequences(CIPHER)).float(), list[Explanation]()
        texts = zip(*(_rows(batch.sequences(side)) for side in self.sides), strict=True)
        for row, (given, answer) in enumerate(texts):
            alphabet = sorted({one for one in answer if one != PAD})
            shares = probs[row, : len(given), [one - PAD - 1 for one in alphabet]].T.round(decimals=MAP_DIGITS)
            pairs = [(place, place) for place in range(min(len(given), len(answer)))]
            weights = [[float(one == place) for one in range(len(given))] for place in range(len(answer))]
            columns = {
                CIPHER: Tokens(self.sides[CIPHER].shown(given), TokenRole.GIVEN),
                PLAIN: Tokens(self.sides[PLAIN].shown(answer), TokenRole.ITEMS),
                ALPHABET: Tokens(self.sides[PLAIN].shown(alphabet), TokenRole.DERIVED),
            }
            mapping = AttentionMap("mapping", "cross", 0, [shares.tolist()], ALPHABET, CIPHER)
            found.append(Explanation(columns, [ColumnLink(CIPHER, PLAIN, pairs, weights)], [mapping]))
        return found


def _rows(texts: Sequences) -> list[list[int]]:
    """Return the ids of each text; unknown symbols are 0."""
    return [ids[:length] for ids, length in zip(texts.items.tolist(), texts.mask.sum(dim=1).tolist(), strict=True)]
