"""Hierarchical attention networks (Yang et al. 2016, https://aclanthology.org/N16-1174): words, then sentences."""

from typing import Annotated, cast

from torch import Tensor, nn

from regard.attention import Attended, Recorded, Records, Role, fitting, name_columns
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.data.columns import Columns, TextColumn
from regard.encoders import ENCODERS, EncoderChoice
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.layers.by_sentence import SENTENCES, BySentence, Sentences
from regard.layers.embedders.embedder import Embedder
from regard.layers.pooling import POOLINGS, HierarchicalPooling, Pooling
from regard.models.build import build_embedder, build_sockets
from regard.models.classifier import PoolingChoice
from regard.models.label_model import AttentionRecords, LabelModel, num_outputs
from regard.models.settings import HEADS_OF_FOUR, PROJECTED_HEADS, AttentionChoice, EmbedderChoice, PositionChoice
from regard.models.text_reader import TextReader
from regard.ops.dropout import Dropout
from regard.records import LABEL, TEXT, Batch, Sequences
from regard.registry import Choice

BOTH = "pooling x sentence_pooling"  # the map of each word's weight times that of its sentence
BIGRU = Choice("recurrent", {"cell": "gru", "hidden_dim": 50, "bidirectional": True})
LEVELS = "encoder", "pooling", "sentence_encoder", "sentence_pooling"
LEARNED_QUERY = Choice("attention", {"hidden_dim": 100})


class Hierarchical(TextReader, LabelModel):
    """softmax(W v + b): v pools the states of sentences s_i, and each s_i pools the states of its own words.

    Sentences are encoded separately, each from its own start. A sentence without words is ignored.
    """

    part_names, side = LEVELS, None

    def __init__(
        self,
        by_sentence: BySentence,
        embedder: Embedder,
        encoders: tuple[Encoder, Encoder],
        pooling: HierarchicalPooling,
        num_classes: int,
        *,
        dropout: float = 0.1,
    ) -> None:
        """`encoders` read words and sentences; `pooling.words` and `pooling.sentences` pool their states."""
        super().__init__(LABEL)
        self.by_sentence, self.embedder = by_sentence, embedder
        self.encoder, self.sentence_encoder = encoders
        self.pooling, self.sentence_pooling = pooling.words, pooling.sentences
        self.dropout, self.to_class = Dropout(dropout), nn.Linear(pooling.out_dim, num_classes)
        for name, column in zip(LEVELS, (TEXT, TEXT, SENTENCES, SENTENCES), strict=True):
            name_columns(getattr(self, name), column)

    def log_probs(self, batch: Batch) -> Tensor:
        text, sentences = batch.sequences(TEXT), self.sentences(batch)
        shown = sentences.shown
        words, mask = sentences.take(text.items)[shown], sentences.mask[shown]  # (row, word): no row is empty
        encoded = self.encode(Sequences(words, mask))
        pooled = self.pooling(encoded.states, encoded.mask)
        laid = pooled.new_zeros(*shown.shape, pooled.shape[-1]).masked_scatter(shown.unsqueeze(-1), pooled)
        upper = self.sentence_encoder(Sequences(laid, shown))
        return self.classes(self.sentence_pooling(upper.states, upper.mask))

    def sentences(self, batch: Batch) -> Sentences:
        """Return the places of the sentences that are read in each text; the end symbol belongs to the last one."""
        found: Sentences = self.by_sentence(*batch.sequences(TEXT))
        return found

    def attention_records(self, batch: Batch) -> AttentionRecords:
        """Return all attention weights: over words, over sentences, and the product of both."""
        records, _ = super().attention_records(batch)
        sentences, length = self.sentences(batch), batch.sequences(TEXT).items.shape[1]
        widths = {SENTENCES: sentences.mask.shape[1], TEXT: sentences.mask.shape[2]}
        found = {
            name: _in_text(one, sentences, length) if one.role.keys == TEXT else one
            for name, one in fitting(records, widths).items()
            if len(one.answers) == 1
        }
        return AttentionRecords({**_product(found, sentences, length), **found}, {SENTENCES: sentences})

    @property
    def max_source(self) -> None:
        """None, no limit: a long sentence is continued in the next one."""


