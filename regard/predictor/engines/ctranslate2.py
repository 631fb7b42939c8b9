"""CTranslate2 (https://github.com/OpenNMT/CTranslate2): its own beam search over an export, in float32 or int8."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from regard.decoding import BeamSearch, GreedySearch, Hypothesis, Search
from regard.decoding.search import SURE_END
from regard.errors import CheckpointError, ConfigError
from regard.predictor.engines.export_engine import Export, ExportEngine, MissingNetwork, OpenedEngine
from regard.predictor.setup import WITHOUT_ENGINE
from regard.records import EOS, Batch
from regard.runs.folder import choose_device
from regard.tasks.text_predictions import rows_of

_EXACT_PATIENCE = 2.0  # it stops after size · patience ends; an exact search mostly before


class CTranslate2Engine(ExportEngine):
    """Searches in CTranslate2; see `CTranslate2Search` for the searches that it has."""

    name = "ctranslate2"
    packages = ("ctranslate2",)
    extra = "ctranslate2"
    supported = frozenset({"gpu"})

    def open(self, export: Export) -> OpenedEngine:
        import ctranslate2

        on_gpu = choose_device(export.run.experiment.device).type == "cuda" and ctranslate2.get_cuda_device_count()
        threads = {"inter_threads": 1 if on_gpu else export.threads, "intra_threads": 1}
        try:
            translator = ctranslate2.Translator(str(export.folder), device="cuda" if on_gpu else "cpu", **threads)
        except (RuntimeError, ValueError) as error:
            raise CheckpointError(export.folder, f"cannot be opened by CTranslate2: {error}") from error
        noted = export.run.exported or {}
        network = LoadedModel(translator, noted["source_pieces"], noted["target_pieces"], noted["places"])
        return OpenedEngine(MissingNetwork(self.name, network.places), partial(CTranslate2Search, network))


class LoadedModel(NamedTuple):
    """A loaded translator, and its pieces by our ids."""

    translator: Any
    source: Sequence[str]
    target: Sequence[str]
    places: int  # most ids of a text, with its end

    def __deepcopy__(self, memo: object) -> "LoadedModel":
        """The same one: its threads are its own, and any thread may call it."""
        return self


class _Rules(NamedTuple):
    """A search in CTranslate2's terms."""

    size: int
    patience: float
    length_penalty: float


