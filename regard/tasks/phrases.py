"""Phrase-based translation: counted, tuned on the dev set by BLEU, searched with stacks."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, cast

import torch

from regard.config import Doc
from regard.config.bounds import Count, Positive, Size
from regard.data.columns import Columns
from regard.data.streams import Stream, first_epoch
from regard.decoding import Engine, Hypothesis, Search
from regard.decoding.features import Feature
from regard.errors import ConfigError
from regard.evaluation import METRICS
from regard.evaluation.metric import Statistics, corpus_of
from regard.models import Model, PhraseBased
from regard.pieces import BOS, END
from regard.records import Batch
from regard.registry import Choice
from regard.results import AttentionMap, Explanation, Prediction
from regard.statistical.mert import WEIGHT_SEARCHES, Round, bleu_values, tuned
from regard.statistical.phrase_decoder import RequiredPhrase, Translation
from regard.statistical.phrase_table import Phrase
from regard.tasks.examples import Examples
from regard.tasks.measures import Measure
from regard.tasks.text_predictions import rows_of
from regard.tasks.translation import TranslationTask, TranslationTexts


class PhraseEngine:
    """A stack search; it supports n-best lists, cancelled lines, and terms for stretches of the source."""

    width, max_source = 1, None

    def __init__(self, model: PhraseBased, search: Search, ids: Callable[[Phrase], list[int]]) -> None:
        """`ids` maps target pieces to ids."""
        self.model, self.search, self.ids = model, search, ids

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Return the best different translations of each source."""
        found, count = list[list[Hypothesis]](), self.search.n_best
        for line, ids in zip(batch.lines.tolist(), rows_of(batch.sequences("source")), strict=True):
            if line in self.search.unwanted():
                found.append([Hypothesis([], 0.0, [], False)])
                continue
            pieces = [self.model.source[one] for one in ids[:-1]]
            required = self._required(line)
            found.append([self._hypothesis(one) for one in self.model.decoder.different(pieces, count, required)])
        return found

    def _required(self, line: int) -> list[RequiredPhrase]:
        """Return the required translations of stretches of a line's source."""
        (wanted,) = self.search.requirements.batch([line])
        known = self.model.target
        return [
            RequiredPhrase(*place, {tuple(known[one] for one in phrase.ids if one != BOS) for phrase in term})
            for place, term in zip(wanted.places, wanted.terms, strict=True)
        ]

    def _hypothesis(self, one: Translation) -> Hypothesis:
        """Return a translation with the n-gram model's log-probabilities of each piece and the end."""
        ids = self.ids(one.words)
        log_probs = self.model.decoder.language.log_probs_of([self.model.target[piece] for piece in ids])
        return Hypothesis(ids, one.score, log_probs, True)


class PhraseTexts(TranslationTexts):
    """Texts that are translated by phrases, which may be found in any order of the target."""

    def check_terms(self, option: str = "glossary") -> None:
        """Raise ConfigError for prefixes, which need a search from left to right."""
        if option == "prefixes":
            problem = "need a model that translates word by word, and this one joins phrases of its table"
            raise ConfigError(option, problem, "leave them out, or use a network")


