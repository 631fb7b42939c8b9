"""Layer-wise relevance propagation (https://doi.org/10.1371/journal.pone.0130140) through any model, as it is."""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

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
from regard.explain.relevance.tape import Tape, TapeStep
from regard.models import Model
from regard.ops.kernels.packing import caches_of

Slope = Tensor | None  # relevance by unit of one value; None: it has none


class Propagation(NamedTuple):
    """The settings of `lrp`, documented there."""

    epsilon: float = 0.0
    alpha: float | None = None
    products: Literal["held", "shared"] = "held"
    biases: Literal["distributed", "kept"] = "distributed"


Rule = Callable[[TapeStep, Sequence[Slope], Tape, Propagation], Sequence[Slope]]


def linear_rule(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """Return the gradient: the rule of operations that only move, add or scale."""
    return _pulled(step.again, [tape.values[one] for one in step.inputs], slopes)


def function(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """y = f(x), one number for one: the relevance of y is that of x, whatever f's slope."""
    if len(step.inputs) > 1:
        raise RegardError(f"relevance: lrp has no rule for '{step.name}' of two that depend on the words")
    return [_passed(slopes[0], tape.values[_only(step.outputs)], tape.values[step.inputs[0]])]


def addition(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """x + b: a constant b keeps its relevance, or leaves it to x."""
    if len(step.inputs) > 1 or how.biases == "kept":
        return linear_rule(step, slopes, tape, how)
    return function(step, slopes, tape, how)


def normalisation(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """LayerNorm: linear, its standard deviation being held (https://arxiv.org/abs/2202.07304, section 3.2)."""
    weight, bias, slope = step.leaves[-3], step.leaves[-2], slopes[0]
    outputs, deviation = tape.values[_only(step.outputs)], tape.values[_only(step.outputs[2:])]
    if bias is not None and how.biases == "distributed":
        slope = _times(slope, _ratio(outputs, outputs - bias))
    slope = _times(_times(slope, deviation), 1.0 if weight is None else weight)
    return [None if slope is None else slope - slope.mean(dim=-1, keepdim=True)]


def multiplication(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """x · g: a gate or weight g is held, so x has all of it; of two alike, or with products "shared", each has half."""
    if len(step.inputs) < 2:
        return linear_rule(step, slopes, tape, how)
    shares = _shares(step, tape, how)
    return _scaled(linear_rule(step, slopes, tape, how), shares)


def division(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """x / g: as x · (1 / g)."""
    if len(step.inputs) < 2:
        return linear_rule(step, slopes, tape, how) if step.active[0] == 0 else function(step, slopes, tape, how)
    over, under = (tape.values[one] for one in step.inputs)
    held = how.products == "held"
    upper = _fitting(_times(slopes[0], 1 / under), over)
    lower = None if held else _passed(slopes[0], tape.values[_only(step.outputs)], under)
    return _scaled([upper, lower], (1.0, 0.0) if held else (0.5, 0.5))


def matrix_product(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """x W + b: by the ε rule, or that of α and β (equations 58 and 60 of the paper on LRP)."""
    (slope,), values = slopes, [tape.values[one] for one in step.inputs]
    places = [place for place, leaf in enumerate(step.leaves) if isinstance(leaf, Tensor)]
    factors, bias = (places[1:], places[0]) if step.name.startswith(("addm", "badd")) else (places[:2], None)
    if slope is None:
        return [None] * len(step.inputs)
    if bias is not None and bias in step.active:
        raise RegardError(f"relevance: {step.name} adds what depends on the words, and lrp has no rule for that")
    outputs, constant = tape.values[_only(step.outputs)], None if bias is None else step.leaves[bias]
    if how.alpha is None and step.active == factors[:1] and slope.dim() == 2 and len(step.leaves) == len(places):
        return [_by_rows(slope, outputs, constant, step.leaves[factors[1]], how)]
    slope = _unbiased(slope, outputs, constant, how)
    if len(step.inputs) == 1 and how.alpha is not None:
        return [_alpha_beta(step, slope, tape, how.alpha, factors)]
    found = _pulled(step.again, values, [slope])
    return found if len(step.inputs) == 1 else _scaled(found, _shares(step, tape, how))


def convolution(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """x * w + b: by the ε rule."""
    (slope,), bias = slopes, step.leaves[2]
    assert slope is not None  # else nothing goes back through it
    weighted = None if bias is None else bias.view(-1, *[1] * (slope.dim() - 2))
    slope = _unbiased(slope, tape.values[_only(step.outputs)], weighted, how)
    return _pulled(step.again, [tape.values[one] for one in step.inputs], [slope])


def anchor(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """log softmax: what is explained is the score itself; the normaliser, the same for every word, is held."""
    return slopes


def stop(step: TapeStep, slopes: Sequence[Slope], tape: Tape, how: Propagation) -> Sequence[Slope]:
    """Stop relevance at a normaliser, which is held constant."""
    return [None] * len(step.inputs)


def _unbiased(slope: Tensor, outputs: Tensor, constant: Tensor | None, how: Propagation) -> Tensor:
    """Return relevance by unit of a sum of products, with or without the added constant."""
    sums = outputs
    if constant is not None and how.biases == "distributed":
        sums = outputs - constant
        slope = slope * _ratio(outputs, sums)
    signs = torch.where(sums < 0, -1.0, 1.0).to(sums.dtype)
    return slope if how.epsilon == 0 else slope * _ratio(sums, sums + how.epsilon * signs)


def _by_rows(slope: Tensor, outputs: Tensor, constant: Tensor | None, weight: Tensor, how: Propagation) -> Tensor:
    """x W + b of x (n, inputs): of the words of a vocabulary only those rows are asked for that have relevance."""
    chosen = slope.any(dim=1).nonzero().squeeze(1)
    found = slope.new_zeros(len(slope), len(weight))
    part = _unbiased(slope[chosen], outputs[chosen], constant, how)
    return found.index_copy(0, chosen, part @ weight.t())


def _alpha_beta(step: TapeStep, slope: Tensor, tape: Tape, alpha: float, factors: Sequence[int]) -> Tensor:
    """R_i = sum_j (α z_ij⁺ / z_j⁺ - (α - 1) z_ij⁻ / z_j⁻) R_j; where all z_ij have one sign these have all of R_j."""
    (place,) = step.active
    left = place == factors[0]
    x, other = step.leaves[place], step.leaves[factors[1] if left else factors[0]]

    def product(one: Tensor, weight: Tensor) -> Tensor:
        return torch.matmul(one, weight) if left else torch.matmul(weight, one)

    def listed(weight: Tensor, given: Sequence[Tensor]) -> list[Any]:
        return [product(given[0], weight)]

    parts = [(x.clamp(min=0), other.clamp(min=0)), (x.clamp(max=0), other.clamp(max=0))]
    cross = [(x.clamp(min=0), other.clamp(max=0)), (x.clamp(max=0), other.clamp(min=0))]
    above, below = (product(*first) + product(*second) for first, second in (parts, cross))
    relevance = slope * product(x, other)
    none_above, none_below = above == 0, below == 0
    up = torch.where(none_above, 0.0, torch.where(none_below, 1.0, alpha)) * _ratio(relevance, above)
    down = torch.where(none_below, 0.0, torch.where(none_above, 1.0, 1 - alpha)) * _ratio(relevance, below)
    found = torch.zeros_like(x)
    for pairs, share in ((parts, up), (cross, down)):
        for part, weight in pairs:
            (one,) = _pulled(partial(listed, weight), [part], [share])
            found = found + torch.where(part == 0, 0.0, 0.0 if one is None else one)
    return found


def _pulled(
    function: Callable[[Sequence[Tensor]], list[Any]], inputs: Sequence[Tensor], slopes: Sequence[Slope]
) -> list[Slope]:
    """Return the gradients of a function's outputs by its inputs, times the relevance of the outputs."""
    with torch.enable_grad():
        given = [one.detach().requires_grad_() for one in inputs]
        pairs = [(one, slope) for one, slope in zip(function(given), slopes, strict=True) if slope is not None]
        pairs = [(one, slope) for one, slope in pairs if one.requires_grad]  # others only compare or round
        outputs, back = [one for one, _ in pairs], [slope for _, slope in pairs]
        if not outputs:
            return [None] * len(given)
        return list(torch.autograd.grad(outputs, given, back, allow_unused=True))


def _shares(step: TapeStep, tape: Tape, how: Propagation) -> tuple[float, float]:
    """Return the fraction of a product's relevance that each of two factors gets."""
    first, second = (one in tape.marked for one in step.inputs)
    if how.products == "shared" or first == second:
        return 0.5, 0.5
    return (0.0, 1.0) if first else (1.0, 0.0)


def _scaled(slopes: Sequence[Slope], shares: Sequence[float]) -> list[Slope]:
    return [_times(slope, share) if share else None for slope, share in zip(slopes, shares, strict=True)]


def _times(slope: Slope, factor: Tensor | float) -> Slope:
    return None if slope is None else slope * factor


def _passed(slope: Slope, outputs: Tensor, inputs: Tensor) -> Slope:
    return _fitting(_times(slope, _ratio(outputs, inputs)), inputs)


def _fitting(slope: Slope, value: Tensor) -> Slope:
    """Sum over the axes along which a value was broadcast."""
    return None if slope is None else slope.sum_to_size(value.shape)


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    """above / below, 0 where nothing is below."""
    nothing = below == 0
    return torch.where(nothing, 0.0, above / torch.where(nothing, 1.0, below))


def _only(numbers: Sequence[int | None]) -> int:
    """The first output, which has numbers."""
    (number, *_) = numbers
    assert number is not None  # of an operation on numbers with a point
    return number


MOVES = """
    alias as_strided cat clone constant_pad_nd contiguous copy cumsum detach diagonal expand flip gather index index_add
    index_put index_select lift_fresh masked_fill masked_scatter masked_select mean neg nll_loss_forward permute repeat
    reshape roll scatter scatter_add select select_scatter slice slice_scatter split split_with_sizes squeeze stack sum
    t take_along_dim to transpose tril triu unbind unfold unsafe_split unsafe_split_with_sizes unsqueeze view where
    _pack_padded_sequence _reshape_alias _to_copy _unsafe_view amax amin max min sort topk linalg_vector_norm
"""
FUNCTIONS = """
    abs clamp clamp_min elu exp gelu hardtanh leaky_relu log log1p pow reciprocal relu rsqrt sigmoid silu softplus sqrt
    tanh _softmax
"""
FACTORS = {"_softmax", "exp", "linalg_vector_norm", "reciprocal", "rsqrt", "sigmoid", "sqrt"}  # gates, weights, norms
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(MOVES.split(), linear_rule),
    **dict.fromkeys(FUNCTIONS.split(), function),
    **dict.fromkeys(("add", "rsub", "sub"), addition),
    **dict.fromkeys(("addmm", "addmv", "baddbmm", "bmm", "dot", "mm", "mv"), matrix_product),
    "div": division,
    "logsumexp": stop,
    "mul": multiplication,
    "native_layer_norm": normalisation,
    **dict.fromkeys(("log_softmax", "_log_softmax"), anchor),
    "convolution": convolution,
}


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
