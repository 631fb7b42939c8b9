"""Adversarial learning of two translations from texts that do not match (arXiv:1703.10593, for ciphers 1801.04883)."""

from collections.abc import Iterable, Mapping
from itertools import chain, pairwise
from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import Count, Layers, NotNegative, Size
from regard.errors import PartError
from regard.models.cipher_gan import OTHER_SIDE, CipherGan
from regard.objectives.objective import MAIN, Context, Objective
from regard.ops.modules import module_dict, module_list
from regard.records import Batch, Loss, Sequences

DISCRIMINATORS = "discriminators"  # the turn before that of the model
_LEAK = 0.2  # slope of an activation below 0


class CycleGanObjective(Objective):
    """½ [(D(x) - 1)² + D(F(y))²] + penalty · (|∇D| - 1)² for D; (D(F(y)) - 1)² + cycle · |G(F(y)) - y|₁ for F and G.

    Both of each side: discriminators read relaxed texts, the expected vector of each symbol that a generator finds
    likely, and take a turn of their own before the generators. What they call false comes from a pool of earlier
    texts. The vectors of symbols learn by the discriminators' losses and by the cycle, never by (D(F(y)) - 1)².
    Raises ConfigError for models other than cipher_gan.
    """

    aliases = "cycle_consistency, lsgan"
    turns = (DISCRIMINATORS, MAIN)

    def __init__(
        self,
        context: Context,
        *,
        num_layers: Annotated[Layers, Doc("Number of convolution layers of a discriminator.")] = 5,
        width: Annotated[Size, Doc("Kernel size of a discriminator, in symbols.")] = 15,
        cycle: Annotated[
            NotNegative, Doc("Cycle-consistency weight: L1 distance between a text and its reconstruction.")
        ] = 100.0,
        penalty: Annotated[NotNegative, Doc("Gradient penalty weight of the discriminators.")] = 10.0,
        pool: Annotated[Count, Doc("Replay buffer of generated texts per side; 0: only the newest.")] = 50,
        filters: Annotated[Size, Doc("Number of filters of each layer but the last.")] = 32,
    ) -> None:
        super().__init__(context)
        model = context.model
        if not isinstance(model, CipherGan):
            raise PartError("needs the generators of a cipher_gan, and this model has none", "model=cipher_gan")
        context.need_uncompiled("the gradient penalty differentiates twice, and compiled code cannot")
        self.model = (model,)  # a tuple, so that it is not a submodule
        self.cycle, self.penalty = cycle, penalty
        dim = next(iter(model.embeddings.values())).shape[1] + model.timing
        self.discriminators = module_dict(
            {side: SequenceDiscriminator(dim, filters, num_layers, width) for side in model.sizes}
        )
        self.pools = module_dict({side: HistoryPool(pool) for side in model.sizes})

    def parameters_of(self, turn: str) -> Iterable[nn.Parameter]:
        (model,) = self.model
        if turn == MAIN:
            return model.parameters()
        own = (one.parameters() for one in self.discriminators.values())
        return chain(*own, model.embeddings.parameters())

    def loss(self, batch: Batch, turn: str) -> Loss:
        """Sums over the texts of a batch, each text's loss being a mean over its symbols."""
        found = (self._generators if turn == MAIN else self._discriminators)(batch)
        parts = {name: part.detach() for name, part in found.items()}
        return Loss(torch.stack([*found.values()]).sum(), len(batch.lines), parts)

    def _discriminators(self, batch: Batch) -> dict[str, Tensor]:
        (model,), losses, penalties = self.model, [], []
        for side, other in OTHER_SIDE.items():
            real, source = batch.sequences(side), batch.sequences(other)
            with torch.no_grad():
                rows = model.rows(source)
                probs = model.generated(other, model.table(other)[rows.ids], rows)[rows.where]
            false = self.pools[side](Sequences(probs, source.mask))
            texts = Sequences(model.table(side)[real.items], real.mask), self._relaxed(side, false)
            reads = self.discriminators[side]
            losses.append(_mean((reads(*self._timed(texts[0])) - 1).square(), real.mask) / 2)
            losses.append(_mean(reads(*self._timed(texts[1])).square(), false.mask) / 2)
            if self.penalty:
                between = blended(*(self._timed(text) for text in texts))
                penalties.append(self.penalty * gradient_penalty(reads, between))
        zero = losses[0].new_zeros(())
        return {"discriminators": sum(losses, zero), "penalty": sum(penalties, zero)}

    def _generators(self, batch: Batch) -> dict[str, Tensor]:
        (model,), adversarial, back = self.model, [], []
        for side, other in OTHER_SIDE.items():
            source = batch.sequences(side)
            rows, vectors, table = model.rows(source), model.table(side), model.table(other)
            probs = model.generated(side, vectors.detach()[rows.ids], rows)[rows.where]
            false = Sequences(probs @ table.detach()[1:] * source.mask.unsqueeze(-1), source.mask)
            adversarial.append(_mean((self.discriminators[other](*self._timed(false)) - 1).square(), source.mask))
            there = model.generated(side, vectors[rows.ids], rows) @ table[1:]
            again = model.generated(other, there, rows)
            wanted = functional.one_hot(rows.ids, again.shape[-1] + 1)[:, 1:]
            distance = (again - wanted).abs().sum(dim=-1)[rows.where]
            back.append(self.cycle * _mean(distance, source.mask))
        zero = adversarial[0].new_zeros(())
        return {"generators": sum(adversarial, zero), "cycle": sum(back, zero)}

    def _relaxed(self, side: str, text: Sequences) -> Sequences:
        """The expected vectors of probabilities (batch, n, symbol)."""
        (model,) = self.model
        return Sequences(text.items @ model.embeddings[side] * text.mask.unsqueeze(-1), text.mask)

    def _timed(self, text: Sequences) -> Sequences:
        """Vectors with the encoding of their places behind them."""
        (model,) = self.model
        timing = model.timed(torch.arange(text.items.shape[1], device=text.items.device)).to(text.items)
        return Sequences(torch.cat([text.items, timing.expand(len(text.items), -1, -1)], dim=-1), text.mask)


