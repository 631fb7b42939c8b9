"""Scripts that are written without spaces between words, as ranges within the brackets of a pattern."""

HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b2ff"
SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_SIGNS = "\u2fe0-\u2fff\u3008-\u303f\u4dc0-\u4dff\U000323b0-\U0003ffff"  # brackets and strokes between Han characters
UNSPACED = f"{SOUTH_EAST_ASIAN}{HAN}{KANA}{_SIGNS}"
# What the tokenizer of words cuts into characters: as it was first cut, since vocabularies of runs hold its pieces.
CUT_APART = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
