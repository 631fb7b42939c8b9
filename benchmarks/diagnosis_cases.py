"""Two cases of https://aclanthology.org/P17-1106 on our own model: where an UNK comes from, why a word stands twice.

    python benchmarks/diagnosis_cases.py FOLDER [--data MULTI30K] [--pictures docs/images] [--lines 200]

An RNNsearch from German is trained on captions whose English words beyond the commonest are written UNK, as in models
of 2014, and for a few minutes only, so that it says words twice. Of the UNKs that it writes is told how often the
source word that speaks for one most is itself rare; of words said twice how much of their relevance is of the words
written before, rather than of the source. A picture of each case has the source on the left, the words before on the
right.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from program import DATA, ROOT, head, lines_of, options, row

import regard
from regard.explain import svg
from regard.explain.alignment import word_alignment
from regard.explain.diagnosis import repeated_words
from regard.results import WordRelevance
from regard.text.words import cut_words

KNOWN = 2500  # commonest words of a language; English ones beyond them are UNK
MARK = "UNK"
NEAR = 2  # words from one to the same again; an article may come again three words later
METHODS = ("lrp", "attention")
SHORT = range(6, 15)  # words of a translation that is drawn
PARTS = {"train": "train", "dev": "val", "test": "test2016"}
CONFIG = ROOT / "configs/translation/multi30k-rnnsearch.yaml"
SMALL = [
    "model.dim=128",
    "model.encoder.hidden_dim=64",
    "model.decoder.hidden_dim=128",
    "training.batch_tokens=1500",
    "training.schedule.warmup=150",
    "training.threads=1",
    "training.max_minutes=null",
    "training.max_core_minutes=3",
    "training.validate_lines=200",
]


class Read(NamedTuple):
    """What speaks for each word of a translation; sizes sum to one over both sides, where a method compares them."""

    source: list[str]
    before: list[str]  # the words written before, from the start symbol on
    written: list[str]
    by_source: list[list[float]]  # (written, source)
    by_before: list[list[float]]  # (written, before)

    def main_source(self, place: int) -> str:
        """Return the source word that speaks most for a written one."""
        row = self.by_source[place]
        return self.source[row.index(max(row))]

    def share_before(self, place: int) -> float:
        """Return how much of a word's relevance is of the words written before."""
        before, source = (sum(map(abs, rows[place])) for rows in (self.by_before, self.by_source))
        return before / (before + source or 1.0)


def common_words(texts: Sequence[str]) -> set[str]:
    counts = Counter(piece.strip() for text in texts for piece in cut_words(text))
    return {word for word, _ in counts.most_common(KNOWN)}


def marked(text: str, common: set[str]) -> str:
    """Return a text in which words that are not common are UNK; signs stay."""
    words = [(piece, piece.strip()) for piece in cut_words(text)]
    return "".join(
        piece if word in common or not word.isalnum() else piece.replace(word, MARK) for piece, word in words
    ).strip()


def trained(folder: Path, data: Path) -> Path:
    """Return the run in a folder, which is trained unless it is there."""
    run = folder / "run"
    if not run.exists():
        folder.mkdir(parents=True, exist_ok=True)
        common, files = common_words(lines_of(data / "train.en.gz")), list[str]()
        for part, name in PARTS.items():
            target = folder / f"{name}.en"
            marks = (marked(one, common) for one in lines_of(data / f"{name}.en.gz"))
            target.write_text("".join(f"{one}\n" for one in marks), encoding="utf-8")
            files += [f"data.{part}.source={data / name}.de.gz", f"data.{part}.target={target}"]
        regard.train(CONFIG, [*SMALL, *files], run=run)
    return run


def read_of(found: WordRelevance) -> Read:
    """Return the relevance of words: of their pieces together."""
    sides = [word_alignment(found.tokens[name], found.items, found.scaled(name)) for name in ("source", "target")]
    source, before = ([word.text for word in side.source_words] for side in sides)
    return Read(source, before, [word.text for word in sides[0].target_words], sides[0].weights, sides[1].weights)


def said_again(text: str) -> list[int]:
    """Return the places of words that stand shortly before, too; UNKs are none."""
    words = [piece.strip() for piece in cut_words(text)]
    return [flag.word for flag in repeated_words(words) if flag.value <= NEAR and words[flag.word] != MARK]


def places_of(read: Read) -> tuple[list[int], list[int]]:
    """Return where UNKs stand, and where words are said again."""
    unknown = [place for place, word in enumerate(read.written) if word == MARK]
    return unknown, said_again(" ".join(read.written))


