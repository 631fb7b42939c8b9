"""The captioner: vectors of cells by hand, grids as sets, one step = all steps, and what it refuses."""

import pytest
import torch
from torch.testing import assert_close

from regard.data.columns import TextColumn
from regard.data.columns.numbers import NumbersColumn
from regard.errors import ConfigError, RegardError
from regard.layers.positions.learned import LearnedPosition
from regard.models import MODELS, ROUTE
from regard.models.captioner import CellEmbedder
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice

WIDTH, DIM = 3, 4
CELLS, WORDS = [4, 2], [3, 2]
COLUMNS = {
    "source": NumbersColumn(WIDTH, 4),
    "target": TextColumn.learn(["red star", "blue circle"], Choice("words")),
}


def build(**settings):
    model = MODELS.build(Choice("captioner", {"dim": DIM, "attention": {"score": "additive"}, **settings}), COLUMNS)
    return model.double().eval().requires_grad_(False)


def batch() -> Batch:
    items = torch.randn(2, max(CELLS), WIDTH, dtype=torch.float64)
    mask = torch.arange(max(CELLS)) < torch.tensor(CELLS).unsqueeze(-1)
    ids = torch.tensor([[5, 6, EOS], [7, EOS, PAD]])
    both = {
        "source": Sequences(items.masked_fill(~mask.unsqueeze(-1), 0.0), mask),
        "target": Sequences(ids, ids != PAD),
    }
    return Batch(both, ROUTE, torch.arange(2), 5)


def reordered(batch: Batch, order: list[int]) -> Batch:
    items, mask = batch.sequences("source")
    return batch._replace(columns={**batch.columns, "source": Sequences(items[:, order], mask[:, order])})


def test_vectors_of_cells_by_hand():
    embedder = CellEmbedder(WIDTH, DIM, LearnedPosition(DIM, max_length=5)).double().eval()
    cells = torch.randn(2, 5, WIDTH, dtype=torch.float64)
    vectors, _ = embedder(cells)
    for place in range(5):
        wanted = cells[:, place] @ embedder.enter.weight.T + embedder.enter.bias + embedder.position.table[place]
        assert_close(vectors[:, place], wanted)


def test_more_cells_than_places_are_refused():
    embedder = CellEmbedder(WIDTH, DIM, LearnedPosition(DIM, max_length=5))
    assert embedder.max_length == 5 * WIDTH + 1  # numbers, and one for an end, which grids have not
    with pytest.raises(RegardError, match="a sequence of 6"):
        embedder(torch.randn(1, 6, WIDTH))


def test_without_places_a_grid_is_a_set():
    given = batch()
    shuffled = reordered(given, [1, 0, 2, 3])  # the first two cells, which both grids have
    placeless, placed = build(places=None), build()
    assert_close(placeless.nll(given), placeless.nll(shuffled))
    assert not torch.allclose(placed.nll(given), placed.nll(shuffled))


@pytest.mark.parametrize("decoder", ["recurrent", "transformer"])
def test_one_step_equals_all_steps(decoder):
    model, given = build(decoder=Choice(decoder), position=Choice("sinusoidal")), batch()
    state, ids = model.start(given), given.sequences("target").items
    losses = []
    for read, written in zip([torch.full((2,), BOS), *ids.unbind(1)[:-1]], ids.unbind(1), strict=True):
        step, state = model.step(read.unsqueeze(-1), state)
        losses.append(-step.log_probs.gather(-1, written.unsqueeze(-1)).squeeze(-1))
    assert_close(torch.stack(losses, dim=1).masked_fill(ids == PAD, 0.0), model.nll(given))


def test_batch_mates_cannot_matter():
    model, given = build(), batch()
    items, mask = given.sequences("source")
    ids = given.sequences("target").items
    for row, (cells, words) in enumerate(zip(CELLS, WORDS, strict=True)):
        columns = {
            "source": Sequences(items[row : row + 1, :cells], mask[row : row + 1, :cells]),
            "target": Sequences(ids[row : row + 1, :words], ids[row : row + 1, :words] != PAD),
        }
        alone = model.nll(Batch(columns, ROUTE, torch.arange(1), words))
        assert_close(model.nll(given)[row, :words], alone[0])


def test_a_head_that_copies_is_refused():
    with pytest.raises(ConfigError, match="copies words, and a grid has none"):
        build(head=Choice("pointer"))
