"""The texts of a run: readers of its parts, tokenizers learnt from them, and the training corpus."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from regard.data import READERS, Corpus, Part, Reader
from regard.data.batches import Batches
from regard.data.report import SHOWN
from regard.errors import DataError
from regard.experiment import Experiment
from regard.experiment.data import COLUMNS
from regard.experiment.data import Part as DataPart
from regard.registry import Choice
from regard.runs.folder import RunFolder
from regard.text import Tokenizer, train_tokenizer

Say = Callable[[str], None]


class Pairs(NamedTuple):
    """Some sentences and their translations, in memory."""

    sources: list[str]
    targets: list[str]


def training_reader(experiment: Experiment) -> Reader:
    """What is learnt from: all of the training part, without what is held out of it."""
    reader = _reader(experiment, "train")
    share = held_out(experiment)
    return Part(reader, share, held_out=False) if share else reader


def dev_pairs(experiment: Experiment, say: Say) -> Pairs | None:
    """What models are chosen by: the dev part, else what is held out; None where there is neither, which is told."""
    share = held_out(experiment)
    if experiment.data.reader("dev") is not None:
        reader = _reader(experiment, "dev")
    elif share:
        reader = Part(_reader(experiment, "train"), share, held_out=True)
    else:
        say("no dev part: the model of the last update is the one that is kept")
        return None
    return read_pairs(reader, experiment.training.validate_lines, say)


def test_pairs(experiment: Experiment) -> Pairs | None:
    """What finished models are judged by, every line of it."""
    if experiment.data.reader("test") is None:
        return None
    examples = list(_reader(experiment, "test"))
    return Pairs(*([example.texts[column] for example in examples] for column in COLUMNS))


def read_pairs(reader: Reader, limit: int, say: Say) -> Pairs | None:
    """The first `limit` examples with text on both sides; the others before them are told by their lines."""
    pairs, empty = Pairs([], []), list[int]()
    for example in reader:
        source, target = (example.texts[column] for column in COLUMNS)
        if source.strip() and target.strip():
            pairs.sources.append(source)
            pairs.targets.append(target)
        else:
            empty.append(example.line)
        if len(pairs.sources) >= limit:
            break
    if empty:
        lines = ", ".join(map(str, empty[:SHOWN])) + (" …" if len(empty) > SHOWN else "")
        say(f"{reader.files[0].name}: {len(empty):,} dev examples are empty on a side and left out (lines {lines})")
    return pairs if pairs.sources else None


def learn_tokenizers(experiment: Experiment, folder: RunFolder, say: Say) -> dict[str, Tokenizer]:
    """Learns and saves tokenizers of both sides."""
    reader, choice = training_reader(experiment), experiment.text.tokenizer
    say(f"learning {choice.name} from {', '.join(file.name for file in reader.files)}")
    if experiment.text.shared:
        both = train_tokenizer(choice, _texts(reader, COLUMNS))
        both.save(folder.text / "shared")
        return {"source": both, "target": both}
    found = {column: train_tokenizer(choice, _texts(reader, (column,))) for column in COLUMNS}
    for column, tokenizer in found.items():
        tokenizer.save(folder.text / column)
    return found


def training_batches(experiment: Experiment, folder: RunFolder, tokenizers: dict[str, Tokenizer], say: Say) -> Batches:
    """The training corpus as a stream of batches; what of it could not be used is told."""
    cache = experiment.data.cache or folder.data
    reader = training_reader(experiment)
    corpus = Corpus.open(reader, tokenizers, cache, max_tokens=experiment.data.max_length)
    say(f"{reader.files[0].name}: {corpus.report}")
    return Batches(
        corpus,
        COLUMNS,
        tokenizers,
        tokens=experiment.training.batch_tokens,
        seed=experiment.training.seed,
    )


def part_reader(experiment: Experiment, part: DataPart) -> Reader | None:
    """Of a whole part; None where the settings name none."""
    choice: Choice | None = experiment.data.reader(part)
    return None if choice is None else READERS.build(choice, COLUMNS)


def _reader(experiment: Experiment, part: DataPart) -> Reader:
    reader = part_reader(experiment, part)
    if reader is None:
        start = "" if part == "train" else f"{part}_"
        raise DataError(
            "data", f"the settings name no {part} part", hint=f"say data.{start}source and data.{start}target"
        )
    return reader


def held_out(experiment: Experiment) -> float:
    """The share of the training part that is not learnt from."""
    return experiment.data.dev_share if experiment.data.reader("dev") is None else 0.0


def _texts(reader: Reader, columns: tuple[str, ...]) -> Iterator[str]:
    for example in reader:
        for column in columns:
            yield example.texts[column]
