"""Why a request is not answered.

ServingError
├── Busy         the queue has no room for it now
├── NotReady     the model is being loaded, or the server is about to end
├── TooLate      its time was over
├── TooLong      a text has more pieces than the model takes
├── TooCostly    a request, or a text of it, asks for more work than one may
├── Unreadable   a text is nothing that the model reads
├── OutOfMemory  a text does not fit into memory even alone
└── Failed       the model could not answer a text
"""

from regard.errors import RegardError


class ServingError(RegardError):
    """A request that gets no answer."""


class _Later(ServingError):
    """The request may be sent again after `retry_after` whole seconds."""

    reason = ""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"{self.reason}, retry in {retry_after} {'second' if retry_after == 1 else 'seconds'}")


class Busy(_Later):
    """The queue is full; the seconds are as the queue has moved of late."""

    reason = "server busy"


class NotReady(_Later):
    """The model cannot be asked now."""

    reason = "model not ready"


class TooLate(ServingError):
    """The request has waited as long as it may, or its explanation has taken as long."""

    def __init__(self, problem: str = "request timed out before the model came to it") -> None:
        super().__init__(problem)


class TooLong(ServingError):
    """Text `index` (from 0) of the request has `pieces`, the model takes `limit`."""

    def __init__(self, index: int, pieces: int, limit: int) -> None:
        self.index, self.pieces, self.limit = index, pieces, limit
        super().__init__(f"text {index + 1} has {pieces:,} pieces, this model takes {limit:,}")


class TooCostly(ServingError):
    """A request costs `pieces`, more than `limit`; `what` has so many, and `hint` says what to do."""

    def __init__(self, what: str, pieces: int, limit: int, hint: str) -> None:
        super().__init__(f"{what} {pieces:,} pieces, more than this server takes ({limit:,}): {hint}")


class Unreadable(ServingError):
    """Text `index` (from 0) of the request is nothing that the model reads, and why."""

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"text {index + 1}: {reason}")


class OutOfMemory(ServingError):
    """Text `index` (from 0) of the request does not fit into memory."""

    def __init__(self, index: int) -> None:
        self.index = index
        super().__init__(f"text {index + 1} does not fit into memory")


class Failed(ServingError):
    """Text `index` (from 0) of the request could not be answered."""

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"text {index + 1} could not be answered: {reason}")
