"""The documentation site: python website/build.py [FOLDER] [--quick]. FOLDER takes pages/ and site/ (default: build).

Notebooks run and the gallery is made, which trains small models for some minutes; with --quick notebooks have no
outputs and the gallery is left out.

Pages are copied as they lie in the repository, so that their links need no change. A linked file that is not a page
is copied as text. Zensical builds in strict mode; a dead link, a dead anchor or a request outside ends the build.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import gallery
import notebooks
import yaml
from reference import pages as generated

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "docs/**/*.md", "benchmarks/notes/*.md")
FILES = ("docs/**/*.png", "docs/**/*.svg", "benchmarks/notes/*.png", "website/*.js", "website/*.css")
SETTINGS, CATALOGUE = "docs/settings", "docs/catalogue"  # an index, and a folder of pages beside it
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
CHINESE = r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
CHINESE_BREAK = re.compile(rf"(?<={CHINESE})\n *(?={CHINESE})")
LINK = re.compile(r"(?<=\]\()([^()\s#]+)")
LOADING = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src"}
STYLE_URL = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"]?(?:https?:)?//")
CHOOSER = '<div class="chooser" data-chooser lang="{}"></div>\n\n'  # filled by website/chooser.js
FIRST_PAGES = {"README.md": "en", "README.zh-CN.md": "zh-CN"}
SEGMENTED = ["en", "zh"]  # Chinese has no spaces: the browser's own segmenter finds its words


def main(folder: Path, *, quick: bool = False) -> None:
    """Stage the pages, build them, and check what was built."""
    config = stage(folder, quick=quick)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(config)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})
    if built.returncode:
        sys.exit(f"{built.stdout}{built.stderr}\n{config}: the site is not built: mend the pages named above")
    site = folder / "site"
    segment(site)
    if problems := list(check(site)):
        sys.exit("\n".join([*problems, f"{site}: {len(problems)} problems"]))
    print(f"{site / 'index.html'}: {sum(1 for _ in site.rglob('*.html'))} pages")


def stage(folder: Path, *, quick: bool = False) -> Path:
    """Copy pages and files to FOLDER/pages; return the config, in which the generated pages are listed."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for pattern in (*PAGES, *FILES):
        for path in ROOT.glob(pattern):
            _copy(path, pages / path.relative_to(ROOT))
    for name, text in generated().items():
        (pages / name).write_text(text, encoding="utf-8")
    notebooks.write(ROOT, pages, run=not quick)
    if not quick:
        gallery.write(pages, folder / "gallery")
    for page in pages.rglob("*.md"):
        _copy_linked(page, pages)
    for name, language in FIRST_PAGES.items():
        before, heading, after = (pages / name).read_text(encoding="utf-8").partition("## ")
        (pages / name).write_text(before + CHOOSER.format(language) + heading + after, encoding="utf-8")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    config["theme"]["custom_dir"] = str(ROOT / "website/theme")
    config |= {"docs_dir": "pages", "site_dir": "site", "nav": [_with_generated(entry) for entry in config["nav"]]}
    if quick:
        config["nav"] = _without(gallery.PAGE, config["nav"])
    path = folder / "mkdocs.yml"
    path.write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def _copy_linked(page: Path, pages: Path) -> None:
    """Bring the files that a page links to: a browser shows .txt, and would save .yaml."""
    here = ROOT / page.relative_to(pages).parent

    def place(found: re.Match[str]) -> str:
        target = (here / found[1]).resolve()
        if "://" in found[1] or (pages / target.relative_to(ROOT)).is_file() or not target.exists():
            return found[1]
        if (pages / target.relative_to(ROOT).with_suffix(".md")).is_file() and target.suffix == ".py":
            return f"{found[1].removesuffix('.py')}.md"  # a notebook
        copied = pages / f"{target.relative_to(ROOT)}.txt"
        if target.is_dir():
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_text("\n".join(sorted(path.name for path in target.iterdir())) + "\n", encoding="utf-8")
        else:
            _copy(target, copied)
        return f"{found[1].rstrip('/')}.txt"

    text = page.read_text(encoding="utf-8")
    parts, codes = CODE.split(text), CODE.findall(text)
    linked = [joined(LINK.sub(place, part)) for part in parts]
    page.write_text("".join(a + b for a, b in zip(linked, [*codes, ""], strict=True)), encoding="utf-8")


def joined(text: str) -> str:
    """Join lines that end and begin with Chinese: a browser would show the break as a space."""
    return CHINESE_BREAK.sub("", text)


def _with_generated(entry: object) -> object:
    """Fill the empty lists of the navigation with the pages that are made out of the code."""
    match entry:
        case {"Settings": []}:
            return {"Settings": _pages_of(SETTINGS)}
        case {"Catalogue": []}:
            return {"Catalogue": _pages_of(CATALOGUE)}
        case dict():
            return {name: _with_generated(inner) for name, inner in entry.items()}
        case list():
            return [_with_generated(inner) for inner in entry]
    return entry


def _without(page: str, entries: list[object]) -> list[object]:
    """Return the navigation without a page."""
    kept = [entry for entry in entries if not (isinstance(entry, dict) and page in entry.values())]
    return [
        {name: _without(page, inner) if isinstance(inner, list) else inner for name, inner in entry.items()}
        if isinstance(entry, dict)
        else entry
        for entry in kept
    ]


def _pages_of(folder: str) -> list[str | dict[str, str]]:
    """Return the index of a folder, and its pages with the first words of their titles."""
    pages = sorted((ROOT / folder).glob("*.md"))
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ").partition(":")[0] for path in pages]
    return [f"{folder}.md", *({title: f"{folder}/{path.name}"} for title, path in zip(titles, pages, strict=True))]


def segment(site: Path) -> None:
    """Let the search split Chinese text into words."""
    path = site / "search.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    index["config"]["lang"] = SEGMENTED
    text = json.dumps(index, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    (site / "search.js").write_text(f"var __index = {text}", encoding="utf-8")


# What was built


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.anchors, self.links, self.loads = path, {""}, list[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a link check needs."""
        found = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := found.get(key)))
        if tag == "a" and (link := found.get("href")):
            self.links.append(link)
        loads = tag != "link" or found.get("rel") not in ("alternate", "canonical", "prev", "next")
        if loads and (link := found.get(LOADING.get(tag, ""))):
            self.loads.append(link)


def check(site: Path) -> Iterator[str]:
    """Yield dead links, dead anchors, and whatever would be fetched from outside."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: loads {link}" for link in page.loads if urlsplit(link).netloc)
        for link in {*page.links, *page.loads}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{name}: {link} is not a file of the site"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors | {"__skip"}:
                yield f"{name}: {link} has no such anchor"
    for path in site.rglob("*.css"):
        if STYLE_URL.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: loads a style or a font from outside"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build", help="folder of pages/ and site/")
    parser.add_argument("--quick", action="store_true", help="run no notebooks and make no gallery")
    chosen = parser.parse_args()
    main(chosen.folder.resolve(), quick=chosen.quick)
