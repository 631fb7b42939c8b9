"""Settings that mean the same in many parts: their types, their bounds, and what they do."""

from typing import Annotated, Literal

from regard.config.bounds import Count, Fraction, Layers, NotNegative, Size
from regard.config.descriptions import Doc

DropoutProbability = Annotated[Fraction, Doc("Dropout probability.")]
HiddenDim = Annotated[Size, Doc("Width of the hidden layer or state.")]
NumLayers = Annotated[Layers, Doc("Number of stacked layers.")]
Warmup = Annotated[
    Count,
    Doc("Linear warmup, in updates; at most a quarter of the updates that the limits allow."),
]
LabelSmoothing = Annotated[Fraction, Doc("Label smoothing: probability mass spread over the vocabulary.")]
MaxRatio = Annotated[NotNegative, Doc("Maximum output length, per source piece; max_extra is added.")]
MaxExtra = Annotated[Size, Doc("Maximum output length beyond max_ratio times the source, in pieces.")]
AtLimit = Annotated[
    Literal["end", "free", "cut"],
    Doc("At the maximum length: end at the probability of the end, end free of cost, or cut off without an end."),
]
MinLength = Annotated[Count, Doc("Minimum output length, in pieces.")]
Lowercase = Annotated[bool, Doc("Lowercase before comparing.")]
Momentum = Annotated[NotNegative, Doc("Momentum: decay rate of the accumulated step.")]
WeightDecay = Annotated[NotNegative, Doc("Decoupled weight decay, scaled by the learning rate.")]
AdamBetas = Annotated[
    tuple[Fraction, Fraction], Doc("Adam's betas: decay rates of the running means of the gradient and its square.")
]
AdamEps = Annotated[NotNegative, Doc("Epsilon, for numerical stability.")]
