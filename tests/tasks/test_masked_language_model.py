"""Masked language models: which pieces are one word, and which tokenizers can have a <mask>."""

import pytest

from regard.data.columns import TextColumn
from regard.data.columns.masked_text import MaskedTextColumn
from regard.errors import ConfigError
from regard.registry import Choice
from regard.tasks.masked_language_model import word_borders

TEXT = "we like \u82f9\u679cphones, \u6211\u4eec \u3042\u308a"  # Chinese characters, and Japanese ones


def words_of(column: TextColumn, text: str) -> list[str]:
    """The words of a text as borders divide it."""
    borders, found, ended = word_borders(column), list[list[int]](), True
    for one in column.encode(text):
        if ended or borders.begins[one]:
            found.append([])
        found[-1].append(one)
        ended = bool(borders.ends[one])
    return [column.decode(ids).strip() for ids in found]


def test_where_no_spaces_part_words_each_character_is_one():
    column = MaskedTextColumn.learn([TEXT], Choice("words"))
    latin = ["we", "like", "phones", ",", *"\u82f9\u679c\u6211\u4eec\u3042\u308a"]
    assert sorted(words_of(column, TEXT)) == sorted(latin)


def test_where_no_spaces_part_words_each_piece_is_one():
    column = MaskedTextColumn.learn([TEXT], Choice("subwords", {"size": 300}))
    pieces = [one.strip("\u2581") for one in column.pieces(column.encode("\u6211\u4eec\u82f9\u3042"))]
    assert words_of(column, "\u6211\u4eec\u82f9\u3042") == pieces


def test_rare_characters_in_bytes_are_words():
    column = MaskedTextColumn.learn(["we like"], Choice("words"))
    assert words_of(column, "we \u82f9\u679c like") == ["we", "", "\u82f9", "\u679c", "like"]
    assert words_of(column, "we caf\u00e9 like") == ["we", "caf\u00e9", "like"]


def test_one_piece_for_all_unknown_words_leaves_no_room_for_a_mask():
    with pytest.raises(ConfigError, match=r"text.tokenizer: .*<mask>.*\(subwords or words\)"):
        MaskedTextColumn.learn(["we like"], Choice("uncased_words"))
