"""Runs as folders of Hugging Face, beside transformers."""

import json
from functools import partial

import pytest
from foreign_translators import m2m100_folder, marian_folder, toy_lines

from regard.errors import RegardError
from regard.exchange import FORMATS, export_folder, format_named, format_of, import_folder, model_card
from regard.predictor import load
from regard.predictor.engines.runtime import compiled_engine
from regard.runs.training import train
from regard.runtime import RuntimeTranslator

SEARCH = "decoding.search={name: beam, size: 4, stop: best_full, at_limit: free, max_ratio: 0.0, max_extra: 30}"
NETWORK = ["model.dim=32", "model.encoder.num_layers=2", "model.decoder.num_layers=1", "model.attention.num_heads=4",
           "model.self_attention.num_heads=4", "model.encoder.feedforward_dim=48", "model.decoder.feedforward_dim=40",
           "text.tokenizer.size=400", "training.max_updates=20", "device=cpu", SEARCH]  # fmt: skip
POST = ["model.encoder.norm=post", "model.decoder.norm=post"]
TEXTS = toy_lines(0, 24, "test")


def quiet(line):
    """Print nothing."""


def trained(folder, *changes):
    """A run of the toy grammar, trained for 20 updates."""
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("\n".join(toy_lines(side, 200)) + "\n", encoding="utf-8")
    settings = [*NETWORK, *changes]
    train(changes=settings, source=folder / "a.en", target=folder / "a.de", run=folder / "run", quiet=True)
    return load(folder / "run")


def exported(predictor, folder, **more):
    return export_folder(format_named("hf"), predictor, folder, texts=TEXTS, count=24, say=quiet, **more)


@pytest.mark.parametrize("make", [marian_folder, m2m100_folder])
def test_import_and_export_give_back_the_weights(make, tmp_path):
    from safetensors.torch import load_file

    folder = make(tmp_path / "theirs")
    predictor = import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet).predictor
    certificate = exported(predictor, tmp_path / "ours", license_name="mit")
    assert (certificate.equal, certificate.first) == (24, None)
    before, after = (load_file(one / "model.safetensors") for one in (folder, tmp_path / "ours"))
    assert all(after[name].equal(tensor) for name, tensor in before.items() if name in after)
    assert len(after) >= len(before)
    kept = json.loads((tmp_path / "ours" / "certificate.json").read_text())
    assert (kept["equal"], kept["format"]) == (24, "huggingface")
    assert "license: mit" in (tmp_path / "ours" / "README.md").read_text()


@pytest.mark.parametrize("changes", [[], POST, [*POST, "text.shared=false", "model.tied=target"]], ids=len)
def test_trained_run_translates_in_transformers(changes, tmp_path):
    certificate = exported(trained(tmp_path, *changes), tmp_path / "folder")
    assert (certificate.equal, certificate.first) == (24, None)
    assert certificate.gap is not None
    assert certificate.gap <= 1e-4


def test_texts_are_compared_up_to_the_limit_of_the_folder(tmp_path, monkeypatch):
    """A network of few updates repeats itself: until a limit that follows the source here, and a fixed one there."""
    monkeypatch.setattr("regard.exchange.huggingface.LONGEST", 40)
    predictor = trained(tmp_path, "decoding.search={name: greedy, max_ratio: 0.5, max_extra: 2}")
    assert max(len(one.ids) for one in predictor.predict(TEXTS)) < 39
    certificate = exported(predictor, tmp_path / "folder")
    assert (certificate.equal, certificate.stop) == (24, "at most 39 pieces")
    assert "with at most 39 pieces" in (tmp_path / "folder" / "README.md").read_text()


