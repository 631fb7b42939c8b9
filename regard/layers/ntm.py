"""The heads of Neural Turing Machines, which read and write a memory of slots: https://arxiv.org/abs/1410.5401.

Slots and weights of the heads are passed as values.
"""

from torch import Tensor, nn

from regard.attention.addressing import Address, positive, weights_at
from regard.errors import PartError


class AddressHead(nn.Module):
    """w = sharpen(shift(gate · softmax(strength · cos(key, slots)) + (1 - gate) · before)), from the controller."""

    def __init__(self, state_dim: int, slot_dim: int, *, radius: int = 1) -> None:
        super().__init__()
        if radius < 0:
            raise PartError(f"is {radius}", "maximum shift of a head in slots, 0 or more", setting="radius")
        self.sizes = [slot_dim, 1, 1, 2 * radius + 1, 1]
        self.from_state = nn.Linear(state_dim, sum(self.sizes))

    def forward(self, state: Tensor, slots: Tensor, before: Tensor) -> Tensor:
        """state (batch, state_dim), slots (batch, slot, slot_dim), before (batch, slot) → weights (batch, slot)."""
        key, strength, gate, shares, gamma = self.from_state(state).split(self.sizes, dim=-1)
        strength, gamma = (positive(one.squeeze(-1)) for one in (strength, gamma))
        address = Address(key, strength, gate.squeeze(-1).sigmoid(), shares.softmax(dim=-1), 1 + gamma)
        return weights_at(address, slots, before)


class ReadHead(nn.Module):
    """r = sum_i w_i slot_i (equation 2)."""

    aliases = "read_head, memory_head"

    def __init__(self, state_dim: int, slot_dim: int, *, radius: int = 1) -> None:
        super().__init__()
        self.address = AddressHead(state_dim, slot_dim, radius=radius)

    def forward(self, state: Tensor, slots: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Return the read vector (batch, slot_dim) and the weights (batch, slot)."""
        weights = self.address(state, slots, before)
        return read_slots(slots, weights), weights


class WriteHead(nn.Module):
    """slot_i · (1 - w_i erase) + w_i add (equations 3 and 4), erase = sigmoid(…) and add of the controller's state."""

    def __init__(self, state_dim: int, slot_dim: int, *, radius: int = 1) -> None:
        super().__init__()
        self.address = AddressHead(state_dim, slot_dim, radius=radius)
        self.to_erase, self.to_add = nn.Linear(state_dim, slot_dim), nn.Linear(state_dim, slot_dim)

    def forward(self, state: Tensor, slots: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Return the updated slots (batch, slot, slot_dim) and the weights (batch, slot)."""
        weights = self.address(state, slots, before)
        return write_slots(slots, weights, self.to_erase(state).sigmoid(), self.to_add(state)), weights


def read_slots(slots: Tensor, weights: Tensor) -> Tensor:
    """slots (..., slot, dim), weights (..., slot) → (..., dim)."""
    return (weights.unsqueeze(-2) @ slots).squeeze(-2)


def write_slots(slots: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    """slots (..., slot, dim), weights (..., slot), erase in [0, 1] and add (..., dim) → slots of the same shape."""
    share = weights.unsqueeze(-1)
    return slots * (1 - share * erase.unsqueeze(-2)) + share * add.unsqueeze(-2)
