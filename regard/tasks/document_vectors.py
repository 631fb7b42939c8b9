"""Document vectors (doc2vec): the nearest documents of a text, and vectors of new texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.answers.neighbours import NearestPrediction
from regard.config import Doc
from regard.config.bounds import Positive, Size
from regard.data import Corpus, Reader
from regard.data.columns import Columns
from regard.data.columns.document import DocumentColumn
from regard.data.ragged import Ragged
from regard.data.streams import PlannedStream
from regard.data.word_windows import (
    CONTEXTS,
    DOCUMENT_NUMBERS,
    TARGETS,
    UNKNOWN_DOCUMENT,
    DocumentWindows,
    TextWindows,
    parted,
)
from regard.decoding import Answering
from regard.evaluation.metric import Statistics
from regard.explain.alignment import neighbours_explained
from regard.models import Model
from regard.models.document_vectors import DocumentVectors
from regard.records import TEXT, Batch
from regard.results import Explanation, Prediction, as_line
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, Ids
from regard.tasks.examples import Examples, count_of
from regard.tasks.files import ExampleFiles, Split
from regard.tasks.spec import Wording
from regard.tasks.word_vectors import (
    FLOOR,
    NEIGHBOURS,
    Frequent,
    Negatives,
    NoisePower,
    Reach,
    WordTexts,
    WordVectorsTask,
    word_ids_of,
)
from regard.text.vector_table import VectorTable

RAREST = 1e-300  # lower bound of the probability of a sampled word; a small power of the counts makes tiny ones
ANY_LENGTH = 2**31 - 1  # pieces of a document: no limit, but a document without text is left out


class DocumentTexts(WordTexts):
    """Texts and the documents nearest to them."""

    def answered(self, prediction: Prediction) -> Ids:
        """Return the ids of the text, and the number of the nearest document; 0 where there is none."""
        nearest = cast(NearestPrediction, prediction).nearest
        document = self.columns[DOCUMENT_NUMBERS].encode(nearest[0][0]) if nearest else [0]
        return {TEXT: self.columns[TEXT].encode(prediction.source), DOCUMENT_NUMBERS: document}


class LearntFiles(ExampleFiles):
    """Files whose examples are all in the training set, so that each has a vector; fractions are also evaluated."""

    def apart(self, reader: Reader, dev: float, test: float) -> Split:
        _, evaluated, tested = super().apart(reader, dev, test)
        return reader, evaluated, tested


class DocumentVectorsTask(WordVectorsTask):
    """A document's vector predicts its words against negative samples; the answer to a text is its nearest documents.

    A text to evaluate or to predict from gets a vector inferred from its words, with all other parameters frozen.
    """

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text", DOCUMENT_NUMBERS: "document"}
    spec = WordVectorsTask.spec._replace(
        model="pv_dbow",
        contract=DocumentVectors,
        wording=Wording(
            "documents",
            "words of the document",
            "find documents",
            use="find the nearest documents with: regard predict {run} < FILE (one text per line)",
        ),
        defaults={
            **WordVectorsTask.spec.defaults,
            "training": {**WordVectorsTask.spec.defaults["training"], "learning_rate": 0.02},
            "decoding": {"max_source": 100_000},
        },
    )
    files = LearntFiles()

    def __init__(
        self,
        columns: Columns,
        *,
        window: Reach = 5,
        negatives: Negatives = 5,
        noise_power: NoisePower = 0.75,
        frequent: Frequent = 1e-3,
        part: Annotated[Size, Doc("Maximum number of words per training step; windows do not cross it.")] = 50,
        passes: Annotated[Size, Doc("Inference epochs for the vector of a new text.")] = 50,
        rate: Annotated[Positive, Doc("Initial learning rate of inference; it decays to 0.")] = 0.05,
    ) -> None:
        super().__init__(columns, window=window, negatives=negatives, noise_power=noise_power, frequent=frequent)
        self.documents = cast(DocumentColumn, columns[DOCUMENT_NUMBERS])
        self.part, self.passes, self.rate = part, passes, rate

    @property
    def texts(self) -> ExampleTexts:
        return DocumentTexts(self.vocabularies, self.worded)

    @property
    def filter(self) -> ExampleFilter:
        """Return a filter of documents of any length; evaluated ones need not be known."""
        return ExampleFilter({TEXT: self.text}, lambda limit: ANY_LENGTH)

    def stream(
        self, corpus: Corpus, tokens: int | None = None, sentences: int | None = None, *, seed: int
    ) -> PlannedStream:
        """Return words with their documents, in batches of `tokens` words. Raises DataError for a single word."""
        lines, counts = self.counted_lines(corpus)
        parts, documents = parted(lines, np.asarray(corpus.pieces(DOCUMENT_NUMBERS).data, np.int64), self.part)
        most = min(tokens or 8192, ANY_LENGTH if sentences is None else sentences * 2 * self.sampling.window)
        return DocumentWindows(
            parts, documents, self.sampling, counts, route=self.route, tokens=most, seed=seed, place=corpus.folder
        )

    def held(self, examples: Examples, tokens: int) -> list[Batch]:
        """Return every text once, with all its words. Negatives are sampled by the counts of these texts."""
        lines = Ragged.of(self.text.encode_batch(examples[TEXT]), np.dtype(np.int64))
        counts = self._counts(lines) + np.where(self.worded, FLOOR, 0.0)
        documents, every = np.full(count_of(examples), UNKNOWN_DOCUMENT), self.sampling._replace(frequent=0.0)
        return DocumentWindows(lines, documents, every, counts, route=self.route, tokens=tokens).all()

    def losses(self, model: Model, batches: Iterable[Batch], examples: Examples) -> Statistics:
        """Return nats and words of each text, predicted by its inferred vector."""
        found, documents = np.zeros((count_of(examples), 2)), cast(DocumentVectors, model)
        for batch in batches:
            lines, places = batch.lines.unique_consecutive(return_inverse=True)
            if len(lines):
                vectors = torch.stack([*self.inferred(documents, word_ids_of(batch))])
                given = tuple(cast(Tensor, batch.columns[name]) for name in (CONTEXTS, TARGETS))
                losses = documents.losses(vectors, (places.to(vectors.device), *given))
                nats = losses.detach().double().cpu().numpy()
                np.add.at(found, batch.lines.cpu().numpy(), np.stack([nats, np.ones_like(nats)], axis=1))
        return found

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the nearest documents of each text, and its vector; the score is the cosine of the first."""
        texts, found = word_ids_of(batch), list[Prediction]()
        for ids, (vector, near) in zip(texts, self._near(cast(DocumentVectors, model), texts), strict=True):
            nearest = [(self.documents.labels[one], cosine) for one, cosine in near]
            names, score = as_line(name for name, _ in nearest), nearest[0][1] if nearest else 0.0
            source = self.text.decode(ids)
            found.append(NearestPrediction(source, names, score, nearest=nearest, vector=vector.tolist()))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the probability σ(u · v) of each word of a text under each of the nearest documents."""
        texts, explanations, vectors = word_ids_of(batch), [], cast(DocumentVectors, model).vectors().detach()
        outputs = cast(DocumentVectors, model).outputs.table.detach()[:, : vectors.shape[1]]
        for ids, (_, near) in zip(texts, self._near(cast(DocumentVectors, model), texts), strict=True):
            others = [one for one, _ in near]
            sure = (vectors[others] @ outputs[list(ids)].T).sigmoid().float().cpu().tolist()
            labels = [self.documents.labels[one] for one in others]
            explanations.append(neighbours_explained(self.text.pieces(ids), labels, sure))
        return explanations

    def inferred(self, model: DocumentVectors, texts: Iterable[Sequence[int]]) -> Iterator[Tensor]:
        """Yield a vector (dim,) for each text, given its ids; 0 where no word is known."""
        windows = self._text_windows(model)
        for ids in texts:
            yield model.inferred(windows.of(list(ids)), windows.passes, self.rate)

    def _near(
        self, model: DocumentVectors, texts: Iterable[Sequence[int]]
    ) -> Iterator[tuple[NDArray[np.float32], list[tuple[int, float]]]]:
        """Return the vector of each text and its nearest documents with cosines; none where no word is known."""
        known = model.vectors().detach().float().cpu().numpy()
        table = VectorTable([str(number) for number in range(len(known))], known)
        for one in self.inferred(model, texts):
            vector = one.float().cpu().numpy()
            near = table.near(vector, NEIGHBOURS) if vector.any() else []
            yield vector, [(int(one.word), one.cosine) for one in near]

    def _text_windows(self, model: DocumentVectors) -> TextWindows:
        """Return windows of new texts; negatives are sampled with the frequencies of training."""
        drawn = np.where(self.worded, model.outputs.drawn.double().cpu().numpy(), 0.0)
        shares = drawn / drawn.max()
        counts = np.where(drawn > 0, np.maximum(shares ** (1 / (self.sampling.power or 1.0)), RAREST), 0.0)
        return TextWindows(self.passes, self.sampling, counts, route=self.route)
