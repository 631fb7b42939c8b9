"""Taggers: an encoder reads a text of words, and a head predicts a tag for each word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, cast

import torch
from torch import Tensor

from regard.attention import name_columns
from regard.config import Before, Doc, PartOf
from regard.data.columns import Columns
from regard.data.columns.labels import LabelsColumn
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.evaluation.span_f1 import SAME_LETTER, mark_spans
from regard.heads.tagging import TAG_HEADS
from regard.heads.tagging.tag_head import TagHead
from regard.layers.embedders.embedder import Embedder
from regard.models.build import build_reading, initialise_uniform
from regard.models.settings import EncoderOfSource, ReadingSettings, WordPosition
from regard.models.text_reader import TextReader, need_one_each
from regard.records import PAD, TAGS, TEXT, Batch, Sequences
from regard.registry import Choice

WORD_PIECES = "pieces"  # input of an encoder of pieces: tokens of an explanation, not a column
TagHeadChoice = Annotated[Choice, PartOf(TAG_HEADS), Doc("Output layer over the tags."), Before("dropout")]
PoolPieces = Annotated[
    Literal["before", "after"],
    Doc("Average a word's pieces before the encoder (it reads words) or after it (it reads pieces)."),
    Before("dropout"),
]
ValidSpans = Annotated[
    bool,
    Doc(
        "Predict only sequences of tags that mark spans validly (IOB2, IOBES, BILOU: no I-X behind O); other tags are "
        "free. false: for IOB1, or to compare with published figures."
    ),
    Before("dropout"),
]


class Tagged(NamedTuple):
    """The likeliest tags of a batch; tags of padding have no meaning."""

    tags: Tensor  # (batch, word), from 0
    log_probs: Tensor  # (batch, word): marginal log-probabilities
    given_before: Tensor  # (batch, word): log-probability of each tag, given those before it; 0 of padding
    mask: Tensor  # (batch, word)

    @property
    def scores(self) -> Tensor:
        """Joint log-probabilities (batch,) of all tags of a text."""
        return self.given_before.sum(dim=1)


class Tagger(TextReader):
    """p(tags | words) of a head over the states of an encoder; a word is the mean of its pieces."""

    moves: Tensor
    part_names = "encoder", "head"

    def __init__(
        self, embedder: Embedder, encoder: Encoder, head: TagHead, moves: Tensor, *, pool_pieces: PoolPieces = "before"
    ) -> None:
        """`moves` (tag + 1, tag + 1) are those of `tag_moves`."""
        super().__init__()
        self.register_buffer("moves", moves, persistent=False)
        self.embedder, self.encoder, self.head, self.pool_pieces = embedder, encoder, head, pool_pieces
        name_columns(encoder, TEXT if pool_pieces == "before" else WORD_PIECES)

    def states(self, words: Sequences) -> Sequences:
        """Encode ids (batch, word, piece) → states (batch, word, dim). Raises ConfigError if not one per word."""
        return self._of_words(words) if self.pool_pieces == "before" else self._of_pieces(words)

    def tag(self, batch: Batch) -> Tagged:
        """Return the jointly likeliest tags of each text that are allowed, with their log-probabilities.

        These are of all sequences of tags, the allowed ones and others.
        """
        states, mask = self.states(batch.sequences(TEXT))
        tags = self.head.best(states, mask, self.moves)
        given_before = _chosen(self.head.log_probs(states, mask, tags), tags).masked_fill(~mask, 0.0)
        return Tagged(tags, _chosen(self.head.marginals(states, mask), tags), given_before, mask)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        states, mask = self.states(batch.sequences(TEXT))
        ids, given = batch.sequences(TAGS)
        tags = (ids - PAD - 1).clamp(min=0)
        log_probs = self.head.log_probs(states, mask, tags)
        losses = -(1 - smoothing) * _chosen(log_probs, tags) - smoothing * log_probs.mean(dim=-1)
        return losses.masked_fill(~given, 0.0)

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences(TAGS).mask

    def ids_read(self, batch: Batch) -> list[Tensor]:
        words = batch.sequences(TEXT)
        return [(_by_place if self.pool_pieces == "before" else _in_a_row)(words)[0].items]

    def _of_words(self, words: Sequences) -> Sequences:
        """Embed the first pieces of all words as one text, then the second ones, …: each at its word's place."""
        rows, texts = _by_place(words)
        vectors, _ = self.embedder(rows.items)
        sums = vectors.new_zeros(len(words.items), *vectors.shape[1:])
        sums = sums.index_add(0, texts, vectors * rows.mask.unsqueeze(-1))
        return self._encoded(Sequences(_mean(sums, words.mask), words.mask.any(dim=-1)))

    def _of_pieces(self, words: Sequences) -> Sequences:
        """Encode all pieces of a text in a row."""
        pieces, owners = _in_a_row(words)
        vectors, _ = self.embedder(pieces.items)
        states, mask = self._encoded(Sequences(vectors, pieces.mask))
        sums = states.new_zeros(words.mask.shape[0] * words.mask.shape[1], states.shape[-1])
        sums = sums.index_add(0, owners, states[mask])
        return Sequences(_mean(sums.view(*words.mask.shape[:2], -1), words.mask), words.mask.any(dim=-1))

    def _encoded(self, read: Sequences) -> Sequences:
        return Sequences(need_one_each(self.encoder(read).states, read, "words"), read.mask)


