"""How time grows with the length of a sentence, the vocabulary and the layers; beside the peers.

    REGARD_DATA=PATH python benchmarks/scaling.py [--rounds 5] [--json FILE]     (pip install ctranslate2 transformers)
    python benchmarks/scaling.py --lengths 10 50 100 --vocabularies 5000 10000 --layers 1 2 4

Decoding: greedy, random weights of the shipped Multi30k model; a source of n pieces is translated to n pieces.
Training: the shipped model with vocabularies of other sizes, on the same batches, which use the first words only; and
with other numbers of layers in the encoder and in the decoder.
Contenders take turns at every size; told are medians of the rounds, and the slope of the logarithm of time over that of
the size: 1 grows as the size, 2 as its square.
"""

import argparse
import itertools
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import train
import translate
from ctranslate2_peer import Model, convert, ctranslate2
from program import as_line, count, machine, markdown, need, save
from timing import Make, Record, exponent, race
from training_runs import training_stream
from workload import parser_of, prepare

from regard.runs import Run, RunFolder

LENGTHS, VOCABULARIES, LAYERS = (10, 25, 50, 100, 200, 400), (5000, 10000, 20000, 50000), (1, 2, 4, 8)
FEWEST_WORDS = VOCABULARIES[0]
SENTENCES, PIECES = 64, 6400  # of a turn at most; so long sentences come in fewer
BATCHES = {"regard": 8192, "CTranslate2": 8192, "Hugging Face": 64}
Times = dict[str, dict[int, float]]  # by contender and size
Kind = tuple[Sequence[int], str, str, float, Callable[[int], dict[str, Make]]]  # sizes, names, scale, contenders


def decoding(run: RunFolder, converted: Model, length: int, threads: int) -> dict[str, Make]:
    """The contenders that translate sentences of one length."""
    texts = sentences(run, length, max(4, min(SENTENCES, PIECES // length)))
    return {
        "regard": (translate.regard, (run, texts, 1, length, "regard", BATCHES["regard"])),
        "CTranslate2": (ctranslate2, (converted, texts, 1, length, threads, BATCHES["CTranslate2"])),
        "Hugging Face": (translate.hugging_face, (run, texts, 1, length, BATCHES["Hugging Face"])),
    }


def sentences(run: RunFolder, length: int, number: int) -> list[str]:
    """So many texts of about so many pieces, out of the test part's sentences in a row."""
    tokenizer = Run.open(run).columns["source"]
    pieces = itertools.chain.from_iterable(tokenizer.encode_batch(translate.test_part(run)["source"]))
    endless = itertools.cycle(list(pieces))
    return [tokenizer.decode(list(itertools.islice(endless, length))) for _ in range(number)]


def training(run: RunFolder, vocabulary: int, tokens: int) -> dict[str, Make]:
    """The contenders that train with a vocabulary."""
    return {
        "regard": (train.regard, (run, tokens, vocabulary)),
        "Hugging Face, kept memory": (train.peer, (run, tokens, True, True, vocabulary)),
        "Hugging Face": (train.peer, (run, tokens, True, False, vocabulary)),
    }


def deep(place: Path, layers: int, changes: list[str]) -> RunFolder:
    """A prepared run of so many layers on each side."""
    sides = [f"model.{side}={{num_layers: {layers}}}" for side in ("encoder", "decoder")]
    run = prepare(place / f"{layers}-layers", [f"text.tokenizer.size={FEWEST_WORDS}", *changes, *sides])
    training_stream(run)
    return run


def seconds(records: Mapping[int, Mapping[str, Record]]) -> Times:
    """Size → contender → what was measured; → contender → size → median seconds of one unit."""
    names = next(iter(records.values()))
    return {
        name: {size: statistics.median(1 / speed for speed in found[name].speeds) for size, found in records.items()}
        for name in names
    }


def table(size: str, unit: str, scale: float, times: Times, records: Mapping[int, Mapping[str, Record]]) -> str:
    """Markdown: a row for each size, in `unit`, which is 1 / scale seconds; the slopes; and the peak memory."""
    names = list(times)
    head = [size, *(f"{name}, {unit}" for name in names), *(f"{name}, MB" for name in names)]
    rows = [
        [
            f"{number:,}",
            *(f"{times[name][number] * scale:.3g}" for name in names),
            *(f"{found[name].megabytes:,}" for name in names),
        ]
        for number, found in records.items()
    ]
    return markdown(head, [*rows, ["slope", *(f"{exponent(times[name]):.2f}" for name in names), *("" for _ in names)]])


def curve(title: str, x: str, y: str, scale: float, times: Times) -> dict[str, Any]:
    """A plot of the times."""
    points = {name: [[size, value * scale] for size, value in each.items()] for name, each in times.items()}
    return {"title": title, "x": x, "y": y, "points": points}


def measure(chosen: argparse.Namespace, place: Path) -> dict[str, Any]:
    """All kinds of growth, each printed as it ends."""
    run = prepare(place, [f"text.tokenizer.size={FEWEST_WORDS}", *chosen.changes])
    converted = convert(run, translate.weights(run), place / "ctranslate2")
    training_stream(run)  # makes the corpus once for all
    kinds: Mapping[str, Kind] = {
        "Decoding a sentence, by its length": (
            chosen.lengths, "pieces", "ms", 1e3, lambda length: decoding(run, converted, length, chosen.threads)
        ),
        "Training on a token, by the vocabulary": (
            chosen.vocabularies, "words", "µs", 1e6, lambda size: training(run, size, chosen.tokens)
        ),
        "Training on a token, by the layers": (
            chosen.layers, "layers a side", "µs", 1e6,
            lambda size: training(deep(place, size, chosen.changes), FEWEST_WORDS, chosen.tokens),
        ),
    }  # fmt: skip
    tables, curves = dict[str, str](), list[dict[str, Any]]()
    for title, (sizes, name, unit, scale, makes) in kinds.items():
        records = {size: race(makes(size), chosen.rounds, chosen.threads) for size in sizes}
        times = seconds(records)
        tables[title] = table(name, unit, scale, times, records)
        curves.append(curve(title, name, unit, scale, times))
        print(f"\n{tables[title]}", flush=True)
    return {"tables": tables, "curves": curves}


def main() -> None:
    """Prints a table for each kind of growth."""
    parser = parser_of(__doc__, tokens=12000)
    parser.add_argument("--lengths", type=count, nargs="+", default=LENGTHS, help="pieces of a sentence")
    parser.add_argument("--vocabularies", type=count, nargs="+", default=VOCABULARIES, help="words, 5,000 or more")
    parser.add_argument("--layers", type=count, nargs="+", default=LAYERS, help="layers of each side")
    chosen = parser.parse_args()
    need("ctranslate2")
    need("transformers")
    about = machine(chosen.threads)
    print(as_line(about))
    with tempfile.TemporaryDirectory() as folder:
        found = measure(chosen, Path(folder))
    save(chosen.json, {**about, **found})


if __name__ == "__main__":
    main()
