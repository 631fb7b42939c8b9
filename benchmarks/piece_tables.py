"""Memory of the tables of pieces in the engine without torch, at the size of an OPUS-MT model.

    python benchmarks/piece_tables.py [--pieces 58000] [--scored 32000] [--json FILE]

Both sides have the same made-up pieces, a part of them with scores in each, and the rules of nmt_nfkc, which
SentencePiece normalises by. They are written as an export has them, and opened in a process of their
own; memory is resident.
"""

import io
import json
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from program import count, options, save

LETTERS = "abcdefghijklmnopqrstuvwxyzäöüß"


PROGRAM = """import gc, json, random, re, sys, time
from pathlib import Path
from regard.runtime import translator
memory = lambda name: int(re.search(f"{name}:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
before = memory("VmRSS")
source, target = translator._tables(*map(Path, sys.argv[1:]))
gc.collect()
found = {"kept, MB": memory("VmRSS") - before, "at most, MB": memory("VmHWM") - before}
draw = random.Random(2)
word = lambda: "".join(draw.choices("abcdefghijklmnopqrstuvwxyzé", k=draw.randint(2, 9)))
texts = [" ".join(word() for _ in range(12)) for _ in range(300)]
began = time.process_time()
for text in texts:
    source.encode(text)
print(json.dumps({**found, "ms a text": 1000 * (time.process_time() - began) / len(texts)}))
"""


def table(given: Any, seed: int) -> dict[str, Any]:
    """A file of pieces."""
    import sentencepiece

    from regard.exchange.graphs.formats import pieces_of
    from regard.text.sentencepiece import PieceList, SentencePieceTokenizer

    draw, written = random.Random(0), io.BytesIO()
    texts = [" ".join("".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(12)) for _ in range(2000)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=written, vocab_size=600, minloglevel=2
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    names = [model.id_to_piece(number) for number in range(len(model))]
    listed = PieceList.of(["<pad>", *names], [0, 0, names.index("</s>") + 1, names.index("<unk>") + 1])
    kept = pieces_of(SentencePieceTokenizer(written.getvalue(), listed), "source")
    made = {f"\u2581{''.join(draw.choices(LETTERS, k=draw.randint(2, 10)))}" for _ in range(given.pieces)}
    pieces = [*kept["pieces"], *sorted(made - {*kept["pieces"]})]
    scored = random.Random(seed).sample(pieces[4:], min(given.scored, len(pieces) - 4))
    return {**kept, "pieces": pieces, "scores": {piece: -15 * draw.random() for piece in scored}}


def main() -> None:
    """Print megabytes, and milliseconds to cut a text of new words."""
    parser = options(__doc__)
    parser.add_argument("--pieces", type=count, default=58_000)
    parser.add_argument("--scored", type=count, default=32_000, help="pieces of a side that have scores")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{side}_pieces.json" for side in ("source", "target")]
        for seed, file in enumerate(files):
            file.write_text(json.dumps(table(given, seed), ensure_ascii=False), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", PROGRAM, *files], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    print(found)
    save(given.json, found)


if __name__ == "__main__":
    main()
