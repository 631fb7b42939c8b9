"""The engine without torch: texts, scores and alignments of it beside those of the run that it is exported from."""

import ctypes
import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from foreign_translators import toy_lines
from torch.testing import assert_close

from regard.cli.without_torch import answer_without_torch
from regard.errors import RegardError
from regard.exchange import export_folder, format_named
from regard.ops.kernels.transformer import compiled_transformer
from regard.ops.plain import plain
from regard.predictor import load
from regard.predictor.engines.runtime import compiled_engine
from regard.records import EOS
from regard.reports.behaviour.contestants import open_contestants
from regard.runs.training import train
from regard.runtime import FolderError, RuntimeTranslator
from regard.runtime.build import build
from regard.runtime.engine import REALS, SHAPE, EngineFault
from regard.runtime.library import SOURCE, VARIANTS, engine_library, variants_of
from regard.runtime.loops import LOOPED
from regard.runtime.processor import system_processor

ROOT = Path(__file__).parents[2]
TEXTS = toy_lines(0, 60, "test")
NETWORK = ["model.dim=32", "model.encoder.num_layers=2", "model.decoder.num_layers=1", "model.attention.num_heads=4",
           "model.self_attention.num_heads=4", "model.encoder.feedforward_dim=48", "model.decoder.feedforward_dim=40",
           "training.learning_rate=0.005", "device=cpu", "text.tokenizer={name: subwords, size: 400}",
           "decoding.search={name: beam, size: 4, max_ratio: 1.0, max_extra: 5}"]  # fmt: skip
SHAPES = {
    "pre-norm": ["text.shared=false", "model.tied=target"],
    "post-norm, one table, gelu": ["model.encoder={norm: post, feedforward: gelu}",
                                   "model.decoder={norm: post, feedforward: gelu}", "model.tied=all"],
    "learned, swish, zero start": ["model.position=learned", "model.embedder.zero_start=true",
                                   "model.encoder.feedforward=swish", "model.decoder.feedforward=swish"],
    "ssru, bias, three heads": ["model.decoder={history: {name: recurrent, cell: ssru}, num_layers: 2}",
                                "model.head.bias=true", "model.dim=36",
                                "model.attention.num_heads=3", "model.self_attention.num_heads=3"],
    "greedy, words": ["decoding.search={name: greedy, max_ratio: 1.0, max_extra: 5}", "text.tokenizer={name: words}"],
}  # fmt: skip


def quiet(line):
    """Print nothing."""


def run_in(folder, *changes, updates=40):
    """The folder of a run of the toy grammar after a few updates."""
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("\n".join(toy_lines(side, 200)) + "\n", encoding="utf-8")
    settings = [*NETWORK, f"training.max_updates={updates}", *changes]
    train(changes=settings, source=folder / "a.en", target=folder / "a.de", run=folder / "run", quiet=True)
    return folder / "run"


def opened(folder, **search):
    return RuntimeTranslator(folder, library=compiled_engine(), threads=1, **search)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_in(tmp_path_factory.mktemp("plain"), *SHAPES["pre-norm"], updates=300)


