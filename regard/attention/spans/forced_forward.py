"""Forced-forward attention: source and target move forward together, so what was read is (nearly) done with."""

import math
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import alias
from regard.attention.parts import Attended, Memory, Span, View, places_of
from regard.attention.spans.counting import taken
from regard.config import Doc
from regard.config.bounds import NotNegative
from regard.errors import PartError
from regard.ops.functional import wide

PENALTY = 5.0


class _Read(NamedTuple):
    """Attention of the queries so far."""

    used: Tensor  # (..., key): the sum of their weights
    last: Tensor  # (..., 1) long: the place of the latest one's largest weight, -1 before the first


class ForcedForwardSpan(Span):
    """soft: score_tj - penalty · sum_(t'<t) weight_t'j; hard: keys before the last query's strongest key are hidden.

    The `penalty` (default 5) is a constant, or `learned`: softplus of a parameter. `strict` also hides that key
    itself; when no key is left, the last key of the sentence stays visible. Gradients flow through the sum, not through
    hidden keys or the place.

    Cost: O(n·m·d), query by query
    """

    aliases = (
        "forced, forced_forward_soft, 强制前向, 强制向前",
        alias("forced_forward_hard", {"mode": "hard"}),
    )
    sequential = True

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        mode: Annotated[
            Literal["soft", "hard"],
            Doc("Keys attended before: soft lowers their scores, hard masks those before the last position."),
        ] = "soft",
        penalty: Annotated[
            NotNegative | None,
            Doc("Penalty per unit of past attention weight; its initial value if it is learned; null: 5."),
        ] = None,
        learned: Annotated[bool, Doc("Learn the penalty.")] = False,
        strict: Annotated[bool, Doc("Mask the last position, too.")] = False,
    ) -> None:
        super().__init__()
        if mode == "hard" and (learned or penalty is not None):
            setting = "learned" if learned else "penalty"
            raise PartError("hard mode has no penalty", "use mode: soft", setting=setting)
        penalty = PENALTY if penalty is None else penalty
        if learned and penalty == 0:
            raise PartError(f"is {penalty}", "more than 0 where it is learned", setting="penalty")
        if strict and mode == "soft":
            raise PartError("soft mode hides no key", "use mode: hard", setting="strict")
        self.hard = self.by_place = mode == "hard"
        self.strict, self.penalty = strict, penalty
        self.raw_penalty = None
        if learned:  # softplus⁻¹
            self.raw_penalty = nn.Parameter(torch.tensor(penalty + math.log(-math.expm1(-penalty))))

    def begin(self, queries: Tensor, memory: Memory) -> _Read:
        used = memory.keys.new_zeros(memory.keys.shape[:-1], dtype=wide(memory.keys.real.dtype))
        return _Read(used, used.new_full((*used.shape[:-1], 1), -1, dtype=torch.long))

    def after(self, past: _Read, attended: Attended, scores: Tensor | None) -> _Read:
        """Add the weights of one query, and moves to the largest of them."""
        if attended.weights is None:
            raise ValueError("what was read is known by the weights of each query")
        if 0 in attended.weights.shape[-2:]:
            return past
        weights = attended.weights.squeeze(-2)
        used = _grown(past.used, weights.shape[-1]) + weights
        seen = weights != 0  # a hidden key weighs exactly 0; a query that saw nothing moves nowhere
        place = weights.masked_fill(~seen, float("-inf")).argmax(dim=-1, keepdim=True)
        return _Read(used, torch.where(seen.any(dim=-1, keepdim=True), place, past.last))

    def view_at(self, queries: Tensor, memory: Memory, past: _Read, places: Tensor) -> View:
        """One query (..., 1, query_dim) → what is left to read, or how much each key is to lose."""
        if not self.hard:
            penalty = self.penalty if self.raw_penalty is None else functional.softplus(self.raw_penalty)
            loss = (penalty * _grown(past.used, memory.keys.shape[-2])).unsqueeze(-2)
            return View(bias=taken(-loss.to(queries.real.dtype), places))
        every = places_of(memory)
        valid = torch.ones_like(every, dtype=torch.bool) if memory.mask is None else memory.mask
        left = valid & (every > past.last if self.strict else every >= past.last)
        final = every == (every * valid).amax(dim=-1, keepdim=True) if len(every) else valid
        return View(taken(torch.where(left.any(dim=-1, keepdim=True), left, final & valid).unsqueeze(-2), places))


def _grown(used: Tensor, num_keys: int) -> Tensor:
    """With zeros for the keys that have come since: a decoder's own words grow."""
    return functional.pad(used, (0, num_keys - used.shape[-1]))
