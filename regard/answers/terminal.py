"""A prediction on a terminal: its text, the attention of each word, a small heat map, the search steps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from regard.answers import answer_of
from regard.explain.alignment import Weights, aligned_words, merge_weights, word_alignment
from regard.explain.alignment_view import AlignmentView, alignment_views
from regard.explain.diagnosis import word_places
from regard.explain.scale import SHADES, amount, are_fractions, largest, legend, scaled, shade
from regard.explain.tokens import is_end, numbered_repeats, visible, visible_line, words_of
from regard.pieces import END
from regard.results import Explanation, Place, Prediction, SearchNode, SearchTree
from regard.text.word_groups import SPACE_MARK

BELOW_ZERO = "-"  # the second half of a shade
_NAMED = 3  # source words beside a target word
_WORTH = 0.05  # of the strongest: a word that is named
PATH = 40  # characters of what was written up to a node of a search; its end is shown
NODES = 5  # of a step that were held besides that of the answer, and as many that were dropped
_WIDEST = 40  # source words in a heat map; wider ones do not fit a terminal


def show(predictions: Iterable[Prediction], console: Console | None = None) -> None:
    """Prints predictions; colour and NO_COLOR are the console's business."""
    console = console or Console()
    for prediction in predictions:
        console.print(render(prediction), soft_wrap=True)


def render(prediction: Prediction) -> RenderableType:
    """One prediction as something rich prints. Tokens are never read as markup and cannot send control sequences."""
    answer, found = answer_of(prediction), prediction.explanation
    if found is not None:
        found = answer.beside_lines(found)
    parts = [*answer.lines(prediction)]
    if prediction.warning:
        parts.append(Text(visible_line(prediction.warning), "yellow"))
    report = prediction.lexicon_report()
    parts += [Text(visible_line(str(fault)), "yellow") for fault in (report.faults if report else ())]
    parts += [Text(visible_line(str(one)), "dim") for one in prediction.word_evidence()]
    for seen in [] if found is None else alignment_views(found):
        parts += _maps(seen)
    if found is not None and found.sides:
        parts.append(_sides(found))
    tree = prediction.search_tree()
    parts += [Text(line, "dim") for line in (search_lines(tree) if tree else ())]
    for rank, other in enumerate(prediction.alternatives, start=2):
        parts.append(Text.assemble((f"{rank}. ", "dim"), visible_line(other.text), (f"  {other.score:.3f}", "dim")))
    return Group(*parts, Text())


def _maps(seen: AlignmentView) -> list[RenderableType]:
    """A line for each word that is written, and a heat map where it fits."""
    sources, targets, weights, _ = word_alignment(seen.columns, seen.rows, seen.weights)
    columns, rows = (numbered_repeats([word.text for word in words]) for words in (sources, targets))
    ends = merge_weights(seen.weights, [word.pieces for word in targets], _end(seen.columns))
    whole = [[*row, *end] for row, end in zip(weights, ends, strict=True)]
    parts: list[RenderableType] = [Text(seen.about, "dim")] if seen.about else []
    parts.append(_lines([*columns, END], rows, whole, shares=are_fractions(seen.weights)))
    if 0 < len(columns) <= _WIDEST:
        parts.append(Text(heat_map(columns, rows, weights)))
        if legend(weights):
            parts.append(Text(legend(weights), "dim"))
    return parts


def _sides(found: Explanation) -> Text:
    """Return the share of each word that came from the first column; the rest came from the words written before."""
    column, shares = next(iter(found.sides.items()))
    tokens = found.column(found.link.target).texts
    words = [word for word in words_of(tokens) if not is_end(tokens, word.pieces[0])]
    means = [sum(shares[piece] for piece in word.pieces) / len(word.pieces) for word in words]
    words_listed = ", ".join(f"{visible(word.text)} {mean:.0%}" for word, mean in zip(words, means, strict=True))
    return Text(f"from the {column}: {words_listed}", "dim")


def heat_map(source_words: Sequence[str], target_words: Sequence[str], weights: Weights) -> str:
    """Rows of shades, one for each target word; the source words stand below, each led to its column.

    A shade is the nearest of 0, 1/4, 1/2, 3/4, 1 of the strongest there can be; below zero a bar stands in it.
    """
    most = largest(weights)
    labels = [visible(word) for word in target_words]
    left = max(map(cell_len, labels), default=0)
    lines = [
        " " * (left - cell_len(label)) + f"{label} │" + "".join(_shade(scaled(weight, most)) for weight in row) + "│"
        for label, row in zip(labels, weights, strict=True)
    ]
    count = len(source_words)
    for column in reversed(range(count)):
        lines.append(
            " " * (left + 2) + "│ " * column + "└" + "──" * (count - column) + f" {visible(source_words[column])}"
        )
    return "\n".join(lines)


