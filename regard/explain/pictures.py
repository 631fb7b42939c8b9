"""Heat maps of attention as files: SVG written by hand, PNG through matplotlib (the extra `[plot]`)."""

import io
import math
import warnings
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from regard.errors import RegardError
from regard.explain.alignment import Weights, word_alignment
from regard.explain.alignment_view import AlignmentView, alignment_views
from regard.explain.scale import bounded, largest, legend, scaled
from regard.explain.token_weights import TokenWeights, token_weights, without_questions
from regard.explain.tokens import Word, given_words, is_end, right_to_left, visible, visible_line
from regard.pieces import SPECIALS, UNK
from regard.results import Explanation

CELL = 26  # pixels
FONT = 14
_LINE, _LEADING = 720, 30  # pixels of a line of words, and from one to the next
INK, PAPER, SHADE, RULE = "#1d2433", "#ffffff", "#4338ca", "#e3e6ee"
BELOW = "#b45309"  # zero
FAMILY = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
PLOT_FONTS = (  # the first that is there leads, the rest fill in what it lacks
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "Arial Unicode MS",
)
STAR = "*"  # behind a word that the model does not know
WIDE = 0x1100  # from here on most letters are as wide as they are high

Heat = tuple[Sequence[str], Sequence[str], Weights]  # words attended to, words that attend, weights


def by_words(found: Explanation) -> Heat:
    """Return (words attended to, words written, weights) of an explanation, for `svg` and `png`, without end symbols.

    Raises RegardError for an explanation without attention to words.
    """
    return _heat(_views(found)[0], found)[0]


def svg_of(found: Explanation, *, title: str = "Attention", source: str = "") -> str:
    """Return an explanation as one SVG document, as a terminal shows it: one heat map for each text.

    Words with a learned query stand as in their text, coloured by weight; units such as sentences are the rows of a
    map. With the `source` of the prediction words are spelt as there, and words unknown to the model have a star.
    Raises RegardError for an explanation without attention to words.
    """
    weighted, texts = token_weights(found), found.given_texts(source)
    drawings = [_coloured(one, found.column(found.answer).texts[0], texts.get(one.column, "")) for one in weighted]
    views = alignment_views(without_questions(found)) if weighted else _views(found)
    maps = [_heat(seen, found, title, source) for seen in views]
    return _document([*drawings, *(_drawn(*heat, title=about) for heat, about in maps)])


def svg(
    source_tokens: Sequence[str], target_tokens: Sequence[str], weights: Weights, *, title: str = "Attention"
) -> str:
    """Return a heat map as one SVG document: a row for each target token, a column for each source token.

    Darker is more. Weights beyond 0 … 1 are scaled by the strongest; negative ones have another colour and a bar; NaN
    leaves a gap. The SVG is self-contained and safe against hostile tokens; the tooltip of a cell has its pair and
    weight. Columns run from right to left when the source does. Raises RegardError when the counts differ.
    """
    return _document([_drawn(source_tokens, target_tokens, weights, title=title)])


def png(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    weights: Weights,
    *,
    title: str = "Attention",
    dpi: int = 150,
) -> bytes:
    """The same heat map as a PNG file's bytes. Raises RegardError when matplotlib is not installed."""
    return _plotted([((source_tokens, target_tokens, weights), title)], dpi)


def png_of(found: Explanation, *, title: str = "Attention", source: str = "", dpi: int = 150) -> bytes:
    """Return the heat maps of an explanation as a PNG file's bytes, one below the other for each text.

    With the `source` of the prediction words are spelt as in `svg_of`. Raises RegardError for an explanation without
    attention to words, and when matplotlib is not installed.
    """
    return _plotted([_heat(seen, found, title, source) for seen in _views(found)], dpi)


class _Drawing(NamedTuple):
    """A heat map in SVG, its corner at 0, 0."""

    width: int
    height: int
    parts: list[str]


def _document(drawings: Sequence[_Drawing]) -> str:
    """Drawings below each other."""
    width, height = max(one.width for one in drawings), sum(one.height for one in drawings)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="{FAMILY}" font-size="{FONT}">',
        *drawings[0].parts,
    ]
    top = drawings[0].height
    for one in drawings[1:]:
        parts += [f'<g transform="translate(0 {top})">', *one.parts, "</g>"]
        top += one.height
    return "\n".join([*parts, "</svg>\n"])


def _views(found: Explanation) -> list[AlignmentView]:
    views = alignment_views(found)
    if not views:
        raise RegardError("this model does not read single words, so there is no plot (--html shows the rest)")
    return views


