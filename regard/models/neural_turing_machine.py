"""Neural Turing Machines (https://arxiv.org/abs/1410.5401): a network that reads and writes a memory of slots."""

from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import known_as
from regard.config import Doc, PartOf
from regard.config.bounds import Count, Size
from regard.data.columns import Columns
from regard.errors import DataError, PartError
from regard.layers.ntm import ReadHead, WriteHead
from regard.layers.recurrent import RECURRENT, Past, Recurrent
from regard.models.number_model import GIVEN, WANTED, HeadTrace, NumberModel, NumberRows, number_columns
from regard.ops.modules import module_list
from regard.records import Batch, Sequences
from regard.registry import Choice

BLANK = 1e-6  # initial value of every slot (https://arxiv.org/abs/1807.08518: a constant is best)

# unsupported inputs, with their alternatives
BITS, OF_NUMBERS = "a Neural Turing Machine answers bits", "0 and 1; model=sequence_regressor answers a row of numbers"
_ROWS, _FILLED = (
    "a Neural Turing Machine answers as many rows as it is given",
    "fill the shorter side with rows of zeros",
)


class Machine(NamedTuple):
    """The state of a machine between two steps."""

    controller: Past  # empty for a feed-forward one
    slots: Tensor  # (batch, slot, slot_dim)
    places: tuple[Tensor, ...]  # (batch, slot) of each head, write heads first
    reads: Tensor  # (batch, heads · slot_dim)


