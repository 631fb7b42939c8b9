"""Two-pass decoding: a first decoder generates a draft, a second one attends to the source and to the draft.

The third training scheme of https://doi.org/10.1609/aaai.v33i01.3301451, whose draft has a pseudo-token for every
ambiguous word. Drafts are data: batches of one decoder alternate with those of the other, as in `one_to_many`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import torch
from torch import Tensor, nn

from regard.aliases import known_as
from regard.attention import unrecorded
from regard.config import Doc
from regard.data.collate import collate
from regard.data.columns import Columns
from regard.errors import PartError, nearest
from regard.models.second_pass import (
    Draft,
    GatedBlocks,
    Rereading,
    SecondPass,
    SecondPassSettings,
    build_second,
    draft_vectors,
    draft_width,
    greedy_drafts,
)
from regard.models.translator import Languages, Translator, build_routes, check_codes, shifted
from regard.ops.kernels.search import CompiledWriter
from regard.ops.modules import evaluating, module_dict
from regard.records import Batch, Decoded, Encoded, Sequences, place

DraftLanguage = Annotated[str, Doc("Target language of the first pass, which the others attend to.")]


class TwoPass(SecondPass):
    """p(target | source, draft): the states of a language's decoder, changed by blocks that attend to the draft.

    The draft is the greedy output of the route `drafts`, without dropout; its choice of words has no gradient, its
    states have one. Batches of that route train its decoder. With closed gates, as at the start, every language has
    its plain decoder.
    """

    def __init__(self, first: Translator, second: Mapping[str, GatedBlocks], drafts: str) -> None:
        """`second` has blocks for each language but `drafts`."""
        super().__init__()
        self.first, self.second, self.drafts = first, module_dict(second), drafts

    def blocks(self, route: str) -> GatedBlocks | None:
        language = self.first.routes[route].decoder
        return None if language == self.drafts else self.second[language]

    def draft(self, batch: Batch) -> Draft:
        """Translate each source along the route of drafts."""
        return self._draft(batch, self.first.encode(batch))

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded]:
        decoded, encoded = self.first.decode(batch, need_weights=need_weights)
        blocks = self.blocks(batch.route)
        if blocks is None:
            return decoded, encoded
        states, *_ = blocks(decoded.states, blocks.start(self._draft(batch, encoded).seen))
        return decoded._replace(states=states), encoded

    def compiled_writer(self, ids: Tensor, state: Rereading, steps: int) -> CompiledWriter | None:
        return self.first.compiled_writer(ids, state.first, steps) if state.second is None else None

    @property
    def languages(self) -> tuple[str, ...]:
        return self.first.languages

    @property
    def own_languages(self) -> tuple[str, ...]:
        return self.first.own_languages

    def route(self, language: str | None) -> str:
        return self.first.route(language)

    def along(self, route: str) -> Sequence[nn.Module]:
        """Return the modules of a route and its blocks; the modules that generate the draft belong to its route."""
        blocks = self.blocks(route)
        return [*self.first.along(route), *([] if blocks is None else [blocks])]

    def draft_route(self, route: str) -> str:
        return self.drafts

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        return {**self.first.parts(), "second": [*self.second.values()]}

    def _draft(self, batch: Batch, encoded: Encoded) -> Draft:
        decoder, device = self._decoder(self.drafts), encoded.states.device
        sources = batch._replace(route=self.drafts)
        with unrecorded():
            with torch.no_grad(), evaluating(self):
                target = place(collate(greedy_drafts(self.first, sources)), device)
            with torch.set_grad_enabled(
                torch.is_grad_enabled() and self.training
            ):  # explanations take the draft as given
                read = Sequences(shifted(target.items), target.mask)
                states = decoder.forced(read, decoder.start(encoded)).states
                seen = draft_vectors(decoder, states, target.items)
        return Draft(Encoded(seen, target.mask, seen.new_zeros(len(seen), seen.shape[-1])), target.items)


@known_as("two_pass_decoding, 两遍解码")
def two_pass(
    columns: Columns, *, languages: Languages, drafts: DraftLanguage = "pseudo", shared: SecondPassSettings
) -> TwoPass:
    """p(target | source, draft): one encoder and a decoder for each of the `languages`; `drafts` is the first pass.

    All others have `num_layers` more blocks, which attend to the draft. It can start from a run of `one_to_many`, or
    of `translator`.
    """
    check_codes(languages)
    if drafts not in languages:
        raise PartError(f"'{drafts}' is not one of the languages", nearest(drafts, languages), setting="drafts")
    if len(languages) == 1:
        raise PartError(f"has '{drafts}' alone, which is the draft", f"languages: [de, {drafts}]", setting="languages")
    first = build_routes(columns, shared, languages)
    width = draft_width(first.decoders[drafts])
    second = {name: build_second(first.decoders[name], width, shared) for name in languages if name != drafts}
    return TwoPass(first, second, drafts)
