"""What docs/how-to/classify.md tells people to type is understood, and the configs that it names are all there are."""

import re
import shlex
from pathlib import Path

import pytest

from regard.reports.compare.plan import Budget, contenders_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/how-to/classify.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^regard compare (.+)$", PAGE, re.MULTILINE)
COUNTS = {"model.pooling": 4, "model.position": 2, "model": 7, "model.encoder.cell": 3, "model.self_attention.span": 2}


@pytest.fixture
def table(tmp_path):
    rows = [f"{number}\t{number % 2}\t0\tgood text {number}\n" for number in range(40)]
    (tmp_path / "a.tsv").write_text("".join(rows))
    return tmp_path / "a.tsv"


@pytest.mark.parametrize("command", [one for one in COMMANDS if "--grid" in one], ids=lambda one: one.split()[0])
def test_grids_of_the_page_are_understood(command, table):
    words = shlex.split(command)
    config = ROOT / next(word for word in words if word.endswith(".yaml"))
    grid = words[words.index("--grid") + 1]
    data = [f"data.{part}={{name: tsv, file: '{table}', fields: {{label: 2, text: 4}}}}" for part in ("train", "dev")]
    given = ["data.folds=null"] if "folds:" in config.read_text(encoding="utf-8") else []
    found = contenders_of([config], [*data, *given, f"data.test={data[0].partition('=')[2]}"], [grid], Budget())
    assert len({one.name for one in found}) == COUNTS[grid.partition("=")[0]]


def test_configs_that_the_page_names_are_there():
    rows = re.findall(r"^\| (`.+?`) \|", PAGE, re.MULTILINE)
    named = {name for names in rows for name in re.findall(r"`(.+?)`", names)}
    named |= {Path(path).stem for path in re.findall(r"configs/classification/(\S+?\.yaml)", PAGE)}
    assert len(named) > 10
    assert named <= {path.stem for path in (ROOT / "configs/classification").glob("*.yaml")}
