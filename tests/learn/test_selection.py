"""Attention that draws one key learns to find the flagged one of ten items."""

import pytest
import torch
from torch import Tensor, nn

from regard.attention import Attention
from regard.models import AttentionSettings, Model, build_attention
from regard.objectives import OBJECTIVES, Context
from regard.records import Batch
from regard.registry import Choice
from regard.training.schedules import LinearSchedule

ITEMS, KINDS, DIM, ROWS = 10, 8, 16, 64
UPDATES, ENOUGH = 400, 0.95

pytestmark = pytest.mark.usefixtures("learning_seed")


class Selects(nn.Module):
    """A learned query looks at items, each a kind and whether it is flagged; what it sees tells a kind."""

    training_losses = Model.training_losses

    def __init__(self, weighting: Choice) -> None:
        super().__init__()
        self.embed, self.query = nn.Linear(KINDS + 1, DIM), nn.Parameter(torch.randn(1, DIM))
        self.attention: Attention = build_attention(
            AttentionSettings(score=Choice("additive", {"hidden_dim": DIM}), weighting=weighting), DIM, DIM
        )
        self.to_kind = nn.Linear(DIM, KINDS)

    def forward(self, items: Tensor) -> Tensor:
        memory = self.attention.remember(self.embed(items))
        context = self.attention(self.query.expand(len(items), 1, DIM), memory).context
        return self.to_kind(context).log_softmax(dim=-1)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        return -self(batch.columns["items"]).gather(-1, batch.columns["kind"].unsqueeze(-1)).squeeze(-1)

    def counted(self, batch: Batch) -> Tensor:
        return torch.ones_like(batch.columns["kind"], dtype=torch.bool)


def batch_of(rows: int) -> Batch:
    kinds = torch.randint(KINDS, (rows, ITEMS))
    flagged = torch.randint(ITEMS, (rows, 1))
    items = nn.functional.one_hot(kinds, KINDS + 1).float()
    items[torch.arange(rows), flagged.squeeze(-1), -1] = 1.0
    columns = {"items": items, "kind": kinds.gather(-1, flagged)}
    return Batch(columns, "select", torch.arange(rows), rows)


@pytest.mark.parametrize(
    "weighting, objective",
    [
        (Choice("hard"), Choice("reinforce")),
        (Choice("hard", {"soft_probability": 0.0}), Choice("reinforce", {"samples": 2})),
        (Choice("gumbel"), Choice("likelihood", {"label_smoothing": 0.0})),
        (Choice("gumbel", {"straight_through": True}), Choice("likelihood", {"label_smoothing": 0.0})),
    ],
    ids=["hard", "hard-only", "gumbel", "straight-through"],
)
def test_the_flagged_item_is_found(weighting: Choice, objective: Choice):
    model = Selects(weighting)
    learnt = OBJECTIVES.build(objective, Context(model))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    cooling = LinearSchedule(1.0, updates=UPDATES, floor=0.1)
    for update in range(1, UPDATES + 1):
        if weighting.name == "gumbel":
            model.attention.weighting.temperature = cooling.value(update)
        loss = learnt.loss(batch_of(ROWS), "model")
        (loss.sum / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    test = batch_of(2000)
    right = model(test.columns["items"]).argmax(dim=-1) == test.columns["kind"]
    assert float(right.float().mean()) >= ENOUGH
