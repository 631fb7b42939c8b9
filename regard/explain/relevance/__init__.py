"""Relevance (attribution) of each input word to each word of an answer. One file a row, built with its settings."""

from typing import Any

from regard.errors import ConfigError, nearest
from regard.explain.relevance.attention_rollout import AttentionRollout
from regard.explain.relevance.attention_weights import AttentionWeights
from regard.explain.relevance.integrated_gradients import IntegratedGradients
from regard.explain.relevance.lrp import LayerwiseRelevance
from regard.explain.relevance.method import Relevance
from regard.explain.relevance.occlusion import Occlusion
from regard.explain.relevance.question import Question, StateQuestion
from regard.explain.relevance.saliency import GradientTimesInput, Saliency
from regard.explain.relevance.smoothgrad import SmoothGrad
from regard.registry import Choice, Registry

RELEVANCES: Registry[Relevance] = Registry(
    "method",
    {
        "attention": AttentionWeights,
        "attention_rollout": AttentionRollout,
        "gradient_times_input": GradientTimesInput,
        "integrated_gradients": IntegratedGradients,
        "lrp": LayerwiseRelevance,
        "occlusion": Occlusion,
        "saliency": Saliency,
        "smoothgrad": SmoothGrad,
    },
)


def quick_methods() -> list[str]:
    """Return the names of the rows that take a few passes, whatever the text."""
    rows: dict[str, Any] = {name: RELEVANCES[name] for name in RELEVANCES}
    return [name for name, row in rows.items() if row.quick]


def method_of(method: str | Choice) -> Choice:
    """Return the row that a method's name stands for, another name of it, too. Raises ConfigError for none."""
    if isinstance(method, Choice):
        return method
    known = RELEVANCES.find(method)
    if known is None:
        raise ConfigError("method", f"there is no method '{method}'", nearest(method, RELEVANCES))
    return known


__all__ = ["RELEVANCES", "Question", "Relevance", "StateQuestion", "method_of", "quick_methods"]