def unknown_line(name: str, reads: Sequence[Read], common: set[str]) -> str:
    """A row of the table: how often UNKs rest on a rare word most, and how many words of the source are rare."""
    most = [read.main_source(place) for read in reads for place in places_of(read)[0]]
    words = [word for read in reads for word in read.source if word.isalnum()]
    shares = [100 * statistics.fmean(word not in common for word in some) for some in (most, words)]
    return row(name, len(most), *(f"{one:.0f} %" for one in shares))


def repeated_lines(reads: Sequence[Read], more: Sequence[Read]) -> Iterator[str]:
    """Mean shares of the words before: in `more` of words said again and said first, in `reads` of all words."""
    pairs = [
        (read.share_before(place), read.share_before(read.written.index(read.written[place])))
        for read in more
        for place in places_of(read)[1]
    ]
    if not pairs:
        yield "no word is said again: the model is too good"
        return
    every = [read.share_before(place) for read in reads for place in range(1, len(read.written))]
    again, first = zip(*pairs, strict=True)
    kinds = {"words said again": again, "the same words, said first": first, "all words behind the first": every}
    yield from (row(kind, len(some), f"{100 * statistics.fmean(some):.0f} %") for kind, some in kinds.items())
    rising = statistics.fmean(one > other for one, other in pairs)
    yield f"\n{100 * rising:.0f} % of the words said again rest more on the words before than they did when said first."


def picture(read: Read, title: str) -> str:
    """Both sides as one heat map, a gap between them, without the last word, which is before none; small for a page."""
    count = len(read.written)
    rows = [[*one, 0.0, *other[:count]] for one, other in zip(read.by_source, read.by_before, strict=True)]
    drawn = svg([*read.source, "│", *read.before[:count]], read.written, rows, title=title)
    head, end, cells = drawn.partition("</title>")
    return head + end + re.sub("<title>[^<]*</title>", "", cells)  # without what a mouse would be told of each cell


def draw(reads: Sequence[Read], common: set[str], folder: Path) -> Iterator[str]:
    """Write a short sentence of each case: an UNK of a rare word, and a word that rests on the words before."""
    short = [read for read in reads if len(read.written) in SHORT]
    unknown = [(read, place) for read in short for place in places_of(read)[0] if read.main_source(place) not in common]
    again = [(read, place) for read in short for place in places_of(read)[1]]
    again.sort(key=lambda one: -one[0].share_before(one[1]))
    titles = {"unknown": "UNK comes from “{source}”", "repeated": "“{word}” again: {share:.0%} from the words before"}
    for (name, title), found in zip(titles.items(), (unknown, again), strict=True):
        for read, place in found[:1]:
            told = title.format(
                source=read.main_source(place), word=read.written[place], share=read.share_before(place)
            )
            path = folder / f"case-{name}.svg"
            path.write_text(picture(read, told), encoding="utf-8")
            yield f"{path}: {' '.join(read.source)} → {' '.join(read.written)}"


def report(run: Path, data: Path, lines: int, pictures: Path) -> Iterator[str]:
    """Markdown, then what was drawn."""
    predictor = regard.load(run, ["decoding.search=greedy", "device=cpu"])
    common = common_words(lines_of(data / "train.de.gz"))
    predictions = predictor.predict(lines_of(data / "test2016.de.gz"), safeguards=False)
    reads = {name: [*map(read_of, predictor.explainer.relevance(predictions[:lines], name))] for name in METHODS}
    first = reads[METHODS[0]]
    others = [one for one in predictions[lines:] if said_again(one.text)]
    more = [*first, *map(read_of, predictor.explainer.relevance(others, METHODS[0]))]
    yield head("method", "UNKs", "rest most on a rare source word", "rare words of the source")
    yield from (unknown_line(name, some, common) for name, some in reads.items())
    yield f"\n{head('', 'words', 'relevance of the words before')}"
    yield from repeated_lines(first, more)
    yield from draw(more, common, pictures)


if __name__ == "__main__":
    parser = options(__doc__, lines=200)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the model is, or is put")
    parser.add_argument("--data", type=Path, default=DATA / "multi30k", help="folder of the captions")
    parser.add_argument("--pictures", type=Path, default=Path("docs/images"), help="where pictures go")
    given = parser.parse_args()
    for line in report(trained(given.folder, given.data), given.data, given.lines, given.pictures):
        print(line, flush=True)
