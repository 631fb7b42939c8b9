"""Runs as graphs of ONNX and of torch.export, with the search in numpy beside Regard's own."""

import json
import shutil
import subprocess
import sys
from functools import cache

import pytest
import torch
from foreign_translators import toy_lines

from regard.decoding import GreedySearch
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.exchange import export_folder, format_named, model_card
from regard.exchange.graphs import formats
from regard.exchange.graphs.programs import graphs_of
from regard.layers.feedforwards.position_wise import TwoLayers
from regard.predictor import load
from regard.predictor.engines.graphs import opened_graphs
from regard.predictor.engines.translator import GraphTranslator
from regard.runs.training import train

TEXTS = toy_lines(0, 16, "test")
BEAM = "decoding.search={name: beam, size: 4, max_ratio: 1.5, max_extra: 6}"
TRANSFORMER = ["model.encoder.num_layers=1", "model.decoder.num_layers=1", "model.attention.num_heads=2",
               "model.self_attention.num_heads=2", "model.encoder.feedforward_dim=24",
               "model.decoder.feedforward_dim=24"]  # fmt: skip
RECURRENT = ["model.position=null", "model.encoder={name: recurrent, hidden_dim: 12}",
             "model.decoder={name: recurrent, hidden_dim: 12}",
             "model.attention={score: {name: additive, hidden_dim: 8}}"]  # fmt: skip
LSTM = ["model.position=null", "model.encoder={name: recurrent, hidden_dim: 12, cell: lstm, bidirectional: false}",
        "model.decoder={name: recurrent, hidden_dim: 12, cell: lstm, order: luong, input_feeding: true, "
        "init_from_encoder: true}", "model.attention={score: bilinear}"]  # fmt: skip
CONVOLUTIONAL = ["model.position=learned", "model.encoder={name: convolutional, hidden_dim: 20, num_layers: 1}",
                 "model.decoder={name: convolutional, hidden_dim: 20, num_layers: 2}", "model.attention={score: dot}",
                 "model.head.bias=true", "model.tied=target"]  # fmt: skip
NETWORKS = {
    "transformer": TRANSFORMER,
    "ssru": [*TRANSFORMER, "model.decoder.history=recurrent"],
    "average": [*TRANSFORMER, "model.decoder.history=average"],
    "rnnsearch": RECURRENT,
    "luong": LSTM,
    "convs2s": CONVOLUTIONAL,
}


def quiet(line):
    """Print nothing."""


def trained(folder, name):
    """A run of the toy grammar, whose weights are then moved at random, so that its texts are all different."""
    for side, file in enumerate(("a.en", "a.de")):
        (folder / file).write_text("\n".join(toy_lines(side, 60)) + "\n", encoding="utf-8")
    pieces = f"text.tokenizer={{name: {'words' if name == 'average' else 'subwords'}, size: 320}}"
    settings = ["model.dim=16", pieces, "training.max_updates=2", "device=cpu", BEAM]
    changes = [*settings, *NETWORKS[name]]
    train(changes=changes, source=folder / "a.en", target=folder / "a.de", run=folder / name, quiet=True)
    predictor, draws = load(folder / name), torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in predictor.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=draws), alpha=0.05 if name == "convs2s" else 0.4)
    return predictor


@pytest.fixture
def onnx():
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A function of a network's name → its predictor, whose graphs are traced once for all formats."""
    made = cache(lambda name: trained(tmp_path_factory.mktemp(name), name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "graphs_of", cache(graphs_of))
        yield made


@pytest.fixture(scope="module")
def exported(network, tmp_path_factory):
    """A function of a network's name and of a format's → its predictor and its export."""

    @cache
    def export(name, row="onnx"):
        predictor, folder = network(name), tmp_path_factory.mktemp(name) / "out"
        certificate = export_folder(format_named(row), predictor, folder, texts=TEXTS, count=16, say=quiet)
        return predictor, folder, certificate

    return export


SLOW = ("ssru", "average", "luong", "convs2s")  # graphs of torch, which are these before ONNX, are below


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.slow) if one in SLOW else one for one in NETWORKS]
)
def test_onnx_translates_equally(name, onnx, exported):
    predictor, folder, certificate = exported(name)
    assert (certificate.equal, certificate.first) == (16, None)
    assert certificate.gap < 1e-4
    assert len(set(GraphTranslator(folder).translate(TEXTS))) > 8
    greedy = GraphTranslator(folder, size=1, length_penalty=0.0, stop="full").translate(TEXTS, batch=5)
    ours = predictor.predict(TEXTS, search=GreedySearch(max_ratio=1.5, max_extra=6), safeguards=False)
    assert greedy == [one.text for one in ours]


