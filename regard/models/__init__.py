"""Whole networks with named routes."""

from regard.models.build import ROUTE, build_attention, build_translator, unused_sockets
from regard.models.settings import AttentionSettings, ModelSettings
from regard.models.translator import Translator

__all__ = [
    "ROUTE", "AttentionSettings", "ModelSettings", "Translator", "build_attention", "build_translator",
    "unused_sockets",
]  # fmt: skip
