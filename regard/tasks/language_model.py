"""Language models: probability and continuation of a text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.answers.text import ContinuationAnswer
from regard.attention import recording
from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.data import Corpus
from regard.data.batches import Windows
from regard.data.collate import collate
from regard.data.columns import Columns, TextColumn
from regard.data.packing import chunks
from regard.data.ragged import Ragged
from regard.data.streams import PlannedStream
from regard.decoding import Answering, Engine, Hypothesis, Search
from regard.decoding.features import Feature
from regard.errors import ConfigError, PartError
from regard.evaluation.metric import Statistics
from regard.explain.maps import attention_maps
from regard.models import Generator, Model
from regard.models.language_model import COUNTED, counted_pieces, prompts
from regard.pieces import END
from regard.records import EOS, TEXT, Batch, Sequences
from regard.registry import Choice
from regard.results import AttentionMap, Explanation, Prediction, TokenRole, Tokens, WordRelevance
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, Ids
from regard.tasks.examples import Examples
from regard.tasks.files import WholeText
from regard.tasks.measures import LikelihoodMeasure, Measure
from regard.tasks.relevance_view import RelevanceView
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.tasks.text_predictions import text_prediction
from regard.text.clean import clean

CONTINUATION = "continuation"  # of a prompt, beside TEXT: the pieces that the loss counts


class LineFilter(ExampleFilter):
    """A filter of lines: evaluated lines are those usable for training."""

    def evaluated(self, texts: Mapping[str, str]) -> bool:
        return self.usable(texts)


class TextFilter(LineFilter):
    """A filter that keeps every line, which belongs to the text."""

    def usable(self, texts: Mapping[str, str]) -> bool:
        return True


class ContinuationRelevance(RelevanceView):
    """The relevance of pieces for the pieces after them."""

    def explanation(self, found: WordRelevance) -> Explanation:
        """Return the relevance of earlier pieces for each generated piece; zero for pieces of the prompt."""
        read, rows = found.tokens[TEXT], found.scaled(TEXT)
        given = len(read) - len(rows)
        weights = [*([0.0] * len(read) for _ in range(given)), *rows]
        maps = [AttentionMap(found.method, "decoder", 0, [weights], TEXT, TEXT)]
        tokens = Tokens([*read[1 : given + 1], *found.items], TokenRole.WRITTEN)
        return Explanation({TEXT: tokens}, [], maps, found.method)


class LanguageModelTask(Task):
    """A text, piece by piece: each line by itself, or all lines as one text in windows of `window` pieces.

    The first `context` pieces of a window are read and not counted: another window counts them. A line ends with the
    end symbol, which is a piece of the text.
    """

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text"}
    spec = TaskSpec(
        "language_model",
        "perplexity",
        wording=Wording(
            "lines",
            "words of the line",
            "read lines",
            use="continue texts with: regard predict {run} < FILE (one beginning of a text per line)",
            longer="read all lines as one text: task.window={limit}",
        ),
        defaults={
            "objective": {"name": "likelihood", "label_smoothing": 0.0},
            "decoding": {"search": {"name": "sampling", "max_extra": 100}},
        },
        relevance=ContinuationRelevance,
        starts={"rows": {"classifier": "causal_classifier"}},
    )
    answer = ContinuationAnswer()
    files = WholeText()

    def __init__(
        self,
        columns: Columns,
        *,
        window: Annotated[
            Size | None, Doc("Context length, in pieces, across lines; null: each line separately.")
        ] = None,
        context: Annotated[Count, Doc("Stride context: first pieces of a window, which are read but not scored.")] = 0,
    ) -> None:
        super().__init__(columns)
        if window is None and context:
            raise PartError(f"is {context}, which needs task.window", "give task.window, too", setting="context")
        if window is not None and context >= window:
            raise PartError(f"is {context}", f"0 at least and less than the window of {window}", setting="context")
        self.text = cast(TextColumn, columns[TEXT])
        self.window, self.context = window, context

    def engine(self, model: Model, search: Search, features: Sequence[Feature] = ()) -> Answering:
        if any(feature.needs_weights for feature in features):
            raise ConfigError("decoding.features", "reads a source, and a language model has none", "leave it out")
        return super().engine(model, search, features)

    def encode(self, examples: Sequence[Mapping[str, str]]) -> list[Ids]:
        names = [name for name in (TEXT, CONTINUATION) if examples and name in examples[0]]
        encoded = [self.text.encode_batch([one[name] for one in examples]) for name in names]
        return [dict(zip(names, ids, strict=True)) for ids in zip(*encoded, strict=True)]

    def batch(self, rows: Sequence[Ids]) -> Batch:
        """Return prompts and continuations; the loss counts the pieces and the end of the latter."""
        ends = [[*row[CONTINUATION], EOS] if CONTINUATION in row else [] for row in rows]
        text = collate([[*row[TEXT], *end] for row, end in zip(rows, ends, strict=True)])
        lengths = torch.tensor([len(row[TEXT]) for row in rows], dtype=torch.long)
        chosen = text.mask & (torch.arange(text.mask.shape[1]) >= lengths.unsqueeze(-1))
        columns: dict[str, Sequences | Tensor] = {TEXT: text, COUNTED: chosen}
        return Batch(columns, self.route, torch.arange(len(rows)), int(chosen.sum()))

    @property
    def texts(self) -> ExampleTexts:
        return ExampleTexts({TEXT: self.text, CONTINUATION: self.text})

    @property
    def filter(self) -> ExampleFilter:
        return LineFilter(self.vocabularies) if self.window is None else TextFilter(self.vocabularies, lambda _: None)

    def stream(
        self, corpus: Corpus, tokens: int | None = None, sentences: int | None = None, *, seed: int
    ) -> PlannedStream:
        """Return lines of about one length together, or random windows, each of which counts as a sentence."""
        if self.window is None:
            return super().stream(corpus, tokens, sentences, seed=seed)
        if self.text.samples:
            problem = "encodes each text again in each epoch, but windows are cut out of one text"
            raise ConfigError("text.tokenizer.sampling", problem, "use 0, or leave task.window out")
        limits = [] if tokens is None else [tokens]
        limits += [] if sentences is None else [sentences * self.window]
        return self._windows(corpus.pieces(TEXT), min(limits), seed, corpus)

    def held(self, examples: Examples, tokens: int) -> list[Batch]:
        """Return each piece once: lines of about one length together, longest first, or windows in order."""
        lines = self.text.encode_batch(examples[TEXT])
        if self.window is not None:
            return self._windows(Ragged.of(lines, np.dtype(np.int64)), tokens).all()
        rows = [{TEXT: list[int](), CONTINUATION: ids} for ids in lines]
        found = [(places, self.batch([rows[place] for place in places])) for places in chunks(_sizes(lines), tokens)]
        return [batch._replace(lines=torch.from_numpy(places)) for places, batch in found]

    def losses(self, model: Model, batches: Iterable[Batch], examples: Examples) -> Statistics:
        """Return nats and pieces of each line, its end included, also where windows cut it."""
        if self.window is None:
            return super().losses(model, batches, examples)
        sizes = np.array(_sizes(self.text.encode_batch(examples[TEXT])), np.int64)
        pieces = [model.nll(batch).double()[counted_pieces(batch)].cpu().numpy() for batch in batches]
        nats = np.add.reduceat(np.concatenate(pieces), np.cumsum(sizes) - sizes)
        return np.stack([nats, sizes], axis=1)

    @classmethod
    def measures(cls, choices: Iterable[Choice]) -> list[Measure]:
        """Return measures of likelihood; bits per character first, which compare models with any tokenizers."""
        _, perplexity, by_word, bits = cls.likelihoods()
        return [bits, perplexity, by_word]

    @classmethod
    def likelihoods(cls) -> list[Measure]:
        """Return perplexity also per word (between spaces; a line's end is one) and per character (its end is one)."""
        by_word = LikelihoodMeasure("word_perplexity", "words", _counting(lambda line: len(line.split()) + 1))
        bits = LikelihoodMeasure("bits_per_character", "characters", _counting(lambda line: len(line) + 1), "bits")
        return [*super().likelihoods(), by_word, bits]

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the continuation of each prompt; prompts of one length are continued together."""
        found: list[list[Hypothesis]] = [[]] * len(batch.lines)
        for rows, some in _by_length(batch):
            for row, ranked in zip(rows, cast(Engine, model).answer(some), strict=True):
                found[row] = ranked
        pairs = zip(self._prompts(batch), found, strict=True)
        return [text_prediction(text, ranked, self.text) for text, ranked in pairs]

    def force(self, model: Model, batch: Batch) -> list[Prediction]:
        losses, found = model.nll(batch).double(), list[Prediction]()
        rows = zip(self._prompts(batch), batch.sequences(TEXT).items, losses, counted_pieces(batch), strict=True)
        for text, ids, row, chosen in rows:
            log_probs = (-row[chosen]).tolist()
            hypothesis = Hypothesis(ids[chosen].tolist()[:-1], sum(log_probs), log_probs, True)
            found.append(text_prediction(text, [hypothesis], self.text))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the attention weights of each piece, those of the prompt first. There is no source."""
        with recording(model) as records:
            cast(Generator, model).decode(batch)
        text, explanations = batch.sequences(TEXT), []
        for row, (ids, mask) in enumerate(zip(text.items, text.mask, strict=True)):
            pieces = self.text.pieces(ids[mask].tolist()[:-1])
            maps = attention_maps(records, row, {TEXT: len(pieces) + 1})
            explanations.append(Explanation({TEXT: Tokens([*pieces, END], TokenRole.WRITTEN)}, [], maps))
        return explanations

    def _windows(self, lines: Ragged, tokens: int, seed: int = 0, corpus: Corpus | None = None) -> Windows:
        return Windows(
            lines,
            column=TEXT,
            route=self.route,
            window=self.window or 1,
            context=self.context,
            tokens=tokens,
            seed=seed,
            place=None if corpus is None else corpus.folder,
        )

    def _prompts(self, batch: Batch) -> list[str]:
        items, given = batch.sequences(TEXT).items, prompts(batch)
        return [self.text.decode(ids[shown].tolist()) for ids, shown in zip(items, given, strict=True)]


def _sizes(lines: Sequence[Sequence[int]]) -> list[int]:
    """Return the number of pieces of each line, its end included."""
    return [len(ids) + 1 for ids in lines]


def _counting(count: Callable[[str], int]) -> Callable[[Examples], NDArray[np.float64]]:
    """Return a function that counts units of each line as a model reads it, its end included."""
    return lambda examples: np.array([count(clean(line)) for line in examples[TEXT]], np.float64)


def _by_length(batch: Batch) -> Iterator[tuple[list[int], Batch]]:
    """Yield the rows and prompts of a batch, grouped by length."""
    items, lengths = batch.sequences(TEXT).items, prompts(batch).sum(dim=-1)
    for length in lengths.unique().tolist():
        rows: Tensor = (lengths == length).nonzero().squeeze(-1)
        mask = torch.ones(len(rows), length, dtype=torch.bool, device=items.device)
        columns: dict[str, Sequences | Tensor] = {TEXT: Sequences(items[rows, :length], mask), COUNTED: ~mask}
        yield rows.tolist(), Batch(columns, batch.route, batch.lines[rows], 0)
