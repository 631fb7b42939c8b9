"""Models in processes of their own, behind queues: what a server asks. No HTTP and no torch in here.

Only `worker`, `answering` and `model_info`, which a model's process runs, need torch.
"""

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
from regard.serve.engine.options import Batched, Limits, Options, Predicts, cores

__all__ = [
    "Batched",
    "Busy",
    "Engine",
    "Engines",
    "Failed",
    "Limits",
    "NotReady",
    "Options",
    "OutOfMemory",
    "Predicts",
    "ServingError",
    "TooCostly",
    "TooLate",
    "TooLong",
    "Unreadable",
    "cores",
    "open_engines",
]
