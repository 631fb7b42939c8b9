"""Complex-order embeddings against complex numbers."""

import cmath

import pytest
import torch
from networks import build_translator
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SPANS, Attention
from regard.attention.scores.dot import DotScore
from regard.attention.scores.modulus import ModulusScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.errors import ConfigError
from regard.layers.embedders import EMBEDDERS
from regard.layers.embedders.complex_order import ComplexOrderEmbedder
from regard.layers.positions.sinusoidal import SinusoidalPosition, sinusoids
from regard.models import ROUTE, AttentionSettings
from regard.records import PAD
from regard.registry import Choice

WORDS, DIM = 7, 6
FREQUENCIES = ["word_and_feature", "word", "feature", "fixed"]
IDS = torch.tensor([[3, 1, 3, 6], [5, 2, PAD, PAD]])


def embedder(**settings: object) -> ComplexOrderEmbedder:
    return ComplexOrderEmbedder(WORDS, DIM, **{"dropout": 0.0, **settings}).double()


def joined(vectors: Tensor) -> Tensor:
    """The real vectors (..., dim) as complex ones (..., dim / 2)."""
    return torch.complex(*vectors.chunk(2, dim=-1))


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("phases", [True, False])
@pytest.mark.parametrize("frequencies", FREQUENCIES)
def test_vectors_are_amplitudes_turned_by_place_times_frequency(frequencies, phases, scale, assert_agrees):
    """f_j(p) = r_j exp(i (ω_j p + θ_j)), one complex number at a time; p from 1."""
    made = embedder(frequencies=frequencies, phases=phases, scale=scale)
    rates = made.rates.expand(WORDS, DIM // 2).tolist()
    table = (joined(made.table) if phases else made.table.to(torch.complex128)).tolist()
    factor = DIM**0.5 if scale else 1.0
    wanted = torch.zeros(2, 4, DIM // 2, dtype=torch.complex128)
    for row, ids in enumerate(IDS.tolist()):
        for place, word in enumerate(ids):
            for feature in range(DIM // 2):
                radius, phase = cmath.polar(table[word][feature])
                turn = cmath.exp(1j * (rates[word][feature] * (place + 1) + phase))
                wanted[row, place, feature] = 0 if word == PAD else factor * radius * turn
    assert_agrees("B21", joined(made(IDS)[0].detach()), wanted)


@pytest.mark.parametrize("frequencies", FREQUENCIES)
def test_a_word_further_on_is_turned_by_the_distance_alone_and_as_long_as_before(frequencies, assert_agrees):
    """f(p + n) = f(p) exp(i ω n), wherever p is; |f| = |r|."""
    made, shift = embedder(frequencies=frequencies, phases=True), 3
    words = made(torch.full((1, 9), 4))[0].detach()
    turn = torch.polar(torch.ones(DIM // 2).double(), shift * made.rates.detach().expand(WORDS, -1)[4])
    assert_agrees("B21", joined(words[:, shift:]), joined(words[:, :-shift]) * turn)
    assert_agrees("B21", joined(words).abs(), joined(words[:, :1]).abs().expand(1, 9, -1))


def test_fixed_frequencies_are_sinusoids_that_multiply(assert_agrees):
    made = embedder(frequencies="fixed", scale=False)
    assert dict(made.named_parameters()).keys() == {"table"}
    words, waves = made(IDS)[0].detach(), sinusoids(torch.arange(1, 5), DIM).double()
    wanted = made.table.detach()[IDS[0]]
    assert_agrees("B21", words[0], torch.cat([wanted * waves[:, 1::2], wanted * waves[:, 0::2]], dim=-1))


def test_features_start_with_unit_variance():
    words = torch.randint(1, 5000, (1, 20000))
    for phases in (True, False):
        vectors, _ = ComplexOrderEmbedder(5000, 32, phases=phases, dropout=0.0)(words)
        assert vectors.detach().var().item() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("phases", [True, False])
def test_padding_is_nothing_and_teaches_nothing(phases):
    made = embedder(phases=phases)
    vectors, _ = made(IDS)
    assert bool((vectors[1, 2:] == 0).all())
    vectors.square().sum().backward()
    assert all(bool((parameter.grad[PAD] == 0).all()) for parameter in made.parameters())


@pytest.mark.parametrize("phases", [True, False])
@pytest.mark.parametrize("frequencies", FREQUENCIES[:3])
def test_tables_learn_as_finite_differences_say(frequencies, phases):
    made = embedder(frequencies=frequencies, phases=phases)

    def vectors(table: Tensor, rates: Tensor) -> Tensor:
        return torch.func.functional_call(made, {"table": table, "rates": rates}, IDS)[0]

    assert torch.autograd.gradcheck(vectors, tuple(one.detach().requires_grad_() for one in (made.table, made.rates)))


def test_far_places_are_told_apart_in_half_precision():
    made = embedder(frequencies="fixed")
    ids = torch.full((1, 301), 4)
    exact, rough = made(ids)[0].detach(), made.bfloat16()(ids)[0].detach()
    assert rough.dtype == torch.bfloat16
    slow = [0, 3]  # the real and imaginary part of the quickest feature, whose frequency is exactly 1
    assert_close(rough[0, -2:, slow].double(), exact[0, -2:, slow], atol=0.05, rtol=0.05)


def test_complex_layers_may_read_the_parts():
    """Weights are real; values may be complex, and a context then mixes both parts alike."""
    made = embedder()
    vectors, values = made(IDS)[0], torch.complex(*made.parts(IDS))
    attention = Attention(DotScore(DIM, DIM), EverywhereSpan(DIM, DIM), SoftmaxWeighting(DIM))
    mask = IDS != PAD
    context = attention(vectors, attention.remember(vectors, values, mask)).context
    assert context.dtype == torch.complex128
    wanted = attention(vectors, attention.remember(vectors, mask=mask)).context
    assert_close(context, joined(wanted))


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match=r"model.embedder: 5 features do not split"):
        EMBEDDERS.build(Choice("complex_order"), WORDS, 5, None)
    with pytest.raises(ConfigError, match=r"model.embedder: .*include positions \(set position to null"):
        EMBEDDERS.build(Choice("complex_order"), WORDS, DIM, SinusoidalPosition(DIM))


def settings(**choices: object) -> dict:
    small = {"num_layers": 1, "feedforward_dim": 8}
    return dict(
        dim=8,
        position=None,
        encoder=Choice("transformer", small),
        decoder=Choice("transformer", small),
        attention=AttentionSettings(),
        self_attention=AttentionSettings(),
        **{"embedder": Choice("complex_order"), **choices},
    )


def test_a_head_shares_the_table_only_where_there_are_phases():
    with pytest.raises(ConfigError, match=r"tied: .*use tied: none, or phases: true"):
        build_translator(settings(tied="all"), WORDS, WORDS)
    assert build_translator(settings(tied="none"), WORDS, WORDS).heads[ROUTE].weight.shape == (WORDS, 8)
    tied = build_translator(settings(embedder=Choice("complex_order", {"phases": True}), tied="all"), WORDS, WORDS)
    assert tied.heads[ROUTE].weight is tied.decoders[ROUTE].embedder.table


@pytest.mark.parametrize("name", ["alibi", "forced_forward", "temporal"])
def test_biases_of_complex_words_are_real(name):
    words = torch.complex(*embedder().parts(IDS)).detach()
    attention = Attention(ModulusScore(DIM // 2, DIM // 2), SPANS.build(Choice(name), 3, 3), SoftmaxWeighting(3))
    attended = attention(words, attention.remember(words), need_weights=True)
    assert attended.weights.dtype == torch.float64 and attended.context.dtype == torch.complex128
    assert_close(attended.weights.sum(dim=-1), torch.ones(2, 4).double())


def test_the_modulus_of_complex_words_weighs_them(assert_agrees):
    """e_ij = |w_i · conj(w_j)| / sqrt(D), softmax, and a complex context."""
    made, mask = embedder(), IDS != PAD
    words = torch.complex(*made.parts(IDS)).detach()
    attention = Attention(ModulusScore(DIM // 2, DIM // 2), EverywhereSpan(3, 3), SoftmaxWeighting(3))
    context = attention(words, attention.remember(words, mask=mask)).context
    for row, length in enumerate((4, 2)):
        read = words[row, :length]
        wanted = torch.zeros_like(context[row])
        for place, query in enumerate(words[row]):
            products = [sum(a.conj() * b for a, b in zip(query, key, strict=True)) for key in read]
            weights = torch.stack([product.abs() / (DIM // 2) ** 0.5 for product in products]).softmax(dim=0)
            wanted[place] = (weights.unsqueeze(-1) * read).sum(dim=0)
        assert_agrees("B21", context[row], wanted)


def test_without_places_a_word_is_the_same_wherever_it_stands(assert_agrees):
    """complex-vanilla: r exp(iω), the first place of the same embedder with places."""
    made, vanilla = embedder(), embedder(places=False)
    vanilla.load_state_dict(made.state_dict())
    words = torch.full((1, 5), 4)
    wanted = made(words[:, :1])[0].expand(1, 5, -1)
    assert_agrees("B21", vanilla(words)[0].detach(), wanted.detach())
    assert_close(vanilla(words[:, :2], 7)[0], wanted[:, :2])
