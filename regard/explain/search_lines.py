"""What a search held and dropped, step by step, as lines of text."""

from collections.abc import Iterable, Sequence

from regard.explain.tokens import visible_line
from regard.pieces import END
from regard.results import SearchNode, SearchTree
from regard.text.word_groups import SPACE_MARK

LONGEST = 40  # characters of what was written up to a node; its end is shown
SHOWN = 5  # nodes of a step that were held besides that of the answer, and as many that were dropped


def search_lines(tree: SearchTree) -> list[str]:
    """Return for each step the piece of the answer, with its probability, and what else was held and dropped."""
    paths = _paths(tree.nodes)
    answer = _answer(tree)
    lines = []
    for step in range(max(map(len, paths), default=0)):
        places = [place for place, path in enumerate(paths) if len(path) == step + 1]
        mine = next((place for place in places if place in answer), None)
        head = "" if mine is None else _told(tree.nodes[mine], tree.nodes[mine].token)
        lines.append(f"{step + 1:3} {head}".rstrip())
        for fate, name in (("kept", "held"), ("ended", "ended"), ("dropped", "dropped")):
            others = [place for place in places if tree.nodes[place].fate == fate and place != mine][:SHOWN]
            told = [_told(tree.nodes[place], _text(paths[place])) for place in others]
            lines += [f"      {name:8}{' · '.join(told)}"] if told else []
    return lines if tree.whole else [*lines, "    further steps are not told: the tree is too large"]


def _paths(nodes: Sequence[SearchNode]) -> list[list[str]]:
    """The tokens up to each node."""
    paths = list[list[str]]()
    for node in nodes:
        paths.append([*(paths[node.parent] if node.parent >= 0 else []), node.token])
    return paths


def _answer(tree: SearchTree) -> set[int]:
    """The nodes on the way to the answer."""
    found, node = set[int](), tree.answer
    while node is not None and node >= 0:
        found.add(node)
        node = tree.nodes[node].parent
    return found


def _text(tokens: Iterable[str]) -> str:
    text = "".join(f" {token}" if token == END else token for token in tokens).replace(SPACE_MARK, " ").strip()
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"


def _told(node: SearchNode, text: str) -> str:
    """A text and its sum; behind an equals sign what a whole sentence is ranked by, which its length has divided."""
    equals = "= " if node.fate == "ended" else ""
    return f"{visible_line(text.replace(SPACE_MARK, ' ').strip())} {equals}{_number(node.score)}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
