"""Precision and recall of the suites of `regard check`, on right answers, harmless variants and planted errors.

    python benchmarks/planted_behaviour.py [--cases 40]

Each suite knows its texts in five languages, so the right translation of a case is known. Right answers and their
variants (small letters, other formats of numbers and dates, units in words, names with an ending, tags in another
order) must pass; answers with one planted error must not. All 20 language pairs count together.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from random import Random
from typing import NamedTuple

from program import markdown, options

from regard.registry import Choice
from regard.reports.behaviour.suite import Case, CodePair, Suite, behaviour_texts, languages_with_texts
from regard.reports.behaviour.suites import SUITES
from regard.text.stems import without_accents

Answers = tuple[str, ...]
UNITS = {"kg": "Kilogramm", "km": "kilomètres", "%": " per cent", "€": " euros"}
MARK = re.compile(r"</?\w[^>]*>|%\(count\)d|%s|\$?\{\w+\}|https?://[\w./]+|[\w.]+@[\w.]+\w")


class Planted(NamedTuple):
    """Answers of a case, right or with an error."""

    suite: str
    pair: CodePair
    texts: Answers
    answers: Answers
    is_wrong: bool
    fault: str  # as the suite reports it; "": none

    @property
    def is_flagged(self) -> bool:
        return bool(self.fault)


def with_first(answers: Answers, first: str) -> Answers:
    return (first, *answers[1:])


def harmless(suite: str, answers: Answers, target: str) -> Iterator[str]:
    """Other right answers for the first text."""
    first = answers[0]
    yield first.lower()
    yield f" {first}"
    if suite != "tags":
        yield first.upper()
    if suite not in ("empty", "punctuation"):
        yield re.sub("[.。]", "", first) if suite == "negation" else f"{first}."
    if suite in VARIANTS:
        yield from VARIANTS[suite](first, target)


def other_numbers(first: str, target: str) -> Iterator[str]:
    yield re.sub(r"(?<=\d)[.,](?=\d)", lambda found: {".": ",", ",": "."}[found[0]], first)
    yield re.sub(r"(?<=\d)[.,\u00a0](?=\d{3})", "\u202f", first)
    yield re.sub("kg|km|[%€]", lambda found: UNITS[found[0]], first)
    yield re.sub(r"-(\d+) °C", r"minus \1 degrees", first)
    yield re.sub(r"-(\d+) °C", r"零下\1度" if target == "zh" else r"\1 Grad unter null", first)
    yield re.sub(r"(\d+):(\d+)", lambda found: f"{int(found[1]) - 12}:{found[2]} pm", first)


def other_dates(first: str, target: str) -> Iterator[str]:
    day, month, year = date_of(first, target)
    yield f"{day}.{month}.{year}"
    yield f"{year}-{month:02}-{day}"
    if target != "zh":
        yield f"{behaviour_texts(target).months[month - 1][:4]}. {day}, {year}"


def other_words(first: str, target: str) -> Iterator[str]:
    yield f"the {first}"
    yield f"{first}, {first}s; {first}e; {first}en, {first}a"


def other_names(first: str, target: str) -> Iterator[str]:
    yield re.sub(r"(Tom|Kevin|Jackson|Yamamoto)", r"\1s", first)
    yield first.replace("Maria", "María").replace("Svetlana", "Swetlana").replace("Fatima", "Fátima")


VARIANTS: dict[str, Callable[[str, str], Iterator[str]]] = {
    "numbers": other_numbers,
    "dates": other_dates,
    "one_word": other_words,
    "names": other_names,
    "tags": lambda first, target: iter([f"{' '.join(MARK.findall(first))} {MARK.sub('', first)}"]),
    "empty": lambda first, target: iter([""]),
}


def date_of(text: str, target: str) -> tuple[int, int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if target == "zh":
        return numbers[2], numbers[1], numbers[0]
    month = next(place for place, name in enumerate(behaviour_texts(target).months, 1) if name in text)
    return numbers[0], month, numbers[1]


class Right(NamedTuple):
    """A case with its right answers, for planting errors."""

    texts: Answers
    answers: Answers
    target: str
    draw: Random

    @property
    def first(self) -> str:
        return self.answers[0]

    @property
    def other(self) -> str:
        """A sentence that the case does not have."""
        known = {one.lower() for one in self.answers}
        return self.draw.choice(
            [plain for plain, _ in behaviour_texts(self.target).sentences if plain.lower() not in known]
        )

    @property
    def unrelated(self) -> str:
        """A sentence without the noun of the answers."""
        texts, folds = behaviour_texts(self.target), [without_accents(one) for one in self.answers]
        keys = [key for key in texts.keys if all(re.search(key, one) for one in folds)]
        free = [
            plain for plain, _ in texts.sentences if not any(re.search(key, without_accents(plain)) for key in keys)
        ]
        return free[0]


def negation(case: Right) -> Iterator[str]:
    plain = case.answers[1]
    yield from (plain, plain.upper(), f"{plain} OK")


def numbers(case: Right) -> Iterator[str]:
    def another(found: re.Match[str]) -> str:
        return str((int(found[0]) + case.draw.randint(1, 9)) % 10)

    yield re.sub(r"\d(?=\D*$)", another, case.first)
    yield re.sub(r"[-€]?\d.*", "", case.first)
    if "°C" in case.first:
        yield case.first.replace("-", "")
    if re.search("kg|km|[%€]", case.first):
        yield re.sub("kg|km|[%€]", "", case.first)


def names(case: Right) -> Iterator[str]:
    yield case.answers[1]
    if case.target != "zh" and not re.search("[一-鿿]", case.texts[0]):
        for name in [
            one for one in re.findall(r"\w+", case.texts[0]) if one in case.first and one not in case.texts[1]
        ]:
            yield case.first.replace(name, case.draw.choice(("Hugo", "Zoë", "")))


def dates(case: Right) -> Iterator[str]:
    day, month, year = date_of(case.first, case.target)
    yield case.first.replace(str(year), str(year + case.draw.randint(1, 9)))
    yield re.sub(rf"(?<!\d){day}(?!\d)", str((day + 1) % 10 + 1), case.first)
    months = behaviour_texts(case.target).months
    yield case.first.replace(months[month - 1], months[(month + 4) % 12])


def one_word(case: Right) -> Iterator[str]:
    yield f"{case.other} {case.other}"
    yield ""


def wrong_language(case: Right) -> Iterator[str]:
    yield "" if case.draw.random() < 0.5 else "Zzyx qvwk jjpf."


def capitals(case: Right) -> Iterator[str]:
    yield from (case.texts[0], "", f"⁇ {case.first}", case.unrelated)


def punctuation(case: Right) -> Iterator[str]:
    yield re.sub("[?？]", ".", case.first) if re.search("[?？]", case.first) else case.unrelated


def tags(case: Right) -> Iterator[str]:
    mark = case.draw.choice(MARK.findall(case.first))
    yield case.first.replace(mark, "", 1)
    yield case.first.replace(mark, f"{mark[0]} {mark[1:]}", 1)
    yield f"{case.first} {mark}"


def unknown_script(case: Right) -> Iterator[str]:
    yield f"{case.answers[1]} ⁇"
    yield case.unrelated
    if not re.search(r"\w", case.texts[0].split()[-1]):
        yield case.answers[1]


def repetition(case: Right) -> Iterator[str]:
    yield " ".join([case.answers[1]] * 9)
    yield ""


def long_sentence(case: Right) -> Iterator[str]:
    yield case.first[: len(case.first) // 3]
    yield f"{case.first} {'und ' * 9}"


def empty(case: Right) -> Iterator[str]:
    yield case.other


def plain_sentence(case: Right) -> Iterator[str]:
    yield from (case.texts[0], case.unrelated, "")


ERRORS: dict[str, Callable[[Right], Iterator[str]]] = {
    "plain_sentence": plain_sentence,
    "negation": negation, "numbers": numbers, "names": names, "dates": dates, "one_word": one_word,
    "wrong_language": wrong_language, "capitals": capitals, "punctuation": punctuation, "tags": tags,
    "unknown_script": unknown_script, "repetition": repetition, "long_sentence": long_sentence, "empty": empty,
}  # fmt: skip


def planted(suite: str, pair: CodePair, cases: int, seed: int = 1) -> list[Planted]:
    """Right, harmless and wrong answers of a suite, with what it reports of each."""
    row, twin = (SUITES.build(Choice(suite), one) for one in (pair, CodePair(pair.target, pair.target)))
    if row.missing():
        return []
    draw, found = Random(seed), list[Planted]()
    named = f"{seed} {suite}"
    for case, right in zip(*(sampled(one, named, cases) for one in (row, twin)), strict=True):
        texts, answers = case.texts, right.texts
        add = partial(_planted, suite, pair, texts, case.fault)
        found.append(add(answers, False))
        found += [add(with_first(answers, one), False) for one in harmless(suite, answers, pair.target)]
        errors = ERRORS[suite](Right(texts, answers, pair.target, draw))
        found += [add(with_first(answers, one), True) for one in errors]
    return found


def sampled(suite: Suite, named: str, cases: int) -> list[Case]:
    """Cases that are the same in every language."""
    draw = Random(named)
    return [case for case, _ in zip(suite.cases(draw), range(cases), strict=False)]


def _planted(
    suite: str, pair: CodePair, texts: Answers, fault: Callable[[Answers], str], answers: Answers, is_wrong: bool
) -> Planted:
    return Planted(suite, pair, texts, answers, is_wrong, fault(answers))


class Rates(NamedTuple):
    """Figures of a suite."""

    right: int
    wrong: int
    precision: float
    recall: float


def rates(rows: Sequence[Planted]) -> Rates:
    flagged = [one for one in rows if one.is_flagged]
    errors = [one for one in rows if one.is_wrong]
    hits = sum(one.is_wrong for one in flagged)
    return Rates(len(rows) - len(errors), len(errors), hits / max(len(flagged), 1), hits / max(len(errors), 1))


def pairs() -> list[CodePair]:
    return [CodePair(*one) for one in permutations(languages_with_texts(), 2)]


def main() -> None:
    """Prints a table."""
    parser = options(__doc__)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--mistakes", action="store_true", help="print each answer that is not as it should be")
    given = parser.parse_args()
    table = []
    for suite in SUITES:
        rows = [one for pair in pairs() for one in planted(suite, pair, given.cases)]
        found = rates(rows)
        table.append([suite, found.right, found.wrong, f"{found.precision:.3f}", f"{found.recall:.3f}"])
        for one in rows if given.mistakes else ():
            if one.is_flagged != one.is_wrong:
                print(one.suite, one.pair, one.texts[:1], one.answers[:2], one.is_wrong, one.fault, sep="\t")
    print(markdown(["suite", "right answers", "planted errors", "precision", "recall"], table))


if __name__ == "__main__":
    main()
