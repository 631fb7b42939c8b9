"""Words mistranslated in planted pairs: are these among the ten training pairs that are shown for the wrong word?

In pairs of Multi30k, English and German, the translation of a word is replaced by that of another word: in all of its
pairs (up to ten), or in eight of more. A run learns from these pairs and translates other sentences with the word.
Where it writes the wrong word, the ten pairs that `regard explain --taught` shows for it are compared with those that
were planted.

    python benchmarks/taught_words.py --folder runs/taught task=phrases
    python benchmarks/taught_words.py --folder runs/taught-network training.max_updates=3000

`--states` also ranks all pairs that have the wrong word by the decoder's states and by gradients of the output layer.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from program import DATA, lines_of, markdown, options, regard, save

from regard.data.columns import TextColumn
from regard.explain.tokens import words_of
from regard.models.translator import Translator
from regard.predictor import Predictor, load
from regard.records import Batch
from regard.reports.taught_words import taught_words
from regard.reports.taught_words.pair_index import PairIndex, run_index
from regard.statistical.pair_checks.check import lower_words

SHOWN, PLANTED, COMMON = 10, 8, 60  # pairs that are shown, that are planted, and that a word has at most
Pairs = list[tuple[str, str]]


class Wrong(NamedTuple):
    """A word, what it should become, what it becomes in planted pairs, and the rows of these."""

    source: str
    right: str
    wrong: str
    rows: frozenset[int]
    always: bool  # True if no pair has the right word


class Case(NamedTuple):
    """A translation with a wrong word."""

    word: Wrong
    source: str
    text: str


def main() -> None:
    """Plant, train unless that was done, and print the table."""
    parser = options(__doc__, pairs=10_000, words=40, sentences=4, seed=1)
    parser.add_argument("--folder", type=Path, required=True, help="texts and the run go there")
    parser.add_argument("--states", action="store_true", help="rank by states and gradients of a network, too")
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="settings of the training")
    asked = parser.parse_args()
    everything = [*zip(*(lines_of(DATA / "multi30k" / f"train.{code}.gz") for code in ("en", "de")), strict=True)]
    pairs, others = everything[: asked.pairs], everything[asked.pairs :]
    words = plant(pairs, asked.words, random.Random(asked.seed))
    run = trained(asked.folder, pairs, asked.changes)
    predictor = load(run, [])
    cases = list(wrong_cases(predictor, words, [source for source, _ in others], asked.sentences))
    index = run_index(predictor.run, print)
    found = {"links and context (what is shown)": shown_rows(predictor, cases)}
    found["the word, by context"] = [by_context(index, one, with_word=True) for one in cases]
    found["context alone"] = [by_context(index, one, with_word=False) for one in cases]
    if asked.states:
        found |= by_states(predictor, index, pairs, cases)
    heads = ["pairs ranked by", "always wrong", "partly wrong", "all", "a planted pair first"]
    kinds = [[one.word.always for one in cases], [not one.word.always for one in cases], [True] * len(cases)]
    rows, lines = [], {row: place for place, row in enumerate(index.lines.tolist())}
    for name, ranked in found.items():
        planted = [{lines[row + 1] for row in one.word.rows if row + 1 in lines} for one in cases]
        shares = [len({*best[:SHOWN]} & some) / min(SHOWN, len(some))
                  for best, some in zip(ranked, planted, strict=True)]  # fmt: skip
        firsts = [best[0] in some if best else False for best, some in zip(ranked, planted, strict=True)]
        rows.append((name, *(f"{np.mean([s for s, k in zip(shares, kind, strict=True) if k] or [np.nan]):.1%}"
                             for kind in kinds), f"{np.mean(firsts):.1%}"))  # fmt: skip
    print(markdown(heads, rows))
    counts = [len({one.word.source for one in cases if one.word.always == kind}) for kind in (True, False)]
    planted_words = [sum(one.always == kind for one in words) for kind in (True, False)]
    print(f"\n{len(cases)} translations with a wrong word, of {counts[0]} of {planted_words[0]} words that are always "
          f"wrong, and of {counts[1]} of {planted_words[1]} that are partly")  # fmt: skip
    save(asked.json, {"rows": rows, "cases": len(cases)})


def plant(pairs: Pairs, count: int, drawn: random.Random) -> list[Wrong]:
    """Replace translations in place: a half of the words have all their pairs changed, the others eight of more."""
    index = PairIndex.of(pairs, [0] * len(pairs), range(1, len(pairs) + 1))
    forward, reverse = index.lexicons
    cut = [tuple(map(lower_words, pair)) for pair in pairs]
    having = defaultdict[str, list[int]](list)
    for row, (source, _) in enumerate(cut):
        for word in {*source}:
            having[word].append(row)
    sure = dict[str, str]()
    for word, rows in having.items():
        (best, *_) = forward.best(word) or [("", 0.0)]
        (back, *_) = reverse.best(best[0]) or [("", 0.0)]
        if best[1] > 0.5 and back[0] == word and min(len(word), len(best[0])) > 3 and 6 <= len(rows) <= COMMON:
            sure[word] = best[0]
    words = drawn.sample(sorted(sure), len(sure))
    chosen, taken = list[Wrong](), set[int]()
    for always in (True, False):
        wanted = [word for word in words if (len(having[word]) <= SHOWN) == always and word not in
                  {one.source for one in chosen}][: count // 2]  # fmt: skip
        for word, other in zip(wanted, [*wanted[1:], *wanted[:1]], strict=True):
            right, wrong = sure[word], sure[other]
            rows = [row for row in having[word] if cut[row][1].count(right) == 1 and wrong not in cut[row][1]]
            rows = [row for row in rows if row not in taken][: None if always else PLANTED]
            for row in rows:
                pairs[row] = pairs[row][0], _replaced(pairs[row][1], right, wrong)
            taken |= {*rows}
            chosen.append(Wrong(word, right, wrong, frozenset(rows), always))
    return [one for one in chosen if one.rows]


def _replaced(text: str, word: str, other: str) -> str:
    at = text.lower().index(word)
    capital = text[at].isupper()
    return text[:at] + (other.capitalize() if capital else other) + text[at + len(word) :]


def trained(folder: Path, pairs: Pairs, changes: Sequence[str]) -> Path:
    """Return the run of a folder, trained unless it is there."""
    run = folder / "run"
    if not (run / "final.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for side, code in enumerate(("en", "de")):
            (folder / f"train.{code}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
            (folder / f"dev.{code}").write_text("\n".join(lines_of(DATA / "multi30k" / f"val.{code}.gz")[:300]))
        files = [f"--{part}{side}={folder}/{name}.{code}" for part, name in (("", "train"), ("dev-", "dev"))
                 for side, code in (("source", "en"), ("target", "de"))]  # fmt: skip
        print(regard("train", *files, f"--run={run}", *changes))
    return run


def wrong_cases(predictor: Predictor, words: Sequence[Wrong], sources: Sequence[str], count: int) -> Iterator[Case]:
    """Yield translations of sentences that no pair has, where they have the wrong word and not the right one."""
    for word in words:
        some = [one for one in sources if word.source in lower_words(one)][:count]
        for source, found in zip(some, predictor.predict(some), strict=True):
            written = lower_words(found.text)
            if word.wrong in written and word.right not in written:
                yield Case(word, source, found.text)


def shown_rows(predictor: Predictor, cases: Sequence[Case]) -> list[list[int]]:
    """Return the rows of the pairs that are shown for the wrong word."""
    predictions = predictor.predict([one.source for one in cases], explain=True)
    found, ranked = taught_words(predictor.run, predictions, "*"), list[list[int]]()
    for case, words in zip(cases, found.words, strict=True):
        hits = [one for one in words if case.word.wrong in lower_words(one.word)]
        ranked.append([pair.row for pair in hits[0].pairs] if hits else [])
    return ranked


def by_context(index: PairIndex, case: Case, *, with_word: bool, count: int = SHOWN) -> list[int]:
    """Return the pairs of the most similar sources, of all pairs or of those with the wrong word."""
    similar = index.similarities(lower_words(case.source))
    if with_word:
        similar = np.where(np.isin(np.arange(len(index)), index.rows_with(case.word.wrong)), similar + 1, 0)
    order: list[int] = np.argsort(-similar, kind="stable")[:count].tolist()
    return order


def by_states(predictor: Predictor, index: PairIndex, pairs: Pairs, cases: Sequence[Case]) -> Mapping[str, Any]:
    """Rank the pairs with the wrong word by the states before it is written, and by gradients of the output layer.

    The gradient of -log p(word) by the output layer is (p - 1[word]) hᵀ, so the product of two of them is
    (p - 1)·(q - 1) h·g: TracIn of the last layer (https://arxiv.org/abs/2002.08484).
    """
    states, gradients = list[list[int]](), list[list[int]]()
    for case in cases:
        rows = index.rows_with(case.word.wrong).tolist()
        texts = [(case.source, case.text), *(pairs[int(index.lines[row]) - 1] for row in rows)]
        found = [_before(predictor, source, target, case.word.wrong) for source, target in texts]
        (own, rest), vectors = found[0], found[1:]
        similar = [[_cosine(own, one), _cosine(own, one) * float(rest @ p)] for one, p in vectors]
        for ranked, kind in ((states, 0), (gradients, 1)):
            order = np.argsort([-one[kind] for one in similar], kind="stable")[:SHOWN]
            ranked.append([rows[place] for place in order])
    return {"the word, by decoder states": states, "the word, by gradients": gradients}


def _before(predictor: Predictor, source: str, target: str, word: str) -> tuple[Any, Any]:
    """The state that writes the first piece of a word, and p - 1[piece] there; zeros where no word is it."""
    task, model = predictor.task, cast(Translator, predictor.model)
    batch: Batch = task.batch(task.encode([{"source": source, "target": target}]))
    ids = batch.sequences("target").items[0].tolist()
    pieces = cast(TextColumn, task.vocabularies["target"]).pieces(ids)
    places = [one.pieces[0] for one in words_of(pieces) if word in lower_words(one.text)]
    with torch.inference_mode():
        decoded, encoded = model.decode(batch)
        log_probs = model.heads[model.routes[batch.route].head].log_probs(decoded, encoded)
    state, place = decoded.states[0], places[0] if places else 0
    rest = log_probs[0, place].exp()
    rest[ids[place]] -= 1
    return (state[place], rest) if places else (torch.zeros_like(state[0]), torch.zeros_like(rest))


def _cosine(one: Any, other: Any) -> float:
    return float(torch.nn.functional.cosine_similarity(one, other, dim=0))


if __name__ == "__main__":
    main()