@dataclass(frozen=True)
class ReadingOfWords(ReadingSettings):
    """Settings of rows that read words in their contexts."""

    position: WordPosition = None
    encoder: EncoderOfSource = Choice("recurrent")


def tagger(
    columns: Columns,
    *,
    shared: ReadingOfWords,
    pool_pieces: PoolPieces = "before",
    head: TagHeadChoice = Choice("linear"),
    valid_spans: ValidSpans = True,
) -> Tagger:
    """p(tags | words): an encoder, and a head (`crf`: tags depend on each other) that predicts a tag for each word."""
    tokenizer = columns[TEXT].tokenizer
    if tokenizer is None:
        raise PartError(f"reads words, and the column '{TEXT}' has none", "task=tagging")
    reads, encodes = build_reading(shared, len(tokenizer))
    labels = cast(LabelsColumn, columns[TAGS]).labels
    moves = tag_moves(labels) if valid_spans else torch.zeros(len(labels) + 1, len(labels) + 1)
    model = Tagger(
        reads, encodes, TAG_HEADS.build(head, encodes.dim, columns[TAGS].num_values), moves, pool_pieces=pool_pieces
    )
    return initialise_uniform(model, shared.init_uniform)


def tag_moves(tags: Sequence[str]) -> Tensor:
    """Return 0 where a tag may follow on another and -inf elsewhere, (tag + 1, tag + 1), as `TagHead.best` takes it.

    I-X, E-X and L-X follow on B-X or I-X alone; in schemes with E or L, a span that is begun is ended, too. All is
    allowed among tags that mark no spans, without O, or where a span of some type cannot begin or end, as in IOB1.
    """
    letters = [SAME_LETTER.get(tag[:1], tag[:1]) for tag in tags]
    kinds = [tag[1:] for tag in tags]
    moves = torch.zeros(len(tags) + 1, len(tags) + 1)
    of = {one: {kind for letter, kind in zip(letters, kinds, strict=True) if letter == one} for one in "BIE"}
    closed = bool(of["E"])
    complete = of["I"] | of["E"] <= of["B"] and (not closed or of["B"] <= of["E"])
    if not mark_spans(tags) or "O" not in tags or not complete:
        return moves
    for one, tag in [(one, tag) for one in range(-1, len(tags)) for tag in range(-1, len(tags))]:
        begun, goes_on = one >= 0 and letters[one] in "BI", tag >= 0 and letters[tag] in "IE"
        if (goes_on and not (begun and kinds[one] == kinds[tag])) or (closed and begun and not goes_on):
            moves[one, tag] = -torch.inf
    return moves


def _by_place(words: Sequences) -> tuple[Sequences, Tensor]:
    """Return a row of words for each place of a piece in its word, and each row's text: ids (batch, word, piece)."""
    ids, mask = words.items.transpose(1, 2), words.mask.transpose(1, 2)
    used = mask.any(dim=-1)  # (batch, piece)
    used[:, 0] = True  # of a text without words, too
    return Sequences(ids[used], mask[used]), used.nonzero()[:, 0]


def _in_a_row(words: Sequences) -> tuple[Sequences, Tensor]:
    """Return all pieces of each text (batch, n), and the number in the batch of each one's word."""
    lengths = words.mask.flatten(1).sum(dim=1)
    mask = torch.arange(max(int(lengths.max()), 1), device=lengths.device) < lengths.unsqueeze(-1)
    ids = words.items.new_full(mask.shape, PAD).masked_scatter(mask, words.items[words.mask])
    return Sequences(ids, mask), words.mask.flatten(0, 1).nonzero()[:, 0]


def _mean(sums: Tensor, mask: Tensor) -> Tensor:
    """Divide sums over pieces (batch, word, dim) by the counts of mask (batch, word, piece); 0 for padding."""
    counts: Tensor = mask.sum(dim=-1, keepdim=True).clamp(min=1)
    return sums / counts


def _chosen(log_probs: Tensor, tags: Tensor) -> Tensor:
    """Select the log-probabilities (batch, word) of tags (batch, word) from (batch, word, tag)."""
    return log_probs.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
