"""Decoding speed: Regard's predictor, CTranslate2 and Hugging Face with the same weights; texts in, texts out.

    REGARD_DATA=PATH python benchmarks/translate.py [--rounds 5] [--json FILE]   (pip install ctranslate2 transformers)
    python benchmarks/translate.py --run FOLDER                                  a trained run, with real stopping
    python benchmarks/translate.py --sizes S --beams 1 --rounds 3 --only "CTranslate2 float32"        a quick look

The 1,000 sentences of test2016, the same tokenizer, batches sorted by length on every side.
  regard                        the predictor, as `regard predict` uses it
  regard int8                   with decoding.precision=int8
  regard shortlist              with decoding.shortlist, for a trained run alone: random weights list nothing
  regard, stop: full            a beam stops as those of the peers do; by default it goes on while better may come
  CTranslate2 float32, int8     as many workers of one thread as there are threads
  Hugging Face                  M2M100ForConditionalGeneration, which has the same architecture

Sizes are those of the shipped Multi30k config (S), and 3+3 layers of 512 with a feed-forward of 2,048 and 8 heads (B).
Without a run weights are random, so every translation is LENGTH pieces long. How many translations are the reference's
is told. With --sweep each contender first tries some sizes of batches, and races with its best.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from ctranslate2_peer import Model, convert, ctranslate2
from hugging_face import copied, padded
from program import need, part_of
from timing import Contender, Make, Races, Record, race
from workload import SIZES, parser_of, prepare, with_shortlist

from regard.experiment import DecodingSettings
from regard.models import ROUTE, Translator
from regard.ops.kernels.packing import Precision, set_precision
from regard.predictor import Predictor
from regard.records import BOS, PAD
from regard.registry import Choice
from regard.runs import Run, RunFolder
from regard.runs.assembly import engine_of, shortlist_of
from regard.runs.run import model_of
from regard.tasks import TranslationTask

LENGTH = 14  # pieces of every translation by random weights: the mean of Multi30k
UNIT, REFERENCE = "sentences/s", "CTranslate2 float32"
BATCHES = {  # tokens, of Hugging Face sentences; the first is raced with unless there is a sweep
    "regard": (8192, 4096, 24576),
    "CTranslate2": (4096, 2048, 8192),
    "Hugging Face": (128, 64, 256),
}
SWEPT = 512  # sentences of a sweep


class Way(NamedTuple):
    """How Regard searches."""

    stop: Literal["exact", "full"] = "exact"  # of a beam
    precision: Precision = "float32"  # of its products
    shortlist: bool = False


WAYS = {
    "regard": Way(),
    "regard, stop: full": Way("full"),
    "regard int8": Way(precision="int8"),
    "regard int8, stop: full": Way("full", "int8"),
    "regard shortlist": Way(shortlist=True),
    "regard int8, shortlist, stop: full": Way("full", "int8", shortlist=True),
}


def regard(run: RunFolder, texts: list[str], beam: int, length: int | None, name: str, tokens: int) -> Contender:
    """Our predictor on batches of so many tokens. `length`: of every translation, in pieces; `name`: one of WAYS.

    Translations of a fixed length are taken as they are: random weights write loops, which are cut else.
    """
    columns, way = Run.open(run).columns, WAYS[name]
    limits = {} if length is None else {"min_length": length, "max_ratio": 0.0, "max_extra": length}
    choice = Choice("greedy", limits) if beam == 1 else Choice("beam", {"size": beam, "stop": way.stop, **limits})
    settings = DecodingSettings(choice, shortlist=way.shortlist)
    task, model = TranslationTask(columns), weights(run)
    set_precision(model, way.precision)
    engine = engine_of(settings, model, task, shortlist_of(run.path, settings, columns))
    predictor = Predictor(model, task, engine, settings=DecodingSettings(batch_tokens=tokens))
    outputs = list[str]()

    def turn() -> float:
        outputs[:] = [prediction.text for prediction in predictor.predict(texts, safeguards=length is None)]
        return len(outputs)

    return Contender(turn, model, outputs)


def hugging_face(run: RunFolder, texts: list[str], beam: int, length: int | None, sentences: int) -> Contender:
    """`generate` with its cache, on batches of so many sentences."""
    opened = Run.open(run)
    model = copied(weights(run), opened.experiment, len(opened.columns["source"])).eval()
    return generating(model, run, texts, beam, length, sentences)


def generating(
    model: Any, run: RunFolder, texts: list[str], beam: int, length: int | None, sentences: int
) -> Contender:
    """The same with a model of transformers, and the tokenizer of a run."""
    from transformers import GenerationConfig

    tokenizer = Run.open(run).columns["source"]
    told = {name: getattr(model.config, f"{name}_token_id") for name in ("pad", "bos", "eos", "decoder_start")}
    settings = {f"{name}_token_id": value for name, value in told.items()}
    settings |= {"num_beams": beam, "do_sample": False, "use_cache": True, "min_new_tokens": length}
    outputs = list[str]()

    def translate(rows: list[list[int]]) -> list[list[int]]:
        items = padded([[*ids, told["eos"]] for ids in rows])
        config = GenerationConfig(**settings, max_new_tokens=length or items.shape[1] * 2 + 10)
        with torch.inference_mode():
            found = model.generate(input_ids=items, attention_mask=(items != PAD).long(), generation_config=config)
        return [[token for token in ids if token not in told.values()] for ids in found.tolist()]

    def turn() -> float:
        sources = tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda row: -len(sources[row]))
        outputs[:] = [""] * len(texts)
        for start in range(0, len(order), sentences):
            rows = order[start : start + sentences]
            for row, ids in zip(rows, translate([sources[row] for row in rows]), strict=True):
                outputs[row] = tokenizer.decode(ids)
        return len(texts)

    return Contender(turn, model, outputs)


def weights(run: RunFolder) -> Translator:
    """The model of a run; where it is not trained, with random weights, the same ones in every process.

    Random weights write a word again and again: neither padding nor the symbol of the beginning, which Regard never
    writes and its peers may.
    """
    if run.started:
        return Run.open(run).assembled().model  # type: ignore[return-value]  # its task is translation
    opened = Run.open(run)
    model: Any = model_of(opened.experiment, opened.columns).eval()
    with torch.no_grad():
        model.encoders[ROUTE].embedder.table[[PAD, BOS]] = 0
    return model


def test_part(run: RunFolder) -> Mapping[str, list[str]]:
    """The sentences of the test part, by column."""
    opened = Run.open(run)
    return {name: [*lines] for name, lines in part_of(opened, TranslationTask(opened.columns)).items()}


def contenders(
    run: RunFolder, converted: Model, texts: list[str], beam: int, threads: int
) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Name → who makes it, and of what; a size of batches comes after that."""
    length = None if run.started else LENGTH
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {
        name: (regard, (run, texts, beam, length, name))
        for name, way in WAYS.items()
        if (beam > 1 or way.stop == "exact") and (run.started or not way.shortlist)
    }
    for kind in ("float32", "int8"):
        model = converted._replace(compute_type=kind)
        found[f"CTranslate2 {kind}"] = ctranslate2, (model, texts, beam, length, threads)
    return found | {"Hugging Face": (hugging_face, (run, texts, beam, length))}


