"""The table of docs/how-to/kinds-of-run.md: each command runs on each kind of run, or is refused with a reason."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from best_texts import SHORT, write_parts
from small_runs import regard

from regard.experiment import ConsensusSettings, RerankSettings
from regard.recipes.best.workshop import copied_run
from regard.runs import Run

PAGE = Path(__file__).parents[1] / "docs/how-to/kinds-of-run.md"
KINDS = ("network", "phrases", "phrases + network", "consensus", "networks together")
QUICK = ["training.max_updates=2", "training.validate_every=2"]
LESSON = [*QUICK, "data.old.metric=loss", "data.old.tolerance=50"]
COMMANDS = {  # first cell of a row, and the words that it stands for
    "`regard predict`, `serve` and `evaluate`": "evaluate RUN --source dev.en --target dev.de",
    "`regard predict --glossary terms.tsv`": "predict RUN -i dev.en --glossary terms.tsv",
    "`regard predict --prefix begun.txt`": "predict RUN -i dev.en --prefix dev.de",
    "`regard explain`: attention or aligned words": "explain RUN 'a dog runs'",
    "`regard explain --method occlusion`: relevance": "explain RUN dog --method occlusion",
    "`regard heads`": "heads RUN --lines 2",
    "`regard calibrate`": "calibrate RUN --lines 10",
    "`regard tune`": "tune RUN --lines 2 --n-best 2",
    "`regard teach`": "teach RUN better.tsv -o taught",
    "`regard train --from`": "train --from RUN --source train.en --target train.de --run further --quiet",
    "`regard export --to runtime`": "export RUN --to runtime -o exported --lines 0",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of each kind, by its name on the page, as `regard best` makes them."""
    folder = write_parts(tmp_path_factory.mktemp("kinds"))
    (folder / "terms.tsv").write_text("dog\tHund\n", encoding="utf-8")
    sides = [(folder / f"more.{code}").read_text("utf-8").splitlines()[:12] for code in ("en", "de")]
    (folder / "better.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(*sides, strict=True)), encoding="utf-8")
    texts = ["--source", "train.en", "--target", "train.de", "--dev-source", "dev.en", "--dev-target", "dev.de"]
    words = [folder / word if "." in word else word for word in texts]
    for name, changes in {
        "network": SHORT,
        "other": [*SHORT, f"init.run={folder / 'network'}"],
        "phrases": ["task=phrases", "task.rounds=1"],
    }.items():
        done = regard("train", *words, *changes, "--run", folder / name, "--quiet")
        assert done.code == 0, done.said
    first, phrases = ((folder / name, Run.open(folder / name).experiment.decoding) for name in ("network", "phrases"))
    copied_run(first[0], folder / "networks together", replace(first[1], ensemble=(folder / "other",)))
    rerank = RerankSettings(folder / "network", 0.5, 0.1, 10)
    copied_run(phrases[0], folder / "phrases + network", replace(phrases[1], rerank=rerank))
    consensus = ConsensusSettings((folder / "phrases",), n_best=5)
    copied_run(first[0], folder / "consensus", replace(first[1], consensus=consensus))
    return folder


def rows():
    text = PAGE.read_text(encoding="utf-8")
    return [line.strip("| ").split(" | ") for line in text.splitlines() if re.search(r"\| (yes|no) \|$", line)]


def test_every_row_has_a_command_and_every_kind_a_column():
    assert [row[0] for row in rows()] == [*COMMANDS]
    assert f"| | {' | '.join(KINDS)} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0].strip("`"))
def test_each_kind_does_what_the_table_says(row, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(runs)
    for kind, cell in zip(KINDS, row[1:], strict=True):
        words = [runs / kind if word == "RUN" else word.strip("'") for word in _split(COMMANDS[row[0]])]
        words = [tmp_path / f"{kind} made" if word in ("taught", "further", "exported") else word for word in words]
        changes = {"teach": LESSON, "train": QUICK}.get(str(words[0]), [])
        done = regard(*words, *changes)
        assert (done.code == 0) is (cell == "yes"), (kind, done.said)
        assert done.code == 0 or (done.code == 2 and len(re.findall("^error: ", done.said, re.MULTILINE)) == 1), (
            done.said
        )


def _split(line):
    return re.findall(r"'[^']*'|\S+", line)
