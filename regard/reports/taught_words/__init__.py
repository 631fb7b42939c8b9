"""The training pairs that taught a word of a translation."""

from regard.reports.taught_words.evidence import EVERY_WORD, Evidence, TaughtWord, taught_words
from regard.reports.taught_words.pair_index import PairIndex, TaughtPair, run_index

__all__ = ["EVERY_WORD", "Evidence", "PairIndex", "TaughtPair", "TaughtWord", "run_index", "taught_words"]
