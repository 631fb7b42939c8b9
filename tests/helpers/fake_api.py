"""A server that answers as the real one does, out of a dictionary: every number on the page is known beforehand."""

import json
import math
import re
import secrets
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from explanations import of_label

from regard.answers import LabelPrediction
from regard.answers.tags import TagsPrediction
from regard.explain import page, to_json
from regard.explain.frame import filled
from regard.results import AttentionMap, Explanation, Prediction, SearchNode, SearchTree

LAYERS, HEADS = 2, 3
PLACEHOLDER = re.compile(r"\{\w+\}")
PEAK = 0.8  # weight of the word at the same place; the others share the rest
GERMAN = {
    "das": "the",
    "alte": "old",
    "Haus": "house",
    "ist": "is",
    "klein": "small",
    "Guten": "Good",
    "Morgen": "morning",
}
ARABIC = {"the": "ال", "new": "جديد", "book": "كتاب"}
CHINESE = {"the": "这", "house": "房子", "is": "是", "small": "小"}
WORDS = {("de", "en"): GERMAN, ("en", "de"): {value: key for key, value in GERMAN.items()}}
WORDS |= {("en", "ar"): ARABIC, ("ar", "en"): {value: key for key, value in ARABIC.items()}, ("en", "zh"): CHINESE}
MODELS = {
    "plain": ("de", "en"),
    "mirror": ("de", "en"),
    "back": ("en", "de"),
    "south": ("en", "ar"),
    "north": ("ar", "en"),
    "east": ("en", "zh"),
}
EXAMPLES = {"reviews": ["a fine film"], "pairs": ["a dog\ta fine cat"], "tagger": []}
OTHERS = {"reviews": ("label", ["text"]), "pairs": ("label", ["first", "second"]), "tagger": ("tags", ["text"])}
UNEXPLAINED = "explain, maps: the engine has no attention weights"
NAMES = {"de": "German", "en": "English", "ar": "Arabic", "zh": "Chinese"}
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


def translated(text: str, model: str) -> str:
    """Word by word; the model `mirror` answers the words in the opposite order."""
    known = WORDS[MODELS[model]]
    words = [re.sub(r"[^\W\d_]+", lambda match: known.get(match[0], match[0]), word) for word in words_of(text)]
    return " ".join(reversed(words) if model == "mirror" else words)


def words_of(text: str) -> list[str]:
    """What stands between plain spaces; other spaces are part of a word."""
    return [word for word in text.split(" ") if word]


def chance(word: str) -> float:
    """Long words are unsure: 0.95 up to 3 letters, 0.65 up to 4, else 0.3."""
    return 0.95 if len(word) <= 3 else 0.65 if len(word) == 4 else 0.3


def explained(source: str, target: str, model: str, *, maps: bool) -> Prediction:
    """A prediction whose word i looks at source word i, or at the i-th from the end with `mirror`."""
    sources, targets = words_of(source), words_of(target)
    width, height = len(sources) + 1, len(targets) + 1
    order = [len(sources) - 1 - at if model == "mirror" else at for at in range(len(targets))]
    rows = [peak(at, width) for at in [*order, width - 1]]
    links = [(at, place) for place, at in enumerate(order)]
    sides = [[*(f"▁{word}" for word in words), "</s>"] for words in (sources, targets)]
    found = Explanation.of_text(*sides, links, rows, list(every(rows, width, height)) if maps else [])
    logs = [round(math.log(chance(word)), 3) for word in targets] + [0.0]
    return Prediction(source, target, round(sum(logs), 3), logs, explanation=found)


def weighted(prediction: Prediction, methods: list[str]) -> Prediction:
    """With the reasons of methods: `lrp` gives word i of the source 60 %, any other 10 % to each, with a sign.

    The rest came from the words that were written before.
    """
    found, reasons = prediction.explanation, {}
    width, height = len(found.source_tokens), len(found.target_tokens)
    for method in methods:
        rows = [
            [0.6 * (place == at) if method == "lrp" else -0.1 if place else 0.1 for place in range(width)]
            for at in range(height)
        ]
        share = 0.6 if method == "lrp" else 0.1 * width
        own = [[0.0] * height] * height
        maps = [AttentionMap(method, kind, 0, [some]) for kind, some in (("cross", rows), ("decoder", own))]
        sides = {"source": [share] * height, "target": [1 - share] * height}
        reasons[method] = Explanation.of_text(
            found.source_tokens, found.target_tokens, [], rows, maps, method=method, sides=sides
        )
    return replace(prediction, explanation=replace(found, reasons=reasons))


