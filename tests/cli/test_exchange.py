"""regard import, export, card, and --engine; and what a run does that was imported."""

import errno
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from foreign_translators import marian_folder, toy_lines
from serving import Process
from small_runs import SMALL, regard, unsaid, write_texts
from typer.testing import CliRunner

from regard.cli.app import app
from regard.exchange import export_for_engine

TEXT = "The man sees a dog."
SEARCH = "decoding.search={name: beam, size: 3, stop: full, max_ratio: 1.0, max_extra: 3}"


def printed(*words):
    """What a command prints on stdout, once it has ended well."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    folder = marian_folder(tmp_path_factory.mktemp("theirs") / "opus")
    (folder / "README.md").write_text("---\nlicense: cc-by-sa-4.0\n---\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def imported(theirs, tmp_path_factory):
    run = tmp_path_factory.mktemp("imported") / "run"
    done = regard("import", theirs, "-o", run, "--lines", 3)
    assert (done.code, (run / "certificate.json").exists()) == (0, True), done.said
    return run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    done = regard("train", *write_texts(folder), "--run", folder / "run", "--quiet", *SMALL, SEARCH)
    assert done.code == 0, done.said
    return folder / "run"


@pytest.fixture(scope="module")
def export(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "ct2"
    done = regard("export", trained, "--to", "ctranslate2", "-o", folder)
    assert (done.code, (folder / "model.bin").exists()) == (0, True), done.said
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "texts.en"
    file.write_text("\n".join(toy_lines(0, 4, "test")) + "\n", encoding="utf-8")
    return file


def test_import_prints_its_certificate(theirs, texts, tmp_path):
    run = tmp_path / "run"
    said = regard("import", theirs, "-o", run, "--text", texts, "--lines", 4).said
    assert f"imported {theirs} (MarianMTModel) as {run}" in said
    assert "certificate: transformers " in said
    assert "translates 4 of 4 texts as Regard does" in said
    assert printed("predict", run, TEXT).strip()
    assert "--resume" not in regard("import", theirs, "-o", run).said
    assert unsaid(regard("train", "--run", run, "--resume"), "data.train", "fine-tune it: regard train --from") == []


@pytest.mark.parametrize(("words", "parts"), [
    (["nowhere", "-o", "run"], ["nowhere: there is no such folder"]),
    (["THEIRS", "-o", "run", "--format", "nosuch"], ["--format: there is no 'nosuch'"]),
    (["THEIRS", "-o", "run", "--format", "ctranslate2"], ["folders of ctranslate2 are written here and not read"]),
    (["FILE", "-o", "run"], [": is not a folder"]),
    (["THEIRS", "-o", "run", "--text", "nofile"], ["nofile: there is no such file"]),
    (["THEIRS", "-o", "run", "--text", "EMPTY"], ["empty.txt: has no texts"]),
    (["THEIRS", "-o", "TAKEN"], ["exists and is not empty"]),
])  # fmt: skip
def test_bad_import_is_one_line(words, parts, theirs, imported, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("\n")
    named = {"THEIRS": theirs, "TAKEN": imported, "FILE": theirs / "config.json", "EMPTY": tmp_path / "empty.txt"}
    assert unsaid(regard("import", *(named.get(word, word) for word in words)), *parts) == []
    assert not (tmp_path / "run").exists()


def test_export_of_an_import_is_opened_by_its_own_program(imported, texts, tmp_path):
    words = ["--to", "hf", "-o", tmp_path / "ours", "--text", texts, "--license", "mit"]
    said = regard("export", imported, *words).said
    assert "translates 4 of 4 texts as Regard does" in said
    assert "license: mit" in (tmp_path / "ours" / "README.md").read_text("utf-8")
    assert "format" in json.loads((tmp_path / "ours" / "certificate.json").read_text())


@pytest.mark.parametrize(("words", "parts"), [
    (["--to", "nosuch"], ["--to: there is no 'nosuch'"]),
    (["--to", "huggingface", "--quantization", "int8"], ["--quantization: does not go with --to huggingface"]),
    (["--to", "ctranslate2", "--quantization", "int3"], ["--quantization", "int8"]),
    (["--to", "firefox"], ["Marian has"]),
])  # fmt: skip
def test_bad_export_is_one_line(words, parts, trained, tmp_path):
    assert unsaid(regard("export", trained, *words, "-o", tmp_path / "out"), *parts) == []
    assert [*tmp_path.iterdir()] == []


def test_export_that_differs_names_the_first_text(trained, tmp_path, monkeypatch):
    from regard.exchange.ctranslate2 import CTranslate2Program

    monkeypatch.setattr(CTranslate2Program, "translate", lambda self, texts: ["another"] * len(texts))
    done = regard("export", trained, "--to", "ctranslate2", "-o", tmp_path / "out")
    parts = "was not written, since less than", " % of characters; first difference: line 1", "'another' there"
    assert unsaid(done, *parts) == []
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("place", ["regard.exchange.ctranslate2.fill_spec", "regard.exchange.write_checked"])
def test_full_disk_leaves_nothing(place, trained, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(place, full)
    done = regard("export", trained, "--to", "ctranslate2", "-o", tmp_path / "out")
    assert unsaid(done, f"{tmp_path / 'out'}: the export was not written: No space left on device") == []
    assert [*tmp_path.iterdir()] == []


def test_card_has_the_metadata_of_the_hub(imported, trained):
    card = printed("card", imported, "--license", "cc-by-4.0")
    assert card.startswith("---\nlanguage: [en, de]\nlicense: cc-by-4.0\n")
    assert "Imported from huggingface: opus (MarianMTModel)" in card
    assert "library_name: regard" in printed("card", trained)
    assert unsaid(regard("card", "nowhere"), "nowhere: there is no such folder") == []


def test_engine_answers_as_the_run_does(trained, export, texts):
    wanted = printed("predict", trained, "-i", texts)
    assert printed("predict", export, "-i", texts) == wanted
    assert printed("predict", trained, "--engine", "ctranslate2", "-i", texts) == wanted
    assert [one.name for one in trained.glob("engines/ctranslate2-*/*.bin")] == ["model.bin"]
    rows = [json.loads(line) for line in printed("predict", export, "--engine", "ctranslate2",
            "-i", texts, "--json", "--n-best", 2, "--raw").splitlines()]  # fmt: skip
    assert [len(row["alternatives"]) for row in rows] == [1] * len(rows)


def test_export_in_a_run_is_renewed_with_its_weights(trained, texts, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("engines"))
    printed("predict", run, "--engine", "ctranslate2", "-i", texts)
    (model,) = run.glob("engines/ctranslate2-*/model.bin")
    before = model.stat().st_mtime_ns
    printed("predict", run, "--engine", "ctranslate2", "-i", texts)
    assert model.stat().st_mtime_ns == before
    noted = model.parent / "regard" / "export.json"
    from regard.config import read_checked, write_checked

    write_checked(noted, {**read_checked(noted), "sha256_of_weights": "of others"})
    (noted.parent / "manifest.json").unlink()
    printed("predict", run, "--engine", "ctranslate2", "-i", texts)
    renewed = model.stat().st_mtime_ns
    assert renewed > before
    noted.write_text("{", encoding="utf-8")
    printed("predict", run, "--engine", "ctranslate2", "-i", texts)
    assert model.stat().st_mtime_ns > renewed
    assert sorted(one.name for one in model.parents[1].iterdir()) == [".lock", model.parent.name]


def test_each_search_has_its_own_export_in_a_run(trained, texts, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("engines"))
    printed("predict", run, "--engine", "ctranslate2", "-i", texts)
    (model,) = run.glob("engines/ctranslate2-*/model.bin")
    before = model.stat().st_ino
    printed("predict", run, "--engine", "ctranslate2", "-i", texts, "decoding.search=greedy")
    assert model.stat().st_ino == before
    assert len([*run.glob("engines/ctranslate2-*/model.bin")]) == 2


def test_first_calls_at_once_export_once(trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("engines"))
    lines = []
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(export_for_engine, run, "ctranslate2", [], lines.append) for _ in range(2)]
        first, second = (one.result() for one in calls)
    assert first == second
    assert len([line for line in lines if line.startswith("wrote ")]) == 1


def test_export_in_a_run_stays_where_a_new_one_fails(trained, texts, tmp_path, monkeypatch):
    run = shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("engines"))
    printed("predict", run, "--engine", "ctranslate2", "-i", texts)
    (noted,) = run.glob("engines/*/regard/export.json")
    noted.write_text("{", encoding="utf-8")

    def fails(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("regard.exchange.ctranslate2.CTranslate2Format.write", fails)
    assert unsaid(regard("predict", run, "--engine", "ctranslate2", "-i", texts), "No space left on device") == []
    assert noted.read_text("utf-8") == "{"
    assert (noted.parents[1] / "model.bin").is_file()


@pytest.mark.parametrize(("words", "parts"), [
    (["--engine", "nosuch"], ["engine: there is no 'nosuch'", "ctranslate2"]),
    (["--engine", "ctranslate2", "--alignment"], ["--alignment: the ctranslate2 engine does not have attention"]),
    (["--engine", "ctranslate2", "--glossary", "TERMS"], ["--glossary: the ctranslate2 engine does not have"]),
    (["--engine", "ctranslate2", "--prefix", "TERMS"], ["--prefix: the ctranslate2 engine does not have"]),
    (["--engine", "ctranslate2", "--abstain", "0.5"], ["--abstain: the ctranslate2 engine does not have"]),
    (["--engine", "ctranslate2", "--search", "sampling"], ["decoding.search", "ctranslate2 engine"]),
    (["--engine", "ctranslate2", "decoding.shortlist=true"], ["decoding.shortlist", "ctranslate2 engine"]),
    (["--engine", "onnx"], ["is an export to ctranslate2", "--engine ctranslate2"]),
    (["--alignment"], ["--alignment: the ctranslate2 engine does not have attention"]),
])  # fmt: skip
def test_requests_beyond_an_engine_are_one_line(words, parts, export, texts, tmp_path):
    (tmp_path / "terms.tsv").write_text("man\tMann\n", encoding="utf-8")
    words = [tmp_path / "terms.tsv" if word == "TERMS" else word for word in words]
    assert unsaid(regard("predict", export, "-i", texts, *words), *parts) == []


def test_explain_does_not_open_an_export(export):
    done = regard("explain", export, TEXT)
    assert unsaid(done, "is an export to ctranslate2", "--engine ctranslate2", "the run that was exported") == []


def test_shards_are_answered_by_an_engine(trained, export, texts, tmp_path):
    wanted = printed("predict", trained, "-i", texts)
    regard("predict", export, texts, "--engine", "ctranslate2", "--shards", 2, "--workers", 1, "-o", tmp_path / "out")
    assert (tmp_path / "out" / texts.name).read_text("utf-8") == wanted


@pytest.mark.parametrize("changes", [[], ["init.own_vocabulary=true", "data.dev_fraction=0.2"]], ids=str)
def test_imported_run_is_trained_further(changes, imported, tmp_path):
    for side, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("\n".join(toy_lines(side, 60)) + "\n", encoding="utf-8")
    words = ["--source", tmp_path / "a.en", "--target", tmp_path / "a.de", "--run", tmp_path / "run", "--quiet"]
    done = regard("train", "--from", imported, *words, *changes, "training.max_updates=2", "training.validate_every=1")
    assert done.code == 0, done.said
    assert printed("predict", tmp_path / "run", TEXT).strip()
    card = printed("card", tmp_path / "run")
    assert "language: [en, de]\nlicense: cc-by-sa-4.0\n" in card
    assert "Trained further, imported from huggingface: opus" in card


def test_mean_of_imported_runs_has_their_licence(imported, tmp_path):
    assert regard("average", imported, imported, "-o", tmp_path / "mean").code == 0
    assert "\nlicense: cc-by-sa-4.0\n" in printed("card", tmp_path / "mean")


def test_imported_run_is_explained(imported):
    told = printed("explain", imported, TEXT, "--by", "lrp")
    assert "▁dog" in told or "dog" in told
    assert printed("explain", imported, TEXT).strip()


def asked(address, path, body):
    """The answer of a server as JSON."""
    request = Request(f"{address}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        return json.loads(answer.read())


def test_imported_run_and_export_are_served(imported, trained, export, tmp_path):
    wanted = printed("predict", export, "--engine", "ctranslate2", TEXT).strip()
    served = Process(tmp_path, export, "--port", 0)
    try:
        body = {"q": TEXT, "source": "en", "target": "de"}
        assert asked(served.ready(), "translate", body)["translatedText"] == wanted
        found = asked(served.address(), "v1/translate", body)
        assert found["texts"][0]["translatedText"] == wanted
        with urlopen(f"{served.address()}v1/models") as models:
            assert [model["explains"] for model in json.load(models)["models"]] == [False]
        with pytest.raises(HTTPError, match="400") as refused:
            asked(served.address(), "v1/translate", {**body, "explain": True})
        assert b"has no attention weights" in refused.value.read()
        with pytest.raises(HTTPError, match="400"):
            asked(served.address(), "v1/explain", {**body, "source_text": TEXT, "target_text": wanted})
    finally:
        served.end()
    (tmp_path / "import").mkdir()
    served = Process(tmp_path / "import", imported, export, "--port", 0)  # a run, and an export with its engine
    try:
        assert asked(served.ready(), "translate", body)["translatedText"] == printed("predict", imported, TEXT).strip()
        with urlopen(f"{served.address()}v1/models") as models:
            found = {model["name"]: model for model in json.load(models)["models"]}
        assert {name: model["explains"] for name, model in found.items()} == {imported.name: True, export.name: False}
        assert all(model["parameters"] > 0 for model in found.values())
        found = asked(served.address(), "v1/translate", {**body, "model": export.name})
        assert found["texts"][0]["translatedText"] == wanted
    finally:
        served.end()


def test_server_refuses_an_export_without_its_engine(export, tmp_path):
    assert unsaid(regard("serve", export, "--engine", "nosuch"), "engine: there is no 'nosuch'") == []
    assert unsaid(regard("serve", tmp_path, "--engine", "ctranslate2"), "is not a run folder") == []
