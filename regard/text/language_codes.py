"""Language codes: ISO 639, with a region or a script."""

import re

# ISO 639-1, and two codes of LibreTranslate: Portuguese of Brazil and traditional Chinese
_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee "
    "el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is "
    "it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms "
    "mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk "
    "sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi "
    "yo za zh zu pb zt"
)
_SAME = {"no": "nb", "iw": "he", "in": "id", "zt": "zh", "pb": "pt"}
_CODE = re.compile(r"([a-z]{2,3})([-_][a-z0-9]{2,8})*", re.IGNORECASE)


def is_language_code(code: str) -> bool:
    """Return whether a text is a code of ISO 639: two letters of a known language, or three; a region or script behind.

    >>> is_language_code("pt-BR"), is_language_code("hsb"), is_language_code("xx")
    (True, True, False)
    """
    found = _CODE.fullmatch(code)
    return found is not None and (len(found[1]) > 2 or found[1].lower() in _CODES.split())


def bare_language(code: str) -> str:
    """Return the part of a code that names the language, in one form."""
    language = re.split(r"[-_@.]", code.strip().lower(), maxsplit=1)[0]
    return _SAME.get(language, language)
