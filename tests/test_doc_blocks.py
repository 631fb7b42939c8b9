"""Every fenced command and every Python block of the pages runs on small data, or is read by the real command line."""

import re
import shutil
from pathlib import Path

import pytest
from doc_blocks import (
    SHELL,
    Block,
    blocks,
    check_command,
    check_python,
    lines,
    pages,
    regard_commands,
    run_line,
    unmatched,
)
from small_runs import regard
from typer._click.exceptions import ClickException

from regard.errors import ConfigError

SMALL = (
    "model.dim=16",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "text.tokenizer.size=300",
)
UPDATES = "training.max_updates=2", "training.validate_every=1", "training.average=1", "--quiet"
POOLING = ("model.pooling=attention",)
NOT_RUN = {  # commands that are read and not run, by what they say: the reason
    r"regard serve|--serve|curl |kill -HUP": "a server, or a question to one: tests/serve",
    r"regard data get|urlopen|LibreTranslateAPI": "asks another machine",
    r"^(make|git|pip|cd|\.|python3? -[mc]|docker|sudo|sbatch|chmod|mv|cat /proc|torchrun)\b": "sets up a machine",
    r"^\. ": "sets up a machine",
    r"^python benchmarks/": "minutes: tests/test_benchmarks.py",
    r"regard (best|distil|import|export|forecast|compare|demo|pretrain-finetune)\b": "minutes: tests/recipes",
    r"--grade|bytenet": "a minute and more: tests/explain, tests/decoders",
    r"configs/|\w+\.yaml|to-many|babi|runs/(ud|sick|questions)": "of a data set: tests/test_configs.py trains it",
    r"\.parquet|news\.en\.gz": "bulk files: tests/runs",
    r"decoding\.tuned|--abstain": "two updates leave nothing to tune or to calibrate: tests/predictor",
    r"runs/de-en-texts|runs/masked|runs/causal|documents\.txt": "a run or a corpus of documents: tests/tasks",
    r"--text-(source|target)": "rounds of back-translation: tests/recipes",
    r"--taught|corrections\.jsonl": "needs words that a trained model writes: tests/explain",
    r"--plot words\.svg": "words that two updates have not learnt: tests/explain, tests/reports",
    r"--text \S+ --text|-start/": "minutes: tests/recipes trains without pairs",
    r"\bFILE\b": "names no file",
    r"reviews\.txt|runs/vectors run=": "a chain of pre-trainings: tests/runs",
    r"\bdiff\b": "compares two versions",
    r"tune runs/phrases .*runs/en-de": "as in docs/how-to/few-pairs.md",
    r"^regard dictionary|--column document": "vectors of two languages or of documents: tests/runs",
    r"parts=|REGARD_PARTS|^regard (list score|help manhattan)": "tables of this process: tests/experiment",
    r"--on (slurm|ray)": "needs a cluster: tests/runs",
    r"regard \S+ (RUN|CONFIG)\b": "names no file",
    r"bert-base|better\.jsonl|runs/bert\b": "a foreign model, or corrections of a reader",
    r"firefox|marian-student": "a foreign model, or a student that two updates do not make: tests/exchange",
}
OF_A_TRAINED_MODEL = (  # lines that two updates without a time limit cannot print
    r"^planned: |^max_minutes=|^still improving|^no better|^   Did you|^¿Dónde|^Ein Mann spielt"
    r"|^\s+\d Ein |^\s+(held|dropped) |^\d+ of \d+ translations|^line \d"
    r"|^  (Women|Frauen|A blond|Ein blonder)|^  (repeated|dropped): |^\$ echo"
)
ELSEWHERE = {"docs/tutorial.md": "tests/test_tutorial.py runs all of it, in turn"}
SLOW = [f"docs/how-to/{name}.md" for name in ("align", "architectures", "explain", "one-language", "tune")]
PAIRS = [("Good morning!", "Guten Morgen!"), ("The old man reads a book.", "Der alte Mann liest ein Buch.")]
WORDS = ("red", "black", "old", "small", "new", "green", "young", "tall")
SENTENCES = [f"the {one} man reads a {two} book {number}" for one in WORDS for two in WORDS for number in range(3)]
RUNS = {
    "en-de": "en-de en-de.new multi30k first a b c other large small",
    "en-es": "en-es quickstart",
    "de-en": "de-en",
    "reviews": "reviews",
}
ALL = [block for page in pages() for block in blocks(page) if block.language in (*SHELL, "python")]
DATA = ("train", "val", "dev", "test", "more", "news", "medicine", "a", "pairs", "questions", "captions")


def reason(command: str) -> str:
    """Why a command is not run, or nothing."""
    return next((why for said, why in NOT_RUN.items() if re.search(said, command)), "")


