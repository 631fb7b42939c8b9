"""Whether contenders learn from the same texts and are judged on the same ones; and gold links, if there are any."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.columns import small_columns
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError, Fault
from regard.evaluation import GoldAlignment, alignment_error_rate, read_gold
from regard.experiment import DataSettings
from regard.explain import align
from regard.explain.alignment import merge
from regard.explain.tokens import SPACE_MARK, is_end
from regard.pieces import byte_of
from regard.predictor import Predictor
from regard.reports.compare.plan import Contender
from regard.results import Prediction
from regard.runs.resuming import origins_of
from regard.runs.texts import held_out, part_reader, test_examples
from regard.tasks import TASKS, Examples

SPACES = (SPACE_MARK, " ")


class Gold(NamedTuple):
    """Sentence pairs whose words, parted by spaces, people have linked."""

    sources: list[str]
    targets: list[str]
    links: list[GoldAlignment]


class Learnt:
    """What contenders learn from, by content: each way to say where the texts are is looked at once."""

    def __init__(self) -> None:
        self._known: list[tuple[DataSettings, dict[str, Any]]] = []

    def of(self, one: Contender) -> dict[str, Any]:
        """The texts of a training, with the settings that leave out some of them."""
        data = one.experiment.data
        for known, found in self._known:
            if known == data:
                return found
        found = with_settings(origins_of(one.experiment), held_out(one.experiment), data.max_length)
        self._known.append((data, found))
        return found


def with_settings(origins: Mapping[str, Any], share: float, longest: int) -> dict[str, Any]:
    """The origins of a run, with what leaves out some of its training texts."""
    return {"train": {**origins["train"], "held_out": share, "max_length": longest}, "dev": origins.get("dev")}


def common_test(contenders: Sequence[Contender], learnt: Learnt, *, any_data: bool) -> Examples:
    """The sentences that all are judged on. Raises ConfigError of all that is not the same for everyone.

    With `any_data` they may learn from other texts, but are still judged on the same ones.
    """
    _check_tasks(contenders)
    first, *others = _by_data(contenders)
    test, ours = _test(first), learnt.of(first)
    if test is None:
        named = [f"data.test.{column}" for column in first.experiment.columns]
        hint = " ".join(f"{name}=FILE" for name in named)
        raise ConfigError(named[0], f"must be given: '{first.name}' names no test part to be judged on", hint)
    faults = []
    for other in others:
        if _test(other) != test:
            faults.append(_differ("test", "is judged on", first, other, ""))
        if not any_data:
            theirs = learnt.of(other)
            parts = [part for part in ours if ours[part] != theirs[part]]
            faults += [_differ(part, "learns from", first, other, ", or --any-data") for part in parts]
    if faults:
        raise ConfigError.of(faults)
    return test


def _check_tasks(contenders: Sequence[Contender]) -> None:
    """Raises ConfigError where contenders are for several tasks."""
    first, *others = contenders
    for other in others:
        if other.experiment.task.name != first.experiment.task.name:
            names = f"'{other.experiment.task.name}' and '{first.experiment.task.name}'"
            raise ConfigError("task", f"{names} have no figure in common", "compare each task alone")


def _test(one: Contender) -> Examples | None:
    """The test part of a contender. What of it is judged depends on the settings of the task alone."""
    columns = small_columns(one.experiment.columns, shared=one.experiment.text.shared)
    return test_examples(one.experiment, TASKS.build(one.experiment.task, columns))


def _by_data(contenders: Sequence[Contender]) -> Iterator[Contender]:
    """The first contender of each way to say where the texts are."""
    seen: list[DataSettings] = []
    for one in contenders:
        if one.experiment.data not in seen:
            seen.append(one.experiment.data)
            yield one


def _differ(part: Any, verb: str, first: Contender, other: Contender, more: str) -> Fault:
    problem = f"'{other.name}' {verb} {_files(other, part)}, '{first.name}' {verb} {_files(first, part)}"
    files = " ".join(f"data.{part}.{column}=FILE" for column in first.experiment.columns)
    hint = f"say the same for all: {files}{more}"
    return Fault(f"data.{part}", problem, hint)


def _files(one: Contender, part: Any) -> str:
    reader = part_reader(one.experiment, part)
    if reader is None:
        return "no such file"
    names = " and ".join(str(file) for file in reader.files)
    if part == "train":
        share, longest = held_out(one.experiment), one.experiment.data.max_length
        names += f" up to {longest} pieces" + (f" without a share of {share:g}" if share else "")
    return names


def gold_links(path: Path, source: Path, target: Path, *, turned: bool) -> Gold:
    """Three files, line by line. `turned`: the links say target before source. Raises DataError for what is wrong."""
    texts = [list(read_lines(file)) for file in (source, target)]
    links = read_gold(path)
    if turned:
        links = [GoldAlignment(_turned(one.sure), _turned(one.possible)) for one in links]
    for file, lines in zip((source, target), texts, strict=True):
        if len(lines) != len(links):
            raise DataError(path, f"{len(links):,} lines, but {file} has {len(lines):,}")
    for line, pair in enumerate(zip(*texts, links, strict=True), start=1):
        _check(path, line, *pair)
    return Gold(texts[0], texts[1], links)


def _turned(links: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    return frozenset((target, source) for source, target in links)


def _check(path: Path, line: int, source: str, target: str, gold: GoldAlignment) -> None:
    words = [sum(map(bool, text.split(" "))) for text in (source, target)]
    for link in sorted(gold.possible):
        if link[0] >= words[0] or link[1] >= words[1]:
            pair = f"{link[0] + 1}-{link[1] + 1}"
            problem = f"link {pair} (source-target), but there are {words[0]} and {words[1]} words"
            raise DataError(path, problem, line=line, hint="--gold-turned where links say target before source")


def error_rate(predictor: Predictor, gold: Gold) -> float | None:
    """The alignment error rate in per cent, each target word linked to the source word it looks at most.

    The given targets are forced upon the model. None for one that looks at no single words.
    """
    pairs = [Prediction(source, target, 0.0) for source, target in zip(gold.sources, gold.targets, strict=True)]
    links = []
    for prediction in predictor.explained(pairs):
        found = prediction.explanation
        if found is None or not found.weights:
            return None
        columns, rows = space_groups(found.source_tokens), space_groups(found.target_tokens)
        links.append(align(merge(found.weights, rows, columns)))
    return 100 * alignment_error_rate(links, [one.sure for one in gold.links], [one.possible for one in gold.links])


def space_groups(tokens: Sequence[str]) -> list[list[int]]:
    """The pieces of each word, a word being what stands between spaces; the end symbol belongs to none."""
    groups: list[list[int]] = []
    apart = True  # a space came last
    for place, token in enumerate(tokens):
        if is_end(tokens, place):
            break
        code = byte_of(token)
        text = token if code is None else chr(code)
        apart = apart or text.startswith(SPACES)
        if text.strip("".join(SPACES)):
            if apart:
                groups.append([])
            groups[-1].append(place)
            apart = text.endswith(SPACES)
    return groups
