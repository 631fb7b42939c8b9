"""Two passes: a draft of all sentences of a text, then each of them anew, with an eye on the draft.

Of https://arxiv.org/abs/1811.05683. Rows are sentences; the column `document` has the text that each stands in, so a
row's answer depends on no other row, and a sentence that several rows ask for is drafted once.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.aliases import known_as
from regard.attention import name_columns, unrecorded
from regard.config import Doc
from regard.config.bounds import Layers
from regard.config.common_settings import DropoutShare
from regard.data.collate import collate
from regard.data.columns import Columns
from regard.data.columns.sentences import sentences_of
from regard.decoders import DecoderChoice
from regard.decoders.decoder import Decoder
from regard.encoders import EncoderChoice
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.layers.feedforwards import FEEDFORWARDS
from regard.layers.gated_blocks import BlocksState, GatedBlocks
from regard.layers.transformer_block import TransformerBlock
from regard.models.build import build_sockets
from regard.models.model import Distributions, Generator
from regard.models.settings import (
    HEADS_OF_FOUR,
    PROJECTED_HEADS,
    AttentionChoice,
    EmbedderChoice,
    HeadChoice,
    ModelDim,
    SelfAttention,
    Tied,
    WordPosition,
)
from regard.models.translator import Translator, Writing, translator
from regard.ops.kernels.search import Rules
from regard.records import BOS, EOS, PAD, Batch, Decoded, Encoded, Sequences, State, Step, place
from regard.registry import Choice

SOURCE, DOCUMENT, DRAFT, TARGET = "source", "document", "draft", "target"  # columns; the draft is of no batch
BEFORE, ITSELF, BEHIND = range(3)  # where a sentence of a text stands, seen from that of the row
WIDER = 4  # the hidden layer of a block than its states
RATIO, EXTRA = 2, 10  # most pieces of a draft: so many times those of its source, and more
Ids = tuple[int, ...]


class Draft(NamedTuple):
    """What the first pass wrote of the text of each row."""

    seen: Encoded  # (batch, place, width): each piece of the text's draft, beside the state that wrote it
    ids: Tensor  # (batch, place), PAD behind each sentence


class Rereading(NamedTuple):
    """The state of both passes between steps."""

    first: Writing
    second: BlocksState

    def select(self, rows: Tensor) -> "Rereading":
        """Rows of both."""
        return Rereading(self.first.select(rows), self.second.select(rows))


class Deliberation(Generator):
    """p(target | source, document): the states of a translator, changed by blocks that look at its draft of the text.

    The translator is the first pass, and the beginning of the second one; it is that of the run to start from and
    learns nothing more. With the blocks' gates at 0 both passes are one.
    """

    def __init__(self, first: Translator, second: GatedBlocks, width: int) -> None:
        """`width` is that of a piece of the draft: decoder and embedder together."""
        super().__init__()
        self.first, self.second = first.requires_grad_(False).eval(), second
        self.sides = nn.Embedding(3, width)
        name_columns(second, TARGET, read=DRAFT)

    def train(self, mode: bool = True) -> "Deliberation":
        """Leave the first pass as it is in use: nothing of it is dropped."""
        super().train(mode)
        self.first.eval()
        return self

    def draft(self, batch: Batch) -> Draft:
        """Write the text of each row, sentence by sentence. A row without a text is a text of its source alone."""
        texts, own, known = self._texts(batch)
        device = batch.sequences(SOURCE).items.device
        with torch.no_grad(), unrecorded():
            source = Batch({SOURCE: collate([*known])}, batch.route, torch.arange(len(known)), 0).to(device)
            target = place(collate(self.written(source)), device)
            decoded, _ = self.first.decode(source._replace(columns={**source.columns, TARGET: target}))
            words, _ = self._decoder(batch.route).embedder(target.items)
        return self._laid(torch.cat([decoded.states, words], dim=-1), target, texts, own)

    def written(self, batch: Batch) -> list[Ids]:
        """Return what greedy search of the first pass writes of each source, with its end."""
        ids = torch.full((len(batch.lines), 1), BOS, device=batch.sequences(SOURCE).items.device)
        limits = RATIO * batch.sequences(SOURCE).mask.sum(dim=-1) + EXTRA
        most = self.first.longest(batch)
        limits = limits if most is None else limits.clamp(max=most)
        begun, longest = self.first.start(batch), int(limits.max())
        writer = self.first.compiled_writer(ids, begun, longest)
        if writer is not None:
            rules = Rules(1, 1, False, 0, limits.numpy(force=True), np.ones(longest + 2))
            if (found := writer.beam(rules, None)) is not None:
                return [(*best.ids, EOS) for best, *_ in found]
        rows, state, ended = list[Tensor](), cast(Any, begun), torch.zeros_like(limits, dtype=torch.bool)
        for step in range(longest):
            ids, _, state = self.first.best(ids, state, 1, (PAD, BOS))
            ended |= step >= limits
            rows.append(ids.masked_fill(ended.unsqueeze(-1), EOS))
            ended |= rows[-1].squeeze(-1) == EOS
            if bool(ended.all()):
                break
        lines = torch.cat(rows, dim=1).tolist()
        return [(*line[: [*line, EOS].index(EOS)], EOS) for line in lines]

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded]:
        """States (batch, target, dim) of the second pass, and what the encoder saw; weights are of the source."""
        draft = self.draft(batch)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.training):  # an explanation asks for gradients
            decoded, encoded = self.first.decode(batch, need_weights=need_weights)
        states, *_ = self.second(decoded.states, self.second.start(draft.seen))
        return decoded._replace(states=states), encoded

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Losses (batch, target) of the second pass in nats, 0 at padding."""
        decoded, encoded = self.decode(batch)
        targets = batch.sequences(TARGET).items
        losses: Tensor = self._head(batch.route).nll(decoded, encoded, targets, smoothing=smoothing)
        return losses

    def distributions(self, batch: Batch) -> Distributions:
        """All words of the vocabulary, for each target token."""
        decoded, encoded = self.decode(batch)
        target = batch.sequences(TARGET)
        log_probs: Tensor = self._head(batch.route).log_probs(decoded, encoded)
        return Distributions(log_probs[target.mask], target.items[target.mask])

    def counted(self, batch: Batch) -> Tensor:
        """(batch, target): the words that `nll` has a loss of."""
        return batch.sequences(TARGET).mask

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        """Which embedder reads which ids of a batch."""
        return self.first.reads(batch)

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        """Return the parts of the first pass, and the second one."""
        return {**self.first.parts(), "second": [self.second], "sides": [self.sides]}

    def foundation(self) -> Sequence[nn.Module]:
        """Return the first pass."""
        return [self.first]

    @property
    def max_source(self) -> int | None:
        """That of the first pass."""
        return self.first.max_source

    def longest(self, batch: Batch) -> int | None:
        """Most ids of a target: those that the first pass can write."""
        return self.first.longest(batch)

    def start(self, batch: Batch) -> Rereading:
        """Draft, then begin anew: one row per source sentence."""
        return Rereading(self.first.start(batch), self.second.start(self.draft(batch).seen))

    def step(self, ids: Tensor, state: Rereading, *, need_weights: bool = False) -> tuple[Step, State]:
        """ids (rows, 1) → log-probabilities (rows, vocab) of the next word; weights are of the source."""
        decoded, after = self._read(ids, state, need_weights)
        log_probs = self._head(state.first.route).log_probs(decoded, state.first.encoded)[:, -1]
        return Step(log_probs, None if decoded.weights is None else decoded.weights[:, -1]), after

    def best(
        self, ids: Tensor, state: Rereading, count: int, forbidden: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        """ids (rows, 1) → the likeliest next words and their log-probabilities (rows, count)."""
        decoded, after = self._read(ids, state)
        head = self._head(state.first.route)
        return *head.best(decoded, state.first.encoded, count, forbidden), after

    def _read(self, ids: Tensor, state: Rereading, need_weights: bool = False) -> tuple[Decoded, Rereading]:
        first, head = state.first, self._head(state.first.route)
        decoded, after = self._decoder(first.route)(ids, first.decoder, need_weights=need_weights or head.needs_weights)
        weights = decoded.weights
        if weights is not None:  # an encoder may have unfolded to more places than there are words
            weights = weights[..., : first.mask.shape[1]].masked_fill(~first.mask.unsqueeze(1), 0.0)
        states, _, second = self.second(decoded.states, state.second)
        return Decoded(states, weights), Rereading(first._replace(decoder=after), second)

    def _decoder(self, route: str) -> Decoder:
        return self.first.decoders[self.first.routes[route].decoder]

    def _head(self, route: str) -> Head:
        return self.first.heads[self.first.routes[route].head]

    def _texts(self, batch: Batch) -> tuple[list[list[int]], list[int], dict[Ids, int]]:
        """Of each row its sentences by number and its own place among them; and the number of each sentence."""
        known, texts, own = dict[Ids, int](), list[list[int]](), list[int]()
        document = batch.columns.get(DOCUMENT)
        source = [tuple(line[mask].tolist()) for line, mask in zip(*batch.sequences(SOURCE), strict=True)]
        given = source if document is None else batch.sequences(DOCUMENT).items.tolist()
        for sentence, text in zip(source, given, strict=True):
            found: list[Ids] = [(*one, EOS) for one in sentences_of([one for one in text if one != PAD])] or [sentence]
            texts.append([known.setdefault(one, len(known)) for one in found])
            own.append(found.index(sentence) if sentence in found else len(found))
        return texts, own, known

    def _laid(self, states: Tensor, target: Sequences, texts: list[list[int]], own: list[int]) -> Draft:
        """states (sentence, n, width) → those of each row's sentences, one after the other, with its side added."""
        most, device = max(map(len, texts), default=1), states.device
        which = torch.tensor([[*some, *[0] * (most - len(some))] for some in texts], device=device).view(-1, most)
        places = torch.arange(most, device=device)
        counts, mine = (torch.tensor(one, device=device).unsqueeze(-1) for one in ([*map(len, texts)], own))
        shown = target.mask[which] & (places < counts).unsqueeze(-1)  # (batch, sentence, n)
        side = torch.where(places < mine, BEFORE, torch.where(places == mine, ITSELF, BEHIND))
        laid = (states[which] + self.sides(side).unsqueeze(2)).flatten(1, 2)
        mask, ids = shown.flatten(1), target.items[which].masked_fill(~shown, PAD).flatten(1)
        return Draft(Encoded(laid, mask, laid.new_zeros(len(laid), laid.shape[-1])), ids)


@known_as("deliberation_network, discourse_two_pass, two_pass")
def deliberation(
    columns: Columns,
    *,
    dim: ModelDim = 256,
    embedder: EmbedderChoice = Choice("words"),
    position: WordPosition = Choice("sinusoidal"),
    encoder: Annotated[EncoderChoice, Doc("What reads the source.")] = Choice("transformer"),
    decoder: Annotated[DecoderChoice, Doc("What writes the target.")] = Choice("transformer"),
    attention: Annotated[AttentionChoice, Doc("How the decoder looks at the source, and blocks at the draft.")] = (
        HEADS_OF_FOUR
    ),
    self_attention: SelfAttention = PROJECTED_HEADS,
    head: HeadChoice = Choice("linear"),
    num_layers: Annotated[Layers, Doc("Blocks of the second pass.")] = 1,
    dropout: DropoutShare = 0.1,
    tied: Tied = "all",
) -> Deliberation:
    """p(target | source, document): a translator, and `num_layers` blocks that look at its draft of the document.

    The translator is that of a run: `init.run`, or --from; its settings are those of that run.
    """
    first = translator(
        columns, dim=dim, embedder=embedder, position=position, encoder=encoder, decoder=decoder, attention=attention,
        self_attention=self_attention, head=head, dropout=dropout, tied=tied,
    )  # fmt: skip
    (decodes,) = first.decoders.values()
    sockets, width = build_sockets(attention, self_attention), decodes.dim + decodes.embedder.dim
    blocks = []
    for _ in range(num_layers):
        cross = sockets.cross(decodes.dim, width)
        below = FEEDFORWARDS.build(
            Choice("position_wise"), decodes.dim, WIDER * decodes.dim, given={"dropout": dropout}
        )
        blocks.append(
            TransformerBlock(
                decodes.dim,
                sockets.causal(decodes.dim),
                cross,
                below,
                context_dim=cross.context_dim(width),
                dropout=dropout,
            )
        )
    return Deliberation(first, GatedBlocks(blocks), width)
