"""Notebooks: docs/notebooks/NAME.py, cells between `# %%` marks → a page with outputs and a file .ipynb.

They lie in the repository as Python, so that a change reads well; outputs are made when the site is built.
"""

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = "docs/notebooks"
MARKDOWN = "# %% [markdown]"
SECONDS = 900  # in which a cell must end, on a machine with much else to do
FRAME = '<iframe src="{name}" title="{title}" sandbox="allow-scripts allow-downloads" class="notebook-output"></iframe>'


def sources(root: Path) -> list[Path]:
    """Return the notebooks of the project."""
    return sorted((root / FOLDER).glob("*.py"))


def read(text: str) -> nbformat.NotebookNode:
    """Return the notebook of a text with `# %%` marks. Raises ValueError for text before the first mark."""
    before, *parts = f"\n{text}".split("\n# %%")
    if before.strip():
        raise ValueError(f"a notebook begins with '{MARKDOWN}', not with '{before.strip().splitlines()[0]}'")
    return nbformat.v4.new_notebook(cells=[_cell(number, *part.split("\n", 1)) for number, part in enumerate(parts)])


def _cell(number: int, mark: str, text: str) -> nbformat.NotebookNode:
    if mark.strip() == "[markdown]":
        lines = [line.removeprefix("#").removeprefix(" ") for line in text.strip().splitlines()]
        return nbformat.v4.new_markdown_cell("\n".join(lines), id=f"cell-{number}")
    return nbformat.v4.new_code_cell(text.strip(), id=f"cell-{number}")


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run all cells with the Python of this process in `folder`. Raises CellExecutionError where a cell fails."""
    where = {"metadata": {"path": os.fspath(folder)}}
    client = NotebookClient(notebook, timeout=SECONDS, startup_timeout=SECONDS, kernel_name="python3", resources=where)
    return client.execute()


def page(notebook: nbformat.NotebookNode, name: str) -> tuple[str, dict[str, str]]:
    """Return the Markdown of a notebook, and the frames of its outputs as files."""
    frames: dict[str, str] = {}
    parts = list(_parts(notebook, name, frames))
    link = f"[Download this notebook]({name}.ipynb)"
    return "\n\n".join([parts[0], link, *parts[1:]]) + "\n", frames


def _parts(notebook: nbformat.NotebookNode, name: str, frames: dict[str, str]) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source
            continue
        yield f"```python\n{cell.source}\n```"
        for output in cell.outputs:
            yield _output(output, name, frames)


def _output(output: Any, name: str, frames: dict[str, str]) -> str:
    data = output.get("data", {})
    if not re.search("<iframe|<table", data.get("text/html", "")):
        text = output.get("text") or data.get("text/plain", "")
        return f"```text\n{text.rstrip()}\n```"
    shown = data["text/html"]
    if "<iframe" not in shown:
        return f'<div class="notebook-output">{" ".join(shown.split())}</div>'
    inner = html.unescape(shown.partition('srcdoc="')[2].partition('"')[0])
    file = f"{name}-{len(frames) + 1}.html"
    frames[file] = inner
    return FRAME.format(name=file, title=f"Output {len(frames)}")


def write(root: Path, pages: Path, *, run: bool) -> None:
    """Write the page, the frames and the .ipynb of every notebook below `pages`; unless `run`, without outputs."""
    place = pages / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    for path in sources(root):
        notebook = read(path.read_text(encoding="utf-8"))
        notebook = execute(notebook, place) if run else notebook
        text, frames = page(notebook, path.stem)
        for name, content in {f"{path.stem}.md": text, **frames}.items():
            (place / name).write_text(content, encoding="utf-8")
        nbformat.write(notebook, place / f"{path.stem}.ipynb")
