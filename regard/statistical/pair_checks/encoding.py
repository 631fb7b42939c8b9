"""Characters that a wrong encoding made."""

import re
from collections.abc import Iterator

import ftfy
from ftfy.badness import is_bad

from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus

_REPLACED, _CONTROL = "\ufffd", re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class WrongEncoding(PairCheck):
    """Text that was decoded by a wrong encoding ("fÃ¼r"), has U+FFFD or control characters. Found by ftfy."""

    about = "wrong encoding"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        for row, pair in enumerate(corpus.pairs):
            for side in pair:
                if side.isascii() and not _CONTROL.search(side):
                    continue
                if reason := _fault(side):
                    yield Finding(row, 0.9, reason)
                    break


def _fault(text: str) -> str:
    if _REPLACED in text:
        return "U+FFFD stands in place of lost characters"
    if _CONTROL.search(text):
        return "has control characters"
    if is_bad(text) and (mended := ftfy.fix_encoding(text)) != text:
        return f"decoded by a wrong encoding; perhaps: {mended}"
    return "decoded by a wrong encoding" if is_bad(text) else ""
