"""The compiled Transformer against the blocks themselves, and what it promises beyond them."""

import copy
import math
import pickle
from pathlib import Path

import pytest
import torch
from builds import BUILDS, build_for
from networks import build_translator
from torch import nn
from torch.nn.utils import parametrizations
from torch.testing import assert_close
from writers import batch_of, sources_of

from regard.attention.recording import recording
from regard.decoding.beam import BeamSearch
from regard.decoding.features.coverage import CoverageFeature
from regard.layers.compiled_blocks import Steps
from regard.layers.histories.average import AverageAttention
from regard.models import AttentionSettings
from regard.ops import kernels as folder
from regard.ops.kernels.packing import ParameterCache, caches_of, may_compile, set_precision
from regard.ops.kernels.transformer import compiled_transformer
from regard.ops.plain import plain
from regard.records import BOS
from regard.registry import Choice

VOCAB, KERNELS = 30, Path(folder.__file__).parent
pytestmark = pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here: nothing to prove")

VARIANTS = [
    pytest.param({}, {}, id="pre"),
    pytest.param({"norm": "post"}, {"norm": "post"}, id="post"),
    pytest.param({"feedforward_dim": 33}, {"feedforward_dim": 70}, id="odd widths"),
    pytest.param({"num_layers": 1}, {"num_layers": 3}, id="other depths"),
    pytest.param({"feedforward": Choice("gelu")}, {"feedforward": Choice("swish", {"beta": 1.7})}, id="gelu, swish"),
    pytest.param({}, {"history": Choice("recurrent")}, id="ssru"),
    pytest.param({}, {"history": Choice("recurrent", {"out_proj": True}), "norm": "post"}, id="ssru projected"),
]
KINDS = [VARIANTS[0], VARIANTS[4], VARIANTS[6]]  # all activations, and both kinds of decoders
of_kinds = pytest.mark.parametrize("model", [one.values for one in KINDS], indirect=True, ids=[v.id for v in KINDS])


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


@of_kinds
@pytest.mark.parametrize("build", BUILDS)
@torch.no_grad()
def test_other_processors_find_the_same(model, batch, build, monkeypatch):
    compiled = build_for(build, monkeypatch)
    kernels = [compiled(KERNELS / f"{name}.cpp") for name in ("transformer", "vocabulary")]
    monkeypatch.setattr("regard.layers.compiled_blocks.compiled_transformer", lambda: kernels[0])
    monkeypatch.setattr("regard.heads.linear.compiled_vocabulary", lambda: kernels[1])
    found, first = walk(model, batch), torch.full((5, 1), BOS)
    words, log_probs, _ = model.best(first, model.start(batch), 7)
    with plain():
        assert_close(found, walk(model, batch), rtol=1e-4, atol=1e-5)
        wanted = model.best(first, model.start(batch), 7)
    assert torch.equal(words, wanted[0])
    assert_close(log_probs, wanted[1], rtol=1e-4, atol=1e-5)
    assert kernels[0].panel() == kernels[1].panel() <= compiled_transformer().panel()


@of_kinds
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


@of_kinds
@torch.no_grad()
def test_state_can_be_continued_twice(model, batch):
    first = torch.full((5, 1), BOS)
    _, state = model.step(first, model.start(batch))
    found = [model.step(first + word, state)[0].log_probs for word in (3, 4, 3)]
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[0], found[1])