def _heat(seen: AlignmentView, found: Explanation, title: str = "", source: str = "") -> tuple[Heat, str]:
    """Return a map of words, spelt as in the `source`, and its title; for several texts: which attends to which."""
    words, texts = word_alignment(seen.columns, seen.rows, seen.weights), found.given_texts(source)
    columns, rows = (
        given_words(side, found.column(name).offsets, texts.get(name, ""))
        for name, side in ((seen.keys, words.source_words), (seen.queries, words.target_words))
    )
    heat = [_starred(word) for word in columns], [_starred(word) for word in rows], words.weights
    return heat, _footnoted(seen.about if seen.about and not found.is_written else title, [*columns, *rows])


def _starred(word: Word) -> str:
    """Return a word, with a star if the model does not know it."""
    return word.text + STAR * _hides_unknown(word)


def _footnoted(title: str, words: Sequence[Word]) -> str:
    """Return a title, with the meaning of the star if a word has one."""
    return f"{title} ({STAR} unknown to the model)" if any(map(_hides_unknown, words)) else title


def _hides_unknown(word: Word) -> bool:
    return word.unknown and word.text != SPECIALS[UNK]


def _drawn(
    source_tokens: Sequence[str], target_tokens: Sequence[str], weights: Weights, *, title: str, spaces: bool = False
) -> _Drawing:
    """Return a heat map; with `spaces` its labels have plain spaces."""
    columns, rows = _labels(source_tokens, target_tokens, weights)
    if spaces:
        columns, rows = ([visible_line(token) for token in tokens] for tokens in (source_tokens, target_tokens))
    place = list(range(len(columns)))
    if right_to_left(source_tokens):
        place.reverse()
    left = 16 + max(map(_width, rows), default=0)
    top = 44 + round(0.75 * max(map(_width, columns), default=0))
    last = columns[place.index(len(columns) - 1)] if columns else ""  # its label leans out to the right
    note, most = legend(weights), largest(weights)
    width = max(left + CELL * len(columns) + 16 + round(0.75 * _width(last)), 40 + round(1.1 * _width(title)))
    width = max(width, 40 + _width(note))
    height = top + CELL * len(rows) + (14 + 24 * bool(note))
    parts = _titled(title, width, height)
    for column, label in enumerate(columns):
        x, y = left + CELL * place[column] + CELL // 2 + 4, top - 8
        parts.append(f'<text transform="translate({x} {y}) rotate(-45)" fill="{INK}">{escape(label)}</text>')
    for row, label in enumerate(rows):
        y = top + CELL * row + CELL // 2 + 5
        parts.append(f'<text x="{left - 8}" y="{y}" text-anchor="end" fill="{INK}">{escape(label)}</text>')
        for column, other in enumerate(columns):
            if math.isnan(weights[row][column]):
                continue
            tip = escape(f"{label} → {other}: {weights[row][column]:.3f}")
            strong = scaled(weights[row][column], most)
            parts.append(_cell(left + CELL * place[column], top + CELL * row, strong, tip))
    if note:
        parts.append(f'<text x="16" y="{height - 14}" fill="{INK}">{escape(note)}</text>')
    return _Drawing(width, height, parts)


def _coloured(seen: TokenWeights, answer: str, given: str) -> _Drawing:
    """Return the words of a text, or its units one below the other, coloured by the weights of a learned query.

    Words are spelt as in the `given` text, where it is known.
    """
    title = f"{answer} attends to {seen.column}"
    if seen.of_units:
        units = [place for place in range(len(seen.tokens)) if not is_end(seen.tokens, place)]
        rows = [[row[place] for row in seen.weights] for place in units]
        return _drawn(seen.questions, [seen.tokens[place].strip() for place in units], rows, title=title, spaces=True)
    words = given_words(seen.words, seen.offsets, given)
    texts, weights, x, y = [visible(_starred(word)) for word in words], seen.of_words(), 16, 36
    most, parts = max(map(abs, weights), default=0.0) or 1.0, list[str]()
    for word, text, weight in zip(words, texts, weights, strict=True):
        size = _width(text) + 8
        if x > 16 and x + size > _LINE:
            x, y = 16, y + _LEADING
        left = _LINE - x - size + 16 if right_to_left(texts) else x
        tip = escape(f"{visible_line(answer)} → {visible(word.text)}: {weight:.3f}")
        parts.append(
            f'<g><rect x="{left}" y="{y}" width="{size}" height="{_LEADING - 4}" rx="5" '
            f'fill="{SHADE if weight >= 0 else BELOW}" fill-opacity="{0.55 * abs(weight) / most:.3f}">'
            f"<title>{tip}</title></rect>"
            f'<text x="{left + 4}" y="{y + _LEADING - 11}" fill="{INK}">{escape(text)}</text></g>'
        )
        x += size + 2
    height = y + _LEADING + 10
    return _Drawing(_LINE + 16, height, [*_titled(_footnoted(title, words), _LINE + 16, height), *parts])


