"""regard doctor tells what was measured, to people and to programs."""

import json

import pytest
import torch
from typer.testing import CliRunner

from regard.cli.app import app
from regard.ops import machine, timings
from regard.ops.timings import PRODUCT_KINDS, Timings


@pytest.fixture(autouse=True)
def measured(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("REGARD_PRODUCTS", "auto")
    kinds = {kind: {"torch": 1.0, "onednn": 0.5 if kind == "large" else 2.0} for kind in PRODUCT_KINDS}
    threads = torch.get_num_threads()
    monkeypatch.setattr(timings, "measure", lambda: Timings({threads: 1.0}, {threads: kinds}))
    machine.onednn_kinds.cache_clear()
    yield
    machine.onednn_kinds.cache_clear()


def test_people_read_lines():
    told = CliRunner().invoke(app, ["doctor"]).stdout
    assert "1024 x 256 x 256      1.000    0.500        - · onednn" in told
    assert "128 x 128 x 8192      1.000    2.000        - · torch" in told


def test_programs_read_json():
    told = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert [kind for kind, about in told["products"].items() if about["by"] == "onednn"] == ["large"]
    assert told["threads"]["best"] == torch.get_num_threads()


def test_measure_measures_anew(monkeypatch):
    CliRunner().invoke(app, ["doctor"])
    kinds = {kind: {"torch": 7.25} for kind in PRODUCT_KINDS}
    threads = torch.get_num_threads()
    monkeypatch.setattr(timings, "measure", lambda: Timings({threads: 1.0}, {threads: kinds}))
    assert "7.250" not in CliRunner().invoke(app, ["doctor"]).stdout
    assert "7.250" in CliRunner().invoke(app, ["doctor", "--measure"]).stdout
