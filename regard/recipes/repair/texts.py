"""Texts of a repair: repairs, their variants, and old texts whose answers are held or compared."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from math import ceil
from pathlib import Path
from typing import NamedTuple

from regard.data import READERS
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError
from regard.predictor import Predictor
from regard.recipes.corrections import corrected_texts
from regard.recipes.repair.faults import WORD, RepairPair, has_same_fault
from regard.recipes.repair.training import answers
from regard.registry import Choice
from regard.runs.texts import Say, dev_examples, old_dev_examples, old_readers, training_texts

MOST_REPAIRS = 50
OTHERS = 5_000  # other texts whose answers are compared
_LEAST_CHANGED = 0.5  # per cent; a smaller limit needs no more texts
_DEV = 1_000  # sentences of the dev set
_SIDES = ("source", "target")
_WHOLE = r"(?<![\w.,/:-]){}(?![.,/:-]?\w|\.\s)"  # not a part of 3.5, 31.12.2024 or 12-year-old, nor an ordinal
_NUMBER = re.compile(_WHOLE.format(r"\d{1,4}"))
_NAMES = (("Tom", "Peter", "Paul", "David", "John"), ("Maria", "Anna", "Lisa", "Sarah", "Mary"))  # of one gender each
_HELD_OUT = 0.3  # fraction of the variants of each pair
_ENDS = {".": "!", "!": ".", "。": "！", "！": "。"}


SelectVariants = Callable[[RepairPair, list[RepairPair]], list[RepairPair]]


class RepairRequest(NamedTuple):
    """A run, repairs of its answers, and where the result is kept."""

    run: Path
    file: Path
    output: Path
    text: Path | None = None  # other texts, one a line; None: the training set
    max_changed: float = 0.5  # per cent of the answers to other texts that did not have the error
    seed: int = 1
    old: tuple[str, str] | None = None  # files of old pairs; None: the training and the dev set of the run


class RepairTexts(NamedTuple):
    """Texts that a repair is trained and compared on."""

    repairs: list[RepairPair]
    trained: list[RepairPair]  # variants
    held_out: list[RepairPair]  # variants that are not trained
    old: list[str]  # other texts, whose answers are held
    others: list[str]  # texts whose answers are compared
    dev: list[RepairPair]


def repair_texts(request: RepairRequest, predictor: Predictor, say: Say) -> RepairTexts:
    """Read the repairs and the other texts, which have no text of a repair or of its variants."""
    source, target = predictor.setup.languages
    found = corrected_texts(request.file, (source or "source", target or "target"), say)
    if len(found) > MOST_REPAIRS:
        problem = f"has {len(found):,} repairs; at most {MOST_REPAIRS} are taken"
        raise ConfigError(str(request.file), problem, f"regard teach {request.run} {request.file}")
    repairs, draw = [*found.items()], random.Random(request.seed)
    trained, held_out = variants(repairs, draw, partial(_with_same_fault, predictor))
    known = {text for text, _ in (*repairs, *trained, *held_out)}
    sources, dev = _old_texts(request, predictor, draw)
    dev = [pair for pair in dev if _plain(pair[0]) not in known][:_DEV]
    if not dev:
        problem = "its dev set is not here, so forgetting cannot be measured"
        raise ConfigError(str(request.run), problem, "--old SOURCE TARGET")
    pool = [*dict.fromkeys(text for text in sources if text not in known)]
    draw.shuffle(pool)
    if request.text is not None:
        lines = map(str.strip, read_lines(request.text))
        others = [*dict.fromkeys(line for line in lines if line and line not in known)]
        compared = {*others}
        kept = [text for text in pool if text not in compared] or others[OTHERS:]
        others = others[:OTHERS]
    else:
        count = OTHERS if len(pool) > OTHERS else len(pool) // 2
        others, kept = pool[:count], pool[count:]
    if not others or not kept:
        raise ConfigError("--text", "there are no other texts, so no change can be seen", "--text FILE")
    if len(others) < (least := fewest_texts(request.max_changed)):
        problem = f"{len(others):,} other texts are too few for --max-changed {request.max_changed:g}"
        raise ConfigError("--text", problem, f"--text FILE with {least:,} lines or more")
    return RepairTexts(repairs, trained, held_out, kept, others, dev)


def fewest_texts(max_changed: float) -> int:
    """Return the fewest texts of which one changed answer is within a limit in per cent: 200 for 0.5 and less."""
    return ceil(100 / max(max_changed, _LEAST_CHANGED))


def variants(
    repairs: Sequence[RepairPair], draw: random.Random, select: SelectVariants
) -> tuple[list[RepairPair], list[RepairPair]]:
    """Return selected variants to train and others that are held out; none is a repair itself."""
    known = {source for source, _ in repairs}
    trained, held_out = dict[str, str](), dict[str, str]()
    for pair in repairs:
        found = select(pair, [one for one in dict.fromkeys(_of_pair(*pair, draw)) if one[0] not in known])
        draw.shuffle(found)
        count = round(len(found) * _HELD_OUT)
        held_out |= dict(found[:count])
        trained |= dict(found[count:])
    return [*trained.items()], [one for one in held_out.items() if one[0] not in trained]


def _with_same_fault(predictor: Predictor, pair: RepairPair, found: list[RepairPair]) -> list[RepairPair]:
    """Return the variants whose answers are right or have the fault of the pair, and no other."""
    old, *given = answers(predictor, [pair[0], *(source for source, _ in found)])
    return [one for one, answer in zip(found, given, strict=True) if has_same_fault(answer, one[1], old, pair[1])]


def _of_pair(source: str, target: str, draw: random.Random) -> Iterator[RepairPair]:
    """Yield variants whose right translation is certain."""
    yield source[:1].lower() + source[1:], target
    if source[-1:] == target[-1:] and source[-1:] in _ENDS:
        other = _ENDS[source[-1]]
        yield source[:-1], target[:-1]
        yield source[:-1] + other, target[:-1] + other
        yield f"{source[:1].lower()}{source[1:-1]}{other}", target[:-1] + other
    numbers = [word for word in dict.fromkeys(_NUMBER.findall(source)) if word in _NUMBER.findall(target)]
    choices = {word: _like(int(word)) for word in numbers if int(word) > 1}
    for names in _NAMES:
        both = {*names}.intersection(WORD.findall(source), WORD.findall(target))
        choices |= {word: [name for name in names if name not in both] for word in names if word in both}
    for word, found in choices.items():
        swap = re.compile(_WHOLE.format(word)) if word.isdecimal() else re.compile(rf"\b{word}\b")
        for other in draw.sample(found, min(len(found), 3)):
            yield swap.sub(other, source), swap.sub(other, target)


def _like(number: int) -> list[str]:
    """Return other numbers up to 99 that take the same plural, in Slavic languages, too: by the last digit."""
    teen, last = 10 < number % 100 < 20, number % 10
    alike = [one for one in range(2, 100) if (10 < one < 20) == teen and (teen or one % 10 == last)]
    return [str(one) for one in alike if one != number]


def _plain(text: object) -> str:
    return " ".join(str(text).split())


def _old_texts(request: RepairRequest, predictor: Predictor, draw: random.Random) -> tuple[list[str], list[RepairPair]]:
    """Return sources of the training set and the dev set: of `--old`, or of the run, none where its files are gone."""
    if request.old is not None:
        files = dict(zip(_SIDES, request.old, strict=True))
        reader = READERS.build(Choice("parallel", {"files": files}), _SIDES, place="--old")
        pairs = [(_plain(one.texts["source"]), _plain(one.texts["target"])) for one in islice(reader, 20 * OTHERS)]
        draw.shuffle(pairs)
        count = min(2 * _DEV, len(pairs) // 2)  # more than are used: repairs among them are left out
        return [source for source, _ in pairs[count:]], pairs[:count]
    experiment, sources, dev = predictor.run.experiment, list[str](), list[RepairPair]()
    with suppress(ConfigError, DataError, OSError):  # of a run that was adapted or taught most texts are old ones
        old, _ = old_readers(experiment)
        texts = chain((one.texts for one in old or ()), training_texts(experiment))
        sources += (_plain(one["source"]) for one in islice(texts, 20 * OTHERS))
    for read in (old_dev_examples, dev_examples):
        with suppress(ConfigError, DataError, OSError):
            examples = read(experiment, predictor.task, lambda line: None) or {side: () for side in _SIDES}
            dev += zip(*([str(text) for text in examples[side]] for side in _SIDES), strict=True)
    if experiment.data.old is not None:
        draw.shuffle(dev)
    return sources, dev
