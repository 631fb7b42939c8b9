"""`regard serve --learn HH:MM`, taught by its own clock: a version comes into use, is undone, and stays undone."""

import json
import os
import time
from datetime import datetime, timedelta

import pytest
from serving import Process
from small_runs import SMALL, regard, write_texts

from regard.config.versions import current_version

ANIMALS = {
    "dog": "Hund", "cat": "Katze", "bird": "Vogel", "horse": "Pferd", "cow": "Kuh", "pig": "Schwein", "fish": "Fisch",
    "bear": "Bär", "wolf": "Wolf", "fox": "Fuchs", "hen": "Henne", "duck": "Ente", "frog": "Frosch", "snake": "Natter",
}  # fmt: skip
LONG = [
    "training.max_updates=400",
    "training.validate_every=100",
    "training.learning_rate=0.02",
    "training.metric=chrf",
]
MINUTES = float(os.environ.get("REGARD_NIGHT_MINUTES", "3"))
SWAPPED = "the new model answers"
PATIENCE = 1800.0  # seconds of a lesson; the machine may have much else to do


def soon():
    """A minute of the clock that comes after the server has started, also on a machine with much else to do."""
    return f"{datetime.now().astimezone() + timedelta(minutes=MINUTES):%H:%M}"


def until(process, text, count=1):
    begin = time.monotonic()
    while process.said.count(text) < count:
        assert process.process.poll() is None, process.said
        assert time.monotonic() - begin < PATIENCE, process.said
        time.sleep(0.2)


@pytest.mark.slow
def test_a_server_learns_by_its_clock_and_what_is_undone_stays_so(tmp_path):
    run, file = tmp_path / "run", tmp_path / "better.jsonl"
    dev = [f"data.dev.{side}={tmp_path / name}" for side, name in (("source", "a.en"), ("target", "a.de"))]
    done = regard("train", *write_texts(tmp_path), *dev, "--run", run, "-q", *SMALL, *LONG)
    assert done.code == 0, done.said
    rows = [{"q": f"yes the {one} runs", "s": f"ja {other} läuft"} for one, other in ANIMALS.items()]
    file.write_text("".join(json.dumps({**row, "source": "en", "target": "de"}) + "\n" for row in rows), "utf-8")

    served = run, "--port", 0, "--suggestions", file, "--learn"
    process = Process(tmp_path, *served, soon())
    until(process, "learn: ")
    assert "version 1 is in use" in process.said
    until(process, SWAPPED)
    assert regard("undo", run).code == 0
    until(process, SWAPPED, 2)
    assert (current_version(run), process.end()) == (0, 0)

    process = Process(tmp_path, *served, soon())  # the next night
    until(process, "learn: ")
    assert "better.jsonl, without those of undone versions: has 0 corrections" in process.said, process.said
    assert (current_version(run), process.end()) == (0, 0)
