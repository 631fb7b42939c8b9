"""What the README tells people to type works."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.app import app

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.zh-CN.md", "docs/quickstart.md", "docs/quickstart.zh-CN.md")  # whose commands run
GUIDES = ("docs/how-to/attention.md", "docs/how-to/python.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAIRS = [("Good morning!", "Guten Morgen!"), ("The old man reads a book.", "Der alte Mann liest ein Buch.")] * 30
SMALL = [
    "training.max_updates=2",
    "training.validate_every=1",
    "training.average=1",
    "model.dim=16",
    "model.encoder.num_layers=1",
    "model.decoder.num_layers=1",
    "text.tokenizer.size=300",
]


def blocks(language: str, files: tuple[str, ...] = READMES) -> list[tuple[str, str]]:
    return [
        (name, text)
        for name in files
        for kind, text in BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))
        if kind == language
    ]


def commands() -> list[str]:
    lines = [line.split("  #")[0].strip() for _, text in blocks("bash") for line in text.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with the names the README uses."""
    place = tmp_path_factory.mktemp("readme")
    for name in ("{part}.en", "{part}.de", "{part}.es"):
        text = "".join(f"{pair['.en' not in name]}\n" for pair in PAIRS).encode()
        for part in ("train", "val", "dev", "test", "test2016"):
            path = place / name.format(part=part)
            path.write_bytes(text)
    return place


def test_the_commands_for_make_are_targets():
    wanted = [line.split()[1] for line in commands() if line.startswith("make ")]
    assert wanted[:2] == ["demo", "test"]
    for target in wanted:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def test_every_regard_command_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    told = [line for line in commands() if not line.startswith("make ")]
    assert len(told) >= 4
    for line in told:
        given, _, command = line.rpartition("|")
        words = shlex.split(command)
        assert words[0] == "regard", line
        words = [word for word in words[1:] if not word.startswith("training.max_minutes")]
        small = SMALL if words[0] == "train" else []
        text = shlex.split(given)[1] + "\n" if given else None
        done = CliRunner().invoke(app, [*words, *small], input=text)
        assert done.exit_code == 0, (line, done.stderr)
        assert done.stdout or words[0] == "train", line


def test_every_python_block_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for name, text in blocks("python"):
        exec(compile(text, name, "exec"), {})
        assert capsys.readouterr().out.strip()


def test_every_python_block_of_a_guide_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    told = blocks("python", GUIDES)
    assert told
    for name, text in told:
        exec(compile(text, name, "exec"), {})
        out = capsys.readouterr().out.strip()
        assert out and "False" not in out


def test_the_tree_names_folders_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = next(block for kind, block in BLOCK.findall(text) if kind == "text" and block.startswith("regard/"))
    inside = re.findall(r"^  ?((?:\w+/ *)+)", tree, re.MULTILINE)
    found = {word.strip("/") for line in inside for word in line.split()}
    assert found == {path.name for path in (ROOT / "regard").iterdir() if path.is_dir() and path.name != "__pycache__"}
