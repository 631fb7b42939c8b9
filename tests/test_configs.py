"""A config of each set of parts trains a step and is used; the rest are rehearsed, and train in the slow tier."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from small_configs import (
    CONFIGS,
    PAIRS,
    REPEATED,
    of_ciphers,
    of_compared,
    of_documents,
    of_labels,
    of_lines,
    of_made,
    of_masked,
    of_numbers,
    of_questions,
    of_ratings,
    of_sentences,
    of_several_labels,
    of_tags,
    of_texts,
    of_words,
    parts_of,
    small,
)

import regard
from regard.data.readers import READERS
from regard.experiment import TABLES, load_experiment, read_experiment
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.runs import train_run
from regard.runs.rehearsal import Rehearsal

TRAINED = set(TABLES) - {"reader", "search", "feature", "metric", "adequacy"}


def each(chosen: Callable[[Path], bool]) -> pytest.MarkDecorator:
    """Configs of one kind; those whose parts another one has too are slow."""
    slow = {path: [pytest.mark.slow] for path in REPEATED}
    cases = [pytest.param(path, id=path.stem, marks=slow.get(path, [])) for path in filter(chosen, CONFIGS)]
    return pytest.mark.parametrize("path", cases)


@pytest.mark.parametrize("path", sorted(REPEATED), ids=lambda path: path.stem)
def test_a_config_of_parts_that_another_one_trains_is_rehearsed(path, tmp_path):
    experiment = read_experiment(path, [*small(path, tmp_path), f"run={tmp_path / 'run'}"])
    Rehearsal(experiment).check_parts(starts=True)


def test_every_set_of_parts_is_trained():
    trained = {parts_of(path) for path in CONFIGS if path not in REPEATED}
    assert trained == set(map(parts_of, CONFIGS))
    assert len(trained) == len(CONFIGS) - len(REPEATED)


@each(of_sentences)
def test_a_config_builds_trains_a_step_and_translates(path, tmp_path):
    run = tmp_path / "run"
    experiment = read_experiment(path, [*small(path, tmp_path), f"run={run}"])
    assert train_run(experiment, quiet=True)
    prediction, *_ = regard.load(run).predict(["ein Hund läuft"], explain=True)
    assert prediction.explanation is not None
    assert prediction.source == "ein Hund läuft"


@each(of_texts)
def test_a_config_of_a_language_model_builds_trains_a_step_and_goes_on(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    evaluation = evaluate([run])
    empty = 2 * len(PAIRS) if "window:" in path.read_text(encoding="utf-8") else 0  # lines that belong to a whole text
    assert evaluation.examples == 2 * len(PAIRS) + empty
    assert 1 < {score.name: score.value for score in evaluation.systems[0].scores}["perplexity"] < 1e4
    prediction, nothing = regard.load(run, ["decoding.search.max_extra=5"]).predict(["ein Hund", ""], explain=True)
    assert prediction.explanation is not None
    assert (prediction.source, nothing.source) == ("ein Hund", "")


@each(of_masked)
def test_a_config_of_masks_builds_trains_a_step_and_fills_in(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 < score.value < 1e4 for score in evaluate([run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["ein <mask> läuft"], explain=True)
    assert prediction.source == "ein <mask> läuft" and "<mask>" not in prediction.text
    assert prediction.explanation.columns["text"].texts.count("<mask>") == 1


@each(of_words)
def test_a_config_of_word_vectors_builds_trains_a_step_and_finds_neighbours(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 < score.value < 1e3 for score in evaluate([run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["a dog"], explain=True)
    assert prediction.source == "a dog"
    assert len(prediction.text.split()) == 10 and "dog" not in prediction.text.split()
    assert prediction.explanation is not None


@each(of_documents)
def test_a_config_of_document_vectors_builds_trains_a_step_and_finds_documents(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 < score.value < 1e3 for score in evaluate([run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["a dog"], explain=True)
    assert prediction.source == "a dog"
    assert len(prediction.nearest) == 10 and len(prediction.vector) == 16
    assert prediction.explanation is not None


@each(of_ciphers)
def test_a_config_of_a_cipher_builds_trains_a_step_and_deciphers(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 <= score.value <= 100 for score in evaluate([run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["bade a"], explain=True)
    assert prediction.source == "bade a"
    assert [one.name for one in prediction.explanation.maps] == ["mapping"]


@each(of_labels)
def test_a_config_of_a_classifier_builds_trains_a_step_and_chooses(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 <= score.value <= 100 for score in evaluate([run, run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["ein Hund"], explain=True)
    assert set(prediction.probabilities) in ({"de", "en"}, {"original", "shuffled"})
    assert prediction.text in prediction.probabilities
    assert sum(prediction.probabilities.values()) == pytest.approx(1.0)


@each(of_several_labels)
def test_a_config_of_several_labels_builds_trains_a_step_and_chooses(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    (prediction,) = regard.load(run).predict(["ein Hund"])
    assert set(prediction.probabilities) == {"de", "en"}


@each(of_ratings)
def test_a_config_of_ratings_builds_trains_a_step_and_predicts(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    (prediction,) = regard.load(run).predict(["ein Hund"])
    assert -10 < prediction.number < 10


@each(of_compared)
def test_a_config_of_pairs_builds_trains_a_step_and_chooses(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 <= score.value <= 100 for score in evaluate([run, run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["ein Hund läuft\ta dog runs"], explain=True)
    assert prediction.text in {"yes", "no"}
    assert set(prediction.probabilities) == {"yes", "no"}
    assert {"first", "second", "label"} == set(prediction.explanation.columns)


@each(of_numbers)
def test_a_config_of_numbers_builds_trains_a_step_and_predicts(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert len(evaluate([run]).systems[0].scores) == 4
    (prediction,) = regard.load(run).predict(["ein Hund läuft\ta dog runs"], explain=True)
    assert -10 < prediction.number < 10
    assert {"first", "second", "number"} == set(prediction.explanation.columns)


@each(of_questions)
def test_a_config_of_questions_builds_trains_a_step_and_answers(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 <= score.value <= 100 for score in evaluate([run, run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["a dog runs. he reads.\twhich word?"], explain=True)
    assert prediction.text
    assert set(prediction.explanation.columns) >= {"passage", "question", "answer"}


@each(of_tags)
def test_a_config_of_a_tagger_builds_trains_a_step_and_tags(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    assert all(0 <= score.value <= 100 for score in evaluate([run, run]).systems[0].scores)
    (prediction,) = regard.load(run).predict(["a dog runs"], explain=True)
    assert len(prediction.tags) == len(prediction.probabilities) == 3
    assert prediction.explanation.columns["text"].texts == ["a", "dog", "runs"]


@each(of_made)
def test_a_config_of_made_examples_builds_trains_a_step_and_answers(path, tmp_path):
    run = tmp_path / "run"
    experiment = read_experiment(path, [*small(path, tmp_path), f"run={run}"])
    assert train_run(experiment, quiet=True)
    assert evaluate([run, run]).examples == 12
    columns = tuple(experiment.columns)
    given, *_ = next(iter(READERS.build(experiment.reader("test"), columns))).texts.values()
    (prediction,) = regard.load(run).predict([given], explain=True)
    assert prediction.source == given
    assert prediction.explanation is not None


@each(of_lines)
def test_a_config_that_goes_on_from_a_line_builds_trains_a_step_and_draws(path, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*small(path, tmp_path), f"run={run}"]), quiet=True)
    drawn = [regard.load(run, [f"decoding.search.seed={seed}"]).predict(["a dog runs"]) for seed in (1, 1, 2, 3, 4)]
    texts = [prediction.text for (prediction,) in drawn]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


@pytest.fixture(scope="module")
def named() -> set[str]:
    """Every part that some config names, as it is after reading: an alias is told by what it stands for."""
    return {name for path in CONFIGS for name in _names(load_experiment(path, []))}


def _names(settings: object) -> Iterator[str]:
    if isinstance(settings, Choice):
        yield settings.name
        yield from _names(settings.settings)
    elif is_dataclass(settings):
        yield from _names([getattr(settings, field.name) for field in fields(settings)])
    elif isinstance(settings, Mapping):
        yield from _names(list(settings.values()))
    elif isinstance(settings, list | tuple):
        for one in settings:
            yield from _names(one)


@pytest.mark.parametrize("kind", sorted(TRAINED))
def test_every_part_that_is_trained_has_a_config(kind, named):
    unsaid = {"causal", "huggingface", "sentencepiece_file"}  # self-attention of decoders; tokenizers of other programs
    assert set(TABLES[kind]) - named - unsaid == set()
