"""What every mechanism does when it is timed."""

import time
from dataclasses import dataclass
from typing import NamedTuple

import torch

from regard.attention import Attention
from regard.models.build import build_attention
from regard.models.settings import AttentionSettings
from regard.ops.plain import plain

SEED = 1


@dataclass(frozen=True)
class Workload:
    """What every mechanism does: as many queries as keys, unless `queries` says otherwise."""

    lengths: tuple[int, ...] = (128, 256, 512, 1024)  # keys
    queries: int | None = None
    dim: int = 256
    heads: int | None = None  # None: as the mechanism says
    batch: int = 1
    backward: bool = True  # the gradients of queries, keys and parameters, too
    rounds: int = 5
    max_memory: float | None = None  # MB a pass may take; None: half of what is free
    device: str = "cpu"


class Mechanism(NamedTuple):
    """A row of the table."""

    name: str
    settings: AttentionSettings
    fast: bool = True  # False: with every fast path switched off


class Pass:
    """One mechanism with its inputs, ready to run."""

    def __init__(self, mechanism: Mechanism, work: Workload, length: int, device: torch.device) -> None:
        torch.manual_seed(SEED)
        self.fast, self.backward, self.device = mechanism.fast, work.backward, device
        self.attention: Attention = build_attention(mechanism.settings, work.dim, work.dim).to(device)
        self.queries = torch.randn(work.batch, work.queries or length, work.dim, device=device)
        self.keys = torch.randn(work.batch, length, work.dim, device=device)
        width = self.attention.context_dim(work.dim)
        self.direction = torch.randn(work.batch, work.queries or length, width, device=device)
        self.wanted = [self.queries.requires_grad_(), self.keys.requires_grad_(), *self.attention.parameters()]
        self.repeats = 1

    def __call__(self) -> None:
        """Keys are prepared and read; with `backward` a weighted sum of the context is led back."""
        with torch.set_grad_enabled(self.backward):
            if self.fast:
                self._once()
            else:
                with plain():
                    self._once()

    def _once(self) -> None:
        context = self.attention(self.queries, self.attention.remember(self.keys)).context
        if self.backward:
            torch.autograd.grad(context, self.wanted, self.direction, allow_unused=True)

    def seconds(self) -> float:
        """Of one pass, on average over as many as it takes to be told from nothing."""
        self._wait()
        start = time.perf_counter()
        for _ in range(self.repeats):
            self()
        self._wait()
        return (time.perf_counter() - start) / self.repeats

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
