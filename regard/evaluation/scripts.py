"""Which script a text is in, as far as counting words needs it; and words that work in all of them."""

import re
from collections.abc import Iterable

HAN = "\u2e80-\u2fdf\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer: words without spaces between them

_HAN = re.compile(f"[{HAN}]")
_KANA = re.compile(f"[{KANA}]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"[{HAN}{KANA}]|(?:(?![{HAN}{KANA}])\w)+|[^\w\s]")
SAMPLE = 1000  # texts looked at


def words(text: str) -> list[str]:
    """Words and punctuation marks; each Han or Kana character stands alone, since there are no spaces to go by."""
    return _WORD.findall(text)


def bleu_tokenizer(texts: Iterable[str]) -> str:
    """The sacrebleu tokenizer for the script most letters are in: `zh` for Chinese, `char` for Japanese and for other
    scripts without spaces, else `13a`. Needs no software beyond sacrebleu itself.
    """
    sample = "".join(text for text, _ in zip(texts, range(SAMPLE), strict=False))
    letters = sum(character.isalpha() for character in sample)
    han, kana, unspaced = (len(script.findall(sample)) for script in (_HAN, _KANA, _UNSPACED))
    if 2 * (han + kana + unspaced) <= letters:
        return "13a"
    return "zh" if han > 10 * (kana + unspaced) else "char"
