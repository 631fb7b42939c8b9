"""Prometheus metrics of a server, and its access log: a line of JSON for each request, without its text by default.

{"time": "2026-11-24T01:02:03.456Z", "request_id": "9f…", "client": "192.0.2.7", "key": "mastodon",
 "method": "POST", "route": "/translate", "status": 200, "bytes_in": 54, "bytes_out": 62, "seconds": 0.0312,
 "model": "en-de", "pair": "en-de", "texts": 1, "characters": 17}

No label of a metric contains data of a client or a text; a line of the log names the client. With --log-texts it ends
with `"source": ["…"]`.
"""

import json
import logging
import os
import sys
from collections import Counter as Counts
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from regard.errors import ConfigError
from regard.serve.catalogue import ServedModel
from regard.serve.engine.capacity import Batched

STDOUT = "-"
MODE = 0o640  # of a new file: addresses of clients are not for everybody
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_TOKENS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
_SURE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_ITEMS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

_LOG = logging.getLogger("regard.serve")


@dataclass
class Asked:
    """The content of a request: filled in by its endpoint, read by the layers around it."""

    key: str = ""  # the name of its API key
    pair: str = ""  # languages: en-de
    models: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()  # each model with the version that answers
    texts: int | None = None
    characters: int | None = None
    source: list[str] | None = None  # the texts, with --log-texts

    @property
    def model(self) -> str:
        """Name of the model; "several" for more than one, "" for none."""
        return self.models[0] if len(self.models) == 1 else "several" if self.models else ""

    def count(self, texts: Iterable[str], *models: ServedModel) -> None:
        """Record the models, and the number and characters of texts."""
        given = list(texts)
        self.texts, self.characters = len(given), sum(map(len, given))
        if self.source is not None:
            self.source = given
        self.models = tuple(dict.fromkeys(one.name for one in models))
        self.versions = tuple(dict.fromkeys((one.name, one.version) for one in models))