def test_names_are_those_of_optimum(onnx, exported):
    import onnx as package

    _, folder, _ = exported("transformer")
    model = package.load(folder / "decoder_model_merged.onnx")
    package.checker.check_model(model)
    sides = [f"0.{side}.{what}" for side in ("encoder", "decoder") for what in ("key", "value")]
    given = {"input_ids", "encoder_attention_mask", "encoder_hidden_states", "use_cache_branch"}
    assert {one.name for one in model.graph.input} == given | {f"past_key_values.{one}" for one in sides}
    assert {one.name for one in model.graph.output} == {"logits", *(f"present.{one}" for one in sides)}
    encoder = package.load(folder / "encoder_model.onnx").graph
    assert [one.name for one in encoder.input] == ["input_ids", "attention_mask"]
    assert [one.name for one in encoder.output] == ["last_hidden_state"]
    tables = [one for one in model.graph.initializer if list(one.dims) == [320, 16]]
    assert len(tables) == 1  # both branches read one


def test_folder_has_certificate_card_and_programs(onnx, exported):
    predictor, folder, _ = exported("transformer")
    names = {"certificate.json", "README.md", "translator.py", "translator.js", "pieces.py", "pieces.json"}
    assert names <= {file.name for file in folder.iterdir()}
    assert "node FOLDER/translator.js" in (folder / "README.md").read_text(encoding="utf-8")
    assert "library_name: onnx" in model_card(predictor, format_named("onnx"))


