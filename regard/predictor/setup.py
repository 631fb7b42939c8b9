"""All that answers depend on beside model and task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from regard.decoding import Answering, Feature, Search
from regard.decoding.features.nearest_segments import NearestSegmentsFeature
from regard.errors import ConfigError
from regard.experiment import DecodingSettings
from regard.explain.adequacy import Adequacy
from regard.explain.translation_faults import FaultFinder
from regard.predictor.reranking import Ranking
from regard.predictor.source_context import SourceContext
from regard.statistical.calibration import Calibrations

WITHOUT_ENGINE = "use the run itself, without --engine"  # of an export that cannot do what was asked
ABILITIES: Mapping[str, str] = {  # that the native engine has, and another one may have
    "features": "features of the search",
    "shortlist": "shortlists",
    "ensemble": "ensembles",
    "adequacy": "a check for omitted words",
    "rerank": "reranking",
    "consensus": "consensus decoding",
    "terms": "glossaries and prefixes",
    "scores": "scores of given translations",
    "alignments": "attention weights for word alignments",
    "explanations": "attention weights and relevance",
    "confidence": "probabilities of single pieces",
    "precision": "a choice of precision: its export has one",
    "gpu": "GPUs",
}


@dataclass(frozen=True)
class Abilities:
    """Abilities of an engine, beside translation."""

    engine: str = ""  # name of a row of ENGINES; "": the native one, which has all
    supported: frozenset[str] = frozenset(ABILITIES)

    def check(self, ability: str, place: str) -> None:
        """Raise ConfigError for one of ABILITIES that the engine does not have; `place` is where it was asked for."""
        if ability not in self.supported:
            problem = f"the {self.engine} engine does not have {ABILITIES[ability]}"
            raise ConfigError(place, problem, f"leave it out, or {WITHOUT_ENGINE}")


NATIVE = Abilities()


@dataclass
class Setup:
    """Decoding of a predictor."""

    engine: Answering
    for_search: Callable[[Search, Sequence[Feature]], Answering]  # the engine with another search, and features
    settings: DecodingSettings  # limits of batches and texts, cost of terms
    search: Search  # the run's own
    features: Sequence[Feature] = ()  # added to every search that a call names
    adequacy: Adequacy | None = None  # finds omitted words
    calibration: Calibrations | None = None  # of confidences; the ranking of answers stays
    ranking: Ranking | None = None  # of the n best, without terms and prefixes
    fault_finder: FaultFinder | None = None  # of translation errors, in explained answers
    languages: tuple[str | None, str | None] = (None, None)  # codes of source and target
    abilities: Abilities = NATIVE  # of the engine
    threshold: float | None = None  # that decides on answers, None: the usual one of the answers
    context: SourceContext = field(default_factory=lambda: SourceContext({}))  # that the model reads in sources

    @property
    def nearest_segments(self) -> NearestSegmentsFeature | None:
        """Return the feature that reads a translation memory, if there is one."""
        return next((one for one in self.features if isinstance(one, NearestSegmentsFeature)), None)
