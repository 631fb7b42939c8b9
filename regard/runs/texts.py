"""The examples of a run: readers of its parts, columns learnt from them, and the training corpus."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

from regard.augmentations import AUGMENTATIONS
from regard.augmentations.augmentation import AugmentedPairs
from regard.data import READERS, Corpus, Reader
from regard.data.columns import COLUMNS, Columns, learn_columns, learnt_things, own_name, save_columns
from regard.data.columns.labels import LabelsColumn
from regard.data.corpus import LISTED
from regard.data.examples import ColumnTexts, Example
from regard.data.readers import CheckedReader
from regard.data.streams import MixedStream, PlannedStream
from regard.data.transforms import transformed
from regard.errors import ConfigError, DataError, PartError
from regard.experiment import Experiment
from regard.experiment.data import CORPORA, OLD, OLD_STREAM, RECOMBINED, named_files, pair_of
from regard.registry import Choice
from regard.runs.folder import RunFolder
from regard.statistical.recombination import RecombinedPairs
from regard.tasks import Examples, Task
from regard.tasks.examples import as_rows, count_of
from regard.text import Tokenizer
from regard.text.source_marks import SOURCE_MARKS, check_marks

Say = Callable[[str], None]

_OLD_AUGMENTED = 5_000  # augmented pairs of old text at most: adaptation is short
LAST_KEPT = "early stopping is off, and the last checkpoint is kept"


def training_readers(experiment: Experiment) -> dict[str, Reader]:
    """Return the training sets by corpus, without held-out examples, and the further corpora."""
    more = {name: _reader(experiment, f"{CORPORA}{name}") for name in experiment.data.corpora}
    views = experiment.views().items()
    return {**{name: _parts(view)[0] for name, view in views if view.data.train is not None}, **more}


def old_readers(experiment: Experiment) -> tuple[Reader | None, Reader | None]:
    """Return the readers of data.old: training texts without held-out ones, and the dev set; None where not given."""
    if (old := experiment.data.old) is None:
        return None, None
    train, dev = (part_reader(experiment, f"{OLD}{part}") for part in ("train", "dev"))
    if train is None or not old.dev_fraction + old.test_fraction:
        return train, dev
    rest, own, _ = experiment.task_class.files.apart(train, old.dev_fraction, old.test_fraction)
    return rest, own if dev is None and old.dev_fraction else dev


def old_dev_examples(experiment: Experiment, task: Task, say: Say) -> Examples | None:
    """Return the dev set of old text, evenly thinned to `examples`; None, with a message where it has none."""
    _, reader = old_readers(experiment)
    if reader is None or experiment.data.old is None:
        return None
    checked = CheckedReader(reader, task.filter.usable, partial(_check_given, task))
    found = read_examples(checked, task.filter.usable, experiment.training.validate_lines, say)
    if found is None:
        say(f"{reader.names[0]}: no examples for the old dev set: forgetting is not measured")
        return None
    step = -(-count_of(found) // experiment.data.old.examples)
    return {column: texts[::step] for column, texts in found.items()}


def training_texts(experiment: Experiment) -> Iterator[ColumnTexts]:
    """Yield the texts of all training examples, in the order of their readers."""
    return (example.texts for reader in training_readers(experiment).values() for example in reader)


def dev_examples(experiment: Experiment, task: Task, say: Say) -> Examples | None:
    """Return the dev set, else held-out examples; None, with a message, where there are neither."""
    if (choice := experiment.reader("dev")) is not None:
        check_languages(experiment, choice)
    reader = evaluation_reader(experiment, "dev")
    if reader is None:
        say(f"no dev set: {LAST_KEPT}")
        return None
    checked = CheckedReader(reader, task.filter.usable, partial(_check_given, task))
    found = read_examples(checked, task.filter.usable, experiment.training.validate_lines, say)
    if found is None:
        say(f"{reader.names[0]}: no examples for the dev set ({_dev_hint(experiment)}): {LAST_KEPT}")
    else:
        warn_of_unknown(task, found, f"{reader.place}: the model")
    return found


def evaluation_reader(experiment: Experiment, part: Literal["dev", "test"]) -> Reader | None:
    """Return the reader of a dev or test set: its own files, else held-out examples; None for neither."""
    if experiment.reader(part) is not None:
        return _reader(experiment, part)
    held, place = held_out(experiment), ("dev", "test").index(part)
    return _parts(experiment)[1 + place] if held[place] else None


def _check_given(task: Task, texts: ColumnTexts) -> None:
    """Raise DataError for an input that cannot be read."""
    for name in task.inputs:
        task.vocabularies[name].check(texts[name])


def warn_of_unknown(task: Task, examples: Examples, model: str) -> None:
    """Warn of references that `model` (its name in the message) cannot predict, such as unseen labels.

    Raises DataError for an example that cannot be read, with its number, and where no example can be evaluated.
    """
    unknown, rows = list[tuple[int, DataError]](), as_rows(examples)
    for number, one in enumerate(rows, start=1):
        try:
            _check_given(task, one)
        except DataError as error:
            raise DataError(error.path, error.problem, line=number, hint=error.hint) from error
        try:
            task.filter.check(one)
        except DataError as error:
            unknown.append((number, error))
    if not unknown:
        return
    number, first = unknown[0]
    count = f"{len(unknown):,} of {len(rows):,} examples"
    if len(unknown) == len(rows) and not _knows_a_part(task, examples[task.last]):
        hint = f"{first.hint}; is '{task.last}' read from the right field or file?"
        raise DataError(task.last, f"{model} cannot answer {count}: {first.problem}", hint=hint)
    warnings.warn(f"{model} cannot answer {count}: {first.problem} in example {number} ({first.hint})", stacklevel=2)


def check_languages(experiment: Experiment, choice: Choice) -> None:
    """Raise DataError for examples whose languages are not those of the run, or are exchanged: no metric has a meaning.

    Languages are taken from settings of readers and endings of files. Only codes of two letters are compared: "eng" may
    be "en", and an ending such as "src" is not a language.
    """
    pairs = (experiment.data.language_pair(), pair_of(choice))
    own, other = ([(code or "").partition("-")[0].lower() for code in pair] for pair in pairs)
    exchanged = own[0] != own[1] and own == other[::-1]
    if all(len(code) == 2 for code in (*own, *other)) and (exchanged or not {*own} & {*other}):
        place, run = READERS.build(choice, tuple(experiment.columns)).place, " to ".join(own)
        problem = f"the examples are translated from {' to '.join(other)}, and the run translates from {run}"
        raise DataError(
            place, problem, hint="exchange source and target" if exchanged else "give texts in its languages"
        )


def _knows_a_part(task: Task, values: Sequence[str]) -> bool:
    """Return whether a model knows any label in rows of labels, such as tags."""
    column = task.vocabularies[task.last]
    return isinstance(column, LabelsColumn) and any(one in column.labels for row in values for one in row.split())


def _dev_hint(experiment: Experiment) -> str:
    """Return a hint on how to get a dev set."""
    if experiment.reader("dev") is not None:
        return "all examples of data.dev are empty"
    return f"data.dev_fraction is {held_out(experiment).dev:g}: a larger one, or data.dev, gives some"


def test_examples(experiment: Experiment, task: Task, files: Mapping[str, Path] | None = None) -> Examples | None:
    """Return the test set of finished models: `files` by column, else the test files, else held-out ones, or None."""
    if files:
        named = Choice("parallel", {"files": {column: str(path) for column, path in files.items()}})
        check_languages(experiment, named)
        return read_examples(READERS.build(named, tuple(files)), task.filter.evaluated)
    reader = evaluation_reader(experiment, "test")
    if (choice := experiment.reader("test")) is not None:
        check_languages(experiment, choice)
    rule = task.filter.usable if choice is None else task.filter.evaluated
    return None if reader is None else read_examples(reader, rule)


def read_examples(
    reader: Reader,
    usable: Callable[[ColumnTexts], bool],
    limit: int | None = None,
    say: Say = lambda _: None,
) -> Examples | None:
    """Return the first `limit` usable examples by column; lines of unusable ones before them are reported."""
    found, unusable = list[Mapping[str, str]](), list[int]()
    for example in reader:
        if usable(example.texts):
            found.append(example.texts)
        else:
            unusable.append(example.line)
        if limit is not None and len(found) >= limit:
            break
    if unusable:
        lines = ", ".join(map(str, unusable[:LISTED])) + (" …" if len(unusable) > LISTED else "")
        say(f"{reader.names[0]}: {len(unusable):,} dev examples are empty on a side and left out (lines {lines})")
    return {column: [texts[column] for texts in found] for column in reader.columns} if found else None


def learnt_columns(
    experiment: Experiment, corpora: Sequence[Iterable[Example]], place: str, known: Columns = MappingProxyType({})
) -> Columns:
    """Return columns learnt from the examples of corpora; `place` is named in errors. Raises DataError."""
    text = experiment.text
    try:
        return learn_columns(experiment.vocabularies, corpora, text.tokenizer, shared=text.shared, known=known)
    except DataError as error:
        if error.path in COLUMNS:  # a column does not know the file
            problem = f"column {error.path}: {error.problem}"
            raise DataError(place, problem, line=error.line, hint=error.hint) from error
        raise


def learn_run_columns(
    experiment: Experiment, folder: RunFolder, say: Say, known: Columns = MappingProxyType({})
) -> Columns:
    """Learn and save the columns of a run, tokenizers and labels, except those already `known`."""
    by_corpus, choice = training_readers(experiment), experiment.text.tokenizer
    readers = [*by_corpus.values()]
    files = dict.fromkeys(name for reader in readers for name in reader.names)
    learnt = {name: kind for name, kind in experiment.vocabularies.items() if name not in known}
    languages, last = {name: language_of(experiment, name) for name in by_corpus}, [*experiment.columns][-1]
    named = {one: {last: own_name(last, one)} for one in experiment.text.own_vocabularies}
    corpora = [_LanguageCorpus(reader, named.get(languages[name], {})) for name, reader in by_corpus.items()]
    if last in learnt and all(last in one.own for one in corpora):
        problem = f"leaves no text to learn the {last} of the first language from"
        raise ConfigError("init.vocabularies", problem, f"name {last}, too, or leave it out")
    if learnt:
        say(f"learning {', '.join(learnt_things(learnt.values(), choice.name))} from {', '.join(files)}")
    if learnt and not any(True for reader in readers for _ in reader):
        problem = "no example is left to learn from: equal texts stay together, and all are held out"
        raise DataError(readers[0].place, problem, hint="are all its texts equal?")
    columns = learnt_columns(_with_marks(experiment), corpora, readers[0].place, known)
    for name in learnt:
        column = columns[name]
        if rare := column.rare():
            shown = ", ".join(f"'{value:.60}'" for value in rare[:LISTED]) + (" …" if len(rare) > LISTED else "")
            say(f"{name}: only one example of {shown}, which cannot be in both training and dev set")
    save_columns(columns, learnt, folder.text, shared=experiment.text.shared)
    return columns


def _with_marks(experiment: Experiment) -> Experiment:
    """Return settings whose tokenizer learns a piece for each mark of data.source_augmentations."""
    if not experiment.data.source_augmentations:
        return experiment
    name, settings = experiment.text.tokenizer
    reserved = dict.fromkeys([*settings.get("reserved", ()), *SOURCE_MARKS])
    tokenizer = Choice(name, {**settings, "reserved": tuple(reserved)})
    return replace(experiment, text=replace(experiment.text, tokenizer=tokenizer))


class _LanguageCorpus:
    """The examples of a corpus, under the names of its language's own vocabularies."""

    def __init__(self, reader: Iterable[Example], own: Mapping[str, str]) -> None:
        """`own` maps columns to the names of the language's own vocabularies."""
        self._reader, self.own = reader, own

    def __iter__(self) -> Iterator[Example]:
        if not self.own:
            return iter(self._reader)
        names = self.own
        return (
            Example(line, {names.get(name, name): text for name, text in texts.items()}) for line, texts in self._reader
        )


