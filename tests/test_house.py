"""The rules of the house that no linter knows."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple

import pytest

import regard

ROOT = Path(__file__).parents[1]
CODE = sorted(path for folder in ("regard", "tests", "benchmarks", "website") for path in (ROOT / folder).rglob("*.py"))
PACKAGE = [path for path in CODE if path.is_relative_to(ROOT / "regard")]
MAX_LINES, MAX_FUNCTION_LINES = 400, 50
MAX_HELP_SECONDS = 0.5

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
DEAF_IGNORE = re.compile(
    r"#\s*(type:\s*ignore|noqa)(\[[\w\s,-]+\]|:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*)?\s*$", re.MULTILINE
)
UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
UNSAFE_CALLS = {
    "eval",
    "exec",
    "torch.load",
    "torch.save",
    "torch.export.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "os.system",
}
MACHINE_PATH = re.compile(r"(?<![\w.~}:/-])/(home|root|work|Users|opt|mnt)/\w+")
TEXTS = [path for kind in ("*.md", "*.toml", "*.yaml", "*.txt", "Makefile") for path in ROOT.glob(kind)]
TEXTS += [
    path for folder in ("configs", "docs") for path in (ROOT / folder).rglob("*.*") if path.suffix in (".md", ".yaml")
]
OTHER_WORDS = {"src", "trg", "tgt", "pad_mask", "key_padding_mask", "energies", "alphas", "glimpse", "memory_bank"}
OTHER_WORDS |= {
    "d_model",
    "n_layer",
    "n_layers",
    "nhead",
    "model_dir",
    "ckpt",
    "save_dir",
}  # we have one word per thing


def offenders(paths: list[Path], look: Callable[[str], object]) -> dict[str, object]:
    """What `look` finds in the text of each file, where it finds anything."""
    found = {path.relative_to(ROOT).as_posix(): look(path.read_text("utf-8")) for path in paths}
    return {name: what for name, what in found.items() if what}


class Facts(NamedTuple):
    """What a file defines and uses."""

    functions: list[tuple[str, int]]  # name and lines
    names: set[str]  # of arguments, and of what is assigned
    modules: set[str]  # imported
    called: set[str]
    docstring: str | None


@cache
def facts(text: str) -> Facts:
    found = Facts([], set(), set(), set(), ast.get_docstring(tree := ast.parse(text)))
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.functions.append((node.name, node.end_lineno - node.lineno + 1))
            case ast.arg(name) | ast.Name(name, ast.Store()):
                found.names.add(name)
            case ast.Import(names):
                found.modules.update(alias.name for alias in names)
            case ast.ImportFrom(module):
                found.modules.add(module or "")
            case ast.Call(ast.Name(name)):
                found.called.add(name)
            case ast.Call(ast.Attribute(ast.Name(owner), name), _, keywords):
                safe = any(one.arg == "weights_only" and ast.unparse(one.value) == "True" for one in keywords)
                found.called.add(f"{owner}.{name}{' of weights only' * safe}")
            case ast.Call(ast.Attribute(ast.Attribute(ast.Name(owner), module), name)):
                found.called.add(f"{owner}.{module}.{name}")
    return found


def test_files_are_small():
    assert offenders(CODE, lambda text: max(0, text.count("\n") - MAX_LINES)) == {}


def test_nothing_of_the_package_is_hidden_from_a_clone():
    """A rule meant for what training writes must not hide a folder of the same name."""
    found = subprocess.run(
        ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "regard", "tests", "configs"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert [name for name in found if "__pycache__" not in name] == []


def test_functions_are_short():
    def long(text: str) -> list[tuple[str, int]]:
        return [(name, size) for name, size in facts(text).functions if size > MAX_FUNCTION_LINES]

    assert offenders(CODE, long) == {}


def test_nothing_is_left_unfinished():
    assert offenders([path for path in CODE if path != Path(__file__)], UNFINISHED.findall) == {}


def test_an_ignored_rule_has_its_reason_beside_it():
    assert offenders(CODE, lambda text: [found.group() for found in DEAF_IGNORE.finditer(text)]) == {}


def test_no_path_of_one_machine():
    assert offenders([*CODE, *TEXTS], lambda text: [found.group() for found in MACHINE_PATH.finditer(text)]) == {}


def test_one_word_per_thing():
    assert offenders(PACKAGE, lambda text: facts(text).names & OTHER_WORDS) == {}


def test_nothing_on_disk_is_run():
    def unsafe(text: str) -> set[str]:
        modules = {module.partition(".")[0] for module in facts(text).modules}
        return modules & UNSAFE_MODULES | facts(text).called & UNSAFE_CALLS

    # it stands in exports; no engine opens graphs of torch with it
    script = "regard/predictor/engines/translator.py"
    assert offenders(PACKAGE, unsafe) == {script: {"torch.export.load"}}


def test_every_module_says_what_it_is_for():
    assert offenders(PACKAGE, lambda text: text.strip() and not facts(text).docstring) == {}


def test_public_names():
    import_module("regard.errors")  # once it is loaded, a module is an attribute of the package
    assert [name for name in dir(regard) if not name.startswith("_")] == regard.__all__
    assert regard.__all__ == sorted(regard.__all__)
    for name in regard.__all__:
        assert getattr(regard, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'regard' has no attribute 'lod'"):
        getattr(regard, "lod")  # noqa: B009  the point is that it is not there


@pytest.mark.parametrize("command", [["-c", "import regard"], ["-m", "regard", "--help"]], ids=["import", "help"])
def test_torch_is_not_loaded_for(command):
    probe = (
        "import runpy, sys; sys.argv = ['regard', '--help']\ntry: runpy.run_module('regard')\nexcept SystemExit: pass"
    )
    code = command[1] if command[0] == "-c" else probe
    heavy = f"{code}\nimport sys; print(sorted({{'torch', 'numpy', 'sacrebleu'}} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_help_is_quick():
    def seconds() -> float:  # of the processor, which other work on the machine does not change
        before = os.times()
        subprocess.run([sys.executable, "-m", "regard", "--help"], capture_output=True, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(3)) < MAX_HELP_SECONDS


STEP = 100
LINES = {  # of each folder, with 60 to 160 lines of room: changes touch the rows of their own folders, and seldom
    "benchmarks": 10_660,
    "regard": 1_300,
    "regard/answers": 1_300,
    "regard/attention": 3_800,
    "regard/augmentations": 400,
    "regard/cli": 4_050,
    "regard/config": 1_500,
    "regard/data": 6_610,
    "regard/decoders": 1_000,
    "regard/decoding": 2_600,
    "regard/documents": 4_600,
    "regard/encoders": 900,
    "regard/evaluation": 2_200,
    "regard/exchange": 4_850,
    "regard/experiment": 3_500,
    "regard/explain": 3_300,
    "regard/heads": 600,
    "regard/layers": 4_900,
    "regard/memory": 1_010,
    "regard/models": 5_300,
    "regard/objectives": 2_300,
    "regard/ops": 2_000,
    "regard/predictor": 3_700,
    "regard/recipes": 6_850,
    "regard/reports": 10_200,
    "regard/results": 700,
    "regard/runs": 3_700,
    "regard/runtime": 1_400,
    "regard/serve": 9_300,
    "regard/statistical": 4_500,
    "regard/tasks": 4_000,
    "regard/text": 2_900,
    "regard/training": 2_950,
    "tests": 4_700,
    "tests/answers": 200,
    "tests/attention": 4_200,
    "tests/augmentations": 500,
    "tests/cli": 4_560,
    "tests/config": 900,
    "tests/contracts": 2_000,
    "tests/data": 3_850,
    "tests/decoders": 2_000,
    "tests/decoding": 1_900,
    "tests/documents": 2_700,
    "tests/encoders": 700,
    "tests/evaluation": 1_700,
    "tests/exchange": 1_950,
    "tests/experiment": 1_600,
    "tests/explain": 3_900,
    "tests/heads": 700,
    "tests/helpers": 4_100,
    "tests/layers": 4_210,
    "tests/learn": 700,
    "tests/memory": 450,
    "tests/models": 3_250,
    "tests/objectives": 2_100,
    "tests/ops": 1_000,
    "tests/predictor": 1_450,
    "tests/recipes": 2_910,
    "tests/reports": 4_300,
    "tests/runs": 5_100,
    "tests/runtime": 1_000,
    "tests/serve": 11_100,
    "tests/statistical": 2_300,
    "tests/tasks": 3_650,
    "tests/text": 1_400,
    "tests/training": 3_650,
    "website": 700,
}
BOUNDS = {  # as measured; all may only fall
    "modules with one importer": 19,
    "public names in several modules": 15,
    "pairs of files with a repeated run": 46,
    "public members of Task": 20,
}


def test_each_folder_keeps_its_lines():
    """A row grows with abilities alone; where a folder shrinks by more than a step, its row follows."""
    measured: Counter[str] = Counter()
    for path in CODE:
        measured["/".join(path.relative_to(ROOT).parent.parts[:2])] += path.read_text("utf-8").count("\n")
    folders = sorted({*measured, *LINES})
    wrong = [name for name in folders if not 0 <= LINES.get(name, 0) - measured[name] < 3 * STEP]
    assert {name: (measured[name], LINES.get(name, 0)) for name in wrong} == {}  # lines, and their bound


def test_the_house_does_not_grow_more_rooms():
    """`python tests/house_counts.py --list` prints what is counted."""
    spec = spec_from_file_location("house_counts", ROOT / "tests" / "house_counts.py")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(house := module_from_spec(spec))
    from regard.tasks import Task

    found = house.counts(ROOT / "regard")
    measured = {
        "modules with one importer": len(found.single),
        "public names in several modules": len(found.names),
        "pairs of files with a repeated run": len(found.repeated),
        "public members of Task": len(house.public_members(Task)),
    }
    assert {name: count for name, count in measured.items() if count > BOUNDS[name]} == {}
