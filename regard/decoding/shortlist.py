"""Lexical shortlists: of all words of the target those that a source may need (https://arxiv.org/abs/1412.2007, 3.3).

A softmax over some hundred words in place of many thousand is quicker. Its probabilities are shared out among those.
A list is that of one source, so an answer stays the same in any company.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.data.manifest import verify_file
from regard.errors import CheckpointError
from regard.ops.kernels.search import CompiledWriter
from regard.ops.topk import best_words
from regard.pieces import SPECIALS
from regard.records import Batch, Sequences, State, Step, Writer

SHORTLIST_FILE = "shortlist.safetensors"  # in a run's folder
VOCABULARIES = "vocabularies"  # name of their digest in the file


class Shortlist:
    """Target ids that may stand for each source id, and those that may stand in every target."""

    def __init__(self, likely: Tensor, common: Tensor, target_size: int) -> None:
        """likely (source vocabulary, best), common (n,): target ids; a row with fewer than `best` repeats some."""
        self.likely, self.common, self.target_size = likely.int(), common.int(), target_size

    def allowed(self, source: Sequences) -> Tensor:
        """ids (batch, n) → (batch, target vocabulary): which words may be written of each source."""
        rows, ids = source.mask.nonzero(as_tuple=True)[0], source.items[source.mask].cpu()
        allowed = torch.zeros(len(source.items), self.target_size, dtype=torch.bool)
        allowed[:, self.common.long()] = True
        allowed[:, : len(SPECIALS)] = True
        allowed[rows.cpu().unsqueeze(1), self.likely[ids].long()] = True
        return allowed.to(source.items.device)

    def save(self, path: Path, vocabularies: str = "") -> None:
        """Write it to a safetensors file, with a digest of the vocabularies that its ids belong to."""
        noted = {"target_size": str(self.target_size), VOCABULARIES: vocabularies}
        save_file({"likely": self.likely, "common": self.common}, path, noted)

    @classmethod
    def load(cls, path: Path, source_size: int, target_size: int, vocabularies: str = "") -> Self:
        """Read what `save` wrote, for vocabularies of these sizes and this digest. Raises CheckpointError."""
        again = f"regard shortlist {path.parent}"
        hint = f"write it again: {again}"
        if not path.is_file():
            raise CheckpointError(path, "is missing", f"learn it from the training texts: {again}")
        verify_file(path, hint)
        try:
            with safe_open(path, "pt") as file:
                names = file.keys()
                noted, found = file.metadata() or {}, {name: file.get_tensor(name) for name in names}
        except (OSError, SafetensorError) as error:
            raise CheckpointError(path, f"cannot be read: {error}", hint) from error
        likely, common = found.get("likely"), found.get("common")
        if likely is None or common is None or likely.ndim != 2 or common.ndim != 1 or len(likely) != source_size:
            raise CheckpointError(path, "is not a shortlist of this run's vocabularies", hint)
        if vocabularies and noted.get(VOCABULARIES, vocabularies) != vocabularies:  # one of before has none
            raise CheckpointError(path, "belongs to other vocabularies than this run has", hint)
        ids = torch.cat([likely.flatten(), common])
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < target_size:
            raise CheckpointError(path, f"has ids outside of the vocabulary of {target_size}", hint)
        return cls(likely, common, target_size)


@runtime_checkable
class QuickWriter(Writer, Protocol):
    """A writer that answers the likeliest words alone, or writes all in compiled code: see `Generator`."""

    def best(
        self, ids: Tensor, state: Any, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]: ...

    def compiled_writer(self, ids: Tensor, state: Any, steps: int) -> CompiledWriter | None: ...


class Listed(NamedTuple):
    """The state of a writer, and what each row may write."""

    inner: Any
    allowed: Tensor  # (rows, vocabulary)

    def select(self, rows: Tensor) -> "Listed":
        """Rows of both."""
        return Listed(self.inner.select(rows), self.allowed[rows])


class ShortlistedWriter:
    """A writer that knows only the words of a shortlist: their probabilities sum to 1."""

    def __init__(self, writer: QuickWriter, shortlist: Shortlist) -> None:
        self.writer, self.shortlist = writer, shortlist

    def longest(self, batch: Batch) -> int | None:
        """That of the writer."""
        return self.writer.longest(batch)

    def start(self, batch: Batch) -> Listed:
        """One row per source."""
        return Listed(self.writer.start(batch), self.shortlist.allowed(batch.sequences("source")))

    def step(self, ids: Tensor, state: Any, *, need_weights: bool = False) -> tuple[Step, Listed]:
        """ids (rows, 1) → log-probabilities (rows, vocabulary) of the next word, -inf outside of the list."""
        step, inner = self.writer.step(ids, state.inner, need_weights=need_weights)
        listed = step.log_probs.masked_fill(~state.allowed, float("-inf")).log_softmax(dim=-1)
        return step._replace(log_probs=listed), state._replace(inner=inner)

    def best(
        self, ids: Tensor, state: Listed, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, Listed]:
        """ids (rows, 1) → the likeliest words and their log-probabilities (rows, count)."""
        step, after = self.step(ids, state)
        return *best_words(step.log_probs, count, forbidden, included), after

    def compiled_writer(self, ids: Tensor, state: Listed, steps: int) -> CompiledWriter | None:
        """That of the writer, with the lists of the rows."""
        whole = self.writer.compiled_writer(ids, state.inner, steps)
        return None if whole is None else whole._replace(shortlists=[row.nonzero().flatten() for row in state.allowed])
