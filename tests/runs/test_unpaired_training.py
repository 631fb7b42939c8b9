"""Training without pairs: what was cut off ends with the weights of an unbroken run; copies end a run with a line."""

from operator import eq

import numpy as np
import pytest
import torch
from small_runs import SMALL, regard, unsaid, write_texts

from regard.config import write_yaml
from regard.objectives import denoising_back_translation
from regard.predictor import load
from regard.recipes.no_pairs import in_words, network_settings
from regard.runs import RunFolder
from regard.training.checkpoint import latest_valid

ADVERSARY = "objective={name: denoising_back_translation, adversarial: 1.0, given: 0.5, temperature: 1.0}"


@pytest.fixture
def words(tmp_path):
    """Settings of a small run of both directions."""
    _, english, _, german = write_texts(tmp_path)
    data = {"data.train": (german, german), "data.routes.de-en.train": (english, english)}
    files = [f"{part}={{source: {one}, target: {two}}}" for part, (one, two) in data.items()]
    return [
        "task=unpaired_translation",
        *files,
        "data.languages=[en,de]",
        "data.routes.de-en.languages=[de,en]",
        "model={name: many_to_many, languages: [de, en]}",
        *SMALL,
        "training.patience=null",
    ]


def weights(run):
    checkpoint, _ = latest_valid(RunFolder(run).path)
    return {**checkpoint.model, "copied": checkpoint.objective["copied"]}


def test_resuming_reproduces_an_uninterrupted_run(tmp_path, words):
    """Noise, samples, turns of the adversary and the share of copies go on where they were."""
    assert regard("train", *words, ADVERSARY, "training.max_updates=4", "--run", tmp_path / "whole").code == 0
    assert regard("train", *words, ADVERSARY, "training.max_updates=2", "--run", tmp_path / "cut").code == 0
    assert regard("train", tmp_path / "cut", "--resume", "training.max_updates=4").code == 0
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == cut.keys() and float(whole["copied"][1]) > 0
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_copying_ends_the_run_with_one_line(tmp_path, words, monkeypatch):
    monkeypatch.setattr(denoising_back_translation, "COPIES_FROM", 1)
    monkeypatch.setattr(denoising_back_translation, "copied_fraction", lambda texts, written: 0.95)
    done = regard("train", *words, "--run", tmp_path / "run")
    assert not unsaid(done, "95% of the words that back-translation writes are copies of its source")


SUBJECTS = {"men": "eat bake cut", "dogs": "chase bite lick", "girls": "read write draw", "birds": "hear watch follow"}
OBJECTS = dict(
    zip(
        ("eat", "bake", "cut", "chase", "bite", "lick", "read", "write", "draw", "hear", "watch", "follow"),
        ("bread", "cake", "wood", "cats", "sticks", "hands", "books", "letters", "houses", "rain", "fish", "ships"),
        strict=True,
    )
)
PLACES = ["today", "at home", "in town", "every day", "at night", "in spring"]


def cipher(line):
    """Each word backwards behind a z: no word of one language stands in the other."""
    return " ".join(f"z{word[::-1]}" for word in line.split())


@pytest.mark.slow
def test_word_for_word_cipher_is_learnt_beyond_the_dictionary(tmp_path):
    """A third of the words is not in the dictionary: only what stands around them says what they mean."""
    lines = [
        f"{count} {size} {who} {verb} {OBJECTS[verb]} {place}"
        for who, verbs in SUBJECTS.items()
        for verb in verbs.split()
        for place in PLACES
        for count in ("two", "three", "many")
        for size in ("old", "young", "small", "tall")
    ]
    order = np.random.default_rng(3).permutation(len(lines))
    own, other, test = ([lines[place] for place in part] for part in np.split(order, [400, 800]))
    words = sorted({word for line in lines for word in line.split()})
    known = {word: cipher(word) for number, word in enumerate(words) if number % 3}
    back = {two: one for one, two in known.items()}
    texts = {"own": own, "other": [*map(cipher, other)]}
    texts |= {
        "own-given": [in_words(one, known) for one in own],
        "other-given": [in_words(cipher(one), back) for one in other],
    }
    for name, some in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
    sides = [(code, tmp_path / name, tmp_path / f"{name}-given") for code, name in (("aa", "own"), ("bb", "other"))]
    write_yaml(tmp_path / "network.yaml", network_settings(sides))
    block = "{name: transformer, num_layers: 1, feedforward_dim: 64}"
    settings = ["model.dim=48", f"model.encoder={block}", f"model.decoder={block}", "model.dropout=0.1"]
    settings += ["text.tokenizer={name: words, size: 400}", "training.learning_rate=0.005"]
    settings += [
        "training.batch_tokens=512",
        "training.max_updates=900",
        "training.validate_every=300",
        "data.test_fraction=0",
        "data.dev_fraction=0.05",
    ]
    settings += ["training.schedules={objective.given: {name: linear, updates: 500}}"]
    run = tmp_path / "run"
    assert regard("train", tmp_path / "network.yaml", *settings, "--run", run).code == 0
    found = [one.text for one in load(run, ["decoding.search=greedy"]).predict(test)]
    right = [sum(map(eq, cipher(line).split(), text.split())) for line, text in zip(test, found, strict=True)]
    total = sum(len(line.split()) for line in test)
    by_dictionary = sum(word in known for line in test for word in line.split())
    print(sum(right) / total, by_dictionary / total, test[:3], found[:3])
    assert sum(right) / total > by_dictionary / total + 0.1
