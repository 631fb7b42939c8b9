"""A folder named `run`, for commands whose model is replaced by one that answers at once."""

from pathlib import Path

import pytest


@pytest.fixture
def run_folder(tmp_path_factory, monkeypatch) -> Path:
    """An empty folder `run` in a working folder of its own."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
    Path("run").mkdir()
    return Path("run")
