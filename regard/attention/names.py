"""Every name the literature uses → partial settings of a socket (`attention: bahdanau` in a config)."""

import warnings
from collections.abc import Mapping
from typing import Any

from regard.errors import ConfigError, nearest

ALIASES: Mapping[str, Mapping[str, Any]] = {
    "additive": {"score": "additive"},
    "bahdanau": {"score": "additive"},
    "bilinear": {"score": "bilinear"},
    "concat": {"score": "additive"},
    "concat_inner_product": {"score": {"name": "additive", "activation": "none"}},
    "content": {"score": "additive"},
    "coverage": {"score": "coverage"},
    "dot": {"score": "dot"},
    "dot_product": {"score": "dot"},
    "general": {"score": "bilinear"},
    "global": {"span": "everywhere", "weighting": "softmax"},
    "inner_product": {"score": "dot"},
    "linear": {"weighting": "unnormalised"},
    "local-p": {"span": "local_predictive"},
    "local_predictive": {"span": "local_predictive"},
    "luong": {"score": "bilinear"},
    "masked": {"span": "causal"},
    "multihead": {"score": "scaled_dot", "num_heads": 8},
    "multiplicative": {"score": "bilinear"},
    "scaled_dot": {"score": "scaled_dot"},
    "scaled_dot_product": {"score": "scaled_dot"},
    "sigmoid": {"weighting": "sigmoid"},
    "soft": {"span": "everywhere", "weighting": "softmax"},
    "tanh_aggregation": {"score": "additive"},
    "transformer": {"score": "scaled_dot", "num_heads": 8},
    "vaswani": {"score": "scaled_dot", "num_heads": 8},
}

AMBIGUOUS: Mapping[str, str] = {
    "global": "all keys, as in Luong et al. 2015 (others mean one vector for a whole text)",
    "luong": "the bilinear score (the paper also has dot, concat and location)",
}


def resolve(name: str) -> Mapping[str, Any]:
    """The settings an alias stands for. Warns where the literature gives it two meanings."""
    if name not in ALIASES:
        raise ConfigError("model.attention", f"there is no '{name}'", nearest(name, ALIASES))
    if name in AMBIGUOUS:
        warnings.warn(f"attention '{name}' is taken as {AMBIGUOUS[name]}", stacklevel=2)
    return ALIASES[name]
