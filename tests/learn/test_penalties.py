"""Penalties change where a trained model looks, and it still does its work."""

import torch
from torch import Tensor, nn

from regard.attention import Role, stamped
from regard.models import AttentionSettings, Model, build_attention
from regard.objectives import Context, PenalisedObjective, build_penalties
from regard.objectives.likelihood import LikelihoodObjective
from regard.records import Batch, Sequences
from regard.registry import Choice

PLACES, KINDS, DIM, ROWS, QUERIES = 6, 5, 16, 64, 6
UPDATES, RIGHT = 200, 0.95


class Captions(nn.Module):
    """Each of several learned queries looks at the places of a picture and tells a word."""

    training_losses = Model.training_losses

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.queries = nn.Linear(KINDS + 1 + PLACES, DIM), nn.Parameter(torch.randn(QUERIES, DIM))
        additive = AttentionSettings(score=Choice("additive", {"hidden_dim": DIM}))
        self.attention = stamped(build_attention(additive, DIM, DIM), Role("target", "source"))
        self.to_word = nn.Linear(DIM, KINDS)

    def forward(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """places (batch, place, feature) → log-probabilities (batch, query, kind) and weights (batch, query, place)."""
        memory = self.attention.remember(self.embed(places))
        attended = self.attention(self.queries.expand(len(places), -1, -1), memory, need_weights=True)
        return self.to_word(attended.context).log_softmax(dim=-1), attended.weights

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        log_probs, _ = self(batch.sequences("source").items)
        return -log_probs.gather(-1, batch.sequences("target").items.unsqueeze(-1)).squeeze(-1)


def picture(shown: float) -> Batch:
    """Pictures of one kind of thing, to be seen at a place with probability `shown`, at one of them at least."""
    kinds = torch.randint(KINDS, (ROWS, 1))
    visible = torch.rand(ROWS, PLACES) < shown
    visible[torch.arange(ROWS), torch.randint(PLACES, (ROWS,))] = True
    things = torch.where(visible, kinds, KINDS)
    where = torch.eye(PLACES).expand(ROWS, -1, -1)
    places = torch.cat([nn.functional.one_hot(things, KINDS + 1).float(), where], dim=-1)
    every = torch.ones(ROWS, PLACES, dtype=torch.bool)
    columns = {"source": Sequences(places, every), "target": Sequences(kinds.expand(-1, QUERIES), every)}
    return Batch(columns, "describe", torch.arange(ROWS), ROWS * QUERIES)


def trained(penalties: list[Choice], shown: float, seed: int) -> Tensor:
    """The weights (batch, query, place) of a model after training; it must have learned to tell the kind."""
    torch.manual_seed(seed)
    model = Captions()
    objective = PenalisedObjective(LikelihoodObjective(Context(model), label_smoothing=0.0), build_penalties(penalties))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(UPDATES):
        loss = objective.loss(picture(shown), "model")
        (loss.sum / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    test = picture(shown)
    with torch.inference_mode():
        log_probs, weights = model(test.sequences("source").items)
    right = log_probs.argmax(dim=-1) == test.sequences("target").items
    assert float(right.float().mean()) >= RIGHT
    return weights


def test_the_doubly_stochastic_penalty_evens_out_how_much_each_place_is_looked_at(learning_seed):
    penalty = Choice("doubly_stochastic", {"weight": 1.0})
    without, with_ = (
        trained(penalties, 0.7, learning_seed).sum(dim=1).var(dim=-1).mean() for penalties in ([], [penalty])
    )
    assert float(with_) < 0.5 * float(without)


def test_the_overlap_penalty_halves_what_hops_have_in_common(learning_seed):
    def common(weights: Tensor) -> float:
        products = weights @ weights.mT
        return float(products[:, ~torch.eye(QUERIES, dtype=torch.bool)].mean())

    penalty = Choice("overlap", {"weight": 1.0, "between": "hops"})
    without, with_ = (common(trained(penalties, 1.0, learning_seed)) for penalties in ([], [penalty]))
    assert with_ <= 0.5 * without
