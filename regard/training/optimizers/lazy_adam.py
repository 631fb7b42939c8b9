"""Adam that moves only the rows with a gradient: `tf.contrib.opt.LazyAdamOptimizer`, `torch.optim.SparseAdam`."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import torch
from torch import Tensor, nn, optim

from regard.config import Doc
from regard.config.common_settings import AdamBetas, AdamEps, WeightDecay
from regard.training.shards import is_sharded, shard


class LazyAdam(optim.Optimizer):
    """Adam (https://arxiv.org/abs/1412.6980) on the touched rows of each table; other rows and their moments stay.

    m = β₁ m + (1 - β₁) g; v = β₂ v + (1 - β₂) g²; w = w - rate √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + eps).

    A sparse gradient names the touched rows. Of a dense one these are the rows whose norm is not 0, so a table
    of words needs no sparse gradient; a vector is one row. An update that touches no row of a table counts no step t of
    it; of a sharded table every update counts. Weight decay is decoupled, as in AdamW, and shrinks the touched rows
    alone unless `decay_untouched` is set.
    """

    aliases = "sparse_adam, lazy_adam_optimizer"

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        betas: AdamBetas = (0.9, 0.999),
        eps: AdamEps = 1e-8,
        weight_decay: WeightDecay = 0.0,
        decay_untouched: Annotated[bool, Doc("Apply weight decay to rows without a gradient, too.")] = False,
    ) -> None:
        super().__init__(
            parameters,
            {
                "lr": 1e-3,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "decay_untouched": decay_untouched,
                "takes_rows": True,
            },
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]  # no closure is used
        """Move the touched rows of every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group)

    def _move(self, parameter: Tensor, group: dict[str, Any]) -> None:
        table = _real(shard(parameter))
        rows, gradient = _touched(shard(parameter.grad))  # type: ignore[arg-type]  # there is one
        if not len(rows) and not is_sharded(parameter):  # all shards count the same steps
            return
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["step"] += 1
        step, (first, second), rate = float(state["step"]), group["betas"], group["lr"]
        means, squares = (_real(shard(state[name])) for name in ("exp_avg", "exp_avg_sq"))
        mean = means.index_select(0, rows).lerp_(gradient, 1 - first)
        square = squares.index_select(0, rows).mul_(second).addcmul_(gradient, gradient, value=1 - second)
        means.index_copy_(0, rows, mean)
        squares.index_copy_(0, rows, square)
        if group["decay_untouched"]:
            table.mul_(1 - rate * group["weight_decay"])
        values = table.index_select(0, rows)
        if not group["decay_untouched"]:
            values.mul_(1 - rate * group["weight_decay"])
        size = rate * (1 - second**step) ** 0.5 / (1 - first**step)
        table.index_copy_(0, rows, values.addcdiv_(mean, square.sqrt_().add_(group["eps"]), value=-size))


def _touched(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The rows (n,) of a table that have a gradient, and the gradient of each (n, ...); repeated rows are summed."""
    if gradient.is_sparse:
        gradient = gradient.coalesce()
        return gradient.indices()[0], _real(gradient.values())
    gradient = _real(gradient)
    if gradient.dim() < 2:
        gradient = gradient.reshape(1, -1)
    norms = torch.linalg.vector_norm(gradient.flatten(1), dim=1)  # takes 0.4 of the time of any()
    rows = norms.nonzero().squeeze(-1)
    return rows, gradient.index_select(0, rows)


def _real(table: Tensor) -> Tensor:
    """A table of real numbers with rows, (rows, ...), which shares its memory."""
    if table.is_complex():
        table = torch.view_as_real(table)
    return table.reshape(1, -1) if table.dim() < 2 else table
