"""`plain()` switches every fast path off: each way into one is counted, for each config and by itself."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from small_configs import CONFIGS, small
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import regard
from regard.attention import SCORES, SPANS
from regard.attention.attention import Attention, Heads
from regard.attention.kernels import choose, chunked
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.attention.weightings.sparsemax import project
from regard.experiment import read_experiment
from regard.heads import HEADS
from regard.layers.recurrent import RECURRENT
from regard.layers.recurrent.kernels import choose as recurrences
from regard.layers.recurrent.kernels import sru
from regard.ops import linear as products
from regard.ops import machine
from regard.ops.cross_entropy import paired_cross_entropy
from regard.ops.dropout import Dropout, dropout
from regard.ops.fused_dropout import add_dropped, relu_dropped
from regard.ops.linear import half_products, linear
from regard.ops.plain import plain
from regard.records import Decoded
from regard.registry import Choice
from regard.runs import train_run

FAST_OPS = ("mkldnn::", "regard::")
FAST = {
    "LinearCrossEntropy",
    "PairedCrossEntropy",
    "_AddDropped",
    "_ByteDropout",
    "_Fused",
    "_HalfProduct",
    "_Product",
    "_ReluDropped",
    "_Scan",
    "_ShortAttention",
}
# A projection's gradient is its definition: that of its sorting is wrong where scores tie. A scaled gradient is all
# that `scale_gradient` does, a turned one all that an adversary of a discriminator learns from. None stands in for a
# slower formula.
MEANT = {"ReversedGradient", "_Projection", "_Scaled"}
QUICK = ("multi30k-transformer", "multi30k-rnnsearch", "multi30k-convs2s", "multi30k-bytenet", "brown-lstm")


class Functions(TorchFunctionMode):
    """Counts torch's fused attention, which a dispatcher may see in parts only."""

    def __init__(self, seen: Counter[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.nn.functional.scaled_dot_product_attention:
            self.seen["scaled_dot_product_attention"] += 1
        return func(*args, **(kwargs or {}))


class Ops(TorchDispatchMode):
    """Counts operations of oneDNN and our own, forward and backward."""

    def __init__(self, seen: Counter[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name().startswith(FAST_OPS):
            self.seen[func.name()] += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """A context that counts fast calls by name. Whatever is small enough for a plain formula counts as large."""
    for module, limits in {
        choose: ["SHORT_MEMORY", "ROOM_OF_SCORES", "ROOM_OF_PRODUCTS", "ROOM_OF_COPIES", "LONG_MEMORY"],
        chunked: ["FEW_NUMBERS", "FEW_TO_LEARN", "SLICE"],
        recurrences: ["FEW_STEPS"],
    }.items():
        for limit in limits:
            monkeypatch.setattr(module, limit, 0)
    monkeypatch.setattr(machine, "_fixed", ["onednn"])
    machine.onednn_kinds.cache_clear()
    seen: Counter[str] = Counter()

    def counted(owner: Any, name: str, told: str) -> None:
        door = getattr(owner, name)

        def through(*given: Any, **named: Any) -> Any:
            seen[told] += 1
            return door(*given, **named)

        monkeypatch.setattr(owner, name, through)

    for one in _functions():
        if one.__name__ in FAST:
            counted(one, "apply", one.__name__)
    for owner, name in ((choose, "by_window"), (choose, "by_flex"), (chunked, "checkpoint"), (torch, "compile")):
        counted(owner, name, name)

    @contextmanager
    def context() -> Iterator[Counter[str]]:
        seen.clear()
        with Functions(seen), Ops(seen):
            yield seen

    yield context
    machine.onednn_kinds.cache_clear()


def _functions() -> list[type]:
    """Every gradient that the package writes itself."""
    return [one for one in torch.autograd.Function.__subclasses__() if one.__module__.startswith("regard.")]


def test_every_own_gradient_is_fast_or_meant():
    assert {one.__name__ for one in _functions()} == FAST | MEANT


def tier(path: Path) -> Any:
    """A config of each architecture in the quick tier, the others in the slow one."""
    return pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("path", [tier(path) for path in CONFIGS])
def test_no_config_calls_anything_fast(path, counting, tmp_path):
    """In an update, its validation and a greedy translation."""
    run = tmp_path / "run"
    with plain(), counting() as seen:
        assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
        predictor = regard.load(run, ["decoding.search=greedy"])
        assert len(list(predictor.predict(["ein Hund läuft", "er liest"]))) == 2
    assert not seen


def test_a_config_is_fast_without_plain(counting, tmp_path):
    (path,) = (path for path in CONFIGS if path.stem == "multi30k-transformer")
    with counting() as seen:
        assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={tmp_path / 'run'}"]), quiet=True)
    assert {"LinearCrossEntropy", "_ByteDropout", "scaled_dot_product_attention"} <= set(seen)


def attended(score: Choice, span: str = "everywhere") -> Tensor:
    parts = SCORES.build(score, 4, 4), SPANS.build(Choice(span), 4, 4), SoftmaxWeighting(4)
    states, attention = torch.randn(2, 60, 4, requires_grad=True), Attention(*parts)
    return attention(states, attention.remember(states)).context


def headed() -> Tensor:
    parts = SCORES.build(Choice("scaled_dot"), 32, 32), SPANS.build(Choice("everywhere"), 32, 32), SoftmaxWeighting(32)
    states, attention = torch.randn(2, 6, 64, requires_grad=True), Attention(*parts, Heads(64, 64, num_heads=2))
    return attention(states, attention.remember(states)).context


def halved() -> Tensor:
    with half_products():
        return linear(torch.ones(2, 4), torch.ones(3, 4, requires_grad=True))


def recurrent(library: bool) -> Tensor:
    with pytest.MonkeyPatch.context() as patch:
        if not library:
            patch.setattr(sru, "library", lambda source: None)
        layer = RECURRENT.build(Choice("sru", {"version": 1}), 4, 4)
        return layer(torch.randn(2, 6, 4), None)[0]


def predicted() -> Tensor:
    head = HEADS.build(Choice("linear"), 4, 9, None)
    return head.nll(Decoded(torch.randn(2, 3, 4)), None, torch.full((2, 3), 5))


def paired() -> Tensor:
    return paired_cross_entropy(torch.randn(4, 9, requires_grad=True), torch.tensor([5, 1]), 0.1, 1.0)[0]


DOORS: dict[str, Callable[[], Tensor]] = {
    "LinearCrossEntropy": predicted,
    "PairedCrossEntropy": paired,
    "_AddDropped": lambda: add_dropped(torch.ones(4), torch.ones(4, requires_grad=True), Dropout(0.5)),
    "_HalfProduct": halved,
    "_ReluDropped": lambda: relu_dropped(torch.ones(4, requires_grad=True) + 0, Dropout(0.5)),
    "_ByteDropout": lambda: dropout(torch.ones(4, requires_grad=True), 0.5),
    "_Fused": lambda: recurrent(True),
    "_Product": lambda: linear(torch.ones(2, 4), torch.ones(3, 4, requires_grad=True)),
    "_Scan": lambda: recurrent(False),
    "_ShortAttention": headed,
    "by_window": lambda: attended(Choice("dot"), "window"),
    "checkpoint": lambda: attended(Choice("mlp", {"activation": "relu"})),
    "mkldnn::_linear_pointwise": lambda: linear(torch.ones(2, 4), torch.ones(3, 4, requires_grad=True)),
    "regard::additive_gradients": lambda: attended(Choice("additive")),
    "regard::additive_scores": lambda: attended(Choice("additive")),
    "scaled_dot_product_attention": lambda: attended(Choice("dot")),
}


@pytest.mark.parametrize("door", DOORS)
def test_each_door_is_counted_and_shut_by_plain(door, counting):
    if products._onednn is None and door in ("_Product", "mkldnn::_linear_pointwise"):
        pytest.skip("this machine has no oneDNN")
    with counting() as seen:
        DOORS[door]().sum().backward()
        assert seen[door]
    with plain(), counting() as seen:
        DOORS[door]().sum().backward()
        assert not seen


def test_meant_gradients_stay_under_plain():
    with plain():
        weights = project(torch.tensor([[1.0, 1.0, 0.0]], requires_grad=True), None, 1.5)
    assert "_Projection" in weights.grad_fn.name()
