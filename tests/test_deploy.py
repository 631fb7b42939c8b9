"""The unit of systemd, compose.yaml and the Dockerfile name options that there are, and times and places that fit."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from regard.serve.server import LAST_WORDS
from regard.serve.settings import Settings

ROOT = Path(__file__).parents[1]
UNIT, COMPOSE, IMAGE = (ROOT / name for name in ("deploy/regard.service", "compose.yaml", "Dockerfile"))
OPTIONS = {option.flag: option for options in Settings.options().values() for option in options}
NAMES = {name for option in OPTIONS.values() for name in option.variables}


def unit():
    """Its settings, name → values in their order."""
    found = {}
    for line in UNIT.read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("file", [UNIT, COMPOSE, IMAGE], ids=lambda path: path.name)
def test_every_option_exists(file):
    """Those in comments, too."""
    text = file.read_text("utf-8")
    assert set(re.findall(r"\b(?:LT|REGARD)_[A-Z_]+", text)) <= NAMES
    lines = [line for line in text.splitlines() if "regard serve" in line or "--host" in line]
    assert {word for line in lines for word in re.findall(r"--[a-z-]+", line)} <= {*OPTIONS}


def test_the_unit_starts_reloads_and_ends_the_server():
    found = unit()
    program, command, run, *words = shlex.split(found["ExecStart"][0])
    assert (Path(program).name, command, Path(run).is_absolute()) == ("regard", "serve", True)
    grace = float(words[words.index("--shutdown-grace") + 1])
    assert float(found["TimeoutStopSec"][0]) > grace + LAST_WORDS
    assert found["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert (found["KillMode"], found["KillSignal"]) == (["mixed"], ["SIGTERM"])  # models are not told to end


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path):
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"(?<=ExecStart=)\S+", sys.executable, UNIT.read_text("utf-8")), "utf-8")
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_compose_fits_the_image_and_the_server():
    service = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["regard"]
    image = IMAGE.read_text("utf-8")
    (port,) = re.findall(r"LT_PORT=(\d+)", image)
    assert re.findall(r"^EXPOSE (\d+)", image, re.MULTILINE) == [port]
    assert [place.rsplit(":", 1)[1] for place in service["ports"]] == [port]
    assert [place.split(":", 1)[0] for place in service["ports"]] == ["127.0.0.1"]  # as long as there are no keys
    mounted = [volume.split(":")[1] for volume in service["volumes"]]
    assert all(any(run.startswith(f"{place}/") for place in mounted) for run in service["command"])
    assert int(service["stop_grace_period"].removesuffix("s")) > Settings().shutdown_grace + LAST_WORDS
    assert (service["init"], service["read_only"], service["mem_limit"]) == (True, True, "2g")
    assert set(service["environment"]) <= NAMES
    assert 'ENTRYPOINT ["regard", "serve"]' in image
