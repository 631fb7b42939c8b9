"""Layer-wise relevance propagation (https://doi.org/10.1371/journal.pone.0130140) through any model, as it is."""

import copy
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from regard.aliases import alias
from regard.attention.attention import attentions_in
from regard.config import Doc
from regard.config.bounds import NotNegative
from regard.errors import RegardError
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question
from regard.explain.relevance.rules import FACTORS, RULES, Propagation, Slope, anchor, stop
from regard.explain.relevance.tape import Tape, TapeStep
from regard.models import Model
from regard.ops.kernels.packing import caches_of

_SAME = 1e-6  # what the answer on a tape may differ from the model's own


class LayerwiseRelevance(Relevance):
    """R_i = sum_j (x_i w_ij / (z_j + ε sign z_j)) R_j from layer to layer, from the score of a word back to the words.

    A function of one number passes its relevance on; LayerNorm is linear, its variance held. With ε = 0
    and biases "distributed" all words together have the score that is explained: before the softmax, whose normaliser
    is the same for all words. products "shared" and biases "kept" are the rules of https://aclanthology.org/P17-1106.
    """

    aliases = (
        "layer_wise_relevance_propagation, layerwise_relevance, relevance_propagation, 层级相关性传播",
        alias("ding", {"products": "shared", "epsilon": 0.0}),
    )
    quick = True

    def __init__(
        self,
        *,
        epsilon: Annotated[NotNegative, Doc("Epsilon of the stabiliser in the denominator.")] = 1e-6,
        alpha: Annotated[
            Annotated[float, Ge(1)] | None,
            Doc("Alpha of the αβ-rule (beta = alpha - 1); null: the ε-rule."),
        ] = None,
        products: Annotated[
            Literal["held", "shared"],
            Doc("Treat attention weights, gates and norms as constants, or give them half of a product's relevance."),
        ] = "held",
        biases: Annotated[
            Literal["distributed", "kept"], Doc("Distribute the biases' relevance over the words, or keep it apart.")
        ] = "kept",
    ) -> None:
        self.how = Propagation(epsilon, alpha, products, biases)

    def model(self, model: Model) -> Model:
        """Return a copy in float64 on a CPU: shares of small sums are large, and cancel."""
        shared: dict[int, Any] = {id(one): one for one in caches_of(model)}
        return copy.deepcopy(model, shared).double().cpu()

    def of(self, question: Question) -> Relevances:
        """One pass forth, written down, and one back."""
        vectors, tape = question.vectors, Tape()
        with torch.no_grad(), ExitStack() as stack:
            for part in attentions_in(question.model).values():  # what every weighting returns, however it is computed
                hook = part.weighting.register_forward_hook(lambda module, given, output: tape.mark(output[0]))
                stack.callback(hook.remove)
            given = [tape.start(one) for one in vectors]
            with tape:
                answer: Any = question.answer(given)
        for step in tape.steps:  # gates, weights and norms, and what is made of nothing else
            if step.name in FACTORS or all(number in tape.marked for number in step.inputs):
                tape.marked.update(number for number in step.outputs if number is not None)
        found = tape.values[answer.number]
        chosen = question.chosen(found)
        _check((found * chosen)[:1], question.about(question.items[:1]))
        slopes: list[Slope] = [None] * len(tape.values)
        slopes[answer.number] = chosen
        total = (found * chosen).flatten(1).sum(dim=1)
        with torch.no_grad():
            for step in reversed(tape.steps):
                total = total + _back(step, slopes, tape, self.how, len(total))
        parts = [
            torch.zeros_like(one[..., 0]) if slope is None else (slope * one).sum(dim=-1)
            for one, slope in zip(vectors, slopes, strict=False)
        ]
        return Relevances(question.of_words(parts), total)


def _back(step: TapeStep, slopes: list[Slope], tape: Tape, how: Propagation, rows: int) -> Tensor | float:
    """Propagate relevance through a step, in place; return the change (row,) of the explained value."""
    given = [None if number is None else slopes[number] for number in step.outputs]
    if all(slope is None for slope in given):
        return 0.0
    if step.name not in RULES:
        raise RegardError(
            f"relevance: lrp has no rule for '{step.name}', which this model computes; try another method"
        )
    rule = RULES[step.name]
    read = rule(step, given, tape, how)
    for number, slope in zip(step.inputs, read, strict=True):
        before = slopes[number]
        slopes[number] = slope if before is None else before if slope is None else before + slope
    return _shift(step, given, read, tape, rows) if rule in (anchor, stop) else 0.0


def _shift(step: TapeStep, given: Sequence[Slope], read: Sequence[Slope], tape: Tape, rows: int) -> Tensor:
    """Return what a normaliser that is held constant takes from, or adds to, each row."""
    (number,), (slope,) = step.outputs, given
    assert number is not None and slope is not None  # it has relevance
    own = slope.flatten(0, -2)
    places = own.any(dim=-1).nonzero().squeeze(1)  # few of a translation's: others have none to lose
    own = own[places]
    lost = -own * tape.values[number].flatten(0, -2)[places]
    if read[0] is not None:
        inputs = tape.values[step.inputs[0]].flatten(0, -2)[places].masked_fill(own == 0, 0.0)
        lost = lost + read[0].flatten(0, -2)[places] * inputs
    items = lost.sum(dim=-1)
    if len(slope) == rows:
        each = slope.shape[:-1].numel() // rows
        return items.new_zeros(rows).index_add(0, places // each, items)
    if len(items) != rows:
        raise RegardError("relevance: lrp cannot separate the scores of this model's items; try another method")
    return items


def _check(score: Tensor, question: Question) -> None:
    """Raise RegardError where the tape has another answer (1, ...) than the model gives to the question."""
    with torch.no_grad():
        right = question.scores(question.vectors)
    if not torch.allclose(score.sum(), right, rtol=_SAME, atol=_SAME):
        raise RegardError("relevance: this model changes memory that lrp cannot see; try another method")
