"""Masked language models: predictions for the masked pieces of a text."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, cast

import numpy as np
import torch

from regard.answers.text import FillingAnswer
from regard.attention import recording
from regard.config import Doc
from regard.config.bounds import Ratio, Size
from regard.data import Corpus
from regard.data.columns import Columns, TextColumn
from regard.data.columns.masked_text import mask_of
from regard.data.examples import ColumnTexts
from regard.data.streams import PlannedStream
from regard.data.transforms import LineSeeds, Transform
from regard.data.transforms.masking import MASKED_PIECES, STAGE, Masking, WordBorders
from regard.data.transforms.transform import Transformed
from regard.decoding import Answering, Engine, Hypothesis, Search
from regard.decoding.features import Feature
from regard.errors import PartError
from regard.explain.alignment_view import mean_of_heads
from regard.explain.maps import attention_maps
from regard.models import Model
from regard.models.masked_language_model import MaskedLanguageModel
from regard.pieces import END, MASK_PIECE, PAD, SPECIALS, byte_of
from regard.records import TEXT, Batch
from regard.registry import Choice
from regard.results import (
    AttentionMap,
    ColumnLink,
    Explanation,
    Prediction,
    TextPrediction,
    TokenRole,
    Tokens,
    WordRelevance,
)
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, Ids, encodable
from regard.tasks.examples import Examples
from regard.tasks.files import SuccessiveLines
from regard.tasks.measures import Measure
from regard.tasks.relevance_view import RelevanceView
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.tasks.text_predictions import rows_of, text_prediction
from regard.text.words import stands_alone

USE = f'fill masks with: echo "a text with a {MASK_PIECE} in it" | regard predict {{run}}'
HOLELESS = f"there is no {MASK_PIECE} in it, so nothing is filled in"
FIRST_BYTES = {0x20, *range(0xE3, 0xEA)}  # a space; first ones in UTF-8 of U+3000 to U+9FFF: kana and ideographs
FIXED = LineSeeds(0, STAGE, 0)  # masks of evaluated texts: the same in every run


class MaskEngine:
    """The likeliest fillings of a text. Masks are filled independently: a filling's score is a sum over its masks."""

    def __init__(self, model: MaskedLanguageModel, mask: int, count: int) -> None:
        self.model, self.mask, self.width = model, mask, count
        self.max_source = model.max_source

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Return the best fillings of each text as ids, best first; a text without masks is returned unchanged."""
        text = batch.sequences(TEXT)
        holes = (text.items == self.mask) & text.mask
        log_probs = self.model.fill(batch, holes)
        log_probs[:, [*range(len(SPECIALS)), self.mask]] = float("-inf")
        best = log_probs.topk(min(self.width, log_probs.shape[-1] - len(SPECIALS) - 1), dim=-1)
        scores, words = iter(best.values.tolist()), iter(best.indices.tolist())
        found = []
        for ids in rows_of(text):
            places = [place for place, one in enumerate(ids) if one == self.mask]
            choices = [list(zip(next(scores), next(words), strict=True)) for _ in places]
            found.append([_filled(ids, places, chosen) for chosen in _likeliest(choices, self.width)])
        return found


class FillingTexts(ExampleTexts):
    """Texts with masks, and their fillings."""

    def __init__(self, columns: Columns, mask: int) -> None:
        super().__init__(columns)
        self.mask = mask

    def answered(self, prediction: Prediction) -> Ids:
        ids = self.columns[TEXT].encode(prediction.source)
        filled = prediction.ids if isinstance(prediction, TextPrediction) else None
        pairs = zip(ids, filled or ids, strict=True)
        return {TEXT: ids, MASKED_PIECES: [new if old == self.mask and new != old else PAD for old, new in pairs]}

    def unasked(self, example: ColumnTexts) -> Prediction | None:
        """Return a text without masks unchanged."""
        text = example[TEXT]
        return None if MASK_PIECE in text else TextPrediction(text, text, 0.0, warning=HOLELESS)

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        """Return a prediction with its original source, masks written out."""
        source = encodable(example[TEXT])
        others = [replace(other, source=source) for other in prediction.alternatives]
        return replace(prediction, source=source, alternatives=others)


class FillingRelevance(RelevanceView):
    """The relevance of the pieces of a text for the fillings of its masks."""

    def items(self, batch: Batch, places: Sequence[int]) -> list[str]:
        fillings = torch.as_tensor(batch.columns[MASKED_PIECES])[0, [*places]].tolist()
        return cast(TextColumn, self.columns[TEXT]).pieces(fillings)

    def explanation(self, found: WordRelevance) -> Explanation:
        tokens, weights = found.tokens[TEXT], [*found.scaled(TEXT), [0.0] * len(found.tokens[TEXT])]
        maps = [AttentionMap(found.method, "encoder", 0, [weights], MASKED_PIECES, TEXT)]
        return _explanation(tokens, found.items, [], weights, maps, found.method)


class MaskedTask(Task):
    """A task with masks in the texts of its batches."""

    _masking: Transform

    def held(self, examples: Examples, tokens: int) -> list[Batch]:
        """Return examples with fixed masks."""
        return [self._masking(batch, FIXED) for batch in super().held(examples, tokens)]

    def stream(
        self, corpus: Corpus, tokens: int | None = None, sentences: int | None = None, *, seed: int
    ) -> PlannedStream:
        """Return examples of about one length together, with other masks in each epoch."""
        examples = super().stream(corpus, tokens, sentences, seed=seed)
        return Transformed(examples, self._masking, seed=seed, stage=STAGE)


class MaskedLanguageModelTask(MaskedTask):
    """A text, line by line, with masked pieces, which are predicted in training and in use."""

    columns: ClassVar[Mapping[str, str]] = {TEXT: "masked_text"}
    spec = TaskSpec(
        "masked_language_model",
        "perplexity",
        MaskedLanguageModel,
        wording=Wording(
            "lines", "words of the line", "fill masks", USE, "read their beginnings: task.max_pieces={limit}"
        ),
        defaults={
            "model": {"position": "learned", "encoder": {"feedforward": "gelu"}, "dropout": 0.1},
            "objective": {"name": "likelihood", "label_smoothing": 0.0},
        },
        relevance=FillingRelevance,
        starts={
            "task": {"prepend_bos": True},
            "training": {"learning_rate": 5e-4},
            "rows": {"pair_classifier": "pair_encoder"},
            "classifier": {"pooling": "first"},
            "tagger": {"pool_pieces": "after"},
            "reader": {"fusion": "separate"},
        },
    )
    answer = FillingAnswer()
    files = SuccessiveLines()

    def __init__(
        self,
        columns: Columns,
        *,
        mask_probability: Annotated[Ratio, Doc("Masking probability of a piece, sampled again in each epoch.")] = 0.15,
        masked: Annotated[Ratio, Doc("Fraction of masked pieces replaced by <mask>.")] = 0.8,
        random: Annotated[Ratio, Doc("Fraction of masked pieces replaced by a random piece.")] = 0.1,
        whole_words: Annotated[
            bool, Doc("Whole-word masking; in scripts without spaces each piece is a word.")
        ] = False,
        max_pieces: Annotated[
            Size | None, Doc("Maximum number of pieces of a line; null: all, with the limit data.max_length.")
        ] = None,
    ) -> None:
        """Raises ConfigError for fractions above 1 in sum, and for a vocabulary without <mask>."""
        self.text = cast(TextColumn, columns[TEXT]).cut(max_pieces, begins=True)
        super().__init__({**columns, TEXT: self.text})
        if masked + random > 1:
            raise PartError(f"is {random:g}, and task.masked is {masked:g}", "1 in all, or less", setting="random")
        self.max_pieces = max_pieces
        self.mask = mask_of(self.text)
        words = word_borders(self.text) if whole_words else None
        self._masking = Masking(
            TEXT, self.mask, probability=mask_probability, masked=masked, random=random, words=words
        )

    def engine(self, model: Model, search: Search, features: Sequence[Feature] = ()) -> Engine:
        """Return an engine that fills masks independently, with as many fillings as the search has hypotheses."""
        return MaskEngine(cast(MaskedLanguageModel, model), self.mask, search.width)

    def batch(self, rows: Sequence[Ids]) -> Batch:
        made = super().batch([{TEXT: row[TEXT]} for row in rows])
        answers = torch.full_like(made.sequences(TEXT).items, PAD)
        for row, one in enumerate(rows):
            given = one.get(MASKED_PIECES, ())
            answers[row, : len(given)] = torch.tensor([*given], dtype=torch.long)
        return made._replace(columns={**made.columns, MASKED_PIECES: answers}, count=int((answers != PAD).sum()))

    @property
    def texts(self) -> ExampleTexts:
        return FillingTexts(self.vocabularies, self.mask)

    @property
    def filter(self) -> ExampleFilter:
        return ExampleFilter(self.vocabularies, lambda limit: limit if self.max_pieces is None else None)

    @classmethod
    def measures(cls, choices: Iterable[Choice]) -> list[Measure]:
        """Return measures of the masked pieces' likelihood, with fixed masks."""
        return cls.likelihoods()[::-1]

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        texts = [self.text.decode(ids) for ids in rows_of(batch.sequences(TEXT))]
        pairs = zip(texts, cast(Engine, model).answer(batch), strict=True)
        return [text_prediction(text, ranked, self.text) for text, ranked in pairs]

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the attention weights of each mask and of each piece of the text."""
        with recording(model) as records:
            cast(MaskedLanguageModel, model).states(batch.sequences(TEXT))
        answers, explanations = torch.as_tensor(batch.columns[MASKED_PIECES]), []
        for row, ids in enumerate(rows_of(batch.sequences(TEXT))):
            tokens = [*self.text.pieces(ids[:-1]), END]
            places = (answers[row] != PAD).nonzero().flatten().tolist()
            filled = self.text.pieces(answers[row, places].tolist())
            maps = attention_maps(records, row, {TEXT: len(tokens), MASKED_PIECES: len(filled) + 1})
            looks = mean_of_heads(maps[-1]) if maps else []
            weights = [*(looks[place] for place in places), [0.0] * len(tokens)] if looks else []
            links = [(place, number) for number, place in enumerate(places)]
            explanations.append(_explanation(tokens, filled, links, weights, maps))
        return explanations


def _explanation(
    text: list[str],
    fillings: list[str],
    pairs: list[tuple[int, int]],
    weights: list[list[float]],
    maps: list[AttentionMap],
    method: str = "",
) -> Explanation:
    """Return the explanation of a text and the fillings of its masks."""
    columns = {TEXT: Tokens(text, TokenRole.GIVEN), MASKED_PIECES: Tokens([*fillings, END], TokenRole.ASIDE)}
    return Explanation(columns, [ColumnLink(TEXT, MASKED_PIECES, pairs, weights)], maps, method)


def word_borders(column: TextColumn) -> WordBorders:
    """Return the borders of words: a word begins with a space or a sign; without spaces each piece is a word.

    Bytes belong to the word before, except a space and the first byte of a character of such a script.
    """
    pieces = column.pieces(range(len(column)))
    alone = np.array([stands_alone(one.strip(" ▁")[-1:]) for one in pieces])
    begins = [
        one[:1] in (" ", "▁") or stands_alone(one[:1]) or not one[:1].isalnum()
        if (byte := byte_of(one)) is None
        else byte in FIRST_BYTES
        for one in pieces
    ]
    return WordBorders(np.array(begins), alone)


def _filled(ids: Sequence[int], places: Sequence[int], chosen: Sequence[tuple[float, int]]) -> Hypothesis:
    """Return a text without end symbol, with words at places. The end is given, so its probability is 1."""
    words = dict(zip(places, (word for _, word in chosen), strict=True))
    whole = [words.get(place, one) for place, one in enumerate(ids[:-1])]
    return Hypothesis(whole, sum(score for score, _ in chosen), [*(score for score, _ in chosen), 0.0], True)


def _likeliest(choices: Sequence[Sequence[tuple[float, int]]], count: int) -> list[list[tuple[float, int]]]:
    """Return the best combinations of one (score, word) per list, by the sum of scores; each list is descending."""
    found: list[list[tuple[float, int]]] = [[]]
    for some in choices:
        longer = ([*before, one] for before in found for one in some)
        found = heapq.nlargest(count, longer, key=lambda one: sum(score for score, _ in one))
    return found
