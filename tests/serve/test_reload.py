"""SIGHUP: changed runs are loaded beside the old ones, and no request is lost."""

import asyncio
import json
import os
import pty
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from engines import tiny_run_in
from known_engine import KnownEngine, made, pairs, served
from serving import Process
from small_runs import SMALL, regard, write_texts

from regard.config.versions import MODEL, new_version, undo_version, use_version, versions_held
from regard.errors import CheckpointError, ConfigError
from regard.serve import service as service_module
from regard.serve.engine.engine import Engine, fingerprint
from regard.serve.engine.questions import Predict
from regard.serve.security import DEFAULT_RIGHTS, Keys
from regard.serve.settings import Settings, read_canary


class Broken(KnownEngine):
    """Cannot be loaded."""

    async def start(self):
        raise CheckpointError("runs/en-de", "is damaged")


def reloading(engines, settings=None, *, waiting=False):
    """A service after a reload; `waiting`: with a request under way that the old engine holds."""

    async def case():
        service = made(engines, settings)
        service.start()
        await service.started()
        there = asyncio.timeout(None)
        if waiting:
            service.unanswered.add(there)
        await service.reload()
        await asyncio.sleep(0)
        held = [engine.stopped for engine in engines]
        service.unanswered.discard(there)
        await asyncio.gather(*service._replaced)
        found = await service.catalogue.models[0].ask(Predict.lines(("x",)), seconds=1)
        metrics = service.metrics.text().decode()
        await service.stop()
        return service, held, found, metrics

    return asyncio.run(case())


def test_a_changed_run_answers_once_it_is_ready_and_the_old_one_ends_with_its_last_request():
    old, other = pairs("en-de", "de-en")
    old.next = fresh = KnownEngine("en", "de")
    fresh.info["sha256"] = "new"
    service, held, _, metrics = reloading([old, other], waiting=True)
    assert (held, old.stopped, other.asked) == ([False, False], True, [])
    assert (fresh.asked[0].texts[0].source, list(service.engines)) == ("x", ["en-de", "de-en"])
    assert (len(fresh.watchers), len(other.watchers)) == (1, 1)  # no batch is counted twice
    assert 'regard_reloads_total{model="en-de",result="loaded"} 1.0' in metrics
    assert ('sha="new"' in metrics, metrics.count('regard_model_info{attention="dot",model="en-de"')) == (True, 1)


@pytest.mark.parametrize(
    ("fresh", "words"),
    [(Broken("en", "de"), "is damaged"), (KnownEngine("", "", "en-de"), "languages of this run are unknown")],
)
def test_what_cannot_be_loaded_leaves_the_old_one_serving(fresh, words, caplog):
    [old] = pairs("en-de")
    old.next = fresh
    _, held, _, metrics = reloading([old])
    [line] = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert (words in line, line.count("\n")) == (True, 0)
    assert (held, old.asked[0].texts[0].source, fresh.stopped) == ([False], "x", True)
    assert 'regard_reloads_total{model="en-de",result="failed"} 1.0' in metrics


def test_a_run_that_is_another_pair_now_stays_out_where_only_some_languages_are_served():
    [old] = pairs("en-de")
    old.next = KnownEngine("fr", "de", "en-de")
    service, *_ = reloading([old], Settings(load_only=("en", "de")))
    assert service.catalogue.languages == ["de", "en"]


def test_another_version_of_a_run_is_loaded_by_itself(monkeypatch):
    """And tried once, if it cannot be loaded."""
    monkeypatch.setattr(service_module, "FOLLOW_SECONDS", 0.001)
    old, other = pairs("en-de", "de-en")
    other.version, other.next, tried = Path("damaged"), Broken("de", "en"), []
    old.version, old.next = Path("taught"), KnownEngine("en", "de")

    async def case():
        service = made([old, other])
        monkeypatch.setattr(service.metrics, "reloaded", lambda *what: tried.append(what))
        service.start()
        while len(tried) < 2 or not old.stopped:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)
        found = service.engines["en-de"]
        await service.stop()
        return found

    assert asyncio.run(case()) is old.next
    assert sorted(tried) == [("de-en", "failed"), ("en-de", "loaded")]


