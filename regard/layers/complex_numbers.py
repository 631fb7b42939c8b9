"""Complex layers on real vectors [real; imaginary]: https://arxiv.org/abs/1912.12333 (Wang et al. 2020), section 3.

A vector of width dim holds dim / 2 complex numbers, so that every other part can read it. A real function, such as a
sigmoid, applies to the real and to the imaginary part separately.
"""

import torch
from torch import Tensor, nn

from regard.errors import PartError
from regard.layers.convolutional.convolution import Convolution
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.ops.functional import wide
from regard.ops.linear import linear


class ComplexLinear(nn.Module):
    """(A + iB)(x + iy) + c + id = [A x - B y + c; B x + A y + d]; of several `taps` side by side, their sum.

    The weight (2, dim / 2, taps, input_dim / 2) holds A and B. Both start as N(0, 1 / (fan_in + fan_out)), of complex
    numbers, and the bias as 0. Raises PartError for an odd width.

    Cost: O(n·d²)
    """

    aliases = "complex_dense"

    def __init__(self, input_dim: int, dim: int, *, taps: int = 1, bias: bool = True) -> None:
        super().__init__()
        for width in (input_dim, dim):
            if width % 2:
                raise PartError(f"{width} features do not split into real and imaginary ones", "make it even")
        self.dim = dim
        self.weight = nn.Parameter(torch.empty(2, dim // 2, taps, input_dim // 2))
        nn.init.normal_(self.weight, std=((taps * input_dim + dim) / 2) ** -0.5)
        self.bias = nn.Parameter(torch.zeros(dim)) if bias else None

    def matrix(self) -> Tensor:
        """Return the real matrix (dim, taps · input_dim) of this product: [[A, -B], [B, A]] for each tap."""
        real, imaginary = self.weight
        above, below = torch.cat([real, -imaginary], dim=-1), torch.cat([imaginary, real], dim=-1)
        return torch.cat([above, below]).flatten(1)

    def forward(self, inputs: Tensor) -> Tensor:
        """(..., taps · input_dim) → (..., dim)."""
        return linear(inputs, self.matrix(), self.bias)


def complex_convolution(
    input_dim: int, dim: int, *, kernel: int = 3, dilation: int = 1, causal: bool = False
) -> Convolution:
    """Return a convolution whose taps are complex products; it reads and writes vectors [real; imaginary].

    Cost: O(n·k·d²)
    """
    products = ComplexLinear(input_dim, dim, taps=kernel)
    return Convolution(input_dim, dim, kernel=kernel, dilation=dilation, causal=causal, products=products)


class ComplexLstm(Recurrent):
    """i, f, o = sigmoid(W x + U h + b), g = tanh(…), W and U complex; c_t = f · c + i · g; h_t = o · tanh(c_t).

    The real part of a gate multiplies a real part, its imaginary part an imaginary one. The forget gate's bias is 1 at
    the start.

    Cost: O(n·d²)
    """

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.from_input = ComplexLinear(input_dim, 4 * dim)
        self.from_state = ComplexLinear(dim, 4 * dim, bias=False)
        assert self.from_input.bias is not None
        nn.init.ones_(self.from_input.bias.data.view(2, 4, dim // 2)[:, 1])

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h, c)."""
        shown, cell = self.nothing(inputs) if past is None else past
        weight, outputs = self.from_state.matrix(), []
        for place, step in enumerate(self.from_input(inputs).unbind(dim=1)):
            gates = (step + linear(shown, weight)).unflatten(-1, (2, 4, -1)).transpose(-3, -2).flatten(-2)
            i, f, g, o = gates.unbind(dim=-2)
            after = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            written = o.sigmoid() * after.tanh()
            real = written.new_ones(len(written), 1, dtype=torch.bool) if mask is None else mask[:, place : place + 1]
            shown, cell = torch.where(real, written, shown), torch.where(real, after, cell)
            outputs.append(written.masked_fill(~real, 0.0))
        return torch.stack(outputs, dim=1) if outputs else inputs.new_zeros(len(inputs), 0, self.dim), (shown, cell)

    def nothing(self, inputs: Tensor) -> Past:
        return inputs.new_zeros(inputs.shape[0], self.dim), inputs.new_zeros(inputs.shape[0], self.dim)


class WordBatchNorm(nn.Module):
    """gain · (x - mean) / sqrt(var + eps) + bias per feature, over all words of a batch: real and imaginary separately.

    In training every word depends on the others, so a decoder must not use it. At inference, and for a single word,
    running averages of training are used.
    """

    aliases = "complex_batch_normalisation, complex_batch_normalization"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """(batch, n, dim), mask (batch, n) → (batch, n, dim), padding zero."""
        words, norm = inputs[mask], self.norm
        if self.training and len(words) > 1:
            normed = norm(words)
        else:
            normed = nn.functional.batch_norm(
                words, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps
            )
        return torch.zeros_like(inputs).masked_scatter(mask.unsqueeze(-1), normed.to(inputs.dtype))


def complex_modulus(vectors: Tensor) -> Tensor:
    """[real; imaginary] (..., dim) → |z| (..., dim / 2), with gradient 0 at 0.

    Cost: O(n·d)
    """
    real, imaginary = vectors.to(wide(vectors.dtype)).chunk(2, dim=-1)
    return torch.complex(real.contiguous(), imaginary.contiguous()).abs().to(vectors.dtype)
