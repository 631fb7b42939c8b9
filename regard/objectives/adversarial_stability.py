"""Translations that small changes of the source leave as they are (https://aclanthology.org/P18-1163)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import NotNegative, Ratio, Size
from regard.config.common_settings import LabelSmoothing
from regard.errors import PartError
from regard.models import Translator
from regard.objectives.objective import Context, Objective, copied
from regard.pieces import SPECIALS
from regard.records import SOURCE, Batch, Encoded, Loss, Sequences


class AdversarialStabilityObjective(Objective):
    """L(x, y) + noisy_weight · L(x', y) + invariance_weight · (log D(h) + log(1 - D(h'))), h a mean of encoder states.

    x' is x with noise: "lexical" replaces pieces, with `replace_probability`, by near ones, sampled by exp(cosine)
    among the nearest that sources have had so far, since a shared vocabulary has the target's, too; "feature" adds
    N(0, std²) to every number of the vectors that the encoder reads. The discriminator D learns, in the same step, to
    distinguish h (of x) from h' (of x'), and the encoder to prevent it: D's gradient is reversed on its way to the
    encoder. L is the label-smoothed loss of `likelihood`. Raises ConfigError for models that are not translators.
    """

    aliases = "ast, adversarial_stability_training, gradient_reversal"

    def __init__(
        self,
        context: Context,
        *,
        noise: Annotated[Literal["lexical", "feature"], Doc("Noise on the source.")] = "lexical",
        replace_probability: Annotated[Ratio, Doc("Probability that lexical noise replaces a piece.")] = 0.3,
        num_nearest: Annotated[Size, Doc("Number of nearest pieces to sample a replacement from.")] = 5,
        std: Annotated[NotNegative, Doc("Standard deviation of feature noise.")] = 0.01,
        noisy_weight: Annotated[NotNegative, Doc("Weight of the loss on perturbed input.")] = 1.0,
        invariance_weight: Annotated[NotNegative, Doc("Weight of the discriminator's loss, per sentence.")] = 1.0,
        hidden_dim: Annotated[
            Size | None, Doc("Width of the discriminator's hidden layer; null: that of the states.")
        ] = None,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context)
        model = context.model
        if not isinstance(model, Translator):
            problem = "changes the source of a translation, and this model reads none"
            raise PartError(problem, "objective=likelihood")
        if noise == "feature":
            context.need_uncompiled("compiled code takes no noise between its parts")
        source = context.task.vocabularies[SOURCE]
        if noise == "lexical" and source.tokenizer is None:
            raise PartError("'lexical' replaces pieces of a text, and this source is none", "feature", setting="noise")
        self.model = (model,)  # a tuple, so that it is not a submodule
        self.lexical, self.replace_probability, self.num_nearest = noise == "lexical", replace_probability, num_nearest
        self.std, self.noisy_weight, self.invariance_weight, self.label_smoothing = (
            std,
            noisy_weight,
            invariance_weight,
            label_smoothing,
        )
        dim = next(iter(model.encoders.values())).encoder.dim
        width = hidden_dim or dim
        self.discriminator = nn.Sequential(nn.Linear(dim, width), nn.Tanh(), nn.Linear(width, 1))
        self.read: Tensor  # (vocab,): 1 for pieces that sources have had so far
        self.register_buffer("read", torch.zeros(len(source)))  # a number, as what several processes share

    def parameters_of(self, turn: str) -> Iterable[nn.Parameter]:
        return chain(self.context.model.parameters(), self.discriminator.parameters())

    def loss(self, batch: Batch, turn: str) -> Loss:
        """Sums over the target tokens of a batch, and over its sentences for the discriminator."""
        (model,), both = self.model, copied(batch, 2)
        if self.lexical:
            items, mask = both.sequences(SOURCE)
            given, copies = items.chunk(2)
            source = Sequences(torch.cat([given, self.replaced(copies, batch.route)]), mask)
            both = both._replace(columns={**both.columns, SOURCE: source})
        with self._blurred(batch):
            losses, encoded = model.nll_with_states(both, smoothing=self.label_smoothing)
        clean, noisy = (half.sum() for half in losses.chunk(2))
        turned: Tensor = ReversedGradient.apply(mean_state(encoded))  # type: ignore[no-untyped-call]  # untyped in torch
        found = self.discriminator(turned).squeeze(-1)
        real = torch.cat([half.new_full(half.shape, value) for half, value in zip(found.chunk(2), (1, 0), strict=True)])
        discrimination = functional.binary_cross_entropy_with_logits(found, real, reduction="sum")
        total = clean + self.noisy_weight * noisy + self.invariance_weight * discrimination
        parts = {"loss": clean, "noisy": noisy, "discriminator": discrimination}
        return Loss(total, batch.count, {name: part.detach() for name, part in parts.items()})

    @torch.no_grad()
    def replaced(self, ids: Tensor, route: str) -> Tensor:
        """ids (batch, n) → the same with a share of the pieces replaced by near ones; specials stay."""
        (model,) = self.model
        self.read[ids] = 1
        self.read[: len(SPECIALS)] = 0
        chosen = (torch.rand(ids.shape, device=ids.device) < self.replace_probability) & (ids >= len(SPECIALS))
        if not chosen.any():
            return ids
        embedder = model.encoders[model.routes[route].encoder].embedder
        places = self.read.nonzero().squeeze(-1)
        found = ids.clone()
        near = near_pieces(torch.searchsorted(places, ids[chosen]), embedder.word_vectors(places), self.num_nearest)
        found[chosen] = places[near]
        return found

    @contextmanager
    def _blurred(self, batch: Batch) -> Iterator[None]:
        """Add noise to what the encoder reads of the second half of the rows, in the lines below."""
        (model,) = self.model
        encoder: nn.Module = model.encoders[model.routes[batch.route].encoder].encoder
        if self.lexical:
            yield
            return

        def blur(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
            read, *others = given
            vectors = read.items
            half = len(vectors) // 2
            noise = torch.randn_like(vectors[half:]) * self.std
            return (read._replace(items=torch.cat([vectors[:half], vectors[half:] + noise])), *others)

        hook = encoder.register_forward_pre_hook(blur)
        try:
            yield
        finally:
            hook.remove()


class ReversedGradient(torch.autograd.Function):
    """The identity, whose gradient has its sign turned (https://arxiv.org/abs/1409.7495)."""

    @staticmethod
    def forward(context: Any, states: Tensor) -> Tensor:
        """States as they are."""
        return states.view_as(states)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        """Minus the gradient."""
        return -gradients[0]


def mean_state(encoded: Encoded) -> Tensor:
    """The mean of the states of words: (batch, dim)."""
    mask = encoded.mask.unsqueeze(-1).to(encoded.states)
    return (encoded.states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def near_pieces(ids: Tensor, table: Tensor, nearest: int) -> Tensor:
    """ids (n,) → for each one of the `nearest` other rows of a table (pieces, dim), sampled by exp(cosine)."""
    if len(table) < 2:
        return ids
    directions = functional.normalize(table.float(), dim=-1)
    cosines = (directions[ids] @ directions.T).scatter(1, ids.unsqueeze(1), -torch.inf)
    found, places = cosines.topk(min(nearest, len(table) - 1), dim=-1)
    return places.gather(1, torch.multinomial(found.exp(), 1)).squeeze(1)
