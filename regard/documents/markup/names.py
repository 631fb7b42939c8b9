"""What each element means for a translation."""

import re


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BREAKS = _names(
    """address article aside blockquote body br button caption center col colgroup datalist dd details dialog dir div dl
    dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe legend
    li link main menu meta nav noembed noframes noscript ol optgroup option output p param plaintext pre script search
    section select slot style summary table tbody td template textarea tfoot th thead title tr track ul xmp"""
)  # no sentence goes through one of these; every other element may stand inside a sentence
VOID = _names("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
UNTOUCHED = _names(
    "applet audio canvas code kbd math object picture pre samp script style svg textarea var video xmp"
)  # with all that is in them

_ATTRIBUTE = re.compile(
    r"""[\t\n\f\r /]++ ([^\t\n\f\r />=]++)
        (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+ (?: "([^"]*+)" | '([^']*+)' | ([^\t\n\f\r >"'][^\t\n\f\r >]*+) ) )?+""",
    re.VERBOSE,
)


def untouched(tag: str, name: str) -> bool:
    """Whether an opening tag says that nothing inside is to be translated."""
    if name in UNTOUCHED:
        return True
    if "translate" not in tag.lower():
        return False
    for match in _ATTRIBUTE.finditer(tag):
        key, value = match[1].lower(), (match[2] or match[3] or match[4] or "").strip().lower()
        if (key == "translate" and value == "no") or (key == "class" and "notranslate" in value.split()):
            return True
    return False
