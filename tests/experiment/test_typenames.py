"""Types as a person writes them, for every setting of every part."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le

from regard.config import PartOf
from regard.encoders import EncoderChoice
from regard.experiment import MECHANISMS, TABLES, catalogue
from regard.experiment.settings_help import typename
from regard.layers.recurrent import Cell
from regard.models import AttentionSettings
from regard.objectives import PENALTIES
from regard.registry import Choice


@pytest.mark.parametrize(
    ("annotation", "told"),
    [
        (int, "int"),
        (Annotated[float, Ge(0), Le(1)], "float >= 0, <= 1"),
        (Annotated[int, Ge(2)] | None, "int >= 2 or null"),
        (bool | Literal["lowest"], "bool or lowest"),
        (Literal["a", "b", "c"], "a, b or c"),
        (Literal[1, 2], "1 or 2"),
        (tuple[Annotated[int, Ge(1)], ...], "list of int >= 1"),
        (tuple[float, float], "list of 2 float"),
        (Cell, "a cell"),
        (Cell | None, "a cell or null"),
        (tuple[EncoderChoice, ...], "list of encoders"),
        (EncoderChoice, "an encoder"),
        (Mapping[str, int] | None, "group of int or null"),
        (Mapping[str, Any], "group of settings"),
        (AttentionSettings, "group of settings"),
        (tuple[Annotated[Choice, PartOf(PENALTIES)], ...], "list of penalties"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_type_is_words(annotation, told):
    assert typename(annotation) == told


def test_no_part_shows_what_python_calls_a_type():
    for rows in catalogue({**TABLES, **MECHANISMS}).values():
        for row in rows.values():
            types = [about["type"] for about in row["settings"].values()]
            assert not [one for one in types if set("[(|") & set(one) or "regard." in one or "Optional" in one]
