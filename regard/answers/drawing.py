"""Drawings of answers on terminals: labels with bars, words coloured by weight, tags, places, tables, and texts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from textwrap import TextWrapper

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from regard.explain.scale import amount, largest, scaled, shade
from regard.explain.token_weights import TokenWeights, token_weights
from regard.explain.tokens import is_end, visible_line
from regard.results import Prediction

WEAK, STRONG = (238, 240, 255), (129, 120, 255)  # backgrounds, from the weakest word that has one to the strongest
FAINT = 0.12  # of the strongest word: below, a word has no background
BAR = 24  # cells of a whole bar
MOST_BARS, NAMED, MIN_NAMED = 6, 3, 0.03  # labels with a bar; words that are named, and the least share of one
DrawColumn = Callable[[str, int, TokenWeights | None], RenderableType]

UNSURE = 0.5  # probability below which a tag has a question mark


def heading(prediction: Prediction) -> Text:
    """Return the answer in one line."""
    return Text(visible_line(prediction.text), "bold")


def written_text(prediction: Prediction) -> Text:
    """Return what was given, and the text that was written."""
    head = Text.assemble(
        (visible_line(prediction.source), "dim"), "\n", heading(prediction), f"  {prediction.score:.3f}"
    )
    if not prediction.finished:
        head.append("  cut off at the length limit", "yellow")
    return head


def columns_of(prediction: Prediction, column: DrawColumn) -> Iterator[RenderableType]:
    """Return the given columns, each as `column` renders it, with its attention.

    `column` gets the text, its first character among those of all columns, and the weights of its tokens.
    """
    values, found = prediction.source.split("\t"), prediction.explanation
    names = [*found.columns][: len(values)] if found is not None else []
    weighted = {} if found is None else {one.column: one for one in token_weights(found)}
    start = 0
    for value, name in zip_longest(values, names, fillvalue=""):
        if len(names) > 1:
            yield Text(name, "dim")
        yield column(value, start, weighted.get(name))
        if name in weighted:
            yield Text(_named(value, weighted[name]), "dim")
        start += len(value) + 1
    yield from (_table(one) for one in weighted.values() if one.column not in names)


def probability_line(name: str, probability: float) -> Text:
    """Return a name with its probability, in one line."""
    return Text(f"  {name} {probability:.1%}", "dim")


def coloured_words(text: str, start: int, seen: TokenWeights | None) -> RenderableType:
    """Return a text with each word coloured by its attention weight; the strongest has 1."""
    if seen is None:
        return ColouredText(text, [])
    weights = seen.of_words()
    most = max(map(abs, weights), default=0.0) or 1.0
    pairs = zip(seen.places(text), weights, strict=True)
    return ColouredText(text, [(*place, weight / most) for place, weight in pairs if place is not None])


def bars(probabilities: Mapping[str, float]) -> Text:
    """Return a line for each of the likeliest labels."""
    ranked = sorted(probabilities.items(), key=lambda pair: -pair[1])
    labels = [visible_line(label) for label, _ in ranked[:MOST_BARS]]
    wide, text = max(map(cell_len, labels)), Text()
    for label, (_, chance) in zip(labels, ranked, strict=False):
        bar = "█" * round(BAR * chance)
        text.append(f"  {label}{' ' * (wide - cell_len(label))} {chance:6.1%} ").append(f"{bar}\n", "blue")
    if len(ranked) > MOST_BARS:
        text.append(f"  {len(ranked) - MOST_BARS} more\n", "dim")
    text.rstrip()
    return text


def _named(text: str, seen: TokenWeights) -> str:
    """Return the words with the highest attention; the end symbol may be one of them."""
    weights, words = seen.of_words(), seen.spelt(text)
    order = sorted(range(len(weights)), key=lambda place: -weights[place])[:NAMED]
    worth = [place for place in order if weights[place] >= MIN_NAMED * (1.0 if seen.shares else max(map(abs, weights)))]
    return "  ← " + ", ".join(f"{visible_line(words[place])} {amount(weights[place], seen.shares)}" for place in worth)


def _table(seen: TokenWeights) -> Text:
    """A row for each attended unit, a column for each question."""
    most = 1.0 if seen.shares else largest(seen.weights)
    units = [place for place in range(len(seen.tokens)) if not is_end(seen.tokens, place)]
    columns = [
        [
            visible_line(name),
            *(f"{shade(scaled(row[one], most)) * 2} {amount(row[one], seen.shares)}" for one in units),
        ]
        for name, row in zip(seen.questions, seen.weights, strict=True)
    ]
    wide = [max(map(cell_len, column)) for column in columns]
    text = Text()
    for number, cells in enumerate(zip(*columns, strict=True)):
        line = "".join(f"  {cell}{' ' * (size - cell_len(cell))}" for cell, size in zip(cells, wide, strict=True))
        row = f"{line}  {visible_line(seen.tokens[units[number - 1]].strip())}" if number else line.rstrip()
        text.append(f"{row}\n", None if number else "cyan")
    text.rstrip()
    return text


@dataclass(frozen=True)
class ColouredText:
    """A text whose marks (start, end, strength) have backgrounds; where there is no colour, blocks stand below them."""

    text: str
    marks: Sequence[tuple[int, int, float]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines."""
        colour = console.color_system is not None and not console.no_color
        strengths = [0.0] * len(self.text)
        for start, end, strength in self.marks:
            strengths[start:end] = [strength] * (end - start)
        for first, last in _wrapped(self.text, max(options.max_width - 2, 8)):
            letters = [visible_line(letter) for letter in self.text[first:last]]
            if colour:
                yield _painted(letters, strengths[first:last])
                continue
            yield Text("  " + "".join(letters))
            blocks = [
                shade(strong) * cell_len(letter) for letter, strong in zip(letters, strengths[first:last], strict=True)
            ]
            if "".join(blocks).strip():
                yield Text("  " + "".join(blocks).rstrip())


