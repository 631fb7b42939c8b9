"""Numerals that a translation keeps whole: digits with sign, unit, currency and separators, phone numbers, codes.

Number words ("three"), names of months, ordinals ("3rd") and decades ("1990s") are words, which the model translates.
"""

import re
import unicodedata

from regard.scripts import UNSPACED

_LATIN = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"  # without × and ÷
_SPACE = r"[ \u00a0\u2009\u202f]"  # may stand inside a numeral
_MONEY = r"[$€£¥¢₩₹₽₺₫฿₴₪₱＄￥￡]"
_CODES = r"(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|CAD|AUD|KRW)"
_SIGN = r"[-+\u2212‒–－＋±∓~≈≤≥<>＜＞]"
_PART = r"[\u00bc-\u00be\u2150-\u215e\u2189]"  # ½
_POWER = r"[\u00b2\u00b3\u00b9\u2070\u2074-\u207b]"
_HAN = "〇零○一二三四五六七八九"
_START = rf"(?<![^\W{UNSPACED}])"  # not inside a word of a script with spaces
_FREE = rf"(?<![\d_{_LATIN}])"
_END = rf"(?![\d_{_LATIN}])"
_STOP = rf"(?![^\W{UNSPACED}])"
_ORDINAL = r"(?:st|nd|rd|th|s|ers?|res?|ère|i?ème|eme|e|nde?|d[ao]|t[ao]|v[ao]|m[ao]|r[ao]|n[ao]|s?te)"
_UNITS = r"""(?:km/h|m/s|kWh|MWh|mmHg|Mbit/s|Mbps|[GMk]?Hz|[kh]Pa|kcal|mph|rpm|dpi|[kcmµμn]?m[²³]?|[kmµμ]?g|[mcd]?l|mL|L
    |[kMG]?W|[km]?V|mA|kJ|[kKMGT]B|k?Ω|lbs?|oz|ft|dB|m?s|h|K|t)"""

_NUMBER = rf"""(?:
    \d{{1,3}}+(?:{_SPACE}\d{{3}}(?!\d)){{1,6}}+(?:[.,]\d{{1,9}}+)?+             # 1 234 567,89
  | \d{{1,3}}+(?:['’]\d{{3}}(?!\d)){{1,6}}+(?:\.\d{{1,9}}+)?+                   # 1'234.50
  | \d{{1,2}}{_SPACE}\d[/⁄]\d{{1,2}}(?!\d)                                      # 3 1/2
  | \d{{1,40}}+(?:[.,:/⁄．：／٫٬]\d{{1,40}}+){{0,20}}+{_PART}?                   # 1,234.56  10:30  12/31/2024  3½
  | {_PART} | [\u2460-\u249b\u24ea-\u24ff\u2776-\u2793]                         # ½ ①
)(?:[eE][-+\u2212]?\d{{1,3}}+{_STOP})?+(?:\^[-+\u2212]?\d{{1,3}}+)?+{_POWER}{{0,4}}+"""
_BEFORE = rf"""(?:
    {_FREE}[{_LATIN}\u0391-\u03a9\u03b1-\u03c9]{_SPACE}?[=≈≃≤≥<>]{_SPACE}?{_SIGN}?   # π≈  p < 
  | {_START}{_SIGN}{{0,2}}+(?:[A-Z]{{1,3}}+)?+{_MONEY}{_SPACE}?{_SIGN}?              # -US$ 
  | {_START}(?:{_SIGN}{{1,2}}+|{_CODES}{_SPACE}{_SIGN}?|[\#＃]|(?:№|§{{1,2}}){_SPACE}?)  # -  USD  #  № 
  | {_FREE}
)"""
_AFTER = rf"""(?:
    {_SPACE}?(?:[%％‰‱]{_STOP}(?![%($}}{{@])|°(?:{_SPACE}?[CFK]{_END})?|[℃℉]|{_MONEY}(?![\d{{])) | [′″]
  | {_SPACE}(?:{_CODES}|[AaPp]\.[Mm]\.|[Pp][Mm]|AM|{_UNITS}){_STOP}(?!['’(/-])
)"""
_JOIN = rf"(?:[-‐–−~～〜×✕·⋅÷/:+=≈xX]|{_SPACE}[×✕÷+=≈xX]{_SPACE})"
_EXPRESSION = rf"""{_BEFORE}{_NUMBER}{_END}(?!月){_AFTER}?+                            # -5 °C  €1,234.56  5 p.m.
    (?:{_JOIN}(?:{_SIGN}?{_MONEY})?+{_NUMBER}(?:{_END}{_AFTER}?+|{_UNITS}{_END})){{0,20}}+
    (?:-[Xx]{_END})?+                                                            # 5-10 %  3 x 4  ISBN"""
