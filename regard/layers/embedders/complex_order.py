"""Complex-order embeddings: https://arxiv.org/abs/1912.12333 (Wang et al., ICLR 2020), equation 6."""

import math
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import alias
from regard.config import Doc
from regard.config.common_settings import DropoutProbability
from regard.errors import PartError
from regard.layers.embedders.embedder import Embedder
from regard.layers.positions.position import Position
from regard.ops.dropout import Dropout
from regard.ops.functional import wide
from regard.records import PAD


class ComplexOrderEmbedder(Embedder):
    """f_j(p) = r_j · exp(i (ω_j p + θ_j)), places p from 1; read as the vector [real; imaginary], dim/2 features each.

    The amplitude r is a number per word and feature; padding has 0. `frequencies` ω: one per word and feature, per
    word, per feature, or "fixed" per feature as sinusoids have them; those per feature start there too. Phases θ are 0
    (in the paper they hurt); with `phases` the table holds r exp(iθ) as [real; imaginary], which a head may share.
    Without `places` p is 1 everywhere: the paper's "complex-vanilla", which ignores order. `scale` multiplies the
    table by sqrt(dim). Positions are included, so the model's own position must be null.
    """

    aliases = (
        "c_order, complex_embedding, complex_order_embedding, 复数",
        alias("complex_vanilla, c_vanilla", {"places": False}),
    )

    rates: Tensor

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        position: Position | None = None,
        *,
        frequencies: Annotated[
            Literal["word_and_feature", "word", "feature", "fixed"],
            Doc("Parameters with their own frequency; fixed: sinusoidal frequencies per feature."),
        ] = "word_and_feature",
        phases: Annotated[bool, Doc("Learn phases, too.")] = False,
        places: Annotated[bool, Doc("Rotate features by position; without it word order is ignored.")] = True,
        scale: Annotated[bool, Doc("Multiply the embeddings by sqrt(dim).")] = True,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        if dim % 2:
            raise PartError(f"{dim} features do not split into real and imaginary ones", "make it even")
        if position is not None:
            problem = "'complex_order' vectors include positions"
            raise PartError(problem, "set position to null")
        self.dim, self.phases, self.places = dim, phases, places
        self.scale = math.sqrt(dim) if scale else 1.0
        width = dim if phases else dim // 2
        self.table = nn.Parameter(torch.empty(vocab_size, width))
        nn.init.normal_(self.table, std=width**-0.5)
        self.by_word = frequencies.startswith("word")
        rates = _first_rates(vocab_size, dim // 2, frequencies)
        if frequencies == "fixed":
            self.register_buffer("rates", rates, persistent=False)
        else:
            self.rates = nn.Parameter(rates)
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, past: int | None = None) -> tuple[Tensor, int]:
        start = past or 0
        vectors = self.dropout(torch.cat(self.parts(ids, start), dim=-1))
        return vectors, start + ids.shape[-1]

    def parts(self, ids: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """ids (batch, n) after `start` others → real and imaginary part, (batch, n, dim / 2) each.

        `torch.complex(*parts)` is what complex layers read.
        """
        rates = functional.embedding(ids, self.rates) if self.by_word else self.rates
        places = torch.arange(start + 1, start + ids.shape[-1] + 1, device=ids.device).unsqueeze(-1)
        places = places if self.places else torch.ones_like(places)
        angles = places * rates.to(wide(rates.dtype))  # bfloat16 cannot represent 257
        cosines, sines = angles.cos().to(self.table.dtype), angles.sin().to(self.table.dtype)
        words = functional.embedding(ids, self.table) * (self.scale * (ids != PAD)).unsqueeze(-1).to(self.table.dtype)
        if not self.phases:
            return words * cosines, words * sines
        real, imaginary = words.chunk(2, dim=-1)
        return real * cosines - imaginary * sines, real * sines + imaginary * cosines

    def output_weight(self) -> nn.Parameter:
        """The table (vocab_size, dim) of r exp(iθ). Raises PartError without phases: it is then half as wide."""
        if not self.phases:
            problem = "the amplitudes of 'complex_order' are half as wide as its vectors, so no head can share them"
            raise PartError(problem, "use tied: none, or phases: true", setting="tied")
        return self.table


def _first_rates(vocab_size: int, num_features: int, frequencies: str) -> Tensor:
    """Return initial ω, in radians per place: those of sinusoids, or, for one per word, sampled from their range."""
    if frequencies == "word":
        return torch.exp(-math.log(1e4) * torch.rand(vocab_size, 1))
    waves = torch.exp(-math.log(1e4) * torch.arange(num_features, dtype=torch.float64) / num_features)
    rates = waves.to(torch.get_default_dtype())
    return rates.repeat(vocab_size, 1) if frequencies == "word_and_feature" else rates