@pytest.fixture(scope="module")
def export(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "runtime"
    certificate = export_folder(format_named("regard-runtime"), load(run), folder, texts=TEXTS, count=60, say=quiet)
    assert (certificate.equal, certificate.first) == (60, None)
    return folder


@pytest.mark.parametrize("shape", SHAPES)
def test_each_network_translates_alike(shape, tmp_path):
    predictor = load(run_in(tmp_path, *SHAPES[shape]))
    certificate = export_folder(format_named("runtime"), predictor, tmp_path / "out", texts=TEXTS, count=60, say=quiet)
    assert (certificate.texts, certificate.equal, certificate.first) == (60, 60, None)


@pytest.mark.parametrize(
    "search",
    [{"size": 1}, {"stop": "full"}, {"length_penalty": 0.6}, {"gnmt": True}, {"min_length": 6}, {"at_limit": "cut"},
     {"at_limit": "free", "max_extra": 1}, {"stop": "best_full", "size": 2}],
    ids=str,
)  # fmt: skip
def test_searches_are_those_of_the_run(search, run, export):
    named = {"gnmt": "normalisation=gnmt"}
    changes = [f"decoding.search.{named.get(name, f'{name}={value}')}" for name, value in search.items()]
    ours = load(run, changes).predict(TEXTS, safeguards=False)
    theirs = opened(export, **search).translations(TEXTS, safeguards=False)
    for one, (other,) in zip(ours, theirs, strict=True):
        assert (other.text, other.finished, other.score) == (one.text, one.finished, one.score)


def test_n_best_lists_and_batches_are_those_of_the_run(run, export):
    ours = load(run, ["decoding.search.n_best=3"]).predict(TEXTS, safeguards=False)
    translator = opened(export)
    for text, one in zip(TEXTS, ours, strict=True):
        assert [found.text for found in translator.translations([text], 3, safeguards=False)[0]] == [
            found.text for found in (one, *one.alternatives)
        ]


def test_forced_targets_have_the_probabilities_and_weights_of_the_network(run, export):
    predictor, translator = load(run), opened(export)
    source, target = TEXTS[3], toy_lines(1, 60, "test")[3]
    columns = predictor.task.vocabularies
    ids = {"source": columns["source"].encode(source), "target": columns["target"].encode(target)}
    batch = predictor.task.batch([ids])
    with plain(), torch.no_grad():
        decoded, _ = predictor.model.decode(batch, need_weights=True)
        log_probs = predictor.model.distributions(batch).log_probs
    found, gold = translator.forced(source, target), batch.columns["target"].items[0]
    assert gold[-1] == EOS and len(found.log_probs) == len(gold)
    assert_close(torch.tensor(found.log_probs), log_probs.gather(1, gold[:, None])[:, 0], atol=2e-5, rtol=1e-4)
    assert_close(torch.tensor(found.weights), decoded.weights[0], atol=1e-5, rtol=1e-4)
    assert found.score == pytest.approx(float(sum(found.log_probs)))


def test_eight_bits_are_those_of_the_run(run, tmp_path):
    row = format_named("runtime", {"quantization": "int8"})
    if not compiled_transformer().multiplies_eight():
        pytest.skip("this processor has no 8-bit products, so a run stays in float32")
    rounded = load(run, ["decoding.precision=int8"])
    export_folder(row, rounded, tmp_path / "int8", texts=TEXTS, count=60, say=quiet)
    export_folder(format_named("runtime"), load(run), tmp_path / "float32", count=0, say=quiet)
    sizes = [(tmp_path / name / "weights.bin").stat().st_size for name in ("int8", "float32")]
    places = json.loads((tmp_path / "int8" / "translator.json").read_text())["tensors"]
    assert sizes[0] < sizes[1] and sum(one is not None and one[3] == 1 for one in places) > 10
    ours = [one.text for one in rounded.predict(TEXTS, safeguards=False)]
    theirs = opened(tmp_path / "int8").translate(TEXTS, safeguards=False)
    assert np.mean([one == other for one, other in zip(ours, theirs, strict=True)]) >= 0.9


def test_loops_are_removed_as_the_run_removes_them(run, export):
    weak = ["decoding.search.min_length=30", "decoding.search.max_extra=60"]
    ours = load(run, weak).predict(TEXTS)
    theirs = opened(export, min_length=30, max_extra=60).translations(TEXTS)
    assert sum(one.warning == LOOPED for one in ours) > 5
    for one, (other,) in zip(ours, theirs, strict=True):
        if not one.warning or one.warning == LOOPED:
            assert (other.text, other.finished) == (one.text, one.finished)


def test_nothing_becomes_nothing_and_long_texts_are_named(export):
    translator = opened(export)
    assert translator.translate(["", TEXTS[0], "  "])[::2] == ["", ""]
    with pytest.raises(ValueError, match=r"^text 2: .* pieces are more than this model takes"):
        translator.translate([TEXTS[0], "cook " * 1100])
    with pytest.raises(ValueError, match=r"^text 1: .* characters are more than"):
        translator.translate(["c" * 100_000])


def test_no_torch_is_imported(export):
    code = "import sys, regard.runtime.translator; print(sorted({'torch', 'numpy', 'pydantic'} & {*sys.modules}))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["weights.bin", "translator.json", "source_pieces.json"])
@pytest.mark.parametrize("change", [None, slice(0, 40)], ids=["missing", "cut"])
def test_damaged_folder_is_one_line(name, change, export, tmp_path):
    for file in export.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    file = tmp_path / name
    file.unlink() if change is None else file.write_bytes(file.read_bytes()[change])
    with pytest.raises(FolderError, match=name.split(".")[0]):
        opened(tmp_path)


def test_tensors_of_other_sizes_are_refused(export, tmp_path):
    for file in export.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    settings = json.loads((tmp_path / "translator.json").read_text())
    for place, one in enumerate(settings["tensors"]):
        wrong = (
            [] if one is None else [[*one[:2], one[2] + 1, one[3]], [-4, *one[1:]], [10**9, *one[1:]], [*one[:3], 1]]
        )
        for changed in wrong:
            tensors = [*settings["tensors"][:place], changed, *settings["tensors"][place + 1 :]]
            (tmp_path / "translator.json").write_text(json.dumps({**settings, "tensors": tensors}))
            with pytest.raises(FolderError, match="cannot be opened"):
                opened(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("encoder_heads", 0), ("own_heads", -1), ("cross_heads", 0), ("activation", 3), ("aligned_layer", 5), ("dim", -1),
     ("pre", 2), ("encoder_layers", 10**9), ("end", 10**6)],
)  # fmt: skip
def test_impossible_sizes_are_refused(name, value, export, tmp_path):
    for file in export.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    settings = json.loads((tmp_path / "translator.json").read_text())
    settings["shape"][name] = value
    (tmp_path / "translator.json").write_text(json.dumps(settings))
    with pytest.raises(FolderError, match="cannot be opened"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("changed", "line"),
    [({"files": [1]}, "does not name its files"), ({"files": {}}, "does not name its files"),
     ({"files": {"../a": ""}}, "does not name its files"), ({"max_target": 10**18}, "a length that no model has")],
    ids=str,
)  # fmt: skip
def test_foreign_settings_are_one_line(changed, line, export, tmp_path):
    for file in export.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    settings = json.loads((tmp_path / "translator.json").read_text())
    (tmp_path / "translator.json").write_text(json.dumps({**settings, **changed}))
    with pytest.raises(FolderError, match=line):
        opened(tmp_path)


