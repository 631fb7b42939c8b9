"""The example of CONTRIBUTING.md, done word for word in a copy of the project, passes every contract test."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COPIED = ("regard", "tests", "configs", "docs")
TABLE, CONFIG = "regard/attention/scores/__init__.py", "configs/translation/{}.yaml"
TESTS = (
    "tests/contracts/test_attention_contract.py",
    "tests/attention/scores/test_manhattan.py",
    "tests/test_configs.py",
)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if kind == language]


def laid(base: dict[str, object], changes: dict[str, object]) -> dict[str, object]:
    inner = {name: laid(base[name], value) for name, value in changes.items() if isinstance(base.get(name), dict)}
    return base | changes | inner


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the example in it."""
    copy = tmp_path_factory.mktemp("project")
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name)  # with its byte code, which is that of the same texts
    shutil.copy(ROOT / "pyproject.toml", copy)
    part, imported, row, test = blocks("python")
    (copy / "regard/attention/scores/manhattan.py").write_text(part, encoding="utf-8")
    (copy / "tests/attention/scores/test_manhattan.py").write_text(test, encoding="utf-8")
    table = (copy / TABLE).read_text(encoding="utf-8")
    last_import, last_row = "from regard.registry import Registry\n", "    },\n)"
    assert table.count(last_import) == table.count(last_row) == 1
    table = table.replace(last_import, imported + last_import).replace(last_row, row + last_row)
    (copy / TABLE).write_text(table, encoding="utf-8")
    base = yaml.safe_load((copy / CONFIG.format("multi30k-transformer")).read_text(encoding="utf-8"))
    (changes,) = blocks("yaml")
    config = yaml.safe_dump(laid(base, yaml.safe_load(changes)))
    (copy / CONFIG.format("multi30k-manhattan")).write_text(config, encoding="utf-8")
    return copy


def python(project: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(project)}
    done = subprocess.run(
        [sys.executable, *words], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def test_the_example_passes_the_contract_tests(project):
    told = python(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "manhattan", *TESTS)
    passed = re.search(r"(\d+) passed", told)
    assert passed and int(passed[1]) > 40, told


def test_the_example_is_described_and_listed(project):
    assert "Factor of the distance." in python(project, "-m", "regard", "help", "model.attention.score.sharpness")
    listed = python(project, "-m", "regard", "list", "manhattan")
    assert "also l1, city_block" in listed and "sharpness: float > 0 = 1.0" in listed
