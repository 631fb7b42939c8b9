"""Exports to CTranslate2: its weights, its searches beside ours, and the engine that runs them."""

import json
import math
import tempfile
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
import torch
from foreign_translators import marian_folder, toy_lines
from networks import build_translator
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.decoding import GreedySearch
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.exchange import export_folder, format_named, format_of, import_folder
from regard.exchange.ctranslate2 import fill_spec, variables
from regard.exchange.standard_network import StandardNetwork
from regard.models import ROUTE, AttentionSettings
from regard.predictor import load
from regard.predictor.engines import ENGINES, load_export
from regard.predictor.engines.ctranslate2 import CTranslate2Engine, CTranslate2Search, LoadedModel, _Written
from regard.predictor.engines.export_engine import Export
from regard.records import Sequences
from regard.registry import Choice
from regard.reports.behaviour.contestants import open_contestants
from regard.runs.training import train

DIM, HEADS, VOCAB, PLACES = 8, 2, 11, 16
TEXTS = toy_lines(0, 60, "test")
NETWORK = ["model.dim=32", "model.encoder.num_layers=2", "model.decoder.num_layers=1", "model.attention.num_heads=4",
           "model.self_attention.num_heads=4", "model.encoder.feedforward_dim=48", "model.decoder.feedforward_dim=40",
           "training.max_updates=60", "training.learning_rate=0.005", "device=cpu"]  # fmt: skip
SHAPES = {
    "pre-norm, separate": ["text.shared=false", "model.tied=target"],
    "post-norm, one table, gelu": ["model.encoder={norm: post, feedforward: gelu}",
                                   "model.decoder={norm: post, feedforward: gelu}", "model.tied=all"],
    "learned, swish, zero start": ["model.position=learned", "model.embedder.zero_start=true",
                                   "model.encoder.feedforward=swish", "model.decoder.feedforward=swish"],
    "inclusive, bias, other epsilon": ["model.position.frequencies=inclusive", "model.head.bias=true",
                                       "model.encoder.norm_eps=1e-3", "model.decoder.norm_eps=1e-3"],
}  # fmt: skip
GREEDY = "decoding.search={name: greedy, max_ratio: 1.0, max_extra: 5}"
BEAM = "decoding.search={name: beam, size: 4, stop: full, max_ratio: 1.0, max_extra: 5}"


def quiet(line):
    """Print nothing."""


def run_in(folder, *changes, pairs=1500):
    """The folder of a run of the toy grammar after a few updates."""
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("\n".join(toy_lines(side, pairs)) + "\n", encoding="utf-8")
    plain = ["text.tokenizer={name: subwords, size: 400}", "objective.label_smoothing=0"]  # else padding is likely
    settings = [*plain, *NETWORK, BEAM, *changes]
    train(changes=settings, source=folder / "a.en", target=folder / "a.de", run=folder / "run", quiet=True)
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_in(tmp_path_factory.mktemp("plain"), "training.max_updates=400")