class CTranslate2Search:
    """A search of CTranslate2: greedy, or beam with a length penalty n^p.

    Its beam stops once size · patience hypotheses have ended: at a patience of 1 that is `stop: full`. With other stops
    the patience is larger, so that it finds what an exact search finds in nearly all texts.
    """

    def __init__(self, network: LoadedModel, search: Search) -> None:
        """Raise ConfigError for a search that CTranslate2 does not have."""
        self.network, self.search, self._rules = network, search, _rules_of(search)
        self.width, self.max_source = self._rules.size, network.places
        self._ids = {piece: number for number, piece in enumerate(network.target)}

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Translate a batch; a length limit of one text does not depend on the others."""
        sources = rows_of(batch.sequences("source"))
        limits = [self._limit(len(ids)) for ids in sources]
        unwanted = self.search.unwanted()
        found = {
            row: [Hypothesis([], 0.0, [], False)] for row, line in enumerate(batch.lines.tolist()) if line in unwanted
        }
        rows = [row for row in range(len(sources)) if row not in found]
        found |= self._translated(sources, limits, rows, max((limits[row] for row in rows), default=1))
        return [found[row] for row in range(len(sources))]

    def _translated(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], rows: Sequence[int], limit: int
    ) -> dict[int, list[Hypothesis]]:
        """Hypotheses of rows, by row. What reaches its own limit is translated again with that one."""
        if not rows:
            return {}
        answers = self._search([sources[row] for row in rows], limit)
        found, longer = dict[int, list[Hypothesis]](), dict[int, list[int]]()
        for row, ranked in zip(rows, answers, strict=True):
            if limits[row] < limit and any(one.size >= limits[row] for one in ranked):
                longer.setdefault(limits[row], []).append(row)
            else:
                found[row] = self._ranked(ranked)
        for own, some in longer.items():
            found |= self._translated(sources, limits, some, own)
        return found

    def _search(self, sources: Sequence[Sequence[int]], limit: int) -> list[list["_Written"]]:
        """Search with one limit.

        At the limit our searches write the end, at its probability (`end`) or without one (`free`): CTranslate2 stops
        one id before, and what is cut off there gets the end. It returns as many as may end before it stops, and
        what is cut off comes first, so a text that reaches the limit is searched again for all of them.
        """
        texts, patience = [[self.network.source[one] for one in ids[:-1]] for ids in sources], self._rules.patience
        found = self._hypotheses(texts, limit, patience)
        cut = [row for row, some in enumerate(found) if any(not one.ended for one in some)]
        if cut and self._rules.size > 1:
            again = self._hypotheses([texts[row] for row in cut], limit, patience + 1)
            for row, some in zip(cut, again, strict=True):
                found[row] = some
        return found if self.search.at_limit == "cut" else self._with_ends(texts, found)

    def _hypotheses(self, texts: Sequence[Sequence[str]], limit: int, patience: float) -> list[list["_Written"]]:
        rules, first = self._rules, [self.network.target[one] for one in self.search.first]
        found = self.network.translator.translate_batch(
            texts,
            [first] * len(texts) if first else None,
            beam_size=rules.size,
            patience=patience,
            num_hypotheses=int(rules.size * patience) if rules.size > 1 else 1,
            length_penalty=rules.length_penalty,
            max_input_length=0,
            max_decoding_length=limit if self.search.at_limit == "cut" else max(limit - 1, 1),
            min_decoding_length=self.search.min_length,
            return_scores=True,
            return_end_token=True,
        )
        return [[self._written(*one) for one in zip(row.hypotheses, row.scores, strict=True)] for row in found]

    def _written(self, pieces: Sequence[str], score: float) -> "_Written":
        """Take the length out of a score."""
        ids, norm = [self._ids[piece] for piece in pieces], float(max(len(pieces), 1) ** self._rules.length_penalty)
        ended = bool(ids) and ids[-1] == EOS
        return _Written(ids[:-1] if ended else ids, score * norm, len(ids), ended)

    def _with_ends(
        self, texts: Sequence[Sequence[str]], written: Sequence[Sequence["_Written"]]
    ) -> list[list["_Written"]]:
        """The same, with an end at what was cut off, at its probability where the search counts it."""
        open_ends = [
            (row, place) for row, some in enumerate(written) for place, one in enumerate(some) if not one.ended
        ]
        log_probs = [0.0] * len(open_ends)
        if open_ends and self.search.at_limit == "end":
            targets = [[self.network.target[one] for one in written[row][place].ids] for row, place in open_ends]
            sources = [texts[row] for row, _ in open_ends]
            scored = self.network.translator.score_batch(sources, targets, max_input_length=0)
            log_probs = [one.log_probs[-1] for one in scored]
        found = [[*some] for some in written]
        for (row, place), log_prob in zip(open_ends, log_probs, strict=True):
            ids, total, size, _ = found[row][place]
            found[row][place] = _Written(ids, total + log_prob, size + 1, log_prob >= SURE_END and log_prob < 0.0)
        return found

    def _ranked(self, written: Sequence["_Written"]) -> list[Hypothesis]:
        """The best of a text, scored as our searches do."""
        found = [
            Hypothesis(one.ids, one.log_prob / float(self.search.norm(max(one.size, 1))), [], one.ended)
            for one in written
        ]
        return sorted(found, key=lambda one: -one.score)[: self.search.n_best]

    def _limit(self, size: int) -> int:
        """Most ids of a translation, for a source of this size, ends included."""
        asked = int(size * self.search.max_ratio) + self.search.max_extra
        return max(1, min(asked, self.network.places))


class _Written(NamedTuple):
    """A hypothesis of CTranslate2."""

    ids: list[int]  # without the end
    log_prob: float
    size: int  # with the end, where it has one
    ended: bool  # by itself, not by the limit


def _rules_of(search: Search) -> _Rules:
    """Raise ConfigError for a search that CTranslate2 does not have."""
    if search.requirements.of:
        hint = f"leave it out, or {WITHOUT_ENGINE}"
        raise ConfigError("glossary", "is not possible with the ctranslate2 engine", hint)
    match search:
        case GreedySearch():
            return _Rules(1, 1.0, 0.0)
        case BeamSearch(gnmt=False, trace=None):
            return _Rules(search.size, 1.0 if search.stop == "full" else _EXACT_PATIENCE, search.length_penalty)
    hint = "greedy, or beam with normalisation: length, without recorded steps"
    raise ConfigError("decoding.search", "is not one that the ctranslate2 engine has", hint)
