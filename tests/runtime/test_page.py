"""A translator in one page: what stands in it, and that it translates in Node and in a browser."""

import json
import re
import shutil
from importlib.util import find_spec

import pytest
from foreign_translators import toy_lines

from regard.errors import RegardError
from regard.exchange import export_folder, format_named, page
from regard.predictor import load
from regard.runs.training import train

TEXTS = toy_lines(0, 40, "test")
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("\n".join(toy_lines(side, 200)) + "\n", encoding="utf-8")
    settings = ["model.dim=32", "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 32}",
                "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 32}", "device=cpu",
                "text.tokenizer={name: subwords, size: 400}", "training.max_updates=60"]  # fmt: skip
    train(changes=settings, source=folder / "a.en", target=folder / "a.de", run=folder / "run", quiet=True)
    return load(folder / "run")


def exported(predictor, folder, **options):
    return export_folder(format_named("html"), predictor, folder, texts=TEXTS, say=lambda line: None, **options)


def test_page_is_one_file_that_asks_for_nothing(predictor, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "engine_of_page", lambda: b"\0asm")
    exported(predictor, tmp_path / "out", count=0)
    text = (tmp_path / "out" / page.PAGE_NAME).read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    policy = re.search('Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy and "'wasm-unsafe-eval'" in policy and "connect-src" not in policy
    settings = json.loads(re.search(r'id="settings">([^<]*)<', text)[1])
    assert settings["program"] == "runtime" and len(text) < 1_000_000
    assert "worker-src 'self' blob:" in policy and "manifest-src data:" in policy
    assert (
        re.search(r'rel="icon" href="data:image/svg\+xml,%3Csvg', text)
        and page.PAGE_NAME in (tmp_path / "out" / "worker.js").read_text()
    )
    assert sorted(
        one.name for one in (tmp_path / "out").iterdir() if one.suffix in (".html", ".js", ".webmanifest")
    ) == [page.PAGE_NAME, "worker.js"]


def test_hostile_names_are_text(predictor, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "engine_of_page", lambda: b"\0asm")
    monkeypatch.setattr(type(predictor.run.experiment.data), "language_pair", lambda self: ("<script>", "</title>"))
    exported(predictor, tmp_path / "out", count=0)
    text = (tmp_path / "out" / page.PAGE_NAME).read_text(encoding="utf-8")
    assert "<script> →" not in text and "&lt;script&gt; → &lt;/title&gt;" in text


def test_missing_compiler_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(page, "wasm_name", lambda: "none.wasm")
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    with pytest.raises(RegardError, match=r"\[page\]"):
        page.engine_of_page()


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ziglang") or not shutil.which("node"), reason="ziglang or Node is not installed")
def test_texts_are_those_of_the_native_engine(predictor, tmp_path):
    exported(predictor, tmp_path / "out", count=0)
    native = format_named("runtime", {"quantization": "int8", "tables": "int8"})
    export_folder(native, predictor, tmp_path / "native", count=0, say=lambda line: None)
    ours = page.PageProgram(tmp_path / "out").translate(TEXTS)
    theirs = native.program(tmp_path / "native", predictor).translate(TEXTS)
    assert sum(one == other for one, other in zip(ours, theirs, strict=True)) >= 39


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ziglang") or not CHROMIUM, reason="ziglang or chromium is not installed")
@pytest.mark.parametrize("width", [320, 1280])
def test_page_translates_in_a_browser_without_a_network(width, predictor, tmp_path):
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    exported(predictor, tmp_path / "out", count=0)
    with sync_playwright() as program:
        browser = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown, faults, asked = browser.new_page(viewport={"width": width, "height": 800}), [], []
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.on("request", lambda request: asked.append(request.url))
        shown.goto((tmp_path / "out" / page.PAGE_NAME).as_uri())
        shown.fill("#text", f"{TEXTS[0]}\n\n{TEXTS[1]}")
        shown.wait_for_selector("#result button")
        found = shown.eval_on_selector_all("#result p", "rows => rows.map((row) => row.textContent.trim())")
        ours = [one.text for one in load(predictor.run.path, ["decoding.precision=int8"]).predict([TEXTS[0], TEXTS[1]])]
        assert (
            len(found) == 3
            and found[1] == ""
            and [bool(one) for one in (found[0], found[2])] == [bool(one) for one in ours]
        )
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert (faults, len(asked)) == ([], 1)
        assert shown.locator("#viewer [role=img], #viewer svg").count() and not Axe().run(shown).response["violations"]
        browser.close()