@pytest.fixture(scope="module")
def export(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "ct2"
    certificate = export_folder(format_named("ct2"), load(run), folder, texts=TEXTS, count=60, say=quiet)
    assert (certificate.equal, certificate.first) == (60, None)
    return folder


def agree(ours, theirs, n_best=1):
    """Assert equal texts, equal scores and equal ends."""
    for one, other in zip(ours, theirs, strict=True):
        rows = zip([one, *one.alternatives][:n_best], [other, *other.alternatives][:n_best], strict=True)
        for mine, found in rows:
            assert (found.text, found.finished) == (mine.text, mine.finished)
            assert found.score == pytest.approx(mine.score, abs=0.1)  # ours leave padding its small probability


@pytest.mark.parametrize("shape", SHAPES)
def test_each_network_translates_alike(shape, tmp_path):
    predictor = load(run_in(tmp_path, *SHAPES[shape], GREEDY, "data.recombination=null"))
    certificate = export_folder(format_named("ctranslate2"), predictor, tmp_path / "ct2", texts=TEXTS, say=quiet)
    assert (certificate.texts, certificate.equal, certificate.first) == (60, 60, None)
    engine = load(tmp_path / "ct2", engine="ctranslate2")
    agree(*(one.predict(TEXTS, safeguards=False) for one in (predictor, engine)))


@pytest.mark.parametrize("search", [
    GREEDY, BEAM, "decoding.search.length_penalty=0.6", "decoding.search.length_penalty=0", "decoding.search.size=2",
    "decoding.search.at_limit=cut", "decoding.search.at_limit=free",
    "decoding.batch_tokens=64", "decoding.search.max_extra=1",
])  # fmt: skip
def test_searches_are_ours(search, run, export):
    ours, theirs = load(run, [search]), load(export, [search], engine="ctranslate2")
    agree(*(one.predict(TEXTS, safeguards=False) for one in (ours, theirs)))


def test_a_minimum_length_renormalises_there(run, export):
    """CTranslate2 excludes the end before it normalises: what it prefers to our text is never more probable."""
    search = ["decoding.search.min_length=6"]
    ours, theirs = load(run, search), load(export, search, engine="ctranslate2")
    pairs = [*zip(*(one.predict(TEXTS, safeguards=False) for one in (ours, theirs)), strict=True)]
    other = [(mine, found) for mine, found in pairs if mine.text != found.text]
    assert len(other) <= len(TEXTS) / 10
    texts = [[getattr(pair[side], name) for pair in other] for side, name in ((0, "source"), (0, "text"), (1, "text"))]
    mine, found = (ours.score(texts[0], texts[side]) for side in (1, 2))
    assert all(one.score / len(one.log_probs) > two.score / len(two.log_probs)
               for one, two in zip(mine, found, strict=True))  # fmt: skip


def test_n_best_lists_are_ours(run, export):
    search = ["decoding.search.n_best=4"]
    ours, theirs = load(run, search), load(export, search, engine="ctranslate2")
    found = zip(*(one.predict(TEXTS, safeguards=False) for one in (ours, theirs)), strict=True)
    ended = [pair for pair in found if all(one.finished for best in pair for one in (best, *best.alternatives))]
    assert len(ended) > 10  # of what is cut off, CTranslate2 keeps fewer
    agree(*zip(*ended, strict=True), n_best=4)


class Translator:
    """Cuts sources as CTranslate2 does: to 1024 pieces, unless it is called with 0."""

    def score_batch(self, sources, targets, max_input_length=1024):
        return [SimpleNamespace(log_probs=[-0.1 if len(one[: max_input_length or None]) == len(one) else -9.0])
                for one in sources]  # fmt: skip


def test_end_of_a_long_source_is_scored_with_all_of_it():
    network = LoadedModel(Translator(), [], ["<pad>", "a"], 4096)
    search = CTranslate2Search(network, GreedySearch(at_limit="end"))
    ((found,),) = search._with_ends([["a"] * 2000], [[_Written([1], -1.0, 1, False)]])
    assert found.log_prob == pytest.approx(-1.1)


def test_batch_mates_do_not_matter(export):
    engine = load(export, engine="ctranslate2")
    alone = [engine.predict([text])[0].text for text in TEXTS[:10]]
    assert [one.text for one in engine.predict(TEXTS[:10])] == alone
    copied = engine.copy().predict(TEXTS[:10])
    assert [one.text for one in copied] == alone


@pytest.mark.parametrize(("changes", "stop"), [
    ({}, "stop: full"), ({"seed": 1, "num_beams": 1, "activation_function": "relu"}, "")
], ids=["beam", "1"])  # fmt: skip
def test_imported_model_translates_alike_by_the_stop_that_both_have(changes, stop, tmp_path):
    """With random weights the stops of beams find other texts."""
    folder = marian_folder(tmp_path / "theirs", **changes)
    import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet)
    certificate = export_folder(
        format_named("ctranslate2"), load(tmp_path / "run"), tmp_path / "ct2", texts=TEXTS, say=quiet
    )
    assert (certificate.equal, certificate.first, certificate.stop) == (60, None, stop)
    assert ("with stop: full" in str(certificate)) == bool(stop)


def test_eight_bits_are_a_quarter_as_large(run, export, tmp_path):
    row = format_named("ctranslate2", {"quantization": "int8"})
    assert row.min_similarity < 1
    predictor = load(run, [GREEDY])
    before = [one.text for one in predictor.predict(TEXTS[:5])]
    export_folder(row, predictor, tmp_path / "small", count=0, say=quiet)
    assert [one.text for one in predictor.predict(TEXTS[:5])] == before  # its weights are not rounded
    small, large = ((one / "model.bin").stat().st_size for one in (tmp_path / "small", export))
    assert small < 0.7 * large  # of this tiny network the table of positions is large
    assert load(tmp_path / "small", engine="ctranslate2").predict(TEXTS[:3])[0].text
    with pytest.raises(ConfigError, match=r"format\.quantization"):
        format_named("ctranslate2", {"quantization": "int3"})