def _titled(title: str, width: int, height: int) -> list[str]:
    """Return the background and the title of a drawing."""
    return [
        f"<title>{escape(visible_line(title))}</title>",
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        f'<text x="16" y="24" font-weight="600" fill="{INK}">{escape(visible_line(title))}</text>',
    ]


def _plotted(maps: Sequence[tuple[Heat, str]], dpi: int) -> bytes:
    """Heat maps below each other, each with its title, as a PNG file's bytes."""
    plots = []
    for (sources, targets, weights), title in maps:
        columns, rows = _labels(sources, targets, weights)
        turn = -1 if right_to_left(sources) else 1
        plots.append((columns[::turn], rows, [row[::turn] for row in weights], visible_line(title)))
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RegardError("a PNG plot needs matplotlib: pip install -e '.[plot]' (an SVG does not)") from error
    file = io.BytesIO()
    with rc_context({"font.family": plot_fonts()}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")  # shown as a box: no fault of the user's
        width = max(max(2 + 0.36 * len(columns), 1 + 0.09 * len(title)) for columns, *_, title in plots)
        heights = [2 + 0.36 * len(rows) for _, rows, *_ in plots]
        figure = Figure(figsize=(width, sum(heights)), dpi=dpi, layout="constrained")
        for axes, each in zip(
            figure.subplots(len(plots), squeeze=False, height_ratios=heights)[:, 0], plots, strict=True
        ):
            _draw(axes, *each)
        figure.savefig(file, format="png")
    return file.getvalue()


def plot_fonts() -> list[str]:
    """Return the fonts for matplotlib that this machine has, so that most scripts are shown."""
    from matplotlib import font_manager

    there = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in PLOT_FONTS if name in there] or ["sans-serif"]


def _draw(axes: Any, columns: Sequence[str], rows: Sequence[str], weights: Weights, title: str) -> None:
    if columns and rows:
        most, whole = largest(weights), bounded(weights)
        colours = {"cmap": "Purples", "vmin": 0} if whole else {"cmap": "PuOr", "vmin": -most}  # orange: below zero
        shown = axes.imshow(weights, vmax=most, aspect="equal", **colours)
        if not whole:
            axes.figure.colorbar(shown, ax=axes, shrink=0.8)
    plain = {"parse_math": False}  # a $ is a $
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="left", rotation_mode="anchor", **plain)
    axes.set_yticks(range(len(rows)), rows, **plain)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.set_anchor("W")  # there is room for the title to the right
    axes.set_title(title, loc="left", **plain)
    axes.set_xticks([place + 0.5 for place in range(len(columns) - 1)], minor=True)
    axes.set_yticks([place + 0.5 for place in range(len(rows) - 1)], minor=True)
    axes.grid(which="minor", color=PAPER, linewidth=1.5)  # so that equal cells stay apart
    axes.tick_params(which="minor", length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _labels(sources: Sequence[str], targets: Sequence[str], weights: Weights) -> tuple[list[str], list[str]]:
    if len(weights) != len(targets) or any(len(row) != len(sources) for row in weights):
        raise RegardError(f"plot: weights must be {len(targets)} rows (target) of {len(sources)} columns (source)")
    return [visible(token) for token in sources], [visible(token) for token in targets]


def _cell(x: int, y: int, strong: float, tip: str) -> str:
    box = f'x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="3"'
    fill = f'fill="{SHADE if strong >= 0 else BELOW}" fill-opacity="{abs(strong):.3f}"'
    bar = f'<path d="M{x + 9} {y + CELL // 2}h{CELL - 18}" stroke="{INK}"/>' if strong < 0 else ""
    return f'<g><rect {box} fill="none" stroke="{RULE}"/><rect {box} {fill}><title>{tip}</title></rect>{bar}</g>'


def _width(label: str) -> int:
    """Return the approximate width of a label in pixels: no font is available."""
    return round(sum(FONT if ord(character) >= WIDE else 0.58 * FONT for character in label)) + 4
