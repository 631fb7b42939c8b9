"""Folders of other programs as runs, beside transformers."""

import json
import shutil
import subprocess
import sys
import warnings

import pytest
import torch
from foreign_translators import m2m100_folder, marian_folder, toy_lines

from regard.errors import CheckpointError, ConfigError, RegardError
from regard.exchange import format_of, import_folder, start_of
from regard.exchange.certificate import certify
from regard.exchange.format import ReadOptions
from regard.ops.kernels.transformer import compiled_transformer
from regard.pieces import BOS
from regard.predictor import load
from regard.runs import RunFolder

SHAPES = {
    "marian beam": (marian_folder, {}),
    "marian greedy": (marian_folder, {"seed": 1, "num_beams": 1, "activation_function": "relu"}),
    "marian early": (marian_folder, {"seed": 2, "early_stopping": True, "length_penalty": 0.6, "decoder_layers": 1}),
    "marian cut": (marian_folder, {"seed": 3, "forced_eos_token_id": None, "activation_function": "gelu"}),
    "marian no repeats": (marian_folder, {"seed": 4, "no_repeat_ngram_size": 2, "min_length": 9}),
    "marian greedy, least": (marian_folder, {"seed": 5, "num_beams": 1, "min_new_tokens": 7}),
    "m2m100": (m2m100_folder, {}),
}


