"""Parameters, gradients and optimizers in shards, one for each process: torch's FSDP2."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from regard.objectives import Objective
from regard.ops.kernels.packing import caches_of
from regard.records import Batch, Loss
from regard.training.world import World

Tensors = dict[str, Tensor]


class Together(nn.Module):
    """Model and objective as one module, whose parameters are gathered for a loss and scattered after it."""

    def __init__(self, model: nn.Module, objective: Objective, world: World) -> None:
        super().__init__()
        from torch.distributed.device_mesh import init_device_mesh  # slow to import
        from torch.distributed.fsdp import fully_shard

        self.model, self.objective = model, objective
        mesh = init_device_mesh(world.device.type, (world.size,))
        self._root: Any = fully_shard(self, mesh=mesh, reshard_after_forward=True)
        self._root.set_gradient_divide_factor(1.0)  # sums, not means
        self._root.set_force_sum_reduction_for_comms(True)  # gloo knows no other

    def forward(self, batch: Batch, turn: str) -> Loss:
        """The objective's loss."""
        return self.objective.loss(batch, turn)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Inside, every process has all parameters, and may use the model without the others."""
        self._root.unshard()
        for cache in caches_of(self):
            cache.forget()  # gathered parameters come to the same place in memory, and torch counts no change
        try:
            yield
        finally:
            self._root.reshard()


def whole(tensor: Tensor) -> Tensor:
    """A tensor with all of its shards, for which all processes must ask together."""
    sharded: Any = tensor
    return sharded.full_tensor() if is_sharded(tensor) else tensor


def shard(tensor: Tensor) -> Tensor:
    """Return what this process has of a tensor; in-place changes change the tensor."""
    sharded: Any = tensor
    return sharded.to_local() if is_sharded(tensor) else tensor


def numbers(tensor: Tensor) -> Tensor:
    """Return what this process has of a tensor, or the rows of a sparse one; in-place changes change the tensor."""
    return tensor.values() if tensor.is_sparse else shard(tensor)


def sharded_like(tensor: Tensor, other: Tensor) -> Tensor:
    """A whole tensor that every process has, sharded as another of its shape is."""
    if not is_sharded(other) or tensor.shape != other.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    like: Any = other
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def load_whole(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load whole tensors into a module that may be sharded. Raises RuntimeError for those that do not fit."""
    own = module.state_dict()
    module.load_state_dict(
        {name: sharded_like(one, own[name]) if name in own else one for name, one in tensors.items()}
    )


def is_sharded(tensor: Tensor) -> bool:
    """Return whether it is a DTensor, a class that is slow to import."""
    return hasattr(tensor, "full_tensor")
