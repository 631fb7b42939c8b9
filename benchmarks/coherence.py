"""How well a teacher tells texts in their order from shuffled ones, and what it says of translations.

    python benchmarks/coherence.py TEACHER talks.tsv [NAME=TRANSLATIONS …] [--document 1] [--sentence 4] [--window 4]

TEACHER is a run of the reader sentence_order. Each line of talks.tsv has the name of a document and a sentence. The
first table tells in how many of the pairs of a text and a shuffled one the teacher is for the first: texts of so many
sentences, and whole documents, by the sum of the log-odds of `original` of their windows. The second one has of each
file of translations, a line for each of these sentences, the mean of that probability: of windows of translations,
and, as the reward `coherence` has it, of given windows with one sentence replaced. Brackets are 95 % intervals of a
bootstrap of texts; differences are to the first file.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from program import head, lines_of, options, row

import regard
from regard.data.readers.sentence_order import ORIGINAL

ORDERS, RESAMPLES = 10, 2000
Windows = list[list[str]]
Evaluator = Callable[[Sequence[str]], list[float]]  # texts → how coherent each is


def windows_of(lines: Sequence[tuple[str, str]], size: int) -> Windows:
    """Return windows of so many sentences, each beside the name of its document; the last of a document is shorter."""
    found = Windows()
    for _, some in groupby(lines, lambda line: line[0]):
        sentences = [sentence for _, sentence in some]
        found += [sentences[start : start + size] for start in range(0, len(sentences), size)]
    return found


def orders_of(window: Sequence[str], draws: np.random.Generator, count: int = ORDERS) -> Windows:
    """Return orders of a window that are drawn, others than its own; none where it has no other."""
    if len({*window}) < 2:
        return []
    drawn = ([window[place] for place in draws.permutation(len(window))] for _ in range(50 * count))
    return [one for one in drawn if one != [*window]][:count]


def ranking(texts: Windows, judge: Evaluator, window: int, count: int = ORDERS) -> list[float]:
    """Return of each text that has another order the share of drawn ones that are ranked below it; ties are half."""
    draws = np.random.default_rng(1)
    orders = [[one, *found] for one in texts if (found := orders_of(one, draws, count))]
    values = iter(log_odds([one for some in orders for one in some], judge, window))
    shares = []
    for own, *rest in ([next(values) for _ in some] for some in orders):
        shares.append(float(np.mean([0.5 if own == one else own > one for one in rest])))
    return shares


def log_odds(texts: Windows, judge: Evaluator, window: int) -> list[float]:
    """Return the sum over the windows of each text of what is for `original` against the other label."""
    parts = [windows_of([("", one) for one in text], window) for text in texts]
    values = np.clip(judge([" ".join(one) for some in parts for one in some]), 1e-7, 1 - 1e-7)
    odds = iter((np.log(values) - np.log1p(-values)).tolist())
    return [sum(next(odds) for _ in some) for some in parts]


def rewards(given: Windows, written: Windows, judge: Evaluator) -> list[float]:
    """Return of each window the mean over its sentences: the given window with one sentence as it was written."""
    texts = [
        " ".join([*references[:place], sentence, *references[place + 1 :]])
        for references, sentences in zip(given, written, strict=True)
        for place, sentence in enumerate(sentences)
    ]
    values = iter(judge(texts))
    return [float(np.mean([next(values) for _ in sentences])) for sentences in written]


def told(values: Sequence[float]) -> str:
    """Return a mean with its interval."""
    low, high = interval(np.array(values))
    return f"{np.mean(values):.3f} [{low:.3f}, {high:.3f}]"


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by texts that are drawn again."""
    draws = np.random.default_rng(2).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    """Print both tables."""
    parser = options(__doc__, document=1, sentence=4, window=4)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("translations", nargs="*", metavar="NAME=FILE")
    asked = parser.parse_args()
    teacher = regard.load(asked.teacher)

    def judge(texts: Sequence[str]) -> list[float]:
        return [float(one.label_probabilities()[ORIGINAL]) for one in teacher.predict(texts)]

    fields = [line.split("\t") for line in lines_of(asked.table)]
    names = [one[asked.document - 1] for one in fields]
    lines = [(name, one[asked.sentence - 1]) for name, one in zip(names, fields, strict=True)]
    given = windows_of(lines, asked.window)
    print(head("sentences", f"texts, {ORDERS} orders each", "ranked above a shuffled one"))
    for factor in (1, 2, 4, len(lines)):
        size = factor * asked.window
        shares = ranking(windows_of(lines, size), judge, asked.window)
        print(row(size if factor < len(lines) else "the document", len(shares), told(shares)))
    print(f"\n{head('', 'coherence of translations', 'of one among given sentences', 'more than the first')}")
    print(row("given", told(judge([" ".join(one) for one in given])), "", ""))
    first = None
    for option in asked.translations:
        name, _, file = option.partition("=")
        written = windows_of([*zip(names, lines_of(Path(file)), strict=True)], asked.window)
        found = rewards(given, written, judge)
        first = first or found
        more = told([one - other for one, other in zip(found, first, strict=True)])
        print(row(name, told(judge([" ".join(one) for one in written])), told(found), more))


if __name__ == "__main__":
    main()