def test_export_names_no_files_of_training(run, export):
    texts = [path.read_text("utf-8", errors="replace") for path in export.rglob("*") if path.is_file()]
    assert not any(str(run.parent) in text for text in texts)
    kept = json.loads((export / "certificate.json").read_text())
    assert (kept["format"], kept["equal"]) == ("ctranslate2", 60)
    assert "library_name: ctranslate2" in (export / "README.md").read_text()
    assert load(export, engine="ctranslate2").run.weights_digest == kept["sha256_of_weights"]


ASKED = {
    "glossary": lambda engine: engine.predict(["Yes."], prefixes=["Ja"]),
    "explain": lambda engine: engine.predict(["Yes."], explain=True),
    "relevance": lambda engine: engine.explain(["Yes."]),
    "score": lambda engine: engine.score(["Yes."], ["Ja."]),
    "steps": lambda engine: engine.explainer.with_search_tree(engine.predict(["Yes."])),
}


@pytest.mark.parametrize("asked", ASKED)
def test_abilities_that_are_missing_are_one_line(asked, export):
    with pytest.raises(ConfigError) as error:
        ASKED[asked](load(export, engine="ctranslate2"))
    assert "ctranslate2 engine" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("change", "line"), [
    ("decoding.shortlist=true", r"decoding\.shortlist: the ctranslate2 engine does not have shortlists"),
    ("decoding.features=length", r"decoding\.features: the ctranslate2 engine does not have features"),
    ("decoding.precision=int8", r"decoding\.precision: the ctranslate2 engine does not have a choice of precision"),
    ("decoding.search=sampling", r"decoding\.search: is not one that the ctranslate2 engine has"),
    ("decoding.search.normalisation=gnmt", r"decoding\.search: is not one that the ctranslate2 engine has"),
    ("model.dim=3", r"model\.dim: cannot change"),
])  # fmt: skip
def test_settings_that_are_missing_are_one_line(change, line, export):
    with pytest.raises(ConfigError, match=line):
        load(export, [change], engine="ctranslate2")


def test_export_without_its_engine_says_how(export, tmp_path):
    with pytest.raises(CheckpointError, match=r"is an export to ctranslate2, .*--engine ctranslate2"):
        load(export)
    with pytest.raises(CheckpointError, match=r"is not an export of Regard .*regard export RUN --to ctranslate2"):
        load_export(tmp_path, "ctranslate2")
    with pytest.raises(RegardError, match="folders of ctranslate2 are written here and not read"):
        import_folder(format_of(export), export, tmp_path / "run", count=0, say=quiet)


def test_export_to_another_engine_is_refused(export, tmp_path):
    import shutil

    from regard.config import write_checked

    other = shutil.copytree(export, tmp_path / "other")
    noted = load(export, engine="ctranslate2").run.exported
    write_checked(other / "regard" / "export.json", {**noted, "format": "onnx"})
    (other / "regard" / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"is an export to onnx, and ctranslate2 cannot run it \(--engine onnx\)"):
        load_export(other, "ctranslate2")


def test_damaged_export_is_one_line(export, tmp_path):
    import shutil

    damaged = shutil.copytree(export, tmp_path / "damaged")
    (damaged / "model.bin").write_bytes((damaged / "model.bin").read_bytes()[:1000])
    predictor = load_export(export, "ctranslate2")
    with pytest.raises(CheckpointError, match="cannot be opened by CTranslate2"):  # its digest is right
        CTranslate2Engine().open(Export(damaged, predictor.run, predictor.task, 1))
    whole = bytearray((export / "model.bin").read_bytes())
    whole[-100] ^= 1  # CTranslate2 itself would open it
    (damaged / "model.bin").write_bytes(whole)
    with pytest.raises(CheckpointError, match=r"model\.bin: is missing or damaged"):
        load_export(damaged, "ctranslate2")
    (damaged / "regard" / "experiment.yaml").write_text("model: {}\n")
    with pytest.raises(CheckpointError, match="was edited or damaged"):
        load_export(damaged, "ctranslate2")


