"""The commands of the tutorial work in turn on a tiny corpus; both languages show the same commands and outputs."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from doc_blocks import without
from typer.testing import CliRunner

from regard.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = ("docs/tutorial.md", "docs/tutorial.zh-CN.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORDS = ("red", "black", "old", "small", "new", "green", "young", "tall")
THINGS = ("dog", "car", "house", "book", "cat", "man", "tree", "door")
SMALL = ["training.max_updates=2", "training.validate_every=1", "training.average=1"]
MODEL = [
    "model.dim=16",
    "model.encoder.num_layers=1",
    "model.decoder.num_layers=1",
    "text.tokenizer.size=300",
]


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files with the names of the tutorial: more than the thousand pairs that it puts aside."""
    subjects = ("I", "you", "we", "they")
    for name, end in (("pairs", "."), ("questions", "?")):
        lines = [
            f"{who} see the {word} {thing} number {number}{end}\n"
            for number in range(5)
            for who in subjects
            for word in WORDS
            for thing in THINGS
        ]
        for language, see in (("en", "see"), ("es", "ven")):
            text = "".join(lines).replace("see", see)
            (tmp_path / f"{name}.{language}").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> str:
    """What a command of the page prints; regard runs in this process, all else in a shell."""
    words = shlex.split(line)
    if words[0] != "regard":
        return subprocess.run(["bash", "-c", line], check=True, capture_output=True, text=True).stdout
    text = None
    if "<" in words:
        place = words.index("<")
        text = Path(words[place + 1]).read_text(encoding="utf-8")
        del words[place : place + 2]
    words = [word for word in without(words[1:], "--minutes") if not word.startswith("training.validate_every")]
    if words[0] == "train":
        new = "--resume" not in words
        words += [*SMALL, *(MODEL if new and "--from" not in words else [])] if new else ["training.max_updates=3"]
    done = CliRunner().invoke(app, words, input=text)
    assert done.exit_code == 0, (line, done.stderr)
    return done.stdout or done.stderr


def test_every_command_of_the_tutorial_runs(folder):
    commands = [line for kind, text in blocks(PAGES[0]) if kind == "bash" for line in text.splitlines()]
    told = {line: run(line) for line in commands}
    assert [words[1] for words in map(str.split, commands) if words[0] == "regard"] == [
        "train", "train", "predict", "evaluate", "explain", "train", "evaluate",
    ]  # fmt: skip
    assert len((folder / "test.en").read_text().splitlines()) == 1000
    assert (folder / "page.html").stat().st_size > 10_000
    assert "BLEU = " in told["regard evaluate runs/en-es --source test.en --target test.es"]
    assert "p = " in told[commands[-1]]


def test_both_languages_show_the_same_commands_and_outputs():
    first, second = ([(kind, re.sub(r" *#.*", "", text)) for kind, text in blocks(page)] for page in PAGES)
    assert first == second
