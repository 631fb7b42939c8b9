"""Decoding speed: Regard's predictor against generate of Hugging Face transformers, texts in, texts out.

    REGARD_DATA=PATH python benchmarks/translate.py [--rounds 5] [--json FILE]    (needs: pip install transformers)
    python benchmarks/translate.py --run FOLDER                                   a trained run, with real stopping

The 1,000 sentences of test2016, float32, the same tokenizer on both sides, batches sorted by length on both sides.
Without a run, weights are random, so every sentence is written to the same number of pieces, and the peer is
MarianMTModel. With a run the peer is M2M100ForConditionalGeneration, which has the same architecture, with the very
weights of the run: how many of its translations are the same is told.
A beam stops by default when nothing better can come; the peer stops earlier, by a rule of thumb, as `stop: full` does.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import torch
from hugging_face import copied, marian, padded
from rounds import Contender, Record, machine, race, save, table
from workload import need_transformers, parser_of, prepare

from regard.decoding import SEARCHES
from regard.predictor import Predictor
from regard.records import PAD
from regard.registry import Choice
from regard.runs import RunFolder, assemble
from regard.runs.assembly import model_of
from regard.runs.texts import test_examples
from regard.tasks import TranslationTask

LENGTH = 14  # pieces of every translation by random weights: the mean of Multi30k
UNIT = "sentences/s"


def regard(run: RunFolder, beam: int, lines: int, trained: bool, stop: str) -> Contender:
    """Our predictor; to a fixed length where the weights are random. `stop`: of a beam."""
    experiment = run.experiment()
    columns = run.columns(experiment)
    limits = {} if trained else {"min_length": LENGTH, "max_ratio": 0.0, "max_extra": LENGTH}
    choice = Choice("greedy", limits) if beam == 1 else Choice("beam", {"size": beam, "stop": stop, **limits})
    task = TranslationTask(columns)
    model = assemble(run).model if trained else model_of(experiment, columns)
    engine = task.engine(model, SEARCHES.build(choice))
    predictor = Predictor(model, task, engine, batch_tokens=experiment.decoding.batch_tokens)
    texts, outputs = _texts(run)[:lines], list[str]()

    def turn() -> float:
        outputs[:] = [prediction.text for prediction in predictor.predict(texts)]
        return len(outputs)

    return Contender(turn, model, outputs)


def peer(run: RunFolder, beam: int, lines: int, trained: bool, sentences: int) -> Contender:
    """`generate` with its cache, on batches of so many sentences."""
    from transformers import GenerationConfig

    experiment = run.experiment()
    tokenizer = run.columns(run.experiment())["source"]
    model = copied(assemble(run).model, experiment, len(tokenizer)) if trained else marian(experiment, len(tokenizer))
    model = model.eval()
    told = {name: getattr(model.config, f"{name}_token_id") for name in ("pad", "bos", "eos", "decoder_start")}
    settings = {f"{name}_token_id": value for name, value in told.items()}
    settings |= {"num_beams": beam, "do_sample": False, "use_cache": True}
    texts, outputs = _texts(run)[:lines], list[str]()

    def translate(rows: list[list[int]]) -> list[list[int]]:
        items = padded([[*ids, told["eos"]] for ids in rows])
        most = items.shape[1] * 2 + 10 if trained else LENGTH
        config = GenerationConfig(**settings, max_new_tokens=most, min_new_tokens=None if trained else LENGTH)
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


def _texts(run: RunFolder) -> list[str]:
    experiment = run.experiment()
    examples = test_examples(experiment, TranslationTask(run.columns(experiment)))
    if examples is None:
        raise SystemExit(f"benchmark: the settings of {run} name no test part: what should be translated?")
    return examples["source"]


def measure(run: RunFolder, chosen: argparse.Namespace) -> dict[str, dict[str, Record]]:
    """The races, each printed as it ends."""
    races = {}
    trained = chosen.run is not None
    for beam in chosen.beams:
        contenders: dict[str, Any] = {"regard": (regard, (run, beam, chosen.lines, trained, "exact"))}
        if beam > 1:
            contenders["regard, stop: full"] = (regard, (run, beam, chosen.lines, trained, "full"))
        names = [f"{'m2m100' if trained else 'marian'}, batches of {size}" for size in chosen.batches]
        for name, size in zip(names, chosen.batches, strict=True):
            contenders[name] = (peer, (run, beam, chosen.lines, trained, size))
        title = "greedy" if beam == 1 else f"beam {beam}"
        records = races[title] = race(contenders, chosen.rounds, chosen.threads)
        print(f"\n{title}\n\n{table(records, UNIT, names[0])}")
        if trained:
            pairs = zip(records["regard"].outputs, records[names[0]].outputs, strict=True)
            same = [ours == theirs for ours, theirs in pairs]
            print(f"\n{sum(same):,} of {len(same):,} translations are the same on both sides")
    return races


def main() -> None:
    """Prints a table for each beam."""
    parser = parser_of(__doc__ or "")
    parser.add_argument("--run", type=Path, help="folder of a trained transformer with a shared vocabulary")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5], help="sizes of the beam, 1 = greedy")
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 256], help="sentences, for the peer")
    parser.add_argument("--lines", type=int, default=1000, help="of test2016, the first ones (default 1000)")
    chosen = parser.parse_args()
    need_transformers()
    about = machine(chosen.threads)
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    with tempfile.TemporaryDirectory() as folder:
        run = prepare(Path(folder), chosen.changes) if chosen.run is None else RunFolder(chosen.run)
        races = measure(run, chosen)
    if chosen.json:
        save(chosen.json, {**about, "unit": UNIT, "run": str(chosen.run), "lines": chosen.lines}, races)


if __name__ == "__main__":
    main()