def test_program_that_is_not_installed_is_one_line(run, export, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.exchange.ctranslate2.find_spec", lambda name: None)
    monkeypatch.setattr("regard.predictor.engines.find_spec", lambda name: None)
    with pytest.raises(RegardError, match=r"ctranslate2 is not installed \(pip install -e '\.\[ctranslate2\]'"):
        export_folder(format_named("ctranslate2"), load(run), tmp_path / "ct2", say=quiet)
    assert not (tmp_path / "ct2").exists()
    with pytest.raises(ConfigError, match=r"--engine: ctranslate2 is not installed \(pip install"):
        load_export(export, "ctranslate2")


@pytest.mark.parametrize(("changes", "place"), [
    (["model.decoder.history=average"], r"model\.decoder\.history is .*average.* \(CTranslate2: null\)"),
    (["model.embedder.merge=concatenate", "model.tied=none"], r"model\.embedder\.merge"),
    (["model.attention.weighting=sparsemax"], r"model\.attention"),
    (["text.tokenizer=words"], r"text\.tokenizer"),
])  # fmt: skip
def test_other_networks_are_refused_by_name(changes, place, tmp_path):
    predictor = load(run_in(tmp_path, "training.max_updates=1", *changes, pairs=200))
    with pytest.raises(RegardError, match=rf"this run cannot be exported: {place}"):
        export_folder(format_named("ctranslate2"), predictor, tmp_path / "ct2", say=quiet)


def test_engines_are_formats():
    for name in ENGINES:
        assert format_named(name).name == name


# the weights, in float64 and head by head


@pytest.fixture
def model():
    blocks = Choice("transformer", {"num_layers": 2, "feedforward_dim": 16, "norm": "pre"})
    heads = AttentionSettings(num_heads=HEADS)
    settings = {"dim": DIM, "encoder": blocks, "decoder": blocks, "attention": heads, "self_attention": heads}
    model = build_translator(settings | {"tied": "all"}, VOCAB, VOCAB).double().eval()
    for parameter in model.parameters():  # biases and norms begin as zeros and ones
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def named(model) -> dict[str, Tensor]:
    blocks = Choice("transformer", {"num_layers": 2})
    network = StandardNetwork({"encoder": blocks, "decoder": blocks}, dict(model.state_dict()), None, None, True)
    positions = [part.embedder.position(0, PLACES) for part in (model.encoders[ROUTE], model.decoders[ROUTE])]
    return {name: torch.from_numpy(array).double() for name, array in variables(network, *positions).items()}


def linear(weights: dict[str, Tensor], name: str, states: Tensor) -> Tensor:
    return states @ weights[f"{name}/weight"].T + weights[f"{name}/bias"]


def norm(weights: dict[str, Tensor], name: str, states: Tensor) -> Tensor:
    return functional.layer_norm(states, (DIM,), weights[f"{name}/gamma"], weights[f"{name}/beta"])


def mixed(queries: Tensor, keys: Tensor, values: Tensor, *, causal: bool) -> Tensor:
    """Head by head: (n, DIM) queries, (m, DIM) keys and values → (n, DIM)."""
    size, found = DIM // HEADS, []
    for cut in (slice(head * size, (head + 1) * size) for head in range(HEADS)):
        scores = queries[:, cut] @ keys[:, cut].T / math.sqrt(size)
        if causal:
            scores = scores + torch.full_like(scores, -math.inf).triu(1)
        found.append(scores.softmax(-1) @ values[:, cut])
    return torch.cat(found, dim=-1)


def states_of(weights: dict[str, Tensor], side: str, ids: Tensor, source: Tensor | None) -> Tensor:
    """One sentence (n,) through one side → (n, DIM)."""
    table = weights[f"{side}/embeddings{'_0' if side == 'encoder' else ''}/weight"]
    states = table[ids] * math.sqrt(DIM) + weights[f"{side}/position_encodings/encodings"][: len(ids)]
    for layer in (f"{side}/layer_{number}" for number in range(2)):
        entered = norm(weights, f"{layer}/self_attention/layer_norm", states)
        queries, keys, values = linear(weights, f"{layer}/self_attention/linear_0", entered).chunk(3, dim=-1)
        seen = mixed(queries, keys, values, causal=side == "decoder")
        states = states + linear(weights, f"{layer}/self_attention/linear_1", seen)
        if source is not None:
            entered = norm(weights, f"{layer}/attention/layer_norm", states)
            keys, values = linear(weights, f"{layer}/attention/linear_1", source).chunk(2, dim=-1)
            seen = mixed(linear(weights, f"{layer}/attention/linear_0", entered), keys, values, causal=False)
            states = states + linear(weights, f"{layer}/attention/linear_2", seen)
        hidden = linear(weights, f"{layer}/ffn/linear_0", norm(weights, f"{layer}/ffn/layer_norm", states)).relu()
        states = states + linear(weights, f"{layer}/ffn/linear_1", hidden)
    return norm(weights, f"{side}/layer_norm", states)


def test_converted_weights_compute_the_same(model):
    weights, source, target = named(model), torch.tensor([4, 9, 5, 3]), torch.tensor([2, 7, 7])
    encoded = states_of(weights, "encoder", source, None)
    ids = source.unsqueeze(0)
    ours = model.encoders[ROUTE](Sequences(ids, torch.ones_like(ids, dtype=torch.bool)))
    assert_close(encoded, ours.states[0], atol=1e-5, rtol=1e-5)  # the arrays are float32
    decoder = model.decoders[ROUTE]
    decoded, _ = decoder(target.unsqueeze(0), decoder.start(ours))
    theirs = states_of(weights, "decoder", target, encoded) @ weights["decoder/projection/weight"].T
    wanted = model.heads[ROUTE].log_probs(decoded, ours)[0]
    assert_close(theirs.log_softmax(-1), wanted, atol=1e-4, rtol=1e-4)


def test_every_parameter_is_converted_once(model):
    weights = {name: array for name, array in named(model).items() if not name.endswith(("encodings", "ion/bias"))}
    tables = [name for name in weights if name.endswith(("embeddings_0/weight", "embeddings/weight"))]
    assert len(tables) == 2  # besides the projection: one table, thrice
    kept = sum(array.numel() for name, array in weights.items() if name not in tables)
    assert kept == sum(parameter.numel() for parameter in model.parameters())


def test_weights_are_set_by_their_path():
    from types import SimpleNamespace

    spec = SimpleNamespace(layer=[SimpleNamespace(), SimpleNamespace(linear_0=SimpleNamespace())])
    fill_spec(spec, {"layer_1/linear_0/weight": 3, "layer_0/bias": 4})
    assert (spec.layer[1].linear_0.weight, spec.layer[0].bias) == (3, 4)


def argos_package(export, file, root="translate-en_de-1_9/", **metadata):
    """A package of Argos Translate with the model of an export."""
    given = {"from_code": "en", "to_code": "de", "package_version": "1.9", **metadata}
    with ZipFile(file, "w") as archive:
        archive.writestr(f"{root}metadata.json", json.dumps(given))
        archive.write(export / "source.spm", f"{root}sentencepiece.model")
        for one in export.iterdir():
            if one.is_file():
                archive.write(one, f"{root}model/{one.name}")
    return file


def test_check_opens_an_export_and_an_argos_package_with_its_model(export, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    package = argos_package(export, tmp_path / "en_de.argosmodel")
    ours, theirs = open_contestants([str(export), str(package)], [], ("en", "de"), quiet)
    search = "decoding.search={name: beam, size: 4, stop: full, length_penalty: 0.2, max_extra: 200}"
    engine = load(export, [search], engine="ctranslate2")
    texts = [text for text in TEXTS if not text.endswith(".")]
    assert theirs.translate([*texts, ""]) == [one.text for one in engine.predict([*texts, ""], safeguards=False)]
    assert ours.translate(TEXTS) == [one.text for one in load(export, engine="ctranslate2").translate(TEXTS)]
    two = theirs.translate([f"{texts[0].capitalize()}.\n{texts[1]}", f"{texts[0].capitalize()}.", texts[1]])
    assert two[0] == f"{two[1]} {two[2]}"
    assert [one.name for one in tmp_path.iterdir()] == ["en_de.argosmodel"]


def test_languages_of_an_argos_package_are_its_own(export, tmp_path):
    package = argos_package(export, tmp_path / "a.argosmodel", "", from_code="fr", to_code="es")
    assert [one.pair for one in open_contestants([str(package)], [], None, quiet)] == [("fr", "es")]
