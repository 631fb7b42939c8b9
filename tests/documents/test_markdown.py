"""Markdown: only text changes, and a parser reads the same markup in the translation."""

import re

import pytest
from hostile import all_translated, shouted
from markdown_it import MarkdownIt
from processor_time import within

from regard.documents.files import file_document
from regard.documents.size_budget import TooLarge
from regard.results import Explanation, Prediction

PAGE = """---
title: kept
---
# Title *em* #

> quote **bold** and `code` [link](http://x "t") ![alt *x*](a.png)

- [ ] item &amp; \\* x
  1. nested <b>html</b> <http://auto.link> [ref][r] [r][]

| a \\| b | c |
|---|:-:|
| one `x \\| y` | `x` |

Hard\x20\x20
break\\
two

Setext
======

<div>html</div>

[^1]: A note here[^2]. And snake_case, [optional] and {{ var }} text. {#id .class}

    code block

```python
kept = "code"
```

:::note
kept
:::

Text with **a *nested* thing** and ~~strike~~.

[r]: http://r
"""
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def translated(text, answer):
    found = file_document(text.encode(), ".md")
    return found.rebuild([Prediction(one, answer(one), 0.0) for one in found.texts]).decode()


def loud(text):
    found = file_document(text.encode(), ".md")
    return found.rebuild(shouted(found.texts)).decode()


def html(text):
    return PARSER.render(text)


def markup(text):
    """Everything but text, in any order."""
    found = []
    for token in PARSER.parse(text):
        for one in [token, *(token.children or ())]:
            said = (
                one.content if one.type in ("code_inline", "html_inline", "fence", "code_block", "html_block") else ""
            )
            if one.type not in ("inline", "text", "softbreak"):
                found.append((one.type, one.markup, said, str({k: v for k, v in one.attrs.items() if k != "alt"})))
    return sorted(found)


def test_unchanged_text_is_the_same_file():
    assert translated(PAGE, str) == PAGE
    assert translated(PAGE.replace("\n", "\r\n"), str) == PAGE.replace("\n", "\r\n")


def test_only_text_changes():
    wanted = PAGE
    changed = [
        "Title *em*",
        "quote **bold** and",
        "link]",
        "alt *x*",
        "item",
        "1. nested",
        ">html</b>",
        "ref]",
        "a \\| b",
    ]
    changed += ["| c", "one `", "Hard", "break", "two\n", "Setext", "A note here", "And snake_case, [optional] and"]
    changed += [" text. {", "Text with **a *nested* thing** and ~~strike~~", " x\n  1"]
    for text in changed:
        assert text in wanted
        wanted = wanted.replace(text, text.upper().replace("</B>", "</b>"))
    assert loud(PAGE) == wanted.replace("[r][]", "[R][]")


def test_a_wrapped_paragraph_becomes_one_line():
    assert loud("> one two\n> three *four\n> five*.\n\n- a\n  b\n") == "> ONE TWO THREE *FOUR FIVE*.\n\n- A B\n"


@pytest.mark.parametrize(
    ("text", "answer", "wanted"),
    [
        ("See [here] now.\n\n[here]: /x\n", lambda _: "Siehe [hier] jetzt.", None),
        ("He said.\n", lambda _: "1. He said *x* [a](b) `c`", "1\\. He said \\*x\\* \\[a\\](b) \\`c\\`\n"),
        ("He said.\n", lambda _: "- a\nb", "\\- a b\n"),
        ("# A word\n", lambda _: "A #", "# A \\#\n"),
        ("|a|\n|-|\n|b|\n", lambda text: f"{text}|{text}", "|a\\|a|\n|-|\n|b\\|b|\n"),
        ("two \\* three\n", lambda _: "zwei * drei*", "zwei \\* drei\\*\n"),
    ],
)
def test_text_is_never_markup(text, answer, wanted):
    written = translated(text, answer)
    assert markup(written) == markup(text)
    assert wanted is None or written == wanted


@pytest.mark.parametrize("seed", range(40))
def test_markup_is_kept_whatever_is_translated(seed):
    found = file_document(PAGE.encode(), ".md")
    out = found.rebuild(all_translated(found.texts, seed)).decode("utf-8", "replace")
    for kept in ("`code`", '](http://x "t")', "](a.png)", "<http://auto.link>", "{{ var }}", "{#id .class}", "[^2]"):
        assert out.count(kept) == 1
    before, after = (
        [line for line in text.split("\n") if re.match(r"---|```|    code|<div|\[r|:::|kept", line)]
        for text in (PAGE, out)
    )
    assert before == after
    links = re.compile(r'<a href="[^"]*"|<img src="[^"]*"')
    assert sorted(links.findall(html(out))) == sorted(links.findall(html(PAGE)))


def test_emphasis_of_no_word_is_left_out():
    found = file_document(b"Good **morning** all\n", ".md")
    answer = Prediction(
        found.texts[0],
        "Hallo alle",
        0.0,
        explanation=Explanation.of_text(["Good", "morning", "all"], ["Hallo", "alle"], [(0, 0), (2, 1)], []),
    )
    assert found.rebuild([answer]) == b"Hallo alle\n"


CROWDS = {
    "stars": "*a **b ",
    "brackets": "[",
    "images": "![",
    "ticks": "`a``b",
    "quotes": ">",
    "lists": "- ",
    "cells": "|a",
}


@pytest.mark.parametrize("name", CROWDS)
def test_hostile_markup_takes_little_time(name):
    text = CROWDS[name] * (20_000 // len(CROWDS[name]))

    def read_or_refused():
        try:
            loud(text)
        except TooLarge as refused:
            assert "more than" in str(refused)

    within(2.5, read_or_refused)


def test_emphasis_without_words_is_left_out_quickly():
    found = file_document(f"*bold* a{chr(0x3000) * 20_000}b\n".encode(), ".md")
    within(2.5, lambda: found.rebuild([Prediction(text, "x", 0.0) for text in found.texts]))


def test_too_much_markup_is_refused_before_it_is_parsed():
    with pytest.raises(TooLarge):
        within(1.0, lambda: file_document(b"*a " * 300_000, ".md"))
