"""A corpus is built and read with far less memory than it has text."""

import subprocess
import sys
import textwrap

import pytest

PAIRS, WORDS = 120_000, 100
ALLOWED = 64  # MB of new memory, less than a third of the corpus: what is mapped from files does not count
PROGRAM = textwrap.dedent(
    """
    import resource, sys
    from itertools import islice
    from pathlib import Path
    import numpy, torch
    from regard.data.batches import Batches
    from regard.data.corpus import Corpus
    from regard.data.readers import READERS
    from regard.registry import Choice
    from regard.text import train_tokenizer

    folder, allowed = Path(sys.argv[1]), int(sys.argv[2])
    tokenizer = train_tokenizer(Choice("words"), [f"word{number}" for number in range(1000)])
    files = {"source": str(folder / "a"), "target": str(folder / "b")}
    reader = READERS.build(Choice("parallel", {"files": files}), ("source", "target"))
    torch.set_num_threads(1)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    used = int(status["VmData"].split()[0]) * 1024  # what RLIMIT_DATA counts
    resource.setrlimit(resource.RLIMIT_DATA, (used + allowed * 2**20,) * 2)
    corpus = Corpus.open(reader, {"source": tokenizer, "target": tokenizer}, folder / "cache")
    batches = Batches(corpus, ("source", "target"), tokens=4096)
    seen = sum(len(batch.lines) for _, batch in islice(batches.stream(workers=2), 500))
    bytes_kept = sum(path.stat().st_size for path in (folder / "cache").rglob("*") if path.is_file())
    print(len(corpus), seen, bytes_kept)
    """
)


@pytest.mark.slow
def test_a_corpus_larger_than_memory_trains(tmp_path):
    lines = ["".join(f"word{(row * 7 + place * 31) % 1000} " for place in range(WORDS)) for row in range(1000)]
    for name in ("a", "b"):
        with (tmp_path / name).open("w") as file:
            for block in range(PAIRS // 1000):
                file.writelines(f"{line}{block}{name}\n" for line in lines)
    program = [sys.executable, "-c", PROGRAM, str(tmp_path), str(ALLOWED)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    count, seen, kept = map(int, done.stdout.split())
    assert count == PAIRS
    assert seen > 1000
    assert kept > 3 * ALLOWED * 2**20
