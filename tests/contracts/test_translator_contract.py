"""Every encoder under every decoder with every head and score: one machine."""

import itertools
from typing import Any

import pytest
import torch
from covering import Row, covering
from networks import build_translator
from torch.testing import assert_close

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.errors import ConfigError
from regard.heads import HEADS
from regard.layers.histories import HISTORIES
from regard.layers.normalisation import NORMALISATIONS
from regard.layers.recurrent import RECURRENT
from regard.models import ROUTE, AttentionSettings, Translator, build_attention
from regard.models.translator import EmbeddedEncoder, Route, shifted
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice, Registry

VOCAB, DIM = 13, 8
EXACT = {"rtol": 0.0, "atol": 1e-10}
OWN_HEADS = AttentionSettings(num_heads=2)
SMALL = {"num_layers": 2, "feedforward_dim": 12, "hidden_dim": 8}
SMALL_ENCODER = {**SMALL, "hidden_dim": 4}  # in each direction


def small(table: Registry[Any], part: str | Choice, sizes: dict[str, int]) -> Choice:
    """A part with those of the sizes that it has, and its own settings."""
    name, settings = (part, {}) if isinstance(part, str) else part
    return Choice(name, {**{size: sizes[size] for size in table.settings(name) if size in sizes}, **settings})


def make(
    encoder: str | Choice = "transformer",
    decoder: str | Choice = "transformer",
    head: str = "linear",
    own: AttentionSettings = OWN_HEADS,
    dropout: float = 0.1,
    **cross: object,
) -> Translator:
    settings = dict(
        dim=DIM,
        encoder=small(ENCODERS, encoder, SMALL_ENCODER),
        decoder=small(DECODERS, decoder, SMALL),
        attention=AttentionSettings(**{"score": Choice("additive"), **cross}),
        self_attention=own,
        head=Choice(head),
        dropout=dropout,
        tied="all",
    )
    return build_translator(settings, VOCAB, VOCAB).double().eval()


def batch_of(sources: list[list[int]], targets: list[list[int]], *, more: int = 0) -> Batch:
    """With so much more padding than it needs."""

    def padded(rows: list[list[int]]) -> Sequences:
        longest = max(len(row) for row in rows) + more
        items = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
        return Sequences(items, torch.arange(longest) < torch.tensor([[len(row)] for row in rows]))

    count = sum(len(row) for row in targets)
    return Batch({"source": padded(sources), "target": padded(targets)}, ROUTE, torch.arange(len(sources)), count)


SOURCES = [[5, 6, 7, 8, EOS], [9, 4, EOS], [EOS]]
TARGETS = [[4, 5, 6, EOS], [7, 8, 9, 10, 11, EOS], [5, EOS]]


@pytest.fixture
def batch() -> Batch:
    return batch_of(SOURCES, TARGETS)


SYSTEMS = {  # where a part's settings change what it is
    "gnmt": {
        "encoder": Choice("recurrent", {"num_layers": 3, "bidirectional": "lowest", "residual_from": 3}),
        "decoder": Choice("recurrent", {"order": "gnmt", "num_layers": 3, "residual_from": 3, "readout": "linear"}),
    },
    "both-directions-start-two-layers": {
        "encoder": Choice("recurrent", {"cell": Choice("lstm"), "num_layers": 1, "hidden_dim": 8}),
        "decoder": Choice("recurrent", {"cell": Choice("lstm"), "order": "luong", "init_from_encoder": True}),
    },
    "summariser": {
        "encoder": Choice("recurrent", {"cell": Choice("lstm")}),
        "decoder": Choice("recurrent", {"cell": Choice("lstm"), "order": "luong", "intra_attention": True}),
        "score": Choice("bilinear"),
        "span": (Choice("temporal"),),
        "head": "pointer",
    },
    "cho": {
        "encoder": Choice("recurrent", {"bidirectional": False}),
        "decoder": Choice("recurrent", {"source_context": "summary", "readout": "maxout"}),
    },
    **{
        f"recurrent-{cell}-{order}": {
            "encoder": Choice("recurrent", {"cell": Choice(cell)}),
            "decoder": Choice("recurrent", {"cell": Choice(cell), "order": order}),
        }
        for cell in RECURRENT
        for order in ("bahdanau", "luong")
    },
    "transformer-sru": {
        "encoder": Choice("transformer", {"feedforward": Choice("bidirectional_sru")}),
        "decoder": Choice("transformer", {"feedforward": Choice("sru")}),
    },
    **{
        f"bytenet-{name}": {part: Choice("bytenet", {"norm": Choice(name)}) for part in ("encoder", "decoder")}
        for name in NORMALISATIONS
    },
    **{
        f"pointer-{encoder}": {"encoder": choice, "head": "pointer"}  # an unfolded source has places without a word
        for encoder, choice in {
            "bytenet": Choice("bytenet", {"ratio": 1.5}),
            "unfolded": Choice("unfolded", {"ratio": 1.5}),
            "parallel": Choice("parallel", {"encoders": [{"name": "unfolded", "ratio": 2.0}, "recurrent"]}),
        }.items()
    },
    **{
        f"transformer-{name}": {"decoder": Choice("transformer", {"history": Choice(name), "norm": norm})}
        for name, norm in zip(HISTORIES, itertools.cycle(["pre", "post"]))
    },
}
PARTS = {
    "decoder": DECODERS,
    "encoder": ENCODERS,
    "head": HEADS,
    "score": SCORES,
    "span": SPANS,
    "weighting": WEIGHTINGS,
}
APART = {
    frozenset([("head", "pointer"), ("weighting", "unnormalised")]),  # weights below zero are no shares
    frozenset([("span", "temporal"), ("weighting", "hard")]),  # of equal queries it leaves ties, which rounding decides
}
WIDE = {"language_model_features", "parallel", "sequential"}  # a product of their states needs heads, which project
ROWS = covering(PARTS, [("decoder", table) for table in PARTS if table != "decoder"], apart=APART)


