"""The deep system of https://arxiv.org/abs/1609.08144 as its config has it: each part's size, and that it learns."""

from pathlib import Path

import pytest
import torch
from networks import build_translator
from small_runs import PAIRS, write_texts

import regard
from regard.decoders import DECODERS
from regard.experiment import load_experiment, read_experiment
from regard.records import Encoded
from regard.registry import Choice
from regard.runs import train_run

CONFIG = Path(__file__).parents[2] / "configs" / "translation" / "multi30k-gnmt.yaml"
VOCAB = 50


def sized(dim: int, num_layers: int = 4) -> list[str]:
    """The config with another width and depth."""
    places = ["model.dim", "model.attention.score.hidden_dim"]
    places += [f"model.{part}.hidden_dim" for part in ("encoder", "decoder")]
    depths = [f"model.{part}.num_layers={num_layers}" for part in ("encoder", "decoder")]
    return [*(f"{place}={dim}" for place in places), *depths]


def lstm(reads: int, dim: int) -> int:
    """Weights of four gates, each with two biases, as torch has them."""
    return 4 * dim * (reads + dim + 2)


@pytest.mark.parametrize(("dim", "num_layers"), [(256, 4), (12, 4), (12, 8), (12, 2)])
def test_the_config_has_the_weights_that_the_paper_describes(dim, num_layers, assert_agrees):
    """Figure 1: the lowest layer of the encoder goes both ways; every layer of the decoder reads the context, too."""
    experiment = load_experiment(CONFIG, sized(dim, num_layers))
    with torch.device("meta"):
        model = build_translator(experiment.model.settings, VOCAB, VOCAB)
    encoder = 2 * lstm(dim, dim) + lstm(2 * dim, dim) + (num_layers - 2) * lstm(dim, dim)
    decoder = num_layers * lstm(2 * dim, dim)
    attention = 2 * dim * dim + dim + dim + 1  # query and key, v, and b and g of the normed score
    start, readout = num_layers * dim * (dim + 1), dim * (dim + 1)
    wanted = VOCAB * dim + encoder + decoder + attention + start + readout
    found = sum(parameter.numel() for parameter in model.parameters())
    assert_agrees("C05", torch.tensor(float(found)), torch.tensor(float(wanted)))
    assert (
        experiment.model.settings["encoder"].settings["residual_from"]
        == experiment.model.settings["decoder"].settings["residual_from"]
        == 3
    )


def test_one_layer_is_rnnsearch_that_reads_out_its_state_alone(assert_agrees):
    """The lowest layer is also the highest then."""
    experiment = load_experiment(CONFIG, sized(6, 1))
    gnmt = build_translator(experiment.model.settings, VOCAB, VOCAB).double().eval()
    settings = {
        **experiment.model.settings["decoder"].settings,
        "order": "bahdanau",
        "residual_from": None,
        "dropout": 0.0,
    }
    (decoder,) = gnmt.decoders.values()
    twin = DECODERS.build(Choice("recurrent", settings), decoder.embedder, 12, _Sockets(decoder.attention)).double()
    weights = decoder.state_dict()
    nothing = torch.zeros(6, twin.to_state.in_features - 6, dtype=torch.float64)  # of the word and of the context
    weights["to_state.weight"] = torch.cat([weights["to_state.weight"], nothing], dim=1)
    twin.load_state_dict(weights)
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    states = torch.randn(2, 5, 12, dtype=torch.float64) * mask.unsqueeze(-1)
    seen, ids = Encoded(states, mask, states[:, 0]), torch.randint(4, VOCAB, (2, 7))
    (one, _), (other, _) = (each.eval()(ids, each.start(seen), need_weights=True) for each in (decoder, twin))
    assert_agrees("C05", one.states, other.states)
    assert_agrees("C05", one.weights, other.weights)


class _Sockets:
    """Gives out one attention that there is already."""

    def __init__(self, attention: torch.nn.Module) -> None:
        self.attention = attention

    def cross(self, query_dim: int, key_dim: int) -> torch.nn.Module:
        return self.attention


def test_fifty_updates_teach_it_four_sentences(tmp_path):
    texts = write_texts(tmp_path)
    files = [f"data.{part}.{side}={path}" for part in ("train", "dev", "test")
             for side, path in zip(("source", "target"), texts[1::2], strict=True)]  # fmt: skip
    changes = ["training.max_updates=50", "training.max_minutes=null", "training.validate_every=50", "model.dropout=0"]
    changes += ["training.learning_rate=0.01", "training.schedule={name: constant, warmup: 5}", "training.average=1"]
    changes += [*sized(32), "text.tokenizer={name: words}", f"run={tmp_path / 'run'}", "data.languages=[en, de]"]
    assert train_run(read_experiment(CONFIG, [*files, *changes]), quiet=True)
    predictions = regard.load(tmp_path / "run").predict([source for source, _ in PAIRS[:4]])
    assert [prediction.text for prediction in predictions] == [target for _, target in PAIRS[:4]]
