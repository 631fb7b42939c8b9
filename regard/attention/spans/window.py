"""Restricted self-attention of https://arxiv.org/abs/1706.03762, section 4; dilated and sparse as in
https://arxiv.org/abs/1904.10509.
"""

from typing import Annotated, Literal

from torch import Tensor

from regard.aliases import alias
from regard.attention.parts import Memory, View, Window
from regard.attention.spans.counting import CountingSpan
from regard.config import Doc, note
from regard.config.bounds import Count, Size
from regard.errors import PartError


class WindowSpan(CountingSpan):
    """Query i sees key j if |i - j| <= radius and the pattern has it; keys beyond either end are not there at all.

    band: all of these; dilated: those with (i - j) % dilation = 0; sparse: both those and |i - j| <= dilation, each
    once. `radius` counts places in each pattern, so a dilated window holds 1 + 2 · floor(radius / dilation) keys.
    Joined with "causal", only its left half is left.

    Cost: O(n·r·d)
    """

    aliases = (
        "restricted, restricted_self, sliding_window, band, banded, local_window, windowed, 受限, 窗口",
        alias("dilated, atrous, atrous_self, 空洞, 膨胀", {"pattern": "dilated", "dilation": 2}),
        alias(
            "sparse, sparse_self, 稀疏",
            {"pattern": "sparse", "dilation": 2},
            "a sparse pattern of keys (sparse weights are weighting 'sparsemax')",
        ),
    )

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        radius: Annotated[Count, Doc("Window radius: maximum distance from the query to a key.")] = 16,
        dilation: Annotated[Size, Doc("Dilation: step between the keys of a dilated or sparse window.")] = 1,
        pattern: Annotated[
            Literal["band", "dilated", "sparse"],
            Doc("Keys within the radius: all (band), one in `dilation` (dilated), or those and the nearest (sparse)."),
        ] = "band",
    ) -> None:
        super().__init__(query_dim, key_dim)
        if dilation > 1 and pattern == "band":
            problem = f"is {dilation}, but the pattern 'band' leaves no key out"
            raise PartError(problem, "choose pattern: dilated or sparse", setting="dilation")
        if dilation > max(1, radius):
            shown = "each word sees itself alone" if pattern == "dilated" else "this is the pattern 'band'"
            note("dilation", f"{dilation} is more than the radius of {radius}, so {shown}")
        self.radius, self.dilation, self.pattern = radius, dilation, pattern

    def window(self, queries: Tensor, memory: Memory, past: int) -> Window:
        """The places from the leftmost to the rightmost; a dilated window has but every `dilation`-th of them."""
        step = self.dilation if self.pattern == "dilated" else 1
        steps = self.radius // step
        return Window(self.places(queries, past).squeeze(-1) - steps * step, 2 * steps + 1, step, steady=True)

    def view_at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """queries (..., query, query_dim) → stripes along the diagonal."""
        offset = places - self.places(queries, past)
        distance = offset.abs()
        shown = distance <= self.radius
        if self.pattern == "band":
            return View(shown)
        regular = offset % self.dilation == 0
        if self.pattern == "sparse":
            regular = regular | (distance <= self.dilation)
        return View(shown & regular)
