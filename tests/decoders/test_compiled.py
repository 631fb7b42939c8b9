"""The compiled Transformer against the blocks themselves, and what it promises beyond them."""

import copy

import pytest
import torch
from networks import build_translator
from torch.testing import assert_close
from writers import batch_of, sources_of

from regard.attention.recording import recording
from regard.layers.compiled_blocks import Steps
from regard.models import AttentionSettings
from regard.ops.kernels.packed import PackedProduct
from regard.ops.kernels.precision import set_precision
from regard.ops.kernels.transformer import compiled_transformer
from regard.ops.kernels.vocabulary import PackedTable, compiled_vocabulary
from regard.ops.largest import top
from regard.ops.plain import plain
from regard.records import BOS
from regard.registry import Choice

VOCAB = 30
pytestmark = pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here: nothing to prove")

VARIANTS = [
    pytest.param({}, {}, id="pre"),
    pytest.param({"norm": "post"}, {"norm": "post"}, id="post"),
    pytest.param({"feedforward_dim": 33}, {"feedforward_dim": 70}, id="odd widths"),
    pytest.param({"num_layers": 1}, {"num_layers": 3}, id="other depths"),
]


@pytest.fixture
def model(request):
    encoder, decoder = getattr(request, "param", ({}, {}))
    sizes = {"num_layers": 2, "feedforward_dim": 32}
    choices = {"encoder": Choice("transformer", sizes | encoder), "decoder": Choice("transformer", sizes | decoder)}
    heads = {"attention": AttentionSettings(num_heads=2), "self_attention": AttentionSettings(num_heads=4)}
    built = build_translator({"dim": 24, **choices, **heads}, VOCAB, VOCAB)
    for parameter in built.parameters():
        parameter.data.normal_(std=0.4)  # biases, too
    return built.eval()


@pytest.fixture
def batch():
    return batch_of(sources_of(5, VOCAB, 9, seed=3))


def walk(model, batch, steps=6, need_weights=lambda step: False):
    """Log-probabilities of steps over drawn words, with rows repeated, dropped and put in another order."""
    draws, state = torch.Generator().manual_seed(1), model.start(batch)
    ids, found = torch.full((len(batch.lines), 1), BOS), []
    for place in range(steps):
        step, state = model.step(ids, state, need_weights=need_weights(place))
        found.append(step.log_probs)
        rows = torch.randint(0, len(ids), (7 - place % 3,), generator=draws).sort().values
        if place % 2:
            state, ids = state.select(rows), ids[rows]
        ids = torch.randint(4, VOCAB, (len(ids), 1), generator=draws)
    return found


@pytest.mark.parametrize("model", [variant.values for variant in VARIANTS], indirect=True, ids=[v.id for v in VARIANTS])
@torch.no_grad()
def test_steps_are_those_of_the_blocks(model, batch):
    assert isinstance(model.start(batch).decoder.layers, Steps)
    found = walk(model, batch)
    with plain():
        assert_close(found, walk(model, batch), rtol=1e-4, atol=1e-5)
        wanted = model.encode(batch)
    assert_close(model.encode(batch), wanted, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_batch_mates_change_nothing_to_the_bit(model, batch):
    together = walk(model, batch, steps=1)[0]
    for row in range(len(together)):
        alone = batch.select(torch.tensor([row]))
        column = alone.columns["source"]
        length = int(column.mask.sum())
        shorter = column._replace(items=column.items[:, :length], mask=column.mask[:, :length])
        state = model.start(alone._replace(columns={**alone.columns, "source": shorter}))
        words, log_probs, _ = model.best(torch.tensor([[BOS]]), state, 3)
        all_words, all_probs, _ = model.best(torch.full((5, 1), BOS), model.start(batch), 3)
        assert torch.equal(words[0], all_words[row])
        assert torch.equal(log_probs[0], all_probs[row])


@torch.no_grad()
def test_a_state_can_be_gone_on_with_twice(model, batch):
    first = torch.full((5, 1), BOS)
    _, state = model.step(first, model.start(batch))
    found = [model.step(first + word, state)[0].log_probs for word in (3, 4, 3)]
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[0], found[1])


@torch.no_grad()
def test_weights_may_be_asked_for_at_any_step(model, batch):
    for late in (0, 3):
        found = walk(model, batch, need_weights=lambda place, late=late: place >= late)
        with plain():
            assert_close(found, walk(model, batch), rtol=1e-4, atol=1e-5)


def test_who_trains_or_watches_gets_the_blocks(model, batch):
    assert not isinstance(model.start(batch).decoder.layers, Steps)  # gradients are wanted
    with torch.no_grad():
        for watched in (model, copy.deepcopy(model, {id(one): one for one in model.parameters()})):
            with recording(watched):
                assert not isinstance(watched.start(batch).decoder.layers, Steps)
        assert not isinstance(model.train().start(batch).decoder.layers, Steps)
        assert isinstance(model.eval().start(batch).decoder.layers, Steps)


def packed_of(decoder):
    return decoder.compiled.packed(decoder.blocks, decoder.norm, decoder.compilable)