def test_a_bug_does_not_end_the_following_of_versions(monkeypatch):
    monkeypatch.setattr(service_module, "FOLLOW_SECONDS", 0.001)
    [old] = pairs("en-de")
    old.version, old.next, faults = Path("taught"), KnownEngine("en", "de"), [RuntimeError("a bug")]
    monkeypatch.setattr(old, "other_version", lambda: _raised(faults.pop()) if faults else old.version)

    async def case():
        service = made([old])
        service.start()
        async with asyncio.timeout(30):
            while not old.stopped:
                await asyncio.sleep(0.001)
        await service.stop()

    asyncio.run(case())
    assert not faults  # the first turn failed, a later one changed the model


def _raised(error):
    raise error


def test_an_administrator_reloads_by_a_request(tmp_path):
    file = tmp_path / "keys"
    file.write_text("reader\nchief\tann\tadmin\n", encoding="utf-8")
    old, other = pairs("en-de", "de-en")
    old.next, other.next = KnownEngine("en", "de"), Broken("de", "en")
    with served([old, other], Settings(keys=Keys(file=file))) as client:
        refused = client.post("/v1/reload", headers={"Authorization": "Bearer reader"})
        done = client.post("/v1/reload", headers={"Authorization": "Bearer chief"})
        file.write_text("", encoding="utf-8")
        kept = client.post("/v1/reload", headers={"Authorization": "Bearer chief"}).json()
    assert (refused.status_code, "right admin" in refused.json()["error"]) == (403, True)
    assert done.json() == {"loaded": ["en-de"], "failed": {"de-en": "runs/en-de: is damaged"}}
    assert "there is no key" in kept["failed"]["--api-keys"]
    with served(pairs("en-de")) as client:
        assert client.post("/v1/reload").status_code == 403  # without keys nobody has that right


def test_a_canary_has_its_share_of_requests_and_the_answer_names_the_version(monkeypatch):
    """All texts of a request have one version; a named model is not changed."""
    old, new = KnownEngine("en", "de"), KnownEngine("en", "de", "new")
    old.info["sha256"], new.info["sha256"] = "1" * 64, "2" * 64
    samples = iter([0.05, 0.5, 0.2, 0.0999])
    monkeypatch.setattr("regard.serve.translating.random.random", lambda: next(samples))
    body = {"q": ["Hello", "World"], "source": "en", "target": "de"}
    with served([old, new], Settings(canaries=((Path("new"), 0.1),), metrics=True)) as client:
        found = [client.post("/translate", json=body).headers["X-Model"] for _ in range(2)]
        named = client.post("/v1/translate", json={**body, "model": "new"})
        detailed = client.post("/v1/translate", json=body)
        metrics = client.get("/metrics").text
    assert found == ["new@222222222222", "en-de@111111111111"]
    assert [one["version"] for one in named.json()["texts"] + detailed.json()["texts"]] == ["2" * 12] * 4
    assert detailed.json()["model"] == "new"
    assert 'regard_version_requests_total{model="new",version="222222222222"} 3.0' in metrics
    assert 'regard_version_requests_total{model="en-de",version="111111111111"} 1.0' in metrics


@pytest.mark.parametrize("typed", ["runs/new", "runs/new=0", "=10%", "runs/new=100%", "runs/new=x"])
def test_a_share_is_between_0_and_100_percent(typed):
    with pytest.raises(ConfigError, match=r"runs/new=10%"):
        read_canary("--canary", typed)
    assert read_canary("--canary", "runs/a=b=12.5%") == (Path("runs/a=b"), 0.125)


def test_an_engine_loads_the_version_in_use(tmp_path):
    (tmp_path / "experiment.yaml").touch()
    engine = Engine(tmp_path, name="a")
    assert engine.other_version() is None  # nothing is loaded
    engine._folder = tmp_path
    before = fingerprint(tmp_path)
    with versions_held(tmp_path):
        taught = new_version(tmp_path) / MODEL
        taught.mkdir()
        use_version(tmp_path, 1, 0)
    assert (fingerprint(tmp_path), engine.other_version()) == (before, taught)
    undo_version(tmp_path, lambda *_: None)
    assert engine.other_version() is None
    (tmp_path / "version.json").write_text("{", encoding="utf-8")
    assert (engine.other_version(), engine.renewed().name) == (None, "a")  # the new one reports the fault


