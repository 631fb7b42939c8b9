"""Multi-head projections (Vaswani et al. 2017, section 3.2.2): all heads in one tensor, no loop."""

import torch
from torch import Tensor, nn

from regard.errors import PartError
from regard.ops.linear import Linear


class Heads(nn.Module):
    """head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V); out = [head_1 … head_h] W^O.

    Heads are split off `inner_dim` (default query_dim), so head_dim = inner_dim / num_heads.
    Raises ConfigError where num_heads does not divide inner_dim.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        value_dim: int | None = None,
        *,
        num_heads: int = 8,
        inner_dim: int | None = None,
        bias: bool = True,
        out_proj: bool = True,
    ) -> None:
        super().__init__()
        inner = inner_dim or query_dim
        if num_heads < 1 or inner % num_heads:
            divisors = ", ".join(str(heads) for heads in range(1, inner + 1) if inner % heads == 0)
            problem = f"{num_heads} heads do not divide dim {inner}"
            raise PartError(problem, f"choose one of {divisors}", setting="num_heads")
        self.num_heads, self.head_dim, self.inner_dim = num_heads, inner // num_heads, inner
        self.from_query = Linear(query_dim, inner, bias=bias)
        self.from_key = Linear(key_dim, inner, bias=bias)
        self.from_value = Linear(value_dim or key_dim, inner, bias=bias)
        self.to_out: nn.Module = nn.Identity()
        self.dim = inner
        linears = [self.from_query, self.from_key, self.from_value]
        if out_proj:
            self.to_out = Linear(inner, query_dim, bias=bias)
            self.dim = query_dim
            linears.append(self.to_out)
        for linear in linears:
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)

    def queries(self, queries: Tensor) -> Tensor:
        """(batch, query, query_dim) → (batch, head, query, head_dim)."""
        return self._split(self.from_query(queries))

    def keys_and_values(self, keys: Tensor, values: Tensor | None) -> tuple[Tensor, Tensor]:
        """(batch, key, key_dim) each → (batch, head, key, head_dim) each."""
        split = self._split(self.from_key(keys)), self._split(self.from_value(keys if values is None else values))
        if torch.is_grad_enabled():
            return split
        return split[0].contiguous(), split[1].contiguous()  # a search reads them at every step

    def join(self, context: Tensor) -> Tensor:
        """(batch, head, query, head_dim) → (batch, query, dim)."""
        joined: Tensor = self.to_out(context.transpose(-3, -2).flatten(-2))
        return joined

    def _split(self, vectors: Tensor) -> Tensor:
        return vectors.unflatten(-1, (self.num_heads, self.head_dim)).transpose(-3, -2)
