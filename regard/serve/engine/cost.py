"""The cost of a question, counted before it is accepted: pieces that a model reads and writes in the time of one.

By it a question chooses its lane, fills batches, and is refused. `GET /v1/limits` tells the limits.
"""

import math
from collections.abc import Sequence

from regard.serve.engine.options import Options

PIECE = 3  # bytes: pieces of European words have more, a Chinese character has as many
BEAM = 4  # hypotheses of a usual search; more of them cost more
BANKS, MOST_BANKS = 8, 32  # terms that widen a beam as much as BEAM does; terms that widen it
PASSES = 4  # a method of explanation, beside a pass that scores; a search with its steps
MAPS = 2  # keeping all that every attention looked at

MAX_PREFIX = 1000  # pieces of a prefix
MAX_EXPLAINED = 512  # pieces of a source and a given target: each word of one is weighed for each of the other
MAX_METHODS = 8  # of one explanation


def cost(options: Options, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = (), given: bool) -> int:
    """The cost of a text whose columns have these lengths in pieces.

    `prefix` and `terms` are pieces that its translation has to keep; `given`: its target is one of the columns.
    """
    if given and options.word is not None:
        return sum(lengths) * options.n_best
    if given:
        methods = len(options.reasons) + bool(options.by) + options.steps
        return sum(lengths) * (1 + PASSES * methods) if methods else max(lengths, default=0)
    width = math.ceil(options.n_best / BEAM) + math.ceil(min(len(terms), MOST_BANKS) / BANKS)
    return (max(lengths, default=0) + prefix + sum(terms)) * width * (MAPS if options.maps else 1)
