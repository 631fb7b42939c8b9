"""`regard predict EXPORT TEXT` with an export to runtime: without torch, whose import takes longer than the answer."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.documents.passages import Passage
    from regard.results import Explanation, TextPrediction
    from regard.runtime import RuntimeTranslator, Translation
    from regard.runtime.pieces import PieceTable, SentencePieceTable

_SETTINGS = "translator.json"  # regard.runtime.folder's, whose import each command would wait for
_SPECIAL = re.compile(r"-|[A-Za-z_][\w.-]*=|$|.*[\r\n]", re.DOTALL)  # an option, a setting, nothing, several lines


def answer_without_torch(words: Sequence[str]) -> bool:
    """Answer the texts of a command line; return False for all else, which is left to the commands.

    Sentences are cut, and what no model should write is kept, as `Predictor.translate` does. Options, settings, files,
    stdin, texts that are too long and exports that cannot be opened are left.
    """
    match words:
        case ["predict" | "translate", name, *texts] if texts and os.path.isfile(os.path.join(name, _SETTINGS)):
            folder = Path(name)
        case _:
            return False
    if any(_SPECIAL.match(one) or os.path.exists(one) for one in texts):  # no fault of a name that is too long
        return False
    from regard.runtime import RuntimeTranslator

    try:
        translator = RuntimeTranslator(folder)
        rows = [*_translated(translator, texts)]
    except (OSError, ValueError, KeyError, TypeError):
        return False  # the command says why
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        for number, (text, warning) in enumerate(rows, 1):
            if warning:
                print(f"warning: argument:{number}: {warning}", file=sys.stderr)
            print(text.replace("\n", " "), flush=True)
    except OSError as error:
        from regard.cli.group import output_failed

        sys.exit(output_failed(error))
    return True


def _translated(translator: "RuntimeTranslator", texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the translation of each text, and a warning or ""."""
    from regard.documents.plain_text import plain_document
    from regard.documents.unknown_words import copy_unknown_words

    source, target = translator.settings["languages"]  # none where a model reads more than a text
    pair, alphabet = (source, target) if source and target else None, _alphabet(translator.source)
    documents = [copy_unknown_words(plain_document(text, language=source), alphabet) for text in texts]
    found = _sentences(translator, [passage for document in documents for passage in document.passages])
    for document in documents:
        parts = document.checked([next(found) for _ in document.passages])
        yield document.rebuild(parts, pair), "; ".join(dict.fromkeys(one.warning for one in parts if one.warning))


def _sentences(translator: "RuntimeTranslator", passages: Sequence["Passage"]) -> Iterator["TextPrediction"]:
    """Yield the prediction of each sentence; one in a script that training never saw is copied."""
    from regard.documents.unknown_words import COPIED, unknown_script
    from regard.results import TextPrediction
    from regard.runtime.loops import LOOPED

    alphabet = _alphabet(translator.source)
    copied = [unknown_script(passage.text, alphabet) for passage in passages]
    asked = ["" if alone else passage.text for passage, alone in zip(passages, copied, strict=True)]
    for passage, alone, ranked in zip(passages, copied, translator.translations(asked), strict=True):
        text = passage.text
        if alone or not ranked:
            yield TextPrediction(text, text if alone else "", 0.0, warning=COPIED if alone else "")
            continue
        best = ranked[0]
        explained = _aligned(translator, text, best) if passage.explain else None
        warning = LOOPED if best.looped else ""
        yield TextPrediction(
            text, best.text, best.score, finished=best.finished, warning=warning, explanation=explained
        )


def _aligned(translator: "RuntimeTranslator", text: str, found: "Translation") -> "Explanation":
    """Return which pieces of a text and its translation are linked; they place what was kept."""
    from regard.explain.alignment import align
    from regard.results import Explanation

    forced = translator.forced_ids(translator.ids(text, 1), found.ids)
    links = align([row[:-1] for row in forced.weights[:-1]])
    return Explanation.of_text(forced.source, forced.target, links)


def _alphabet(table: "PieceTable | SentencePieceTable") -> frozenset[str]:
    """Return the characters that pieces hold, as a column of texts has them."""
    from regard.pieces import SPECIALS

    written = range(len(SPECIALS), len(table.listed))
    return frozenset(character for one in written if one not in table.of_byte for character in table.listed[one])