def language_of(experiment: Experiment, corpus: str) -> str:
    """Return the code of a training corpus's target language; "" where it is not known."""
    view = experiment.along(corpus) if corpus in experiment.data.routes else experiment
    return view.data.language_pair()[1] or ""


def training_batches(
    experiment: Experiment,
    folder: RunFolder,
    task: Task,
    say: Say,
    routes: Mapping[str, str] = MappingProxyType({}),
) -> PlannedStream:
    """Return all training corpora as one stream of batches; unusable examples are reported.

    `routes` are those of corpora that differ from the task's, by name.
    """
    cache, seed = experiment.data.cache or folder.data, experiment.training.seed
    streams, sizes = dict[str, PlannedStream](), dict[str, float]()
    task.filter.check_transforms(experiment.data.transforms)
    readers = _with_recombined(experiment, training_readers(experiment), say)
    mixed, _ = old_readers(experiment)
    readers |= {} if mixed is None else {OLD_STREAM: mixed}
    for name, reader in _with_augmented(experiment, readers, task, say).items():
        kind = task.along(routes.get(name, task.route))
        try:
            corpus = _corpus(reader, kind, cache, experiment.data.max_length, say)
        except DataError as error:
            if not isinstance(reader, AugmentedPairs) or error.path != reader.place:
                raise
            say(f"{error.path}: {error.problem}; no pairs are added")
            continue
        limits = experiment.training.batch_tokens, experiment.training.batch_sentences
        streams[name] = kind.stream(corpus, *limits, seed=seed)
        sizes[name] = sum(int(corpus.lengths(column).sum()) for column in kind.vocabularies)
    weights = dict(experiment.data.weights or sizes)
    given = experiment.data.fractions()
    fractions = {name: one for name, one in given.items() if name in streams}
    if OLD_STREAM in fractions:  # plain old text has the share of augmented pairs that are missing
        fractions[OLD_STREAM] += sum(one for name, one in given.items() if name.startswith(OLD) and name not in streams)
    rest = sum(weight for name, weight in weights.items() if name not in fractions) / (1 - sum(fractions.values()))
    weights |= {name: fraction * rest for name, fraction in fractions.items()}
    stream = streams["train"] if len(streams) == 1 else MixedStream(streams, weights, routes=routes, seed=seed)
    return transformed(stream, experiment.data.transforms, seed)


