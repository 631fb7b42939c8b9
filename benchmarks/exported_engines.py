"""A run in CTranslate2 beside Regard: equal texts, sizes, start and speed; texts in, texts out.

    python benchmarks/exported_engines.py RUN --text FILE [--lines 1000] [--rounds 5] [--beams 1 4] [--student RUN]
        [--json FILE]

The run is exported in float32 and in int8. A beam stops once its size have ended (`stop: full`), as CTranslate2's does.
  regard            the predictor, as `regard predict` uses it
  regard int8       with decoding.precision=int8
  engine            the export in float32, as `regard predict --engine ctranslate2` uses it
  engine int8       the export in int8
  CTranslate2       the export in float32, called by itself
  CTranslate2 int8  the export in int8, called by itself
  student           another run, with its own settings
The start is that of a process that translates one text. Seconds are those of a process's own processor time, which
other work on the machine hardly changes.
"""

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ctranslate2_peer import Model, ctranslate2
from program import lines_of, options
from timing import Contender, Make, Races, Record, run_process

from regard.exchange import export_folder, format_named
from regard.exchange.vocabularies import SOURCE_MODEL, TARGET_MODEL
from regard.predictor import load

UNIT, REFERENCE = "sentences/s", "CTranslate2"
SEARCHES = {1: "decoding.search=greedy", 4: "decoding.search={name: beam, size: 4, stop: full}"}
BATCH = 4096  # tokens
TRANSLATE = (
    "import regard, sys; print(regard.load(sys.argv[1], engine=sys.argv[2] or None).predict(['A man.'])[0].text)"
)


def predicting(folder: Path, texts: list[str], changes: list[str], engine: str | None) -> Contender:
    """Our predictor with an engine; None: the native one."""
    predictor, outputs = load(folder, changes, engine=engine), list[str]()

    def turn() -> float:
        outputs[:] = [one.text for one in predictor.predict(texts, safeguards=False)]
        return len(texts)

    return Contender(turn, None, outputs)


def alone(folder: Path, texts: list[str], beam: int, threads: int) -> Make:
    """CTranslate2 by itself on an export."""
    model = Model(folder, folder / SOURCE_MODEL, folder / TARGET_MODEL, "default")
    return ctranslate2, (model, texts, beam, None, threads, BATCH)


def contenders(
    run: Path, exports: Mapping[str, Path], texts: list[str], beam: int, threads: int, student: Path | None
) -> dict[str, Make]:
    """All at one size of the beam."""
    search = SEARCHES[beam]
    return {
        "regard": (predicting, (run, texts, [search], None)),
        "regard int8": (predicting, (run, texts, [search, "decoding.precision=int8"], None)),
        "engine": (predicting, (exports["float32"], texts, [search], "ctranslate2")),
        "engine int8": (predicting, (exports["int8"], texts, [search], "ctranslate2")),
        REFERENCE: alone(exports["float32"], texts, beam, threads),
        f"{REFERENCE} int8": alone(exports["int8"], texts, beam, threads),
        **({"student": (predicting, (student, texts, [], None))} if student else {}),
    }


def equal_texts(records: Mapping[str, Record]) -> list[str]:
    """Lines below a table: how many texts are those of Regard in float32."""
    wanted = records["regard"].outputs
    counts = {
        name: sum(map(str.__eq__, wanted, one.outputs)) for name, one in records.items() if name != "regard" and wanted
    }
    return [f"Texts equal to regard's, of {len(wanted):,}: {', '.join(f'{one} {n:,}' for one, n in counts.items())}."]


def starts(run: Path, exports: Mapping[str, Path], rounds: int) -> str:
    """The quickest start of a process, in seconds of the processor, of each."""
    folders = {"regard": (run, ""), **{f"engine {name}": (one, "ctranslate2") for name, one in exports.items()}}
    seconds = {
        name: min(run_process(["-c", TRANSLATE, *words]).cpu for _ in range(rounds)) for name, words in folders.items()
    }
    return f"Start (s of the processor): {', '.join(f'{name} {one:.2f}' for name, one in seconds.items())}."


def main(chosen: argparse.Namespace, place: Path) -> None:
    """Export, race and print."""
    texts, exports = lines_of(chosen.text)[: chosen.lines], {}
    predictor = load(chosen.run, [SEARCHES[1]])
    for name in ("float32", "int8"):
        exports[name] = place / name
        row = format_named("ctranslate2", {"quantization": name})
        export_folder(row, predictor, exports[name], texts=texts, count=len(texts) if name == "float32" else 0)
        print(f"model.bin in {name}: {(exports[name] / 'model.bin').stat().st_size:,} bytes", flush=True)
    print(starts(chosen.run, exports, 3), flush=True)
    races = Races(chosen, UNIT, REFERENCE, time.process_time)
    for beam in chosen.beams:
        makes = contenders(chosen.run, exports, texts, beam, chosen.threads, chosen.student)
        races.run(f"beam {beam}" if beam > 1 else "greedy", makes, equal_texts)
    races.save()


if __name__ == "__main__":
    parser = options(__doc__, rounds=5, threads=1)
    parser.add_argument("run", type=Path)
    parser.add_argument("--text", type=Path, required=True, help="sources, line by line")
    parser.add_argument("--lines", type=int, default=1000, help="of them")
    parser.add_argument("--student", type=Path, metavar="RUN", help="a student of the run, in the same races")
    parser.add_argument("--beams", type=int, nargs="+", choices=SEARCHES, default=[1, 4], help="sizes of a beam")
    with tempfile.TemporaryDirectory() as made:
        main(parser.parse_args(), Path(made))
