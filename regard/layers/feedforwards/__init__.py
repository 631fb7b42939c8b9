"""Feed-forward sublayers of a block. One file a row, each built with (dim, hidden_dim)."""

from typing import Annotated

from regard.config import Doc, PartOf
from regard.layers.feedforwards.feedforward import FeedForward
from regard.layers.feedforwards.gelu import GeluFeedForward
from regard.layers.feedforwards.position_wise import PositionWise
from regard.layers.feedforwards.sru import BidirectionalSruFeedForward, SruFeedForward
from regard.layers.feedforwards.swish import SwishFeedForward
from regard.registry import Choice, Registry

FEEDFORWARDS: Registry[FeedForward] = Registry(
    "feedforward",
    {
        "bidirectional_sru": BidirectionalSruFeedForward,
        "gelu": GeluFeedForward,
        "position_wise": PositionWise,
        "sru": SruFeedForward,
        "swish": SwishFeedForward,
    },
    inherits=("dropout",),
    within="model.encoder={{name: transformer, feedforward: {part}}}",
)

FeedForwardChoice = Annotated[Choice, PartOf(FEEDFORWARDS), Doc("Feed-forward sublayer of each block.")]
