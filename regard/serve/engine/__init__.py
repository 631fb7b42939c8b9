"""Models in processes of their own, behind queues. This package needs neither HTTP nor torch.

Only `worker`, `answering` and `model_info` need torch; they run in a model's process.
"""

from regard.serve.engine.capacity import Batched, Limits
from regard.serve.engine.engine import Engine
from regard.serve.engine.engines import Engines, open_engines
from regard.serve.engine.faults import (
    Busy,
    Failed,
    NotReady,
    OutOfMemory,
    ServingError,
    TooCostly,
    TooLate,
    TooLong,
    Unreadable,
)
from regard.serve.engine.questions import Alternatives, Explain, GivenText, Predict, QuestionRow

__all__ = [
    "Alternatives",
    "Batched",
    "Busy",
    "Engine",
    "Engines",
    "Explain",
    "Failed",
    "GivenText",
    "Limits",
    "NotReady",
    "OutOfMemory",
    "Predict",
    "QuestionRow",
    "ServingError",
    "TooCostly",
    "TooLate",
    "TooLong",
    "Unreadable",
    "open_engines",
]