@torch.no_grad()
def test_weights_that_change_are_packed_anew_and_copies_share_them(model, batch):
    before = walk(model, batch, steps=2)
    shared = {id(one): one for one in model.parameters()}
    twin = copy.deepcopy(model, shared)
    assert_close(walk(twin, batch, steps=2), before, rtol=0, atol=0)
    decoder = next(iter(model.decoders.values()))
    assert packed_of(next(iter(twin.decoders.values()))) is packed_of(decoder)
    decoder.blocks[0].own_norm.weight.mul_(2)
    changed = walk(model, batch, steps=2)
    assert not torch.equal(changed[0], before[0])
    with plain():
        assert_close(changed, walk(model, batch, steps=2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fused", [False, True])
def test_an_update_by_any_optimizer_is_seen(model, batch, fused):
    target = batch_of(sources_of(5, VOCAB, 9, seed=3), sources_of(5, VOCAB, 7, seed=4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=fused)
    for _ in range(2):
        with torch.no_grad():
            model.eval()
            found = [walk(model, batch, steps=2), model.best(torch.full((5, 1), BOS), model.start(batch), 3)[1]]
            with plain():
                assert_close(found[0], walk(model, batch, steps=2), rtol=1e-4, atol=1e-4)
                wanted = model.best(torch.full((5, 1), BOS), model.start(batch), 3)[1]
            assert_close(found[1], wanted, rtol=1e-4, atol=1e-4)
        model.train().nll(target).sum().backward()
        optimizer.step()


@pytest.mark.parametrize(("rows", "vocab", "count"), [(1, 70, 1), (5, 1000, 6), (13, 1037, 64), (200, 4096, 11)])
def test_best_words_are_those_of_all_log_probabilities(rows, vocab, count):
    torch.manual_seed(rows)
    weight, bias, states = torch.randn(vocab, 24), torch.randn(vocab), torch.randn(rows, 24)
    weight[7] = weight[11] = weight[60]
    bias[7] = bias[11] = bias[60] = 9.0  # equal ones, far ahead: the first comes first
    words, found = PackedTable(compiled_vocabulary(), weight, bias).best(states, count, (0, 11))
    log_probs = (states.double() @ weight.double().t() + bias.double()).log_softmax(dim=-1)
    log_probs[:, [0, 11]] = float("-inf")
    wanted, places = top(log_probs, count)
    assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)
    assert_close(log_probs.gather(-1, words), wanted, rtol=1e-5, atol=1e-5)
    assert bool((words[:, 0] == places[:, 0]).all())


def test_a_table_of_huge_scores_stays_finite():
    weight, states = torch.randn(300, 16) * 100, torch.randn(4, 16) * 10
    words, found = PackedTable(compiled_vocabulary(), weight, None).best(states, 2, ())
    wanted, places = (states.double() @ weight.double().t()).log_softmax(dim=-1).topk(2)
    assert torch.equal(words, places)
    assert_close(found.double(), wanted, rtol=1e-4, atol=1e-3)


def test_a_packed_product_holds_its_weight():
    weight, bias = torch.arange(21.0).view(7, 3), torch.arange(7.0)
    packed = PackedProduct(weight, bias, 4)
    assert packed.panels.shape == (2, 3, 4)
    assert torch.equal(packed.panels.transpose(1, 2).reshape(8, 3)[:7], weight)
    assert not packed.panels[1, :, 3].any()
    assert torch.equal(packed.bias, torch.tensor([0.0, 1, 2, 3, 4, 5, 6, 0]))


@pytest.mark.filterwarnings("ignore:decoding.precision")  # a processor may know no such products
@torch.no_grad()
def test_eight_bits_round_every_weight_by_its_row(model, batch):
    """The same numbers as the blocks themselves have with weights that were rounded, rows rounded beside them."""
    wanted = walk(model, batch)
    set_precision(model, "int8")
    found = walk(model, batch)
    set_precision(model, "float32")
    assert_close(walk(model, batch), wanted, rtol=0, atol=0)
    if not compiled_transformer().multiplies_eight():
        return assert_close(found, wanted, rtol=0, atol=0)
    off = torch.cat([(one - other).abs().flatten() for one, other in zip(found, wanted, strict=True)])
    assert 0 < float(off.mean()) < 0.05 * float(torch.cat([one.flatten() for one in wanted]).std())


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 5, 3), (13, 24, 70), (30, 129, 33)])
def test_a_product_in_eight_bits_is_off_by_no_more_than_its_rounding(rows, inputs, outputs):
    kernel = compiled_vocabulary()
    if not kernel.multiplies_eight():
        pytest.skip("this processor has no 8-bit products")
    weight, states = torch.randn(outputs, inputs), torch.randn(rows, inputs)
    words, found = PackedTable(kernel, weight, None, "int8").best(states, outputs, ())
    half = (weight.abs().amax(dim=1, keepdim=True) / 254, states.abs().amax(dim=1, keepdim=True) / 254)
    most = states.abs().sum(1, keepdim=True) * half[0].T + half[1] * (weight.abs().sum(1) + inputs * half[0].T)
    logits = (states @ weight.t()).log_softmax(dim=-1)
    answered = torch.empty_like(logits).scatter_(-1, words, found)
    assert bool(((answered - logits).abs() <= 2 * most.amax(dim=-1, keepdim=True)).all())


def test_eight_bits_are_asked_for_where_there_are_none(model, monkeypatch):
    monkeypatch.setattr("regard.ops.kernels.precision.compiled_transformer", lambda: None)
    with pytest.warns(UserWarning, match="no compiler"):
        set_precision(model, "int8")
    assert next(iter(model.decoders.values())).compiled.precision == "float32"