class SequenceDiscriminator(nn.Module):
    """Convolutions over a text, normalised but for the last: (batch, n, dim) → (batch, n), 1 for true, 0 for false."""

    def __init__(self, dim: int, filters: int, num_layers: int, width: int) -> None:
        super().__init__()
        sizes = [dim, *[filters] * (num_layers - 1), 1]
        pairs = pairwise(sizes)
        self.convolutions = module_list(nn.Conv1d(given, made, width, padding="same") for given, made in pairs)
        self.norms = module_list(nn.LayerNorm(filters) for _ in range(num_layers - 1))

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return a figure for each place; nothing of what is hidden is read."""
        shown, hidden = mask.unsqueeze(-1), vectors
        *earlier, last = self.convolutions
        for convolution, norm in zip(earlier, self.norms, strict=True):
            convolved = convolution((hidden * shown).transpose(1, 2)).transpose(1, 2)
            hidden = functional.leaky_relu(norm(convolved), _LEAK)
        found: Tensor = last((hidden * shown).transpose(1, 2)).squeeze(1)
        return found


class HistoryPool(nn.Module):
    """Generated texts of earlier updates: https://arxiv.org/abs/1612.07828, section 2.3.

    Until it is full a text is kept and given back; then one of two is exchanged for a kept one at random.
    """

    probs: Tensor  # (kept, longest, symbol)
    mask: Tensor  # (kept, longest), as numbers, since several processes share these

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("probs", torch.zeros(0, 0, 0))
        self.register_buffer("mask", torch.zeros(0, 0))

    def forward(self, texts: Sequences) -> Sequences:
        """Return as many texts, and keep some of these."""
        if not self.size:
            return texts
        longest = max(texts.mask.shape[1], self.mask.shape[1])
        probs, mask = _lengthened(texts.items.detach(), longest), _lengthened(texts.mask.unsqueeze(-1), longest)
        kept = [
            *zip(_lengthened(self.probs, longest), _lengthened(self.mask.bool().unsqueeze(-1), longest), strict=True)
        ]
        given = []
        for text in zip(probs, mask, strict=True):
            if len(kept) < self.size:
                kept.append(text)
            elif torch.rand(()) < 1 / 2:
                place = int(torch.randint(self.size, ()))
                given.append(kept[place])
                kept[place] = text
                continue
            given.append(text)
        self.probs, shown = (torch.stack(part) for part in zip(*kept, strict=True))
        self.mask = shown.squeeze(-1).to(probs)
        items, shown = (torch.stack(part) for part in zip(*given, strict=True))
        return Sequences(items, shown.squeeze(-1))

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        for name, buffer in [*self.named_buffers()]:  # they take whatever sizes a checkpoint has
            found = state_dict.get(prefix + name)
            if isinstance(found, Tensor):
                setattr(self, name, buffer.new_empty(found.shape))
        super()._load_from_state_dict(state_dict, prefix, *others)


def blended(real: Sequences, false: Sequences) -> Sequences:
    """Return a text between each true and false one, at a random ratio for each, where both have symbols."""
    shortest = min(real.mask.shape[1], false.mask.shape[1])
    shares = torch.rand(len(real.items), 1, 1).to(real.items)
    one, other = (text.items[:, :shortest].detach() for text in (real, false))
    return Sequences(shares * one + (1 - shares) * other, real.mask[:, :shortest] & false.mask[:, :shortest])


def gradient_penalty(reads: nn.Module, text: Sequences) -> Tensor:
    """Return the sum over texts of (|∇ Σ D| - 1)², by the vectors of a text (arXiv:1704.00028, equation 3)."""
    vectors = text.items.detach().requires_grad_()
    found = (reads(vectors, text.mask) * text.mask).sum()
    (gradient,) = torch.autograd.grad(found, vectors, create_graph=True)
    return ((gradient * text.mask.unsqueeze(-1)).flatten(1).norm(dim=1) - 1).square().sum()


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    """The sum over texts of the mean over their symbols."""
    return ((values * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).sum()


def _lengthened(items: Tensor, length: int) -> Tensor:
    """(texts, n, width) → (texts, length, width), with zeros on the right."""
    return functional.pad(items, (0, 0, 0, length - items.shape[1]))
