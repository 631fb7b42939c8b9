"""From names to modules: what is shared, what is handed down, and what cannot be."""

import pytest
import torch
from networks import build_translator

from regard.attention.parts import AllOf
from regard.attention.spans.causal import CausalSpan
from regard.errors import ConfigError
from regard.models import ROUTE, AttentionSettings, Translator, build_attention
from regard.ops.dropout import Dropout
from regard.records import Batch, Sequences
from regard.registry import Choice

SMALL = {"num_layers": 1, "feedforward_dim": 8}


def build(**settings: object) -> Translator:
    parts = {"encoder": Choice("transformer", SMALL), "decoder": Choice("transformer", SMALL)}
    return build_translator(dict(**{"dim": 8, **parts, **settings}), 9, 9)


@pytest.mark.parametrize(("tied", "tables"), [("all", 1), ("target", 2), ("none", 3)])
def test_tied_tables_are_one_parameter(tied, tables):
    model = build(tied=tied)
    owners = model.encoders[ROUTE].embedder.table, model.decoders[ROUTE].embedder.table, model.heads[ROUTE].weight
    assert len({id(table) for table in owners}) == tables


def test_dropout_is_handed_to_parts_without_one_of_their_own():
    model = build(dropout=0.25, encoder=Choice("transformer", {**SMALL, "dropout": 0.5}))
    shares = {
        place: {part.probability for part in module.modules() if isinstance(part, Dropout)}
        for place, module in (("encoder", model.encoders[ROUTE].encoder), ("decoder", model.decoders[ROUTE]))
    }
    assert shares == {"encoder": {0.5}, "decoder": {0.25}}


def test_weights_may_be_drawn_uniformly_and_vectors_stay():
    torch.manual_seed(0)
    model, own = build(init_uniform=0.1), build()
    drawn = [one for one in model.parameters() if one.dim() > 1]
    assert all(float(one.detach().abs().max()) <= 0.1 for one in drawn)
    values = torch.cat([one.detach().flatten() for one in drawn])
    assert abs(float(values.mean())) < 0.01
    assert float(values.std()) == pytest.approx(0.1 / 3**0.5, rel=0.05)
    vectors = [[one for one in some.parameters() if one.dim() == 1] for some in (model, own)]
    assert all(map(torch.equal, *vectors))


@pytest.mark.parametrize(("spans", "kinds"), [(["everywhere"], ["causal"]), (["causal"], ["causal"])])
def test_a_causal_socket_is_causal_once(spans, kinds):
    settings = AttentionSettings(span=tuple(map(Choice, spans)))
    assert isinstance(build_attention(settings, 4, 4, causal=True).span, CausalSpan)


def test_heads_may_be_wider_than_their_share():
    torch.manual_seed(1)
    attention = build_attention(AttentionSettings(num_heads=2, head_dim=5), 8, 6).double()
    heads, queries, keys = attention.heads, torch.randn(1, 3, 8).double(), torch.randn(1, 4, 6).double()
    contexts = []
    for rows in (slice(0, 5), slice(5, 10)):
        query, key, value = (
            one @ part.weight[rows].T + part.bias[rows]
            for one, part in ((queries, heads.from_query), (keys, heads.from_key), (keys, heads.from_value))
        )
        contexts.append((query @ key.mT / 5**0.5).softmax(dim=-1) @ value)
    wanted = torch.cat(contexts, dim=-1) @ heads.to_out.weight.T + heads.to_out.bias
    torch.testing.assert_close(attention(queries, attention.remember(keys)).context, wanted)
    assert attention.standard() is None  # compiled searches have heads of equal shares
    with pytest.raises(ConfigError, match="a head_dim of 5 needs projections"):
        build_attention(AttentionSettings(head_dim=5, project=False), 8, 8)


def test_a_causal_socket_keeps_its_other_spans():
    span = build_attention(AttentionSettings(span=(Choice("same_position"),)), 4, 4, causal=True).span
    assert isinstance(span, AllOf) and len(span.spans) == 2


@pytest.mark.parametrize(
    "settings",
    [
        AttentionSettings(score=Choice("coverage")),
        AttentionSettings(span=(Choice("everywhere"), Choice("local_predictive"))),
    ],
)
def test_what_must_know_every_key_cannot_read_words_still_to_be_written(settings):
    guilty = "coverage" if settings.score.name == "coverage" else "local_predictive"
    with pytest.raises(ConfigError, match=rf"model.self_attention: '{guilty}' needs all keys from the start"):
        build(self_attention=settings)
    build(attention=settings)  # a source is all there


def test_heads_without_projections_are_refused():
    with pytest.raises(ConfigError, match=r"attention.project: 4 heads need projections"):
        build_attention(AttentionSettings(num_heads=4, project=False), 8, 8)
    assert build_attention(AttentionSettings(num_heads=1, project=True), 8, 8).heads is not None
    assert build_attention(AttentionSettings(num_heads=1), 8, 8).heads is None


@pytest.mark.parametrize(("head", "kept"), [("linear", False), ("pointer", True)])
def test_a_search_carries_the_source_only_for_a_head_that_reads_it(head, kept):
    ids = torch.tensor([[5, 6, 2], [4, 2, 0]])
    state = build(head=Choice(head)).start(Batch({"source": Sequences(ids, ids != 0)}, ROUTE, torch.arange(2), 0))
    repeated = state.select(torch.tensor([0, 0, 1]))
    assert (repeated.encoded is not None) == kept
    if kept:
        assert torch.equal(repeated.encoded.ids, ids[[0, 0, 1]])
