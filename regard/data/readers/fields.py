"""Settings that readers of a file share, and columns that stand in numbered fields of a row."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Size
from regard.errors import PartError

FileName = Annotated[str, Doc("File to read, plain or .gz.")]
FieldNumbers = Annotated[
    Mapping[str, Size] | None,
    Doc("Number of the field, from 1, of each column; null: in the order of the columns."),
]


def field_places(columns: Sequence[str], fields: Mapping[str, int] | None) -> dict[str, int]:
    """Return where each column stands, from 0; `fields` counts from 1, None is in order.

    Raises PartError for other columns.
    """
    found = {column: number for number, column in enumerate(columns, start=1)} if fields is None else dict(fields)
    if set(found) != set(columns):
        wanted = ", ".join(columns)
        raise PartError(f"is {found}", f"needed is a field, from 1, for {wanted}", setting="fields")
    return {column: found[column] - 1 for column in columns}


def too_few(found: int, needed: int) -> str:
    """Return what is wrong with a row of `found` fields where so many are read."""
    return f"{found} field{'' if found == 1 else 's'}, {needed} are read"
