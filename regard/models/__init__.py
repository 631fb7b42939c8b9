"""Whole networks. One file a row: a function (columns, *, settings) whose keyword-only signature is its config."""

from regard.models.build import build_attention
from regard.models.classifier import classifier
from regard.models.label_model import LabelModel
from regard.models.language_model import LanguageModel, language_model
from regard.models.model import Generator, Model
from regard.models.settings import AttentionSettings
from regard.models.translator import ROUTE, Translator, translator
from regard.registry import Registry

MODELS: Registry[Model] = Registry(
    "model",
    {
        "classifier": classifier,
        "language_model": language_model,
        "translator": translator,
    },
)

__all__ = [
    "MODELS", "ROUTE", "AttentionSettings", "Generator", "LabelModel", "LanguageModel", "Model", "Translator",
    "build_attention",
]  # fmt: skip
