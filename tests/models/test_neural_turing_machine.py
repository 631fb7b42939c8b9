"""The Neural Turing Machine: a whole run against a loop over steps and slots, mates, and what heads may do."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.columns.numbers import NumbersColumn
from regard.errors import ConfigError, DataError
from regard.models import MODELS
from regard.models.neural_turing_machine import BLANK
from regard.records import Batch, Sequences
from regard.registry import Choice

WIDTH, DIM, SLOTS, SLOT = 2, 5, 4, 3
LENGTHS = [3, 1, 2]
MADE = {"dim": DIM, "num_slots": SLOTS, "slot_dim": SLOT}


def build(controller: str | None, **settings):
    columns = {name: NumbersColumn(WIDTH, 3) for name in ("given", "wanted")}
    chosen = {**MADE, "controller": None if controller is None else Choice(controller), **settings}
    model = MODELS.build(Choice("neural_turing_machine", chosen), columns).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model.requires_grad_(False)


def bits(lengths: list[int] = LENGTHS) -> Batch:
    items = torch.randint(0, 2, (len(lengths), max(lengths), WIDTH)).double()
    return batch_of(items, torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(-1))


def batch_of(items: Tensor, mask: Tensor) -> Batch:
    both = {name: Sequences(items, mask) for name in ("given", "wanted")}
    return Batch(both, None, torch.arange(len(items)), int(mask.sum()))


def alone(batch: Batch, row: int) -> Batch:
    items, mask = batch.sequences("given")
    length = int(mask[row].sum())
    return batch_of(items[row : row + 1, :length], mask[row : row + 1, :length])


def located(head, state: Tensor, memory: Tensor, before: Tensor) -> Tensor:
    """Equations 5 to 9, slot by slot."""
    said = head.from_state.weight @ state + head.from_state.bias
    key, strength, gate = said[:SLOT], torch.log1p(said[SLOT].exp()), torch.sigmoid(said[SLOT + 1])
    shares, gamma = said[SLOT + 2 : SLOT + 5].softmax(dim=0), 1 + torch.log1p(said[SLOT + 5].exp())
    alike = torch.stack([strength * (key @ slot) / (key.norm() * slot.norm()) for slot in memory]).exp()
    gated = gate * alike / alike.sum() + (1 - gate) * before
    moved = torch.zeros(SLOTS, dtype=torch.float64)
    for slot in range(SLOTS):
        for step, share in zip((-1, 0, 1), shares, strict=True):
            moved[(slot + step) % SLOTS] += share * gated[slot]
    return moved**gamma / (moved**gamma).sum()


def loop(model, rows: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """A machine with one head of each kind and a feed-forward controller → logits, where it wrote, where it read."""
    memory = torch.full((SLOTS, SLOT), BLANK, dtype=torch.float64)
    wrote = read_at = torch.eye(SLOTS, dtype=torch.float64)[0]
    found, logits, writes, reads = torch.zeros(SLOT, dtype=torch.float64), [], [], []
    (writer,), (reader,), count = model.writers, model.readers, len(rows)
    for step in range(2 * count + 1):
        row = rows[step] if step < count else torch.zeros(WIDTH, dtype=torch.float64)
        shown = torch.cat([row, torch.tensor([float(step == count)], dtype=torch.float64), found])
        state = torch.tanh(model.feedforward.weight @ shown + model.feedforward.bias)
        wrote = located(writer.address, state, memory, wrote)
        erase = torch.sigmoid(writer.to_erase.weight @ state + writer.to_erase.bias)
        add = writer.to_add.weight @ state + writer.to_add.bias
        memory = torch.stack([slot * (1 - w * erase) + w * add for slot, w in zip(memory, wrote, strict=True)])
        read_at = located(reader.address, state, memory, read_at)
        found = sum(w * slot for w, slot in zip(read_at, memory, strict=True))
        if step > count:
            logits.append(model.leave.weight @ torch.cat([state, found]) + model.leave.bias)
        writes.append(wrote)
        reads.append(read_at)
    return torch.stack(logits), writes, reads


def test_a_whole_run_equals_a_loop(assert_agrees):
    model, batch = build(None), bits()
    losses, (numbers, scores), traces = model.nll(batch), model.answer(batch), model.traces(batch)
    items, mask = batch.sequences("given")
    for row, length in enumerate(LENGTHS):
        logits, *places = loop(model, items[row, :length])
        right = logits.sigmoid() * items[row, :length] + (1 - logits.sigmoid()) * (1 - items[row, :length])
        assert_agrees("D14", losses[row, :length], -right.log().sum(dim=-1))
        assert bool((losses[row, length:] == 0).all())
        assert_close(numbers.items[row, :length], (logits > 0).double())
        assert_agrees("D14", scores[row], torch.maximum(logits.sigmoid(), 1 - logits.sigmoid()).log().sum())
        for trace, place in zip(traces, places, strict=True):
            assert_agrees("D14", trace.weights[row, : 2 * length + 1], torch.stack(place))
    assert_close(numbers.mask, mask)
    assert [trace.writes for trace in traces] == [True, False]


@pytest.mark.parametrize("controller", [None, "lstm", "gru"])
@pytest.mark.parametrize("num_heads", [1, 2])
def test_batch_mates_cannot_matter(controller, num_heads):
    model, batch = build(controller, num_heads=num_heads), bits()
    together, answers = model.nll(batch), model.answer(batch)
    for row, length in enumerate(LENGTHS):
        one = alone(batch, row)
        assert_close(together[row, :length], model.nll(one)[0])
        assert_close(answers.numbers.items[row, :length], model.answer(one).numbers.items[0])
        assert_close(answers.scores[row], model.answer(one).scores[0])


@pytest.mark.parametrize("settings", [{"num_slots": 1}, {"radius": 0}, {"radius": 3}, {"num_heads": 3}])
def test_heads_are_distributions_over_slots(settings):
    model, batch = build("lstm", **settings), bits()
    traces = model.traces(batch)
    assert len(traces) == 2 * settings.get("num_heads", 1)
    for trace in traces:
        assert trace.weights.shape == (3, 2 * 3 + 1, settings.get("num_slots", SLOTS))
        assert_close(trace.weights.sum(dim=-1), torch.ones_like(trace.weights[..., 0]))
        assert bool((trace.weights >= 0).all())


def test_smoothing_draws_bits_towards_a_half():
    """Of each bit, nll at smoothing s is (1 - s) · nll + s · what two answers of a half cost on average."""
    model, batch = build(None), bits()
    items, mask = batch.sequences("given")
    flipped = {"given": Sequences(items, mask), "wanted": Sequences(1 - items, mask)}
    right, wrong = model.nll(batch), model.nll(batch._replace(columns=flipped))
    assert_close(model.nll(batch, smoothing=0.2), 0.8 * right + 0.2 * (right + wrong) / 2)


def test_numbers_that_are_no_bits_are_refused():
    model, (items, mask) = build(None), bits().sequences("given")
    batch = bits()
    batch.columns["wanted"] = Sequences(torch.where(mask.unsqueeze(-1), 0.65, 0.0), mask)
    with pytest.raises(DataError, match=r"wanted: has 0\.65, but a Neural Turing Machine answers bits \(0 and 1"):
        model.nll(batch)
    batch.columns.update(given=Sequences(0.65 * items, mask), wanted=Sequences(items, mask))
    assert bool(model.nll(batch).isfinite().all())  # what is read may be any numbers


def test_other_rows_than_were_given_are_refused():
    model, batch = build(None), bits()
    items, mask = batch.sequences("given")
    batch.columns["wanted"] = Sequences(items[:, :1], mask[:, :1])
    with pytest.raises(DataError, match=r"wanted: has 1 rows where 3 are given.*fill the shorter side"):
        model.nll(batch)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("0.65 0; 0 1", "answers bits, and 'wanted' has other numbers"),
        ("0 1", "'given' has up to 2 rows, and 'wanted'"),
    ],
)
def test_a_machine_is_not_built_for_what_it_cannot_answer(wanted, told):
    values = {"given": ["1 0; 0.5 1"], "wanted": [wanted]}
    columns = {name: NumbersColumn.learn(some, Choice("words")) for name, some in values.items()}
    with pytest.raises(ConfigError, match=told):
        MODELS.build(Choice("neural_turing_machine", MADE), columns)


def test_gradients_reach_every_weight():
    model, batch = build("lstm").requires_grad_(True), bits()
    model.nll(batch).sum().backward()
    assert all(bool((parameter.grad != 0).any()) for parameter in model.parameters())
