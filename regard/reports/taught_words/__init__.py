"""The training pairs that taught each word of a translation: as JSON for the page, and as lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from regard.errors import ConfigError
from regard.explain.alignment import aligned_words
from regard.explain.tokens import visible_line
from regard.reports.taught_words.pair_index import PairIndex, TaughtPair, run_index
from regard.results import Explanation, Prediction
from regard.runs.run import Run
from regard.runs.texts import Say, training_readers
from regard.statistical.pair_checks.check import holds_letters, lower_words
from regard.text.words import cut_words

EVERY_WORD = "*"
_SHOWN, _OF_EACH = 10, 3  # pairs of a word, and where every word is printed
_LEAST = 0.1  # share of the weight of the strongest source word below which one does not count


class TaughtWord(NamedTuple):
    """A written word and the training pairs that taught it."""

    word: str  # as it was written
    piece: int  # the first of its pieces
    pairs: Sequence[TaughtPair]


class Evidence(NamedTuple):
    """The training pairs that taught the words of translations, and the texts of these pairs."""

    words: Sequence[Sequence[TaughtWord]]  # of each translation
    texts: dict[int, tuple[str, str]]  # source and target of each pair that is shown, by its row
    files: Sequence[Sequence[str]]  # of each corpus
    pairs: PairIndex

    def plain(self, words: Sequence[TaughtWord]) -> dict[str, Any]:
        """Return the pairs of one translation as JSON values, as the page takes them."""
        rows = sorted({pair.row for word in words for pair in word.pairs})
        return {
            "corpora": [{"files": [*names]} for names in self.files],
            "pairs": [
                {"corpus": int(self.pairs.corpora[row]), "line": int(self.pairs.lines[row])}
                | dict(zip(("source", "target"), self.texts[row], strict=True))
                for row in rows
            ],
            "words": [
                {"piece": word.piece, "word": word.word, "pairs": [self._pair(one, rows) for one in word.pairs]}
                for word in words
            ],
        }

    def _pair(self, one: TaughtPair, rows: Sequence[int]) -> dict[str, Any]:
        spans = [spans_of_words(text) for text in self.texts[one.row]]
        marks = [[spans[side][place] for place in places] for side, places in enumerate((one.source, one.target))]
        values = {"pair": rows.index(one.row), "link": round(one.link, 3), "context": round(one.context, 3)}
        return {**values, "source": marks[0], "target": marks[1]}

    def lines(self, words: Sequence[TaughtWord], chosen: str) -> Iterator[str]:
        """Yield lines that show the pairs of a word, or some of every word; marked words stand in brackets."""
        shown = [one for one in words if chosen in (EVERY_WORD, one.word.lower())]
        for word in shown:
            yield f"pairs that taught “{visible_line(word.word)}”{_caveat(word)}"
            for one in word.pairs[: _OF_EACH if chosen == EVERY_WORD else _SHOWN]:
                corpus, line = int(self.pairs.corpora[one.row]), int(self.pairs.lines[one.row])
                kind = f"link {one.link:.2f}" if one.link else "not linked" if one.target else "the source word alone"
                yield f"  {self.files[corpus][0]}:{line}  {kind}, context {one.context:.2f}"
                for text, places in zip(self.texts[one.row], (one.source, one.target), strict=True):
                    yield f"    {_bracketed(visible_line(text), [spans_of_words(text)[place] for place in places])}"


def taught_words(run: Run, predictions: Sequence[Prediction], chosen: str, say: Say = lambda line: None) -> Evidence:
    """Find the training pairs that taught the words of explained translations.

    Raises ConfigError for a run that does not translate and for a `chosen` word that no translation has, DataError
    where the training texts of the run are gone.
    """
    index = run_index(run, say)
    found = [list(_words_of(index, one, one.explanation)) for one in predictions]
    if chosen != EVERY_WORD and not any(word.word.lower() == chosen.lower() for words in found for word in words):
        known = dict.fromkeys(word.word for words in found for word in words)
        raise ConfigError("--taught", f"no translation has the word '{chosen}'", f"they have: {', '.join(known)}")
    readers = [*training_readers(run.experiment).values()]
    rows = {(int(index.corpora[one.row]), int(index.lines[one.row])): one.row
            for words in found for word in words for one in word.pairs}  # fmt: skip
    texts = dict[int, tuple[str, str]]()
    for corpus, reader in enumerate(readers):
        for example in reader:
            if (row := rows.get((corpus, example.line))) is not None:
                texts[row] = example.texts["source"], example.texts["target"]
    return Evidence(found, texts, [[str(file) for file in reader.files] or [reader.key()] for reader in readers], index)


def _caveat(word: TaughtWord) -> str:
    """Return what qualifies the pairs of a word: "" where they link it to the words that it translates."""
    if not word.pairs:
        return ": none"
    if any(one.link for one in word.pairs):
        return ""
    if word.pairs[0].target:
        return ": none has a word that it translates here; the most similar contexts"
    return ": none has it; pairs with its source word"


def _words_of(index: PairIndex, prediction: Prediction, found: Explanation | None) -> Iterator[TaughtWord]:
    """Each written word with its pairs."""
    if found is None or not found.has_sides_alone:
        return
    if not found.link.weights:
        rows = [[1.0] * len(found.source_tokens)] * len(found.target_tokens)
        found = Explanation.of_text(found.source_tokens, found.target_tokens, weights=rows)
    words, source = aligned_words(found), lower_words(prediction.source)
    for target, row in zip(words.target_words, words.weights, strict=True):
        most = max(map(abs, row), default=0.0) or 1.0
        weights = dict[str, float]()
        for word, weight in zip(words.source_words, row, strict=True):
            for part in lower_words(word.text) if abs(weight) >= _LEAST * most else ():
                weights[part] = max(weights.get(part, 0.0), abs(weight) / most)
        pairs = index.taught(_main_part(target.text), weights or dict.fromkeys(source, 1.0), source, _SHOWN)
        yield TaughtWord(target.text, target.pieces[0], pairs)


def _main_part(text: str) -> str:
    """Return the longest part of a word with letters, without punctuation, in lower case."""
    parts = lower_words(text)
    return max(filter(holds_letters, parts), key=len, default=parts[0] if parts else "")


def spans_of_words(text: str) -> list[tuple[int, int]]:
    """Return the first character of each of the `lower_words` of a text, and the first one behind it."""
    spans, place = list[tuple[int, int]](), -1  # a space is put before the text
    places = [at for at, one in enumerate(text) for _ in one.lower()]  # "İ" is two characters in lower case
    for piece in cut_words(text.lower()):
        if word := piece.strip():
            first = min(max(0, place + piece.index(word)), len(places) - 1)
            last = min(first + len(word), len(places)) - 1
            spans.append((places[first], places[last] + 1))
        place += len(piece)
    return spans


def _bracketed(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for first, behind in sorted(spans, reverse=True):
        text = f"{text[:first]}[{text[first:behind]}]{text[behind:]}"
    return text
