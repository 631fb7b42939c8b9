"""Whole networks with named routes."""

from regard.models.build import (
    ROUTE,
    build_attention,
    build_language_model,
    build_translator,
    most_places,
    unused_sockets,
)
from regard.models.language_model import LanguageModel
from regard.models.model import Generator, Model
from regard.models.settings import AttentionSettings, ModelSettings
from regard.models.translator import Translator

__all__ = [
    "ROUTE", "AttentionSettings", "Generator", "LanguageModel", "Model", "ModelSettings", "Translator",
    "build_attention", "build_language_model", "build_translator", "most_places", "unused_sockets",
]  # fmt: skip
