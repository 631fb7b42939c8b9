"""Monotonic attention learns to go through a text word by word."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

WORDS, LONGEST, DIM, ROWS = 12, 8, 32, 64
UPDATES, LEARNING_RATE = 250, 0.01

pytestmark = pytest.mark.usefixtures("learning_seed")


class Copies(nn.Module):
    """Step t of what is written looks at a text, knowing t alone, and writes a word of what it sees."""

    def __init__(self, *, hard: bool) -> None:
        super().__init__()
        self.words, self.steps = nn.Embedding(WORDS, DIM), nn.Embedding(LONGEST, DIM)
        self.places = nn.Embedding(LONGEST, DIM)
        settings = AttentionSettings(
            score=Choice("additive", {"hidden_dim": DIM}), weighting=Choice("monotonic", {"hard": hard})
        )
        self.attention = build_attention(settings, DIM, DIM)
        self.to_word = nn.Linear(DIM, WORDS)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """ids (batch, n) → logits (batch, n, word) and weights (batch, n, n)."""
        words = self.words(ids)
        memory = self.attention.remember(words + self.places.weight[: ids.shape[1]], words, mask)
        queries = self.steps.weight[: ids.shape[1]].expand(len(ids), -1, -1)
        attended = self.attention(queries, memory, need_weights=True)
        return self.to_word(attended.context), attended.weights


def texts(rows: int) -> tuple[Tensor, Tensor]:
    mask = torch.arange(LONGEST) < torch.randint(1, LONGEST + 1, (rows, 1))
    return torch.randint(WORDS, (rows, LONGEST)), mask


@pytest.mark.parametrize("hard", [True, False])
def test_a_copy_is_exact(hard):
    model = Copies(hard=hard)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for _ in range(UPDATES):
        ids, mask = texts(ROWS)
        functional.cross_entropy(model(ids, mask)[0][mask], ids[mask]).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    ids, mask = texts(500)
    with torch.inference_mode():
        logits, weights = model(ids, mask)
    assert bool((logits.argmax(dim=-1) == ids)[mask].all())
    looked = weights.argmax(dim=-1).masked_fill(~mask, LONGEST)
    assert bool((looked[:, 1:] >= looked[:, :-1]).all())
