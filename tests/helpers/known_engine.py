"""An engine and a detector whose every answer is known beforehand, and a server around them."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from explanations import of_label
from starlette.testclient import TestClient

from regard.answers import LabelPrediction
from regard.documents.glossary import Glossary, uses
from regard.results import AttentionMap, ColumnLink, Explanation, Prediction, TermReport, TextPrediction
from regard.serve.app import create_app
from regard.serve.engine.capacity import Batched, Limits
from regard.serve.engine.engines import Engines
from regard.serve.engine.faults import ServingError
from regard.serve.engine.questions import Alternatives, Explain, Predict
from regard.serve.server import Server, listening
from regard.serve.service import Service
from regard.serve.settings import Settings

KNOWN = {
    ("en", "de"): {"Hello": "Hallo", "World": "Welt", "Good morning!": "Guten Morgen!"},
    ("de", "en"): {"Hallo": "Hello", "Guten Morgen!": "Good morning!"},
}
WORDS_OF = {"fr": {"bonjour", "monde"}, "de": {"hallo", "guten", "morgen!"}, "zh": {"你好"}}


class KnownEngine:
    """Says what stands in the table; of all else the words, each after the code of the target."""

    def __init__(self, source: str, target: str, name: str = "") -> None:
        self.name = name or f"{source}-{target}"
        self.info: dict[str, Any] = {"task": "translation", "predicted": "target", "answers": "text"}
        self.info |= {"parameters": 7, "attention": "dot", "sha256": "abc", "heads": 1, "methods": ["lrp", "saliency"]}
        self.info |= {"languages": [source, target], "given": ["source"], "explains": True}
        self.cards = {"": self.info}
        self.ready, self.started, self.stopped = False, False, False
        self.queue_size, self.busy = 0, 0
        self.watchers: list[Callable[[Batched], None]] = []
        self.asked: list[Predict | Explain | Alternatives] = []
        self.fault: ServingError | None = None  # raised in place of an answer
        self.held: asyncio.Event | None = None  # waited for before an answer
        self.hold = False  # for ever, where no event can be made
        self.seconds = 0.0  # that an answer takes
        self.cancelled = 0
        self.next: KnownEngine | None = None  # that a reload puts in its place
        self.limits = Limits()
        self.run, self.version = Path(self.name), None  # its folder, and another version that is in use now

    def say(self, text: str, route: str = "") -> str:
        source, target = self.cards[route]["languages"]
        return KNOWN.get((source, target), {}).get(text) or " ".join(f"{target}:{word}" for word in text.split())

    async def start(self) -> None:
        self.ready = self.started = True

    async def ask(self, question: Predict | Explain | Alternatives, *, seconds: float) -> list[Prediction]:
        await self._wait(question)
        match question:
            case Predict():
                lines = [line.source for line in question.texts]
                return [self._predict(line, self.say(line, question.route), question) for line in lines]
            case Explain():
                explained = Predict((), explain=True, maps=True)
                return [self._predict(one.source, one.target, explained) for one in question.texts]
            case Alternatives():
                return [self._rewritten(one.source, one.target, question) for one in question.texts]

    def _rewritten(self, source: str, target: str, question: Alternatives) -> Prediction:
        before, after = target.split()[: question.word], target.split()[question.word :]
        texts = [" ".join([*before, f"{after[0]}{number}", "on"]) for number in range(question.count)] if after else []
        found = [self._predict(source, text, Predict((), explain=True)) for text in texts]
        others = [replace(one, log_probs=[-1.0] * len(one.text.split())) for one in found]
        return replace(self._predict(source, target, Predict(())), alternatives=others)

    def renewed(self) -> "KnownEngine | None":
        return self.next

    def other_version(self) -> Path | None:
        return self.version

    async def stop(self) -> None:
        self.ready, self.stopped = False, True

    async def _wait(self, question: Predict | Explain | Alternatives) -> None:
        self.asked.append(question)
        try:
            await asyncio.sleep(self.seconds)
            if self.fault is not None:
                raise self.fault
            if self.held is not None or self.hold:
                await (self.held or asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        for watcher in self.watchers:
            watcher(Batched(len(question.texts), 10, 0.1, 0.01, 0))

    def _explains(self, question: Predict) -> bool:
        """As the engine of an export, a model whose card says so leaves explanations out in silence."""
        return self.info["explains"] and (question.explain or question.maps)

    def _predict(self, source: str, text: str, question: Predict) -> Prediction:
        others = [Prediction(source, f"{text} {number}", -2.0 - number) for number in range(1, question.n_best)]
        found = _diagonal(source.split(), text.split(), question) if self._explains(question) else None
        known = TextPrediction(source, text, -1.5, [-0.5, -1.0], alternatives=others, explanation=found)
        return _with_terms(known, question.glossary) if question.glossary else known


def _with_terms(known: Prediction, glossary: Sequence[str]) -> Prediction:
    """A prediction that tells the terms of its source: a translation has them by chance alone."""
    found = uses(Glossary.of_lines(glossary).found(known.source), known.text)
    lost = [use.source for use in found if not use.used]
    given = {one.name: getattr(known, one.name) for one in fields(known)}
    told = {"warning": f"lacks {', '.join(lost)}" if lost else "", "terms": TermReport(found) if found else None}
    return TextPrediction(**{**given, **told})


class KnownClassifier(KnownEngine):
    """`good` where a text has the word `fine`, else `bad`, at 3 to 1; looks at the first word of each column alone."""

    def __init__(self, name: str = "reviews", given: Sequence[str] = ("text",)) -> None:
        super().__init__("", "", name)
        self.info |= {"task": "classification", "predicted": "label", "answers": "label"}
        self.info |= {"languages": [], "given": list(given), "vocabulary": {"label": 2}}

    def say(self, text: str, route: str = "") -> str:
        return ""

    def _predict(self, source: str, text: str, question: Predict) -> Prediction:
        order = ["good", "bad"] if "fine" in source.split() else ["bad", "good"]
        found = self._explained(source, order[0]) if self._explains(question) else None
        chances = dict(zip(order, (0.75, 0.25), strict=True))
        return LabelPrediction(source, order[0], math.log(0.75), explanation=found, probabilities=chances)

    def _explained(self, source: str, label: str) -> Explanation:
        texts = dict(zip(self.info["given"], source.split("\t"), strict=True))
        columns = {name: [*(f" {word}" for word in text.split()), "</s>"] for name, text in texts.items()}
        rows = {name: [float(place == 0) for place in range(len(tokens))] for name, tokens in columns.items()}
        maps = [AttentionMap(f"pooling.{name}", "pooling", 0, [[row]], "", name) for name, row in rows.items()]
        first = self.info["given"][0]
        return of_label({**columns, "label": [label]}, maps, [ColumnLink(first, "label", [], [rows[first]])])


class KnownDetector:
    """The language with most words of a text in the table; English for other words, nothing where there are none."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = list(languages)

    def detect(self, text: str) -> list[tuple[str, float]]:
        return self.ranked(text)[:3]

    def ranked(self, text: str) -> list[tuple[str, float]]:
        words = text.lower().split()
        if not any(character.isalpha() for character in text):
            return []
        shares = {code: sum(word in known for word in words) / len(words) for code, known in WORDS_OF.items()}
        shares["en"] = 1 - sum(shares.values())
        return sorted(((code, 90 * share) for code, share in shares.items() if share), key=lambda pair: -pair[1])