_ANGLE = (
    rf"{_FREE}\d{{1,3}}°{_SPACE}?\d{{1,2}}[′'](?:{_SPACE}?\d{{1,2}}(?:[.,]\d{{1,6}})?[″\"])?{_SPACE}?[NSEWO]?{_END}"
)
_PHONE = rf"""(?:
    \+\d{{1,3}}(?:[ .\u00a0-]?\(\d{{1,5}}\)|[ .\u00a0-]\d{{1,8}}+){{2,8}}+       # +33 1 23 45 67 89
  | \((?:0\d{{1,5}}|\d{{3}})\){_SPACE}?\d{{2,8}}+(?:[ /\u00a0-]\d{{1,8}}+){{0,5}}+    # (030) 123-4567
  | {_START}0\d{{1,5}}(?:[ /\u00a0-]\d{{2,8}}+){{1,5}}+                          # 030 1234567
  | {_START}\d{{4}}(?:{_SPACE}\d{{4}}){{2,4}}+                                   # a card
  | {_START}[A-Z]{{2}}\d{{2}}(?:{_SPACE}\d{{4}}){{3,7}}+(?:{_SPACE}\d{{1,4}})?+  # an IBAN
){_END}"""
_DATE = rf"""(?:{_FREE}\d{{2,4}}|(?<![{_HAN}])[{_HAN}]{{4}})年(?:\d{{1,2}}|[{_HAN}十]{{1,3}})月
    (?:(?:\d{{1,2}}|[{_HAN}十]{{1,3}})[日号號])?+ | {_FREE}\d{{1,2}}月\d{{1,2}}[日号號]"""
_MORE = r"""(?:[._/:+-](?:[A-Za-z]{0,6}\d[A-Za-z\d]{0,40}+|[A-Za-z]{1,3}(?![A-Za-z])|alpha|beta|dev)[²³]?+){0,20}+"""
_CODE = rf"""(?:
    {_START}(?:[A-Z]{{1,10}}-|[A-Za-z]{{1,10}}|[A-Za-z]\w{{0,30}}_)[\d₀-₉][A-Za-z\d_₀-₉]{{0,60}}+   # v2  MP3  COVID-19
  | {_START}{_SIGN}?{_MONEY}?\d{{1,40}}+(?:[.,:/-]\d{{1,40}}+){{0,8}}+(?!{_ORDINAL}(?![\d{_LATIN}]))
    [A-Za-zµμΩ]{{1,6}}[²³]?+(?:\d[A-Za-z\d]{{0,60}}+)?+                                             # 100km/h  5pm
){_MORE}{_END} | {_START}(?<![:.])(?=[a-fA-F:]{{0,5}}\d)[\da-fA-F]{{1,4}}(?:::?[\da-fA-F]{{1,4}}){{2,7}}+(?![\w:])"""
NUMERIC = r"[\d\u2080-\u2089\u00bc-\u00be\u2150-\u215e\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793年]"  # each has one
NUMERAL = f"(?:{_PHONE}|{_ANGLE}|{_DATE}|{_CODE}|{_EXPRESSION}\n)"  # in verbose syntax

_SIMPLE = re.compile(r"\d{1,4}|\d{1,2}[.,]\d{1,2}")
_NAME = re.compile(r"[A-Za-z][A-Za-z\d-]{0,8}")
_LEFT_OUT = re.compile(
    rf"(?<=\d)(?:{_POWER}+|{_PART}|[,' ’\u00a0\u202f](?=\d{{3}}(?!\d)))"
)  # 10³ is read as 10, 3½ as 3
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DIGITS_OF_HAN = str.maketrans(_HAN, "000123456789")
_MOST = 3  # digits of a longer number that the model gets


def readable_form(numeral: str) -> str:
    """Return what the model reads in place of a numeral: a short number that is part of it, or a short name.

    Small models copy short numbers and garble long ones; the sign and the unit come back with the numeral.

    >>> [readable_form(one) for one in ("３", "-5 °C", "€1,234.56", "12/31/2024", "+33 1 23 45", "MP3", "½")]
    ['3', '5', '1234', '2024', '33', 'MP3', '1']
    """
    text = unicodedata.normalize("NFKC", _LEFT_OUT.sub("", numeral)).translate(_DIGITS_OF_HAN)
    if _SIMPLE.fullmatch(text) or _NAME.fullmatch(text):
        return text
    if year := _YEAR.search(text):
        return year[0]
    runs = re.findall(r"\d+", text)
    first = next((run.lstrip("0") for run in runs if run.strip("0")), "0")
    return first if len(first) <= _MOST + 1 else first[:_MOST]
