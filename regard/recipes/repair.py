"""`regard repair RUN repairs.tsv`: wrong sentences with their right translations → a run that has them right.

All weights are trained on the repairs and variants of them, while the answers to other texts are held: the loss has the
Kullback-Leibler divergence from the old model on old texts (https://arxiv.org/abs/1606.09282). Training ends as soon as
repairs and variants hold. The proof: all answers to other texts that changed, with scores, and the dev set, by paired
bootstrap.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.errors import ConfigError
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
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\b\d{1,4}\b")
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_NAMES = ("Tom", "Maria", "Anna", "Peter", "Lisa", "Paul")
_HELD_OUT = 0.3  # fraction of the variants of each pair
_ENDS = {".": "!", "!": ".", "。": "！", "！": "。"}

RepairPair = tuple[str, str]  # text, its right translation


class RepairRequest(NamedTuple):
    """A run, repairs of its answers, and where the result is kept."""

    run: Path
    file: Path
    output: Path
    text: Path | None = None  # other texts, one a line; None: those of the training set
    max_changed: float = 1.0  # per cent of the answers to other texts
    seed: int = 1


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


def repair(request: RepairRequest, say: Say) -> Repaired:
    """Repair a translator, and write a run unless other answers or the dev set suffer.

    Raises ConfigError for more than 50 repairs and an output that exists, DataError for a file without pairs.
    """
    RunFolder(request.output).check_free()
    before, after = load(request.run), load(request.run)
    texts = _texts(request, before, say)
    given = answers(before, [source for source, _ in texts.repairs])
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
    pool = [*dict.fromkeys(text for text in _old_sources(predictor) if text not in known)]
    draw.shuffle(pool)
    if request.text is not None:
        lines = request.text.read_text(encoding="utf-8").splitlines()
        others = [*dict.fromkeys(line.strip() for line in lines if line.strip() and line.strip() not in known)]
        compared = {*others}
        anchors = [text for text in pool if text not in compared][:_ANCHORS] or others[OTHERS:][:_ANCHORS]
        others = others[:OTHERS]
    else:
        others, anchors = pool[:OTHERS], pool[OTHERS:][:_ANCHORS]
        if not anchors:
            others, anchors = pool[: len(pool) // 2], pool[len(pool) // 2 :]
    if not others or not anchors:
        raise ConfigError("--text", "there are no other texts, so no change can be seen", "--text FILE")
    return _Texts(repairs, trained, held_out, anchors, others)


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
    for pattern, choices in ((_NUMBER, [str(draw.randint(2, 99)) for _ in range(3)]), (_NAME, _NAMES)):
        both = [word for word in pattern.findall(source) if word in pattern.findall(target)]
        for word in dict.fromkeys(both):
            for other in draw.sample(choices, min(len(choices), 3)):
                swap = re.compile(rf"\b{word}\b")
                yield swap.sub(other, source), swap.sub(other, target)


def _old_sources(predictor: Predictor) -> Iterator[str]:
    """Yield sources of the training set; none where its files are gone."""
    try:
        for one in islice(training_texts(predictor.run.experiment), 20 * OTHERS):
            yield " ".join(str(one["source"]).split())
    except (ConfigError, OSError):
        return


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
        rows = [*texts.repairs, *draw.sample(texts.trained, min(len(texts.trained), _REPAIR_ROWS))][:_REPAIR_ROWS]
        loss = _loss(after, rows) + _HOLD * _divergence(before, after, draw.sample(held, min(len(held), _ANCHOR_ROWS)))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % _CHECK_EVERY == 0:
            right = _right(after, pairs)
            say(f"update {update}: loss {loss.item():.3f}, {right} of {len(pairs)} repairs and variants")
            if right == len(pairs):
                return update
    return _UPDATES


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


def _right(predictor: Predictor, pairs: Sequence[RepairPair]) -> int:
    """Return the number of pairs that are answered as given."""
    given = answers(predictor, [source for source, _ in pairs])
    return sum(answer == right for answer, (_, right) in zip(given, pairs, strict=True))


def _proved(before: Predictor, after: Predictor, texts: _Texts, links: FaultLinks, request: RepairRequest) -> Repaired:
    """Compare the answers of both weights, and decide."""
    changed = _changed(before, after, texts, links)
    other = sum(not one.related for one in changed)
    share = 100 * other / len(texts.others)
    test = _standing(before, after)
    rows = [
        _row("repairs", texts.repairs, before, after),
        _row("variants trained", texts.trained, before, after),
        _row("variants held out", texts.held_out, before, after),
    ]
    tables = [Table(["right", "texts", "before", "after"], [row for row in rows if row])]
    lines = [f"{len(changed):,} of {len(texts.others):,} other answers changed, {other:,} of them ({share:.2f} %) "
             "without the error"]  # fmt: skip
    lines += ["dev set: none, so forgetting is not measured" if test is None else f"dev set: {test}"]
    reason = _refusal(_right(after, texts.repairs), share, request.max_changed, test)
    lines.append(f"not written: {reason}" if reason else f"written: {request.output}")
    values = {
        "repairs": len(texts.repairs),
        "repaired": _right(after, texts.repairs),
        "variants_held_out": len(texts.held_out),
        "variants_right": _right(after, texts.held_out),
        "others": len(texts.others),
        "changed": [one._asdict() for one in changed],
        "changed_unrelated": other,
        "dev": None if test is None else {"metric": test.a.name, "before": test.a.value, "after": test.b.value,
                                          "interval": [*test.interval], "p_value": test.p_value},
        "kept": not reason,
        "reason": reason or None,
    }  # fmt: skip
    return Repaired(not reason, Report(tables, values, "\n".join(lines)), reason)


def _refusal(repaired: int, share: float, most: float, test: SignificanceTest | None) -> str:
    """Return why the weights are not kept; "" where they are."""
    if not repaired:
        return "no repair holds"
    if share > most:
        return f"{share:.2f} % of other answers changed (--max-changed {most:g})"
    if test is not None and (test.interval[1] < 0 or test.difference < -TOLERANCE):
        return f"the dev set loses {-test.difference:.2f} {test.a.name}"
    return ""


def _row(name: str, pairs: Sequence[RepairPair], before: Predictor, after: Predictor) -> list[Cell]:
    counts = (len(pairs), _right(before, pairs), _right(after, pairs)) if pairs else ()
    return [Cell(name), *(Cell(f"{count:,}", count) for count in counts)] if counts else []


def _changed(before: Predictor, after: Predictor, texts: _Texts, links: FaultLinks) -> list[ChangedAnswer]:
    """Return the other texts whose answers changed, those without a wrong word first."""
    old, new = answers(before, texts.others), answers(after, texts.others)
    rows = [(source, one, two) for source, one, two in zip(texts.others, old, new, strict=True) if one != two]
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


def _standing(before: Predictor, after: Predictor) -> SignificanceTest | None:
    """Return BLEU of the dev set before and after; None without a dev set."""
    try:
        examples = dev_examples(before.run.experiment, before.task, lambda line: None)
    except (ConfigError, OSError):
        return None
    if examples is None:
        return None
    sources, references = ([str(text) for text in examples[side][:_DEV]] for side in ("source", "target"))
    old, new = answers(before, sources), answers(after, sources)
    return paired_bootstrap(METRICS.build(Choice("bleu")), old, new, [[one] for one in references])
