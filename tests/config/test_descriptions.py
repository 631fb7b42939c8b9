"""A setting's sentence: from its annotation, else from the docstring of its part; it reaches the JSON schema."""

from typing import Annotated

import pytest

from regard.config import Doc
from regard.config.bounds import Size
from regard.config.descriptions import described
from regard.registry import Choice, Registry


class Part:
    """f(x), where x is wide.

    With `scaled` it is divided by sqrt(dim). Else it is not. `width` is how wide x is: any number.
    """

    def __init__(self, *, width: Size = 1, size: Annotated[Size, Doc("How large it is.")] = 2, other: int = 3) -> None:
        self.width, self.size, self.other = width, size, other


@pytest.mark.parametrize(
    ("annotation", "name", "told"),
    [
        (Annotated[Size, Doc("How large it is.")], "size", "How large it is."),
        (Annotated[Size, Doc("Of the annotation.")], "scaled", "Of the annotation."),
        (Annotated[Annotated[int, Doc("Of many parts.")], Doc("Of this one.")], "size", "Of this one."),
        (bool, "scaled", "With `scaled` it is divided by sqrt(dim)."),
        (Size, "wide", ""),
    ],
)
def test_a_sentence_is_found(annotation, name, told):
    assert described(annotation, name, Part.__doc__) == told


def test_descriptions_stand_in_the_schema_and_leave_bounds_strict():
    table = Registry("part", {"part": Part})
    properties = table.model("part").schema_object()["properties"]
    assert properties["size"] == {"default": 2, "description": "How large it is.", "minimum": 1, "type": "integer"}
    assert "description" not in properties["other"]
    with pytest.raises(Exception, match="size: must be at least 1"):
        table.build(Choice("part", {"size": 0}))
