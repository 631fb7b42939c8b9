"""Unsupervised translation: evaluated by translating a text there and back."""

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar, cast

import numpy as np

from regard.data.collate import collate
from regard.decoding import GreedySearch, Search
from regard.errors import ConfigError
from regard.evaluation.bleu import Bleu
from regard.evaluation.metric import Statistics, corpus_of
from regard.models import Generator, Model, Translator
from regard.records import EOS, SOURCE, TARGET, UNK, Batch
from regard.tasks.examples import Examples
from regard.tasks.measures import Measure, Outcome
from regard.tasks.spec import TaskSpec
from regard.tasks.translation import TranslationTask

_COPIES = 2  # last statistics: copied words, and words


class RoundTripMeasure(Measure):
    """BLEU of texts translated into the other language and back, against themselves.

    The model selection criterion of https://arxiv.org/abs/1711.00043 (section 3.2); with data.routes the mean of both
    directions.
    """

    key, name, higher_is_better = "round_trip", "round trip BLEU", True

    def statistics(self, outcome: Outcome) -> Statistics:
        return outcome.losses[:, :-_COPIES]

    def value(self, sums: Statistics) -> float:
        return Bleu().value(sums)

    def signature(self, examples: Examples) -> str:
        return Bleu().signature(corpus_of(examples[TARGET], [(one,) for one in examples[TARGET]]))


class CopiedMeasure(Measure):
    """Percentage of the words of translations that occur in their sources."""

    key, name, higher_is_better = "copied", "copied words, %", False

    def statistics(self, outcome: Outcome) -> Statistics:
        return outcome.losses[:, -_COPIES:]

    def value(self, sums: Statistics) -> float:
        return 100 * float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, examples: Examples) -> str:
        return "case:mixed|tok:spaces"


class UnpairedTranslationTask(TranslationTask):
    """A text in one language → the same in another, learnt from unpaired texts of both languages.

    The target of an example is text of one language. Its source is optional: the same text, or another system's
    translation of it. A network of two languages with one vocabulary learns both directions, each a route.
    """

    spec: ClassVar[TaskSpec] = TranslationTask.spec._replace(
        model="many_to_many",
        metric=RoundTripMeasure.key,
        contract=Translator,
        validates=(),
        defaults={"objective": "denoising_back_translation", "text": {"shared": True}, "model": {"tied": "all"}},
    )

    @classmethod
    def likelihoods(cls) -> list[Measure]:
        """Return the measures that need no pairs; the loss of copying the text is meaningless."""
        return [RoundTripMeasure(), CopiedMeasure()]

    def losses(self, model: Model, batches: Iterable[Batch], examples: Examples) -> Statistics:
        """Return (example, statistic): BLEU statistics of the round trip, copied words, all words of translations."""
        translator, texts = cast(Translator, model), examples[TARGET]
        if self.route not in translator.languages or len(translator.languages) != 2:
            raise ConfigError("model.languages", "a round trip needs a model of two languages", "model=many_to_many")
        first, second = translator.languages
        other, search = first if self.route == second else second, GreedySearch()
        there, back = [""] * len(texts), [""] * len(texts)
        for batch in batches:
            found = _written(search, translator, batch._replace(columns={SOURCE: batch.columns[TARGET]}, route=other))
            rows = collate([[*ids, EOS] for ids in found])
            home = batch._replace(columns={SOURCE: rows}, route=self.route).to(model.device)
            returned = _written(search, translator, home)
            for line, one, again in zip(batch.lines.tolist(), found, returned, strict=True):
                there[line], back[line] = self.target.decode(one), self.target.decode(again)
        counts = [(copied_words(text, one), len(one.split())) for text, one in zip(texts, there, strict=True)]
        trips = Bleu().statistics(corpus_of(back, [(one,) for one in texts]))
        return np.hstack([trips, np.array(counts, np.float64)])


def copied_words(text: str, translation: str) -> int:
    """Return the number of words of a translation that occur in its text, counted with multiplicity."""
    return (Counter(text.split()) & Counter(translation.split())).total()


def _written(search: Search, writer: Generator, batch: Batch) -> list[list[int]]:
    """Return the output of a search, at least one piece."""
    return [one[0].ids or [UNK] for one in search.run(writer, batch)]
