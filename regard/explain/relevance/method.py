"""The contract of what weighs words: how much each word that was read speaks for each item of an answer."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor

from regard.explain.relevance.question import Question
from regard.models import Model


class Relevances(NamedTuple):
    """Relevances that a method found for one example."""

    words: list[Tensor]  # (item, n) of each read, in the order of `Question.columns`
    total: Tensor | None = None  # (item,): what all words of an item should sum to; None: nothing is promised


class Relevance(ABC):
    """A row of RELEVANCES, built with its settings alone."""

    quick = False  # True: a few passes through the model, whatever the text, so a server may offer it
    signed = True  # False: no number is negative, so words against an item cannot be recognised
    comparable = True  # False: each column has a scale of its own, so source and target cannot be compared

    @abstractmethod
    def of(self, question: Question) -> Relevances:
        """Return the relevance of each word to each item."""

    def model(self, model: Model) -> Model:
        """Return what is asked in a model's place: itself, or a copy in a precision that the method needs."""
        return model