def _corpus(reader: Reader, task: Task, cache: Path, limit: int, say: Say) -> Corpus:
    """Open a training corpus and report the examples that are left out; `limit`: pieces of an example."""
    rules = task.filter
    checked = CheckedReader(reader, rules.usable, rules.check, rules.learnt_from)
    most = rules.most_ids(limit)
    corpus = Corpus.open(checked, task.vocabularies, cache, max_tokens=most)
    say(f"{reader.names[0]}: {corpus.report}")
    if checked.left_out:
        lines = ", ".join(map(str, checked.left_out[:LISTED])) + (" …" if len(checked.left_out) > LISTED else "")
        say(f"{len(checked.left_out):,} examples whose answer is not in the passage are left out (lines {lines})")
    if most is not None and (longer := corpus.report.too_long):
        other = task.spec.wording.longer and f", or {task.spec.wording.longer.format(limit=most)}"
        raised = f"raise data.max_length, which is {most:,}{other}"
        say(f"{longer:,} of more than {most:,} pieces are left out; to learn from them {raised}")
    return corpus


def _with_recombined(experiment: Experiment, readers: Mapping[str, Reader], say: Say) -> dict[str, Reader]:
    """Return readers with that of data.recombination added, where it finds phrases to exchange."""
    if (settings := experiment.data.recombination) is None:
        return dict(readers)
    made = RecombinedPairs(readers["train"], settings.copies, experiment.training.seed)
    if any(True for _ in made):
        return {**readers, RECOMBINED: made}
    say("data.recombination: no two aligned phrases have the same context; no pairs are added")
    return dict(readers)


