"""What docs/how-to/architectures.md tells people to type and to write works, and its tables have every row."""

import re
import shlex
from pathlib import Path

import pytest
import torch
from networks import build_translator
from small_runs import PAIRS, regard

from regard.config import read_settings
from regard.config.reading import parse
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.experiment import Experiment
from regard.models import ROUTE
from regard.records import Batch, Sequences

PAGE = Path(__file__).parents[1] / "docs/how-to/architectures.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"^```bash\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]
CONFIGS = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
SMALL = ["model.dim=16", "text.tokenizer.size=300", "training.max_updates=1", "training.validate_every=1", "device=cpu"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_trains_a_model_that_answers(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("train.en", "train.de")):
        Path(name).write_text("".join(f"{pair[number]}\n" for pair in PAIRS), encoding="utf-8")
    Path("novel.txt").write_text("".join(f"{pair[0]}\n" for pair in PAIRS * 4), encoding="utf-8")
    words = shlex.split(command)
    assert words[:2] == ["regard", "train"]
    done = regard(*words[1:], *SMALL, "--run", "run")
    assert done.code == 0, done.said
    assert "warning" not in done.said
    assert regard("predict", "run", given="a dog\n").code == 0


@pytest.mark.parametrize("config", CONFIGS)
def test_every_config_is_a_model_with_a_loss(config):
    settings = read_settings(Experiment, parse(config, "page")).model.settings
    model = build_translator(settings, 40, 40)
    ids = Sequences(torch.randint(4, 40, (2, 5)), torch.ones(2, 5, dtype=torch.bool))
    losses = model.nll(Batch({"source": ids, "target": ids}, ROUTE, torch.arange(2), 10))
    losses.sum().backward()
    assert bool(torch.isfinite(losses).all())


@pytest.mark.parametrize("config", [config for config in CONFIGS if config.startswith("data:")])
def test_every_config_with_data_of_its_own_trains_and_writes_on(config, tmp_path, monkeypatch):
    """Ten songs of three lines."""
    monkeypatch.chdir(tmp_path)
    Path("songs.txt").write_text("".join(f"{side}\n" for number in range(15) for side in PAIRS[number % len(PAIRS)]))
    Path("songs.tsv").write_text("".join(f"song {number}\tverse\t{3 * number + 1}\t3\n" for number in range(10)))
    Path("songs.yaml").write_text(config)
    done = regard("train", "songs.yaml", *SMALL, "--run", "run")
    assert done.code == 0, done.said
    assert regard("predict", "run", "decoding.search.n_best=5", given=f"{PAIRS[0][0]}\n").code == 0


@pytest.mark.parametrize("table", [ENCODERS, DECODERS], ids=["encoders", "decoders"])
def test_the_tables_of_the_page_name_every_row(table):
    named = {
        name
        for line in TEXT.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert set(table) <= named


@pytest.mark.parametrize(
    ("name", "width"), [("recurrent", 12), ("convolutional", 8), ("bytenet", 12), ("transformer", 8)]
)
def test_the_widths_of_the_page_are_those_of_the_encoders(name, width):
    sizes = {"hidden_dim": 6, "num_layers": 1, "feedforward_dim": 8}
    encoder = {"name": name, **{size: value for size, value in sizes.items() if size in ENCODERS.settings(name)}}
    settings = read_settings(Experiment, {"model": {"dim": 8, "encoder": encoder}}).model.settings
    assert build_translator(settings, 40, 40).encoders[ROUTE].encoder.dim == width
