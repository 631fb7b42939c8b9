"""A translator in one page: what stands in it, and that it translates in Node and in a browser."""

import json
import re
import shutil
import subprocess
from importlib.util import find_spec

import pytest
from foreign_translators import toy_lines

from regard.errors import RegardError
from regard.exchange import export_folder, format_named, page
from regard.explain.frame import static
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


STUBS = """
const Regard = { pieceTable: () => ({ encode: () => [7], decode: () => "", listed: [], first: [], kind: "words" }) };
const WasmEngine = { open: async () => ({ translate: ([ids]) => [{ ids, score: 0, finished: true, logProbs: [] }] }) };
"""
NEWER = """
const heard = [], port = { postMessage(message) {
  if (message.ready) port.onmessage({ data: [{ text: "a" }, { text: "b" }, { text: "c" }] });
  else heard.push(message.text);
  if (heard.length === 1) port.onmessage({ data: [{ text: "a" }, { text: "d" }, { text: "c" }] });
} };
search(port);
const settings = JSON.stringify({ max_source: 9, shape: { end: 2 } });
port.onmessage({ data: { open: { settings, pieces: "{}", engine: "", weights: "" } } });
setTimeout(() => console.log(heard.join("")), 200);
"""


@pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
def test_what_is_typed_next_replaces_the_search(tmp_path):
    program = f"function search(port) {{{STUBS}{static('page_search.js', 'regard.exchange')}}}{NEWER}"
    (tmp_path / "program.js").write_text(program, encoding="utf-8")
    found = subprocess.run(["node", tmp_path / "program.js"], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "adc"  # b was not begun; a, asked for again meanwhile, is not searched twice


WORKERS = """
const LATE = 20, workers = [], byId = () => ({ textContent: "" }), search = () => {};
class Worker {
  constructor() { workers.push(this); }
  postMessage() {}
  terminate() { this.isEnded = true; }
}
"""
ASKS = """
const searcher = new Searcher(() => {}), jobs = (...texts) => texts.map((text) => ({ text }));
const hear = (data) => workers.at(-1).onmessage({ data });
const wait = () => new Promise((resolve) => { setTimeout(resolve, 60); });
const ask = async (...texts) => { searcher.ask(jobs(...texts)); await wait(); };
(async () => {
  const begun = [], count = () => begun.push(workers.length);
  await ask("a"); await ask("b"); count(); // it is being opened
  hear({ ready: true });
  await ask("c", "b"); await ask("b", "d"); count(); // b is searched and still wanted
  hear({ text: "b", row: {} });
  await ask("d", "e"); count(); // d is searched now
  await ask("e"); count(); // d is not wanted any more
  await ask("f"); count(); // the second worker is being opened
  hear({ ready: true });
  searcher.ask([]); await ask("g"); count(); // f is not wanted any more, however often is asked
  console.log(begun.join(" "), workers.filter(({ isEnded }) => isEnded).length);
})();
"""


@pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
def test_a_worker_ends_only_where_its_line_is_not_wanted_any_more(tmp_path):
    searcher = re.search(r"^class Searcher \{.*?^\}", static("translator_page.js", "regard.exchange"), re.M | re.S)[0]
    (tmp_path / "program.js").write_text(WORKERS + searcher + ASKS, encoding="utf-8")
    found = subprocess.run(["node", tmp_path / "program.js"], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1", "1", "1", "2", "2", "3", "2"]


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ziglang") or not shutil.which("node"), reason="ziglang or Node is not installed")
def test_texts_are_those_of_the_native_engine(predictor, tmp_path):
    exported(predictor, tmp_path / "out", count=0)
    native = format_named("runtime", {"quantization": "int8", "tables": "int8"})
    export_folder(native, predictor, tmp_path / "native", count=0, say=lambda line: None)
    texts = [*TEXTS, TEXTS[0], ""]  # equal lines are one to the page
    ours = page.PageProgram(tmp_path / "out").translate(texts)
    theirs = native.program(tmp_path / "native", predictor).translate(texts)
    assert (ours[-2:], len(ours)) == ([ours[0], ""], len(texts))
    assert sum(one == other for one, other in zip(ours, theirs, strict=True)) >= 39


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ziglang") or not CHROMIUM, reason="ziglang or chromium is not installed")
@pytest.mark.parametrize("width", [320, 390, 1280])
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
        shown.fill("#text", "\n".join(f"{number} {text}" for number in range(9) for text in TEXTS))
        shown.wait_for_selector("#result button")
        shown.fill("#text", f"{TEXTS[0]}\n\n{TEXTS[1]}")  # what was typed before is not waited for
        shown.wait_for_selector("#result[aria-busy=false] p:nth-child(3):last-child")
        found = shown.eval_on_selector_all("#result p", "rows => rows.map((row) => row.textContent.trim())")
        ours = [one.text for one in load(predictor.run.path, ["decoding.precision=int8"]).predict([TEXTS[0], TEXTS[1]])]
        assert (
            len(found) == 3
            and found[1] == ""
            and [bool(one) for one in (found[0], found[2])] == [bool(one) for one in ours]
        )
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert (faults, {one.partition(":")[0] for one in asked}) == ([], {"file", "blob"})
        shown.wait_for_selector("#viewer [role=img], #viewer svg")
        assert not Axe().run(shown).response["violations"]
        browser.close()
