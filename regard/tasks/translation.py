"""Translation: a source text in, a target text out."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.attention import recording
from regard.data.collate import collate
from regard.data.packing import chunks
from regard.decoding import Hypothesis, forced
from regard.explain.alignment import align
from regard.explain.maps import attention_maps
from regard.models import ModelSettings, Translator, build_translator
from regard.records import EOS, PAD, Batch, Sequences
from regard.results import Explanation, Prediction
from regard.tasks.task import Task, Texts

END = "</s>"  # how the end symbol is shown beside pieces


class TranslationTask(Task):
    """A text in one language → the same in another."""

    columns = ("source", "target")
    metric = "bleu"

    def network(self, settings: ModelSettings) -> Translator:
        """An encoder and a decoder."""
        return build_translator(settings, len(self.source), len(self.target))

    def batch(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]] | None = None) -> Batch:
        """Ids without end symbols → a batch; `lines` count from 0."""
        columns = {"source": collate([[*ids, EOS] for ids in sources])}
        if targets is not None:
            columns["target"] = collate([[*ids, EOS] for ids in targets])
        count = sum(len(ids) + 1 for ids in targets or ())
        return Batch(columns, self.route, torch.arange(len(sources)), count)

    def held(self, texts: Texts, tokens: int) -> list[Batch]:
        """Texts of about one length together, the longest first."""
        sources, targets = (
            tokenizer.encode_batch(texts[column])
            for tokenizer, column in zip((self.source, self.target), self.columns, strict=True)
        )
        lengths = [max(len(a), len(b)) + 1 for a, b in zip(sources, targets, strict=True)]
        batches = []
        for rows in chunks(lengths, tokens):
            batch = self.batch([sources[row] for row in rows], [targets[row] for row in rows])
            batches.append(batch._replace(lines=torch.from_numpy(rows)))
        return batches

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
