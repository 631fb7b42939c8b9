"""Translation without pairs: a denoising autoencoder, back-translation on the fly, and a latent adversary.

Entries F20-F24: https://arxiv.org/abs/1711.00043, https://arxiv.org/abs/1710.11041, https://arxiv.org/abs/1804.07755.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Any, cast

import numpy as np
import torch
from annotated_types import Gt, Le
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import Count, NotNegative, Ratio, Size
from regard.config.common_settings import LabelSmoothing
from regard.data.collate import collate
from regard.data.transforms.noise import noisy_words
from regard.decoding import GreedySearch, Hypothesis, Search
from regard.decoding.sampling import SamplingSearch
from regard.errors import PartError, TrainingError
from regard.models import Translator
from regard.objectives.candidates import need_writer, search_with
from regard.objectives.objective import MAIN, Context, Objective
from regard.records import EOS, SOURCE, TARGET, UNK, Batch, Encoded, Loss, Sequences
from regard.text.word_groups import WordGroups

_NAME = "denoising_back_translation"
_DISCRIMINATOR = "discriminator"  # a turn
_KEPT = 0.99  # of the running share of copies, at each batch
COPIES_FROM = 1_000  # batches of back-translations before copies end training
_SMOOTHING = 0.1  # of the discriminator's labels


_Blank = Annotated[Ratio, Doc("Blanking: probability that a word is replaced by a blank.")]
_Swap = Annotated[Count, Doc("Maximum displacement of a word in the local shuffle.")]


class DenoisingBackTranslationObjective(Objective):
    """denoising · L(noise(x) → x) + back_translation · L(y → x) + adversarial · L_enc, y = a translation of x.

    x is the target of a batch, text of one of two languages, y what the model makes of it in the other one, without a
    gradient. Of a share `given` y is, with noise, the source of the example: a translation by another system, as word
    by word. With `adversarial` a discriminator learns, in a turn of its own, which language a state of the encoder is
    of, and the encoder to be taken for the other one (section 2.4 of arXiv:1711.00043). L is label-smoothed.
    Raises ConfigError for models and vocabularies of other than two languages, TrainingError for copies.
    """

    aliases = "unsupervised_nmt, unsupervised_translation, on_the_fly_back_translation, dae_bt"
    writes = True

    def __init__(  # noqa: PLR0913  a setting each
        self,
        context: Context,
        *,
        denoising: Annotated[NotNegative, Doc("Weight of the denoising loss; a schedule may set it.")] = 1.0,
        label_smoothing: LabelSmoothing = 0.1,
        back_translation: Annotated[NotNegative, Doc("Weight of the back-translation loss.")] = 1.0,
        given: Annotated[Ratio, Doc("Probability of the real source in place of a back-translation.")] = 0.0,
        kept: Annotated[
            float,
            Gt(0),
            Le(1),
            Doc("Fraction of the back-translations used, the most probable ones."),
        ] = 1.0,
        adversarial: Annotated[NotNegative, Doc("Weight of the encoder's adversarial loss; 0: off.")] = 0.0,
        hidden_dim: Annotated[Size, Doc("Width of the hidden layers of the discriminator.")] = 1024,
        drop: Annotated[Ratio, Doc("Word dropout: probability that a word is deleted.")] = 0.1,
        blank: _Blank = 0.1,
        swap: _Swap = 3,
        temperature: Annotated[NotNegative, Doc("Sampling temperature of back-translations; 0: greedy.")] = 0.0,
        max_copied: Annotated[Ratio, Doc("Running fraction of copied words that ends training; 1: never.")] = 0.9,
    ) -> None:
        super().__init__(context)
        writer = need_writer(context, _NAME)
        if not isinstance(writer, Translator) or len(writer.languages) != 2:
            problem = "reads and writes two languages, and this model does not"
            raise PartError(problem, "model.name=many_to_many or one_to_many, with two model.languages")
        if len({column.key() for column in context.task.learnt.values()}) > 1:
            raise PartError("reads what it writes, so both languages need one vocabulary", "text.shared=true")
        if not denoising and not back_translation:
            raise PartError("is 0, and so is back_translation: nothing would be learnt", "1", setting="denoising")
        self.denoising, self.back_translation, self.adversarial = denoising, back_translation, adversarial
        self.given, self.temperature, self.kept = given, temperature, kept
        self.drop, self.blank, self.swap = drop, blank, swap
        self.max_copied, self.label_smoothing = max_copied, label_smoothing
        self.model, self.languages = (writer,), writer.languages  # a tuple, so that it is not a submodule
        self.turns = (_DISCRIMINATOR, MAIN) if adversarial else (MAIN,)
        dim = next(iter(writer.encoders.values())).encoder.dim
        self.discriminator = discriminator(dim, hidden_dim) if adversarial else None
        column = context.task.vocabularies[TARGET]
        self.groups = WordGroups(column.pieces(range(len(column))))
        self.copied: Tensor  # (2,): the running share of copied words, and the batches it is of
        self.register_buffer("copied", torch.zeros(2, dtype=torch.float64))

    def parameters_of(self, turn: str) -> Iterable[nn.Parameter]:
        return self.discriminator.parameters() if turn == _DISCRIMINATOR and self.discriminator else (
            self.context.model.parameters()
        )  # fmt: skip

    def loss(self, batch: Batch, turn: str) -> Loss:
        """Sums over the target's pieces of a batch; in the discriminator's turn over states of the encoder."""
        if turn == _DISCRIMINATOR:
            return self._discriminated(batch)
        rows, parts, total = len(batch.lines), dict[str, Tensor](), torch.zeros((), device=batch.lines.device)
        sources, places, weights = list[list[int]](), list[Tensor](), list[float]()
        if self.denoising:
            sources += self.noisy(batch.sequences(TARGET))
            places.append(torch.arange(rows))
            weights += [self.denoising] * rows
        if self.back_translation:
            written, chosen = self.translated(batch)
            sources += written
            places.append(chosen)
            weights += [self.back_translation] * len(chosen)
            parts["copied"] = self.copied[0] * batch.count
        if not sources:
            return Loss(total, batch.count, parts)
        both = with_sources(batch, sources, torch.cat(places))
        (model,) = self.model
        losses, encoded = model.nll_with_states(both, smoothing=self.label_smoothing)
        nats = losses.sum(dim=-1)
        denoised = len(places[0]) if self.denoising else 0
        total = (nats * nats.new_tensor(weights)).sum()
        parts["denoising"], parts["back_translation"] = nats[:denoised].sum(), nats[denoised:].sum()
        if self.adversarial:
            own = torch.arange(len(sources), device=nats.device) < denoised
            parts["adversary"] = self._label_loss(encoded, own != self._first(batch))  # the label of the other language
            total = total + self.adversarial * parts["adversary"]
        return Loss(total, batch.count, {name: part.detach() for name, part in parts.items()})

    def noisy(self, text: Sequences) -> list[list[int]]:
        """Return the rows of a text with noise, each with its end."""
        draws = np.random.default_rng(int(torch.randint(2**31, ())))
        ids, lengths = text.items.cpu().numpy(), text.mask.sum(dim=1).tolist()
        words, settings = self.groups.numbers(ids), {"drop": self.drop, "blank": self.blank, "swap": self.swap}
        rows = [
            noisy_words(row[: length - 1], group[: length - 1], draws, **cast(Any, settings))
            for row, group, length in zip(ids, words, lengths, strict=True)
        ]
        return [[*row.tolist(), EOS] for row in rows]

    def translated(self, batch: Batch) -> tuple[list[list[int]], Tensor]:
        """Return sources in the other language, and the places of the targets that they are translations of."""
        rows, count = torch.arange(len(batch.lines)), len(batch.lines)
        given = torch.rand(count) < self.given
        target, source = batch.sequences(TARGET), batch.sequences(SOURCE)
        found = dict[int, list[int]]()
        if given.any():
            own = self.noisy(Sequences(source.items[given], source.mask[given]))
            found = dict(zip(rows[given].tolist(), own, strict=True))
        asked = rows[~given]
        if len(asked):
            read = batch.select(asked)
            back = read._replace(columns={SOURCE: read.sequences(TARGET)}, route=self.other(batch.route))
            best = [one[0] for one in search_with(self.context.model, self._search(), back)]
            texts = [target.items[row][target.mask[row]].tolist()[:-1] for row in asked]
            self._count_copies(texts, [one.ids for one in best])
            found |= {int(asked[place]): [*(best[place].ids or [UNK]), EOS] for place in self._best(best)}
        order = sorted(found)
        return [found[row] for row in order], torch.tensor(order, dtype=torch.long)

    def other(self, route: str) -> str:
        """Return the route that writes the other language."""
        first, second = self.languages
        return first if route == second else second

    def _search(self) -> Search:
        if not self.temperature:
            return GreedySearch()
        return SamplingSearch(temperature=self.temperature, seed=int(torch.randint(2**31, ())))

    def _best(self, written: Sequence[Hypothesis]) -> list[int]:
        """The places of translations that are kept: of the highest log-probability for a piece."""
        means = [sum(one.log_probs) / max(1, len(one.log_probs)) for one in written]
        most = max(1, round(self.kept * len(written)))
        return sorted(sorted(range(len(written)), key=lambda place: -means[place])[:most])

    def _count_copies(self, texts: Sequence[Sequence[int]], written: Sequence[Sequence[int]]) -> None:
        """Note the share of copied pieces. Raises TrainingError where it stays high."""
        if not self.training:
            return
        share, (mean, batches) = copied_fraction(texts, written), self.copied.tolist()
        keeps = min(_KEPT, batches / (batches + 1))
        self.copied.copy_(self.copied.new_tensor([keeps * mean + (1 - keeps) * share, batches + 1]))
        if batches + 1 >= COPIES_FROM and float(self.copied[0]) > self.max_copied:
            problem = f"training: {float(self.copied[0]):.0%} of the words that back-translation writes are copies of"
            hint = "try more noise (objective.blank), or objective.given with word-by-word translations as sources"
            raise TrainingError(f"{problem} its source, so no translation is learnt; {hint}")

    def _first(self, batch: Batch) -> bool:
        """Return whether the targets of a batch are of the first language, whose label is 1."""
        return batch.route == self.languages[0]

    def _discriminated(self, batch: Batch) -> Loss:
        """The discriminator's loss of the states of noisy text; they get no gradient."""
        (model,) = self.model
        read = with_sources(batch, self.noisy(batch.sequences(TARGET)), torch.arange(len(batch.lines)))
        route = self.languages[int(torch.randint(2, ()))]  # so that the route says nothing of the language
        with torch.no_grad():
            encoded = model.encode(read._replace(route=route))
        label = torch.full((len(batch.lines),), self._first(batch), device=batch.lines.device)
        found = self._label_loss(encoded, label)
        return Loss(found, int(encoded.mask.sum()), {_DISCRIMINATOR: found.detach()})

    def _label_loss(self, encoded: Encoded, first: Tensor) -> Tensor:
        """The sum over states of -log p(label), label (row,) True for the first language, smoothed."""
        assert self.discriminator is not None
        found = self.discriminator(encoded.states).squeeze(-1)
        wanted = (first.to(found) * (1 - 2 * _SMOOTHING) + _SMOOTHING).unsqueeze(-1).expand_as(found)
        each = functional.binary_cross_entropy_with_logits(found, wanted, reduction="none")
        return (each * encoded.mask).sum()


def discriminator(dim: int, hidden_dim: int) -> nn.Sequential:
    """Return a network of three hidden layers with leaky ReLU: state (..., dim) → logit (..., 1)."""
    sizes = [dim, hidden_dim, hidden_dim, hidden_dim]
    layers = [part for one, next_ in pairwise(sizes) for part in (nn.Linear(one, next_), nn.LeakyReLU(0.2))]
    return nn.Sequential(*layers, nn.Linear(hidden_dim, 1))


def with_sources(batch: Batch, sources: Sequence[Sequence[int]], places: Tensor) -> Batch:
    """Return a batch with a row for each source, whose target is that of a row of the batch: places (source,)."""
    device, found = batch.lines.device, batch.select(places.to(batch.lines.device))
    items, mask = collate(sources)
    return found._replace(columns={**found.columns, SOURCE: Sequences(items.to(device), mask.to(device))})


def copied_fraction(texts: Sequence[Sequence[Any]], written: Sequence[Sequence[Any]]) -> float:
    """Return the share of what is written that stands in its text, each item as often as it does there."""
    both = sum((Counter(one) & Counter(other)).total() for one, other in zip(texts, written, strict=True))
    return both / max(1, sum(map(len, written)))
