"""A tiny overfitted network copies annotated terms that it never saw; without the annotation it cannot know them."""

import random

import pytest
from small_runs import regard as command

import regard
from regard.documents.glossary import Glossary

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
SETTINGS = (
    "text.tokenizer={name: subwords, size: 400, sampling: 0}", "model.dim=64", "model.dropout=0",
    "model.encoder={name: transformer, num_layers: 2, feedforward_dim: 128}",
    "model.decoder={name: transformer, num_layers: 2, feedforward_dim: 128}",
    "data.source_augmentations={name: terms, words: 1, terms: 1, base_forms: 0, fraction: 0.9}",
    "data.recombination=null", "training.learning_rate=0.005", "training.schedule={name: inverse_sqrt, warmup: 50}",
    "training.batch_tokens=2048", "training.max_updates=500", "training.validate_every=500",
)  # fmt: skip


def words(draws, count):
    """Return made-up words, of which no two are equal."""
    found = dict.fromkeys("".join(draws.choices(SYLLABLES, k=2)) for _ in range(2 * count))
    return [*found][:count]


@pytest.mark.slow
def test_terms_that_were_never_seen_are_copied(tmp_path):
    known = words(random.Random(3), 1260)
    pairs = [(f"the {known[2 * row]} sleeps .", f"die {known[2 * row + 1]} schläft .") for row in range(600)]
    for side, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    files = ("--source", tmp_path / "a.en", "--target", tmp_path / "a.de", "--run", tmp_path / "run")
    assert command("train", *files, *SETTINGS, "--quiet").code == 0
    predictor, terms = regard.load(tmp_path / "run"), [*zip(known[1200:1230], known[1230:], strict=True)]
    texts, wanted = zip(*((f"the {one} sleeps .", f"die {other} schläft .") for one, other in terms), strict=True)
    glossary = Glossary.of_lines([f"{source}\t{target}" for source, target in terms])
    with_terms, without = (
        sum(one.text == text for one, text in zip(predictor.predict(texts, glossary=given), wanted, strict=True))
        for given in (glossary, None)
    )
    assert with_terms >= 15 and without == 0, (with_terms, without)
