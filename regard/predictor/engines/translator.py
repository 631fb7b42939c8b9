"""Translate with the graphs of a folder: pieces, greedy and beam search in numpy over ONNX Runtime or torch.

    python translator.py < texts.en > texts.de

    from translator import GraphTranslator
    GraphTranslator("FOLDER").translate(["A sentence."])

This file needs numpy, and onnxruntime or torch; nothing else of the program that wrote it. Graphs of torch (*.pt2) can
run code when they are opened: open only a folder that you trust.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.runtime.folder import read_json, verified_settings
from regard.runtime.pieces import piece_table

_BOS, _EOS = 1, 2
ENCODER_GRAPH, DECODER_GRAPH = "encoder_model", "decoder_model"

_Array = NDArray[Any]
_Arrays = dict[str, _Array]


class GraphRunner(Protocol):
    """The graphs of a translator, opened."""

    name: str

    def encode(self, given: _Arrays) -> _Arrays:
        """Run the encoder."""

    def decode(self, given: _Arrays, *, first: bool) -> _Arrays:
        """Run a step of the decoder."""


class OnnxGraphs:
    """encoder_model.onnx and decoder_model_merged.onnx in ONNX Runtime."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        files = (folder / f"{ENCODER_GRAPH}.onnx", folder / f"{DECODER_GRAPH}_merged.onnx")
        self.name = f"onnxruntime {onnxruntime.__version__}"
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(file.read_bytes(), options, providers=["CPUExecutionProvider"])
            for file in files
        )
        types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
        self.empty: _Arrays = {
            one.name: np.zeros([size if isinstance(size, int) else 0 for size in one.shape], types[one.type])
            for one in self.decoder.get_inputs()
        }

    def encode(self, given: _Arrays) -> _Arrays:
        """Run the encoder."""
        return _named(self.encoder, given)

    def decode(self, given: _Arrays, *, first: bool) -> _Arrays:
        """Run a step; the branch that does not run reads empty tensors."""
        return _named(self.decoder, {**self.empty, **given, "use_cache_branch": np.array([not first])})


