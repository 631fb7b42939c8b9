"""Translation without pairs: judged by what becomes of a text that is translated and translated back."""

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
    """BLEU of texts beside themselves after a translation into the other language and back.

    The criterion by which https://arxiv.org/abs/1711.00043 chooses models (section 3.2); with data.routes the mean of
    both directions.
    """

    key, name, higher_is_better = "round_trip", "round trip BLEU", True

    def statistics(self, outcome: Outcome) -> Statistics:
        return outcome.losses[:, :-_COPIES]

    def value(self, sums: Statistics) -> float:
        return Bleu().value(sums)

    def signature(self, examples: Examples) -> str:
        return Bleu().signature(corpus_of(examples[TARGET], [(one,) for one in examples[TARGET]]))


class CopiedMeasure(Measure):
    """Per cent of the words of translations that stand in their sources."""

    key, name, higher_is_better = "copied", "copied words, %", False

    def statistics(self, outcome: Outcome) -> Statistics:
        return outcome.losses[:, -_COPIES:]

    def value(self, sums: Statistics) -> float:
        return 100 * float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, examples: Examples) -> str:
        return "case:mixed|tok:spaces"


class UnpairedTranslationTask(TranslationTask):
    """A text in one language → the same in another, learnt from texts of both languages that are no translations.

    The target of an example is text of one language. Its source is not needed: the same text, or what another system
    makes of it. A network of two languages with one vocabulary learns both directions, each a route.
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
        """Return what needs no pairs; the loss of copying the text measures nothing."""
        return [RoundTripMeasure(), CopiedMeasure()]

    def losses(self, model: Model, batches: Iterable[Batch], examples: Examples) -> Statistics:
        """Return (example, statistic): those of BLEU of the round trip, copied words and words of the way there."""
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
    """Return how many words of a translation stand in its text, each as often as it does there."""
    return (Counter(text.split()) & Counter(translation.split())).total()


def _written(search: Search, writer: Generator, batch: Batch) -> list[list[int]]:
    """Output of a search, a piece at least."""
    return [one[0].ids or [UNK] for one in search.run(writer, batch)]