def pairs(*codes: str) -> list[KnownEngine]:
    """`en-de`, `de-en` → their engines."""
    return [KnownEngine(*code.split("-")) for code in codes]


@contextmanager
def served(engines: Sequence[KnownEngine] | None = None, settings: Settings | None = None) -> Iterator[TestClient]:
    """A client of a server that is ready. English and German in both directions, if nothing else is said."""
    service = made(engines, settings)
    with TestClient(create_app(service), base_url="http://127.0.0.1:5000") as client:
        client.portal.call(service.started)
        yield client


@contextmanager
def listening_server(
    engines: Sequence[KnownEngine] | None = None, settings: Settings | None = None
) -> Iterator[tuple[str, Service, uvicorn.Server]]:
    """The address of a server that truly listens, in a thread; what it knows, and what runs it."""
    service = made(engines, settings)
    with listening("127.0.0.1", 0) as listener:
        server = Server(service)
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not service.ready:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/", service, server
        finally:
            server.should_exit = True
            thread.join()


def made(engines: Sequence[KnownEngine] | None = None, settings: Settings | None = None) -> Service:
    """What a server knows, with engines that are known."""
    return Service(
        settings or Settings(), Engines(engines or pairs("en-de", "de-en")), _failed, make_detector=KnownDetector
    )


def _failed(error: BaseException) -> None:
    raise error


def _diagonal(sources: list[str], targets: list[str], question: Predict) -> Explanation:
    """Each word looks at the one in its own place."""
    rows = [[float(row == column) for column in range(len(sources))] for row in range(len(targets))]
    links = [(place, place) for place in range(min(len(sources), len(targets)))]
    maps = [AttentionMap("decoder.layers.0.cross_attention", "cross", 0, [rows])] if question.maps else []
    return Explanation.of_text([f"▁{word}" for word in sources], [f"▁{word}" for word in targets], links, rows, maps)
