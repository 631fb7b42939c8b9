"""Complex layers on [real; imaginary] against complex128: products, convolutions, gates, norms, modulus."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from regard.errors import PartError
from regard.layers.complex_numbers import (
    ComplexLinear,
    ComplexLstm,
    WordBatchNorm,
    complex_convolution,
    complex_modulus,
)

INPUT, DIM, LENGTH = 6, 4, 5
EXACT = {"rtol": 0.0, "atol": 1e-12}
MASK = torch.arange(LENGTH) < torch.tensor([[5], [2], [0]])


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def numbers(vectors: Tensor) -> Tensor:
    """[real; imaginary] → complex128."""
    return torch.complex(*(part.contiguous() for part in vectors.chunk(2, dim=-1)))


def weight(layer: ComplexLinear) -> Tensor:
    """(dim / 2, taps, input_dim / 2), complex128."""
    return torch.complex(*layer.weight.detach())


def both(function, z: Tensor) -> Tensor:
    return torch.complex(function(z.real), function(z.imag))


def test_a_dense_layer_is_the_complex_product():
    layer, inputs = ComplexLinear(INPUT, DIM).double(), random(2, 3, INPUT)
    nn.init.normal_(layer.bias)
    wanted = numbers(inputs) @ weight(layer)[:, 0].T + numbers(layer.bias)
    assert_close(numbers(layer(inputs)), wanted, **EXACT)


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (3, 2), (2, 1)])
@pytest.mark.parametrize("causal", [False, True])
def test_a_convolution_is_torchs_of_complex_numbers(kernel, dilation, causal):
    layer, inputs = (
        complex_convolution(INPUT, DIM, kernel=kernel, dilation=dilation, causal=causal).double(),
        random(2, LENGTH, INPUT),
    )
    reach = (kernel - 1) * dilation
    after = 0 if causal else reach // 2
    padded = functional.pad(numbers(inputs).transpose(1, 2), (reach - after, after))
    wanted = functional.conv1d(
        padded, weight(layer.linear).transpose(1, 2), numbers(layer.linear.bias), dilation=dilation
    )
    assert_close(numbers(layer(inputs, None)[0]), wanted.transpose(1, 2), **EXACT)


def test_an_lstm_has_complex_products_and_gates_of_each_part():
    layer, inputs = ComplexLstm(INPUT, DIM).double(), random(3, LENGTH, INPUT)
    outputs, end = layer(inputs, MASK)
    w, u, b = weight(layer.from_input)[:, 0], weight(layer.from_state)[:, 0], numbers(layer.from_input.bias)
    for row, length in enumerate(MASK.sum(dim=1).tolist()):
        h = c = torch.zeros(DIM // 2, dtype=torch.complex128)
        for place in range(length):
            i, f, g, o = (w @ numbers(inputs[row, place]) + u @ h + b).view(4, -1)
            i, f, o, g = *(both(torch.sigmoid, gate) for gate in (i, f, o)), both(torch.tanh, g)
            c = torch.complex(f.real * c.real + i.real * g.real, f.imag * c.imag + i.imag * g.imag)
            h = torch.complex(o.real * c.real.tanh(), o.imag * c.imag.tanh())
            assert_close(numbers(outputs[row, place]), h, **EXACT)
        assert_close((numbers(end[0][row]), numbers(end[1][row])), (h, c), **EXACT)


def test_only_the_forget_gate_starts_with_a_bias():
    assert ComplexLstm(INPUT, DIM).from_input.bias.view(2, 4, -1).mean(dim=(0, 2)).tolist() == [0, 1, 0, 0]


def test_batch_normalisation_is_torchs_of_real_words_alone():
    layer, theirs, inputs = WordBatchNorm(DIM).double(), nn.BatchNorm1d(DIM).double(), random(3, LENGTH, DIM)
    for _ in range(2):
        assert_close(layer(inputs, MASK)[MASK], theirs(inputs[MASK]))
    layer.eval(), theirs.eval()
    outputs = layer(inputs, MASK)
    assert_close(outputs[MASK], theirs(inputs[MASK]))
    assert bool((outputs[~MASK] == 0).all())


def test_a_single_word_is_normalised_by_the_averages():
    layer, inputs = WordBatchNorm(DIM).double(), random(1, 1, DIM)
    mask = torch.ones(1, 1, dtype=torch.bool)
    in_training = layer(inputs, mask)
    assert_close(in_training, layer.eval()(inputs, mask))


def test_the_modulus_and_its_gradient_at_zero():
    vectors = random(2, 3, DIM).requires_grad_()
    assert_close(complex_modulus(vectors), numbers(vectors).abs(), **EXACT)
    assert torch.autograd.gradcheck(complex_modulus, vectors)
    zero = torch.zeros(DIM, requires_grad=True)
    complex_modulus(zero).sum().backward()
    assert zero.grad.tolist() == [0] * DIM


def test_odd_widths_are_refused():
    for widths in ((3, 4), (4, 3)):
        with pytest.raises(PartError, match="3 features"):
            ComplexLinear(*widths)
