"""One self-contained HTML page of predictions and their explanations: a function of plain JSON."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from regard.errors import RegardError
from regard.explain.diagnosis import diagnose
from regard.explain.frame import bundle, filled, framed, static
from regard.explain.scale import are_fractions
from regard.explain.tokens import given_words, visible_line, words_of
from regard.results import AttentionMap, Explanation, Prediction, TokenRole, Tokens

_FORMAT = 1
_DIGITS, _DETAILED = 3, 6  # of a weight; of a probability
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def to_json(
    predictions: Sequence[Prediction], *, model: str = "", beside: Mapping[str, Sequence[Prediction]] | None = None
) -> dict[str, Any]:
    """Predictions → the JSON values of the page.

    `beside`: the same answers as explained by other models, by their names; `model`: the name of the model that
    answered.

    Positions count from 0, a number that is not finite is null:
    {format: 1, predictions: [prediction], model}, and as a page saves it also what was chosen: state, shown
    prediction: {answers, source, text, score, finished, log_probs: [number per target piece],
                 alternatives: [prediction],
                 flags: [{kind, side, word, value, source: the word it belongs to, suggestion: what that is usually
                          translated by}], the last two where they are known,
                 details (where there are any): other values of the prediction,
                 beside (where there are others): {model: prediction},
                 taught (where it was asked for): the training pairs of each word, see regard.reports.taught_words,
                 explanation: null or
      {source_tokens, target_tokens, source_words, target_words: [{text, pieces: [position], unknown: true, if it is}],
       alignment: [[source, target]], weights: [target][source], shares: whether every row of these sums to one,
       columns (where an example has several): {name: {tokens, words}}, words as given where offsets are known,
       method (where words were weighed by one): its name; sides (then, of a text that was written): {column: [share]},
       reasons (where other methods weighed the words, too): {method: {weights, shares, maps, sides}},
       offsets (where they are known): {name: [[first, behind] or null for each token, characters of the text]},
       maps: [{name, kind, layer, queries, keys, weights: [head][query][key], shares}]}}
    """
    shown = [_prediction(prediction) for prediction in predictions]
    for name, others in (beside or {}).items():
        for one, other in zip(shown, others, strict=True):
            one.setdefault("beside", {})[name] = _prediction(other)
    return {"format": _FORMAT, "predictions": shown, **({"model": model} if model else {})}


def page(data: Mapping[str, Any], *, title: str = "Regard", language: str | None = None) -> str:
    """Return the page for `to_json` data: it works from disk, loads nothing, and is safe against hostile texts.

    `language` is `en` or `zh`; None: that of the browser. Only the script and the style with the page's nonce may run;
    texts are escaped JSON and shown as text. Raises RegardError when `data` is not JSON.
    """
    if language not in {None, "en", "zh"}:
        raise RegardError(f"page: there is no language '{language}'; there is en, zh")
    return framed(
        filled(static("page.html"), {"data": html_json(data)}),
        title=title,
        script=bundle("page.js"),
        style=static("viewer.css"),
        tools='<button type="button" id="language"></button><button type="button" id="theme"></button>',
        attributes=f' data-language="{language or ""}"',
        images="data: blob:",
    )


def fragment(data: Mapping[str, Any], *, title: str = "Regard", language: str | None = None, height: int = 760) -> str:
    """Return the page inside a sandboxed frame, for a notebook's `_repr_html_`: it cannot access the notebook."""
    inner = escape(page(data, title=title, language=language), quote=True)
    return (
        f'<iframe title="{escape(visible_line(title))}" sandbox="allow-scripts allow-downloads" srcdoc="{inner}" '
        f'style="width:100%;height:{int(height)}px;border:0"></iframe>'
    )


def html_json(data: Any) -> str:
    """Return JSON for a script element, without characters that HTML interprets or that end a line."""
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise RegardError(f"page: the data is not JSON: {error}") from error
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _prediction(prediction: Prediction) -> dict[str, Any]:
    found, details = prediction.explanation, prediction.details()
    return {
        "answers": prediction.answers,
        "source": prediction.source,
        "text": prediction.text,
        "score": _number(prediction.score),
        "finished": prediction.finished,
        "log_probs": [_number(value) for value in prediction.log_probs],
        "flags": [
            {"kind": flag.kind, "side": flag.side, "word": flag.word, "value": _number(flag.value)}
            | {name: text for name in ("source", "suggestion") if (text := getattr(flag, name))}
            for flag in diagnose(prediction)
        ],
        "explanation": None if found is None else _explanation(found, prediction.source),
        "alternatives": [_prediction(other) for other in prediction.alternatives],
        **({"details": _plain(details)} if details else {}),
    }


def _explanation(found: Explanation, source: str) -> dict[str, Any]:
    texts, read = found.given_texts(source), found.link.source
    more = {
        "columns": _columns(found, texts),
        "method": found.method,
        "sides": _sides(found),
        "reasons": {name: {**_weighed(one), "sides": _sides(one)} for name, one in found.reasons.items()},
        "offsets": found.offsets,
    }
    return {
        "source_tokens": found.source_tokens,
        "target_tokens": found.target_tokens,
        "source_words": _words(found.column(read), texts.get(read, "")),
        "target_words": _words(Tokens(found.target_tokens)),
        "alignment": [list(pair) for pair in found.alignment],
        **_weighed(found),
        **{name: value for name, value in more.items() if value},
    }


def _columns(found: Explanation, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns for JSON; none for a translation, whose two columns have fields of their own."""
    shown = {} if found.has_sides_alone else found.columns
    return {
        name: {"tokens": list(one.texts), "words": _words(one, texts.get(name, ""))}
        for name, one in shown.items()
        if one.role != TokenRole.ASIDE
    }


def _weighed(found: Explanation) -> dict[str, Any]:
    """Return the fields that differ from method to method."""
    weights = found.weights
    return {"weights": _matrix(weights), "shares": are_fractions(weights), "maps": [_map(each) for each in found.maps]}


def _sides(found: Explanation) -> dict[str, list[float | int | None]]:
    return {name: _matrix([row])[0] for name, row in found.sides.items()}


def _words(tokens: Tokens, text: str = "") -> list[dict[str, Any]]:
    words = given_words(words_of(tokens.texts), tokens.offsets, text)
    return [{"text": word.text, "pieces": word.pieces, **({"unknown": True} if word.unknown else {})} for word in words]


def _map(each: AttentionMap) -> dict[str, Any]:
    return {
        "name": each.name,
        "kind": each.kind,
        "layer": each.layer,
        "queries": each.queries,
        "keys": each.keys,
        "weights": [_matrix(head) for head in each.weights],
        "shares": all(map(are_fractions, each.weights)),
    }


def _matrix(rows: Sequence[Sequence[float]]) -> list[list[float | int | None]]:
    return [[_number(value) for value in row] for row in rows]


def _plain(value: Any) -> Any:
    """Return the value with numbers rounded, and null for numbers that are not finite."""
    match value:
        case float():
            return round(value, _DETAILED) if math.isfinite(value) else None
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value


def _number(value: float) -> float | int | None:
    """Return a rounded number; whole ones without `.0`, since most weights are 0."""
    if not math.isfinite(value):
        return None
    short = round(value, _DIGITS)
    return int(short) if short == int(short) else short
