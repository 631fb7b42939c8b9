"""Every table of parts, by its kind."""

from collections.abc import Mapping
from typing import Any

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.augmentations import AUGMENTATIONS
from regard.data.readers import READERS
from regard.data.transforms import TRANSFORMS
from regard.decoders import DECODERS
from regard.decoding import SEARCHES
from regard.decoding.features import FEATURES
from regard.encoders import ENCODERS
from regard.evaluation import METRICS
from regard.explain.adequacy import ADEQUACIES
from regard.explain.quality import QUALITY_FEATURES
from regard.explain.relevance import RELEVANCES
from regard.heads import HEADS
from regard.heads.tagging import TAG_HEADS
from regard.layers import LAYERS
from regard.layers.embedders import EMBEDDERS
from regard.layers.feedforwards import FEEDFORWARDS
from regard.layers.histories import HISTORIES
from regard.layers.normalisation import NORMALISATIONS
from regard.layers.pooling import POOLINGS
from regard.layers.positions import POSITIONS
from regard.layers.recurrent import RECURRENT
from regard.models import MODELS
from regard.models.comparisons import COMPARISONS
from regard.models.fusions import FUSIONS
from regard.objectives import OBJECTIVES, PENALTIES
from regard.objectives.posterior_features import POSTERIOR_FEATURES
from regard.objectives.rewards import REWARDS
from regard.registry import Registry
from regard.statistical import ALIGNERS
from regard.statistical.calibration import CALIBRATIONS
from regard.statistical.dictionaries import DICTIONARY_METHODS
from regard.tasks import TASKS
from regard.text import TOKENIZERS
from regard.text.ciphers import CIPHERS
from regard.text.perturbations import PERTURBATIONS
from regard.training.optimizers import OPTIMIZERS
from regard.training.schedules import SCHEDULES

TABLES: Mapping[str, Registry[Any]] = {
    "task": TASKS,
    "model": MODELS,
    "tokenizer": TOKENIZERS,
    "reader": READERS,
    "transform": TRANSFORMS,
    "augmentation": AUGMENTATIONS,
    "score": SCORES,
    "span": SPANS,
    "weighting": WEIGHTINGS,
    "embedder": EMBEDDERS,
    "position": POSITIONS,
    "cell": RECURRENT,
    "encoder": ENCODERS,
    "decoder": DECODERS,
    "feedforward": FEEDFORWARDS,
    "history": HISTORIES,
    "norm": NORMALISATIONS,
    "comparison": COMPARISONS,
    "fusion": FUSIONS,
    "head": HEADS,
    "tag_head": TAG_HEADS,
    "objective": OBJECTIVES,
    "penalty": PENALTIES,
    "posterior_feature": POSTERIOR_FEATURES,
    "reward": REWARDS,
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "search": SEARCHES,
    "feature": FEATURES,
    "adequacy": ADEQUACIES,
    "metric": METRICS,
}
IN_PYTHON: Mapping[str, Registry[Any]] = {  # parts that few configs name, or none
    "pooling": POOLINGS,
    "layer": LAYERS,
    "aligner": ALIGNERS,
    "dictionary_method": DICTIONARY_METHODS,
    "relevance": RELEVANCES,
    "calibration": CALIBRATIONS,
    "quality": QUALITY_FEATURES,
    "perturbation": PERTURBATIONS,
    "cipher": CIPHERS,
}
PARTS: Mapping[str, Registry[Any]] = {**TABLES, **IN_PYTHON}

MECHANISMS: Mapping[
    str, Registry[Any]
] = {  # attention and related parts, also those that no config of a translator names
    "score": SCORES,
    "span": SPANS,
    "weighting": WEIGHTINGS,
    "pooling": POOLINGS,
    "penalty": PENALTIES,
    "position": POSITIONS,
}
NETWORKS: Mapping[str, Registry[Any]] = {  # parts around attention
    kind: TABLES[kind]
    for kind in ("encoder", "decoder", "cell", "feedforward", "history", "norm", "comparison", "fusion", "tag_head")
}
SOCKET_KINDS = ("score", "span", "weighting")  # parts of an attention