def _end(tokens: Sequence[str]) -> list[list[int]]:
    """The place of the end symbol, which no map shows, and where much of a weight may go."""
    last = len(tokens) - 1
    return [[last]] if tokens and is_end(tokens, last) else []


def _lines(columns: Sequence[str], rows: Sequence[str], weights: Weights, *, shares: bool) -> Text:
    text, most = Text(), largest(weights)
    for label, row in zip(rows, weights, strict=True):
        seen = strongest(columns, row, most, shares=shares)
        text.append(f"  {label}", "cyan")
        text.append(" ← " + ", ".join(seen) + "\n" if seen else "\n")
    text.rstrip()
    return text


def strongest(names: Sequence[str], row: Sequence[float], most: float, *, shares: bool) -> list[str]:
    """Return the names of the largest weights of a row, each with its amount; those that are worth it."""
    strong = [abs(scaled(weight, most)) for weight in row]
    order = sorted(range(len(row)), key=lambda place: -strong[place])[:_NAMED]
    return [f"{names[place]} {amount(row[place], shares)}" for place in order if strong[place] >= _WORTH]


def _shade(strong: float) -> str:
    """Two columns."""
    block = shade(strong)
    return block + (BELOW_ZERO if strong < 0 and block != SHADES[0] else block)


def search_lines(tree: SearchTree) -> list[str]:
    """Return for each step the piece of the answer, with its probability, and what else was held and dropped."""
    paths = _paths(tree.nodes)
    answer = _answer_nodes(tree)
    lines = []
    for step in range(max(map(len, paths), default=0)):
        places = [place for place, path in enumerate(paths) if len(path) == step + 1]
        mine = next((place for place in places if place in answer), None)
        head = "" if mine is None else _node(tree.nodes[mine], tree.nodes[mine].token)
        lines.append(f"{step + 1:3} {head}".rstrip())
        for fate, name in (("kept", "held"), ("ended", "ended"), ("dropped", "dropped")):
            others = [place for place in places if tree.nodes[place].fate == fate and place != mine][:NODES]
            nodes = [_node(tree.nodes[place], _path_end(paths[place])) for place in others]
            lines += [f"      {name:8}{' · '.join(nodes)}"] if nodes else []
    return lines if tree.whole else [*lines, "    further steps are not shown: the tree is too large"]


def _paths(nodes: Sequence[SearchNode]) -> list[list[str]]:
    """The tokens up to each node."""
    paths = list[list[str]]()
    for node in nodes:
        paths.append([*(paths[node.parent] if node.parent >= 0 else []), node.token])
    return paths


def _answer_nodes(tree: SearchTree) -> set[int]:
    """The nodes on the way to the answer."""
    found, node = set[int](), tree.answer
    while node is not None and node >= 0:
        found.add(node)
        node = tree.nodes[node].parent
    return found


def _path_end(tokens: Iterable[str]) -> str:
    text = "".join(f" {token}" if token == END else token for token in tokens).replace(SPACE_MARK, " ").strip()
    return text if len(text) <= PATH else f"…{text[-PATH:]}"


def _node(node: SearchNode, text: str) -> str:
    """A text and its sum; behind an equals sign what a whole sentence is ranked by, which its length has divided."""
    score = ("= " if node.fate == "ended" else "") + f"{node.score:.2f}".replace("-", "−")
    return f"{visible_line(text.replace(SPACE_MARK, ' ').strip())} {score}"


class _Rested(NamedTuple):
    """The words of an answer as a model cuts them: where each stands, and what it rests on."""

    texts: list[str]
    places: list[Place | None]
    sources: list[str]


def beside_lines(explained: Mapping[str, Prediction]) -> list[str]:
    """Return for each word of the first model's answer what each model, by its name, says it rests on.

    Answers have the same text. One that a model does not explain has no words.
    """
    found = {name: _rested(prediction) for name, prediction in explained.items()}
    first, lines = next(iter(found.values())), list[str]()
    width = max(map(len, found))
    for text, place in zip(first.texts, first.places, strict=True):
        lines.append(visible(text))
        for name, words in found.items():
            linked = [one for one, spot in zip(words.sources, words.places, strict=True) if _meet(spot, place)]
            lines.append(f"  {visible(name):{width}} ← {' · '.join(linked) or '–'}")
    return lines


def _meet(one: Place | None, other: Place | None) -> bool:
    return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def _rested(prediction: Prediction) -> _Rested:
    found = prediction.explanation
    if found is None or not found.link.weights:
        return _Rested([], [], [])
    sources, targets, weights, _ = aligned_words(found)
    shares = are_fractions(found.link.weights)
    names, most = [visible(word.text) for word in sources], largest(weights)
    strongest_words = [", ".join(strongest(names, row, most, shares=shares)) for row in weights]
    return _Rested([word.text for word in targets], word_places(targets, prediction.text), strongest_words)