def test_what_the_fast_command_cannot_do_is_left_to_the_other(export):
    assert not answer_without_torch(["predict", str(export), "one line\nand another"])
    long = "\u6211" * 200  # too long for the name of a file
    assert answer_without_torch(["predict", str(export), long]) and not answer_without_torch(["predict", long, "a"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_and_a_closed_pipe_are_no_traceback(export):
    program = [sys.executable, "-m", "regard", "predict", str(export), "a dog"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(program, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as closed:
        closed.stdout.close()
        assert (closed.stderr.read(), closed.wait()) == ("", 141)


@pytest.mark.parametrize("count", [-3, 0])
def test_less_than_one_translation_is_refused(count, export):
    with pytest.raises(EngineFault, match="at least 1"):
        opened(export).translations(TEXTS[:1], count)


def test_limits_are_those_of_the_search(run, export):
    search, translator = load(run).setup.search, opened(export)
    for ratio in (0.53, 1.1, 1.7, 2.3):
        search.max_ratio, rules = ratio, translator.rules._replace(max_ratio=ratio)
        sizes = torch.arange(1, 200)
        ours = (sizes * ratio).long() + search.max_extra
        assert [rules.limit(size, translator.settings["max_target"]) for size in sizes.tolist()] == ours.clamp(
            1, translator.settings["max_target"]
        ).tolist()


def test_a_word_of_many_letters_is_cut_quickly(export):
    table = opened(export).source
    letters = "".join(sorted({piece[-1] for piece in table.ids if piece[-1].isalpha()}))
    assert "".join(table.decode(table.encode(letters * 2000)).split()) == letters * 2000


def test_ids_outside_the_vocabulary_are_refused(export):
    engine, rules = opened(export)._engine, opened(export).rules
    with pytest.raises(EngineFault, match="vocabulary"):
        engine.translate([[5, 10**6]], rules, [5])
    with pytest.raises(EngineFault, match="empty"):
        engine.translate([[]], rules, [5])


def test_networks_that_are_not_compiled_are_refused(tmp_path):
    predictor = load(run_in(tmp_path, "model.self_attention.score=additive", updates=1))
    with pytest.raises(RegardError, match="--to onnx"):
        export_folder(format_named("runtime"), predictor, tmp_path / "out", say=quiet)


def test_processors_get_the_quickest_library_that_they_can_run():
    every = frozenset().union(*(one.flags for one in VARIANTS))
    assert variants_of("x86_64", every)[0].name == "x86_64-avx512vnni"
    assert [one.name for one in variants_of("x86_64", frozenset())] == ["x86_64-base"]
    assert variants_of("riscv64", every) == []


def test_one_library_is_compiled_for_both(tmp_path, monkeypatch):
    monkeypatch.setattr("regard.runtime.library.FOLDER", tmp_path)  # as where none was built ahead
    assert engine_library.__wrapped__()._name == compiled_engine()._name


def test_check_opens_an_export(run, export):
    (found,) = open_contestants([str(export)], [], None, quiet)
    texts = [*TEXTS, "", "dog " * 2000, *TEXTS[:3]]
    assert found.translate(texts) == [one.text for one in load(run).translate(texts)]
    assert found.pair == ("en", "de")  # an export names its own


def test_engine_answers_as_the_run_does(run, export):
    texts = [*TEXTS, "", "Two dogs: 37 of them. See https://example.org/a!", "你好世界", "the Жук dog"]
    for changes in ([], ["decoding.search=greedy"], ["decoding.search.n_best=3", "decoding.search.length_penalty=0.5"]):
        ours, theirs = load(run, changes), load(export, changes, engine="runtime")
        assert theirs.predict(TEXTS) == ours.predict(TEXTS)
        assert [one.text for one in theirs.translate(texts)] == [one.text for one in ours.translate(texts)]
    with pytest.raises(RegardError, match="runtime engine does not have glossaries"):
        theirs.predict(TEXTS[:1], prefixes=["a"])
    with pytest.raises(RegardError, match=r"decoding\.search: is not one that the runtime engine has"):
        load(export, ["decoding.search=sampling"], engine="runtime")
    (export / "weights.bin").rename(export / "other.bin")
    with pytest.raises(RegardError, match=r"weights\.bin: is missing"):
        load(export, engine="runtime")
    (export / "other.bin").rename(export / "weights.bin")


def test_predict_answers_an_export_without_torch(export, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("regard.runtime.translator.engine_library", compiled_engine)
    texts = [*TEXTS[:20], "Two dogs: 37 of them. See https://example.org/a!", "你好世界", "the Жук dog", " a dog "]
    assert answer_without_torch(["predict", str(export), *texts])
    shown = capsys.readouterr()
    wanted = load(export, engine="runtime").translate(texts)
    assert shown.out == "".join(f"{one.text}\n" for one in wanted)
    warned = [(number, one.warning) for number, one in enumerate(wanted, 1) if one.warning]
    assert shown.err == "".join(f"warning: argument:{number}: {warning}\n" for number, warning in warned) != ""
    for words in ([], ["-i", "a"], ["decoding.search=greedy", "a"], [""], [str(tmp_path)]):
        assert not answer_without_torch(["predict", str(export), *words])
    assert not answer_without_torch(["predict", str(tmp_path), "a"]) and not answer_without_torch(["train"])
    code = (
        "import sys; from regard.cli import without_torch; import regard.runtime.translator as place\n"
        f"place.engine_library = lambda: place.ctypes.CDLL({compiled_engine()._name!r})\n"
        f"assert without_torch.answer_without_torch(['predict', {str(export)!r}, 'a dog'])\n"
        "print({'torch', 'numpy', 'typer'} & {*sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[1:] == ["set()"]


def test_sizes_are_named_alike_in_both_languages():
    text = SOURCE.read_text(encoding="utf-8")
    for name, names in {"Shape": SHAPE, "Real": REALS}.items():
        listed = re.search(rf"enum {name} {{([^}}]*)}}", text)[1].split(",")
        written = [re.sub("(?<!^)([A-Z])", r"_\1", one.strip()[1:]).lower().removesuffix("_id") for one in listed]
        assert written == [*names]


@pytest.mark.slow
def test_every_variant_writes_the_same_texts(run, export, tmp_path):
    wanted = [one.text for one in load(run).predict(TEXTS, safeguards=False)]
    variants = variants_of(platform.machine(), system_processor().flags)
    for one, file in zip(variants, build(variants, tmp_path), strict=True):
        found = RuntimeTranslator(export, library=ctypes.CDLL(str(file)), threads=1).translate(TEXTS, safeguards=False)
        assert (one.name, found) == (one.name, wanted)


def test_check_refuses_a_damaged_export(export, tmp_path):
    damaged = shutil.copytree(export, tmp_path / "damaged")
    (damaged / "weights.bin").unlink()
    with pytest.raises(RegardError, match=r"weights\.bin: is missing"):
        open_contestants([str(damaged)], [], ("en", "de"), quiet)