def quiet(line):
    """Print nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return marian_folder(tmp_path_factory.mktemp("marian") / "opus")


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_and_probabilities_are_those_of_transformers(shape, tmp_path):
    make, changes = SHAPES[shape]
    folder, texts = make(tmp_path / "folder", **changes), toy_lines(0, 24, "test")
    made = import_folder(format_of(folder), folder, tmp_path / "run", texts=texts, count=24, say=quiet).certificate
    assert made.program is not None and made.gap is not None
    assert (made.equal, made.first) == (24, None)
    assert made.gap <= 1e-4


@pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here")
@pytest.mark.parametrize("shape", ["marian beam", "marian cut", "m2m100"])
@torch.no_grad()
def test_imported_networks_are_searched_in_compiled_code(shape, tmp_path):
    make, changes = SHAPES[shape]
    folder = make(tmp_path / "folder", **changes)
    predictor = import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet).predictor
    batch = predictor.task.batch([{"source": [5, 6, 7], "target": [5]}])
    state = predictor.model.start(batch)
    assert predictor.model.compiled_writer(torch.full((1, 1), BOS), state, 9) is not None


def test_pieces_are_those_of_transformers(tmp_path):
    from transformers import AutoTokenizer

    folder = marian_folder(tmp_path / "opus", codes=(">>de<<", ">>fr<<"))
    read = format_of(folder).read(folder, ReadOptions()).tokenizers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sacremoses, which nothing calls
        theirs = AutoTokenizer.from_pretrained(folder)
    texts = [*toy_lines(0, 300, "test"), "  Ünknown ① letters 中 ", ">>de<< A dog.", ">>xx<< A dog.", ">> a << b", "½"]
    for text in texts:
        source, target = read["source"], read["target"]
        assert [source.listed.order[one] for one in source.encode(text)] == theirs(text).input_ids[:-1]
        wanted = theirs(text_target=text).input_ids
        ids = target.encode(text)
        assert [target.listed.order[one] for one in ids] == wanted[:-1]
        assert target.decode(ids) == theirs.decode(wanted, skip_special_tokens=True)
        assert len(source.offsets(text)) == len(source.encode(text))


def test_run_opens_and_keeps_its_origin(folder, tmp_path):
    (folder / "README.md").write_text("---\nlanguage: [en, de]\nlicense: cc-by-4.0\n---\n# A model\n")
    import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet)
    assert load(tmp_path / "run").predict(["The man sees a dog."])[0].text
    origin = json.loads((tmp_path / "run" / "imported.json").read_text())
    assert (origin["format"], origin["architecture"]) == ("huggingface", "MarianMTModel")
    assert origin["license"] == "cc-by-4.0"
    assert origin["files"]["model.safetensors"][0] == (folder / "model.safetensors").stat().st_size


def changed(folder, name, change):
    """Change a JSON file."""
    values = json.loads((folder / name).read_text())
    change(values)
    (folder / name).write_text(json.dumps(values))


def pickled(folder):
    weights = folder / "model.safetensors"
    from safetensors.torch import load_file

    torch.save({name: one.half() for name, one in load_file(weights).items()}, folder / "pytorch_model.bin")
    weights.unlink()


FAULTS = {
    r"another architecture, bart \(BartModel\)": lambda folder: changed(
        folder, "config.json", lambda one: one.update(model_type="bart", architectures=["BartModel"])
    ),
    "activation_function is 'tanh'": lambda folder: changed(
        folder, "config.json", lambda one: one.update(activation_function="tanh")
    ),
    "has no model.safetensors": lambda folder: (folder / "model.safetensors").unlink(),
    "a pickle, which may run any code .*--allow-pickle": pickled,
    "bytes, and its header asks for": lambda folder: (folder / "model.safetensors").write_bytes(
        (folder / "model.safetensors").read_bytes()[:-40]
    ),
    "its header is longer": lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 40),
    "rows for them": lambda folder: changed(folder, "vocab.json", lambda one: one.update({"new piece": len(one)})),
    "does not number its pieces": lambda folder: changed(folder, "vocab.json", lambda one: one.update(a=99_999)),
    "has the shape": lambda folder: changed(folder, "config.json", lambda one: one.update(encoder_ffn_dim=64)),
    "has no tensor model.encoder.layers.2": lambda folder: changed(
        folder, "config.json", lambda one: one.update(encoder_layers=3)
    ),
    "its tokenizer in tokenizer.json alone": lambda folder: (folder / "source.spm").rename(folder / "tokenizer.json"),
    "has no source.spm": lambda folder: (folder / "source.spm").unlink(),
    "damaged SentencePiece model": lambda folder: (folder / "target.spm").write_bytes(b"no model"),
}


@pytest.mark.parametrize("line", FAULTS)
def test_fault_of_a_folder_is_one_line(line, tmp_path):
    folder = marian_folder(tmp_path / "opus")
    FAULTS[line](folder)
    with pytest.raises(CheckpointError, match=line) as error:
        import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_pickle_is_read_where_it_is_allowed(tmp_path):
    folder = marian_folder(tmp_path / "opus")
    pickled(folder)
    import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet, options=ReadOptions(True))
    assert load(tmp_path / "run").predict(["The man sees a dog."])[0].text


def test_pickle_that_is_more_than_weights_is_refused(tmp_path):
    folder = marian_folder(tmp_path / "opus")
    pickled(folder)
    torch.save({"code": print}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="cannot be read as weights alone"):
        import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet, options=ReadOptions(True))


def test_settings_that_no_search_has_are_named(folder, tmp_path):
    def asked(one):
        one.update(do_sample=True, repetition_penalty=1.0, bad_words_ids=[*one["bad_words_ids"], [5]], num_beams=2)

    shutil.copytree(folder, other := tmp_path / "opus")
    changed(other, "generation_config.json", asked)
    said = list[str]()
    import_folder(format_of(other), other, tmp_path / "run", count=0, say=said.append)
    (line,) = [one for one in said if one.startswith("not carried over")]
    assert "do_sample=True, bad_words_ids=[[" in line and "repetition" not in line
    origin = json.loads((tmp_path / "run" / "imported.json").read_text())
    assert [one.split("=")[0] for one in origin["not_carried"]] == ["do_sample", "bad_words_ids"]


def test_differing_texts_are_warned_of(folder, tmp_path, monkeypatch):
    class Other:
        name = "other"

        def translate(self, texts):
            return ["other", *(one.text for one in load(tmp_path / "run").predict(texts[1:], safeguards=False))]

        def log_probs(self, texts, targets):
            return None

    row = format_of(folder)
    monkeypatch.setattr(type(row), "program", lambda *given: Other())
    said = list[str]()
    import_folder(row, folder, tmp_path / "run", texts=toy_lines(0, 3, "test"), say=said.append)
    assert said[-1].startswith("warning: 1 of 3 ")


def test_spaces_at_ends_are_counted(folder, tmp_path):
    class Spaced:
        name = "spaced"

        def translate(self, texts):
            return [f"{one.text}{' ' * place}" for place, one in enumerate(predictor.predict(texts, safeguards=False))]

        def log_probs(self, texts, targets):
            return None

    predictor = import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet).predictor
    found = certify(predictor, Spaced(), toy_lines(0, 3, "test"))
    assert (found.equal, found.spaces) == (3, 2)
    assert "spaced translates 3 of 3 texts as Regard does (2 but for spaces at their ends)" in str(found)


def test_language_of_several_is_asked_for(tmp_path):
    folder = m2m100_folder(tmp_path / "folder")
    changed(folder, "tokenizer_config.json", lambda one: one.pop("tgt_lang"))
    with pytest.raises(CheckpointError, match="--languages SOURCE TARGET"):
        import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet)
    with pytest.raises(CheckpointError, match="has no language 'tlh'"):
        options = ReadOptions(languages=("en", "tlh"))
        import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=quiet, options=options)


def test_a_run_of_regard_needs_no_import(tmp_path):
    (tmp_path / "experiment.yaml").touch()
    with pytest.raises(RegardError, match=r"is a run of Regard already, .* \(regard predict"):
        format_of(tmp_path)


def test_folder_of_no_format_is_refused(tmp_path):
    with pytest.raises(RegardError, match=r"is not a folder of firefox or huggingface or marian \("):
        format_of(tmp_path)


KILLED = """
import os, sys
from pathlib import Path
from regard.exchange import import_run, start_of
from regard.runs import RunFolder

