"""Attributes that people read are translated, and nothing else of a tag changes."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hostile import shouted

from regard.documents.files import text_document


def translated(html):
    document = text_document(html, "html")
    return document.rebuild(shouted(document.texts))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<img src="a cat.png" alt="a cat">', '<img src="a cat.png" alt="A CAT">'),
        ("<p>See <img alt='the cat' id=x> there</p>", "<p>SEE <img alt='THE CAT' id=x> THERE</p>"),
        ("<a title=cat href=/cat>cat</a>", '<a title="CAT" href=/cat>CAT</a>'),
        ('<input type=submit value="Send it">', '<input type=submit value="SEND IT">'),
        ('<input type=text value="typed text" placeholder="Your name">',
         '<input type=text value="typed text" placeholder="YOUR NAME">'),
        ('<meta name="Description" content="All cats">', '<meta name="Description" content="ALL CATS">'),
        ('<meta name="viewport" content="width of it">', '<meta name="viewport" content="width of it">'),
        ('<meta property="og:title" content="All cats">', '<meta property="og:title" content="ALL CATS">'),
        ('<textarea placeholder="Say it">Keep it</textarea>', '<textarea placeholder="SAY IT">Keep it</textarea>'),
        ('<link rel="alternate stylesheet" title="dark side">', '<link rel="alternate stylesheet" title="dark side">'),
        ('<p translate="no" title="the cat">cat</p>', '<p translate="no" title="the cat">cat</p>'),
        ('<div translate="no"><img alt="the cat"></div>', '<div translate="no"><img alt="the cat"></div>'),
        ('<img alt="" title="12">', '<img alt="" title="12">'),
        ('<!-- <img alt="the cat"> -->', '<!-- <img alt="the cat"> -->'),
        ('<script>"<img alt=\'the cat\'>"</script>', '<script>"<img alt=\'the cat\'>"</script>'),
    ],
)  # fmt: skip
def test_attributes_that_people_read(before, after):
    assert translated(before) == after


@pytest.mark.parametrize("hostile", ['"><script>x</script>', "' onload='x", "a & b < c"])
def test_no_translation_leaves_its_attribute(hostile):
    document = text_document('<p>Hi <img alt="the cat"></p>', "html")
    first, second = shouted(document.texts)
    found = document.rebuild([first, replace(second, text=hostile, explanation=None)])
    values = list[str | None]()
    reader = HTMLParser()
    reader.handle_starttag = lambda _, attributes: values.extend(value for _, value in attributes)
    reader.feed(found)
    assert found.count("<") == 3
    assert len(values) == 1
    assert hostile[:1] in values[0] or "<" in hostile  # tags that a model writes are no text


def test_each_text_has_one_answer_and_equal_values_are_one():
    document = text_document('<img alt="A cat."><b title="A cat.">One. Two.</b><i title="A dog. Or two."></i>', "html")
    assert document.texts == ["One.", "Two.", "A cat.", "A dog.", "Or two."]
    assert len(document.sentences) == len(document.passages) == 5
    with pytest.raises(ValueError, match="for 5 texts"):
        document.rebuild(shouted(["One."]))
