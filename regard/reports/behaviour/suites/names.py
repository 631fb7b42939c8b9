"""Names of people."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, has_name, same_words
from regard.reports.behaviour.suite import Case, Suite

_LATIN = "Tom,Maria,Kevin,Emily,Lisa,Mary,Jackson,Fatima,Svetlana,Okonkwo,Yamamoto,Haraldsson,Priya,Mbeki,Nowak,Rossi"
_HAN = "王芳,李明,张伟,汤姆,玛丽,刘洋,陈静,赵磊,杰克,安娜"


class NamesSuite(Suite):
    """The same sentence with two names. Answers differ, and in the same script each has its name.

    Names may get an ending or another spelling.
    """

    about = "names stay apart, and in the same script as they are"

    def cases(self, draw: Random) -> Iterator[Case]:
        names = (_HAN if self.pair.source == "zh" else _LATIN).split(",")
        while True:
            name, other = draw.sample(names, 2)
            template = draw.choice(self.texts.names)
            fault = partial(_fault, "" if "zh" in self.pair else name)
            yield Case((template.replace("{name}", name), template.replace("{name}", other)), fault)


def _fault(name: str, answers: Sequence[str]) -> str:
    one, other = answers
    if garbled(one):
        return garbled(one)
    if same_words(one, other):
        return "the same answer for another name"
    return f"name lost: {name}" if name and not has_name(one, name) else ""