class TorchGraphs:
    """Three programs of torch.export."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        import torch

        self.torch, self.ports, self.name = torch, settings["programs"], f"torch {torch.__version__}"
        # guards name the sizes at which a product is computed another way, not those that it is right for
        self.programs = {
            name: torch.export.load(folder / f"{name}.pt2").module(check_guards=False) for name in self.ports
        }

    def encode(self, given: _Arrays) -> _Arrays:
        """Run the encoder."""
        return self._run(ENCODER_GRAPH, given)

    def decode(self, given: _Arrays, *, first: bool) -> _Arrays:
        """Run a step."""
        return self._run(DECODER_GRAPH if first else f"{DECODER_GRAPH}_with_past", given)

    def _run(self, name: str, given: _Arrays) -> _Arrays:
        inputs, outputs = self.ports[name]
        with self.torch.no_grad():
            found = self.programs[name](*(self.torch.from_numpy(np.ascontiguousarray(given[one])) for one in inputs))
        return {name: one.numpy() for name, one in zip(outputs, found, strict=True)}


def _named(session: Any, given: _Arrays) -> _Arrays:
    names = [one.name for one in session.get_outputs()]
    wanted = {one.name for one in session.get_inputs()}
    found = session.run(names, {name: value for name, value in given.items() if name in wanted})
    return dict(zip(names, found, strict=True))


class GraphHypothesis(NamedTuple):
    """A translation in pieces."""

    ids: list[int]
    score: float
    log_probs: list[float]  # of each id, and of the end if it has one


class RowState(NamedTuple):
    """Rows that are being written."""

    moving: _Arrays  # what each step changes, by the names that it comes in with
    fixed: _Arrays  # before the first word what the encoder wrote
    mask: _Array  # (rows, source)
    words: int

    def select(self, rows: _Array) -> "RowState":
        """Return the state of other rows; the source stays where each row has the same one as before."""
        moving = {name: value[rows] for name, value in self.moving.items()}
        if len(rows) == len(self.mask) and np.array_equal(rows, np.arange(len(rows))):
            return self._replace(moving=moving)
        return RowState(moving, {name: one[rows] for name, one in self.fixed.items()}, self.mask[rows], self.words)


class GraphTranslator:
    """A folder, opened."""

    def __init__(self, folder: str | Path, *, threads: int = 0, program: str | None = None, **search: Any) -> None:
        """`threads` of ONNX Runtime, 0: all; `search` changes settings of the search, such as size=1.

        Raises ValueError for a damaged folder, and for graphs of another program than `program`, onnx or torch.
        """
        folder = Path(folder)
        self.settings = verified_settings(folder)
        if program not in (None, self.settings["program"]):
            raise ValueError(f"its graphs are of {self.settings['program']!r}, and {program} is needed")
        self.search = {**self.settings["search"], **search}
        names = {self.settings["source"], self.settings["target"]}
        kept = {name: piece_table(read_json(folder / name)) for name in names}
        self.source, self.target = (kept[self.settings[name]] for name in ("source", "target"))
        self.graphs = open_graphs(folder, self.settings, threads)

    def translate(self, texts: Sequence[str], *, batch: int = 32) -> list[str]:
        """Translate sentences; nothing becomes nothing. Raises ValueError for a text that is too long."""
        asked = [number for number, text in enumerate(texts) if text.strip()]
        rows = {number: [*self.source.encode(texts[number]), _EOS] for number in asked}
        most, found = self.settings["max_source"], [""] * len(texts)
        for number, row in rows.items():
            if len(row) > most:
                raise ValueError(
                    f"text {number + 1}: {len(row) - 1} pieces are more than this model takes ({most - 1})"
                )
        asked.sort(key=lambda number: len(rows[number]))
        for start in range(0, len(asked), batch):
            some = asked[start : start + batch]
            for number, best in zip(some, self.searched([rows[one] for one in some]), strict=True):
                found[number] = self.target.decode(best.ids)
        return found

    def start(self, rows: Sequence[Sequence[int]]) -> RowState:
        """Encode ids with their ends."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
        mask = (np.arange(ids.shape[1]) < np.array([len(row) for row in rows])[:, None]).astype(np.int64)
        encoded = self.graphs.encode({"input_ids": ids, "attention_mask": mask})
        if "last_hidden_state" in encoded:
            encoded["encoder_hidden_states"] = encoded.pop("last_hidden_state")
        return RowState({}, encoded, mask, 0)

    def step(self, words: _Array, state: RowState) -> tuple[_Array, RowState]:
        """words (rows,), the beginning at first → log-probabilities (rows, vocabulary) of the next, and the state."""
        given = {**state.moving, **state.fixed, "input_ids": words[:, None], "encoder_attention_mask": state.mask}
        given["position"] = np.array([state.words], np.int64)
        after = self.graphs.decode(given, first=not state.words)
        moving = {name: after[present(name)] for name in self.settings["moving"]}
        fixed = state.fixed if state.words else {name: after[present(name)] for name in self.settings["fixed"]}
        return after["logits"][:, -1], RowState(moving, fixed, state.mask, state.words + 1)

    def searched(self, rows: Sequence[Sequence[int]]) -> list[GraphHypothesis]:
        """Return the best translation of each source, ids with their end."""
        lengths = np.array([len(row) for row in rows])
        ratio = np.float32(self.search["max_ratio"])
        limits = (lengths.astype(np.float32) * ratio).astype(np.int64) + self.search["max_extra"]
        beams = Beams(self.search, limits.clip(1, self.settings["max_target"]), self.target.first)
        words, state = np.full(len(rows), _BOS, np.int64), self.start(rows)
        while len(words):
            scores, state = self.step(words, state)
            words, parents = beams.grow(scores.astype(np.float64))
            state = state.select(parents)
        return beams.best()

    def forced(self, source: Sequence[int], target: Sequence[int]) -> _Array:
        """Return log-probabilities (target + 1, vocabulary) behind each place of a target."""
        state, found = self.start([source]), list[_Array]()
        for word in (_BOS, *target):
            scores, state = self.step(np.array([word], np.int64), state)
            found.append(scores[0])
        return np.stack(found)


