"""The processes of a training: this one alone, or the many that torchrun has started."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed

from regard.errors import CheckpointError, TrainingError

_T = TypeVar("_T")

BUCKET = 2**23  # numbers that are summed in one call
_PATIENCE = timedelta(days=1)  # of those who wait while the first one prepares; a process that dies is noticed at once
TRANSPORTS = ("gloo", "NCCL", "peer", "TCPStore")  # that tell of it
LOST = (
    "training: another of its processes has ended, so this one ends too; what was saved before is kept. "
    "Go on with --resume"
)


@dataclass(frozen=True)
class World:
    """Every method is called by all processes at the same point; alone it costs nothing."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """True in the process that writes files, logs and validates."""
        return self.rank == 0

    def check_resumed(self, run: Path, processes: int) -> None:
        """Raise CheckpointError for a run of another number of processes, whose updates had other batches."""
        if processes != self.size:
            problem = f"was trained by {processes} processes and cannot go on with {self.size}"
            hint = f"torchrun --nproc_per_node={processes} -m regard train … --resume"
            raise CheckpointError(run, problem, hint if processes > 1 else "without torchrun")

    def seed(self, seed: int) -> int:
        """Return a seed for this process; that of the first one is as given."""
        return seed if self.first else int(np.random.SeedSequence((seed, self.rank)).generate_state(1)[0])

    def gather(self, value: _T) -> list[_T]:
        """Return the value of every process, by rank."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        with meeting():
            distributed.all_gather_object(values, value)
        return values

    def agree(self, value: _T) -> _T:
        """Return the value of the first process."""
        if self.size == 1:
            return value
        values = [value]
        with meeting():
            distributed.broadcast_object_list(values, src=0)
        return values[0]

    def sum(self, tensors: Sequence[Tensor]) -> None:
        """Add up each tensor over all processes, in place. All processes give the same shapes."""
        self._in_buckets(tensors, distributed.all_reduce)

    def sum_rows(self, sparse: Tensor) -> Tensor:
        """Return the sum over all processes of tensors of which each has some rows: (rows, ...), sparse in rows."""
        found = self.gather((sparse.indices().cpu(), sparse.values().cpu()))
        rows, values = (
            torch.cat(parts, dim=axis) for axis, parts in zip((1, 0), zip(*found, strict=True), strict=True)
        )
        return torch.sparse_coo_tensor(rows, values, sparse.shape, check_invariants=False).coalesce().to(sparse.device)

    def spread(self, tensors: Sequence[Tensor]) -> None:
        """Overwrite each tensor with that of the first process."""
        self._in_buckets(tensors, lambda flat: distributed.broadcast(flat, src=0))

    def by_first(self, work: Callable[[], _T]) -> _T:
        """Return to all what the first process alone returns. Where it raises there, the others end silently."""
        if self.size == 1:
            return work()
        results: list[_T] = []
        try:
            if self.first:
                results.append(work())
        finally:
            results = self.agree(results)
        if not results:
            with suppress(RuntimeError):
                distributed.barrier()  # until the first one has ended: it has something to say
            raise SystemExit(1)
        return results[0]

    def in_order(self, work: Callable[[], _T]) -> _T:
        """Run in every process, in the first one before the others. Where it raises there, they end silently."""
        results: list[_T] = []
        self.by_first(lambda: results.append(work()))
        return results[0] if results else work()

    def _in_buckets(self, tensors: Sequence[Tensor], work: Callable[[Tensor], Any]) -> None:
        if self.size == 1:
            return
        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.detach().reshape(-1) for tensor in bucket])
            with meeting():
                work(flat)
            parts = flat.split([tensor.numel() for tensor in bucket])
            for tensor, part in zip(bucket, parts, strict=True):
                tensor.detach().copy_(part.view_as(tensor))


ONE_PROCESS = World()


def process_count() -> int:
    """Return the number of processes that torchrun has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


@contextmanager
def joined_world(device: torch.device) -> Iterator[World]:
    """The processes that torchrun has started, on one GPU each where the device is one; else this process alone."""
    size = process_count()
    if size == 1:
        yield World(device=device)
        return
    backend = "gloo"
    if device.type == "cuda":
        device, backend = torch.device("cuda", int(os.environ["LOCAL_RANK"])), "cpu:gloo,cuda:nccl"
        torch.cuda.set_device(device)
    with meeting():
        distributed.init_process_group(backend, timeout=_PATIENCE)
    try:
        yield World(int(os.environ["RANK"]), size, device)
    finally:
        distributed.destroy_process_group()


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors of one kind and device together, and not too many numbers."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        first = bucket[0] if bucket else tensor
        alike = (tensor.dtype, tensor.device) == (first.dtype, first.device)
        if bucket and (not alike or sum(one.numel() for one in bucket) + tensor.numel() > BUCKET):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket


@contextmanager
def meeting() -> Iterator[None]:
    """Raises TrainingError where another process is gone."""
    try:
        yield
    except RuntimeError as error:
        if not any(name in str(error) for name in TRANSPORTS):
            raise
        raise TrainingError(LOST) from error