@dataclass(frozen=True)
class TaggedWords:
    """Words with their tags below them; one that the model is unsure of has a question mark."""

    words: Sequence[str]
    tags: Sequence[str]
    probabilities: Sequence[float]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines, two for each row of words."""
        marked = [tag + "?" * (chance < UNSURE) for tag, chance in zip(self.tags, self.probabilities, strict=True)]
        pairs = [(visible_line(word), visible_line(tag)) for word, tag in zip(self.words, marked, strict=True)]
        above, below = Text(" "), Text(" ")
        for word, tag in pairs:
            size = max(cell_len(word), cell_len(tag))
            if above.cell_len > 1 and above.cell_len + size + 1 > options.max_width:
                yield above
                yield below
                above, below = Text(" "), Text(" ")
            above.append(" " + word + " " * (size - cell_len(word)))
            below.append(" " + tag + " " * (size - cell_len(tag)), "yellow" if tag.endswith("?") else "cyan")
        yield above
        yield below


def _painted(letters: Sequence[str], strengths: Sequence[float]) -> Text:
    text = Text("  ")
    for share, run in groupby(zip(letters, strengths, strict=True), key=lambda pair: abs(pair[1])):
        mixed = [round(weak + share * (strong - weak)) for weak, strong in zip(WEAK, STRONG, strict=True)]
        style = f"black on rgb({','.join(map(str, mixed))})" if share >= FAINT else None
        text.append("".join(letter for letter, _ in run), style)
    return text


def _wrapped(text: str, width: int) -> Iterator[tuple[int, int]]:
    """First and last place of each line."""
    wrapper = TextWrapper(width, drop_whitespace=False, replace_whitespace=False, expand_tabs=False)
    start = 0
    for line in wrapper.wrap(text) or [""]:
        yield start, start + len(line)
        start += len(line)
