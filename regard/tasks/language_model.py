"""Language models: how likely a text is, and how it goes on."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from annotated_types import Ge
from numpy.typing import NDArray
from torch import Tensor

from regard.attention import recording
from regard.data import Corpus
from regard.data.batches import Stream
from regard.data.collate import collate
from regard.data.packing import chunks
from regard.data.ragged import Ragged
from regard.data.windows import Windows
from regard.decoding import Hypothesis, Search
from regard.decoding.features import Feature
from regard.errors import ConfigError
from regard.explain.maps import attention_maps
from regard.models import ROUTE, LanguageModel, ModelSettings, build_language_model
from regard.models.language_model import COUNTED, TEXT, counted, prompts
from regard.records import EOS, Batch, Sequences
from regard.results import Explanation, Prediction
from regard.tasks.task import Task, Texts, need_two
from regard.tasks.translation import END
from regard.text import Tokenizer
from regard.text.clean import clean

COLUMNS = ("nll", "pieces", "words", "characters")  # of a line: nats, and what they are divided by; its end is one


class LanguageModelTask(Task):
    """A text, piece by piece: each line by itself, or all lines as one text in windows of `window` pieces.

    Of a window the first `context` pieces are read and not counted: another window counts them. A line ends with the
    end symbol, which is a piece of the text.
    """

    columns = (TEXT,)
    losses = ("loss", "perplexity", "word_perplexity", "bits_per_character")
    metric = "perplexity"
    translates = False
    continues = True
    ordered = True
    without = ("model.encoder", "model.attention")
    defaults: ClassVar[Mapping[str, Any]] = {
        "objective": {"name": "likelihood", "label_smoothing": 0.0},
        "decoding": {"search": {"name": "sampling", "max_extra": 100}},
    }

    def __init__(
        self,
        tokenizers: Mapping[str, Tokenizer],
        search: Search,
        features: Sequence[Feature] = (),
        route: str = ROUTE,
        *,
        window: Annotated[int, Ge(1)] | None = None,
        context: int = 0,
    ) -> None:
        super().__init__(tokenizers, search, features, route)
        if any(feature.needs_weights for feature in features):
            raise ConfigError("decoding.features", "looks at a source, and a language model has none", "leave it out")
        if window is None and context:
            raise ConfigError("task.context", f"is {context}, of windows that there are not", "give task.window, too")
        if window is not None and window < 1:
            raise ConfigError("task.window", f"is {window}", "at least 1 piece, or null: each line by itself")
        if window is not None and not 0 <= context < window:
            raise ConfigError("task.context", f"is {context}", f"0 at least and less than the window of {window}")
        self.window, self.context, self.whole = window, context, window is not None

    def network(self, settings: ModelSettings) -> LanguageModel:
        """A decoder without a source."""
        return build_language_model(settings, len(self.target))

    def batch(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]] | None = None) -> Batch:
        """Prompts, and how each goes on, of which alone the loss counts the pieces and the end."""
        ends = [[]] * len(sources) if targets is None else [[*ids, EOS] for ids in targets]
        text = collate([[*prompt, *end] for prompt, end in zip(sources, ends, strict=True)])
        lengths = torch.tensor([len(prompt) for prompt in sources], dtype=torch.long)
        chosen = text.mask & (torch.arange(text.mask.shape[1]) >= lengths.unsqueeze(-1))
        columns: dict[str, Sequences | Tensor] = {TEXT: text, COUNTED: chosen}
        return Batch(columns, self.route, torch.arange(len(sources)), int(chosen.sum()))

    def stream(
        self, corpus: Corpus, tokenizers: Mapping[str, Tokenizer], *, tokens: int, seed: int, halves: bool = False
    ) -> Stream:
        """Lines of about one length together, or windows at random, and so the halves of their batches."""
        if self.window is None:
            return super().stream(corpus, tokenizers, tokens=tokens, seed=seed, halves=halves)
        if halves:
            need_two(tokens, self.window)
        if any(tokenizer.samples for tokenizer in tokenizers.values()):
            problem = "cuts each text anew, but windows are cut out of one text"
            raise ConfigError("text.tokenizer.sampling", problem, "use 0, or leave task.window out")
        return self._windows(corpus.pieces(TEXT), tokens, seed, corpus)

    def held(self, texts: Texts, tokens: int) -> list[Batch]:
        """Each piece once: lines of about one length together, the longest first, or windows in their order."""
        lines = self.target.encode_batch(texts[TEXT])
        if self.window is not None:
            return self._windows(Ragged.of(lines, np.dtype(np.int64)), tokens).all()
        nothing = list[int]()
        return [
            self.batch([nothing] * len(rows), [lines[row] for row in rows])._replace(lines=torch.from_numpy(rows))
            for rows in chunks([len(ids) + 1 for ids in lines], tokens)
        ]

    def by_line(self, model: Any, texts: Texts, tokens: int) -> NDArray[np.float64]:
        """(line, COLUMNS): negative log-probability in nats of each line with its end, and what it is divided by."""
        device = next(model.parameters()).device
        sizes = np.array([len(ids) + 1 for ids in self.target.encode_batch(texts[TEXT])], np.int64)
        found, pieces = np.zeros(len(sizes)), list[NDArray[np.float64]]()
        for batch in self.held(texts, tokens):
            losses = model.nll(batch.to(device)).double().cpu()
            if self.window is None:
                found[batch.lines.numpy()] = losses.sum(dim=-1).numpy()
            else:
                pieces.append(losses[counted(batch)].numpy())
        if pieces:
            found = np.add.reduceat(np.concatenate(pieces), np.cumsum(sizes) - sizes)
        return np.concatenate([np.stack([found, sizes], axis=1), _counts(texts[TEXT])], axis=1)

    def figures(self, total: float, count: int, texts: Texts) -> dict[str, float]:
        """Perplexity by piece and by word (between spaces; a line's end is one), bits by character (its end is one)."""
        words, characters = (int(count) for count in _counts(texts[TEXT]).sum(axis=0))
        by_word, bits = _perplexity(total, words), total / math.log(2) / max(1, characters)
        return super().figures(total, count, texts) | {"word_perplexity": by_word, "bits_per_character": bits}

    def predict(self, model: Any, batch: Batch) -> list[Prediction]:
        """How each prompt goes on; prompts of one length are written on together."""
        found: list[list[Hypothesis]] = [[]] * len(batch.lines)
        for rows, some in _by_length(batch):
            for row, ranked in zip(rows, self.search.run(model, some, features=self.features), strict=True):
                found[row] = ranked
        return [self._prediction(text, ranked) for text, ranked in zip(self._prompts(batch), found, strict=True)]

    def force(self, model: Any, batch: Batch) -> list[Prediction]:
        """What is counted as predictions: their score is the sum of their log-probabilities."""
        losses, rows = model.nll(batch).double(), []
        for text, ids, row, chosen in zip(
            self._prompts(batch), batch.sequences(TEXT).items, losses, counted(batch), strict=True
        ):
            log_probs = (-row[chosen]).tolist()
            rows.append(
                self._prediction(text, [Hypothesis(ids[chosen].tolist()[:-1], sum(log_probs), log_probs, True)])
            )
        return rows

    def explain(self, model: Any, batch: Batch) -> list[Explanation]:
        """What each piece, those of the prompt first, looked at. There is no source."""
        with recording(model) as records:
            model.decode(batch)
        text, explanations = batch.sequences(TEXT), []
        for row, (ids, mask) in enumerate(zip(text.items, text.mask, strict=True)):
            pieces = self.target.pieces(ids[mask].tolist()[:-1])
            maps = attention_maps(records, row, 0, len(pieces) + 1)
            explanations.append(Explanation([], [*pieces, END], [], [], maps))
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
        return [self.source.decode(ids[shown].tolist()) for ids, shown in zip(items, given, strict=True)]

    def _prediction(self, prompt: str, ranked: list[Hypothesis]) -> Prediction:
        best, *rest = [
            Prediction(
                prompt, self.target.decode(one.ids), one.score, list(one.log_probs), one.finished, ids=list(one.ids)
            )
            for one in ranked
        ]
        return best if not rest else Prediction(**{**vars(best), "alternatives": rest})


def _counts(lines: Sequence[str]) -> NDArray[np.float64]:
    """(line, 2): words and characters of each as a model reads it, with its end."""
    counts = [[len(line.split()) + 1, len(line) + 1] for line in map(clean, lines)]
    return np.array(counts, np.float64).reshape(-1, 2)


def _by_length(batch: Batch) -> Iterator[tuple[list[int], Batch]]:
    """The prompts of a batch, those of one length together, and which rows they are."""
    items, lengths = batch.sequences(TEXT).items, prompts(batch).sum(dim=-1)
    for length in lengths.unique().tolist():
        rows: Tensor = (lengths == length).nonzero().squeeze(-1)
        mask = torch.ones(len(rows), length, dtype=torch.bool, device=items.device)
        columns: dict[str, Sequences | Tensor] = {TEXT: Sequences(items[rows, :length], mask), COUNTED: ~mask}
        yield rows.tolist(), Batch(columns, batch.route, batch.lines[rows], 0)


def _perplexity(total: float, count: int) -> float:
    return math.exp(min(total / max(1, count), 50.0))
