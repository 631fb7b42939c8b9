"""What follows attention in a block. One file a row, each built with (dim, hidden_dim)."""

from typing import Annotated

from regard.config import PartOf
from regard.layers.feedforwards.feedforward import FeedForward
from regard.layers.feedforwards.position_wise import PositionWise
from regard.layers.feedforwards.sru import BidirectionalSruFeedForward, SruFeedForward
from regard.registry import Choice, Registry

FEEDFORWARDS: Registry[FeedForward] = Registry(
    "feedforward",
    {"position_wise": PositionWise, "sru": SruFeedForward, "bidirectional_sru": BidirectionalSruFeedForward},
)

FeedForwardChoice = Annotated[Choice, PartOf(FEEDFORWARDS, ("dropout",))]  # given none, it takes the block's


def build_feedforward(choice: Choice, dim: int, hidden_dim: int, dropout: float) -> FeedForward:
    """A row of the table, with this dropout unless it has its own."""
    return FEEDFORWARDS.build(Choice(choice.name, {"dropout": dropout, **choice.settings}), dim, hidden_dim)


__all__ = ["FEEDFORWARDS", "FeedForward", "FeedForwardChoice", "PositionWise", "build_feedforward"]
