"""The page of a data check: kinds of faults, examples by severity, and a slider of what would be dropped."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from regard.explain.frame import bundle, framed, static
from regard.explain.tokens import visible_line
from regard.reports.data_check.check_data import DataCheck, PairFault
from regard.statistical.language_checks import in_one_language
from regard.statistical.pair_checks import PairCorpus, TextPair, check_class

_PACKAGE = "regard.reports.data_check"
_EXAMPLES = 60  # of each kind, spread over all severities
_LINES = 5  # named of equal pairs
_STEPS = 100  # of severity


def data_check_page(check: DataCheck, threshold: float, files: Sequence[Path]) -> str:
    """Return one HTML file that works from disk and asks for nothing outside itself."""
    kinds = [_kind(check, name) for name in sorted({one.check for one in check.faults})]
    data = {
        "pairs": len(check.pairs),
        "threshold": round(threshold * _STEPS),
        "files": " ".join(map(quote, map(str, files))),
        "alike": in_one_language(*PairCorpus(check.pairs).sides),
        "kinds": kinds,
    }
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return framed(
        static("data_check.html", _PACKAGE),
        title=f"Data check: {' · '.join(file.name for file in files)}",
        script=f"{bundle('settings.js')}\nconst DATA = {text};\n{static('data_check.js', _PACKAGE)}",
        style=static("data_check.css", _PACKAGE),
        tools='<button type="button" id="language"></button><button type="button" id="theme"></button>',
    )


def _kind(check: DataCheck, name: str) -> dict[str, object]:
    """Return the errors of one kind: their number by severity, and examples from the worst to the mildest.

    Equal pairs are one example.
    """
    found = [one for one in check.faults if one.check == name]
    counts = Counter(int(one.severity * _STEPS) for one in found)
    equal = dict[TextPair, list[PairFault]]()
    for one in found:
        equal.setdefault(one.pair, []).append(one)
    different = [*equal.values()]
    step = max(1, len(different) // _EXAMPLES)
    return {
        "check": name,
        "name": check_class(name).about,
        "counts": [counts[level] for level in range(_STEPS + 1)],
        "examples": [
            {
                "lines": [one.line for one in same[:_LINES]],
                "count": len(same),
                "severity": int(one.severity * _STEPS),
                "reason": visible_line(one.reason),
                "source": visible_line(one.pair.source),
                "target": visible_line(one.pair.target),
            }
            for same in different[::step][:_EXAMPLES]
            for one in same[:1]
        ],
    }