def batches_of(name: str) -> tuple[int, ...]:
    """The sizes of batches that a contender tries."""
    (found,) = [sizes for start, sizes in BATCHES.items() if name.startswith(start)]
    return found


def best_batch(name: str, make: Any, arguments: tuple[Any, ...], threads: int) -> int:
    """The quickest of the sizes of batches, on the first of the texts."""
    few = tuple(one[:SWEPT] if isinstance(one, list) else one for one in arguments)
    found = race({str(size): (make, (*few, size)) for size in batches_of(name)}, 1, threads)
    return max(batches_of(name), key=lambda size: found[str(size)].speeds[0])


def measure(run: RunFolder, races: Races, place: Path, size: str) -> None:
    """The races of one model, each printed as it ends."""
    chosen, texts = races.chosen, test_part(run)["source"][: races.chosen.lines]
    converted = convert(run, weights(run), place / "ctranslate2")
    for beam in chosen.beams:
        makes = contenders(run, converted, texts, beam, chosen.threads)
        batch = {
            name: best_batch(name, *made, chosen.threads) if chosen.sweep else batches_of(name)[0]
            for name, made in makes.items()
            if name in {*(chosen.only or makes), REFERENCE}
        }
        full: dict[str, Make] = {name: (makes[name][0], (*makes[name][1], size)) for name, size in batch.items()}

        def tell(records: Mapping[str, Record], batch: Mapping[str, int] = batch) -> list[str]:
            told = "Batches: " + ", ".join(f"{name} {batch[name]:,}" for name in records) + "."
            return [told, agreement(records), *([bleu(run, records)] if run.started else [])]

        races.run(f"{size}, greedy" if beam == 1 else f"{size}, beam {beam}", full, tell)


def agreement(records: Mapping[str, Record]) -> str:
    """How many translations are those of the reference."""
    wanted = records[REFERENCE].outputs
    same = {
        name: sum(one == other for one, other in zip(record.outputs, wanted, strict=True))
        for name, record in records.items()
        if name != REFERENCE
    }
    counts = ", ".join(f"{name} {count:,}" for name, count in same.items())
    return f"The same translations as the {len(wanted):,} of {REFERENCE}: {counts}."


def bleu(run: RunFolder, records: Mapping[str, Record]) -> str:
    """What each contender's translations score."""
    from sacrebleu import corpus_bleu

    references = test_part(run)["target"]
    scores = {
        name: corpus_bleu(record.outputs, [references[: len(record.outputs)]]).score for name, record in records.items()
    }
    return "BLEU: " + ", ".join(f"{name} {score:.2f}" for name, score in scores.items()) + "."


def main() -> None:
    """Prints a table for each size and beam."""
    parser = parser_of(__doc__, lines=1000)
    parser.add_argument("--run", type=Path, help="folder of a trained transformer with a shared vocabulary")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="without a run (default all)")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5], help="sizes of the beam, 1 = greedy")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these contenders, and the reference")
    parser.add_argument("--sweep", action="store_true", help="look for the best size of batches first")
    chosen = parser.parse_args()
    need("ctranslate2")
    need("transformers")
    races = Races(chosen, UNIT, REFERENCE, lines=chosen.lines)
    for size in chosen.sizes if chosen.run is None else ["trained"]:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            run = with_shortlist(chosen.run) if chosen.run else prepare(place, [*SIZES[size], *chosen.changes])
            measure(run, races, place, size)
    races.save()


if __name__ == "__main__":
    main()