def searched(text: str) -> dict[str, Any]:
    """A tree with one word more at each step that was dropped: `not`, and the word that was taken."""
    nodes: list[SearchNode] = []
    before = -1
    for step, word in enumerate(words_of(text), start=1):
        nodes += [SearchNode(before, f"▁{word}", math.log(chance(word)), -0.1 * step, "kept")]
        nodes += [SearchNode(before, f"▁not{word}", math.log(0.01), -4.0 * step, "dropped")]
        before = len(nodes) - 2
    return SearchTree([*nodes, SearchNode(before, "</s>", -0.05, -0.2, "ended")], len(nodes)).details()


def every(rows: list[list[float]], width: int, height: int) -> Any:
    """Maps whose heads look a place further on each, in all layers alike."""
    shapes = {
        "cross": rows,
        "encoder": [peak(at, width) for at in range(width)],
        "decoder": [peak(at, height) for at in range(height)],
    }
    for kind, matrix in shapes.items():
        for layer in range(LAYERS):
            heads = [[row[-head:] + row[:-head] if head else row for row in matrix] for head in range(HEADS)]
            yield AttentionMap(f"{kind}.{layer}", kind, layer, heads)


def peak(at: int, width: int) -> list[float]:
    rest = (1 - PEAK) / max(width - 1, 1)
    return [PEAK if place == min(max(at, 0), width - 1) else rest for place in range(width)]


def predicted(name: str, example: dict[str, str]) -> Prediction:
    """A model that translates nothing: `good` for texts with `fine`; it looks at the first word of each column alone.

    A tagger tells of every word how long it is.
    """
    answers, given = OTHERS[name]
    source = "\t".join(example[column] for column in given)
    if answers == "tags":
        tags = [str(len(word)) for word in source.split()]
        return TagsPrediction(source, " ".join(tags), -1.0, tags=tags, probabilities=[chance(tag) for tag in tags])
    columns = {column: [*(f" {word}" for word in words_of(example[column])), "</s>"] for column in given}
    label = "good" if "fine" in source.split() else "bad"
    maps = [
        AttentionMap(column, "pooling", 0, [[[float(not at) for at in range(len(tokens))]]], "", column)
        for column, tokens in columns.items()
    ]
    found = of_label({**columns, "label": [label]}, maps)
    chances = {label: 0.75, "bad" if label == "good" else "good": 0.25}
    return LabelPrediction(source, label, math.log(0.75), explanation=found, probabilities=chances)


def shown_to_model(text: str) -> str:
    """Without `{name}` and the like."""
    return " ".join(word for word in words_of(text) if not PLACEHOLDER.fullmatch(word))


def put_back(original: str, text: str) -> str:
    """The placeholders of the original where they stood, counted in words."""
    words = words_of(text)
    for at, word in enumerate(words_of(original)):
        if PLACEHOLDER.fullmatch(word):
            words.insert(at, word)
    return " ".join(words)


