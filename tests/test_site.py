"""The site is built in strict mode, and has no dead link and no request outside."""

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml
from browsing import Visit, chromium
from doc_blocks import check_python

from regard.experiment.settings_help import describe

ROOT = Path(__file__).parents[1]
RIGHT = {"why-this-word": "'Der alte Mann liest ein Buch.'"}  # a notebook explains a correct translation
WIDTHS = (1280, 390)
PAGES = ("index.html", "docs/quickstart.html", "docs/settings/training.html", "docs/concepts/attention.html")


@pytest.fixture(scope="module")
def build():
    spec = spec_from_file_location("build", ROOT / "website/build.py")
    module = module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "website"))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "website"))
    return module


@pytest.fixture
def notebooks(build):
    return build.notebooks


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Everything built by the command that `make docs` runs, which fails on a dead link or a request outside."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "website/build.py", str(folder), "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_every_page_is_built(site):
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks/notes").glob("*.md")]
    wanted = {
        path.relative_to(ROOT).with_suffix(".html").as_posix().replace("README.html", "index.html") for path in pages
    }
    assert [name for name in sorted(wanted) if not (site / name).is_file()] == []
    for name in ("command-line", "python", "http"):
        assert (site / f"docs/reference/{name}.html").is_file()


def test_every_page_is_in_the_navigation():
    named = set(re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    made = ("docs/settings", "docs/catalogue")
    pages = {
        path.relative_to(ROOT).as_posix()
        for folder in ("docs", "benchmarks/notes")
        for path in (ROOT / folder).rglob("*.md")
    }
    assert [page for page in sorted(pages) if not page.startswith(made) and page not in named] == []


@pytest.mark.parametrize("path", sorted((ROOT / "docs/notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_code_of_a_notebook_compiles_and_names_of_regard_exist(notebooks, path):
    cells = notebooks.read(path.read_text(encoding="utf-8")).cells
    assert cells[0].source.startswith("# ")
    check_python("\n".join(cell.source for cell in cells if cell.cell_type == "code"))


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "docs/notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_records(notebooks, path, tmp_path):
    notebook = notebooks.execute(notebooks.read(path.read_text(encoding="utf-8")), tmp_path)
    shown = [
        output.get("data", {}).get("text/plain", "") for cell in notebook.cells for output in cell.get("outputs", [])
    ]
    assert RIGHT.get(path.stem, "") in "".join(shown)
    text, frames = notebooks.page(notebook, path.stem)
    assert any("alignment" in frame for frame in frames.values()) or "<table" in text
    assert "srcdoc" not in text


@pytest.mark.slow
def test_the_gallery_is_made(build, tmp_path):
    build.gallery.write(tmp_path / "pages", tmp_path / "runs")
    pages = sorted((tmp_path / "pages" / build.gallery.FOLDER).glob("*.html"))
    assert [page.stem for page in pages] == sorted(one.name for one in build.gallery.SHOWN)


def test_what_is_dead_or_outside_is_found(build, tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="x">X</h1><a href="b.html">b</a><a href="#y">y</a><a href="#x">x</a>'
        '<a href="https://example.org/">fine</a><script src="https://example.org/a.js"></script>',
        encoding="utf-8",
    )
    (tmp_path / "a.css").write_text("@font-face { src: url(//example.org/f.woff) }", encoding="utf-8")
    found = sorted(build.check(tmp_path))
    assert [line.split()[:2] for line in found] == [
        ["a.css:", "loads"], ["a.html:", "#y"], ["a.html:", "b.html"], ["a.html:", "loads"],
    ]  # fmt: skip


def test_headings_have_no_codes():
    heading = re.compile(r"^#.*\b[A-Z]\d\d\b.*$", re.MULTILINE)
    for folder in ("docs", "benchmarks/notes"):
        for path in (ROOT / folder).rglob("*.md"):
            assert heading.findall(path.read_text(encoding="utf-8")) == [], path


def test_settings_beside_those_of_other_toolkits_exist():
    page = (ROOT / "docs/reference/other-toolkits.md").read_text(encoding="utf-8")
    settings = re.findall(r"^\| `([\w.]+\.[\w.]+)`", page, re.MULTILINE)
    assert len(settings) > 20
    for setting in settings:
        assert describe(setting)[1], setting


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_and_ask_for_nothing_outside(site, width):
    with chromium() as browser:
        for name in PAGES:
            for scheme in ("light", "dark"):
                visit = Visit(
                    browser, (site / name).as_uri(), viewport={"width": width, "height": 800}, color_scheme=scheme
                )
                visit.tab.wait_for_timeout(500)
                assert visit.faults == [], name
                assert visit.tab.evaluate("document.documentElement.scrollWidth") <= width, (name, width)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["早停", "dropout"])
def test_search_works_in_a_page_opened_from_a_folder(site, word):
    with chromium() as browser:
        visit = Visit(browser, (site / "index.html").as_uri())
        visit.tab.get_by_role("button", name="Search").first.click()
        field = visit.tab.get_by_role("combobox", name="Search")
        field.press_sequentially(word)
        visit.tab.get_by_text(re.compile(r"^[1-9]\d* results?$")).wait_for()
        assert field.input_value() == word
        assert visit.faults == []


def test_a_line_break_between_chinese_words_is_not_a_space(build):
    text = "打分。\n所有方法\n`lrp` 都\n  可用\n\n## 下一节\n\n- 一\n- 二\n\nA line\nof English"
    assert build.joined(text) == "打分。所有方法\n`lrp` 都可用\n\n## 下一节\n\n- 一\n- 二\n\nA line\nof English"


def test_the_config_of_the_site_loads_no_fonts():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert config["theme"]["font"] is False


@pytest.mark.parametrize(
    "page", [path.relative_to(ROOT) for path in ROOT.rglob("*.zh-CN.md") if "build" not in path.parts]
)
def test_chinese_has_the_commands_of_the_english_page(page):
    block = re.compile(r"^```(?:bash|shell|sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    english, chinese = (
        block.findall((ROOT / name).read_text(encoding="utf-8")) for name in (str(page).replace(".zh-CN", ""), page)
    )
    assert [re.sub(r"\s+#.*", "", text) for text in english] == [re.sub(r"\s+#.*", "", text) for text in chinese]
