"""What a config may say of a model, as plain values; `build` turns them into modules."""

from dataclasses import dataclass, field
from typing import Literal

from regard.registry import Choice


@dataclass(frozen=True)
class AttentionSettings:
    """One socket and what is put into it."""

    score: Choice = Choice("scaled_dot")
    span: tuple[Choice, ...] = (Choice("everywhere"),)  # a key is seen if every span shows it
    weighting: Choice = Choice("softmax")
    num_heads: int = 1
    project: bool | None = None  # project queries, keys and values; None: only when num_heads > 1
    bias: bool = True  # of the projections
    out_proj: bool = True  # join the heads by one more projection
    gate: bool = False  # multiply the context by sigmoid(w · query + b)
    dropout: float = 0.0  # of the weights


@dataclass(frozen=True)
class ModelSettings:
    """A sequence-to-sequence model of one route."""

    dim: int = 256  # of embeddings and states
    embedder: Choice = Choice("words")
    position: Choice | None = Choice("sinusoidal")  # None: no positions, as recurrent models want it
    encoder: Choice = Choice("transformer")
    decoder: Choice = Choice("transformer")
    attention: AttentionSettings = field(default_factory=lambda: AttentionSettings(num_heads=4))  # decoder → encoder
    self_attention: AttentionSettings = field(default_factory=lambda: AttentionSettings(num_heads=4, project=True))
    head: Choice = Choice("linear")
    dropout: float = 0.1  # of every part that has a `dropout` setting and is given none of its own
    tied: Literal["all", "target", "none"] = "all"  # which embeddings and output tables are one
