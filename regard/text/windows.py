"""Sentences with those around them: windows of a document, as lines that a model reads."""

from collections.abc import Sequence

SENTENCE_TAB = "\t"  # between the sentences of a window


def windows(sentences: Sequence[str], size: int) -> list[str]:
    """Return for each sentence of a document the window that it stands in: `size` sentences with tabs between them.

    Windows follow on each other; the last one has what is left.
    """
    joined = [SENTENCE_TAB.join(sentences[start : start + size]) for start in range(0, len(sentences), size)]
    return [joined[place // size] for place in range(len(sentences))]


def with_windows(sentences: Sequence[str], size: int) -> list[str]:
    """Return a line for each sentence: itself, a tab, and its window. A sentence by itself has none."""
    if size == 1:
        return [*sentences]
    plain = [" ".join(one.split(SENTENCE_TAB)) for one in sentences]
    return [with_window(one, window) for one, window in zip(plain, windows(plain, size), strict=True)]


def with_window(sentence: str, window: str) -> str:
    """Return the line of a sentence: itself, a tab, and its window; itself where the window has no other."""
    return sentence if window in ("", sentence) else f"{sentence}{SENTENCE_TAB}{window}"
