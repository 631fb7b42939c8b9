"""Where `regard compare` runs in these tests, and who trains for it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from comparisons import Inside, Said, compare, instead, texts

from regard.reports.compare import train


@pytest.fixture(autouse=True, scope="module")
def inside() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "Child", Inside)
        yield


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Where the command runs."""
    monkeypatch.chdir(texts(tmp_path))
    return tmp_path


@pytest.fixture
def trained(monkeypatch) -> list[str]:
    """The names of the runs that are trained from now on."""
    names: list[str] = []

    def note(experiment, real, **settings):
        names.append(f"{experiment.run.name}{' resumed' if settings['resume'] else ''}")
        return real(experiment, **settings)

    instead(monkeypatch, note)
    return names


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> tuple[Path, Said]:
    """Two configs with two seeds, once for all who only look."""
    place = texts(tmp_path_factory.mktemp("compared"))
    before = Path.cwd()
    os.chdir(place)
    try:
        said = compare(
            "dot.yaml", "wide.yaml", "--seeds", 2, "--gold", "gold", "a.en", "a.de", "--markdown", "table.md"
        )
    finally:
        os.chdir(before)
    return place, said
