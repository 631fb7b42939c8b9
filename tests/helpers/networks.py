"""Small networks by their settings, for vocabularies that are nothing but sizes."""

from collections.abc import Mapping
from typing import Any, cast

from regard.data.columns import Column
from regard.models import MODELS, Translator
from regard.models.language_model import LanguageModel
from regard.registry import Choice


class SizeColumn:
    """Stands for a column of so many ids, of which a network asks nothing else."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    @property
    def num_values(self) -> int:
        """Return the size."""
        return self.size


def columns_of(**sizes: int) -> Mapping[str, Column]:
    """Columns of these sizes; those of one size are one vocabulary."""
    made = {size: cast(Column, SizeColumn(size)) for size in sizes.values()}
    return {name: made[size] for name, size in sizes.items()}


def build_translator(settings: Mapping[str, Any], source_size: int, target_size: int) -> Translator:
    model = MODELS.build(Choice("translator", settings), columns_of(source=source_size, target=target_size))
    assert isinstance(model, Translator)
    return model


def build_language_model(settings: Mapping[str, Any], size: int) -> LanguageModel:
    model = MODELS.build(Choice("language_model", settings), columns_of(text=size))
    assert isinstance(model, LanguageModel)
    return model
