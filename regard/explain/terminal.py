"""A prediction on a terminal: its text, what each word looked at, and a small heat map of shades."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from regard.explain.alignment import Weights, merge, word_alignment
from regard.explain.alignment_view import AlignmentView, alignment_views
from regard.explain.answer_lines import answer_lines
from regard.explain.scale import SHADES, amount, are_shares, largest, legend, scaled, shade
from regard.explain.search_lines import search_lines
from regard.explain.token_weights import without_questions
from regard.explain.tokens import is_end, told_apart, visible, visible_line, words_of
from regard.pieces import END
from regard.results import Explanation, Prediction

BAR = "-"  # marks what is below zero
SHOWN = 3  # source words named beside a target word
LEAST = 0.05  # of the strongest: worth a name
LARGEST = 40  # source words in a heat map; wider ones do not fit a terminal


def show(predictions: Iterable[Prediction], console: Console | None = None) -> None:
    """Prints predictions; colour and NO_COLOR are the console's business."""
    console = console or Console()
    for prediction in predictions:
        console.print(render(prediction), soft_wrap=True)


def render(prediction: Prediction) -> RenderableType:
    """One prediction as something rich prints. Tokens are never read as markup and cannot send control sequences."""
    found, parts = prediction.explanation, answer_lines(prediction)
    if parts and found is not None:
        found = without_questions(found)
    parts = parts or [_written(prediction)]
    if prediction.warning:
        parts.append(Text(visible_line(prediction.warning), "yellow"))
    report = prediction.lexicon_report()
    parts += [Text(visible_line(str(fault)), "yellow") for fault in (report.faults if report else ())]
    for seen in [] if found is None else alignment_views(found):
        parts += _maps(seen)
    if found is not None and found.sides:
        parts.append(_sides(found))
    tree = prediction.search_tree()
    parts += [Text(line, "dim") for line in (search_lines(tree) if tree else ())]
    for rank, other in enumerate(prediction.alternatives, start=2):
        parts.append(Text.assemble((f"{rank}. ", "dim"), visible_line(other.text), (f"  {other.score:.3f}", "dim")))
    return Group(*parts, Text())


def _written(prediction: Prediction) -> Text:
    """What was given, and the text that was written."""
    head = Text.assemble(
        (visible_line(prediction.source), "dim"),
        "\n",
        (visible_line(prediction.text), "bold"),
        f"  {prediction.score:.3f}",
    )
    if not prediction.finished:
        head.append("  cut off at the length limit", "yellow")
    return head


def _maps(seen: AlignmentView) -> list[RenderableType]:
    """A line for each word that is written, and a heat map where it fits."""
    sources, targets, weights, _ = word_alignment(seen.columns, seen.rows, seen.weights)
    columns, rows = (told_apart([word.text for word in words]) for words in (sources, targets))
    ends = merge(seen.weights, [word.pieces for word in targets], _end(seen.columns))
    whole = [[*row, *end] for row, end in zip(weights, ends, strict=True)]
    parts: list[RenderableType] = [Text(seen.about, "dim")] if seen.about else []
    parts.append(_lines([*columns, END], rows, whole, shares=are_shares(seen.weights)))
    if 0 < len(columns) <= LARGEST:
        parts.append(Text(heat_map(columns, rows, weights)))
        if legend(weights):
            parts.append(Text(legend(weights), "dim"))
    return parts


def _sides(found: Explanation) -> Text:
    """What share of each word came from the first column; the rest came from the words written before."""
    column, shares = next(iter(found.sides.items()))
    tokens = found.column(found.link.target).texts
    words = [word for word in words_of(tokens) if not is_end(tokens, word.pieces[0])]
    means = [sum(shares[piece] for piece in word.pieces) / len(word.pieces) for word in words]
    told = ", ".join(f"{visible(word.text)} {mean:.0%}" for word, mean in zip(words, means, strict=True))
    return Text(f"from the {column}: {told}", "dim")


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
        strong = [abs(scaled(weight, most)) for weight in row]
        order = sorted(range(len(row)), key=lambda place: -strong[place])[:SHOWN]
        seen = [f"{columns[place]} {amount(row[place], shares)}" for place in order if strong[place] >= LEAST]
        text.append(f"  {label}", "cyan")
        text.append(" ← " + ", ".join(seen) + "\n" if seen else "\n")
    text.rstrip()
    return text


def _shade(strong: float) -> str:
    """Two columns."""
    block = shade(strong)
    return block + (BAR if strong < 0 and block != SHADES[0] else block)
