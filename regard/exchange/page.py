"""A translator in one HTML page: the engine as WebAssembly, the weights in 8 bits, and the view of explanations."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.errors import RegardError
from regard.exchange.format import Format, Program
from regard.exchange.runtime import RuntimeFormat
from regard.explain.frame import bundle, filled, framed, static
from regard.explain.page import html_json
from regard.predictor import Predictor
from regard.predictor.engines import translator
from regard.runtime.build import build_wasm, wasm_name
from regard.runtime.compiled import LOG
from regard.runtime.engine import LIMITS, REALS, SHAPE, STOPS
from regard.runtime.folder import SETTINGS_NAME
from regard.runtime.library import FOLDER
from regard.runtime.translator import WEIGHTS_NAME
from regard.runtime.user_cache import made_folder, read_own

PAGE_NAME = "translator.html"
_PACKAGE = "regard.exchange"


class PageFormat(Format):
    """translator.html, which works from disk without a network; over HTTPS it can be installed as an app."""

    name = "page"
    aliases = "html, wasm, webassembly"
    usage = "Open `translator.html` in a browser: it needs no network."
    reads = False
    program_hint = "Node runs it"
    min_similarity = 0.9  # 8 bits round

    def write(self, predictor: Predictor, folder: Path) -> None:
        engine = engine_of_page()
        with TemporaryDirectory() as made:
            inner = Path(made)
            RuntimeFormat(quantization="int8", tables="int8").write(predictor, inner)
            settings = json.loads((inner / SETTINGS_NAME).read_text(encoding="utf-8"))
            tables = {name: json.loads((inner / name).read_text(encoding="utf-8"))
                      for name in {settings["source"], settings["target"]}}  # fmt: skip
            weights = (inner / WEIGHTS_NAME).read_bytes()
        languages = [one for one in predictor.run.experiment.data.language_pair() if one]
        title = " → ".join(languages) or predictor.run.path.name
        fields = {
            "settings": html_json(settings),
            "pieces": html_json(tables),
            "engine": base64.b64encode(engine).decode(),
            "weights": base64.b64encode(weights).decode(),
            "about": escape(f"{title} · SHA-256 {predictor.run.weights_digest[:16]}"),
        }
        page = framed(
            filled(static("translator_page.html", _PACKAGE), fields),
            title=title,
            script=_script(),
            style=static("viewer.css") + static("translator_page.css", _PACKAGE),
            tools='<button type="button" id="language"></button><button type="button" id="theme"></button>',
            images="data: blob:",
            app=True,
        )
        (folder / PAGE_NAME).write_text(page, encoding="utf-8")
        name = re.sub(r"\W+", "-", title)
        fields = {"name": name, "digest": hashlib.sha256(page.encode()).hexdigest()[:16], "page": PAGE_NAME}
        (folder / "worker.js").write_text(filled(static("worker.js", _PACKAGE), fields), encoding="utf-8")

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        return PageProgram(folder) if shutil.which("node") else None


class PageProgram(Program):
    """The page in Node."""

    def __init__(self, folder: Path) -> None:
        self.name, self._folder = "the page in Node", folder

    def translate(self, texts: Sequence[str]) -> list[str]:
        with TemporaryDirectory() as made:
            check = Path(made) / "check.js"
            check.write_text(static("page_check.js", _PACKAGE), encoding="utf-8")
            command = ["node", str(check), str(self._folder / PAGE_NAME)]
            done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RegardError(f"page: Node cannot run it: {done.stderr.strip()[-300:]}")
        found: list[str] = json.loads(done.stdout)
        return found


def engine_of_page() -> bytes:
    """Return the engine as WebAssembly: built ahead, or now, once. Raises RegardError without ziglang."""
    name = wasm_name()
    if (FOLDER / name).is_file():
        return (FOLDER / name).read_bytes()
    try:
        if (made_folder() / name).is_file():
            return read_own(made_folder() / name)
        if find_spec("ziglang") is None:
            raise RegardError("page: the engine has to be compiled for it, once: pip install -e '.[page]'")
        LOG.info("compiling the engine of a page, once (half a minute)")
        return build_wasm(made_folder()).read_bytes()
    except (OSError, RuntimeError) as error:
        raise RegardError(f"page: the engine cannot be compiled: {error}") from error


def _script() -> str:
    """The program of the page; what Node checks stands between two lines."""
    tables = Path(translator.__file__).with_name("translator.js").read_text(encoding="utf-8")
    names = {"SHAPE": SHAPE, "REALS": REALS, "STOPS": STOPS, "LIMITS": LIMITS}
    given = f"const {{ {', '.join(names)} }} = {json.dumps(names)};\n"
    search = f"{tables}{given}{static('wasm_engine.js', _PACKAGE)}{static('page_search.js', _PACKAGE)}"
    return (
        f'// begin of the search\nfunction search(port) {{\n"use strict";\n{search}}}\n// end of the search\n'
        f"{bundle('viewer.js')}\n{static('translator_page.js', _PACKAGE)}"
    )