class AccessLog:
    """The access log: a file, appended to, or stdout. A failed write is counted, and stops nothing."""

    def __init__(self, place: str) -> None:
        """Raise ConfigError if the file cannot be written."""
        self._place, self._lost = place, 0
        self._file = self._open()

    def write(self, values: dict[str, Any]) -> None:
        """Append a line, in one write."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, **values}, separators=(",", ":")).encode() + b"\n"
        try:
            whole = os.write(self._file, line) == len(line)
        except OSError as error:
            whole = False
            if not self._lost:
                _LOG.error("--access-log: lines are lost: %s", error.strerror)
        self._lost += not whole
        if whole and self._lost:
            _LOG.warning("--access-log: writable again; %d lines were lost", self._lost)
            self._lost = 0

    def reopen(self) -> None:
        """Open the file of that name again, which may be a new one. On a ConfigError the old one stays."""
        new, old = self._open(), self._file
        self._file = new
        if self._place != STDOUT:
            os.close(old)

    def close(self) -> None:
        """Close the file."""
        if self._place != STDOUT:
            os.close(self._file)

    def _open(self) -> int:
        if self._place == STDOUT:
            return sys.stdout.fileno()
        try:  # a FIFO without a reader would block the server
            return os.open(
                Path(self._place), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, MODE
            )
        except OSError as error:
            problem = f"'{self._place}' cannot be written: {(error.strerror or str(error)).lower()}"
            raise ConfigError("--access-log", problem, "a file in an existing folder, or - for stdout") from error


class Metrics:
    """All metrics, in a registry of their own."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.used = Counts[str]()  # characters of answered requests since the start, by name of the key
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram, named = partial(Histogram, registry=registry), ["pair", "model"]
        self.requests = counter("regard_requests", "Requests answered", ["route", "status", *named])  # with `_total`
        self.seconds = histogram("regard_request_seconds", "Time of a request", ["route", "model"], buckets=_SECONDS)
        self.characters = counter("regard_characters", "Characters of answered texts", ["route", "model"])
        self.in_flight = gauge("regard_in_flight", "Requests being worked on")
        self.by_key = counter("regard_key_requests", "Requests answered, by the name of their key", ["key", "status"])
        self._versions = counter("regard_version_requests", "Requests by version of the model", ["model", "version"])
        self._reloads = counter("regard_reloads", "Reloads of changed runs, loaded or failed", ["model", "result"])
        self._lessons = counter("regard_lessons", "Lessons from corrections, by their result", ["model", "result"])
        self._confidence = histogram("regard_confidence", "Confidence of an answer", ["model"], buckets=_SURE)
        self._withheld = counter("regard_abstentions", "Answers withheld for low confidence", ["model"])
        self._queue = gauge("regard_queue_size", "Texts that wait for a model", named)
        self._waited = histogram("regard_queue_seconds", "Time a text waited for a model", buckets=_SECONDS)
        self._tokens = histogram("regard_batch_tokens", "Pieces in a batch", buckets=_TOKENS)
        self._items = histogram("regard_batch_items", "Texts in a batch", buckets=_ITEMS)
        self._short = counter("regard_oom", "Times that memory was short for a batch")
        self._ready = gauge("regard_model_ready", "1 if a model is ready", named)
        self._labels = lru_cache(1024)(
            lambda metric, *values: metric.labels(*values)
        )  # finding one takes longer than it
        self._info = gauge("regard_model_info", "Served models", [*named, "attention", "sha"])

    def watch(self, models: Sequence[ServedModel]) -> None:
        """Add models, once their names and languages are known."""
        for model in models:
            pair, name, *_ = _labels(model)
            self._queue.labels(pair, name).set_function(partial(getattr, model.engine, "queue_size"))
            self._ready.labels(pair, name).set_function(partial(getattr, model.engine, "ready"))
            self._info.labels(*_labels(model)).set(1)
        for engine in {id(model.engine): model.engine for model in models}.values():
            engine.watchers.append(partial(self.batched, engine.name))

    def forget(self, models: Iterable[ServedModel], instead: Iterable[ServedModel]) -> None:
        """Remove models that were replaced."""
        kept = [_labels(model) for model in instead]
        for labels in map(_labels, models):
            if labels not in kept:
                self._info.remove(*labels)
            if labels[:2] not in [other[:2] for other in kept]:
                self._queue.remove(*labels[:2])
                self._ready.remove(*labels[:2])

    def reloaded(self, model: str, result: str) -> None:
        """Count a reload: "loaded" or "failed"."""
        self._reloads.labels(model, result).inc()

    def learned(self, model: str, result: str) -> None:
        """Count a lesson: "taught", "kept", "refused" or "failed"."""
        self._lessons.labels(model, result).inc()

    def batched(self, model: str, batch: Batched) -> None:
        """Record a finished batch."""
        for one in batch.confidences:
            self._labels(self._confidence, model).observe(one)
        self._labels(self._withheld, model).inc(batch.withheld)
        self._waited.observe(batch.waited)
        self._tokens.observe(batch.tokens)
        self._items.observe(batch.items)
        if batch.out_of_memory:
            self._short.inc(batch.out_of_memory)

    def answered(self, route: str, status: int, asked: Asked, seconds: float) -> None:
        """Record an answered request."""
        labels = self._labels
        labels(self.requests, route, str(status), asked.pair, asked.model).inc()
        labels(self.seconds, route, asked.model).observe(seconds)
        done = asked.characters or 0 if status < 400 else 0
        for model, version in asked.versions:
            labels(self._versions, model, version).inc()
        if asked.model:
            labels(self.characters, route, asked.model).inc(done)
        self.used[asked.key] += done
        if asked.key:
            self.by_key.labels(asked.key, str(status)).inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


def _labels(model: ServedModel) -> tuple[str, str, str, str]:
    """Return pair of languages, model, attention and SHA-256 of the weights."""
    attention, sha = (str(model.card.get(key, "")) for key in ("attention", "sha256"))
    return "-".join(model.languages), model.name, attention, sha
