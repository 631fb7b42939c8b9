"""CTranslate2's weights: read by its names, in float64 and head by head, they compute what our model does."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from networks import build_translator
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from benchmarks import benchmark
from regard.models import ROUTE, AttentionSettings
from regard.records import Sequences
from regard.registry import Choice

peer = benchmark("ctranslate2_peer")
DIM, HEADS, VOCAB = 8, 2, 11


@pytest.fixture
def model() -> Any:
    blocks = Choice("transformer", {"num_layers": 2, "feedforward_dim": 16})
    heads = AttentionSettings(num_heads=HEADS)
    settings = {"dim": DIM, "encoder": blocks, "decoder": blocks, "attention": heads, "self_attention": heads}
    model = build_translator(settings | {"tied": "all"}, VOCAB, VOCAB).double().eval()
    for parameter in model.parameters():  # biases and norms begin as zeros and ones
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def named(model: Any) -> dict[str, Tensor]:
    arrays = peer.variables(model.encoders[ROUTE], model.decoders[ROUTE], model.heads[ROUTE])
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def linear(weights: dict[str, Tensor], name: str, states: Tensor) -> Tensor:
    return states @ weights[f"{name}/weight"].T + weights[f"{name}/bias"]


def norm(weights: dict[str, Tensor], name: str, states: Tensor) -> Tensor:
    return functional.layer_norm(states, (DIM,), weights[f"{name}/gamma"], weights[f"{name}/beta"])


def mixed(queries: Tensor, keys: Tensor, values: Tensor, *, causal: bool) -> Tensor:
    """Head by head: (n, DIM) queries, (m, DIM) keys and values → (n, DIM)."""
    size, found = DIM // HEADS, []
    for cut in (slice(head * size, (head + 1) * size) for head in range(HEADS)):
        scores = queries[:, cut] @ keys[:, cut].T / math.sqrt(size)
        if causal:
            scores = scores + torch.full_like(scores, -math.inf).triu(1)
        found.append(scores.softmax(-1) @ values[:, cut])
    return torch.cat(found, dim=-1)


def run(weights: dict[str, Tensor], side: str, ids: Tensor, source: Tensor | None) -> Tensor:
    """One sentence (n,) through one side → (n, DIM)."""
    table = weights[f"{side}/embeddings{'_0' if side == 'encoder' else ''}/weight"]
    states = table[ids] * math.sqrt(DIM) + weights[f"{side}/position_encodings/encodings"][: len(ids)]
    for layer in (f"{side}/layer_{number}" for number in range(2)):
        entered = norm(weights, f"{layer}/self_attention/layer_norm", states)
        queries, keys, values = linear(weights, f"{layer}/self_attention/linear_0", entered).chunk(3, dim=-1)
        seen = mixed(queries, keys, values, causal=side == "decoder")
        states = states + linear(weights, f"{layer}/self_attention/linear_1", seen)
        if source is not None:
            entered = norm(weights, f"{layer}/attention/layer_norm", states)
            keys, values = linear(weights, f"{layer}/attention/linear_1", source).chunk(2, dim=-1)
            seen = mixed(linear(weights, f"{layer}/attention/linear_0", entered), keys, values, causal=False)
            states = states + linear(weights, f"{layer}/attention/linear_2", seen)
        hidden = linear(weights, f"{layer}/ffn/linear_0", norm(weights, f"{layer}/ffn/layer_norm", states)).relu()
        states = states + linear(weights, f"{layer}/ffn/linear_1", hidden)
    return norm(weights, f"{side}/layer_norm", states)


def test_converted_weights_compute_the_same(model):
    weights, source, target = named(model), torch.tensor([4, 9, 5, 3]), torch.tensor([2, 7, 7])
    encoded = run(weights, "encoder", source, None)
    ids = source.unsqueeze(0)
    ours = model.encoders[ROUTE](Sequences(ids, torch.ones_like(ids, dtype=torch.bool)))
    assert_close(encoded, ours.states[0])
    decoder = model.decoders[ROUTE]
    decoded, _ = decoder(target.unsqueeze(0), decoder.start(ours))
    theirs = run(weights, "decoder", target, encoded) @ weights["decoder/projection/weight"].T
    assert_close(theirs.log_softmax(-1), model.heads[ROUTE].log_probs(decoded, ours)[0])


def test_every_parameter_is_converted_once(model):
    weights = {name: array for name, array in named(model).items() if not name.endswith("encodings")}
    tables = [name for name in weights if name.endswith(("embeddings_0/weight", "embeddings/weight"))]
    assert len(tables) == 2  # besides the projection: one table, thrice
    kept = sum(array.numel() for name, array in weights.items() if name not in tables)
    assert kept == sum(parameter.numel() for parameter in model.parameters())


def test_weights_are_set_by_their_path():
    spec = SimpleNamespace(layer=[SimpleNamespace(), SimpleNamespace(linear_0=SimpleNamespace())])
    peer.fill(spec, {"layer_1/linear_0/weight": 3, "layer_0/bias": 4})
    assert (spec.layer[1].linear_0.weight, spec.layer[0].bias) == (3, 4)
