"""What a command loads: no more than it uses. Each is asked in a process of its own."""

import subprocess
import sys

import pytest

LOADED = """
import sys
from regard.cli import main
sys.argv = ["regard", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    code = end.code
print(code, *sys.modules, file=sys.stderr)
"""


def modules_after(*words, given=""):
    """The modules that `regard WORDS` has loaded when it ends without a fault."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *map(str, words)], input=given, capture_output=True, text=True, check=True
    )
    code, *found = done.stderr.split()
    assert code == "0", done.stderr
    return set(found)


@pytest.mark.parametrize("command", ["train", "predict", "explain", "compare", "data", "serve"])
def test_help_of_a_command_needs_no_torch(command):
    assert not modules_after(command, "--help") & {"torch", "numpy", "yaml", "sentencepiece"}
