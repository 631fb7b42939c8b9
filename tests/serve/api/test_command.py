"""`regard serve`: what it takes, what it makes of it, and what it refuses in one line."""

import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from small_runs import regard, unsaid

from regard.cli import serve as module
from regard.errors import ConfigError
from regard.recipes import demo as recipe
from regard.serve import server
from regard.serve.security import Keys
from regard.serve.settings import MIB, Settings, read_prefix, read_size
from regard.training.checkpoint import FINAL


@pytest.fixture
def run(tmp_path) -> Path:
    """What looks like a run from outside."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "experiment.yaml").touch()
    return folder


@pytest.fixture
def told(monkeypatch) -> list:
    """What a server would be told, in place of one."""
    calls: list = []
    monkeypatch.setattr(server, "serve_runs", lambda settings, runs, engines: calls.append((settings, runs)))
    return calls


def plain(settings: Settings) -> dict:
    return {name: value for name, value in asdict(settings).items() if name != "keys"}


def test_defaults_are_those_of_the_settings(run, told):
    assert regard("serve", run).code == 0
    [(settings, runs)] = told
    assert (plain(settings), runs, bool(settings.keys)) == (plain(Settings()), [run], False)


def test_exports_beside_runs_have_their_own_engines(run, monkeypatch, tmp_path):
    export, found = tmp_path / "export", []
    monkeypatch.setattr(module, "export_engine", lambda folder: "runtime" if folder == export else None)
    monkeypatch.setattr(server, "serve_runs", lambda settings, *given: found.append(given))
    assert regard("serve", run, export, "--canary", f"{export}=10%").code == 0
    assert found == [([run, export, export], {export: "runtime"})]


def test_every_option(run, told, tmp_path):
    (tmp_path / "keys").write_text("secret\n  # of friends\n\n other \n", encoding="utf-8-sig")
    words = f"""--host 0.0.0.0 --port 80 --api-key one --api-key two --api-keys {tmp_path / "keys"} --char-limit 1
        --batch-limit 2 --alternatives-limit 3 --req-limit 4 --req-flood-threshold 5 --max-body 6k --max-file 7MB
        --max-queue 8 --max-batch-tokens 9
        --batch-wait-ms 10 --request-timeout 11 --shutdown-grace 12 --threads 13 --direct-search 14 --log-texts
        --metrics --metrics-auth-token token --disable-web-ui --disable-files-translation --suggestions {tmp_path / "s"}
        --url-prefix /a/b/ --get-api-key-link https://x.example --load-only en,de --allowed-host a.example
        --programs none --glossaries {tmp_path / "g"}
        --cors-origin https://B.example/ --trusted-proxy 10.0.0.1 --trusted-proxy ::1""".split()
    assert regard("serve", run, run, *words).code == 0
    [(settings, runs)] = told
    assert len(runs) == 2
    held = [settings.keys.holder(key) is not None for key in ("one", "two", "secret", "other", "# of friends")]
    assert held == [True, True, True, True, False]
    assert plain(settings) == plain(
        Settings(
            host="0.0.0.0", port=80, char_limit=1, batch_limit=2, alternatives_limit=3, req_limit=4,
            req_flood_threshold=5, max_body=6 * 1024, max_file=7 * MIB, max_queue=8, max_batch_tokens=9,
            batch_wait=0.01, request_timeout=11.0, shutdown_grace=12.0, threads=13, direct_search=14,
            log_texts=True, metrics=True, metrics_auth_token="token", web_ui=False,
            files_translation=False, suggestions=tmp_path / "s",
            programs=(), glossaries=tmp_path / "g",
            url_prefix="/a/b", key_link="https://x.example", load_only=("en", "de"),
            allowed_hosts=("a.example",), cors_origins=("https://b.example",),
            trusted_proxies=("10.0.0.1", "::1"),
        )
    )  # fmt: skip


def test_settings_of_the_models_stand_behind_the_runs(run, told):
    assert regard("serve", run, "decoding.precision=int8", "decoding.search.stop=full").code == 0
    [(settings, runs)] = told
    assert (runs, settings.changes) == ([run], ("decoding.precision=int8", "decoding.search.stop=full"))


def test_settings_without_a_run(told):
    found = regard("serve", "decoding.precision=int8")
    assert (found.code, told) == (2, [])
    assert "no run is named" in found.said