def _with_augmented(experiment: Experiment, readers: dict[str, Reader], task: Task, say: Say) -> dict[str, Reader]:
    """Return readers with those of data.source_augmentations, of new and of old text.

    Raises ConfigError for a vocabulary without marks.
    """
    seed, choices = experiment.training.seed, experiment.data.source_augmentations
    if choices:
        try:
            check_marks(cast(Tokenizer, task.vocabularies[task.first].tokenizer))
        except PartError as error:
            raise error.inside("data.source_augmentations") from error
    plain: dict[str, tuple[Reader, int | None]] = {"": (readers["train"], None)}
    if OLD_STREAM in readers:
        plain[OLD] = readers[OLD_STREAM], _OLD_AUGMENTED
    return readers | {
        f"{part}{one.name}": AugmentedPairs(reader, one, AUGMENTATIONS.build(one), seed, most, say)
        for part, (reader, most) in plain.items()
        for one in choices
    }


def part_reader(experiment: Experiment, part: str) -> Reader | None:
    """Return the reader of a whole part; None where the settings name none."""
    choice = experiment.reader(part)
    return None if choice is None else READERS.build(choice, tuple(experiment.columns), place=f"data.{part}")


class HeldOut(NamedTuple):
    """Fractions of the training set that are held out, where dev or test set have no files."""

    dev: float
    test: float
    folds: tuple[int, int] | None = None  # number of folds, of which one is the test set, and their seed
    stratified: bool = False  # by label


def held_out(experiment: Experiment) -> HeldOut:
    """Return the fractions held out of the training set."""
    data = experiment.data
    dev = data.dev_fraction if data.dev is None else 0.0
    if data.folds is not None:
        return HeldOut(dev, 1 / data.folds, (data.folds, data.fold_seed), data.stratified)
    return HeldOut(dev, data.test_fraction if data.test is None else 0.0)


def _parts(experiment: Experiment) -> tuple[Reader, Reader, Reader]:
    """Split the training set into training examples and held-out dev and test sets."""
    reader, task = _reader(experiment, "train"), experiment.task_class
    dev, test, folds, stratified = held_out(experiment)
    if folds is not None:
        count, seed = folds
        reader, evaluated = task.files.folded(reader, count, experiment.data.fold, seed, stratified=stratified)
        rest, held, _ = task.files.apart(reader, dev, 0.0) if dev else (reader, reader, reader)
        return rest, held, evaluated
    return task.files.apart(reader, dev, test) if dev or test else (reader, reader, reader)


def _reader(experiment: Experiment, part: str) -> Reader:
    reader = part_reader(experiment, part)
    if reader is None:
        named = " and ".join(named_files(part, tuple(experiment.columns)))
        raise DataError("data", f"the settings name no {part} set", hint=f"give {named}")
    return reader