{place} = lambda *_: os._exit(9)
start_of(Path(sys.argv[1]), Path(sys.argv[2]), print)
"""


@pytest.mark.parametrize("place", ["RunFolder.begin", "import_run.fill"])
def test_killed_import_of_a_start_is_made_again(place, folder, tmp_path):
    run, made = tmp_path / "run", tmp_path / "opus-imported"
    code = KILLED.format(place=place)
    killed = subprocess.run([sys.executable, "-c", code, folder, run], capture_output=True, text=True, check=False)
    assert killed.returncode == 9, killed.stderr
    assert (made / "experiment.yaml").is_file()
    with RunFolder(made).held(), pytest.raises(ConfigError, match="by another process"):
        start_of(folder, run, quiet)  # as while the other still imports
    said = []
    assert start_of(folder, run, said.append) == made
    assert not any("before" in line for line in said)
    assert load(made).predict(["a"])
    assert start_of(folder, run, said.append) == made
    assert said[-1] == f"{made} was imported from {folder} before"


def test_several_processes_do_not_import(folder, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setenv("RANK", "1")
        patch.setenv("WORLD_SIZE", "2")
        with pytest.raises(ConfigError, match=f"several processes cannot import it .regard import {folder} -o RUN"):
            start_of(folder, run, quiet)
        assert not [*tmp_path.iterdir()]
    made = start_of(folder, run, quiet)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert start_of(folder, run, quiet) == made


@pytest.mark.parametrize(
    ("languages", "message"),
    [(("de", "en"), "from 'en' to 'de', not the other way"), (("en", "en"), "names 'en' twice")],
)
def test_reversed_or_equal_languages_are_refused(languages, message, folder, tmp_path):
    named = shutil.copytree(folder, tmp_path / "named")
    (named / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "de"}', encoding="utf-8")
    with pytest.raises(CheckpointError, match=message):
        import_folder(format_of(named), named, tmp_path / "run", options=ReadOptions(languages=languages))
