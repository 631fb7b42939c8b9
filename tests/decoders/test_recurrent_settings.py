"""What every setting of the recurrent decoder keeps, and what some of them mean."""

import itertools
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.attention import SCORES, SPANS, Sockets
from regard.encoders.recurrent import RecurrentEncoder
from regard.errors import ConfigError, PartError
from regard.layers.recurrent import RECURRENT
from regard.models import AttentionSettings
from regard.records import Sequences
from regard.registry import Choice

HIDDEN, SOURCE_DIM = 4, 6  # those of the decoders and sources that conftest.py makes
STATES = {"gru": 1, "lstm": 2, "rnn": 1, "sru": 2, "ssru": 2}  # of each layer; a tape of states is never copied
CHOICES = {
    "order": ["bahdanau", "luong", "gnmt"],
    "input_feeding": [False, True],
    "source_context": ["states", "final", "summary"],
    "init_from_encoder": [False, True],
    "readout": ["tanh", "maxout"],
    "cell": ["gru", "lstm"],
}
SETTINGS = [dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values())]
SETTINGS += [
    {
        **dict.fromkeys(("input_feeding", "init_from_encoder"), False),
        "order": order,
        "source_context": reads,
        "readout": "linear",
        "cell": cell,
    }
    for cell in RECURRENT
    for order in CHOICES["order"]
    for reads in ("states", "final")
    if cell not in CHOICES["cell"]
]
SETTINGS += [
    {
        **{**SETTINGS[0], "cell": "lstm", "source_context": reads},
        "order": order,
        "input_feeding": feeding,
        "intra_attention": True,
    }
    for order in CHOICES["order"]
    for reads in ("states", "final")
    for feeding in (False, True)
]
SETTINGS += [{**SETTINGS[0], "order": order, "zero_state": True} for order in CHOICES["order"]]


def takes_unequal_widths(score: str) -> bool:
    try:
        return bool(SCORES.build(Choice(score), 1, 2))
    except ConfigError:
        return False


ATTENTIONS = [
    AttentionSettings(score=Choice(score), span=(Choice(span),), num_heads=heads)
    for score, span, heads in [
        *((score, "everywhere", 1) for score in SCORES if takes_unequal_widths(score)),
        *(("additive", span, 1) for span in SPANS if span != "everywhere"),
        *((score, "everywhere", 2) for score in SCORES),
    ]
]


def name_of(value: Any) -> str:
    if isinstance(value, AttentionSettings):
        return f"{value.score.name}-{value.span[0].name}-{value.num_heads}"
    return "-".join(key if chosen is True else chosen for key, chosen in value.items() if chosen)


@pytest.fixture(params=SETTINGS, ids=name_of)
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {**request.param, "cell": Choice(request.param["cell"]), "num_layers": 2}


@pytest.fixture
def seen(settings, encoded):
    return encoded(2, STATES.get(settings["cell"].name, 0))


@pytest.fixture
def model(settings, make):
    return make(
        AttentionSettings(score=Choice("coverage")) if settings["source_context"] == "states" else None, **settings
    )


def assert_steps_equal_the_whole(model, seen, ids):
    """In any pieces, none of length 0 included; repeated before the first word, and torn apart after the second."""
    whole, _ = model(ids, model.start(seen), need_weights=True)
    for sizes in ([1, 1, 1, 1], [2, 2], [0, 3, 1]):
        state, states = model.start(seen), []
        for some in ids.split(sizes, dim=1):
            decoded, state = model(some, state, need_weights=True)
            states.append(decoded.states)
        assert_close(torch.cat(states, dim=1), whole.states)
    rows, state = torch.tensor([0, 0, 1, 1, 2, 2]), model.start(seen, rows=torch.tensor([0, 0, 1, 1, 2, 2]))
    for place, chosen in enumerate([[0, 1, 3, 2, 4, 5], [5, 0, 1], [1, 1, 0], [0]]):
        decoded, state = model(ids[rows, place : place + 1], state, need_weights=True)
        assert_close(decoded.states[:, 0], whole.states[rows, place])
        if whole.weights is not None:
            assert_close(decoded.weights[:, 0], whole.weights[rows, place])
        state, rows = state.select(torch.tensor(chosen)), rows[torch.tensor(chosen)]


def test_one_step_equals_all_steps_with_every_setting(model, seen, ids):
    assert_steps_equal_the_whole(model, seen, ids)


@pytest.mark.parametrize("order", CHOICES["order"])
@pytest.mark.parametrize("attention", ATTENTIONS, ids=name_of)
def test_one_step_equals_all_steps_with_every_attention(attention, order, make, encoded, ids):
    assert_steps_equal_the_whole(make(attention, order=order), encoded(), ids)