def test_keys_are_read_anew(tmp_path):
    file = tmp_path / "keys"
    file.write_text("old", encoding="utf-8")
    keys = Keys(file=file)
    file.write_text("new", encoding="utf-8")
    service, *_ = reloading(pairs("en-de"), Settings(keys=keys))
    assert [service.settings.keys.holder(key) for key in ("old", "new")] == [None, ("key 1", DEFAULT_RIGHTS, False)]


def test_only_files_that_an_answer_depends_on_are_looked_at(tmp_path):
    for name in ("experiment.yaml", "metrics.jsonl", "data/train", "engines/onnx-1/x", "checkpoints/1/model"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1", encoding="utf-8")
    before = fingerprint(tmp_path)
    for name in ("metrics.jsonl", "data/train", "engines/onnx-1/x"):
        (tmp_path / name).write_text("22", encoding="utf-8")
    assert fingerprint(tmp_path) == before
    (tmp_path / "checkpoints/1/model").write_text("22", encoding="utf-8")
    assert fingerprint(tmp_path) != before
    assert Engine(tmp_path, name="a").renewed().name == "a"


def asking(address, stop, status):
    """Requests one after the other until it is time → the statuses, and the different translations in turn."""
    said, body = [], json.dumps({"q": "a dog runs", "source": "en", "target": "de"}).encode()
    while not stop:
        ask = Request(f"{address}translate", body, {"Content-Type": "application/json"})
        try:
            with urlopen(ask, timeout=60) as answer:
                text = json.load(answer)["translatedText"]
                status.append(answer.status)
        except HTTPError as error:
            status.append(error.code)
            continue
        if not said or said[-1] != text:
            said.append(text)
    return said


def until(true, process):
    begin = time.monotonic()
    while not true():
        assert process.process.poll() is None, process.said
        assert time.monotonic() - begin < 120, process.said
        time.sleep(0.05)


@pytest.mark.slow
def test_a_reload_under_load_loses_no_request(tmp_path):
    """New weights answer afterwards; a damaged run leaves them; keys and log are those of now."""
    second, run, log = tmp_path / "second", tmp_path / "en-de", tmp_path / "requests"
    first = tiny_run_in(tmp_path)
    search = "decoding.search={name: beam, size: 2, max_ratio: 1.0, max_extra: 3}"
    done = regard("train", *write_texts(tmp_path), "--run", second, "--quiet", *SMALL, search, "training.seed=7")
    assert done.code == 0, done.said
    shutil.copytree(first, run)
    process = Process(tmp_path, run, "--port", 0, "--access-log", log)
    address, stop, status = process.ready(), [], []
    with ThreadPoolExecutor() as pool:
        clients = [pool.submit(asking, address, stop, status) for _ in range(4)]
        try:
            until(lambda: len(status) > 20, process)
            shutil.rmtree(run)
            shutil.copytree(second, run)
            log.rename(tmp_path / "requests.1")
            process.process.send_signal(signal.SIGHUP)
            until(lambda: "the old model has ended" in process.said, process)
            before = len(status)
            until(lambda: len(status) > before + 20, process)
            for file in run.rglob("model.safetensors"):
                file.write_bytes(file.read_bytes()[:-1])
            process.process.send_signal(signal.SIGHUP)
            until(lambda: "stays unchanged" in process.said, process)
            before = len(status)
            until(lambda: len(status) > before + 20, process)
        finally:
            stop.append(True)
        said = [client.result() for client in clients]
    assert set(status) == {200}, process.said
    from regard.predictor import load

    wanted = [load(folder).predict(["a dog runs"])[0].text for folder in (first, second)]
    assert wanted[0] != wanted[1]
    assert said == [wanted] * 4
    assert process.end() == 0, process.said
    assert process.said.rstrip().endswith("ended")
    assert min(len(file.read_text("utf-8").splitlines()) for file in (tmp_path / "requests.1", log)) > 20


@pytest.mark.slow
def test_where_the_terminal_is_gone_it_ends(tmp_path):
    """As every program in a window that is closed."""
    run = tiny_run_in(tmp_path)
    ours, theirs = pty.openpty()
    process = Process(tmp_path, run, "--port", 0, stdin=theirs)
    os.close(theirs)
    process.ready()
    os.close(ours)
    assert process.end(signal.SIGHUP) == 0, process.said
