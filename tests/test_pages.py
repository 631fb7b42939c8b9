"""The pages of the project: links lead somewhere, and both READMEs say the same."""

import re
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

import pytest

from regard.results import AttentionMap, Explanation, Prediction

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks/notes").glob("*.md")])
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff*][,;:(]|[,;(][\u4e00-\u9fff]|\)[,;:]")  # marks beside Chinese


def prose(name: str) -> str:
    return CODE.sub("", (ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", CODE.sub("", page.read_text(encoding="utf-8")))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_fence_has_a_language(page):
    fences = re.findall(r"^ *```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) % 2 == 0
    assert [number for number, language in enumerate(fences[::2]) if not language.strip()] == []


def test_both_readmes_have_the_same_sections_and_points():
    english, chinese = prose("README.md"), prose("README.zh-CN.md")
    for mark in (r"^## ", r"^- \*\*", r"^\| "):
        assert len(re.findall(mark, english, re.MULTILINE)) == len(re.findall(mark, chinese, re.MULTILINE)), mark


def test_the_readme_has_what_a_newcomer_needs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    wanted = ("git clone", "Python 3.11", "CPU", "minutes", "docs/data.md", "docs/tutorial.md", "docs/settings.md")
    assert [word for word in wanted if word not in text] == []


def test_the_page_of_python_names_every_field():
    page = (ROOT / "docs/how-to/python.md").read_text(encoding="utf-8")
    named = [field.name for kind in (Prediction, Explanation, AttentionMap) for field in fields(kind)]
    assert [name for name in named if f"`{name}`" not in page] == []


def test_every_page_is_in_the_map():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    made = ("settings/", "catalogue/", "README.md")  # listed by their own indexes
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert [page for page in sorted(pages) if not page.startswith(made) and f"]({page})" not in index] == []


CHINESE = [path.relative_to(ROOT).as_posix() for path in PAGES if path.name.endswith(".zh-CN.md")]


@pytest.mark.parametrize("name", CHINESE)
def test_chinese_is_as_new_as_the_english(name):
    """A Chinese page ends with the digest of the English text that it translates."""
    english = (ROOT / name.replace(".zh-CN", "")).read_bytes()
    wanted = f"<!-- translates {sha256(english).hexdigest()[:12]} -->"
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text.endswith(f"{wanted}\n"), f"{name}: translate what changed in the English, then end it with {wanted}"


@pytest.mark.parametrize("name", CHINESE)
def test_chinese_has_full_width_marks(name):
    assert HALF_WIDTH.findall(prose(name)) == []
