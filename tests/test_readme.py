"""Targets and folders that the README and CONTRIBUTING name exist; test_doc_blocks.py runs the commands."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.zh-CN.md", "docs/quickstart.md", "docs/quickstart.zh-CN.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


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


def test_the_commands_for_make_are_targets():
    wanted = [line.split()[1] for line in commands() if line.startswith("make ")]
    assert wanted[:2] == ["demo", "test"]
    for target in wanted:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def test_the_tree_names_folders_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = next(block for kind, block in BLOCK.findall(text) if kind == "text" and block.startswith("regard/"))
    inside = re.findall(r"^  ?((?:\w+/ *)+)", tree, re.MULTILINE)
    found = {word.strip("/") for line in inside for word in line.split()}
    assert found == {path.name for path in (ROOT / "regard").iterdir() if path.is_dir() and path.name != "__pycache__"}
