"""The form of the site's first page: every command it gives is one that the command line reads."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import check_command, regard_commands

from regard.recipes.best.program import BEST_MINUTES

ROOT = Path(__file__).parents[1]
ASK = "const {command, WORDS} = require('./website/chooser.js');"
CASES = [
    {"source": "en", "target": target, "pairs": pairs, "minutes": minutes, "more": more}
    for target in ("de", "en")
    for pairs in (0, 1, 5000, 20000, None)
    for minutes in (BEST_MINUTES - 1, BEST_MINUTES, 60, 0)
    for more in (False, True)
]


def node(script: str) -> Any:
    program = shutil.which("node")
    if program is None:
        pytest.skip("this test needs node: apt-get install nodejs")
    done = subprocess.run([program, "-e", f"{ASK}{script}"], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_every_command_is_read_by_the_command_line():
    script = (
        f"console.log(JSON.stringify({json.dumps(CASES)}.map((one) => command({{...one, pairs: one.pairs ?? NaN}}))))"
    )
    for case, found in zip(CASES, node(script), strict=True):
        wrong = case["source"] == case["target"] or case["pairs"] is None or case["minutes"] == 0
        assert bool(found["command"]) is not wrong, case
        for line in found["command"].splitlines():
            for words in regard_commands(line):
                check_command(words)
                assert "best" not in words or case["minutes"] >= BEST_MINUTES
        assert not found["page"] or (ROOT / f"docs/how-to/{found['page']}.md").is_file()


def test_both_languages_have_words_for_every_answer():
    words = node("console.log(JSON.stringify(WORDS))")
    assert words["en"].keys() == words["zh"].keys()
    script = f"console.log(JSON.stringify({json.dumps(CASES)}.map((one) => command(one).reason)))"
    assert set(node(script)) <= words["en"].keys()
