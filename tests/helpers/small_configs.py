"""Every config in `configs/`, made small: its networks, its data, its training."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import yaml

from regard.config import read_yaml
from regard.experiment import read_experiment
from regard.runs import train_run

CONFIGS = sorted((Path(__file__).parents[2] / "configs").rglob("*.yaml"))
PAIRS = [("ein Hund läuft", "a dog runs"), ("zwei Katzen schlafen", "two cats sleep"), ("er liest", "he reads")] * 4
SMALL = [
    "training.max_updates=1",
    "training.validate_every=1",
    "training.average=1",
    "model.dim=16",
]


@cache
def parts_of(path: Path) -> frozenset[tuple[str, str]]:
    """Place and name of each part of the model, the task and what training minimises; sizes are no parts."""
    settings = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # ours, read at every start
    places = {place: settings.get(place) for place in ("model", "objective", "penalties", "task", "init")}
    places["optimizer"] = settings.get("training", {}).get("optimizer")
    return frozenset(named for place, inner in places.items() for named in _named(place, inner))


def _named(place: str, settings: object) -> Iterator[tuple[str, str]]:
    if isinstance(settings, dict):
        for name, value in settings.items():
            yield from _named(place if name == "name" else f"{place}.{name}", value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _named(place, value)
    elif isinstance(settings, str):
        yield place, settings


def _repeated() -> frozenset[Path]:
    """Configs whose set of parts an earlier one has too: they differ in sizes, data and time."""
    first = dict[frozenset[tuple[str, str]], Path]()
    return frozenset(path for path in CONFIGS if first.setdefault(parts_of(path), path) != path)


REPEATED = _repeated()


def of_sentences(path: Path) -> bool:
    """Whether it translates."""
    return path.parent.name == "translation"


def of_texts(path: Path) -> bool:
    """Whether it is a model of whole texts."""
    return path.parent.name == "language"


def of_masked(path: Path) -> bool:
    """Whether it fills in what was masked."""
    return path.parent.name == "pretraining" and "masked_language_model" in path.read_text(encoding="utf-8")


def of_words(path: Path) -> bool:
    """Whether it learns vectors of words."""
    return path.parent.name == "pretraining" and "word_vectors" in path.read_text(encoding="utf-8")


def of_documents(path: Path) -> bool:
    """Whether it learns vectors of documents."""
    return path.parent.name == "pretraining" and "document_vectors" in path.read_text(encoding="utf-8")


def of_labels(path: Path) -> bool:
    """Whether it chooses one label."""
    return path.parent.name == "classification" and not of_several_labels(path)


def of_several_labels(path: Path) -> bool:
    """Whether a text may have several labels."""
    return "task: multi_label" in path.read_text(encoding="utf-8")


def of_ratings(path: Path) -> bool:
    """Whether it predicts a number of a text."""
    return "task: {name: regression" in path.read_text(encoding="utf-8")


def of_compared(path: Path) -> bool:
    """Whether it compares two texts."""
    return path.parent.name == "pairs" or "task: next_sentence" in path.read_text(encoding="utf-8")


def of_numbers(path: Path) -> bool:
    """Whether it predicts a number of two texts."""
    return path.parent.name == "regression" and not of_ratings(path)


def of_questions(path: Path) -> bool:
    """Whether it answers questions about stories."""
    return path.parent.name == "reading"


def of_tags(path: Path) -> bool:
    """Whether it chooses a tag for each word."""
    return path.parent.name == "tagging"


def of_made(path: Path) -> bool:
    """Whether its examples are made by a seed."""
    return path.parent.name in {"algorithmic", "captioning"}


def of_ciphers(path: Path) -> bool:
    """Whether it deciphers."""
    return path.parent.name == "cipher"


def of_lines(path: Path) -> bool:
    """Whether it goes on from one line to the next."""
    return path.parent.name == "generation"


def _few(**settings: int) -> Callable[[Path], list[str]]:
    """Few and small examples, where they are made by a seed."""
    parts, chosen = ("train", "dev", "test"), {"examples": 12, **settings}
    return lambda _: [f"data.{part}.{name}={value}" for part in parts for name, value in chosen.items()]


def small(path: Path, folder: Path) -> list[str]:
    """Changes that make a config small and have it read a few lines, which are written to the folder."""
    kind = "pairs" if of_compared(path) else "documents" if of_documents(path) else path.parent.name
    kind = "talks" if path.stem.startswith("ted-") else kind
    kind = "several_labels" if of_several_labels(path) else "ratings" if of_ratings(path) else kind
    write = WRITERS.get(kind, _pairs_in)
    beside = [*_routes_in(folder, path), *_pairs_beside(folder, path)]
    changes = [*_shrunk(path), *write(folder), *_vectors_in(folder, path), *beside]
    return [*changes, *_first_in(folder, path), *_teacher_in(folder, path, changes), *_lexicon_in(folder, path)]


def _pairs_in(folder: Path) -> list[str]:
    for place, side in enumerate(("source", "target")):
        (folder / side).write_text("".join(f"{pair[place]}\n" for pair in PAIRS), encoding="utf-8")
    parts = ("train", "dev", "test")
    return [f"data.{part}.{side}={folder / side}" for part in parts for side in ("source", "target")]


def _pairs_beside(folder: Path, path: Path) -> list[str]:
    """Pairs of sentences, where a config reads them beside talks."""
    if "    tatoeba: {" not in path.read_text(encoding="utf-8"):
        return []
    return [change.replace("train", "corpora.tatoeba", 1) for change in _pairs_in(folder)[:2]]


def _routes_in(folder: Path, path: Path) -> list[str]:
    """The same texts for every pair of languages of a config."""
    routes = read_yaml(path)["data"].get("routes", {})
    table = folder / "pairs.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    tables = [
        f"data.routes.{name}.{part}.file={table}"
        for name, route in routes.items()
        for part in route
        if "file" in route[part]
    ]
    return tables + [
        f"data.routes.{name}.{part}.{side}={folder / side}"
        for name, route in routes.items()
        for part in ("train", "dev", "test")
        if part in route and "file" not in route[part]
        for side in ("source", "target")
    ]


def _vectors_in(folder: Path, path: Path) -> list[str]:
    """A file of vectors, where a config starts from one."""
    if "name: pretrained" not in path.read_text(encoding="utf-8"):
        return []
    (folder / "vectors").write_text("2 3\nhund 1 2 3\ndog 1 0 0\n", encoding="utf-8")
    return [f"model.embedder.vectors={folder / 'vectors'}", "model.embedder.width=3"]


def _teacher_in(folder: Path, path: Path, changes: list[str]) -> list[str]:
    """A run that teaches, where a config learns from one."""
    text = path.read_text(encoding="utf-8")
    if "name: coherence" in text:
        return _judge_in(folder)
    if "teacher:" not in text:
        return []
    teacher = read_experiment(path, [*changes, "objective={name: likelihood}", f"run={folder / 'teacher'}"])
    assert train_run(teacher, quiet=True)
    return [f"objective.teacher={folder / 'teacher'}"]


def _first_in(folder: Path, path: Path) -> list[str]:
    """A translator of the same width, where a config writes above one."""
    if "name: deliberation" not in path.read_text(encoding="utf-8"):
        return []
    parts = [
        f"model.{part}={{name: transformer, num_layers: 1, feedforward_dim: 16}}" for part in ("encoder", "decoder")
    ]
    heads = [f"model.{name}={{score: scaled_dot, num_heads: 4}}" for name in ("attention", "self_attention")]
    changes = [*_pairs_in(folder), *SMALL, *parts, *heads, "text.tokenizer={name: subwords, size: 300}"]
    assert train_run(read_experiment(None, [*changes, f"run={folder / 'first'}"]), quiet=True)
    return [f"init.run={folder / 'first'}"]


def _judge_in(folder: Path) -> list[str]:
    """A classifier of texts, where a reward asks one."""
    reader = f"{{name: sentence_order, file: '{folder / 'talks.tsv'}', fields: {{document: 1, sentence: 4}}}}"
    changes = ["task=classification", *(f"data.{part}={reader}" for part in ("train", "dev")), *SMALL]
    small = "model.encoder={name: recurrent, hidden_dim: 8}"
    assert train_run(read_experiment(None, [*changes, small, f"run={folder / 'judge'}"]), quiet=True)
    return [f"objective.rewards={{name: coherence, teacher: '{folder / 'judge'}'}}"]


def _lexicon_in(folder: Path, path: Path) -> list[str]:
    """A lexicon, where an objective reads one."""
    if "word_pairs" not in path.read_text(encoding="utf-8"):
        return []
    (folder / "lexicon").write_text("hund\tdog\t1\n", encoding="utf-8")
    return [f"objective.features=[length_ratio, {{name: word_pairs, lexicon: '{folder / 'lexicon'}'}}]"]


def _lines_in(folder: Path) -> list[str]:
    """One document of all lines, to learn from and to be judged by."""
    (folder / "lines").write_text("".join(f"{pair[1]}\n" for pair in PAIRS), encoding="utf-8")
    (folder / "index").write_text(f"a\tb\t1\t{len(PAIRS)}\n")
    reader = f"{{name: consecutive, file: '{folder / 'lines'}', index: '{folder / 'index'}'}}"
    return [f"data.{part}={reader}" for part in ("train", "dev", "test")]


def _talks_in(folder: Path) -> list[str]:
    """Two talks of sentence pairs, for whichever part a config reads, and each pair also by itself."""
    lines = [f"{number // 6}\t1\t{source}\t{target}\n" for number, (source, target) in enumerate(PAIRS)]
    (folder / "talks.tsv").write_text("".join(lines), encoding="utf-8")
    parts = ("train", "dev", "test", "corpora.tst2010", "corpora.tst2011")
    return [f"data.{part}.file={folder / 'talks.tsv'}" for part in parts]


def _texts_in(folder: Path) -> list[str]:
    (folder / "text").write_text("".join(f"{line}\n\n" for pair in PAIRS for line in pair), encoding="utf-8")
    reader = f"{{name: parallel, files: {{text: '{folder / 'text'}'}}}}"
    return [f"data.{part}={reader}" for part in ("train", "dev", "test")]


def _documents_in(folder: Path) -> list[str]:
    (folder / "text").write_text("".join(f"{line}\n" for pair in PAIRS for line in pair), encoding="utf-8")
    return [f"data.{part}={{name: numbered, file: '{folder / 'text'}'}}" for part in ("train", "dev", "test")]


def _labels_in(folder: Path) -> list[str]:
    """The language of each text."""
    rows = [f"{language}\t{text}\n" for pair in PAIRS for language, text in zip(("de", "en"), pair, strict=True)]
    (folder / "labels.tsv").write_text("".join(rows), encoding="utf-8")
    reader = f"{{name: tsv, file: '{folder / 'labels.tsv'}', fields: {{label: 1, text: 2}}}}"
    return ["data.folds=null", *(f"data.{part}={reader}" for part in ("train", "dev", "test"))]


def _several_labels_in(folder: Path) -> list[str]:
    """The language of each text; the first one has both."""
    changes = [change.replace("label: 1", "labels: 1") for change in _labels_in(folder)]
    table = (folder / "labels.tsv").read_text("utf-8").replace("de\t", "de, en\t", 1)
    (folder / "labels.tsv").write_text(table, encoding="utf-8")
    return changes


def _ratings_in(folder: Path) -> list[str]:
    """A number for each text."""
    changes = [change.replace("label: 1", "number: 1") for change in _labels_in(folder)]
    table = (folder / "labels.tsv").read_text("utf-8").replace("de\t", "1\t").replace("en\t", "2\t")
    (folder / "labels.tsv").write_text(table, encoding="utf-8")
    return changes


def _compared_in(folder: Path) -> list[str]:
    """Whether two texts mean the same."""
    same = [f"{source}\t{target}\tyes\n" for source, target in PAIRS]
    other = [f"{one[0]}\t{two[1]}\tno\n" for one, two in pairwise(PAIRS)]
    (folder / "pairs.tsv").write_text("".join(same + other), encoding="utf-8")
    fields = "{first: 1, second: 2, label: 3}"
    reader = f"{{name: tsv, file: '{folder / 'pairs.tsv'}', header: false, fields: {fields}}}"
    return [f"data.{part}={reader}" for part in ("train", "dev", "test")]


def _related_in(folder: Path) -> list[str]:
    """Pairs with a number: 5 of a text beside itself, else 1."""
    labelled, *_ = _compared_in(folder)
    table = (folder / "pairs.tsv").read_text("utf-8").replace("\tyes\n", "\t5\n").replace("\tno\n", "\t1\n")
    (folder / "pairs.tsv").write_text(table, encoding="utf-8")
    reader = labelled.removeprefix("data.train=").replace("label: 3", "number: 3")
    return [f"data.{part}={reader}" for part in ("train", "dev", "test")]


def _questions_in(folder: Path) -> list[str]:
    """Stories of one sentence; its second word answers."""
    stories = [f"1 {text}.\n2 which word?\t{text.split()[1]}\t1\n" for _, text in PAIRS]
    (folder / "stories.txt").write_text("".join(stories), encoding="utf-8")
    return [f"data.{part}={{name: babi, file: '{folder / 'stories.txt'}'}}" for part in ("train", "dev", "test")]


def _tags_in(folder: Path) -> list[str]:
    """A span a text; the last letter of a word is its type."""
    rows = [[f"{word}\t{'BI'[place > 0]}-{word[-1]}\n" for place, word in enumerate(text.split())] for _, text in PAIRS]
    (folder / "tags.conll").write_text("\n".join(map("".join, rows)), encoding="utf-8")
    return [f"data.{part}={{name: conll, file: '{folder / 'tags.conll'}'}}" for part in ("train", "dev", "test")]


def _ciphers_in(folder: Path) -> list[str]:
    """A text of five letters and a space, in short stretches."""
    (folder / "text").write_text("a bade cab\n" * 40, encoding="utf-8")
    small = {"file": folder / "text", "length": 6, "every": 4}
    return [f"data.{part}.{name}={value}" for part in ("train", "dev", "test") for name, value in small.items()]


WRITERS = {
    "algorithmic": _few(length=5, min_length=2),
    "cipher": _ciphers_in,
    "captioning": _few(size=2, marked=2),
    "documents": _documents_in,
    "language": _texts_in,
    "pretraining": _texts_in,
    "generation": _lines_in,
    "classification": _labels_in,
    "pairs": _compared_in,
    "ratings": _ratings_in,
    "regression": _related_in,
    "several_labels": _several_labels_in,
    "reading": _questions_in,
    "tagging": _tags_in,
    "talks": _talks_in,
}


def _is_counted(text: str) -> bool:
    """Whether a config has no vectors, since its model is counted."""
    return "name: phrases" in text or "name: frequency_analysis" in text


def _shrunk(path: Path) -> list[str]:
    """Changes that make the networks of a config small, whatever they are."""
    text = path.read_text(encoding="utf-8")
    changes = [one for one in SMALL if not _is_counted(text) or "dim" not in one]
    changes.append("training.batch_sentences=4" if "batch_sentences:" in text else "training.batch_tokens=64")
    for part in ("encoder", "decoder", "comparison"):
        line = next((line for line in text.splitlines() if line.strip().startswith(f"{part}:")), "")
        for setting, small in (("hidden_dim", 16), ("feedforward_dim", 16), ("num_layers", 1)):
            if f"{setting}:" in line:
                changes.append(f"model.{part}.{setting}={small}")
        if "init_from_encoder: true" in line and "bidirectional: true" in text:
            changes.append("model.decoder.num_layers=2")  # one for each direction of the encoder
        if "residual_from:" in line:
            changes.append(f"model.{part}.residual_from=null")
    if "num_heads: 12" in text:
        changes.append("model.self_attention.num_heads=4")  # which divide the width
    if "{name: language_model, window:" in text:
        changes += ["task.window=16", "task.context=6"]
    if "size:" in text and "subwords" in text:
        changes.append("text.tokenizer.size=300")
    if "_vectors" in text:
        changes += ["text.tokenizer={name: uncased_words, min_count: 1}", "task.frequent=0"]
    return changes
