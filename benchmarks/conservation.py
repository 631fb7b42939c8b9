"""What layer-wise relevance propagation conserves, and whether gradients are slopes, of trained models in float64.

    python benchmarks/conservation.py RUN... [--lines 100]

Of dev examples with what the model answers: what the relevance of all words misses of the score of each item, with
ε = 0 and biases distributed, as a share of the mean score; and how far the gradient of each item's log-probability
is from finite differences along a drawn direction of all words' vectors, as a share of their mean size.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from program import head, options, part_of, row
from torch import Tensor

from regard import load
from regard.explain.relevance import RELEVANCES, Question
from regard.explain.relevance.saliency import gradients
from regard.predictor import Predictor
from regard.registry import Choice
from regard.tasks.examples import as_rows
from regard.tasks.relevance import question_of

EXACT = Choice("lrp", {"epsilon": 0.0, "biases": "distributed"})
STEP = 1e-7  # of finite differences: a larger one crosses kinks of ReLU


class Errors(NamedTuple):
    """Of the items of all examples."""

    examples: int
    items: int
    missed: float  # mean of what words miss of the score, as a share of the mean size of scores
    worst_missed: float  # the largest, as such a share
    worst_slope: float  # the largest difference of a gradient from finite differences, as a share of their mean size


def measured(predictor: Predictor, rows: Sequence[dict[str, str]]) -> Errors:
    """Explain what a model answers to examples by column."""
    method = RELEVANCES.build(EXACT)
    model, task = method.model(predictor.model), predictor.task
    missed, scores, differences, sizes = list[Tensor](), list[Tensor](), list[Tensor](), list[Tensor]()
    for number, ids in enumerate(predictor.encoder.encode_answered(predictor.predict(rows, safeguards=False))):
        question = question_of(task, model, task.batch([ids]))
        found = method.of(question)
        assert found.total is not None  # it is promised
        missed.append((torch.stack([words.sum(dim=1) for words in found.words]).sum(dim=0) - found.total).abs())
        scores.append(found.total.abs())
        slope, difference = slopes(question, number)
        differences.append((slope - difference).abs())
        sizes.append(difference.abs())
    size, steepness = torch.cat(scores).mean(), torch.cat(sizes).mean()
    gaps = torch.cat(missed) / size
    worst = torch.cat(differences).max() / steepness
    return Errors(len(rows), len(gaps), float(gaps.mean()), float(gaps.max()), float(worst))


def slopes(question: Question, seed: int) -> tuple[Tensor, Tensor]:
    """Return the slope (item,) of each item's log-probability along a direction, by gradients and by differences."""
    draws = torch.Generator().manual_seed(seed)
    vectors = question.vectors
    ways = [torch.randn(one.shape, generator=draws, dtype=one.dtype) for one in vectors]
    pairs = zip(gradients(question, vectors), ways, strict=True)
    exact = torch.stack([(slope * way).flatten(1).sum(dim=1) for slope, way in pairs]).sum(dim=0)
    with torch.no_grad():
        above, below = (
            question.scores([one + sign * STEP * way for one, way in zip(vectors, ways, strict=True)])
            for sign in (1, -1)
        )
    return exact, (above - below) / (2 * STEP)


def report(runs: Sequence[Path], lines: int) -> Iterator[str]:
    """Markdown, a line for each run when it is done."""
    yield head("", "examples", "items", "LRP misses, mean", "LRP misses, worst", "gradient is off, worst")
    for run in runs:
        predictor = load(run, ["device=cpu", "decoding.search=greedy"])
        examples = part_of(predictor.run, predictor.task, "dev")
        given = as_rows({name: examples[name][:lines] for name in predictor.task.inputs})
        found = measured(predictor, given)
        errors = (f"{one:.1e}" for one in (found.missed, found.worst_missed, found.worst_slope))
        yield row(run.name, found.examples, f"{found.items:,}", *errors)


if __name__ == "__main__":
    parser = options(__doc__, lines=100)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    given = parser.parse_args()
    for line in report(given.runs, given.lines):
        print(line, flush=True)
