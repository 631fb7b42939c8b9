"""Parts in a Python file outside the package: named by the user, found by every command, never imported unasked."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from doc_blocks import blocks
from small_runs import PAIRS, SMALL, write_texts
from typer.testing import CliRunner, Result

import regard
from regard.attention import SCORES
from regard.attention.recipes import RECIPES
from regard.cli.app import app
from regard.errors import ConfigError
from regard.experiment import add_parts, load_parts
from regard.experiment.names import index_names, look_up

PAGE = Path(__file__).parents[2] / "docs/how-to/own-parts.md"
(OWN,) = [block.text for block in blocks(PAGE) if block.language == "python"]
MODULES = "regard_parts:"  # before the files of parts that are imported
USES = [*SMALL, "parts=my_parts.py", "model.attention.score={name: manhattan, sharpness: 2}"]


@contextmanager
def own_tables() -> Iterator[None]:
    """Tables as those of a process of its own: what is added to them is gone in the end."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_parts", "_added", "_settings", "_models", "_groups"):
            patch.setattr(SCORES, name, getattr(SCORES, name).copy())
        yield
    for name in {one for one in sys.modules if one.startswith(MODULES)} - before:
        del sys.modules[name]
    RECIPES.index()
    index_names()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where commands run; the tables are as before in the end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_parts.py").write_text(OWN, encoding="utf-8")
    with own_tables():
        yield tmp_path


def command(*words: object) -> Result:
    """Run a command, with tables that have no parts yet."""
    with own_tables():
        return CliRunner().invoke(app, [str(word) for word in words])


def fault(code: str) -> str:
    Path("wrong.py").write_text(code, encoding="utf-8")
    with pytest.raises(ConfigError) as found:
        load_parts([Path("wrong.py")])
    return str(found.value)


def test_a_run_with_a_part_of_a_file_trains_and_answers_where_the_file_is_named(folder):
    sides = write_texts(folder)
    done = command("train", *sides, *USES, "--run", "own")
    assert done.exit_code == 0, done.stderr
    assert "parts of your own: score manhattan" in done.stderr
    hint = next(line for line in done.stderr.splitlines() if line.startswith("translate with:"))
    assert f"regard predict own parts={folder / 'my_parts.py'} " in hint

    unnamed = command("predict", "own", PAIRS[0][0])
    assert unnamed.exit_code == 2
    assert unnamed.stderr == (
        f"error: parts: this run needs {folder / 'my_parts.py'}, a Python file that is not imported unless you name it "
        f"(parts={folder / 'my_parts.py'}, or REGARD_PARTS={folder / 'my_parts.py'} in the environment)\n"
    )
    assert command("predict", "own", "parts=my_parts.py", PAIRS[0][0]).exit_code == 0
    words = [sys.executable, "-m", "regard", "explain", "own", PAIRS[0][0]]
    subprocess.run(words, env={**os.environ, "REGARD_PARTS": "my_parts.py"}, capture_output=True, check=True)

    Path("my_parts.py").rename("moved.py")
    gone = command("predict", "own", PAIRS[0][0])
    assert f"needs {folder / 'my_parts.py'}, and the file is not there (parts=FILE names another)" in gone.stderr
    assert command("predict", "own", "parts=moved.py", PAIRS[0][0]).exit_code == 0


def test_a_run_of_another_does_not_run_its_code(folder):
    sides = write_texts(folder)
    assert command("train", *sides, *SMALL, "--run", "other").exit_code == 0
    Path("evil.py").write_text("open('harmed', 'w')\nPARTS = {}\n", encoding="utf-8")
    settings, manifest = Path("other/experiment.yaml"), Path("other/manifest.json")
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("parts: []", f"parts: [{folder / 'evil.py'}]"), encoding="utf-8")
    assert settings.read_text(encoding="utf-8") != text
    manifest.unlink()  # as another could have made one
    assert command("predict", "other", PAIRS[0][0]).exit_code == 0
    assert not Path("harmed").exists()


def test_a_part_has_a_place_in_lists_and_help():
    load_parts([Path("my_parts.py")])
    listed = CliRunner().invoke(app, ["list", "score"]).stdout
    assert "manhattan          -sharpness · sum_f |query_f - key_f|." in listed
    assert "sharpness: float > 0 = 1.0" in listed
    helped = CliRunner().invoke(app, ["help", "model.attention.score.sharpness"]).stdout
    assert "Factor of the distance." in helped


def test_names_of_a_part_are_found_once_it_is_added():
    assert look_up("city_block") == []
    assert load_parts([Path("my_parts.py")]) == ["score manhattan"]
    assert load_parts([Path("my_parts.py")]) == []
    assert [one.part for one in look_up("City-block attention")] == ["manhattan"]
    assert RECIPES.resolve("city_block") == {"score": "manhattan"}


def test_a_part_that_is_added_again_replaces_itself():
    class First(SCORES["uniform"]):
        """One."""

    class Second(SCORES["uniform"]):
        """Two."""

    for one in (First, Second):
        regard.add_parts({"score": {"mine": one}})
    assert SCORES["mine"] is Second
    with pytest.raises(ConfigError, match=r"^score.uniform: there is a 'uniform' already \(choose another name\)$"):
        add_parts({"score": {"uniform": First}})
    with pytest.raises(ConfigError, match=r"^score.gaussian: 'gaussian' is a name of 'euclidean' already"):
        add_parts({"score": {"gaussian": First}})


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("x = 1", "parts: '{path}' has no table of parts (it ends with PARTS = "),
        ("import torch\n1 / 0", "parts: {path}:2: ZeroDivisionError: division by zero"),
        ("PARTS = {'scor': {}}", "wrong.py: scor: is not a kind of part (did you mean 'score'?)"),
        (
            "def f(a, b, *, c=1): ...\nPARTS = {'score': {'f': f}}",
            "wrong.py: score.f: 'f' has a setting without a type: c",
        ),
    ],
)
def test_a_wrong_file_is_one_line(folder, code, line):
    found = fault(code)
    assert found.startswith(line.format(path=folder / "wrong.py"))
    assert "\n" not in found


def test_a_refused_file_adds_nothing_and_is_refused_again(folder):
    good = "class Mine:\n    def __init__(self, query_dim, key_dim, *, warmth: float = 1.0) -> None: ..."
    Path("mine.py").write_text(f"{good}\nPARTS = {{'score': {{'mine': Mine}}}}", encoding="utf-8")
    assert load_parts([Path("mine.py")]) == ["score mine"]
    mine = SCORES["mine"]
    bad = "PARTS = {'score': {'new': Mine, 'mine': lambda a, b, *, c=1: a}}"
    Path("other.py").write_text(f"{good}\n{bad}", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"^other.py: score.mine: 'mine' has a setting without a type: c"):
            load_parts([Path("other.py")])
        assert SCORES["mine"] is mine and list(SCORES.settings("mine")) == ["warmth"]
        assert "new" not in SCORES
    Path("other.py").write_text(f"{good}\nPARTS = {{'score': {{'new': Mine}}}}", encoding="utf-8")
    assert load_parts([Path("other.py")]) == ["score new"]


def test_a_missing_file_is_one_line(folder):
    with pytest.raises(ConfigError, match=r"^parts: there is no Python file '"):
        load_parts([Path("absent.py")])
