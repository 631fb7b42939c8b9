"""What must be known to read the figures of a comparison."""

from collections.abc import Iterator

from regard.reports.compare.summary import Compared
from regard.reports.compare.tables import SURE


def notes(compared: Compared) -> list[str]:
    """One sentence or two each."""
    return [
        *_certainty(compared),
        *(f"{name}: {signature}" for name, signature in zip(compared.metrics, compared.signatures, strict=True)),
        *_unlike(compared),
        "Tokens are the pieces that a system itself cuts the target into, with the end of each text; words are counted "
        "alike for all, at as many tokens each as they have in the test part.",
        _times(compared),
        *compared.about.get("notes", []),
    ]


def colours(compared: Compared) -> str:
    """What colours in a table mean."""
    alone = " over other " + compared.wording.examples + " alone" if compared.one_seed else ""
    return f"Coloured: better or worse than {compared.baseline} with p < {SURE:g}{alone}; pointed at: the difference."


def length_note(compared: Compared) -> str:
    """How to read the figures by length."""
    return f"In parentheses: the 95 % interval, over {_chance(compared)}.{_alone(compared)}"


def gain_note(compared: Compared) -> str:
    """How to read the differences by length."""
    halves, examples = compared.halves, compared.wording.examples
    edge = f"of more than {halves.words:,} words" if halves else ""
    return (
        f"The system less {compared.baseline}, with the 95 % interval (paired bootstrap). Last column: that difference "
        f"on the {examples} {edge} less that on the rest, {examples} of either half drawn by themselves; "
        f"away from zero, a lead grows or shrinks with length.{_alone(compared)}"
    )


def _certainty(compared: Compared) -> Iterator[str]:
    chance, one_seed = _chance(compared), compared.one_seed
    part, everyone = f"{compared.sentences:,} {compared.wording.examples} of the test part", len(compared.rows)
    if len(one_seed) == everyone:
        yield f"{part}; one training of each system. 95 %: over {chance} alone (bootstrap)."
    else:
        yield f"{part}. Mean ± standard deviation over the seeds; 95 %: of that mean, over {chance} (bootstrap)."
    yield (
        f"p: how easily {chance} would turn the difference to {compared.baseline} round, or make it vanish (paired "
        "bootstrap, two-sided). Each p is of one comparison, not corrected for their number."
    )
    if one_seed:
        whom = "" if len(one_seed) == everyone else f" of {', '.join(one_seed)}, trained once,"
        yield (
            f"What another seed would change{whom} is in no interval and no p: one and the same system trained with "
            "two seeds may well come out as two that differ."
        )


def _chance(compared: Compared) -> str:
    """What is drawn anew."""
    seeds = "" if len(compared.one_seed) == len(compared.rows) else " and other seeds"
    return f"other {compared.wording.examples}{seeds}"


def _alone(compared: Compared) -> str:
    return " What another seed would change is not in it." if compared.one_seed else ""


def _unlike(compared: Compared) -> Iterator[str]:
    """Of metrics that do not compare everyone with the baseline."""
    for place, metric in enumerate(compared.metrics):
        others = [row for row in compared.rows if row.name != compared.baseline]
        if any(row.figures[place].difference is None for row in others):
            yield (
                f"{metric}: no difference is told where a system cuts texts into other pieces than {compared.baseline} "
                f"does. Of longer pieces it is higher, whatever a model knows."
            )


def _times(compared: Compared) -> str:
    if compared.by_core:
        return (
            "Core minutes are processor time of training, validation included, all threads together. Speeds are per "
            "second of processor time, in training without validation, the median over the log: neither halts nor "
            "other work on the machine count as time."
        )
    return "Minutes are of training on the wall, validation and halts included; speeds are by the same clock."
