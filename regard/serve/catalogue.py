"""Which languages are served, from which into which, and by what."""

from collections.abc import Sequence

from regard.errors import nearest
from regard.serve.engine import Translates
from regard.serve.languages import inward


class Catalogue:
    """The engines by the pair that they translate; the first of a pair is its default."""

    def __init__(self, engines: Sequence[Translates]) -> None:
        self.engines = list(engines)
        self._pairs: dict[tuple[str, str], list[Translates]] = {}
        for engine in engines:
            self._pairs.setdefault((inward(engine.source), inward(engine.target)), []).append(engine)

    @property
    def languages(self) -> list[str]:
        """Every language that is read or written, in alphabetical order."""
        return sorted({code for pair in self._pairs for code in pair})

    @property
    def first(self) -> tuple[str, str]:
        """The pair that was named first."""
        return next(iter(self._pairs))

    def targets(self, source: str) -> list[str]:
        """What a language is translated into."""
        return sorted(target for known, target in self._pairs if known == source)

    def engine(self, source: str, target: str) -> Translates | None:
        """The default of a pair."""
        return next(iter(self._pairs.get((source, target), ())), None)

    def named(self, name: str) -> Translates | None:
        """An engine by its name."""
        return next((engine for engine in self.engines if engine.name == name), None)

    def hint(self, name: str) -> str:
        """What there is in place of a name that there is not."""
        return nearest(name, [engine.name for engine in self.engines])