def stage(place: Path) -> None:
    """Files with the names of the pages."""
    for side, language in ((0, "en"), (1, "de"), (1, "es"), (1, "fr")):
        text = "".join(f"{line}\n" for line in [*(pair[side] for pair in PAIRS), *SENTENCES])
        for part in DATA:
            (place / f"{part}.{language}").write_text(text, encoding="utf-8")
    for name in (
        "texts.txt",
        "letter.txt",
        "novel.txt",
        "both.txt",
        "documents.txt",
        "texts.en",
        "secret.txt",
    ):
        (place / name).write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    words = "house man king woman good great"
    (place / "corpus.txt").write_text(f"{words}\n" * 50, encoding="utf-8")
    rows = "".join(f"{('positive', 'negative')[number % 2]}\t{line}\n" for number, line in enumerate(SENTENCES))
    for name in ("reviews.tsv", "new-reviews.tsv"):
        (place / name).write_text(rows, encoding="utf-8")
    (place / "terms.tsv").write_text("dog\tHund|Köter\nRegard\n", encoding="utf-8")
    (place / "begun.txt").write_text("\n" * len(SENTENCES), encoding="utf-8")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small runs, to be copied to the names of the pages."""
    place = tmp_path_factory.mktemp("runs")
    stage(place)
    for name in ("en-de", "en-es", "de-en"):
        source, target = name.split("-")
        sides = ["--source", place / f"train.{source}", "--target", place / f"train.{target}"]
        done = regard("train", *sides, *SMALL, *UPDATES, "--run", place / name)
        assert done.code == 0, done.said
    done = regard(
        "train", "--text", place / "reviews.tsv", *UPDATES, "model.dim=16", *POOLING, "--run", place / "reviews"
    )
    assert done.code == 0, done.said
    return place


@pytest.fixture
def folder(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    stage(tmp_path)
    for kind, names in RUNS.items():
        for name in names.split():
            shutil.copytree(runs / kind, tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PAGES = [
    pytest.param(page, marks=pytest.mark.slow) if page in SLOW else page for page in pages() if page not in ELSEWHERE
]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_the_page_shows(page, folder, capsys):
    names: dict[str, object] = {}
    printed = ""
    for block in blocks(page):
        if block.language == "text" and printed:
            shown = unmatched(printed, block.text)
            assert [line for line in shown if not re.search(OF_A_TRAINED_MODEL, line)] == [], printed
        ran = "".join(run(block, command, names, capsys) for command in to_run(block))
        printed = ran if block.language in SHELL else ""


def to_run(block: Block) -> list[str]:
    """The commands of a block that have no reason not to run."""
    if block.language not in (*SHELL, "python"):
        return []
    commands = [block.text] if block.language == "python" else lines(block)
    return [command for command in commands if not reason(command)]


def run(block: Block, command: str, names: dict[str, object], capsys) -> str:
    """What a command prints; a training takes the place of a run with its name."""
    for made in re.findall(r'\brun="(\S+)"', command):
        shutil.rmtree(made, ignore_errors=True)
    if block.language == "python":
        exec(compile(command, f"{block.page}:{block.number}", "exec"), names)
        out = capsys.readouterr().out
        assert "False" not in out, (block.page, out)
        return out
    for made in re.findall(r"^regard train .*?--run (\S+)", command):
        if "--resume" not in command:
            shutil.rmtree(made, ignore_errors=True)
    return run_line(command, SMALL)


@pytest.mark.parametrize("page", sorted({block.page for block in ALL}))
def test_blocks_are_read_by_the_real_command_line(page):
    for block in ALL:
        if block.page == page and block.language == "python":
            check_python(block.text)
        elif block.page == page:
            for words in (words for line in lines(block) for words in regard_commands(line)):
                check_command(words)


def test_most_blocks_run(record_property):
    """Blocks by whether all, some or none of their commands run; the reasons stand in `NOT_RUN`."""
    found = {"run": 0, "in part": 0, "read": 0}
    for block in ALL:
        commands = 1 if block.language == "python" else len(lines(block))
        done = 0 if block.page in ELSEWHERE else len(to_run(block))
        found["run" if done == commands else "in part" if done else "read"] += 1
    for name, number in found.items():
        record_property(name, number)
    assert found["run"] + found["in part"] > 60, found


@pytest.mark.parametrize(
    "command", ["train --sauce a", "train training.max_minuts=1", "predict RUN decoding.search.sise=2", "trian"]
)
def test_a_wrong_command_is_found(command):
    with pytest.raises((ConfigError, ClickException)):
        check_command(command.split())


def test_a_changed_output_is_found():
    printed = "BLEU = 3.25 [1.5, 4] (nrefs:1)\n  a ← b 20%\nwrote page.html\n"
    assert unmatched(printed, "BLEU = 20.03 [18.51, 21.57] …\n…\nwrote page.html\n  x ← y 51%, z 4%") == []
    assert unmatched(printed, "BLUE = 20.03 …\nwrote a page") == ["BLUE = 20.03 …", "wrote a page"]
