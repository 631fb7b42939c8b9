"""The whole of it: real runs in a real process, asked by the clients that people have."""

import json
import signal
from urllib.request import Request, urlopen

import pytest
from libretranslatepy import LibreTranslateAPI
from serving import PATIENCE, Process, status

from regard.serve.security import host_name

pytestmark = pytest.mark.slow  # loading torch in several processes takes a while


def test_libretranslatepy_in_every_pair(server):
    client = LibreTranslateAPI(server)
    languages = client.languages()
    assert languages == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    best = client.detect("Der alte Mann liest ein gutes Buch.")[0]
    assert (best["language"], best["confidence"] > 50) == ("de", True)
    said = [
        client.translate("two cats", language["code"], target)
        for language in languages
        for target in language["targets"]
    ]
    assert [type(text) for text in said] == [str, str]
    assert client.translate("Ein Hund läuft.", "auto", "en") == client.translate("Ein Hund läuft.", "de", "en")


def test_what_one_engine_says_is_what_the_other_road_says(server, small_runs):
    """HTTP changes nothing: `regard.load` gives the same text."""
    from regard.predictor import load

    ask = Request(f"{server}translate", json.dumps({"q": "two cats", "source": "en", "target": "de"}).encode())
    ask.add_header("Content-Type", "application/json")
    with urlopen(ask) as answer:
        text = json.load(answer)["translatedText"]
    assert text == load(small_runs[0]).predict(["two cats"])[0].text


def test_a_page_and_measures(server):
    assert [status(f"{server}{path}") for path in ("", "docs", "metrics", "v1/models", "nothing")] == [200] * 4 + [404]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_it_ends_while_it_loads(small_runs, tmp_path, number):
    process = Process(tmp_path, small_runs[0], "--port", 0)
    address = process.address()
    assert host_name(address.split("/")[2]) == "127.0.0.1"
    assert (process.end(number), "Traceback" in process.said) == (0, False), process.said


def test_a_run_that_is_damaged(small_runs, tmp_path):
    """It listens already when the fault is found, and ends with one line and exit code 2."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "experiment.yaml").write_text("nonsense: 1\n", encoding="utf-8")
    process = Process(tmp_path, run, "--port", 0)
    assert process.process.wait(PATIENCE) == 2
    lines = [line for line in process.said.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert "Traceback" not in process.said
