"""Numbers with their bounds, as settings in signatures need them; others are written out: `Annotated[int, Ge(2)]`."""

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

ANY = "any number"

Size = Annotated[int, Ge(1)]  # of what there is: dims, heads, layers
Layers = Annotated[int, Ge(1), Le(1_000)]  # of modules that are built one by one
Threads = Annotated[int, Ge(0), Le(256)]
Pieces = Annotated[int, Ge(1), Le(1_000_000)]  # of a vocabulary
Count = Annotated[int, Ge(0)]  # of what there may be none
Seed = Annotated[int, Ge(0), Lt(2**63)]  # of draws: eight bytes with a sign
Fraction = Annotated[float, Ge(0), Lt(1)]  # less than the whole, as of dropout
Ratio = Annotated[float, Ge(0), Le(1)]  # the whole, too
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
AnyInt = Annotated[int, ANY]
AnyFloat = Annotated[float, ANY]
