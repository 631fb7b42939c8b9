"""`regard repair RUN repairs.tsv`: wrong sentences with their right translations → a run that has them right.

All weights are trained on repairs and variants until these hold, beside the Kullback-Leibler divergence from the old
model on old texts (https://arxiv.org/abs/1606.09282). The proof: other answers that changed, and the dev set.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.data import READERS
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS
from regard.evaluation.significance import SignificanceTest, paired_bootstrap
from regard.exchange.import_run import run_of_weights
from regard.explain.translation_faults import EVERYWHERE
from regard.predictor import Predictor, load
from regard.recipes.corrections import TOLERANCE, corrected_texts
from regard.registry import Choice
from regard.reports.report import Report
from regard.reports.table import Cell, Table
from regard.runs import RunFolder
from regard.runs.texts import Say, dev_examples, training_texts

MOST_REPAIRS = 50
OTHERS = 5_000  # other texts whose answers are compared
_ANCHORS, _ANCHOR_ROWS, _REPAIR_ROWS = 2_000, 48, 48  # old texts that are held, and rows of an update
_RATE, _UPDATES, _CHECK_EVERY = 5e-4, 400, 10
_HOLD = 10.0  # weight of the divergence, beside the loss of the repairs
_LINKED = 0.5  # fraction of the old answers to texts with a word that have the wrong word
_DEV = 1_000  # sentences of the dev set
_REPAIRS, _HELD = "repairs", "variants held out"  # rows of the table
_SIDES = ("source", "target")
_WORD = re.compile(r"\w+")
_WHOLE = r"(?<![\w.,/:-]){}(?![.,/:-]?\w|\.\s)"  # not a part of 3.5, 31.12.2024 or 12-year-old, nor an ordinal
_NUMBER = re.compile(_WHOLE.format(r"\d{1,4}"))
_NAMES = (("Tom", "Peter", "Paul", "David", "John"), ("Maria", "Anna", "Lisa", "Sarah", "Mary"))  # of one gender each
_MENDED = 0.9  # fraction of the wrong repairs that must be right afterwards
_HELD_OUT = 0.3  # fraction of the variants of each pair
_ENDS = {".": "!", "!": ".", "。": "！", "！": "。"}

RepairPair = tuple[str, str]  # text, its right translation


class RepairRequest(NamedTuple):
    """A run, repairs of its answers, and where the result is kept."""

    run: Path
    file: Path
    output: Path
    text: Path | None = None  # other texts, one a line; None: those of the training set
    max_changed: float = 0.5  # per cent of the answers to other texts that did not have the error
    seed: int = 1
    old: tuple[str, str] | None = None  # files of old pairs; None: the training and the dev set of the run


class ChangedAnswer(NamedTuple):
    """An answer to another text that is not what it was, with log-probabilities in nats."""

    source: str
    before: str
    after: str
    before_score: float  # of the old answer, by the old weights
    after_score: float  # of the new answer, by the new weights
    forced_before: float  # of the new answer, by the old weights
    forced_after: float  # of the old answer, by the new weights
    related: bool  # it shares a word that was wrong


class Repaired(NamedTuple):
    """The result: whether a run was written, and the figures."""

    kept: bool
    report: Report
    reason: str  # why no run was written; "": it was


class _Texts(NamedTuple):
    """Texts that a repair is trained and compared on."""

    repairs: list[RepairPair]
    trained: list[RepairPair]  # variants
    held_out: list[RepairPair]  # variants that are not trained
    anchors: list[str]  # texts whose answers are held
    others: list[str]  # texts whose answers are compared
    dev: list[RepairPair]


class _Right(NamedTuple):
    """Pairs that are answered as given, by the old and by the new weights."""

    before: Sequence[bool]
    after: Sequence[bool]


def repair(request: RepairRequest, say: Say) -> Repaired:
    """Repair a translator, and write a run unless other answers or the dev set suffer.

    Raises ConfigError for more than 50 repairs, for texts that are all translated right, without a dev set, and for an
    output that exists; DataError for a file without pairs.
    """
    RunFolder(request.output).check_free()
    before, after = load(request.run), load(request.run)
    texts = _texts(request, before, say)
    given = answers(before, [source for source, _ in texts.repairs])
    if all(answer == right for answer, (_, right) in zip(given, texts.repairs, strict=True)):
        raise ConfigError(str(request.file), "all its texts are translated right already", "texts with wrong answers")
    old = [*zip(texts.anchors, answers(before, texts.anchors), strict=True)]
    links = wrong_links(texts.repairs, given, old)
    held = [pair for pair in old if not is_related(pair, links)]
    updates = _trained(before, after, texts, held, request.seed, say)
    result = _proved(before, after, texts, links, request)
    values = {**result.report.values, "updates": updates}
    if result.kept:
        origin: dict[str, Any] = {
            "format": "runs",
            "folder": f"{request.run} {before.run.weights_digest[:12]}",
            "architecture": f"repaired with {request.file.name}",
            "license": None,
            "files": {},
        }
        weights = {name: value.detach() for name, value in after.model.state_dict().items()}
        run_of_weights(before.run, weights, origin, request.output)
    return result._replace(report=result.report._replace(values=values))


def answers(predictor: Predictor, texts: Sequence[str]) -> list[str]:
    """Return the answers to texts, each read as one sentence."""
    return [one.text for one in predictor.predict(texts)]


def _texts(request: RepairRequest, predictor: Predictor, say: Say) -> _Texts:
    """Read the repairs and the other texts, which have no text of a repair or of its variants."""
    source, target = predictor.setup.languages
    found = corrected_texts(request.file, (source or "source", target or "target"), say)
    if len(found) > MOST_REPAIRS:
        problem = f"has {len(found):,} repairs; at most {MOST_REPAIRS} are taken"
        raise ConfigError(str(request.file), problem, f"regard teach {request.run} {request.file}")
    repairs, draw = [*found.items()], random.Random(request.seed)
    trained, held_out = variants(repairs, draw)
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
        anchors = [text for text in pool if text not in compared][:_ANCHORS] or others[OTHERS:][:_ANCHORS]
        others = others[:OTHERS]
    else:
        others, anchors = pool[:OTHERS], pool[OTHERS:][:_ANCHORS]
        if not anchors:
            others, anchors = pool[: len(pool) // 2], pool[len(pool) // 2 :]
    if not others or not anchors:
        raise ConfigError("--text", "there are no other texts, so no change can be seen", "--text FILE")
    return _Texts(repairs, trained, held_out, anchors, others, dev)


def variants(repairs: Sequence[RepairPair], draw: random.Random) -> tuple[list[RepairPair], list[RepairPair]]:
    """Return variants to train and variants that are held out; none is a repair itself."""
    known = {source for source, _ in repairs}
    trained, held_out = dict[str, str](), dict[str, str]()
    for pair in repairs:
        found = [one for one in dict.fromkeys(_of_pair(*pair, draw)) if one[0] not in known]
        draw.shuffle(found)
        count = round(len(found) * _HELD_OUT)
        held_out |= dict(found[:count])
        trained |= dict(found[count:])
    return [*trained.items()], [one for one in held_out.items() if one[0] not in trained]


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
        both = {*names}.intersection(_WORD.findall(source), _WORD.findall(target))
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
        pairs = [_pair(one.texts) for one in islice(reader, 20 * OTHERS)]
        draw.shuffle(pairs)
        count = min(2 * _DEV, len(pairs) // 2)  # more than are used: repairs among them are left out
        return [source for source, _ in pairs[count:]], pairs[:count]
    experiment, sources, dev = predictor.run.experiment, list[str](), list[RepairPair]()
    with suppress(ConfigError, DataError, OSError):
        for one in islice(training_texts(experiment), 20 * OTHERS):
            sources.append(_plain(one["source"]))
    with suppress(ConfigError, DataError, OSError):
        examples = dev_examples(experiment, predictor.task, lambda line: None)
        dev += (
            [] if examples is None else zip(*([str(text) for text in examples[side]] for side in _SIDES), strict=True)
        )
    return sources, dev


def _pair(texts: Mapping[str, object]) -> RepairPair:
    return _plain(texts["source"]), _plain(texts["target"])


FaultLinks = set[tuple[str, str]]  # a word of a text, and the word that was wrong in its old answer


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def wrong_links(repairs: Sequence[RepairPair], given: Sequence[str], held: Sequence[RepairPair]) -> FaultLinks:
    """Return the words of repaired texts with the wrong words of their old answers that usually come with them.

    `given` are the old answers to the repairs, `held` other texts with their old answers. A wrong word belongs to a
    word of the text if half of the old answers to texts with the latter have it, or if no other text has the latter;
    never to one of the commonest words, as "the".
    """
    read, both = Counter[str](), Counter[tuple[str, str]]()
    for source, answer in held:
        one, other = _words(source), _words(answer)
        read.update(one)
        both.update(product(one, other))
    found = FaultLinks()
    for (source, right), answer in zip(repairs, given, strict=True):
        found |= {*product(_words(source), _words(answer) - _words(right))}
    rare = {word for word, _ in found if read[word] <= EVERYWHERE * read.total()}
    return {(word, wrong) for word, wrong in found if word in rare and both[word, wrong] >= _LINKED * read[word]}


def is_related(pair: RepairPair, links: FaultLinks) -> bool:
    """Return whether a text has a word of a repair, and its old answer the word that was wrong for it."""
    return not links.isdisjoint(product(*map(_words, pair)))


def _trained(
    before: Predictor, after: Predictor, texts: _Texts, held: Sequence[RepairPair], seed: int, say: Say
) -> int:
    """Train until all repairs and variants are answered right, and return the number of updates."""
    draw, model, pairs = random.Random(seed), after.model, [*texts.repairs, *texts.trained]
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.0)
    for update in range(1, _UPDATES + 1):
        loss = _loss(after, _update_rows(texts, draw)) + _HOLD * _divergence(
            before, after, draw.sample(held, min(len(held), _ANCHOR_ROWS))
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % _CHECK_EVERY == 0:
            right = sum(_right(after, pairs))
            say(f"update {update}: loss {loss.item():.3f}, {right} of {len(pairs)} repairs and variants")
            if right == len(pairs):
                return update
    return _UPDATES


def _update_rows(texts: _Texts, draw: random.Random) -> list[RepairPair]:
    """Sample the pairs of an update: half of them repairs, more where there are few variants."""
    variants = draw.sample(texts.trained, min(len(texts.trained), _REPAIR_ROWS))
    count = max(_REPAIR_ROWS // 2, _REPAIR_ROWS - len(variants))
    repairs = texts.repairs if len(texts.repairs) <= count else draw.sample(texts.repairs, count)
    return [*repairs, *variants][:_REPAIR_ROWS]


def _batch(predictor: Predictor, pairs: Sequence[RepairPair]) -> Any:
    examples = [{"source": source, "target": target} for source, target in pairs]
    return predictor.task.batch(predictor.task.encode(examples)).to(predictor.model.device)


def _loss(after: Predictor, pairs: Sequence[RepairPair]) -> Tensor:
    """Return the loss of a target token, in nats."""
    batch = _batch(after, pairs)
    return after.model.nll(batch).sum() / batch.count


def _divergence(before: Predictor, after: Predictor, pairs: Sequence[RepairPair]) -> Tensor:
    """Return KL(old, new) of a target token, in nats."""
    batch = _batch(after, pairs)
    with torch.no_grad():
        old = before.model.distributions(batch).log_probs
    new = after.model.distributions(batch).log_probs
    return (old.exp() * (old - new)).sum(dim=-1).mean()


def _right(predictor: Predictor, pairs: Sequence[RepairPair]) -> list[bool]:
    """Return which pairs are answered as given."""
    given = answers(predictor, [source for source, _ in pairs])
    return [answer == right for answer, (_, right) in zip(given, pairs, strict=True)]


def _proved(before: Predictor, after: Predictor, texts: _Texts, links: FaultLinks, request: RepairRequest) -> Repaired:
    """Compare the answers of both weights, and decide."""
    old = answers(before, texts.others)
    changed = _changed(before, after, texts.others, old, links)
    other = sum(not one.related for one in changed)
    unrelated = sum(not is_related(pair, links) for pair in zip(texts.others, old, strict=True))
    fraction = 100 * other / max(1, unrelated)
    test = _standing(before, after, texts.dev)
    groups = {_REPAIRS: texts.repairs, "variants trained": texts.trained, _HELD: texts.held_out}
    right = {name: _Right(_right(before, pairs), _right(after, pairs)) for name, pairs in groups.items() if pairs}
    rows = [[Cell(name), *(Cell(f"{count:,}", count) for count in (len(one.before), sum(one.before), sum(one.after)))]
            for name, one in right.items()]  # fmt: skip
    tables = [Table(["right", "texts", "before", "after"], rows)]
    lines = [f"{len(changed):,} of {len(texts.others):,} other answers changed, {other:,} of {unrelated:,} "
             f"({fraction:.2f} %) without the error", f"dev set: {test}"]  # fmt: skip
    reason = _refusal(right[_REPAIRS], right.get(_HELD, _Right([], [])), fraction, request.max_changed, test)
    lines.append(f"not written: {reason}" if reason else f"written: {request.output}")
    values = {
        "repairs": len(texts.repairs),
        "repaired": sum(right[_REPAIRS].after),
        "variants_held_out": len(texts.held_out),
        "variants_right": sum(right[_HELD].after) if _HELD in right else 0,
        "others": len(texts.others),
        "changed": [one._asdict() for one in changed],
        "unrelated": unrelated,
        "changed_unrelated": other,
        "dev": {"metric": test.a.name, "before": test.a.value, "after": test.b.value,
                "interval": [*test.interval], "p_value": test.p_value},
        "kept": not reason,
        "reason": reason or None,
    }  # fmt: skip
    return Repaired(not reason, Report(tables, values, "\n".join(lines)), reason)


def _refusal(repairs: _Right, held_out: _Right, changed: float, most: float, test: SignificanceTest) -> str:
    """Return why the weights are not kept; "" where they are. `changed` and `most` are percentages."""
    mended = [after for before, after in zip(repairs.before, repairs.after, strict=True) if not before]
    if sum(mended) < _MENDED * len(mended):
        return f"{sum(mended)} of {len(mended)} wrong repairs are right now; {_MENDED:.0%} must be"
    if sum(held_out.after) < sum(held_out.before):
        return f"{sum(held_out.after)} variants held out are right, {sum(held_out.before)} were before"
    if changed > most:
        return f"{changed:.2f} % of other answers changed (--max-changed {most:g})"
    if test.interval[1] < 0 or test.difference < -TOLERANCE:
        return f"the dev set loses {-test.difference:.2f} {test.a.name}"
    return ""


def _changed(
    before: Predictor, after: Predictor, others: Sequence[str], old: Sequence[str], links: FaultLinks
) -> list[ChangedAnswer]:
    """Return the other texts whose answers changed, those without a wrong word first; `old` are the old answers."""
    new = answers(after, others)
    rows = [(source, one, two) for source, one, two in zip(others, old, new, strict=True) if one != two]
    if not rows:
        return []
    sources, was, now = ([*some] for some in zip(*rows, strict=True))
    scores = [[one.score for one in predictor.score(sources, given)]
              for predictor, given in ((before, was), (after, now), (before, now), (after, was))]  # fmt: skip
    found = [
        ChangedAnswer(
            *row, scores[0][place], scores[1][place], scores[2][place], scores[3][place], is_related(row[:2], links)
        )
        for place, row in enumerate(rows)
    ]
    return sorted(found, key=lambda one: one.related)


def _standing(before: Predictor, after: Predictor, dev: Sequence[RepairPair]) -> SignificanceTest:
    """Return BLEU of the dev set before and after."""
    sources, references = zip(*dev, strict=True)
    old, new = answers(before, sources), answers(after, sources)
    return paired_bootstrap(METRICS.build(Choice("bleu")), old, new, [[one] for one in references])
