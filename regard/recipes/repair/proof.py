"""The proof of a repair: texts that are right now, other answers that changed, and the dev set."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.evaluation import METRICS
from regard.evaluation.significance import SignificanceTest, paired_bootstrap
from regard.predictor import Predictor
from regard.recipes.corrections import TOLERANCE
from regard.recipes.repair.faults import FaultLinks, RepairPair, is_related
from regard.recipes.repair.texts import RepairRequest, RepairTexts, fewest_texts
from regard.recipes.repair.training import MENDED, answers, right_answers
from regard.registry import Choice
from regard.reports.report import Report
from regard.reports.table import Cell, Table

_SHOWN = 5  # changed answers of each kind
_REPAIRS, _HELD = "repairs", "variants held out"  # rows of the table


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


class _Others(NamedTuple):
    """Other texts whose old answers did not have the error."""

    changed: int  # answers
    compared: int

    @property
    def per_cent(self) -> float:
        """Return the fraction of changed answers."""
        return 100 * self.changed / max(1, self.compared)


class _Right(NamedTuple):
    """Pairs that are answered as given, by the old and by the new weights."""

    before: Sequence[bool]
    after: Sequence[bool]


def proved(
    before: Predictor, after: Predictor, texts: RepairTexts, links: FaultLinks, request: RepairRequest
) -> Repaired:
    """Compare the answers of both weights, and decide."""
    old = answers(before, texts.others)
    changed = _changed(before, after, texts.others, old, links)
    compared = sum(not is_related(pair, links) for pair in zip(texts.others, old, strict=True))
    others = _Others(sum(not one.related for one in changed), compared)
    test = _standing(before, after, texts.dev)
    groups = {_REPAIRS: texts.repairs, "variants trained": texts.trained, _HELD: texts.held_out}
    right = {
        name: _Right(right_answers(before, pairs), right_answers(after, pairs))
        for name, pairs in groups.items()
        if pairs
    }
    rows = [[Cell(name), *(Cell(f"{count:,}", count) for count in (len(one.before), sum(one.before), sum(one.after)))]
            for name, one in right.items()]  # fmt: skip
    tables = [Table(["right", "texts", "before", "after"], rows)]
    lines = [f"{len(changed):,} of {len(texts.others):,} other answers changed, {others.changed:,} of {compared:,} "
             f"({others.per_cent:.2f} %) without the error", f"dev set: {test}"]  # fmt: skip
    lines += [f"  {one.source} → {one.before} → {one.after}" for one in _examples(changed)]
    if not texts.held_out:
        lines.append("no variant of a repair could be tested: read what other sentences with its words become")
    reason = _refusal(right[_REPAIRS], right.get(_HELD, _Right([], [])), others, request.max_changed, test)
    lines.append(f"not written: {reason}" if reason else f"written: {request.output}")
    values = {
        "repairs": len(texts.repairs),
        "repaired": sum(right[_REPAIRS].after),
        "variants_held_out": len(texts.held_out),
        "variants_right": sum(right[_HELD].after) if _HELD in right else 0,
        "others": len(texts.others),
        "changed": [one._asdict() for one in changed],
        "unrelated": compared,
        "changed_unrelated": others.changed,
        "dev": {"metric": test.a.name, "before": test.a.value, "after": test.b.value,
                "interval": [*test.interval], "p_value": test.p_value},
        "kept": not reason,
        "reason": reason or None,
    }  # fmt: skip
    return Repaired(not reason, Report(tables, values, "\n".join(lines)), reason)


def _examples(changed: Sequence[ChangedAnswer]) -> list[ChangedAnswer]:
    """Return some changed answers: first those to texts without the error, then those with it."""
    without, related = ([one for one in changed if one.related == kind] for kind in (False, True))
    return without[:_SHOWN] + related[:_SHOWN]


def _refusal(repairs: _Right, held_out: _Right, others: _Others, most: float, test: SignificanceTest) -> str:
    """Return why the weights are not kept; "" where they are. `most` is in per cent."""
    mended = [after for before, after in zip(repairs.before, repairs.after, strict=True) if not before]
    if sum(mended) < MENDED * len(mended):
        return f"{sum(mended)} of {len(mended)} wrong repairs are right now; {MENDED:.0%} must be"
    if sum(held_out.after) < sum(held_out.before):
        return f"{sum(held_out.after)} variants held out are right, {sum(held_out.before)} were before"
    if others.compared < (least := fewest_texts(most)):
        return f"only {others.compared:,} other texts without the error were compared, {least:,} must be (--text FILE)"
    if others.per_cent > most:
        return f"{others.per_cent:.2f} % of other answers changed (--max-changed {most:g})"
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