def test_from_the_environment(run, told, monkeypatch):
    for name, value in {"LT_PORT": "81", "LT_CHAR_LIMIT": "9", "LT_METRICS": "true", "LT_API_KEY": "one two"}.items():
        monkeypatch.setenv(name, value)
    assert regard("serve", run).code == 0
    [(settings, _)] = told
    assert (settings.port, settings.char_limit, settings.metrics) == (81, 9, True)
    assert settings.keys.holder("two") is not None


@pytest.mark.parametrize("words", [["--api-key", "secret"], ["--insecure"]])
def test_other_machines_may_ask(run, told, words):
    done = regard("serve", run, "--host", "0.0.0.0", *words)
    assert (done.code, len(told)) == (0, 1)
    assert ("warning: no --api-key: every machine" in done.said) is (words == ["--insecure"])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2"])
def test_other_machines_may_not_ask_just_so(run, told, host):
    done = regard("serve", run, "--host", host)
    assert unsaid(done, "--host: ", "is open to other machines", "--api-key KEY", "--insecure") == []
    assert told == []


@pytest.fixture
def runs(tmp_path) -> list[Path]:
    """Runs by what their settings say of their languages: three pairs, and two that do not say it."""
    told = {name: f"data: {{languages: [{', '.join(name.split('-'))}]}}" for name in ("en-de", "de-en", "en-zh_Hans")}
    told |= {"unsaid": "data: {languages: null, source: train.fr, target: train.es}", "broken": "data: ["}
    for name, settings in told.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "experiment.yaml").write_text(settings, encoding="utf-8")
    return [tmp_path / name for name in told]


@pytest.mark.parametrize(
    ("codes", "kept"),
    [
        ("", ["en-de", "de-en", "en-zh_Hans", "unsaid", "broken"]),
        ("en,DE", ["en-de", "de-en", "unsaid", "broken"]),
        ("zh,en", ["en-zh_Hans", "unsaid", "broken"]),
        ("fr, es", ["unsaid", "broken"]),
    ],
)
def test_only_some_languages(runs, told, codes, kept):
    """Others never come to the server; of those that do not say their languages it learns them from the model."""
    assert regard("serve", *runs, "--load-only", codes).code == 0
    [(_, served)] = told
    assert [run.name for run in served] == kept


def test_languages_between_which_there_is_no_run(runs, told):
    done = regard("serve", *runs[:3], "--load-only", "en,fr")
    said = "--load-only: no run translates between en, fr; the runs have en-de, de-en, en-zh"
    assert unsaid(done, said, "omit it") == []
    assert told == []


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["nowhere"], ["nowhere: there is no such folder"]),
        (["RUN", "--max-body", "x"], ["--max-body: 'x' is not a size", "2MiB"]),
        (["RUN", "--max-file", "0"], ["--max-file: '0' is not a size"]),
        (["RUN", "--url-prefix", "a b"], ["--url-prefix: 'a b' is not a path"]),
        (
            ["RUN", "--cors-origin", "a.example"],
            ["--cors-origin: 'a.example' is not an origin", "https://that.example"],
        ),
        (["RUN", "--trusted-proxy", "a.example"], ["--trusted-proxy: 'a.example' is not an address", "127.0.0.1"]),
        (["RUN", "--suggestions", "nowhere/s"], ["--suggestions: 'nowhere/s' cannot be written", "no such file"]),
        (["RUN", "--allowed-host", "http://a.b/"], ["--allowed-host: 'http://a.b/' is not a host name"]),
        (["RUN", "--allowed-host", "a.b:80"], ["--allowed-host: 'a.b:80' is not a host name"]),
        (["RUN", "--get-api-key-link", "javascript:alert(1)"], ["--get-api-key-link: ", "is not the URL of a page"]),
        (["RUN", "--api-key", " "], ["--api-key: is empty"]),
        (["RUN", "--api-keys", "nowhere"], ["nowhere", "No such file"]),
    ],
)
def test_refusals(run, told, words, parts):
    done = regard("serve", *[str(run) if word == "RUN" else word for word in words])
    assert unsaid(done, *parts) == []
    assert told == []


def test_keys_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "keys").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"--api-keys.*not UTF-8"):
        Keys([], tmp_path / "keys")


