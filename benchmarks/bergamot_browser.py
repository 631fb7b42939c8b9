"""A Firefox folder translated in a browser: Bergamot's engine in Chromium beside the same engine in Node, and Regard.

    npm install @browsermt/bergamot-translator; pip install playwright, with a chromium on the machine
    python benchmarks/bergamot_browser.py FOLDER RUN TEXT [--lines 200] [--package FOLDER] [--json FILE]

FOLDER is what `regard export RUN --to firefox -o FOLDER` writes. The page and the package are served on loopback, and
nothing else is reached. Lines are compared with those of Regard on RUN (greedy search, its own precision).
"""

import functools
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from program import machine, markdown, options, save

import regard
from regard.data.readers.lines import read_lines
from regard.exchange.marian.folder import find_files, ungzipped

PAGE = """<!doctype html><meta charset="utf-8"><script type="module">
import {BatchTranslator, TranslatorBacking} from './package/translator.js';
const read = async name => (await fetch(`./model/${name}`)).arrayBuffer();
class OneModel extends TranslatorBacking {
    async loadModelRegistery() { return [{from: 'xx', to: 'yy', files: {}}]; }
    async loadTranslationModel() {
        const vocabs = await Promise.all(vocabularies.map(read));
        const model = await read('model'), config = {'gemm-precision': gemm};
        return {model, shortlist: new ArrayBuffer(0), vocabs, qualityModel: null, config};
    }
}
let gemm, vocabularies;
window.translated = async (lines, given, names) => {
    [gemm, vocabularies] = [given, names];
    const options = {cacheSize: 0, workers: 1, batchSize: 64, pivotLanguage: null};
    const engine = new BatchTranslator(options, new OneModel(options));
    const translate = text => engine.translate({from: 'xx', to: 'yy', text, html: false});
    const begin = performance.now();
    await translate('.');
    const loaded = performance.now();
    const found = await Promise.all(lines.map(translate));
    const seconds = (performance.now() - loaded) / 1000;
    return {texts: found.map(one => one.target.text), start: (loaded - begin) / 1000, seconds};
};
window.ready = true;
</script>"""


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints no requests."""

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
    finally:
        server.shutdown()


def in_browser(folder: Path, package: Path, lines: list[str]) -> dict[str, Any]:
    """Return the texts of Bergamot in Chromium, its seconds to the first answer and of all others."""
    files = find_files(folder)
    gemm = "int8shiftAlphaAll" if ".alphas." in files.model.name else "int8shiftAll"
    with tempfile.TemporaryDirectory() as made, sync_playwright() as driver:
        place = Path(made)
        (place / "index.html").write_text(PAGE, encoding="utf-8")
        shutil.copytree(package, place / "package")
        (place / "model").mkdir()
        names = [f"vocab{number}" for number, _ in enumerate(files.vocabularies)]
        for name, file in zip(("model", *names), (files.model, *files.vocabularies), strict=True):
            with ungzipped(file) as plain:
                shutil.copyfile(plain, place / "model" / name)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with served(place) as address:
            page = browser.new_page()
            page.goto(address)
            page.wait_for_function("window.ready === true", timeout=60_000)
            page.set_default_timeout(600_000)
            found: dict[str, Any] = page.evaluate(
                "([lines, gemm, names]) => window.translated(lines, gemm, names)", [lines, gemm, names]
            )
        browser.close()
    return found


def main() -> None:
    """The command line."""
    parser = options(__doc__, lines=200)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("text", type=Path, metavar="TEXT")
    parser.add_argument("--package", type=Path, default=Path("node_modules/@browsermt/bergamot-translator"))
    chosen = parser.parse_args()
    lines = [*islice(read_lines(chosen.text), chosen.lines)]
    found = in_browser(chosen.folder, chosen.package, lines)
    own = [one.text for one in regard.load(chosen.run, ["decoding.search=greedy"]).predict(lines)]
    equal = sum(a == b for a, b in zip(found["texts"], own, strict=True))
    cells = [f"{equal} of {len(lines)}", f"{found['start']:.2f}", f"{len(lines) / found['seconds']:.0f}"]
    shown = markdown(["equal texts", "start, s", "sentences/s"], [cells])
    print(shown)
    save(chosen.json, {**machine(1), "equal": equal, **found, "tables": {"In a browser": shown}})


if __name__ == "__main__":
    main()