def settings_of(row: Row) -> dict[str, Any]:
    attention = {"score": Choice(row["score"]), "span": (Choice(row["span"]),), "weighting": Choice(row["weighting"])}
    return {**row, **attention, "num_heads": 2 if row["encoder"] in WIDE else 1}


MODELS = [pytest.param(settings_of(row), id="-".join(row.values())) for row in ROWS]
SYSTEM_CASES = [pytest.param(parts, id=name) for name, parts in SYSTEMS.items()]
OWN = (
    [("score", Choice(name)) for name in SCORES]
    + [("span", (Choice(name),)) for name in SPANS]
    + [("weighting", Choice(name)) for name in WEIGHTINGS]
)


def each_part(shift: int) -> pytest.MarkDecorator:
    """Each encoder under a decoder, another one for each shift, and each system; other pairs are slow."""
    decoders = [*itertools.islice(itertools.cycle(DECODERS), shift, shift + len(ENCODERS))]
    at_once = set(zip(ENCODERS, decoders, strict=True))
    pairs = [
        pytest.param({"encoder": e, "decoder": d}, id=f"{e}-{d}", marks=[] if (e, d) in at_once else pytest.mark.slow)
        for e, d in itertools.product(ENCODERS, DECODERS)
    ]
    return pytest.mark.parametrize("parts", [*pairs, *SYSTEM_CASES])


@pytest.fixture
def model(parts: dict[str, Any]) -> Translator:
    return make(**parts)


@pytest.mark.parametrize("settings", [*MODELS, *SYSTEM_CASES])
def test_one_step_equals_all_steps(settings, batch):
    assert_steps_equal_the_whole(make(**settings), batch)


@pytest.mark.parametrize(("place", "choice"), OWN, ids=str)
def test_one_step_equals_all_steps_of_a_decoder_that_looks_at_itself_in_any_way(place, choice, batch):
    """What must know every key from the start is refused: the words still to be written are not there."""
    own = AttentionSettings(**{place: choice}, num_heads=2)
    try:
        model = make(own=own)
    except ConfigError as error:
        assert "needs all keys from the start" in str(error)
        assert any(part.whole for part in build_attention(own, DIM, DIM).parts)
    else:
        assert_steps_equal_the_whole(model, batch)


def assert_steps_equal_the_whole(model: Translator, batch: Batch) -> None:
    decoded, encoded = model.decode(batch, need_weights=True)
    wanted = model.heads[ROUTE].log_probs(decoded, encoded)
    read, state = shifted(batch.columns["target"].items), model.start(batch)
    for place in range(read.shape[1]):
        step, state = model.step(read[:, place : place + 1], state, need_weights=True)
        assert_close(step.log_probs, wanted[:, place], **EXACT)
        assert (step.weights is None) == (decoded.weights is None)  # a decoder that looks nowhere tells of nowhere
        if decoded.weights is not None:
            assert_close(step.weights, decoded.weights[:, place], **EXACT)


@pytest.mark.parametrize("settings", [*MODELS, *SYSTEM_CASES])
def test_selected_rows_go_on_as_they_were(settings, batch):
    """Repeat (as a beam does), reorder within a sentence, drop sentences, tear groups: rows stay themselves."""
    model = make(**settings)
    read = shifted(batch.columns["target"].items)
    selections = [[0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4], [0, 1, 4, 5], [3, 0, 1]]
    state, rows = model.start(batch), torch.arange(3)
    for place, selection in enumerate(selections):
        step, state = model.step(read[rows, place : place + 1], state)
        alone_state = model.start(batch)
        for before in range(place + 1):
            alone, alone_state = model.step(read[:, before : before + 1], alone_state)
        assert_close(step.log_probs, alone.log_probs[rows], **EXACT)
        state, rows = state.select(torch.tensor(selection)), rows[torch.tensor(selection)]


@each_part(0)
def test_batch_mates_do_not_matter(model, batch):
    losses = model.nll(batch)
    for place, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model.nll(batch_of([source], [target]))
        assert_close(losses[place, : len(target)], alone[0], **EXACT)


