"""Sentences of a text: the pieces of each, an end symbol behind each."""

from regard.data.columns import TextColumn
from regard.data.columns.sentences import SentencesColumn, sentences_in
from regard.pieces import EOS
from regard.registry import Choice
from regard.text import train_tokenizer

TOKENIZER = train_tokenizer(Choice("characters"), ["abc"])
COLUMN, TEXT = SentencesColumn(TOKENIZER), TextColumn(TOKENIZER)


def test_sentences_are_cut_one_by_one():
    ab, c = TEXT.encode("ab"), TEXT.encode("c")
    assert COLUMN.encode("ab\tc\tab") == [*ab, EOS, *c, EOS, *ab]
    assert COLUMN.collate([COLUMN.encode("ab\tc"), COLUMN.encode("c")]).items.tolist() == [
        [*ab, EOS, *c, EOS],
        [*c, EOS, 0, 0, 0],
    ]


def test_what_has_no_text_is_no_sentence():
    assert COLUMN.encode("\t c\t \t") == TEXT.encode(" c")
    assert COLUMN.encode("") == []


def test_decoding_gives_the_sentences_back():
    assert COLUMN.decode([*COLUMN.encode("ab\tc"), EOS]) == "ab\tc"
    assert sentences_in([EOS, 4, EOS, EOS, 5, 6]) == [[4], [5, 6]]


def test_its_vocabulary_is_that_of_the_source():
    assert SentencesColumn.folder("document", shared=False) == TextColumn.folder("source", shared=False)
    assert SentencesColumn.folder("document", shared=True) == TextColumn.folder("source", shared=True)
    assert COLUMN.key() != TEXT.key()


def test_the_longest_sentence_is_told():
    assert COLUMN.longest(COLUMN.encode("ab\tabc\tc")) == 3
    assert (COLUMN.longest([]), TEXT.longest(TEXT.encode("ab c"))) == (0, 4)
