"""Deliberation: a draft of all sentences of a text, then a second pass that attends to the draft.

https://arxiv.org/abs/1811.05683. Rows are sentences; the column `document` has the text of each, so a row's answer does
not depend on other rows, and a sentence that several rows need is drafted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from regard.aliases import known_as
from regard.attention import unrecorded
from regard.config import Before, Doc
from regard.config.bounds import NotNegative
from regard.data.collate import collate
from regard.data.columns import Columns
from regard.data.columns.sentences import sentences_in
from regard.models.model import ROUTE
from regard.models.second_pass import (
    Draft,
    DraftIds,
    GatedBlocks,
    SecondPass,
    SecondPassSettings,
    build_second,
    draft_vectors,
    draft_width,
    greedy_drafts,
    longest_draft,
)
from regard.models.settings import HEADS_OF_FOUR, AttentionChoice
from regard.models.translator import Translator, build_routes
from regard.ops.modules import evaluating
from regard.records import DOCUMENT, EOS, PAD, SOURCE, TARGET, Batch, Decoded, Encoded, Sequences, place

BEFORE, ITSELF, BEHIND = range(3)  # place of a sentence of a text, relative to that of the row


class Deliberation(SecondPass):
    """p(target | source, document): states of a translator, changed by blocks that attend to its draft of the text.

    The translator, taken from the run to start from, is the first pass and the basis of the second one. It is frozen,
    or with `joint` above 0 trained by the loss of both passes; a draft has no gradient. With the blocks' gates at 0
    both passes are equal.
    """

    def __init__(self, first: Translator, second: GatedBlocks, width: int, joint: float = 0.0) -> None:
        """`width` is that of a piece of the draft: the sum of decoder and embedder."""
        super().__init__()
        self.first, self.second, self.joint = first.requires_grad_(joint > 0).train(joint > 0), second, joint
        self.sides = nn.Embedding(3, width)

    def train(self, mode: bool = True) -> "Deliberation":
        """Keep a frozen first pass in evaluation mode, without dropout."""
        super().train(mode)
        self.first.train(mode and self.joint > 0)
        return self

    def blocks(self, route: str) -> GatedBlocks:
        return self.second

    def draft(self, batch: Batch) -> Draft:
        """Draft the text of each row, sentence by sentence. Without a document the text is the source alone."""
        texts, own, known = self._texts(batch)
        device = batch.sequences(SOURCE).items.device
        with torch.no_grad(), unrecorded(), evaluating(self.first):
            source = Batch({SOURCE: collate([*known])}, batch.route, torch.arange(len(known)), 0).to(device)
            target = place(collate(greedy_drafts(self.first, source)), device)
            decoded, _ = self.first.decode(source._replace(columns={**source.columns, TARGET: target}))
            laid = draft_vectors(self._decoder(batch.route), decoded.states, target.items)
        return self._laid(laid, target, texts, own)

    def longest_draft(self, ids: Mapping[str, Sequence[int]]) -> int:
        """Return the maximum number of places of the drafts of an example's text."""
        sentences = sentences_in([*ids[DOCUMENT]]) or [[*ids[SOURCE]]]
        return sum(longest_draft(len(one) + 1) for one in sentences)

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded]:
        decoded, states, encoded = self._passes(batch, need_weights=need_weights)
        return decoded._replace(states=states), encoded

    @property
    def has_joint_loss(self) -> bool:
        """Return whether the first pass is trained as well."""
        return self.joint > 0

    def training_losses(self, batch: Batch, *, smoothing: float = 0.0) -> Mapping[str, Tensor]:
        """Return the loss of the second pass and, with `joint`, that weight times the loss of the first pass."""
        if not self.joint:
            return super().training_losses(batch, smoothing=smoothing)
        decoded, states, encoded = self._passes(batch)
        head, targets = self._head(batch.route), batch.sequences(TARGET).items
        first, second = (
            head.nll(one, encoded, targets, smoothing=smoothing).sum()
            for one in (decoded, decoded._replace(states=states))
        )
        return {"loss": second, "first_pass": self.joint * first}

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        return {**self.first.parts(), "second": [self.second], "sides": [self.sides]}

    def foundation(self) -> Sequence[nn.Module]:
        """Return the first pass, if it is frozen."""
        return [] if self.joint else [self.first]

    def _passes(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Tensor, Encoded]:
        """Return the first pass's decoding, the second pass's states (batch, target, dim), and the source's states."""
        draft = self.draft(batch)
        learns = self.joint > 0 or not self.training  # explanations need gradients
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns):
            decoded, encoded = self.first.decode(batch, need_weights=need_weights)
        states, *_ = self.second(decoded.states, self.second.start(draft.seen))
        return decoded, states, encoded

    def _texts(self, batch: Batch) -> tuple[list[list[int]], list[int], dict[DraftIds, int]]:
        """Return each row's sentences by number and its place among them; and the number of each sentence."""
        known, texts, own = dict[DraftIds, int](), list[list[int]](), list[int]()
        document = batch.columns.get(DOCUMENT)
        source = [tuple(line[mask].tolist()) for line, mask in zip(*batch.sequences(SOURCE), strict=True)]
        given = source if document is None else batch.sequences(DOCUMENT).items.tolist()
        for sentence, text in zip(source, given, strict=True):
            found: list[DraftIds] = [(*one, EOS) for one in sentences_in([one for one in text if one != PAD])] or [
                sentence
            ]
            texts.append([known.setdefault(one, len(known)) for one in found])
            own.append(found.index(sentence) if sentence in found else len(found))
        return texts, own, known

    def _laid(self, states: Tensor, target: Sequences, texts: list[list[int]], own: list[int]) -> Draft:
        """Concatenate states (sentence, n, width) of each row's sentences, with the vector of their side added."""
        most, device = max(map(len, texts), default=1), states.device
        which = torch.tensor([[*some, *[0] * (most - len(some))] for some in texts], device=device).view(-1, most)
        places = torch.arange(most, device=device)
        counts, mine = (torch.tensor(one, device=device).unsqueeze(-1) for one in ([*map(len, texts)], own))
        shown = target.mask[which] & (places < counts).unsqueeze(-1)  # (batch, sentence, n)
        side = torch.where(places < mine, BEFORE, torch.where(places == mine, ITSELF, BEHIND))
        laid = (states[which] + self.sides(side).unsqueeze(2)).flatten(1, 2)
        mask, ids = shown.flatten(1), target.items[which].masked_fill(~shown, PAD).flatten(1)
        return Draft(Encoded(laid, mask, laid.new_zeros(len(laid), laid.shape[-1])), ids)


@dataclass(frozen=True)
class DeliberationSettings(SecondPassSettings):
    """Settings of both passes, the first of which has one decoder."""

    attention: Annotated[
        AttentionChoice, Doc("Attention over the source in the decoder, and over the draft in its blocks.")
    ] = HEADS_OF_FOUR


@known_as("deliberation_network, discourse_two_pass")
def deliberation(
    columns: Columns,
    *,
    shared: DeliberationSettings,
    joint: Annotated[
        NotNegative,
        Doc("Loss weight of the first pass, which is then trained, too; 0: it is frozen."),
        Before("dropout"),
    ] = 0.0,
) -> Deliberation:
    """p(target | source, document): a translator, and `num_layers` blocks that attend to its draft of the document.

    The translator is that of a run: `init.run`, or --from; its settings are those of that run. With `joint` above 0 it
    is trained further, as in the paper, by `objective=likelihood`.
    """
    first = build_routes(columns, shared, [ROUTE])
    (decodes,) = first.decoders.values()
    second = build_second(decodes, draft_width(decodes), shared)
    return Deliberation(first, second, draft_width(decodes), joint)