class NeuralTuringMachine(NumberModel):
    """p(bit = 1) = sigmoid(W [s_t; r_t] + b), s_t = controller([x_t; r_(t-1)]), r_t the read vectors of the memory.

    At each step the write heads act first, then the read heads. It reads all rows, then a mark in a channel of its own,
    then answers step by step without input, as many rows as were given. All heads start at slot 0.
    """

    def __init__(
        self,
        width: int,
        out_width: int,
        controller: Recurrent | None,
        dim: int,
        *,
        num_slots: int,
        slot_dim: int,
        num_heads: int,
        radius: int,
    ) -> None:
        """`controller` reads `read_width` numbers; None: a feed-forward layer of tanh, without a state."""
        super().__init__()
        self.num_slots, self.slot_dim, self.dim = num_slots, slot_dim, dim
        self.controller = controller
        self.feedforward = nn.Linear(read_width(width, num_heads, slot_dim), dim) if controller is None else None
        self.writers = module_list([WriteHead(dim, slot_dim, radius=radius) for _ in range(num_heads)])
        self.readers = module_list([ReadHead(dim, slot_dim, radius=radius) for _ in range(num_heads)])
        self.leave = nn.Linear(dim + num_heads * slot_dim, out_width)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return -sum over the bits of a row of log p(bit), (batch, row); `smoothing` moves each bit towards 0.5.

        Raises DataError for numbers other than bits, and for a number of rows other than the input's.
        """
        _check(batch.sequences(GIVEN), batch.sequences(WANTED))
        wanted, mask = batch.sequences(WANTED)
        logits, _ = self._run(batch.sequences(GIVEN), wanted.shape[1])
        target = (1 - smoothing) * wanted.to(logits) + smoothing / 2
        losses = functional.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(dim=-1)
        return losses.masked_fill(~mask, 0.0)

    def answer(self, batch: Batch) -> NumberRows:
        """Return the likelier value of each bit, one row per input row."""
        given = batch.sequences(GIVEN)
        logits, _ = self._run(given, given.mask.shape[1])
        log_probs = functional.logsigmoid(logits.abs()).sum(dim=-1).masked_fill(~given.mask, 0.0)
        return NumberRows(Sequences((logits > 0).to(logits.dtype), given.mask), log_probs.sum(dim=-1))

    def traces(self, batch: Batch) -> list[HeadTrace]:
        """Return the weights of each head: at the input rows, at the mark, at the rows of the answer."""
        given, wanted = batch.sequences(GIVEN), batch.sequences(WANTED)
        _, places = self._run(given, wanted.mask.shape[1])
        heads = zip(*places, strict=True)
        return [HeadTrace(number < len(self.writers), torch.stack(one, dim=1)) for number, one in enumerate(heads)]

    def _run(self, given: Sequences, rows: int) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        """Return logits (batch, row, out_width) of `rows` rows, and the weights of the heads at each step.

        Examples of a batch do not wait for each other: a short one answers while a long one is still read. Output after
        a complete answer is ignored.
        """
        inputs, mask = given.items.to(self.leave.weight), given.mask
        lengths = mask.sum(dim=1)
        steps = inputs.shape[1] + 1 + rows
        marks = functional.one_hot(lengths, steps).to(inputs).unsqueeze(-1)
        shown = functional.pad(inputs.masked_fill(~mask.unsqueeze(-1), 0.0), (0, 0, 0, steps - inputs.shape[1]))
        machine, states, places = self._begin(inputs), [], []
        for step in torch.cat([shown, marks], dim=-1).unbind(dim=1):
            state, machine = self._step(step, machine)
            states.append(torch.cat([state, machine.reads], dim=-1))
            places.append(machine.places)
        answering = lengths.unsqueeze(-1) + 1 + torch.arange(rows, device=lengths.device)
        seen = torch.stack(states, dim=1).take_along_dim(answering.unsqueeze(-1), dim=1)
        return self.leave(seen), places

    def _begin(self, inputs: Tensor) -> Machine:
        """Return the initial state: an empty memory, with every head at its first slot."""
        count = len(inputs)
        place = functional.one_hot(torch.zeros_like(inputs[:, 0, 0], dtype=torch.long), self.num_slots).to(inputs)
        return Machine(
            () if self.controller is None else self.controller.nothing(inputs),
            inputs.new_full((count, self.num_slots, self.slot_dim), BLANK),
            (place,) * (len(self.writers) + len(self.readers)),
            inputs.new_zeros(count, len(self.readers) * self.slot_dim),
        )

    def _step(self, inputs: Tensor, machine: Machine) -> tuple[Tensor, Machine]:
        """Do a step with inputs (batch, width + 1); return the states of controller (batch, dim) and machine."""
        read = torch.cat([inputs, machine.reads], dim=-1)
        past: Past = ()
        if self.controller is not None:
            outputs, past = self.controller(read.unsqueeze(1), None, machine.controller)
            state = outputs.squeeze(1)
        elif self.feedforward is not None:
            state = torch.tanh(self.feedforward(read))
        slots, places, reads = machine.slots, [], []
        before = iter(machine.places)
        for writer in self.writers:
            slots, place = writer(state, slots, next(before))
            places.append(place)
        for reader in self.readers:
            found, place = reader(state, slots, next(before))
            reads.append(found)
            places.append(place)
        return state, Machine(past, slots, tuple(places), torch.cat(reads, dim=-1))


def _check(given: Sequences, wanted: Sequences) -> None:
    """Raise DataError for examples that a machine cannot answer."""
    (numbers, _), rows = wanted, (given.mask.sum(dim=1), wanted.mask.sum(dim=1))
    strange, unequal = (numbers != 0) & (numbers != 1), rows[0] != rows[1]
    if not bool(strange.any() | unequal.any()):
        return
    if bool(strange.any()):
        raise DataError(WANTED, f"has {float(numbers[strange][0]):g}, but {BITS}", hint=OF_NUMBERS)
    read, asked = (int(one[unequal][0]) for one in rows)
    raise DataError(WANTED, f"has {asked} rows where {read} are given, but {_ROWS}", hint=_FILLED)


def read_width(width: int, num_heads: int, slot_dim: int) -> int:
    """Return the input width of a controller: a row, the mark, and the read vectors of the heads."""
    return width + 1 + num_heads * slot_dim


@known_as("ntm, 神经图灵机")
def neural_turing_machine(
    columns: Columns,
    *,
    dim: Annotated[Size, Doc("Width of the controller's state.")] = 100,
    controller: Annotated[
        Annotated[Choice, PartOf(RECURRENT)] | None,
        Doc("Recurrent layer of the controller; null: a feed-forward layer with tanh."),
    ] = Choice("lstm"),
    num_slots: Annotated[Size, Doc("Number of memory slots.")] = 128,
    slot_dim: Annotated[Size, Doc("Width of a memory slot.")] = 20,
    num_heads: Annotated[Size, Doc("Number of write heads, and of read heads.")] = 1,
    radius: Annotated[Count, Doc("Maximum shift of a head in one step, in slots.")] = 1,
) -> NeuralTuringMachine:
    """p(bits | bits): a controller with a memory of slots, which reads all rows and then writes as many."""
    given, wanted = number_columns(columns)
    if not wanted.bits:
        raise PartError(f"{BITS}, and '{WANTED}' has other numbers", OF_NUMBERS)
    if given.rows != wanted.rows:
        problem = f"{_ROWS}: '{GIVEN}' has up to {given.rows} rows, and '{WANTED}' up to {wanted.rows}"
        raise PartError(problem, _FILLED)
    reads = read_width(given.width, num_heads, slot_dim)
    steers = None if controller is None else RECURRENT.build(controller, reads, dim, place="controller")
    return NeuralTuringMachine(
        given.width, wanted.width, steers, dim,
        num_slots=num_slots, slot_dim=slot_dim, num_heads=num_heads, radius=radius,
    )  # fmt: skip