def test_a_folder_that_is_no_run(tmp_path, told):
    refused = [regard(*words) for words in (["serve", tmp_path], ["predict", tmp_path, "a text"])]
    assert [unsaid(done, "is not a run folder: it has no experiment.yaml") for done in refused] == [[], []]
    assert refused[0].said.splitlines()[-1] == refused[1].said.splitlines()[-1]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "experiment.yaml").touch()
    assert regard("serve", tmp_path).code == 0
    assert told[0][1] == [tmp_path / "model"]


def test_without_the_packages_of_a_server(run, told, monkeypatch):
    monkeypatch.setattr(module, "EXTRA", ("fastapi", "nowhere_to_be_found"))
    done = regard("serve", run)
    assert unsaid(done, "nowhere_to_be_found is not installed", "pip install -e '.[serve]'") == []


PROBE = """
import sys
for name in ("fastapi", "uvicorn", "starlette", "prometheus_client", "babel"):
    sys.modules[name] = None
sys.argv = ["regard", "--help"]
from regard.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code
"""


@pytest.mark.parametrize(
    ("code", "strange"),
    [(PROBE, ""), ("import regard.serve.server", "torch"), ("import regard.cli.app", "fastapi")],
    ids=["help without the packages", "a server without torch", "commands without FastAPI"],
)
def test_what_is_not_loaded(code, strange):
    probe = f"{code}\nimport sys; assert {strange!r} not in sys.modules"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_port_that_is_taken(run):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert unsaid(regard("serve", run, "--port", port), f"--port: {port} on 127.0.0.1", "in use", "--port 0") == []


def test_an_address_that_is_none(run):
    done = regard("serve", run, "--host", "nowhere.invalid", "--insecure", "--port", 0)
    assert unsaid(done, "--host: 'nowhere.invalid' is not an address of this machine") == []


@pytest.mark.parametrize(
    ("host", "prefix", "start"),
    [
        ("127.0.0.1", "", "http://127.0.0.1:"),
        ("0.0.0.0", "/a", "http://localhost:"),
        ("localhost", "", "http://localhost:"),
    ],
)
def test_what_to_type_into_a_browser(host, prefix, start):
    with server.listening(host, 0) as listener:
        port = listener.getsockname()[1]
        assert server.address(listener, Settings(host=host, url_prefix=prefix)) == f"{start}{port}{prefix}/"


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("1B", 1), ("2k", 2048), ("2 KiB", 2048), ("3MB", 3 * MIB), ("1g", 1024 * MIB)]
)
def test_sizes(text, size):
    assert read_size("--max-body", text) == size


@pytest.mark.parametrize(("text", "prefix"), [("", ""), ("/", ""), ("a", "/a"), ("/a/b/", "/a/b")])
def test_prefixes(text, prefix):
    assert read_prefix("--url-prefix", text) == prefix


def test_a_key_is_not_told(run, told):
    assert regard("serve", run, "--api-key", "secret-key").code == 0
    assert "secret-key" not in repr(told)
    assert "secret-key" not in repr(vars(Keys(["secret-key"])))


@pytest.fixture
def done(monkeypatch) -> list:
    """What was done, in place of doing it: languages that were trained, and runs with ports that were served."""
    told: list = []

    def trained(run, language):
        for folder in (recipe.TEXTS, recipe.MODEL):
            (run / folder).mkdir(parents=True, exist_ok=True)
        (run / recipe.DEMO_MARK).touch()
        (run / recipe.TEXTS / f"train.{language}").touch()
        (run / recipe.MODEL / FINAL).touch()
        told.append(language)
        return recipe.DemoResult(100.0, 100.0, 1.0, run / recipe.PAGE)

    monkeypatch.setattr(recipe, "demo", trained)
    monkeypatch.setattr(server, "serve_runs", lambda settings, runs: told.append((runs, settings.host, settings.port)))
    return told


def test_it_is_trained_once(done, tmp_path):
    for language in ("de", "de", "zh"):
        assert regard("demo", "--serve", "--run", tmp_path, "--language", language, "--port", 0).code == 0
    served = ([tmp_path / recipe.MODEL], "127.0.0.1", 0)
    assert done == ["de", served, served, "zh", served]


def test_without_serve_it_is_trained_each_time(done, tmp_path):
    for _ in range(2):
        assert regard("demo", "--run", tmp_path).code == 0
    assert done == ["de", "de"]


def test_a_port_that_is_taken_is_told_before_the_training(done, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert unsaid(regard("demo", "--serve", "--port", other.getsockname()[1], "--run", tmp_path), "--port: ") == []
    assert done == []
