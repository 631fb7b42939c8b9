"""The texts of a run: readers of its parts, tokenizers learnt from them, and the training corpus."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from regard.data import READERS, Corpus, Part, Reader, Stretch
from regard.data.batches import Stream
from regard.data.report import SHOWN
from regard.errors import DataError
from regard.experiment import Experiment
from regard.experiment.data import Part as DataPart
from regard.experiment.data import named_files
from regard.objectives import OBJECTIVES
from regard.runs.folder import SHARED, RunFolder
from regard.tasks import TASKS, Task, Texts
from regard.text import Tokenizer, train_tokenizer

Say = Callable[[str], None]


class Pairs(NamedTuple):
    """Some sentences and their translations, in memory; of a text of one column the sources are missing."""

    sources: list[str]
    targets: list[str]


def training_reader(experiment: Experiment) -> Reader:
    """What is learnt from: all of the training part, without what is held out of it."""
    reader, share = _reader(experiment, "train"), held_out(experiment)
    return _apart(experiment, reader, share, held_out=False) if share else reader


def dev_texts(experiment: Experiment, task: Task, say: Say) -> Texts | None:
    """What models are chosen by: the dev part, else what is held out; None where there is neither, which is told."""
    share = held_out(experiment)
    if experiment.reader("dev") is not None:
        reader = _reader(experiment, "dev")
    elif share:
        reader = _apart(experiment, _reader(experiment, "train"), share, held_out=True)
    else:
        say("no dev part: the model of the last update is the one that is kept")
        return None
    return read_texts(reader, experiment.training.validate_lines, say, whole=task.whole)


def test_texts(experiment: Experiment, task: Task) -> Texts | None:
    """What finished models of a text of their own are judged by."""
    if experiment.reader("test") is None:
        return None
    return read_texts(_reader(experiment, "test"), None, lambda _: None, whole=task.whole)


def test_pairs(experiment: Experiment) -> Pairs | None:
    """What finished models are judged by, every line of it."""
    if experiment.reader("test") is None:
        return None
    examples = list(_reader(experiment, "test"))
    columns = [[example.texts[column] for example in examples] for column in experiment.columns]
    return Pairs(columns[0] if columns[1:] else [], columns[-1])


def read_texts(reader: Reader, limit: int | None, say: Say, *, whole: bool = False) -> Texts | None:
    """The first `limit` examples with text in every column; the others before them are told by their lines.

    Of a text that is to stay `whole` every line is an example.
    """
    found, empty = list[Mapping[str, str]](), list[int]()
    for example in reader:
        if whole or all(text.strip() for text in example.texts.values()):
            found.append(example.texts)
        else:
            empty.append(example.line)
        if limit is not None and len(found) >= limit:
            break
    if empty:
        lines = ", ".join(map(str, empty[:SHOWN])) + (" …" if len(empty) > SHOWN else "")
        say(f"{reader.files[0].name}: {len(empty):,} dev examples are empty on a side and left out (lines {lines})")
    return {column: [texts[column] for texts in found] for column in reader.columns} if found else None


def learn_tokenizers(experiment: Experiment, folder: RunFolder, say: Say) -> dict[str, Tokenizer]:
    """Learns and saves a tokenizer of every column, or one of all."""
    reader, choice = training_reader(experiment), experiment.text.tokenizer
    say(f"learning {choice.name} from {', '.join(dict.fromkeys(file.name for file in reader.files))}")
    if experiment.text.shared:
        both = train_tokenizer(choice, _texts(reader, experiment.columns))
        both.save(folder.text / SHARED)
        return dict.fromkeys(experiment.columns, both)
    found = {column: train_tokenizer(choice, _texts(reader, (column,))) for column in experiment.columns}
    for column, tokenizer in found.items():
        tokenizer.save(folder.text / column)
    return found


def training_batches(
    experiment: Experiment, folder: RunFolder, task: Task, tokenizers: dict[str, Tokenizer], say: Say
) -> Stream:
    """The training corpus as a stream of batches; what of it could not be used is told."""
    cache = experiment.data.cache or folder.data
    reader = training_reader(experiment)
    corpus = Corpus.open(reader, tokenizers, cache, max_tokens=experiment.data.max_length, whole=task.whole)
    say(f"{reader.files[0].name}: {corpus.report}")
    objective: Any = OBJECTIVES[experiment.objective.name]
    tokens, seed = experiment.training.batch_tokens, experiment.training.seed
    return task.stream(corpus, tokenizers, tokens=tokens, seed=seed, halves=objective.halves)


def part_reader(experiment: Experiment, part: DataPart) -> Reader | None:
    """Of a whole part; None where the settings name none."""
    choice = experiment.reader(part)
    return None if choice is None else READERS.build(choice, experiment.columns)


def _reader(experiment: Experiment, part: DataPart) -> Reader:
    reader = part_reader(experiment, part)
    if reader is None:
        named = " and ".join(f"data.{name}" for name in named_files(part, experiment.columns))
        raise DataError("data", f"the settings name no {part} part", hint=f"say {named}")
    return reader


def held_out(experiment: Experiment) -> float:
    """The share of the training part that is not learnt from."""
    return experiment.data.dev_share if experiment.reader("dev") is None else 0.0


def _apart(experiment: Experiment, reader: Reader, share: float, *, held_out: bool) -> Reader:
    """What is held out of a reader, or the rest: some examples, or where lines follow on each other the last ones."""
    task: Any = TASKS[experiment.task.name]
    if not task.ordered:
        return Part(reader, share, held_out=held_out)
    return Stretch(reader, 1 - share, 1.0) if held_out else Stretch(reader, 0.0, 1 - share)


def _texts(reader: Reader, columns: tuple[str, ...]) -> Iterator[str]:
    for example in reader:
        for column in columns:
            yield example.texts[column]
