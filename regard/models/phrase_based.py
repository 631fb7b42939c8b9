"""A phrase-based translator as a model: a phrase table, an n-gram model and weights, counted or tuned."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import numpy as np
import torch
from annotated_types import Ge, Le
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.aliases import known_as
from regard.config import Doc
from regard.config.bounds import Size
from regard.data.columns import Columns, TextColumn
from regard.data.ragged import Ragged
from regard.errors import ConfigError
from regard.models.model import Model
from regard.records import PAD, Batch
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.diagonal import Diagonal
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.ngram_model import NgramModel
from regard.statistical.phrase_decoder import MOSES_WEIGHTS, PhraseDecoder, SearchLimits
from regard.statistical.phrase_scores import phrase_table
from regard.statistical.phrase_table import PhraseTable
from regard.statistical.stack_search import WIDEST
from regard.statistical.symmetrisation import grow_diag_final_and

Arrays = Mapping[str, NDArray[Any]]
_Pieces = Sequence[str]

RAGGED = ("sources", "targets", "links")
_LANGUAGE = ("firsts", "arcs", "log_probs", "nexts", "backoffs", "lowers", "lengths")


class CountedArrays(nn.Module):
    """Arrays as buffers, which take the sizes of a checkpoint."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__()
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(array))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return them by name."""
        return {name: buffer.numpy(force=True) for name, buffer in self.named_buffers()}

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        for name, buffer in [*self.named_buffers()]:
            found = state_dict.get(prefix + name)
            if isinstance(found, Tensor):
                setattr(self, name, torch.empty_like(found, device=buffer.device))
        super()._load_from_state_dict(state_dict, prefix, *others)


class PhraseBased(Model):
    """argmax over targets and phrases of Σ weight · feature: https://aclanthology.org/N03-1017.

    Words are the pieces of the columns, identified by their text.
    """

    def __init__(
        self, source: _Pieces, target: _Pieces, limits: SearchLimits, *, order: int, max_phrase: int, iterations: int
    ) -> None:
        super().__init__()
        self.source, self.target = source, target
        self.limits, self.order, self.max_phrase, self.iterations = limits, order, max_phrase, iterations
        self.weights = nn.Parameter(torch.tensor(MOSES_WEIGHTS, dtype=torch.float64), requires_grad=False)
        self.phrases = CountedArrays(_of_table(PhraseTable.of([])))
        self.language = CountedArrays(_of_language(kneser_ney([[]], 1)))
        self._decoder: PhraseDecoder | None = None

    @property
    def decoder(self) -> PhraseDecoder:
        """The phrase decoder, built on first use."""
        if self._decoder is None:
            weights = self.weights.numpy(force=True).astype(np.float64)
            table, language = _table(self.phrases.arrays()), _language(self.language.arrays())
            self._decoder = PhraseDecoder(table, language, weights, self.limits)
        return self._decoder

    def fit(self, pairs: Sequence[tuple[_Pieces, _Pieces]]) -> None:
        """Count words, links, phrases and n-grams of sentence pairs."""
        bitext = Bitext.of(pairs)
        both = fit_both(bitext, Diagonal(), iterations=self.iterations, agree=False)
        links = both.links(bitext, grow_diag_final_and)
        table = phrase_table(bitext, links, max_length=self.max_phrase)
        language = kneser_ney([target for _, target in pairs], self.order)
        device = self.device
        self.phrases, self.language = CountedArrays(_of_table(table)), CountedArrays(_of_language(language))
        self.to(device)
        self._decoder = None

    def tune(self, decoder: PhraseDecoder) -> None:
        """Take the weights of another decoder of the same phrases."""
        self.weights.data.copy_(torch.from_numpy(decoder.weights))
        self._decoder = decoder

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses of targets by the n-gram model alone: scores of phrases are not probabilities."""
        language, ids = self.decoder.language, batch.sequences("target").items
        found = torch.zeros(ids.shape, device=ids.device)
        for row, line in enumerate(ids.tolist()):
            words = [self.target[one] for one in line if one != PAD][:-1]
            found[row, : len(words) + 1] = -torch.tensor(language.log_probs_of(words), device=ids.device)
        return found

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences("target").mask

    def start(self, batch: Batch) -> Any:
        """Raise ConfigError: only a model that generates piece by piece supports a given prefix."""
        raise ConfigError("model", "'phrase_based' writes phrases, not word by word", "give the whole target")

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        self._decoder = None
        super()._load_from_state_dict(state_dict, prefix, *others)


@known_as("moses, pbsmt, phrase_based_smt, phrase_table")
def phrase_based(
    columns: Columns,
    *,
    order: Annotated[int, Ge(1), Le(20), Doc("N-gram order of the language model.")] = 5,
    max_phrase: Annotated[int, Ge(1), Le(20), Doc("Maximum phrase length, in words.")] = 7,
    iterations: Annotated[Size, Doc("EM iterations of the alignment, after as many of IBM model 1.")] = 5,
    jump: Annotated[
        int, Ge(0), Le(WIDEST), Doc("Distortion limit: maximum jump between phrases, in words; 0: monotone.")
    ] = 6,
    stack: Annotated[Size, Doc("Stack size: hypotheses kept per number of translated words.")] = 100,
    pops: Annotated[Size, Doc("Hypotheses expanded per number of translated words.")] = 500,
    options: Annotated[Size, Doc("Translation options per phrase.")] = 20,
) -> PhraseBased:
    """Phrases, an n-gram model and jumps, decoded by stack search."""
    source, target = (cast(TextColumn, columns[name]) for name in ("source", "target"))
    return PhraseBased(
        source.pieces(range(len(source))), target.pieces(range(len(target))), SearchLimits(stack, pops, options, jump),
        order=order, max_phrase=max_phrase, iterations=iterations,
    )  # fmt: skip


def _text(words: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps([*words]).encode(), np.uint8).copy()


def _words(text: NDArray[np.uint8]) -> list[str]:
    found: list[str] = json.loads(text.tobytes())
    return found


def _of_table(table: PhraseTable) -> Arrays:
    found: dict[str, NDArray[Any]] = {
        "words": _text(table.words),
        "firsts": table.firsts,
        "scores": table.scores,
        "sides": table.reordering,
    }
    for name in RAGGED:
        rows: Ragged = getattr(table, name)
        found |= {name: rows.data.astype(np.int32), f"{name}_offsets": rows.offsets}
    return found


def _table(arrays: Arrays) -> PhraseTable:
    rows = {name: Ragged(arrays[name], arrays[f"{name}_offsets"]) for name in RAGGED}
    return PhraseTable(
        _words(arrays["words"]), rows["sources"], arrays["firsts"], targets=rows["targets"], links=rows["links"],
        scores=arrays["scores"], reordering=arrays["sides"],
    )  # fmt: skip


def _of_language(model: NgramModel) -> Arrays:
    return {"words": _text(model.words), **{name: getattr(model, name) for name in _LANGUAGE}}


def _language(arrays: Arrays) -> NgramModel:
    return NgramModel(_words(arrays["words"]), **{name: arrays[name] for name in _LANGUAGE})
