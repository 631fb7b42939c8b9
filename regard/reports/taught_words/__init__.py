"""The training pairs that taught a word of a translation."""

from regard.reports.taught_words.evidence import taught_words
from regard.reports.taught_words.pair_index import PairIndex, run_index

__all__ = ["PairIndex", "run_index", "taught_words"]
