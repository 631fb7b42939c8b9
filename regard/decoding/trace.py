"""Hypotheses that a beam search kept and dropped at each step."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from regard.records import EOS
from regard.results import SearchNode, SearchTree

if TYPE_CHECKING:
    from regard.decoding.search import Hypothesis

MOST_NODES = 4000  # of a sentence; what a beam holds after them is not reported
ROOT = -1


class Considered(NamedTuple):
    """The words a step chose from, the best first."""

    sums: list[float]  # of all words up to each, with what features add
    words: list[int]
    rows: list[int]  # that each follows, among those of the sentence
    log_probs: list[float]


class SearchTrace:
    """Hears the steps of a search, and holds the tree of each sentence of its last call once that has ended.

    Of each step it keeps all that went on, and as many of the best others. `spell` turns an id into what people read.
    """

    def __init__(self, spell: Callable[[int], str], most: int = MOST_NODES) -> None:
        self.spell, self.most = spell, most
        self.trees: dict[int, SearchTree] = {}  # by the place of the sentence in its batch
        self._growing: dict[int, _Tree] = {}

    def step(self, sentence: int, found: Considered, going: Sequence[int], width: int) -> None:
        """One word more of a sentence: `going` are the places among those considered that went on, at most `width`."""
        tree = self._growing.setdefault(sentence, _Tree())
        if len(tree.nodes) < self.most:
            tree.grow(self, found, going, width)
        else:
            tree.whole = False

    def finish(self, finished: Sequence[Sequence["Hypothesis"]]) -> None:
        """All hypotheses of each sentence that ended, or were cut off. A search after this one has trees of its own."""
        self.trees = {sentence: tree.finished(finished[sentence]) for sentence, tree in self._growing.items()}
        self._growing = {}


class _Tree:
    """The nodes of one sentence, and those that its beam holds."""

    def __init__(self) -> None:
        self.nodes = list[SearchNode]()
        self.places = dict[tuple[int, int], int]()  # of the node of a word behind a node
        self.held, self.whole = [ROOT], True

    def grow(self, trace: SearchTrace, found: Considered, going: Sequence[int], width: int) -> None:
        kept, numbers = {*going}, dict[int, int]()
        near = {*[one for one in range(len(found.words)) if one not in kept][:width]}
        for one, (total, word, row, log_prob) in enumerate(zip(*found, strict=True)):
            if one not in kept and one not in near:
                continue
            numbers[one] = len(self.nodes)
            parent = self.held[row]
            self.places[parent, word] = len(self.nodes)
            fate = "kept" if one in kept else "dropped"
            self.nodes.append(SearchNode(parent, trace.spell(word), log_prob, total, fate))
        self.held = [numbers[one] for one in going]

    def finished(self, found: Sequence["Hypothesis"]) -> SearchTree:
        """The tree with the ends of hypotheses marked."""
        ranked = sorted(found, key=lambda one: -one.score)
        ends = [self._last([*one.ids, EOS] if one.has_end else one.ids) for one in ranked]
        for one, node in zip(ranked, ends, strict=True):
            if node is not None and one.has_end:
                self.nodes[node] = self.nodes[node]._replace(score=one.score, fate="ended")
        return SearchTree(self.nodes, ends[0], self.whole)

    def _last(self, words: Sequence[int]) -> int | None:
        """The node of the last of these words; None where it was not recorded."""
        node: int | None = ROOT
        for word in words:
            node = None if node is None else self.places.get((node, word))
        return None if node == ROOT else node
