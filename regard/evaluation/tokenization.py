"""Which script a text is in, as far as counting words needs it; and words that work in all of them."""

import re
from collections.abc import Iterable

from regard.scripts import HAN, KANA, SOUTH_EAST_ASIAN

_HAN = re.compile(f"[{HAN}]")
_KANA = re.compile(f"[{KANA}]")
_SOUTH_EAST_ASIAN = re.compile(f"[{SOUTH_EAST_ASIAN}]")
_WORD = re.compile(rf"[{HAN}{KANA}]|(?:(?![{HAN}{KANA}])\w)+|[^\w\s]")
_SAMPLE = 1000  # texts inspected


def words(text: str) -> list[str]:
    """Words and punctuation marks; each Han or Kana character stands alone, since there are no spaces to go by."""
    return _WORD.findall(text)


def bleu_tokenizer(texts: Iterable[str]) -> str:
    """The sacrebleu tokenizer for the script most letters are in: `zh` for Chinese, `char` for Japanese and for other
    scripts without spaces, else `13a`. Needs no software beyond sacrebleu itself.
    """
    sample = "".join(text for text, _ in zip(texts, range(_SAMPLE), strict=False))
    letters = sum(character.isalpha() for character in sample)
    han, kana, other = (len(script.findall(sample)) for script in (_HAN, _KANA, _SOUTH_EAST_ASIAN))
    if 2 * (han + kana + other) <= letters:
        return "13a"
    return "zh" if han > 10 * (kana + other) else "char"
