"""A real server: two small runs, both directions, in a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Process
from small_runs import SMALL, regard, write_texts


@pytest.fixture(scope="session")
def small_runs(tmp_path_factory) -> list[Path]:
    """Two updates of training each: what they say is nonsense, but there are as many words of it as there should be."""
    folder = tmp_path_factory.mktemp("served")
    first, second = write_texts(folder)[1::2]
    runs = [folder / "en-de", folder / "de-en"]
    for run, (source, target) in zip(runs, ((first, second), (second, first)), strict=True):
        done = regard("train", "--source", source, "--target", target, "--run", run, "--quiet", *SMALL)
        assert done.code == 0, done.said
    return runs


@pytest.fixture(scope="session")
def server(small_runs, tmp_path_factory) -> Iterator[str]:
    """The address of a server of both runs."""
    process = Process(tmp_path_factory.mktemp("server"), *small_runs, "--port", 0, "--metrics")
    yield process.ready()
    assert process.end() == 0, process.said
