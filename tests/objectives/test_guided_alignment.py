"""The guided head by hand: what links cost, where they teach, and which head learns them."""

import math

import pytest
import torch
from networks import build_translator
from torch import Tensor, tensor

from regard.attention import Attended, Recorded, Role, recording
from regard.errors import ConfigError
from regard.models import ROUTE, AttentionSettings, Translator
from regard.objectives import PENALTIES, Context, PenalisedObjective, build_penalties
from regard.objectives.likelihood import LikelihoodObjective
from regard.objectives.penalties.penalty import Penalty
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

CROSS = Role("target", "source")
# two pairs of three target and four source pieces, the second one shorter; linked: a word with a word of two pieces
LINKS = tensor([[[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]]).bool()


def batch() -> Batch:
    source, target = tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD]]), tensor([[5, 6, EOS], [7, EOS, PAD]])
    columns = {"source": Sequences(source, source != PAD), "target": Sequences(target, target != PAD)}
    return Batch(columns, ROUTE, torch.arange(2), 5)


def penalty(links: Tensor = LINKS, **settings: object) -> Penalty:
    built = PENALTIES.build(Choice("guided_alignment", settings))
    built.bind(Context(torch.nn.Module(), links=lambda aligner: lambda batch: links))
    return built


def records_of(*weights: Tensor) -> dict[str, Recorded]:
    return {f"cross{layer}": Recorded(CROSS, [Attended(one, one)]) for layer, one in enumerate(weights)}


def drawn(heads: int = 2) -> Tensor:
    return torch.randn(2, heads, 3, 4, dtype=torch.float64).softmax(dim=-1)


def by_hand(weights: Tensor, later: int = 0) -> float:
    """One piece is linked to a piece, the other to both pieces of a word; the third and the other pair to none."""
    first, second = weights[0, later].tolist(), weights[0, 1 + later].tolist()
    return -math.log(first[0]) - 0.5 * (math.log(second[1]) + math.log(second[2]))


def test_the_loss_by_hand():
    weights = drawn()
    assert float(penalty(head=1)(records_of(weights), batch())) == pytest.approx(by_hand(weights[:, 1]))


def test_a_step_ahead_reads_the_word_that_it_links():
    weights = drawn()
    found = penalty(ahead=True)(records_of(weights), batch())
    assert float(found) == pytest.approx(by_hand(weights[:, 0], later=1))


def test_gradients_are_only_where_links_are():
    weights = drawn().requires_grad_()
    penalty(head=1)(records_of(weights), batch()).backward()
    assert torch.equal(weights.grad[:, 1] != 0, LINKS)
    assert not weights.grad[:, 0].any()


def test_words_without_links_do_not_count():
    found = penalty(torch.zeros_like(LINKS))(records_of(drawn()), batch())
    assert float(found) == 0.0


@pytest.mark.parametrize(("layers", "layer", "wanted"), [(3, None, 1), (1, None, 0), (3, -1, 2), (3, 0, 0)])
def test_which_layer_learns(layers, layer, wanted):
    weights = [drawn() for _ in range(layers)]
    found = penalty(layer=layer)(records_of(*weights), batch())
    assert float(found) == pytest.approx(by_hand(weights[wanted][:, 0]))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"layer": 2}, r"layer: there is no layer 2 among 2"), ({"head": 2}, r"head: there is no head 2 among 2 of")],
)
def test_a_layer_or_head_that_is_not_there_is_told(settings, problem):
    with pytest.raises(ConfigError, match=f"penalties.{problem}"):
        penalty(**settings)(records_of(drawn(), drawn()), batch())


def test_what_looks_at_no_source_of_a_translation_is_refused():
    weights, pairs = drawn(), Role("hypothesis", "premise")
    records = {"compare": Recorded(pairs, [Attended(weights, weights)])}
    with pytest.raises(ConfigError, match="no attention reads a source"):
        penalty()(records, batch())
    with pytest.raises(ConfigError, match="'compare' attends to no source of a translation"):
        penalty(attentions="compare")(records, batch())


def translator(num_layers: int) -> Translator:
    part = Choice("transformer", {"num_layers": num_layers, "feedforward_dim": 8})
    attention = AttentionSettings(num_heads=2)
    return build_translator(dict(dim=8, encoder=part, decoder=part, attention=attention, dropout=0.0), 9, 9).double()


@pytest.mark.parametrize(("layers", "settings", "wanted"), [(3, {}, (1, 0, False)), (1, {"ahead": True}, (0, 0, True))])
def test_the_trained_head_is_told(layers, settings, wanted):
    assert penalty(**settings).trained_head(translator(layers), ROUTE) == wanted
    others = build_penalties([Choice("overlap")])["overlap"]
    assert others.trained_head(translator(layers), ROUTE) is None


def linked_share(penalties: list[Choice]) -> float:
    """The weight on linked pieces of the first layer's first head, the least of both linked words, after training."""
    torch.manual_seed(1)
    model, given = translator(2), batch()
    context = Context(model, links=lambda aligner: lambda batch: LINKS)
    objective = PenalisedObjective(LikelihoodObjective(context), build_penalties(penalties))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(40):
        optimizer.zero_grad()
        objective.loss(given, "model").sum.backward()
        optimizer.step()
    with torch.no_grad(), recording(model) as records:
        model.nll(given)
    weights, *_ = (one.answers[0].weights[0, 0] for one in records.values() if one.role == CROSS)
    return float((weights * LINKS[0]).sum(dim=-1)[:2].min())


def test_a_model_learns_to_look_where_links_are():
    assert linked_share([Choice("guided_alignment", {"weight": 1.0})]) > 0.9 > linked_share([])


def test_only_attentions_that_count_are_asked_for_weights():
    model = translator(2)
    with recording(model, of=lambda name, role: role.crosses) as records:
        model.nll(batch())
    assert {one.role.crosses: len(one.answers) for one in records.values()} == {True: 1, False: 0}
