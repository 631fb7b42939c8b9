"""Tags and escaped characters."""

import re
from collections import Counter
from collections.abc import Iterator

from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus

_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>|\{\\[a-z]\d\}|\[\[[^\]]*\]\]")


class UnequalMarkup(PairCheck):
    """Tags that one side lacks, or characters that are still escaped (`&quot;`). Equal tags on both sides are shown."""

    about = "markup"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        for row, pair in enumerate(corpus.pairs):
            if not any("<" in side or "&" in side or "{" in side or "[" in side for side in pair):
                continue
            tags = [Counter(_TAG.findall(side)) for side in pair]
            if entity := _ENTITY.search(pair.source) or _ENTITY.search(pair.target):
                yield Finding(row, 0.8, f"has an escaped character, the HTML entity '{entity.group()[1:-1]}'")
            elif tags[0] != tags[1]:
                odd = next(iter((tags[0] - tags[1]) + (tags[1] - tags[0])))
                yield Finding(row, 0.8, f"{odd} stands on one side alone")
            elif tags[0]:
                yield Finding(row, 0.3, "has tags on both sides")