@pytest.mark.parametrize("name", ["encoder_model.onnx", "pieces.json", "translator.json"])
def test_damaged_folder_is_refused(name, onnx, exported, tmp_path):
    _, folder, _ = exported("transformer")
    for file in (one for one in folder.iterdir() if one.is_file()):
        content = file.read_bytes()
        (tmp_path / file.name).write_bytes(content[: len(content) // 2] if file.name == name else content)
    with pytest.raises(CheckpointError, match=name):
        opened_graphs(tmp_path, "onnx")
    (tmp_path / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        opened_graphs(tmp_path, "onnx")


def test_program_of_a_damaged_folder_ends_with_one_line(onnx, exported, tmp_path):
    _, folder, _ = exported("transformer")
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    (damaged / "pieces.json").write_text("{}", encoding="utf-8")
    command = [sys.executable, str(damaged / "translator.py")]
    done = subprocess.run(command, input="A dog.\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pieces.json is damaged" in done.stderr


def test_text_that_is_too_long_is_refused(onnx, exported):
    _, folder, _ = exported("transformer")
    with pytest.raises(ValueError, match=r"text 2: \d+ pieces are more than this model takes \(1023\)"):
        GraphTranslator(folder).translate(["A dog.", "dog " * 1200])


@pytest.mark.parametrize("name", ["transformer", "ssru", "rnnsearch"])
def test_torch_programs_translate_equally(name, exported):
    _, folder, certificate = exported(name, "pt2")
    assert (certificate.equal, certificate.first) == (16, None)
    assert certificate.gap < 1e-4
    assert json.loads((folder / "translator.json").read_text())["program"] == "torch"
    names = torch.export.load(folder / "encoder_model.pt2").state_dict
    assert names
    assert all(name.startswith("model.encoders") for name in names)  # no weights of the decoder


def test_missing_package_is_one_line(network, tmp_path, monkeypatch):
    predictor = network("transformer")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        RegardError, match=r"onnx: onnx and onnxscript .* not installed \(pip install -e '\.\[onnx\]'\)"
    ):
        format_named("onnx").write(predictor, tmp_path)


def test_part_that_cannot_be_traced_is_named(network, tmp_path, monkeypatch):
    predictor, forward = network("transformer"), TwoLayers.forward

    def asks(self, states, *rest):
        return forward(self, states, *rest) if states.sum() != 0 else (states, None)  # depends on the numbers

    monkeypatch.setattr(TwoLayers, "forward", asks)
    monkeypatch.setattr(formats, "graphs_of", graphs_of)
    with pytest.raises(RegardError, match=r"PositionWise \(encoders\.translate\.encoder\.blocks\.0\.feedforward\)"):
        export_folder(format_named("torch"), predictor, tmp_path / "out", texts=TEXTS, count=4, say=quiet)
    assert not (tmp_path / "out").exists()


def test_difference_is_refused(network, tmp_path, monkeypatch):
    predictor = network("transformer")
    monkeypatch.setattr(GraphTranslator, "translate", lambda self, texts: ["another"] * len(texts))
    with pytest.raises(RegardError, match=r"translates 0 of 4 texts .*first difference: line 1, "):
        export_folder(format_named("torch"), predictor, tmp_path / "out", texts=TEXTS, count=4, say=quiet)
    assert not (tmp_path / "out").exists()


def test_search_that_no_graph_holds_is_refused(network, tmp_path):
    predictor = load(network("transformer").run.path, ["decoding.search={name: sampling}"])
    with pytest.raises(RegardError, match=r"decoding\.search is 'sampling'"):
        format_named("onnx").write(predictor, tmp_path)


def test_engine_answers_from_an_export(onnx, exported, tmp_path):
    predictor, folder, _ = exported("rnnsearch")
    engine = load(folder, engine="onnx")
    ours = predictor.predict(TEXTS, safeguards=False)
    found = engine.predict(TEXTS, safeguards=False)
    assert [one.text for one in found] == [one.text for one in ours]
    assert found[0].log_probs == pytest.approx(ours[0].log_probs, abs=1e-4)
    begun = engine.predict(TEXTS[:4], prefixes=["Das"] * 4)
    assert all(one.text.startswith("Das") for one in begun)
    assert [one.text for one in engine.copy().predict(TEXTS[:3], safeguards=False)] == [one.text for one in ours[:3]]
    with pytest.raises(ConfigError, match="the onnx engine"):
        engine.score(TEXTS[:1], ["Das"])
    with pytest.raises(ConfigError, match="device: the onnx engine does not have GPUs"):
        load(folder, ["device=cuda"], engine="onnx")


def test_programs_of_convolutions_take_more_texts_than_they_were_traced_with(exported):
    predictor, folder, certificate = exported("convs2s", "pt2")
    assert (certificate.equal, certificate.texts) == (16, 16)
    ours = [one.text for one in predictor.predict([*TEXTS, *TEXTS], safeguards=False)]
    assert GraphTranslator(folder).translate([*TEXTS, *TEXTS]) == ours


def test_graphs_of_torch_are_not_opened_by_engines(exported, monkeypatch):
    """torch.export.load unpickles, so a stranger's folder could run code."""
    _, folder, _ = exported("transformer", "pt2")
    monkeypatch.setattr(torch.export, "load", lambda *_: pytest.fail("a program of torch was opened"))
    assert not (folder / "regard").exists()
    with pytest.raises(ConfigError, match="engine: there is no 'torch'"):
        load(folder, engine="torch")
    with pytest.raises(CheckpointError, match="its graphs are of 'torch', and onnx is needed"):
        opened_graphs(folder, "onnx")


def test_export_to_onnx_that_names_graphs_of_torch_is_refused(onnx, exported, tmp_path, monkeypatch):
    _, folder, _ = exported("rnnsearch")
    shutil.copytree(folder, tmp_path / "hostile")
    file = tmp_path / "hostile" / "translator.json"
    file.write_text(
        json.dumps({**json.loads(file.read_text("utf-8")), "program": "torch", "programs": {"encoder": []}})
    )
    monkeypatch.setattr(torch.export, "load", lambda *_: pytest.fail("a program of torch was opened"))
    with pytest.raises(CheckpointError, match="its graphs are of 'torch', and onnx is needed"):
        opened_graphs(tmp_path / "hostile", "onnx")  # as after a change of the digests, too
