"""All that answers depend on beside model and task."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.decoding import Answering, Feature, Search
from regard.experiment import DecodingSettings
from regard.explain.adequacy import Adequacy
from regard.explain.translation_faults import FaultFinder
from regard.predictor.reranking import Reranker
from regard.statistical.calibration import Calibrations


@dataclass
class Setup:
    """Decoding of a predictor."""

    engine: Answering
    settings: DecodingSettings  # limits of batches and texts, cost of terms
    search: Search  # the run's own
    features: Sequence[Feature] = ()  # added to every search that a call names
    adequacy: Adequacy | None = None  # finds omitted words
    calibration: Calibrations | None = None  # of confidences; the ranking of answers stays
    reranker: Reranker | None = None  # of the n best, without terms and prefixes
    fault_finder: FaultFinder | None = None  # of translation errors, in explained answers
    languages: tuple[str | None, str | None] = (None, None)  # codes of source and target