class PhrasesTask(TranslationTask):
    """A text in one language → the same in another, by phrases."""

    spec = TranslationTask.spec._replace(
        model="phrase_based",
        contract=PhraseBased,
        texts=PhraseTexts,
        defaults={
            "objective": "counted",
            "text": {"tokenizer": {"name": "words", "size": 500_000}, "shared": True},
        },
    )

    def __init__(
        self,
        columns: Columns,
        *,
        tuning: Annotated[
            Literal["mert", "random", "none"], Doc("Tuning method: search of the weights by BLEU on the dev set.")
        ] = "mert",
        rounds: Annotated[Count, Doc("Maximum tuning rounds: decode the dev set, then search the weights.")] = 5,
        candidates: Annotated[Size, Doc("N-best size per dev sentence and round.")] = 100,
        minutes: Annotated[Positive | None, Doc("Time limit of tuning, in minutes; null: none.")] = None,
    ) -> None:
        super().__init__(columns)
        self.tuning, self.rounds, self.candidates, self.minutes = tuning, rounds, candidates, minutes
        pieces = self.target.pieces(range(len(self.target)))
        self._ids = {piece: place for place, piece in reversed([*enumerate(pieces)])}

    def engine(self, model: Model, search: Search, features: Sequence[Feature] = ()) -> Engine:
        """Return a stack search. Raises ConfigError for features, which need a word-by-word search."""
        if features:
            problem = "need a word-by-word search, and phrases have features of their own"
            hint = "decoding.rerank.run=NETWORK, whose weight regard tune finds; training has tuned the phrases"
            raise ConfigError("decoding.features", problem, hint)
        return PhraseEngine(cast(PhraseBased, model), search, self.ids)

    def fit(
        self, model: Model, batches: Stream, examples: Examples | None, say: Callable[[str], None] = lambda line: None
    ) -> None:
        """Count phrases and n-grams of the training set, and tune their weights on the dev set."""
        translator, pairs = cast(PhraseBased, model), list[tuple[list[str], list[str]]]()
        for batch in first_epoch(batches):
            sides = (rows_of(batch.sequences(name)) for name in self.columns)
            for source, target in zip(*sides, strict=True):
                pairs.append(([translator.source[one] for one in source[:-1]],
                              [translator.target[one] for one in target[:-1]]))  # fmt: skip
        translator.fit(pairs)
        say(f"{len(translator.decoder.table):,} phrase pairs, n-grams of {translator.decoder.language.order} words")
        if examples is None:
            say("no dev set: the weights of phrases, language model and jumps are not tuned")
        elif self.tuning != "none" and self.rounds:
            self._tune(translator, examples, say)

    def force(self, model: Model, batch: Batch) -> list[Prediction]:
        raise ConfigError("task", "has no probabilities of given translations", "translate instead")

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the phrase alignment: boxes as weights, word links inside them as links."""
        translator, found = cast(PhraseBased, model), list[Explanation]()
        for source, target in zip(*(rows_of(batch.sequences(name)) for name in self.columns), strict=True):
            pieces, words = ([side[one] for one in ids[:-1]] for side, ids in
                             ((translator.source, source), (translator.target, target)))  # fmt: skip
            found.append(boxes_shown(translator, translator.decoder.explain(pieces, words), pieces, words))
        return found

    @classmethod
    def likelihoods(cls) -> list[Measure]:
        """Return none: scores of phrases are not probabilities."""
        return []

    def ids(self, words: Phrase) -> list[int]:
        """Return the ids of target pieces; copied source pieces are encoded again."""
        known = ([self._ids[word]] if word in self._ids else self.target.encode(word.strip(" ▁")) for word in words)
        return [one for some in known for one in some]

    def _tune(self, translator: PhraseBased, examples: Examples, say: Callable[[str], None]) -> None:
        metric = METRICS.build(Choice("bleu"))
        references = examples["target"]

        def evaluate(places: Sequence[int], texts: Sequence[Phrase]) -> Statistics:
            spelled = [self.target.decode(self.ids(words)) for words in texts]
            return metric.statistics(corpus_of(spelled, [references[place] for place in places]))

        def report(one: Round) -> None:
            say(f"tuning: BLEU {one.value:.2f} on the dev set, {one.candidates:,} candidates")

        sources = [[translator.source[one] for one in ids] for ids in self.source.encode_batch(examples["source"])]
        found = tuned(
            translator.decoder, sources, evaluate, bleu_values, WEIGHT_SEARCHES[self.tuning],
            rounds=self.rounds, n_best=self.candidates, report=report,
            seconds=math.inf if self.minutes is None else 60 * self.minutes,
        )  # fmt: skip
        translator.tune(found)


def boxes_shown(
    model: PhraseBased, found: Translation | None, source: Sequence[str], target: Sequence[str]
) -> Explanation:
    """Return boxes as weights (target, source), ends included; no weights where phrases do not make up the target."""
    sides = [*source, END], [*target, END]
    if found is None:
        return Explanation.of_text(*sides)
    weights, links, place = torch.zeros(len(target) + 1, len(source) + 1), list[tuple[int, int]](), 0
    weights[-1, -1] = 1.0
    for box in found.boxes:
        behind = place + len(box.target)
        weights[place:behind, box.start : box.end] = 1 / (box.end - box.start)
        inside = (
            model.decoder.table.entry(box.row).links if box.row >= 0 else [(one, one) for one in range(len(box.target))]
        )
        links += [(box.start + one, place + other) for one, other in inside]
        place = behind
    shown = weights.tolist()
    boxes = AttentionMap("phrases", "cross", 0, [shown], "target", "source")
    return Explanation.of_text(*sides, sorted(links, key=lambda link: link[::-1]), shown, [boxes])
