"""Several streams as one."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from itertools import count

import numpy as np

from regard.data.streams import Place, Plan, PlannedStream, epoch_of, no_such_place
from regard.errors import ConfigError
from regard.records import Batch

WHICH = 0x4D4958  # keeps these draws apart from others of the same seed


class MixedStream(PlannedStream):
    """Streams by name; which of them gives the next batch is drawn by (seed, number of the batch) in given shares.

    Its epoch is the least of its parts', so after n epochs each part has been read through n times at least.
    """

    def __init__(
        self,
        parts: Mapping[str, PlannedStream],
        weights: Mapping[str, float],
        *,
        routes: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        """`weights` need not sum to one; batches of a part in `routes` take that route.

        Raises ConfigError for weights or routes that do not go with the parts.
        """
        if not parts or parts.keys() != weights.keys():
            problem = f"names {', '.join(weights) or 'nothing'}, the streams are {', '.join(parts) or 'none'}"
            raise ConfigError("data.weights", problem, "one weight a stream")
        if bad := [name for name, weight in weights.items() if not 0 < weight < float("inf")]:
            raise ConfigError(f"data.weights.{bad[0]}", f"is {weights[bad[0]]}", "a number above 0")
        if strange := [name for name in routes or {} if name not in parts]:
            raise ConfigError(f"data.routes.{strange[0]}", "there is no such stream", f"there is: {', '.join(parts)}")
        self.parts, self.routes, self.seed = dict(parts), dict(routes or {}), seed
        self.shares = {name: weights[name] / sum(weights.values()) for name in self.parts}
        self._names, self._bounds = list(self.parts), np.cumsum(list(self.shares.values()))

    def plans(self, start: Place | None = None, *, workers: int = 0) -> Generator[Plan, None, None]:
        """The plans of all batches from a place on; its place holds those of all parts."""
        places: dict[str, Place | None] = dict.fromkeys(self.parts)
        if start is not None:
            if start.get("parts", {}).keys() != self.parts.keys():
                raise no_such_place("data", start)
            places = dict(start["parts"])
        with ExitStack() as stack:
            plans = {
                name: stack.enter_context(closing(part.plans(places[name], workers=workers)))
                for name, part in self.parts.items()
            }
            for number in count(0 if start is None else start["number"]):
                name = self._drawn(number)
                plan = next(plans[name])
                places = {**places, name: plan.after}
                after = {"epoch": min(map(epoch_of, places.values())), "number": number + 1, "parts": places}
                yield Plan(after, plan.epoch, partial(self._routed, name, plan.make))

    def _drawn(self, number: int) -> str:
        """The part that gives batch `number`."""
        draw = np.random.default_rng((self.seed, WHICH, number)).random()
        return self._names[min(int(np.searchsorted(self._bounds, draw, side="right")), len(self._names) - 1)]

    def _routed(self, name: str, make: Callable[[], Batch]) -> Batch:
        batch = make()
        return batch._replace(route=self.routes.get(name, batch.route))