def test_other_networks_are_refused(tmp_path):
    with pytest.raises(RegardError, match=r'model\.position is "learned"'):
        exported(trained(tmp_path, "model.position=learned"), tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_difference_is_refused(tmp_path, monkeypatch):
    folder = marian_folder(tmp_path / "theirs")
    predictor = import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet).predictor
    (tmp_path / "taken").mkdir()
    with pytest.raises(RegardError, match="exists already"):
        exported(predictor, tmp_path / "taken")
    from regard.exchange.huggingface import TransformersProgram

    monkeypatch.setattr(TransformersProgram, "translate", lambda self, texts: ["another"] * len(texts))
    with pytest.raises(RegardError, match=r"translates 0 of 24 texts .*first difference: line 1, "):
        exported(predictor, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(("min_similarity", "written"), [(0.95, True), (0.97, False)])
def test_a_format_that_rounds_may_differ_a_little(min_similarity, written, tmp_path, monkeypatch):
    from regard.exchange.huggingface import HuggingFaceFormat, TransformersProgram

    folder = marian_folder(tmp_path / "theirs")
    predictor = import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet).predictor
    answers = [*(one.text for one in predictor.predict(TEXTS, safeguards=False))]
    monkeypatch.setattr(TransformersProgram, "translate", lambda self, texts: ["", *answers[1:]])  # 23 of 24: 0.958
    monkeypatch.setattr(HuggingFaceFormat, "min_similarity", min_similarity)
    if written:
        assert exported(predictor, tmp_path / "ours").equal == 23
    else:
        with pytest.raises(RegardError, match="translates 23 of 24 texts"):
            exported(predictor, tmp_path / "ours")
    assert (tmp_path / "ours").exists() == written


def test_card_of_a_run_names_its_origin(tmp_path):
    folder = marian_folder(tmp_path / "theirs")
    predictor = import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet).predictor
    card = model_card(predictor)
    assert "language: [en, de]" in card
    assert "Imported from huggingface: theirs (MarianMTModel)" in card
    for row in map(format_named, FORMATS):
        of_export = model_card(predictor, row)
        assert row.usage, row.name
        assert of_export.endswith(f"{row.usage}\n")
        assert "regard predict RUN" not in of_export


@pytest.mark.parametrize("make", [partial(marian_folder, activation_function="swish"), m2m100_folder])
def test_imported_translator_goes_on_to_the_engine_without_torch(make, tmp_path):
    folder = make(tmp_path / "theirs")
    predictor = import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet).predictor
    certificate = export_folder(format_named("runtime"), predictor, tmp_path / "ours", texts=TEXTS, count=24, say=quiet)
    assert (certificate.equal, certificate.first) == (24, None)


@pytest.fixture(scope="module")
def many_languages(tmp_path_factory):
    """A translator of many languages, whose code of the target begins each translation: its run, and its export."""
    home = tmp_path_factory.mktemp("languages")
    folder = m2m100_folder(home / "theirs")
    run = import_folder(format_of(folder), folder, home / "run", count=0, say=quiet).predictor.run.path
    export_folder(format_named("runtime"), load(run), home / "ours", texts=TEXTS, count=4, say=quiet)
    return run, home / "ours"


@pytest.mark.parametrize(
    "search", [{"size": 1}, {"at_limit": "cut", "max_extra": 6}, {"stop": "full"}, {"min_length": 4}], ids=str
)
def test_language_that_begins_a_translation_is_in_any_search(search, many_languages):
    run, export = many_languages
    changed = load(run, [f"decoding.search.{name}={value}" for name, value in search.items()])
    ours = changed.predict(TEXTS, safeguards=False)
    made = RuntimeTranslator(export, library=compiled_engine(), threads=1, **search)
    for one, (other,) in zip(ours, made.translations(TEXTS, safeguards=False), strict=True):
        assert (other.text, other.finished, other.score) == (one.text, one.finished, one.score)
        forced = made.forced(one.source, one.text)
        assert forced.target[0] == "__de__"


@pytest.mark.parametrize("name", ["torch", pytest.param("onnx", marks=pytest.mark.slow)])
def test_language_that_begins_a_translation_is_in_graphs(name, many_languages, tmp_path):
    if name == "onnx":
        pytest.importorskip("onnxscript")
    row, predictor = format_named(name), load(many_languages[0])
    certificate = export_folder(row, predictor, tmp_path / "ours", texts=TEXTS, count=24, say=quiet)
    assert (certificate.equal, certificate.first) == (24, None)