class Beams:
    """The hypotheses of several sources, a row each, those of a source one after the other."""

    def __init__(self, search: Mapping[str, Any], limits: _Array, first: Sequence[int] = ()) -> None:
        """`limits` (sources,) are the most ids of each; all begin with the ids of `first`, which cost nothing."""
        self.search, self.limits, self.first, count = search, limits, first, len(limits)
        self.size, self.examples, self.sums = search["size"], np.arange(count), np.zeros(count)
        self.ids, self.log_probs = np.zeros((count, 0), np.int64), np.zeros((count, 0))
        self.finished: list[list[GraphHypothesis]] = [[] for _ in range(count)]
        self.ended, self.bar = np.zeros(count, np.int64), np.full(count, -np.inf)

    def norm(self, lengths: Any) -> Any:
        """Return what the sum of a hypothesis is divided by, for its length with the end."""
        return ((5.0 + lengths) / 6.0 if self.search["gnmt"] else lengths * 1.0) ** self.search["length_penalty"]

    def best(self) -> list[GraphHypothesis]:
        """Return the best of each."""
        return [max(found, key=lambda one: one.score) for found in self.finished]

    def grow(self, scores: _Array) -> tuple[_Array, _Array]:
        """log-probabilities (rows, vocabulary) → the next words, and the rows that they follow; none when all end."""
        rows, words, added = self._choices(scores)
        length, examples = self.ids.shape[1] + 1, self.examples[rows]
        ends, last, rule = words == _EOS, self.limits[examples] == length, self.search["at_limit"]
        if rule != "cut":  # at the limit all end that can
            closed = np.isin(examples, examples[ends])
            kept = ends | ~(closed & last)
            rows, words, added, examples, ends, last = (one[kept] for one in (rows, words, added, examples, ends, last))
        sums = self.sums[rows] + np.where(last & ends & (rule == "free"), 0.0, added)
        order = np.lexsort((-sums, examples))
        ranks = _ranks(examples[order])
        closing = ends | (last & (rule == "cut"))
        for place, rank in zip(order.tolist(), ranks.tolist(), strict=True):
            if closing[place] and rank < self.size:
                self._finish(int(rows[place]), int(words[place]), float(sums[place]), float(added[place]), length)
        going = order[~closing[order]]
        going = going[_ranks(examples[going]) < self.size]
        self._give_up(np.setdiff1d(self.examples, examples[going]))
        rows, words = rows[going], words[going]
        self.ids = np.concatenate([self.ids[rows], words[:, None]], axis=1)
        self.log_probs = np.concatenate([self.log_probs[rows], added[going, None]], axis=1)
        self.examples, self.sums = self.examples[rows], sums[going]
        kept = ~self._done(length)[self.examples]
        self._give_up(np.setdiff1d(self.examples, self.examples[kept]))
        self.ids, self.log_probs = self.ids[kept], self.log_probs[kept]
        self.examples, self.sums = self.examples[kept], self.sums[kept]
        return words[kept], rows[kept]

    def _choices(self, scores: _Array) -> tuple[_Array, _Array, _Array]:
        """Rows, words and log-probabilities of the likeliest words of each row, with the end among them."""
        written = self.ids.shape[1]
        if written < len(self.first):
            rows = np.arange(len(scores))
            return rows, np.full_like(rows, self.first[written]), np.zeros(len(rows))
        scores[:, [0, _BOS]] = -np.inf
        if written < self.search["min_length"]:
            scores[:, _EOS] = -np.inf
        count = min(self.size + 1, scores.shape[1])
        near = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        ordered = np.lexsort((near, -np.take_along_axis(scores, near, 1)), axis=1)
        near = np.take_along_axis(near, ordered, 1)
        beside = np.where((near == _EOS).any(axis=1), -1, _EOS)
        words = np.concatenate([near, beside[:, None]], axis=1)
        found = np.take_along_axis(scores, words.clip(0), 1)
        rows, places = ((words >= 0) & (found > -np.inf)).nonzero()
        return rows, words[rows, places], found[rows, places]

    def _finish(self, row: int, word: int, total: float, last: float, length: int) -> None:
        example, score = int(self.examples[row]), total / float(self.norm(length))
        self.ended[example] += 1
        if self.search["stop"] == "exact" and score <= self.bar[example]:
            return
        ids = [*self.ids[row].tolist(), *([] if word == _EOS else [word])]
        self.finished[example].append(GraphHypothesis(ids, score, [*self.log_probs[row].tolist(), last]))
        if self.search["stop"] == "exact":
            self.bar[example] = max(one.score for one in self.finished[example])

    def _give_up(self, examples: _Array) -> None:
        """Answer sources without a finished hypothesis by the best that they have."""
        for example in examples.tolist():
            if not self.finished[example]:
                rows = (self.examples == example).nonzero()[0]
                row = rows[np.argmax(self.sums[rows])]
                score = float(self.sums[row]) / float(self.norm(max(self.ids.shape[1], 1)))
                self.finished[example].append(
                    GraphHypothesis(self.ids[row].tolist(), score, self.log_probs[row].tolist())
                )

    def _done(self, length: int) -> _Array:
        """(sources,) whether each has ended."""
        best = np.full(len(self.limits), -np.inf)
        np.maximum.at(best, self.examples, self.sums)
        stop, full = self.search["stop"], self.ended >= self.size
        if stop == "exact":
            full = np.maximum(best / self.norm(length + 1), best / self.norm(self.limits)) <= self.bar
        elif stop == "best_full":
            for example in full.nonzero()[0].tolist():
                worst = sorted((one.score for one in self.finished[example]), reverse=True)[self.size - 1]
                full[example] = best[example] / self.norm(length) <= worst
        done: _Array = full | (self.limits <= length)
        return done


def _ranks(examples: _Array) -> _Array:
    """Sorted sources of rows → the number of each row among those of its source, from 0."""
    starts = np.searchsorted(examples, examples)
    return np.arange(len(examples)) - starts


def present(name: str) -> str:
    """past_key_values.0.decoder.key → present.0.decoder.key: the name that it has when it comes out of a step."""
    return name.replace("past_key_values", "present", 1).replace("past_state", "present_state", 1)


def open_graphs(folder: Path, settings: Mapping[str, Any], threads: int) -> GraphRunner:
    """Open the graphs of a folder."""
    return TorchGraphs(folder, settings) if settings["program"] == "torch" else OnnxGraphs(folder, threads)


if __name__ == "__main__":
    try:
        opened = GraphTranslator(Path(__file__).parent)
        for line in opened.translate(sys.stdin.read().splitlines()):
            print(line)
    except ValueError as error:  # a damaged folder, or a text that is too long
        print(error, file=sys.stderr)
        sys.exit(2)
