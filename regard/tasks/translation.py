"""Translation: a source text in, a target text out."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.attention import recording
from regard.data.collate import collate
from regard.decoding import Hypothesis, Search, forced
from regard.decoding.features import Feature
from regard.explain.alignment import align
from regard.explain.maps import attention_maps
from regard.records import EOS, PAD, Batch, Sequences
from regard.results import Explanation, Prediction
from regard.tasks.task import Task
from regard.text import Tokenizer

END = "</s>"  # how the end symbol is shown beside pieces


class TranslationTask(Task):
    """Tokenizers of both sides, and how to search. `route` names the way through a model that has several."""

    columns = ("source", "target")
    metrics = ("bleu", "chrf", "ter", "exact_match", "perplexity")

    def __init__(
        self,
        source: Tokenizer,
        target: Tokenizer,
        search: Search,
        features: Sequence[Feature] = (),
        *,
        route: str = "translate",
    ) -> None:
        self.source, self.target = source, target
        self.search, self.features, self.route = search, tuple(features), route

    def batch(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]] | None = None) -> Batch:
        """Ids without end symbols → a batch; `lines` count from 0."""
        columns = {"source": collate([[*ids, EOS] for ids in sources])}
        if targets is not None:
            columns["target"] = collate([[*ids, EOS] for ids in targets])
        count = sum(len(ids) + 1 for ids in targets or ())
        return Batch(columns, self.route, torch.arange(len(sources)), count)

    def predict(self, model: Any, batch: Batch) -> list[Prediction]:
        """The best hypothesis of each source, the rest of the n best as its alternatives."""
        found = self.search.run(model, batch, features=self.features)
        return [self._prediction(text, ranked) for text, ranked in zip(self._texts(batch), found, strict=True)]

    def force(self, model: Any, batch: Batch) -> list[Prediction]:
        """The given targets as predictions: their score is the sum of their log-probabilities."""
        pairs = zip(self._texts(batch), forced(model, batch), strict=True)
        return [self._prediction(text, [found]) for text, found in pairs]

    def explain(self, model: Any, batch: Batch) -> list[Explanation]:
        """What each source and target of the batch looked at, in one forced pass."""
        with recording(model) as records:
            decoded, _ = model.decode(batch, need_weights=True)
        explanations = []
        rows = zip(_rows(batch.columns["source"]), _rows(batch.columns["target"]), strict=True)
        for row, (source, target) in enumerate(rows):
            weights = []  # of a decoder that reads no single states
            if decoded.weights is not None:
                weights = decoded.weights[row, : len(target), : len(source)].float().tolist()
            explanations.append(
                Explanation(
                    [*self.source.pieces(source[:-1]), END],
                    [*self.target.pieces(target[:-1]), END],
                    align([line[:-1] for line in weights[:-1]]),
                    weights,
                    attention_maps(records, row, len(source), len(target)),
                )
            )
        return explanations

    def _prediction(self, source: str, ranked: list[Hypothesis]) -> Prediction:
        best, *rest = [
            Prediction(
                source, self.target.decode(one.ids), one.score, list(one.log_probs), one.finished, ids=list(one.ids)
            )
            for one in ranked
        ]
        return best if not rest else Prediction(**{**vars(best), "alternatives": rest})

    def _texts(self, batch: Batch) -> list[str]:
        return [self.source.decode(ids[:-1]) for ids in _rows(batch.columns["source"])]


def _rows(column: Any) -> list[list[int]]:
    sequences: Sequences = column
    return [[token for token in ids if token != PAD] for ids in sequences.items.tolist()]
