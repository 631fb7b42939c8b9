"""A server that teaches by itself: at an hour of the day, in a process of its own."""

import asyncio
import json
import logging
import os
import sys
import time as clock
from datetime import datetime, time, timedelta

import pytest
from known_engine import KnownClassifier, made, pairs
from serving import Process
from small_runs import SMALL, regard, unsaid, write_texts

from regard.config.atomic_write import write_checked
from regard.config.versions import current_version
from regard.errors import ConfigError
from regard.serve import server
from regard.serve.engine.capacity import Limits
from regard.serve.settings import read_hour

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
FIGURES = {"metric": "loss", "start": 2.0, "selected": 1.5, "interval": [-0.7, -0.3]}
TAUGHT = {"kept": "adapted", "version": 3, "new": FIGURES, "old": {**FIGURES, "metric": "BLEU"}}


def learned(monkeypatch, tmp_path, code):
    """The metrics and the log after a lesson by a Python program in place of `regard teach`."""
    monkeypatch.setattr(server, "LESSON_COMMAND", (sys.executable, "-c", code))

    async def case():
        service = made([*pairs("en-de"), KnownClassifier()])
        await server.Learner(service, tmp_path / "better.jsonl", time(3)).learn()
        await service.stop()
        return service.metrics.text().decode()

    return asyncio.run(case())


@pytest.mark.parametrize(
    ("code", "result", "words"),
    [
        (f"print({json.dumps(json.dumps(TAUGHT))})", "taught", "version 3 is in use; corrections tested: loss 2.00"),
        (f"print({json.dumps(json.dumps({**TAUGHT, 'kept': 'start'}))})", "kept", "the weights stay as they were"),
        ("import sys; print('error: has 7 corrections', file=sys.stderr); sys.exit(2)", "refused", "has 7 corrections"),
        ("import os; os.abort()", "failed", "ended with code"),
        ("print('{')", "failed", "no result"),
    ],
)
def test_the_result_of_a_lesson_is_in_log_and_metrics(code, result, words, monkeypatch, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    metrics = learned(monkeypatch, tmp_path, code)
    assert f'regard_lessons_total{{model="en-de",result="{result}"}} 1.0' in metrics
    assert 'regard_lessons_total{model="reviews"' not in metrics  # no translator
    assert words in caplog.text


def test_a_lesson_has_the_lowest_priority_and_the_command_of_a_user(monkeypatch, tmp_path):
    note = tmp_path / "note"
    code = f"import os, sys, time; time.sleep(0.3); open({str(note)!r}, 'w').write(f'{{os.nice(0)}} {{sys.argv[1:]}}')"
    learned(monkeypatch, tmp_path, code)
    nice, _, words = note.read_text("utf-8").partition(" ")
    assert int(nice) == server.NICE
    assert words == str(["en-de", str(tmp_path / "better.jsonl"), *server.LESSON_OPTIONS])


def test_a_lesson_that_cannot_start_or_end_has_failed(monkeypatch, tmp_path, caplog):
    async def case():
        service = made(pairs("en-de", "en-fr"))
        await server.Learner(service, tmp_path / "x", time(3)).learn()
        await service.stop()
        return service.metrics.text().decode()

    def failures(command):
        monkeypatch.setattr(server, "LESSON_COMMAND", command)
        found = asyncio.run(case())
        return [f'regard_lessons_total{{model="{name}",result="failed"}} 1.0' in found for name in ("en-de", "en-fr")]

    assert failures((str(tmp_path / "none"),)) == [True, True]
    monkeypatch.setattr(server, "LESSON_SECONDS", 0.3)
    assert failures((sys.executable, "-c", "import time; time.sleep(60)")) == [True, True]
    monkeypatch.setattr(server.os, "setpriority", lambda *_: (_ for _ in ()).throw(ProcessLookupError))
    caplog.set_level(logging.INFO)
    failures((sys.executable, "-c", "print('{')"))
    assert "no result" in caplog.text  # the process was read to its end


def test_a_lesson_ends_with_the_server(monkeypatch, tmp_path):
    note = tmp_path / "note"
    code = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    monkeypatch.setattr(server, "LESSON_COMMAND", (sys.executable, "-c", code))

    async def case():
        service = made(pairs("en-de"))
        work = asyncio.ensure_future(server.Learner(service, tmp_path / "x", time(3)).learn())
        while not (note.exists() and note.read_text("utf-8")):
            await asyncio.sleep(0.01)
        work.cancel()
        await asyncio.wait([work])
        await service.stop()

    asyncio.run(case())
    clock.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text("utf-8")), 0)


def test_hours_of_a_day():
    at = datetime(2026, 3, 1, 2, 59, 30).astimezone()
    assert server.seconds_until(time(3), at) == 30
    assert server.seconds_until(time(2, 59), at) == 86_370
    assert server.seconds_until(time(3), at.replace(hour=3, minute=0, second=0)) == 86_400
    assert [read_hour("--learn", text) for text in ("nightly", "23:05", None)] == [time(3), time(23, 5), None]
    with pytest.raises(ConfigError, match="nightly, or 03:00"):
        read_hour("--learn", "25:00")


def test_strangers_do_not_teach(tmp_path, monkeypatch):
    (tmp_path / "experiment.yaml").touch()
    served = []
    monkeypatch.setattr("regard.serve.server.serve_runs", lambda *found: served.append(found))
    lesson = [tmp_path, "--learn", "nightly", "--suggestions", tmp_path / "better.jsonl"]
    strangers = ["--host", "0.0.0.0", "--insecure"]
    assert unsaid(regard("serve", *lesson, *strangers), "--learn", "--api-keys FILE, or --insecure-memory") == []
    assert not served
    for words in (["--insecure-memory", *strangers], ["--host", "0.0.0.0", "--api-key", "k" * 20], []):
        assert regard("serve", *lesson, *words).code == 0
    assert len(served) == 3


def test_learning_needs_a_file_of_suggestions_and_a_run(tmp_path, monkeypatch):
    run, export = tmp_path / "run", tmp_path / "export"
    (export / "regard").mkdir(parents=True)
    write_checked(export / "regard" / "export.json", {"format": "onnx"})
    run.mkdir()
    (run / "experiment.yaml").touch()
    served = []
    monkeypatch.setattr("regard.serve.server.serve_runs", lambda *found: served.append(found))
    lesson = ["--learn", "nightly", "--suggestions", tmp_path / "s.jsonl"]
    assert unsaid(regard("serve", run, "--learn", "nightly"), "--learn", "--suggestions FILE") == []
    assert unsaid(regard("serve", export, *lesson), "--learn: an export cannot learn") == []
    assert regard("serve", run, export, *lesson).code == 0
    assert len(served) == 1


def test_an_export_beside_a_run_is_not_taught(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "LESSON_COMMAND", (sys.executable, "-c", "print('{')"))

    async def case():
        service = made(pairs("en-de", "en-fr"))
        service.engines["en-fr"].limits = Limits(engine="onnx")
        await server.Learner(service, tmp_path / "x", time(3)).learn()
        await service.stop()
        return service.metrics.text().decode()

    found = asyncio.run(case())
    assert 'model="en-de",result="failed"' in found and 'model="en-fr",result' not in found


def soon():
    """A minute of the clock that comes after the server has started, also on a machine with much else to do."""
    return f"{datetime.now().astimezone() + timedelta(minutes=MINUTES):%H:%M}"


def until(process, text, count=1):
    begin = clock.monotonic()
    while process.said.count(text) < count:
        assert process.process.poll() is None, process.said
        assert clock.monotonic() - begin < PATIENCE, process.said
        clock.sleep(0.2)


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
