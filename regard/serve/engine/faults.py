"""Errors of a request without an answer.

ServingError
├── Busy         the queue is full
├── NotReady     the model is being loaded, or the server shuts down
├── TooLate      it timed out
├── TooLong      a text has more tokens than the model takes
├── TooCostly    a request, or one of its texts, costs more than the limit
├── Unreadable   the model cannot read a text
├── OutOfMemory  a text does not fit into memory even alone
└── Failed       the model failed on a text
"""

from regard.errors import RegardError


class ServingError(RegardError):
    """A request without an answer."""


class _Later(ServingError):
    """The request may be sent again after `retry_after` whole seconds."""

    reason = ""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"{self.reason}, retry in {retry_after} {'second' if retry_after == 1 else 'seconds'}")


class Busy(_Later):
    """The queue is full; the wait follows its recent speed."""

    reason = "server busy"


class NotReady(_Later):
    """The model is not ready."""

    reason = "model not ready"


class TooLate(ServingError):
    """The request waited too long, or its explanation took too long."""

    def __init__(self, problem: str = "request timed out in the queue") -> None:
        super().__init__(problem)


class TooLong(ServingError):
    """Text `index` (from 0) of the request has `pieces`; the model takes `limit`."""

    def __init__(self, index: int, pieces: int, limit: int) -> None:
        self.index, self.pieces, self.limit = index, pieces, limit
        super().__init__(f"text {index + 1} has {pieces:,} pieces, this model takes {limit:,}")


class TooCostly(ServingError):
    """A request costs `pieces`, more than `limit`; `what` names its subject, and `hint` the remedy."""

    def __init__(self, what: str, pieces: int, limit: int, hint: str) -> None:
        super().__init__(f"{what} {pieces:,} pieces, more than this server takes ({limit:,}): {hint}")


class Unreadable(ServingError):
    """The model cannot read text `index` (from 0) of the request, for this reason."""

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"text {index + 1}: {reason}")


class OutOfMemory(ServingError):
    """Text `index` (from 0) of the request does not fit into memory."""

    def __init__(self, index: int) -> None:
        self.index = index
        super().__init__(f"text {index + 1} does not fit into memory")


class Failed(ServingError):
    """The model failed on text `index` (from 0) of the request."""

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"text {index + 1} could not be answered: {reason}")
