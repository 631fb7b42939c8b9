"""A run that starts from a BERT or a RoBERTa of Hugging Face has its states, and needs its folder no more."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from foreign_berts import hidden_states, write_bert, write_roberta
from safetensors.torch import load_file, save_file
from small_runs import regard, unsaid
from torch.testing import assert_close

from regard import load
from regard.models.pair_encoder import joined_pair
from regard.records import Decoded, Sequences
from regard.runs import Run

WRITERS = {"bert": write_bert, "roberta": write_roberta}
TEXTS = ["the dog sees a cat", "two red apples", "The man has the unknown dog .", "a cat, a dog"]
SMALL = ["training.validate_every=1", "training.average=1", "--quiet"]


def lines(folder: Path, text: str = "the dog sees a cat {}\n", name: str = "a.txt") -> Path:
    (folder / name).write_text("".join(text.format(*"ab"[at % 2 :], *[at] * 3) for at in range(24)))
    return folder / name


def begun(folder: Path, *words: object) -> Path:
    """A run that ends before its first update."""
    done = regard("train", *words, "training.max_minutes=1e-9", "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


def state_of(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, object]]:
    state = load_file(folder / "model.safetensors")
    plain = {name.removeprefix("bert.").removeprefix("roberta."): tensor for name, tensor in state.items()}
    return plain, json.loads((folder / "config.json").read_text())


def read(model, ids: list[int]) -> torch.Tensor:
    """The states of one text."""
    model.eval()
    rows = torch.tensor([ids])
    mask = torch.ones_like(rows, dtype=torch.bool)
    with torch.no_grad():
        return model.encoder(Sequences(model.embedder(rows)[0], mask)).states[0]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("prefix", ["", None])
def test_a_masked_language_model_has_the_same_states(kind, prefix, tmp_path):
    folder = WRITERS[kind](tmp_path / "foreign", prefix=f"{kind}." if prefix is None else prefix)
    task = ["--text", lines(tmp_path), "task=masked_language_model"]
    run = begun(tmp_path, "--from", folder, *task)
    model, task, _ = Run.open(run).assembled()
    state, config = state_of(folder)
    column = task.vocabularies["text"]
    for text in TEXTS:
        ids = [*column.encode(text), 2]
        theirs = torch.tensor([column.tokenizer.order[one] for one in ids])
        assert_close(
            read(model, ids), hidden_states(state, config, theirs, torch.zeros_like(theirs)), rtol=0, atol=1e-5
        )


@pytest.mark.parametrize(("kind", "name"), [("bert", "cls.predictions"), ("roberta", "lm_head")])
def test_its_head_is_the_same(kind, name, tmp_path):
    folder = WRITERS[kind](tmp_path / "foreign")
    run = begun(tmp_path, f"init.huggingface={folder}", "--text", lines(tmp_path), "task=masked_language_model")
    model, task, _ = Run.open(run).assembled()
    state, config = state_of(folder)
    order = torch.tensor(task.vocabularies["text"].tokenizer.order)
    inner = f"{name}.transform." if kind == "bert" else f"{name}."
    norm = f"{inner}LayerNorm" if kind == "bert" else f"{inner}layer_norm"
    states = torch.randn(5, 12, generator=torch.Generator().manual_seed(1))
    changed = torch.nn.functional.gelu(states @ state[f"{inner}dense.weight"].T + state[f"{inner}dense.bias"])
    weights = state[f"{norm}.weight"], state[f"{norm}.bias"]
    changed = torch.nn.functional.layer_norm(changed, (12,), *weights, config["layer_norm_eps"])
    scores = changed @ state["embeddings.word_embeddings.weight"].T + state[f"{name}.bias"]
    model.eval()
    with torch.no_grad():
        found = model.head.log_probs(Decoded(states.unsqueeze(0)), None)[0]
    assert_close(found, scores[:, order].log_softmax(-1), rtol=0, atol=1e-5)


def test_a_classifier_has_the_pooling_and_needs_the_folder_no_more(tmp_path):
    folder, table = (
        write_bert(tmp_path / "foreign", head=False),
        lines(tmp_path, "{0}\tThe dog sees {2} cats\n", "a.tsv"),
    )
    run = begun(tmp_path, table, "--from", folder)
    state, config = state_of(folder)
    shutil.rmtree(folder)
    done = regard("train", run, "--resume", "training.max_minutes=null", "training.max_updates=1", *SMALL)
    assert done.code == 0, done.said
    assert {one.text for one in load(run).predict(["the dog", "a cat"])} <= {"a", "b"}
    (tmp_path / "again").mkdir()
    begun(tmp_path / "again", table, "--from", run)
    write_bert(folder, head=False)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    model, task, _ = Run.open(begun(fresh, table, f"init={{huggingface: '{folder}'}}")).assembled()
    ids = task.vocabularies["text"].encode("the dog sees")
    assert ids[0] == 1
    states = read(model, [*ids, 2])
    theirs = torch.tensor([task.vocabularies["text"].tokenizer.order[one] for one in [*ids, 2]])
    wanted = hidden_states(state, config, theirs, torch.zeros_like(theirs))
    assert_close(states, wanted, rtol=0, atol=1e-5)
    pooled = (wanted[0] @ state["pooler.dense.weight"].T + state["pooler.dense.bias"]).tanh()
    assert_close(model.pooling(states.unsqueeze(0))[0].detach(), pooled, rtol=0, atol=1e-5)


def test_pairs_are_told_apart(tmp_path):
    folder = write_bert(tmp_path / "foreign", hidden_act="relu", head=False)
    table = lines(tmp_path, "{0}\tThe dog sees {2} cats\ta man has {2} apples\n", "a.tsv")
    model, task, _ = Run.open(begun(tmp_path, table, "--from", folder)).assembled()
    batch = task.batch(task.encode([{"first": "the dog", "second": "a cat", "label": "a"}]))
    ids = joined_pair(batch.sequences("first"), batch.sequences("second")).items[0].tolist()
    assert (ids[0], ids.index(2), ids[-1], len(ids)) == (1, 3, 2, 7)
    theirs = torch.tensor([task.vocabularies["first"].tokenizer.order[one] for one in ids])
    wanted = hidden_states(*state_of(folder), theirs, torch.tensor([0, 0, 0, 0, 1, 1, 1]))
    assert_close(read(model, ids), wanted, rtol=0, atol=1e-5)


def test_a_tagger_learns_from_it(tmp_path):
    table = lines(tmp_path, "the\tX\nDog\t{0}\nsees\tY\n\u200b\tX\n\n", "a.conll")
    folder, run = write_roberta(tmp_path / "foreign"), tmp_path / "run"
    done = regard("train", table, "--from", folder, "training.max_updates=1", *SMALL, "--run", run)
    assert done.code == 0, done.said
    assert len(load(run).predict(["The dog \u200b sees"])[0].tags) == 4


def test_a_bert_in_lower_case_fills_masks(tmp_path):
    folder = write_bert(tmp_path / "foreign")
    task = ["--text", lines(tmp_path), "task=masked_language_model"]
    run, old = begun(tmp_path, "--from", folder, *task), load_file(folder / "model.safetensors")
    (one,) = load(run).predict(["The <mask> sees"])
    assert one.source == "The <mask> sees" and one.text.startswith("the") and one.text.endswith(" sees")
    renamed = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): t for name, t in old.items()
    }
    save_file(renamed, folder / "model.safetensors")
    other = tmp_path / "other"
    other.mkdir()
    mine, theirs = (Run.open(run).assembled()[0] for run in (run, begun(other, "--from", folder, *task)))
    assert_close(mine.state_dict(), theirs.state_dict(), rtol=0, atol=0)


def test_the_folder_may_be_named_from_here(tmp_path, monkeypatch):
    folder, text = write_bert(tmp_path / "foreign"), lines(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = begun(tmp_path, "--from", "../" + tmp_path.name + "/foreign", "--text", text, "task=masked_language_model")
    assert Run.open(run).experiment.init.huggingface == folder


def damaged(folder: Path, name: str, change: object) -> None:
    """Give the tensors another one, or leave it out."""
    tensors = load_file(folder / "model.safetensors")
    found = tensors.pop(name)
    if callable(change):
        tensors[name] = change(found)
    save_file(tensors, folder / "model.safetensors")


QUERY = "bert.encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda folder: damaged(folder, QUERY, None), ["has no tensor encoder.layer.1.attention.self.query.weight"]),
        (lambda folder: damaged(folder, QUERY, lambda one: one[:3]), ["query.weight has the shape 3 × 12", "12 × 12"]),
        (lambda folder: damaged(folder, QUERY, lambda one: one / 0), ["query.weight has numbers that are not finite"]),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"abc"), ["model.safetensors", "cannot be read"]),
        (lambda folder: (folder / "tokenizer.json").unlink(), ["has no tokenizer.json", "save_pretrained"]),
        (lambda folder: (folder / "config.json").write_text("{"), ["config.json", "cannot be read"]),
        (lambda folder: (folder / "config.json").write_text("[" * 100_000), ["config.json", "nested too deep"]),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
            ["pickle", "model.save_pretrained(FOLDER, safe_serialization=True)"],
        ),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "model.safetensors.index.json"),
            ["several files", "max_shard_size"],
        ),
    ],
)
def test_a_damaged_folder_is_told_in_one_line(change, told, tmp_path):
    folder = write_bert(tmp_path / "foreign")
    change(folder)
    task = ["--text", lines(tmp_path), "task=masked_language_model"]
    done = regard("train", "--from", folder, *task, "--run", tmp_path / "run")
    assert unsaid(done, str(folder), *told) == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"model_type": "gpt2"}, "only bert and roberta can be read, and translators of regard import"),
        ({"hidden_act": "silu"}, "hidden_act is 'silu', and only gelu and relu can be read"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"is_decoder": True}, "is_decoder is True, and only False can be read"),
        ({"model_type": "roberta", "pad_token_id": None}, "pad_token_id is None, and positions follow it"),
        ({"hidden_act": []}, "hidden_act is []"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"hidden_size": 10**12}, "hidden_size is 1000000000000, and a whole number from 1 to"),
        ({"layer_norm_eps": "x"}, "layer_norm_eps is 'x'"),
        ({"vocab_size": 9}, "vocab_size is 9, and tokenizer.json has"),
        ({"num_attention_heads": 5}, "5 heads do not divide dim 12"),
    ],
)
def test_a_foreign_network_is_told_with_its_value(config, told, tmp_path):
    folder = write_bert(tmp_path / "foreign")
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, **config}))
    task = ["--text", lines(tmp_path), "task=masked_language_model"]
    done = regard("train", "--from", folder, *task, "--run", tmp_path / "run")
    assert unsaid(done, told) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["init={run: a, huggingface: FOLDER}"], "init: names one folder to start from"),
        (["init.huggingface=FOLDER", "init.vocabularies={text: text}"], "init.vocabularies: is for another run"),
        (["init.parts=encoder"], "init: names one folder to start from"),
        (["init.huggingface=none"], "there is no config.json in it"),
        (["--from", "FOLDER", "text.tokenizer=words"], "text: cannot differ from that of"),
        (["--from", "FOLDER", "model.dim=24"], "has the shape"),
    ],
)
def test_settings_that_do_not_go_with_it_are_told(words, told, tmp_path):
    folder = str(write_bert(tmp_path / "foreign"))
    words = [one.replace("FOLDER", folder) for one in words]
    done = regard("train", *words, "--text", lines(tmp_path), "task=masked_language_model", "--run", tmp_path / "run")
    assert unsaid(done, told) == []
