"""Word vectors (word2vec): likelihood of words given their neighbours, and nearest words."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from regard.answers.neighbours import NeighboursAnswer
from regard.arrays import Longs
from regard.config import Doc
from regard.config.bounds import Fraction, Ratio, Size
from regard.data import Corpus
from regard.data.columns import Columns, TextColumn
from regard.data.examples import ColumnTexts
from regard.data.ragged import Ragged
from regard.data.streams import PlannedStream
from regard.data.word_windows import TARGETS, Sampling, WordWindows
from regard.decoding import Answering
from regard.errors import DataError
from regard.evaluation.metric import Statistics
from regard.explain.alignment import neighbours_explained
from regard.models import Model
from regard.models.word_vectors import WordVectors
from regard.pieces import SPECIALS, byte_of
from regard.records import TEXT, Batch
from regard.registry import Choice
from regard.results import Explanation, Prediction, TextPrediction
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, encodable
from regard.tasks.examples import Examples, count_of
from regard.tasks.measures import LikelihoodMeasure, Measure
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.tasks.text_predictions import rows_of
from regard.text.vector_table import VectorTable

Reach = Annotated[Size, Doc("Maximum context window on either side; sampled from 1 for each word.")]
Negatives = Annotated[Size, Doc("Number of negative samples per word.")]
NoisePower = Annotated[Ratio, Doc("Exponent of the unigram counts in the negative sampling distribution.")]
Frequent = Annotated[Fraction, Doc("Subsampling threshold of frequent words, as a relative frequency; 0: off.")]

NEIGHBOURS = 10  # nearest words of an answer
MOST_NAMED = 5  # words that a warning lists
WORDLESS = "the text has no word, so there are no neighbours"
UNKNOWN_TEXT = "the model knows no word of the text, so there are no neighbours"
FLOOR = 1.0  # added to the word counts of an evaluated text, so that a negative sample always exists


class WordTexts(ExampleTexts):
    """Texts, with warnings about words without a vector."""

    def __init__(self, columns: Columns, worded: NDArray[np.bool_]) -> None:
        """`worded` is true for pieces that are words."""
        super().__init__(columns)
        self.text, self.worded = cast(TextColumn, columns[TEXT]), worded

    def scored(self, source: str, target: str) -> ColumnTexts:
        """Return the text alone, without its neighbours."""
        return self.given(source)

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        """Return a prediction with its original text, and a warning about words without a vector."""
        source = encodable(example[TEXT])
        return replace(prediction, source=source, warning=self._left_out(source))

    def _left_out(self, text: str) -> str:
        """Return a warning that lists and counts the unknown words of a text; "" where there are none."""
        worded, unknown = self.worded[self.text.encode(text)], list[tuple[int, int]]()
        if worded.all() and (len(worded) or not text.strip()):
            return ""
        for is_known, place in zip(worded, self.text.offsets(text), strict=True):
            if not is_known and place is not None:
                touches = bool(unknown) and place[0] <= unknown[-1][1]  # bytes of one word
                unknown.append((unknown.pop()[0], place[1]) if touches else place)
        if not unknown:
            return WORDLESS
        known = int(worded.sum())
        shown = ", ".join(text[start:end][:60] for start, end in unknown[:MOST_NAMED]) + (
            " …" if len(unknown) > MOST_NAMED else ""
        )
        if not known:
            return f"{UNKNOWN_TEXT}: {shown}"
        count = known + len(unknown)
        share = round(100 * len(unknown) / count)
        return f"{len(unknown):,} of {count:,} words ({share} %) are unknown and left out: {shown}"


class WordVectorsTask(Task):
    """Words are distinguished from negative samples by their contexts; the answer to a text is its nearest words.

    Words that the tokenizer does not know, and their bytes, are left out.
    """

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text"}
    spec = TaskSpec(
        "skip_gram",
        "loss",
        WordVectors,
        wording=Wording(
            "lines",
            "words of the line",
            "find neighbours",
            use="find the nearest words with: regard embeddings {run} nearest WORD",
        ),
        defaults={
            "objective": {"name": "likelihood", "label_smoothing": 0.0},
            "text": {"tokenizer": {"name": "uncased_words", "min_count": 5, "signs": False}},
            "training": {
                "optimizer": "lazy_adam",
                "learning_rate": 0.005,
                "schedule": {"name": "inverse_sqrt", "warmup": 100},
                "batch_tokens": 8192,
                "clip_norm": 0.0,
                "average": 1,
            },
        },
    )
    answer = NeighboursAnswer()

    def __init__(
        self,
        columns: Columns,
        *,
        window: Reach = 5,
        negatives: Negatives = 5,
        noise_power: NoisePower = 0.75,
        frequent: Frequent = 1e-3,
    ) -> None:
        super().__init__(columns)
        self.text = cast(TextColumn, columns[TEXT])
        self.sampling = Sampling(window, negatives, noise_power, frequent)
        pieces = self.text.pieces(range(len(self.text)))
        self.worded = np.array([one not in SPECIALS and byte_of(one) is None for one in pieces])

    @property
    def texts(self) -> ExampleTexts:
        return WordTexts(self.vocabularies, self.worded)

    @property
    def filter(self) -> ExampleFilter:
        return ExampleFilter(self.vocabularies, lambda limit: None)

    def stream(
        self, corpus: Corpus, tokens: int | None = None, sentences: int | None = None, *, seed: int
    ) -> PlannedStream:
        """Return words with their windows, in batches of about `tokens` words. Raises DataError for a single word."""
        lines, counts = self.counted_lines(corpus)
        limits = [tokens or 8192, *([] if sentences is None else [sentences * 2 * self.sampling.window])]
        return self._windows(lines, counts, min(limits), seed, corpus)

    def held(self, examples: Examples, tokens: int) -> list[Batch]:
        """Return every line once. Negatives are sampled by the counts of this text: there may be no other."""
        lines = Ragged.of(self.text.encode_batch(examples[TEXT]), np.dtype(np.int64))
        counts = self._counts(lines) + np.where(self.worded, FLOOR, 0.0)
        return self._windows(lines, counts, tokens).all()

    def losses(self, model: Model, batches: Iterable[Batch], examples: Examples) -> Statistics:
        found = np.zeros((count_of(examples), 2))
        for batch in batches:
            nats = model.nll(batch).detach().double().squeeze(-1).cpu().numpy()
            np.add.at(found, batch.lines.cpu().numpy(), np.stack([nats, np.ones_like(nats)], axis=1))
        return found

    @classmethod
    def measures(cls, choices: Iterable[Choice]) -> list[Measure]:
        return cls.likelihoods()

    @classmethod
    def likelihoods(cls) -> list[Measure]:
        """Return nats of a word with its negatives."""
        return [LikelihoodMeasure("loss", "words", unit="nats")]

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the nearest words of each text; the score is the cosine of the first."""
        found = list[Prediction]()
        for ids, near in zip(word_ids_of(batch), self._nearest(cast(WordVectors, model), batch), strict=True):
            words, score = " ".join(self._word(one) for one, _ in near), near[0][1] if near else 0.0
            found.append(TextPrediction(self.text.decode(ids), words, score))  # cosines, not log-probabilities
        return found

    def _nearest(self, model: WordVectors, batch: Batch) -> list[list[tuple[int, float]]]:
        """Return the words nearest to the mean of each text's words, with cosines; none where no word is known."""
        vectors, ids = model.vectors().detach().float().cpu().numpy(), np.flatnonzero(self.worded).tolist()
        table, known, found = VectorTable([str(one) for one in ids], vectors[ids]), {*ids}, []
        for text in word_ids_of(batch):
            given = [one for one in text if one in known]
            without = [str(one) for one in given]
            near = table.near(vectors[given].mean(axis=0), NEIGHBOURS, without=without) if given else []
            found.append([(int(one.word), one.cosine) for one in near])
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the cosine of each word of a text and each of its nearest words; negative ones are 0."""
        vectors = cast(WordVectors, model).vectors().detach().float()
        directions = (vectors / vectors.norm(dim=1, keepdim=True).clamp(min=1e-12)).cpu().numpy()
        ranked = self._nearest(cast(WordVectors, model), batch)
        explanations = []
        for ids, near in zip(word_ids_of(batch), ranked, strict=True):
            others = [one for one, _ in near]
            cosines = np.maximum(directions[others] @ directions[ids].T, 0.0).tolist()
            explanations.append(neighbours_explained(self.text.pieces(ids), [*map(self._word, others)], cosines))
        return explanations

    def _windows(
        self, lines: Ragged, counts: Longs, tokens: int, seed: int = 0, corpus: Corpus | None = None
    ) -> WordWindows:
        place = None if corpus is None else corpus.folder
        return WordWindows(lines, self.sampling, counts, route=self.route, tokens=tokens, seed=seed, place=place)

    def counted_lines(self, corpus: Corpus) -> tuple[Ragged, Longs]:
        """Return all lines, and the count of each word. Raises DataError for fewer than two words."""
        lines = corpus.pieces(TEXT)
        counts = self._counts(lines)
        if (counts > 0).sum() < 2:
            problem = "has fewer than two different words that are known, too few for negative sampling"
            raise DataError(corpus.place, problem, hint="give more text, or lower text.tokenizer.min_count")
        return lines, counts

    def _counts(self, lines: Ragged) -> Longs:
        return np.where(self.worded, np.bincount(lines.data, minlength=len(self.text)), 0)

    def _word(self, number: int) -> str:
        return self.text.pieces([number])[0].strip()


def word_ids_of(batch: Batch) -> list[list[int]]:
    """Return the ids of each text, or of each line of windows."""
    if TEXT in batch.columns:
        return [ids[:-1] for ids in rows_of(batch.sequences(TEXT))]
    words = cast(Any, batch.columns[TARGETS])[:, 0]
    return [words[batch.lines == line].tolist() for line in batch.lines.unique_consecutive()]
