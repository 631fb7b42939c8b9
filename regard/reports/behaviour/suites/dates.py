"""Dates: day, month and year."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import values_of
from regard.reports.behaviour.suite import Case, CodePair, Suite, behaviour_texts
from regard.text.stems import without_accents

_FORMS = {"en": "{day} {month} {year}", "de": "{day}. {month} {year}", "fr": "{day} {month} {year}",
          "es": "{day} de {month} de {year}", "zh": "{year}年{month}{day}日"}  # fmt: skip
_CHINESE = ("(?<!十)[一元正]", "(?<!十)二", *"三四五六七八九", "十", "十一", "十二")  # months
_STEM = 3  # letters of a month that an abbreviation has
_WORDED_DAY = re.compile(r"teen|twen|thirt|zehn|zwan|drei(ss|b)ig|vingt|trent|dix|quin|veint|treint|dieci|[十廿]")


class DatesSuite(Suite):
    """Dates with the month in words. The answer has the year, the day and the month, in words or as a number."""

    about = "dates keep day, month and year"

    def cases(self, draw: Random) -> Iterator[Case]:
        while True:
            day, month, year = draw.randint(13, 28), draw.randint(1, 12), draw.randint(1905, 2029)
            form = _FORMS[self.pair.source]
            written = form.format(day=day, month=self.texts.months[month - 1], year=year)
            text = draw.choice(self.texts.dates).replace("{date}", written)
            yield Case((text,), partial(_fault, self.pair, (day, month, year), written))


def _fault(pair: CodePair, date: tuple[int, int, int], written: str, answers: Sequence[str]) -> str:
    (answer,) = answers
    day, month, year = date
    text = without_accents(re.sub("[./-]", " ", answer))
    numbers = {value for some in values_of(text) for value in some}
    if Decimal(year) not in numbers and not re.search("[〇零一二三四五六七八九]{4}", text):
        return f"year lost: {written}"
    if Decimal(day) not in numbers and not _WORDED_DAY.search(text):
        return f"day lost: {written}"
    worded = without_accents(behaviour_texts(pair.target).months[month - 1])
    pattern = f"{worded}|{_CHINESE[month - 1]}月" if pair.target == "zh" else rf"\b{_stem(worded)}"
    return "" if re.search(pattern, text) or Decimal(month) in numbers else f"month lost: {written}"


def _stem(month: str) -> str:
    """Return the letters that abbreviations of a month keep: "juil" and "juin" differ in the fourth."""
    return month[: _STEM + month.startswith("jui")]