def test_gradients_reach_what_is_read_of_the_encoder(model, settings, seen, ids):
    pasts = tuple(tuple(one.requires_grad_() for one in past) for past in seen.past)
    seen = seen._replace(states=seen.states.requires_grad_(), final=seen.final.requires_grad_(), past=pasts)
    model(ids, model.start(seen))[0].states.square().sum().backward()
    reads_states = settings["source_context"] == "states"
    if reads_states:
        assert bool((seen.states.grad[seen.mask] != 0).any(dim=-1).all())
        assert bool((seen.states.grad[~seen.mask] == 0).all())
    else:
        assert seen.states.grad is None
    begins = not settings["init_from_encoder"] and not settings.get("zero_state")
    assert (seen.final.grad is not None) == (not reads_states or begins)
    assert all((one.grad is not None) == settings["init_from_encoder"] for past in pasts for one in past)
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_decoder_that_reads_the_final_state_never_sees_the_others(make, encoded, ids):
    model, seen = make(source_context="final"), encoded()
    other = seen._replace(states=torch.full_like(seen.states, float("nan")))
    first, second = (model(ids, model.start(one), need_weights=True)[0] for one in (seen, other))
    assert_close(first.states, second.states, rtol=0, atol=0)
    assert first.weights is None


@pytest.mark.parametrize("cell", STATES)
def test_copied_pasts_are_the_encoders_own(cell, make, encoded, assert_agrees):
    seen = encoded(2, STATES[cell])
    model = make(AttentionSettings(score=Choice("additive")), cell=Choice(cell), num_layers=2, init_from_encoder=True)
    layers = model.start(seen).layers.stack
    assert list(map(len, layers)) == list(map(len, seen.past))
    for mine, oracle in zip(sum(layers, ()), sum(seen.past, ()), strict=True):
        assert_agrees("C02", mine, oracle, tolerance=0.0)


@pytest.mark.parametrize("layers", [1, 2])
def test_both_directions_start_two_layers_each(layers, make, encoded, assert_agrees):
    """In the order of torch's: forward, backward, then those of the next layer."""
    network = torch.nn.LSTM(SOURCE_DIM, HIDDEN, layers, bidirectional=True, batch_first=True).double()
    encoder = RecurrentEncoder(
        SOURCE_DIM, Sockets(None, None, None), cell=Choice("lstm"), hidden_dim=HIDDEN, num_layers=layers, dropout=0.0
    ).double()
    for number, layer in enumerate(encoder.layers):
        for way, ending in ((layer.forwards, ""), (layer.backwards, "_reverse")):
            for name, parameter in way.network.named_parameters():
                parameter.data = getattr(network, name.replace("l0", f"l{number}") + ending).data
    source = torch.randn(3, 5, SOURCE_DIM, dtype=torch.float64)
    past = encoder(Sequences(source, torch.ones(3, 5, dtype=torch.bool))).past
    seen = encoded()._replace(past=past)
    model = make(source_context="start", cell=Choice("lstm"), num_layers=2 * layers, init_from_encoder=True)
    for mine, *oracle in zip(model.start(seen).layers.stack, *network(source)[1], strict=True):
        for one, other in zip(mine, oracle, strict=True):
            assert_agrees("C05", one, other, tolerance=1e-12)


@pytest.mark.parametrize(("layers", "states"), [(1, 2), (3, 2), (2, 1), (0, 0)], ids=str)
def test_pasts_that_do_not_fit_are_a_clear_error(layers, states, make, encoded):
    model = make(source_context="final", cell=Choice("lstm"), num_layers=2, init_from_encoder=True)
    with pytest.raises(ConfigError, match="init_from_encoder: the encoder's states are not as many and as wide"):
        model.start(encoded(layers, states))


def test_pasts_of_another_width_are_a_clear_error(make, encoded):
    with pytest.raises(ConfigError, match="give both the same cell, num_layers and width"):
        make(source_context="final", hidden_dim=7, init_from_encoder=True).start(encoded(1))


def test_dropout_is_for_training_alone(make, encoded, ids):
    seen, attention = encoded(), AttentionSettings(score=Choice("additive"))
    model = make(attention, dropout=0.5)
    first, second = (model.eval()(ids, model.start(seen))[0].states for _ in range(2))
    assert torch.equal(first, second)
    dropped = model.train()(ids, model.start(seen))[0].states
    assert_close(dropped[dropped != 0], first[dropped != 0] * 2)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_zero_state_is_that_of_a_decoder_without_a_source(cell, make, encoded):
    model = make(AttentionSettings(score=Choice("additive")), cell=Choice(cell), num_layers=2, zero_state=True)
    begun, alone = model.begin(encoded(), 3).layers.stack, model.begin(None, 3).layers.stack
    assert_close(begun, alone)
    assert not any(one.any() for past in begun for one in past)
    assert model.starts is None


@pytest.mark.parametrize("other", [{"init_from_encoder": True}, {"source_context": "start"}])
def test_a_zero_state_beside_another_first_state_is_refused(other, make):
    with pytest.raises(PartError, match="zero state"):
        make(AttentionSettings(score=Choice("additive")), zero_state=True, **other)


@pytest.mark.parametrize("readout", ["linear", "maxout"])
def test_a_readout_without_bias_is_one_whose_bias_is_zero(readout, make, encoded, ids):
    attention, seen = AttentionSettings(score=Choice("additive")), encoded()
    bare, usual = (make(attention, order="luong", readout=readout, readout_bias=bias) for bias in (False, True))
    assert usual.load_state_dict(bare.state_dict(), strict=False).missing_keys == ["to_state.bias"]
    torch.nn.init.zeros_(usual.to_state.bias)
    assert_close(bare(ids, bare.start(seen))[0].states, usual(ids, usual.start(seen))[0].states)