def others_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Two other words in place of one, and another end after each."""
    words, found = body["target_text"].split(), []
    for word in ("first", "second"):
        text = " ".join([*words[: body["word"]], word, "then"])
        [sentence] = to_json([explained(body["source_text"], text, body["model"], maps=False)])["predictions"]
        found.append({"word": word, "probability": chance(word), "before": "", "after": "", **sentence})
    return found


def answer(text: str, model: str, *, n_best: int) -> dict[str, Any]:
    """One of `texts`: sentence by sentence, with two alternatives where they are asked for."""
    sentences, end = [], 0
    for match in re.finditer(r"\S.*?(?:[.!?](?=\s|$)|$)", text, re.DOTALL):
        source = shown_to_model(match[0])
        best = explained(source, translated(source, model), model, maps=False)
        others = [
            Prediction(source, f"{best.text} {word}", best.score - at) for at, word in enumerate(("indeed", "maybe"), 1)
        ]
        told = to_json(
            [Prediction(source, best.text, best.score, best.log_probs, True, others[: n_best - 1], best.explanation)]
        )
        sentence = told["predictions"][0]
        for each in (sentence, *sentence["alternatives"]):
            each["translation"] = put_back(match[0], each["text"])
        sentences.append({"before": text[end : match.start()], "after": "", **sentence})
        end = match.end()
    if sentences:
        sentences[-1]["after"] = text[end:]
    whole = "".join(each["before"] + each["translation"] + each["after"] for each in sentences) or text
    return {"translatedText": whole, "score": sum(each["score"] for each in sentences), "sentences": sentences}


class FakeServer(ThreadingHTTPServer):
    """`asked` holds every body, `looked` every address; `refusals` come first; `pause` tells what a text takes."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128  # a page asks for all its modules at once

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.asked: list[tuple[str, Any]] = []
        self.looked: list[str] = []
        self.refusals: list[tuple[int, dict[str, str], str]] = []
        self.pause = lambda text: 0.0
        self.loading = False  # then it tells nothing of what it has
        self.key = ""
        self.models = dict(MODELS)
        self.unexplained: set[str] = set()  # models whose engine has no explanations
        self.others: list[str] = []  # models of OTHERS that are served too
        self.most_maps = 1000  # bytes of texts that maps are told of
        self.seems = ""  # a text that seems to be in the target's language
        self.learnt: dict[str, Any] = {}  # what /v1/models tells of each besides
        self.details: dict[str, Any] = {}  # what is told of each sentence besides
        self.mute = False  # whether no method can weigh the words
        self.first = "de", "en"  # the pair that is proposed
        self.address = f"http://127.0.0.1:{self.server_address[1]}/"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A tab that goes away in the middle of an answer is no fault."""


class Handler(BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/":
            return self.page()
        if path == "/static/explain/standalone.html":
            return self.send(200, page(to_json([])).encode(), "text/html")
        if path.startswith("/static/"):
            return self.file(path.removeprefix("/static/"))
        pairs = sorted({*self.server.models.values()}, key=[*WORDS].index)
        answers = {
            "/languages": [
                {"code": code, "name": name, "targets": [target for source, target in pairs if source == code]}
                for code, name in NAMES.items()
                if any(code in pair for pair in pairs)
            ],
            "/v1/models": {
                "models": [
                    {"name": name, "source": source, "target": target, "ready": True}
                    | {"explains": name not in self.server.unexplained, **self.server.learnt}
                    for name, (source, target) in self.server.models.items()
                ]
                + [
                    {"name": name, "source": None, "target": None, "ready": True, "answers": answers, "given": given}
                    | {"task": "some_task", "pairs": 1200, "scores": {"accuracy": 81.5}, "examples": EXAMPLES[name]}
                    | {"explains": name not in self.server.unexplained}
                    for name, (answers, given) in OTHERS.items()
                    if name in self.server.others
                ]
            },
            "/frontend/settings": {
                "charLimit": 5000,
                "keyRequired": bool(self.server.key),
                "language": dict(
                    zip(("source", "target"), ({"code": code} for code in self.server.first), strict=True)
                ),
            },
        }
        self.server.looked.append(path)
        if self.server.loading:
            return self.tell(503, {"error": "model not ready, retry in 1 second"}, {"Retry-After": "1"})
        return self.tell(200, answers[path]) if path in answers else self.tell(404, {"error": "Not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        if (refusal := self.refusal(body)) is not None:
            return self.tell(*refusal)
        if self.path == "/v1/translate":
            return self.translate(body)
        if self.path == "/v1/predict":
            return self.predict(body)
        source, target = MODELS[body["model"]]
        if self.path == "/v1/alternatives":
            others = {"model": body["model"], "source": source, "target": target, "alternatives": others_of(body)}
            return self.tell(200, others)
        if (body.get("reasons") or body.get("steps")) and self.server.mute:
            return self.tell(400, {"error": "relevance: this model does not name the words it reads"})
        prediction = explained(body["source_text"], body["target_text"], body["model"], maps=True)
        prediction = weighted(prediction, body.get("reasons", []))
        sentence = {"before": "", "after": "", **to_json([prediction])["predictions"][0]}
        if body.get("steps"):
            sentence["details"] = {"search": searched(body["target_text"])}
        return self.tell(200, {"model": body["model"], "source": source, "target": target, "sentence": sentence})

    def refusal(self, body: dict[str, Any]) -> tuple[int, dict[str, str]] | None:
        if self.server.key and body.get("api_key") != self.server.key:
            return 403, {"error": "Invalid API key"}
        explains = body.get("explain", "target_text" in body) or body.get("maps", False)
        if explains and body.get("model") in self.server.unexplained:
            return 400, {"error": UNEXPLAINED}
        return None

    def translate(self, body: dict[str, Any]) -> None:
        if self.server.refusals:
            status, headers, error = self.server.refusals.pop(0)
            return self.tell(status, {"error": error}, headers)
        time.sleep(self.server.pause(body["q"]))
        source, detected = body["source"], {}
        if source == "auto":
            source = next((code for (code, _), known in WORDS.items() if set(body["q"].split()) & set(known)), "en")
            detected = {"detectedLanguage": {"language": source, "confidence": 90.0}}
        if source == body["target"]:
            unnamed = {"model": None, "version": None}
            same = {"translatedText": body["q"], "score": 0.0, "sentences": [], **detected, **unnamed}
            return self.tell(200, {"model": None, "source": source, "target": source, "texts": [same]})
        model = body.get("model") or next(
            (name for name, pair in MODELS.items() if pair == (source, body["target"])), None
        )
        if model is None:
            return self.tell(400, {"error": f"{body['target']} is not supported"})
        if body["explain"] and model in self.server.unexplained:
            return self.tell(400, {"error": UNEXPLAINED})
        seems = {"seems": {"language": body["target"], "confidence": 95.0}} if body["q"] == self.server.seems else {}
        named = {"model": model, "version": "abc"}
        told = {**answer(body["q"], model, n_best=body["n_best"]), **detected, **seems, **named}
        for sentence in () if body["explain"] else told["sentences"]:
            for one in (sentence, *sentence["alternatives"]):
                one["explanation"] = None
        for sentence in told["sentences"] if self.server.details else ():
            sentence["details"] = self.server.details
        return self.tell(200, {"model": model, "source": source, "target": body["target"], "texts": [told]})

    def predict(self, body: dict[str, Any]) -> None:
        if self.server.refusals:
            status, headers, error = self.server.refusals.pop(0)
            return self.tell(status, {"error": error}, headers)
        [example] = body["examples"]
        if body.get("maps") and len("".join(example.values())) > self.server.most_maps:
            return self.tell(413, {"error": "maps are made of shorter texts"})
        found = predicted(body["model"], example)
        told = to_json([found if body["explain"] else replace(found, explanation=None)])["predictions"]
        return self.tell(200, {"model": body["model"], "task": "some_task", "predictions": told})

    def page(self) -> None:
        nonce = secrets.token_urlsafe(18)
        rules = [
            "default-src 'none'",
            f"script-src 'nonce-{nonce}'",
            f"style-src 'nonce-{nonce}'",
            "img-src data: blob:",
        ]
        rules += ["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
        text = filled(
            (files("regard.serve") / "static" / "index.html").read_text("utf-8"), {"nonce": nonce, "prefix": ""}
        )
        self.send(200, text.encode(), "text/html", {"Content-Security-Policy": "; ".join(rules)})

    def file(self, name: str) -> None:
        package, name = (
            ("regard.explain", name.removeprefix("explain/")) if name.startswith("explain/") else ("regard.serve", name)
        )
        path = files(package) / "static" / name
        if "/" in name or not path.is_file():
            return self.tell(404, {"error": "Not found"})
        return self.send(200, path.read_bytes(), TYPES[name[name.rindex(".") :]])

    def tell(self, status: int, told: Any, headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(told).encode(), "application/json", headers)

    def send(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""
