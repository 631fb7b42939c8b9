"""Settings that mean the same in many parts: their types, their bounds, and what they do."""

from typing import Annotated

from regard.config.bounds import Count, Fraction, Layers, NotNegative, Size
from regard.config.descriptions import Doc

DropoutShare = Annotated[Fraction, Doc("Share of the numbers set to zero in training, at random.")]
HiddenDim = Annotated[Size, Doc("Width of the hidden layer or state.")]
NumLayers = Annotated[Layers, Doc("Number of layers, each above the other.")]
Warmup = Annotated[
    Count,
    Doc("Updates in which the value rises in a line to its peak; at most a quarter of those that the limits allow."),
]
LabelSmoothing = Annotated[Fraction, Doc("Share of the probability taken from the right piece and spread over all.")]
MaxRatio = Annotated[NotNegative, Doc("Longest answer: so many times the pieces of the source, and max_extra more.")]
MaxExtra = Annotated[Size, Doc("Pieces that an answer may have beyond max_ratio times its source.")]
MinLength = Annotated[Count, Doc("Shortest answer, in pieces.")]
Lowercase = Annotated[bool, Doc("Compare in lower case.")]
Momentum = Annotated[NotNegative, Doc("Share of the last step that the next one keeps.")]
WeightDecay = Annotated[NotNegative, Doc("Share of each weight taken off at an update, times the rate.")]
AdamBetas = Annotated[
    tuple[Fraction, Fraction], Doc("Shares that the running means of the gradient and of its square keep.")
]
AdamEps = Annotated[NotNegative, Doc("Small number that keeps a division from zero.")]