def _in_text(record: Recorded, sentences: Sentences, length: int) -> Recorded:
    """Map attention weights of each sentence (row, ..., word) to places of the text: (batch, ..., length).

    In self-attention both of the last two axes become places of the text.
    """
    (answer,) = record.answers
    if answer.weights is None:
        return record
    places, mask, weights = sentences.places, sentences.mask, answer.weights
    axes = 1 if record.role.queries is None else 2
    if axes == 2:
        places = places.unsqueeze(-1) * length + places.unsqueeze(-2)
        mask = mask.unsqueeze(-1) & mask.unsqueeze(-2)
    batch, sentence = sentences.mask.shape[:2]
    middle = weights.shape[1:-axes]
    laid = weights.new_zeros(batch, sentence, *weights.shape[1:])
    laid[sentences.shown] = weights
    laid = laid.reshape(batch, sentence, middle.numel(), -1)
    laid = laid.masked_fill(~mask.reshape(batch, sentence, 1, -1), 0.0).transpose(1, 2).flatten(2)
    index = places.reshape(batch, 1, -1).expand_as(laid)
    whole = laid.new_zeros(batch, middle.numel(), length**axes).scatter_add(2, index, laid)
    return record._replace(answers=[answer._replace(weights=whole.view(batch, *middle, *[length] * axes))])


def _product(records: Records, sentences: Sentences, length: int) -> Records:
    """Return each word's weight times its sentence's, (batch, 1, length); empty where a level has no attention."""
    levels = {}
    for column in (TEXT, SENTENCES):
        asked = (one for one in records.values() if one.role.keys == column and one.role.queries is None)
        record = next(asked, None)
        weights = None if record is None else record.answers[0].weights
        if record is None or weights is None:
            return {}
        levels[column] = weights.flatten(1, -2).mean(dim=1)
    words, above = levels[TEXT], levels[SENTENCES]
    factor = sentences.put_back(above.unsqueeze(-1).expand(sentences.mask.shape), length)
    weights = (words * factor).unsqueeze(1)
    return {BOTH: Recorded(Role(keys=TEXT), [Attended(weights, weights)])}


def hierarchical(
    columns: Columns,
    *,
    dim: Annotated[Size, Doc("Width of the embeddings.")] = 200,
    embedder: EmbedderChoice = Choice("words"),
    position: Annotated[PositionChoice | None, Doc("Positional encoding within a sentence; null: none.")] = None,
    max_sentences: Annotated[Size, Doc("Maximum number of sentences; the rest is ignored.")] = 15,
    max_words: Annotated[Size, Doc("Maximum sentence length, in pieces; the rest is a new sentence.")] = 40,
    encoder: Annotated[EncoderChoice, Doc("Encoder of the words of a sentence.")] = BIGRU,
    pooling: Annotated[PoolingChoice, Doc("Pooling of words into a sentence vector.")] = LEARNED_QUERY,
    sentence_encoder: Annotated[EncoderChoice, Doc("Encoder of the sentence vectors.")] = BIGRU,
    sentence_pooling: Annotated[PoolingChoice, Doc("Pooling of sentences into a text vector.")] = LEARNED_QUERY,
    self_attention: Annotated[
        AttentionChoice, Doc("Self-attention among words and among sentences, in the parts that use it.")
    ] = PROJECTED_HEADS,
    dropout: DropoutProbability = 0.1,
) -> Hierarchical:
    """p(label | text) by words, then sentences (HAN); poolings `mean` and `max` give HN-AVE and HN-MAX."""
    text = cast(TextColumn, columns[TEXT])
    reads = build_embedder(embedder, position, len(text), dim, dropout)
    if reads.max_length is not None and reads.max_length < max_words:
        problem = f"is {max_words}, but model.position.max_length is {reads.max_length}"
        raise PartError(problem, f"{reads.max_length} or less", setting="max_words")
    sockets, given = build_sockets(HEADS_OF_FOUR, self_attention), {"dropout": dropout}
    lower = ENCODERS.build(encoder, reads.dim, sockets, given=given)
    words = _pooling(pooling, lower.dim, "pooling")
    upper = ENCODERS.build(sentence_encoder, words.out_dim, sockets, given=given, place="sentence_encoder")
    both = HierarchicalPooling(words, _pooling(sentence_pooling, upper.dim, "sentence_pooling"))
    finds = BySentence(text.pieces(range(len(text))), max_sentences=max_sentences, max_words=max_words)
    model = Hierarchical(finds, reads, (lower, upper), both, num_outputs(columns), dropout=dropout)
    return model.predicting(columns)


def _pooling(choice: Choice, dim: int, place: str) -> Pooling:
    return POOLINGS.build(choice, dim, place=place)
