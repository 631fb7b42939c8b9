"""Speed of an imported OPUS-MT model beside transformers and CTranslate2; texts in, texts out, on one thread.

    REGARD_DATA=PATH OMP_NUM_THREADS=1 python benchmarks/imported_speed.py [--rounds 5] [--json FILE]

A MarianMTModel of OPUS-MT's size (6 + 6 layers of 512, feed-forward 2,048, 8 heads, 58,101 pieces), with random weights
that transformers makes on the spot. Regard imports the folder, CTranslate2 converts it. Sources are sentences of
Multi30k; every translation has as many pieces as `--length` says, since random weights do not end theirs.
Seconds are those of a process's own processor time, which other work on the machine hardly changes.
"""

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from program import DATA, ROOT, lines_of, need, options, spread
from timing import Contender, Make, Races, Record, ratios

from regard.exchange import format_of, import_folder
from regard.experiment import DecodingSettings
from regard.ops.kernels.packing import Precision, set_precision
from regard.predictor import Predictor
from regard.registry import Choice
from regard.runs import Run
from regard.runs.assembly import engine_of

UNIT, REFERENCE = "sentences/s", "CTranslate2 float32"
PAIRS = [("regard", "transformers"), ("regard", REFERENCE), ("regard int8", "CTranslate2 int8")]
SIZES = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in
         (("layers", 6), ("ffn_dim", 2048), ("attention_heads", 8))}  # fmt: skip
PIECES, ROWS = 8000, 58101
BATCH = {"regard": 4096, "CTranslate2": 4096, "transformers": 32}  # tokens; sentences of transformers


def make_models(folder: Path, run: Path, converted: Path) -> None:
    """Write a folder of OPUS-MT's size, with tokenizers learnt from Multi30k, and what is made of it."""
    sys.path.append(str(ROOT / "tests" / "helpers"))
    from ctranslate2.converters import TransformersConverter
    from foreign_translators import marian_folder

    lines = [tuple(lines_of(DATA / "multi30k" / f"train.{code}.gz")) for code in ("en", "de")]
    marian_folder(folder, lines=lines, pieces=PIECES, rows=ROWS, d_model=512, init_std=512**-0.5, **SIZES)
    import_folder(format_of(folder), folder, run, count=0)
    TransformersConverter(str(folder)).convert(str(converted))


def regard(run: Path, texts: list[str], beam: int, length: int, precision: Precision) -> Contender:
    """Our predictor, as `regard predict` uses it."""
    limits = {"min_length": length, "max_ratio": 0.0, "max_extra": length, "at_limit": "cut"}
    choice = Choice("beam", {"size": beam, "stop": "best_full", **limits}) if beam > 1 else Choice("greedy", limits)
    assembled: Any = Run.open(run).assembled()
    set_precision(assembled.model, precision)
    engine = engine_of(DecodingSettings(choice), assembled.model, assembled.task)
    settings = DecodingSettings(batch_tokens=BATCH["regard"])
    predictor, outputs = Predictor(assembled.model, assembled.task, engine, settings=settings), list[str]()

    def turn() -> float:
        outputs[:] = [one.text for one in predictor.predict(texts, safeguards=False)]
        return len(outputs)

    return Contender(turn, assembled.model, outputs)


def transformers(folder: Path, texts: list[str], beam: int, length: int) -> Contender:
    """`generate`, on batches of sentences of like length."""
    from transformers import AutoTokenizer, MarianMTModel

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = MarianMTModel.from_pretrained(folder).eval()
    model.generation_config.update(max_length=None, forced_eos_token_id=None)
    order, outputs = sorted(range(len(texts)), key=lambda row: -len(texts[row])), [""] * len(texts)

    def turn() -> float:
        for start in range(0, len(order), BATCH["transformers"]):
            rows = order[start : start + BATCH["transformers"]]
            read = tokenizer([texts[row] for row in rows], return_tensors="pt", padding=True)
            with torch.inference_mode():
                found = model.generate(**read, num_beams=beam, min_new_tokens=length, max_new_tokens=length)
            for row, text in zip(rows, tokenizer.batch_decode(found, skip_special_tokens=True), strict=True):
                outputs[row] = text
        return len(texts)

    return Contender(turn, model, outputs)


def ctranslate2(folder: Path, converted: Path, texts: list[str], beam: int, length: int, kind: str) -> Contender:
    """One worker of one thread."""
    import ctranslate2 as engine
    from sentencepiece import SentencePieceProcessor

    reader = SentencePieceProcessor(model_file=str(folder / "source.spm"))
    translator = engine.Translator(str(converted), device="cpu", compute_type=kind, inter_threads=1, intra_threads=1)
    limits = {"min_decoding_length": length, "max_decoding_length": length}
    settings = {"beam_size": beam, "batch_type": "tokens", "max_batch_size": BATCH["CTranslate2"], **limits}
    outputs = list[str]()

    def turn() -> float:
        rows = [[*row, "</s>"] for row in reader.encode(texts, out_type=str)]
        found = translator.translate_batch(rows, **settings)
        outputs[:] = ["".join(one.hypotheses[0]).replace("\u2581", " ").strip() for one in found]
        return len(outputs)

    return Contender(turn, None, outputs)


def goals(records: Mapping[str, Record]) -> list[str]:
    """Lines: medians of the ratios that are goals, and equal texts."""
    pairs = [(mine, other) for mine, other in PAIRS if {mine, other} <= {*records}]
    found = [f"{mine}: {spread(ratios(records[mine], records[other]))} times {other}." for mine, other in pairs]
    wanted = records[REFERENCE].outputs
    counts = (f"{name} {sum(map(str.__eq__, one.outputs, wanted))}" for name, one in records.items())
    return [*found, f"Texts equal to the {len(wanted)} of {REFERENCE}: {', '.join(counts)}."]


def main() -> None:
    """Print a table for each beam."""
    parser = options(__doc__, rounds=5, threads=1, lines=64, length=20)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4], help="sizes of the beam, 1 = greedy")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these contenders, and the reference")
    parser.add_argument("--keep", type=Path, help="folder in which models stay, for another time")
    chosen = parser.parse_args()
    need("transformers")
    need("ctranslate2")
    races = Races(chosen, UNIT, REFERENCE, time.process_time, lines=chosen.lines, length=chosen.length)
    with tempfile.TemporaryDirectory() as temporary:
        place = chosen.keep or Path(temporary)
        folder, run, converted = (place / name for name in ("opus", "run", "ctranslate2"))
        if not converted.exists():
            make_models(folder, run, converted)
        texts = lines_of(DATA / "multi30k" / "test2016.en.gz")[: chosen.lines]
        for beam in chosen.beams:
            given = texts, beam, chosen.length
            makes: dict[str, Make] = {
                "regard": (regard, (run, *given, "float32")),
                "regard int8": (regard, (run, *given, "int8")),
                **{f"CTranslate2 {kind}": (ctranslate2, (folder, converted, *given, kind))
                   for kind in ("float32", "int8")},
                "transformers": (transformers, (folder, *given)),
            }  # fmt: skip
            races.run("greedy" if beam == 1 else f"beam {beam}", makes, goals)
    races.save()


if __name__ == "__main__":
    main()
