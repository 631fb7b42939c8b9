"""Gradients of the words of dev sentences by our methods and by Captum's (pip install --no-deps captum tqdm).

    python benchmarks/captum_peer.py RUN [--lines 20] [--rounds 3]

Both ask the same network about the same items of the same answers: all items of a sentence at once, as ours do, and one
by one, as Captum's methods take a target. Told are the largest difference of a word's relevance, as a share of the
largest relevance of its sentence, and the median of the processor time a sentence; and that of layer-wise relevance
propagation beside them.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from program import head, need, options, part_of, row
from timing import interleaved
from torch import Tensor

from regard import load
from regard.explain.relevance import RELEVANCES, Question
from regard.models import Model
from regard.registry import Choice
from regard.tasks.examples import as_rows
from regard.tasks.relevance import question_of

STEPS = 32  # of integrated gradients
ALONE = "lrp"  # what Captum has not for such networks

Attribution = Callable[[Question], list[Tensor]]  # → relevance (item, n) of the words of each column


def ours(name: str) -> Attribution:
    """Return a row of RELEVANCES; integrated gradients with as many steps as Captum's."""
    method = RELEVANCES.build(Choice(name, {"steps": STEPS} if name == "integrated_gradients" else {}))
    return lambda question: method.of(question).words


def captums() -> Mapping[str, Attribution]:
    """Return Captum's methods by the names of our rows."""
    from captum.attr import InputXGradient, IntegratedGradients, Saliency

    def by(make: Any, words: Callable[[Tensor], Tensor], **settings: Any) -> Attribution:
        def attribute(question: Question) -> list[Tensor]:
            def forward(*vectors: Tensor) -> Tensor:
                return question.scores(vectors)

            more = {name: value(question) for name, value in settings.items()}
            given = tuple(one.requires_grad_() for one in question.vectors)
            found = make(forward).attribute(given, **more)
            return question.of_words([words(one.detach()) for one in found])

        return attribute

    def summed(one: Tensor) -> Tensor:
        return one.sum(dim=-1)

    return {
        "saliency": by(Saliency, lambda one: one.norm(dim=-1), abs=lambda question: False),
        "gradient_times_input": by(InputXGradient, summed),
        "integrated_gradients": by(
            IntegratedGradients,
            summed,
            baselines=lambda question: tuple(question.baseline("unknown")),
            n_steps=lambda question: STEPS,
            method=lambda question: "gausslegendre",
            internal_batch_size=lambda question: len(question.items),
        ),
    }


def one_by_one(attribution: Attribution) -> Attribution:
    """Return the same for each item in a call of its own."""

    def attribute(question: Question) -> list[Tensor]:
        first = question.batch.select(torch.tensor([0]))
        alone = [Question(question.model, first, question.columns, item) for item in question.items.split(1)]
        return [torch.cat(rows) for rows in zip(*map(attribution, alone), strict=True)]

    return attribute


def compared(asked: Any, ways: Sequence[Callable[[Any], list[Tensor]]], rounds: int) -> tuple[float, list[float]]:
    """Return how far ways are from the first, as a share of its largest relevance, and each one's median seconds."""
    found = [torch.cat(way(asked), dim=1) for way in ways]
    seconds = interleaved({number: partial(way, asked) for number, way in enumerate(ways)}, rounds)
    most = found[0].abs().max().clamp(min=1e-30)
    difference = max(float((other - found[0]).abs().max() / most) for other in found)
    return difference, [statistics.median(times) for times in seconds.values()]


def questions(run: Path, lines: int, kind: Callable[[Model], Model]) -> Iterator[Question]:
    """Return what is asked about each answer to the first dev examples, in a model as a method wants it."""
    predictor = load(run, ["device=cpu", "decoding.search=greedy"])
    examples = part_of(predictor.run, predictor.task, "dev")
    model = kind(predictor.model)
    given = as_rows({name: examples[name][:lines] for name in predictor.task.inputs})
    for ids in predictor.encoder.encode_answered(predictor.predict(given, safeguards=False)):
        yield question_of(predictor.task, model, predictor.task.batch([ids]))


def report(run: Path, lines: int, rounds: int) -> Iterator[str]:
    """Markdown, a line for each method when it is done."""
    yield head(run.name, "largest difference", "ms a sentence, ours", "Captum, all items at once", "one by one")
    for name, other in captums().items():
        ways = [ours(name), other, one_by_one(other)]
        rows = [compared(one, ways, rounds) for one in questions(run, lines, lambda model: model)]
        own, *peer = (1e3 * statistics.median(times[number] for _, times in rows) for number in range(len(ways)))
        worst = max(difference for difference, _ in rows)
        yield row(name, f"{worst:.1e}", f"{own:.0f}", *(f"{each:.0f} ({each / own:.1f}×)" for each in peer))
    method = RELEVANCES.build(Choice(ALONE))
    asked = list(questions(run, lines, method.model))
    times = [compared(one, [ours(ALONE)], rounds)[1][0] for one in asked]
    yield row(ALONE, "", f"{1e3 * statistics.median(times):.0f}", "", "")
    pieces = [sum(ids.shape[1] for _, ids in one.reads) for one in asked]
    yield f"\n{len(asked)} sentences of {statistics.mean(pieces):.0f} pieces, both sides together, on average."


if __name__ == "__main__":
    parser = options(__doc__, lines=20, rounds=3)
    parser.add_argument("run", type=Path, metavar="RUN")
    given = parser.parse_args()
    need("captum")
    for line in report(given.run, given.lines, given.rounds):
        print(line, flush=True)
