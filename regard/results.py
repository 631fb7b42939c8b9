"""What a model answers, as plain values: no torch here, so a server, a notebook and a page can hold them cheaply."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class AttentionMap:
    """Where one attention looked: weights[head][query][key], rows of a normalised weighting sum to one."""

    name: str  # of the module that recorded it: decoder.layers.0.cross_attention
    kind: str  # "encoder", "decoder" or "cross"
    layer: int
    weights: list[list[list[float]]]


@dataclass(frozen=True)
class Explanation:
    """What a prediction looked at. `tokens` are the pieces a model saw, as shown to a person."""

    source_tokens: list[str]
    target_tokens: list[str]
    alignment: list[tuple[int, int]]  # (source, target) token positions, from 0
    weights: list[list[float]]  # (target, source): the decoder's own alignment
    maps: list[AttentionMap] = field(default_factory=list)

    def pharaoh(self) -> str:
        """The links as `0-0 1-2`, source before target (the format of word aligners)."""
        return " ".join(f"{source}-{target}" for source, target in self.alignment)


@dataclass(frozen=True)
class Prediction:
    """One answer for one source text."""

    source: str
    text: str
    score: float  # what the search ranked by, in nats
    log_probs: list[float] = field(default_factory=list)  # per target token, the end symbol included
    finished: bool = True  # False when the length limit cut it off
    alternatives: list["Prediction"] = field(default_factory=list)  # the rest of the n best, best first
    explanation: Explanation | None = None
    ids: list[int] | None = field(default=None, repr=False)  # of the pieces written; None: those that spell `text`

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        more = f", {len(self.alternatives)} alternatives" if self.alternatives else ""
        more += "" if self.explanation is None else ", explained"
        return f"Prediction({self.source!r} → {self.text!r}, score {self.score:.3f}{more})"
