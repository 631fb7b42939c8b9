"""Words that are too long to be words."""

import re
from collections.abc import Iterator

import numpy as np

from regard.scripts import UNSPACED
from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus

_LEAST, _TIMES = 40, 3  # characters, and times the 99.9th percentile of the corpus
_URL = re.compile(r"https?://|www\.|@")
_UNSPACED = re.compile(f"[{UNSPACED}]")


class LongWord(PairCheck):
    """A word of more than 40 characters and three times the longest usual ones: lost spaces, or no text."""

    about = "too long word"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        longest = [[max(map(len, text.split()), default=0) for text in pair] for pair in corpus.pairs]
        limit = max(_LEAST, _TIMES * float(np.percentile(longest, 99.9))) if longest else _LEAST
        for row, (pair, sizes) in enumerate(zip(corpus.pairs, longest, strict=True)):
            if max(sizes) > limit:
                word = max((word for text in pair for word in text.split()), key=len)
                if not _URL.search(word) and not _UNSPACED.search(word):
                    yield Finding(row, 0.7, f"a word of {len(word):,} characters: {word[:30]}…")
