"""A task and a language model at once: the fine-tuning of GPT (Radford et al. 2018, section 3.2)."""

from typing import Annotated

import torch

from regard.config import Doc
from regard.config.bounds import NotNegative
from regard.config.common_settings import LabelSmoothing
from regard.errors import PartError
from regard.models.causal_classifier import CausalClassifier
from regard.objectives.objective import Context, Objective
from regard.records import Batch, Loss


class WithLanguageModelObjective(Objective):
    """-sum over examples of log p(label | text) + weight · the mean over its pieces of log p(piece | those before it).

    Only the label is smoothed. The log has both, per example. Raises ConfigError for a model that writes no text.
    """

    aliases = "gpt, auxiliary_language_model, language_model_helper"

    def __init__(
        self,
        context: Context,
        *,
        weight: Annotated[NotNegative, Doc("Weight of the language model's loss; the label's is 1.")] = 0.5,
        label_smoothing: LabelSmoothing = 0.0,
    ) -> None:
        super().__init__(context)
        model = context.model
        if not isinstance(model, CausalClassifier):
            problem = "reads and writes a text with one network, and this model does not"
            raise PartError(problem, "model=causal_classifier, or objective=likelihood")
        if not model.chooses_one:
            raise PartError("is for one label a text", "objective=likelihood")
        self.model = (model,)  # a tuple, so that it is not a submodule
        self.weight, self.label_smoothing = weight, label_smoothing

    def loss(self, batch: Batch, turn: str) -> Loss:
        (model,) = self.model
        read, labels = model.read(batch), torch.as_tensor(batch.columns[model.label])
        own, even = read.log_probs.gather(1, labels.unsqueeze(1)).squeeze(1), read.log_probs.mean(dim=-1)
        task = -((1 - self.label_smoothing) * own + self.label_smoothing * even).sum()
        text = read.text.sum()
        parts = {"loss": task.detach(), "language_model": text.detach()}
        return Loss(task + self.weight * text, batch.count, parts)
