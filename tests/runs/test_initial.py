"""A run starts from another one: from parts of its model with its vocabularies, or as the same model on other texts."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from networks import build_language_model, build_translator
from small_runs import SMALL, regard, unsaid

from regard.data import toy
from regard.registry import Choice
from regard.runs import Run, RunFolder
from regard.runs.initial import names_by_part

SIZE = "text.tokenizer.size=400"
FEW = [one for one in SMALL if not one.startswith(("training.max_updates", "text.tokenizer"))] + [SIZE]
LOSS = [
    "training.metric=loss", "training.average=1", "training.batch_tokens=512", "training.schedule=constant",
    "training.learning_rate=0.005", "decoding.search={name: greedy, max_ratio: 0.1}",
]  # fmt: skip


def write_toy(folder, language, count, seed):
    """Pairs of the toy → the options that name their files."""
    texts = list(zip(*toy.pairs(language, count, seed), strict=True))
    files = [folder / f"{language}.en", folder / f"{language}.{language}"]
    for file, lines in zip(files, texts, strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--source", str(files[0]), "--target", str(files[1])]


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("german"), "de", 300, 1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, german):
    run = tmp_path_factory.mktemp("trained") / "run"
    settings = ["training.max_updates=60", "training.validate_every=60", "text.shared=false", "model.tied=target"]
    done = regard("train", *FEW, *LOSS, *settings, *german, "--run", run, "--quiet")
    assert done.code == 0, done.said
    return run


@pytest.fixture
def others(tmp_path):
    """Other sentences of the same languages, and a dev part of their own."""
    folder = tmp_path / "dev"
    folder.mkdir()
    source, target = write_toy(folder, "de", 30, 3)[1::2]
    return [*write_toy(tmp_path, "de", 200, 2), "--dev-source", source, "--dev-target", target]


def begun(*words):
    """Training that ends before the first update, when it has been validated."""
    return regard("train", *words, *LOSS, "training.max_minutes=1e-9")


def losses(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {line["update"]: line["loss"] for line in lines if "first" in line or "perplexity" in line}


def loss_on(run, source, target):
    """Nats per piece of a dev part under the model of a run, pair by pair."""
    model, task, _ = Run.open(run).assembled()
    texts = (Path(file).read_text(encoding="utf-8").splitlines() for file in (source, target))
    pairs = [{"source": one, "target": other} for one, other in zip(*texts, strict=True)]
    batches = [task.batch(task.encode([pair])) for pair in pairs]
    return sum(float(model.nll(batch).detach().double().sum()) for batch in batches) / sum(
        batch.count for batch in batches
    )


def weights(run) -> dict[str, torch.Tensor]:
    return RunFolder(run).checkpoint().model


def start(run, *parts):
    return f"init={{run: '{run}', parts: [{', '.join(parts)}]}}"


def test_fine_tuning_starts_where_the_other_run_ended(trained, others, tmp_path):
    tuned, again, fresh = (tmp_path / name for name in ("tuned", "again", "fresh"))
    done = begun("--from", trained, *others, "--run", tuned)
    assert done.code == 0, done.said
    assert "new: nothing" in done.said
    for name, tensor in weights(trained).items():
        assert torch.equal(weights(tuned)[name], tensor)
    for file in (trained / "text").rglob("*"):
        assert file.is_dir() or (tuned / "text" / file.relative_to(trained / "text")).read_bytes() == file.read_bytes()
    known = Run.open(trained).experiment
    assert Run.open(tuned).experiment.model == known.model
    assert Run.open(tuned).experiment.text == known.text
    assert begun(*FEW, "model.tied=target", "text.shared=false", *others, "--run", fresh).code == 0
    assert losses(tuned)[0] < losses(fresh)[0] - 0.3
    assert losses(tuned)[0] == pytest.approx(loss_on(trained, others[5], others[7]), abs=1e-4)
    changes = ["training.max_updates=20", "training.validate_every=20", "training.seed=4"]
    assert regard("train", "--from", trained, *others, "--run", again, *LOSS, *changes, "--quiet").code == 0
    assert min(losses(again).values()) < losses(tuned)[0]


MODEL = [*FEW, "model.tied=target"]


def test_parts_are_taken_and_the_rest_is_new(trained, others, tmp_path):
    run = tmp_path / "run"
    done = begun(*MODEL, start(trained, "encoder", "source_embedder"), *others, "--run", run, "training.seed=9")
    assert done.code == 0, done.said
    mine, theirs, fresh = weights(run), weights(trained), names_by_part(Run.open(run).assembled().model)
    taken = {*fresh["encoder"].values(), *fresh["source_embedder"].values()}
    for name, tensor in mine.items():
        assert torch.equal(tensor, theirs[name]) == (name in taken), name
    told = " ".join(done.said.split())
    first = re.search(r"taken from \S+ \(step-\d+\): source_embedder, encoder: ([\d,]+) parameters", told)
    rest = re.search(r"new: target_embedder, decoder: ([\d,]+) parameters", told)
    assert first and rest, told
    counts = [int(found[1].replace(",", "")) for found in (first, rest)]
    model = Run.open(run).assembled().model
    assert sum(counts) == sum(one.numel() for one in model.parameters())
    parts = [*model.parts()["encoder"], *model.parts()["source_embedder"]]
    assert counts[0] == sum(one.numel() for part in parts for one in part.parameters())


def test_a_language_model_starts_from_the_decoder_of_a_translator(trained, german, tmp_path):
    """Without what looks at the source."""
    translator, run = tmp_path / "translator", tmp_path / "run"
    assert begun(*FEW, *german, "--run", translator, "model.tied=all").code == 0
    settings = ["model.dim=16", "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}", "--text"]
    done = begun(*settings, german[3], start(translator), "training.seed=3", "--run", run)
    assert done.code == 0, done.said
    assert "new: nothing" in done.said
    theirs = weights(translator)
    for name, tensor in weights(run).items():
        inside = name.replace("decoder.", "decoders.translate.", 1).replace("head.", "heads.translate.", 1)
        assert torch.equal(tensor, theirs[inside])
    done = begun(*settings, german[3], start(trained), "--run", tmp_path / "none")
    told = "init.vocabularies: ", str(trained), "has source, target, none of which is named as text here"
    assert unsaid(done, *told) == [], done.said


@pytest.fixture(scope="module")
def reader(tmp_path_factory, german):
    """A language model of German."""
    run = tmp_path_factory.mktemp("reader") / "run"
    done = begun("--text", german[3], "--run", run, *BLOCK, SIZE)
    assert done.code == 0, done.said
    return run


BLOCK = ["model.dim=16", "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}"]


def pieces(run, folder):
    return {path.name: path.read_bytes() for path in (run / "text" / folder).iterdir()}


def test_a_translator_writes_with_a_language_model(reader, others, tmp_path):
    """The vocabulary of what it writes is taken, that of what it reads is learnt; what looks at the source is new."""
    run = tmp_path / "run"
    init = f"init={{run: '{reader}', parts: [target_embedder, decoder, head], vocabularies: {{target: text}}}}"
    settings = ["text.shared=false", "model.tied=target", "training.seed=3"]
    done = begun(*[one for one in FEW if one != SIZE], *settings, init, *others, "--run", run)
    assert done.code == 0, done.said
    assert pieces(run, "target") == pieces(reader, "shared") != pieces(run, "source")
    mine, theirs = weights(run), weights(reader)
    for name, tensor in theirs.items():
        here = name.replace("decoder.", "decoders.translate.", 1).replace("head.", "heads.translate.", 1)
        assert torch.equal(mine[here], tensor), name
    unseen = {
        name for name in mine if name.startswith("decoders.") and name.replace("s.translate", "", 1) not in theirs
    }
    assert unseen and all(".cross" in name for name in unseen)


def test_labels_are_learnt_where_the_other_run_has_none(reader, german, tmp_path):
    lines = Path(german[3]).read_text(encoding="utf-8").splitlines()
    table, run = tmp_path / "labels.tsv", tmp_path / "run"
    table.write_text("".join(f"{'ab'[len(line) % 2]}\t{line}\n" for line in lines), encoding="utf-8")
    settings = ["model={encoder: embeddings, pooling: mean, dim: 16}", "task=classification"]
    done = begun(table, *settings, start(reader, "embedder"), "--run", run)
    assert done.code == 0, done.said
    assert "vocabularies of text come from" in " ".join(done.said.split())
    assert pieces(run, "shared") == pieces(reader, "shared")
    assert torch.equal(weights(run)["embedder.table"], weights(reader)["decoder.embedder.table"])
    assert set(Run.open(run).columns["label"].labels) == {"a", "b"}


@pytest.mark.parametrize(
    ("vocabularies", "told"),
    [
        ("{targt: text}", "this task has no column 'targt' (did you mean 'target'?)"),
        ("{target: source}", "has no column 'source'"),
    ],
)
def test_a_vocabulary_that_is_not_there_is_refused(reader, others, tmp_path, vocabularies, told):
    init = f"init={{run: '{reader}', vocabularies: {vocabularies}}}"
    done = begun(*FEW[:-1], init, *others, "--run", tmp_path / "run")
    assert unsaid(done, "init.vocabularies: ", told) == []


def test_a_resumed_run_does_not_need_the_other_one(trained, others, tmp_path):
    other, run, unbroken = shutil.copytree(trained, tmp_path / "other"), tmp_path / "run", tmp_path / "unbroken"
    ends = ["training.max_updates=3", "training.validate_every=3"]
    assert regard("train", "--from", other, *others, *LOSS, *ends, "--run", unbroken, "--quiet").code == 0
    assert regard("train", "--from", other, *others, *LOSS, *ends, "training.max_updates=1", "--run", run).code == 0
    shutil.rmtree(other)
    done = regard("train", run, "--resume", *ends, "--quiet")
    assert done.code == 0, done.said
    for name, tensor in weights(unbroken).items():
        assert torch.equal(weights(run)[name], tensor)
    done = regard("train", run, "--resume", "init.parts=encoder")
    assert unsaid(done, "init.parts: cannot change in a run that has begun") == []


@pytest.mark.parametrize(
    ("changes", "parts", "told"),
    [
        (["model.dim=32"], [], ["embedder", "has the shape", "× 32 here and", "× 16 in", "other tensors differ"]),
        ([], ["encodr"], ["init.parts: this model has no 'encodr' (did you mean 'encoder'?)"]),
        (["model.encoder=recurrent"], ["encoder"], ["init.parts: 'encoder' has no tensor in common", "leave it out"]),
        (["text.shared=true"], [], ["text: cannot differ from that of", "leave it out"]),
        (["text.tokenizer.size=500"], [], ["text: cannot differ from that of"]),
    ],
)
def test_what_cannot_be_taken_is_refused(trained, others, tmp_path, changes, parts, told):
    done = begun(*MODEL, start(trained, *parts), *others, "--run", tmp_path / "run", *changes)
    assert unsaid(done, *told) == []
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_missing_or_damaged_is_refused(trained, others, tmp_path):
    for words in (["--from", tmp_path / "none"], [start(tmp_path / "none")]):
        done = begun(*words, *others, "--run", tmp_path / "run")
        assert unsaid(done, str(tmp_path / "none"), "there is no such folder") == []
    broken = shutil.copytree(trained, tmp_path / "broken")
    weights_file = max((broken / "checkpoints").glob("step-*")) / "model.safetensors"
    weights_file.write_bytes(weights_file.read_bytes()[:-9])
    assert unsaid(begun("--from", broken, *others, "--run", tmp_path / "run"), "is damaged, cut short") == []
    assert not (tmp_path / "run").exists()
    done = regard("train", trained, "--resume", "--from", trained)
    assert unsaid(done, "--from: is for a new run") == []


def test_two_tables_do_not_become_one(german, tmp_path):
    """The other way they do: a table that both sides share becomes that of either."""
    runs = {tied: tmp_path / tied for tied in ("none", "all")}
    for tied, run in runs.items():
        assert begun(*FEW, *german, "--run", run, f"model.tied={tied}").code == 0
    done = begun(*FEW, *german, start(runs["none"]), "--run", tmp_path / "run", "model.tied=all")
    assert unsaid(done, "init: ", "are one tensor here and differ in", "tie the model as that run does") == []
    done = begun(*FEW, *german, start(runs["all"]), "--run", tmp_path / "run", "model.tied=none")
    assert done.code == 0 and "new: nothing" in done.said
    table = weights(runs["all"])["encoders.translate.embedder.table"]
    found = weights(tmp_path / "run")
    assert all(torch.equal(found[f"{side}.translate.embedder.table"], table) for side in ("encoders", "decoders"))


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_every_tensor_is_of_a_part(tied):
    block = Choice("transformer", {"num_layers": 1, "feedforward_dim": 4})
    settings = {"dim": 8, "decoder": block, "tied": tied}
    for model in (build_translator({**settings, "encoder": block}, 9, 9), build_language_model(settings, 9)):
        state, parts = model.state_dict(), names_by_part(model)
        assert set(parts) == set(model.parts())
        found = {state[name].data_ptr() for names in parts.values() for name in names.values()}
        assert found == {tensor.data_ptr() for tensor in state.values()}
        inner = {*parts["embedder"].values()} & {*parts["decoder"].values()}
        assert not inner  # though its module stands inside the decoder
