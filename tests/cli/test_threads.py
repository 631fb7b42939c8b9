"""How threads wait is chosen before torch is loaded, and what a person says of it stays."""

import os
import subprocess
import sys

import pytest

ASK = "import os, regard.cli.app as app; app.app = lambda: None; app.main(); print(os.environ.get('GOMP_SPINCOUNT'))"


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, "2000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
)
def test_a_short_spin_unless_the_environment_says_otherwise(given, spins):
    kept = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env={**kept, **given}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == spins


def test_torch_is_not_loaded_before():
    words = [sys.executable, "-c", "import sys, regard.cli.app; print('torch' in sys.modules)"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == "False"