@pytest.mark.parametrize("system", ["pointer-bytenet", "pointer-unfolded", "pointer-parallel"])
@torch.no_grad()
def test_padding_of_the_source_is_never_copied(system, batch):
    model = make(**SYSTEMS[system])
    head = model.heads[ROUTE]
    torch.nn.init.constant_(head.to_gate.bias, -1e4)  # copies wherever it looks at a word
    decoded, encoded = model.decode(batch)
    written = head.words.log_probs(decoded, encoded).exp()[..., PAD]
    nowhere = 1 - decoded.weights.sum(dim=-1)
    assert bool((nowhere > 0).all())
    assert_close(head.log_probs(decoded, encoded).exp()[..., PAD], nowhere * written, **EXACT)


@each_part(1)
def test_the_future_does_not_matter_bitwise(model, batch):
    changed = batch.columns["target"].items.clone()
    changed[1, 3:] = 4
    columns = {**batch.columns, "target": batch.columns["target"]._replace(items=changed)}
    before, after = model.nll(batch), model.nll(batch._replace(columns=columns))
    assert torch.equal(before[1, :3], after[1, :3])


@each_part(2)
@torch.no_grad()
def test_writing_into_a_padded_target_equals_writing_word_by_word(model, batch, assert_agrees):
    """The whole decoder runs over [BOS, PAD, …] again and again, each time with one word more."""
    length = 7
    target = torch.full((len(SOURCES), length), PAD)
    for place in range(length):
        columns = {**batch.columns, "target": Sequences(target, torch.ones_like(target, dtype=torch.bool))}
        decoded, encoded = model.decode(batch._replace(columns=columns))
        target[:, place] = model.heads[ROUTE].log_probs(decoded, encoded)[:, place].argmax(dim=-1)
    ids, state, written = torch.full((len(SOURCES), 1), BOS), model.start(batch), []
    for _ in range(length):
        step, state = model.step(ids, state)
        ids = step.log_probs.argmax(dim=-1, keepdim=True)
        written.append(ids)
    assert_agrees("C14", torch.cat(written, dim=1), target, tolerance=0.0)


@each_part(3)
def test_every_parameter_learns(model, batch):
    model.train()
    model.nll(batch, smoothing=0.1).sum().backward()
    idle = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert idle == []
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


@each_part(4)
def test_source_padding_cannot_change_the_answer(model, batch):
    source = batch.columns["source"]
    changed = source._replace(items=source.items.masked_fill(~source.mask, 9))
    assert_close(
        model.nll(batch), model.nll(batch._replace(columns={**batch.columns, "source": changed})), rtol=0, atol=0
    )


@each_part(5)
def test_more_padding_changes_nothing_in_training(parts):
    """Also where one row is normalised by others."""
    model = make(**parts, dropout=0.0).train()
    losses = model.nll(batch_of(SOURCES, TARGETS))
    assert_close(model.nll(batch_of(SOURCES, TARGETS, more=5))[:, :6], losses, rtol=0, atol=1e-10)


@each_part(6)
def test_an_empty_source_is_no_error(model):
    batch = batch_of(SOURCES, TARGETS)
    source = batch.columns["source"]
    nothing = source._replace(mask=source.mask & (torch.arange(3) > 0).unsqueeze(-1))
    losses = model.nll(batch._replace(columns={**batch.columns, "source": nothing}))
    assert bool(losses.isfinite().all())


def test_the_first_word_read_is_bos(batch):
    read = shifted(batch.columns["target"].items)
    assert read[:, 0].tolist() == [BOS] * 3
    assert torch.equal(read[:, 1:], batch.columns["target"].items[:, :-1])


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("num_heads", [1, 2])
def test_a_source_may_be_wider_than_the_decoder(decoder, num_heads, batch):
    settings = dict(
        dim=DIM,
        encoder=Choice("recurrent", {"hidden_dim": 7}),
        decoder=small(DECODERS, decoder, SMALL),
        attention=AttentionSettings(score=Choice("additive"), num_heads=num_heads),
        self_attention=AttentionSettings(num_heads=2),
    )
    assert build_translator(settings, VOCAB, VOCAB).nll(batch).shape == (3, 6)


def test_routes_may_share_an_encoder_and_write_apart(batch):
    """One to many: two decoders above one encoder learn it together, and each route is its own."""
    first, second = make(), make()
    model = Translator(
        {"en": first.encoders[ROUTE]},
        {"de": first.decoders[ROUTE], "fr": second.decoders[ROUTE]},
        {"de": first.heads[ROUTE], "fr": second.heads[ROUTE]},
        {"en-de": Route("en", "de", "de"), "en-fr": Route("en", "fr", "fr")},
    )
    german, french = (model.nll(batch._replace(route=route)) for route in ("en-de", "en-fr"))
    assert_close(german, first.nll(batch))
    assert not torch.allclose(german, french)
    (german.sum() + french.sum()).backward()
    assert isinstance(model.encoders["en"], EmbeddedEncoder)
    assert all(p.grad is not None for p in model.encoders["en"].parameters())