@of_kinds
@torch.no_grad()
def test_weights_may_be_asked_for_at_any_step(model, batch):
    for late in (0, 3):
        found = walk(model, batch, need_weights=lambda place, late=late: place >= late)
        with plain():
            assert_close(found, walk(model, batch), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("parts", [(7,), (0, 3, 4), (300,), (20, 280)])
@of_kinds
@torch.no_grad()
def test_words_at_once_are_those_one_by_one(model, batch, parts):
    """To the bit, also where the rows are computed group by group."""
    decoder, begun = next(iter(model.decoders.values())), model.start(batch).decoder
    words, whole, alone, place = torch.randint(4, VOCAB, (len(batch.lines), sum(parts))), begun, begun, 0
    for count in parts:
        found, whole = decoder(words[:, place : place + count], whole)
        for one in range(count):
            each, alone = decoder(words[:, place + one : place + one + 1], alone)
            assert torch.equal(found.states[:, one], each.states[:, 0])
        place += count
    assert isinstance(whole.layers, Steps)


def test_training_and_recording_run_modules(model, batch):
    assert not isinstance(model.start(batch).decoder.layers, Steps)  # gradients are wanted
    with torch.no_grad():
        assert isinstance(model.start(batch).decoder.layers, Steps)
        other = copy.deepcopy(model, {id(one): one for one in (*model.parameters(), *caches_of(model))})
        with recording(other):
            assert not isinstance(other.start(batch).decoder.layers, Steps)
            assert isinstance(model.start(batch).decoder.layers, Steps)
        for watched in (model, copy.deepcopy(model, {id(one): one for one in model.parameters()})):
            with recording(watched):
                assert not isinstance(watched.start(batch).decoder.layers, Steps)
        assert not isinstance(model.train().start(batch).decoder.layers, Steps)
        assert isinstance(model.eval().start(batch).decoder.layers, Steps)


def packed_of(model):
    """The packed blocks of the first decoder."""
    decoder = next(iter(model.decoders.values()))
    return decoder.compiled.packed(decoder.blocks, decoder.norm, decoder.compilable)


@torch.no_grad()
def test_weights_that_change_are_packed_anew(model, batch):
    before, decoder = walk(model, batch, steps=2), next(iter(model.decoders.values()))
    assert packed_of(model) is packed_of(model)
    decoder.blocks[0].own_norm.weight.mul_(2)
    changed = walk(model, batch, steps=2)
    assert not torch.equal(changed[0], before[0])
    for replace in (
        lambda: setattr(decoder.blocks[0].feedforward, "to_hidden", nn.Linear(24, 32)),
        lambda: decoder.blocks.__setitem__(1, copy.deepcopy(decoder.blocks[0])),
        lambda: setattr(decoder.blocks[1].feedforward, "to_hidden", nn.Linear(24, 32)),
        lambda: setattr(decoder, "norm", nn.LayerNorm(24).eval()),
    ):
        replace()
        replaced = walk(model, batch, steps=2)
        assert not torch.equal(replaced[0], changed[0])
        with plain():
            assert_close(replaced, walk(model, batch, steps=2), rtol=1e-4, atol=1e-5)
        changed = replaced


def test_rounded_weights_are_seen_at_the_same_place():
    """Behind bfloat16 and back a large weight may be where it was, and torch counts no change."""
    layer, cache = nn.Linear(512, 512), ParameterCache()
    for _ in range(3):
        assert torch.equal(cache.get([layer.weight], layer.weight.detach().clone), layer.weight)
        with torch.no_grad():
            layer.weight.add_(1e-4)
        assert torch.equal(cache.get([layer.weight], layer.weight.detach().clone), layer.weight)
        layer.bfloat16().float()


def test_weights_that_count_no_changes_are_searched_by_modules(model, batch):
    """Those that were made under inference_mode."""
    with torch.inference_mode():
        other = copy.deepcopy(model)
        found = walk(other, batch, steps=2)
        assert not isinstance(other.start(batch).decoder.layers, Steps)
    with torch.no_grad():
        assert_close(found, walk(model, batch, steps=2), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_packed_is_looked_at_once():
    cache, made = ParameterCache(), []
    parameters = [nn.Parameter(torch.zeros(2))]
    for _ in range(3):
        assert cache.get(parameters, lambda: made.append(1)) is None
    assert made == [1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
@torch.no_grad()
def test_other_numbers_are_searched_by_modules(model, batch, dtype):
    model.to(dtype)
    assert packed_of(model) is None
    for features in ((), (CoverageFeature(),)):
        found = BeamSearch(size=3, max_extra=4).run(model, batch, features=features)
        assert all(math.isfinite(one.score) for several in found for one in several)


@torch.no_grad()
def test_only_ordinary_float32_weights_are_compiled():
    class Other(torch.Tensor):
        """As a library that quantises or shards makes them."""

    weight, transformed = torch.ones(2), []
    assert may_compile([weight])
    assert not may_compile([weight, weight.double()])
    assert not may_compile([weight.as_subclass(Other)])
    torch.func.vmap(lambda row: transformed.append(may_compile([weight])) or row)(torch.ones(2, 1))
    assert transformed == [False]


@torch.no_grad()
def test_copies_with_the_same_weights_share_what_is_packed(model):
    shared = {id(one): one for one in (*model.parameters(), *caches_of(model))}
    assert packed_of(copy.deepcopy(model, shared)) is packed_of(model)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@torch.no_grad()
def test_copies_have_their_own_weights_and_precision(model, batch, duplicate):
    before = walk(model, batch)
    twin = duplicate(model)
    assert_close(walk(twin, batch), before, rtol=0, atol=0)
    for cache in caches_of(twin):
        cache.precision = "int8"
    assert {cache.precision for cache in caches_of(model)} == {"float32"}
    for parameter in twin.parameters():
        parameter.zero_()
    assert not torch.equal(walk(twin, batch)[0], before[0])
    assert_close(walk(model, batch), before, rtol=0, atol=0)


@pytest.mark.parametrize("change", ["another width", "computed weight", "another layer"])
@torch.no_grad()
def test_blocks_that_are_not_standard_run_as_modules(model, batch, change):
    block = next(iter(model.decoders.values())).blocks[1]
    if change == "another width":
        block.feedforward.to_hidden, block.feedforward.to_out = nn.Linear(24, 500), nn.Linear(500, 24)
    elif change == "computed weight":
        parametrizations.weight_norm(block.feedforward.to_hidden)
    else:
        block.own, block.history = None, AverageAttention(24, 32).eval()
    assert packed_of(model) is None
    found = walk(model, batch)
    with plain():
        assert_close(found, walk(model, batch), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_decoder_of_a_source_may_start_without_one(model):
    decoder, ids = next(iter(model.decoders.values())), torch.full((3, 1), BOS)
    found = decoder(ids, decoder.start(rows=torch.arange(3)))[0].states
    with plain():
        assert_close(found, decoder(ids, decoder.start(rows=torch.arange(3)))[0].states)


@torch.no_grad()
def test_empty_sources_and_empty_batches_are_read(model, batch):
    source = batch.columns["source"]
    mask = source.mask.clone()
    mask[1] = False
    hidden = batch._replace(columns={**batch.columns, "source": source._replace(mask=mask)})
    found = walk(model, hidden)
    with plain():
        assert_close(found, walk(model, hidden), rtol=1e-4, atol=1e-5)
    nobody = torch.empty(0, dtype=torch.long)
    words, log_probs, _ = model.best(torch.empty(0, 1, dtype=torch.long), model.start(batch.select(nobody)), 3)
    assert words.shape == log_probs.shape == (0, 3)


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


@of_kinds
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


def test_eight_bits_without_a_compiler_are_a_warning(model, monkeypatch):
    monkeypatch.setattr("regard.ops.kernels.packing.library", lambda *_: None)
    with pytest.warns(UserWarning, match="no compiled code"):
        set_precision(model, "int8")
    assert {cache.precision for cache in caches_of(model)} == {"float32"}


def test_eight_bits_are_for_a_cpu(model):
    with pytest.warns(UserWarning, match="for a CPU, not for meta"):
        set_precision(model.to("meta"), "int8")
    assert {cache.precision for cache in caches_of(model)} == {"float32"}
