"""The page of a data check, in English and Chinese."""

import re
from pathlib import Path

import pytest

from regard.explain.frame import static
from regard.registry import Choice
from regard.reports.data_check.check_data import check_data, data_check_page
from regard.statistical.pair_checks import PAIR_CHECKS, PairCorpus, TextPair

SOUND = [TextPair(f"The dog number {n} sees a cat.", f"Der Hund Nummer {n} sieht eine Katze.") for n in range(10, 40)]
FAULTY = [
    TextPair("It rains a lot here today.", "It rains a lot here today."),
    TextPair("The man buys bread.", ""),
    TextPair("The man buys bread!", "..."),
    TextPair("A <b>word</b> here.", "Ein Wort hier."),
    TextPair("One &amp; two.", "Eins und zwei."),
    TextPair("We have 12 cats.", "Wir haben 13 Katzen."),
    TextPair("The lost letter.", "Der Stra\ufffde."),
    TextPair("The bird sings.", "Der Vogel singt \x07."),
    TextPair("The tree is green.", "Der Baum ist grün\u0439\u0439\u0439."),
    TextPair("The boat sails away.", "Das Boot " + "segelt" * 20),
    SOUND[3],
]


def test_every_kind_and_reason_has_chinese_words():
    script = static("data_check.js", "regard.reports.data_check")
    patterns = [one.replace("[^]", r"[\s\S]") for one in re.findall(r"^  \[/(.+)/, \(", script, re.MULTILINE)]
    kinds = set(re.findall(r"(\w+): \"", script.partition("const KINDS")[2].partition("};")[0]))
    corpus = PairCorpus([*SOUND, *FAULTY])
    found = {name: [one.reason for one in PAIR_CHECKS.build(Choice(name)).findings(corpus)] for name in PAIR_CHECKS}
    assert kinds == set(PAIR_CHECKS) and sum(map(bool, found.values())) > 6
    reasons = [one for some in found.values() for one in some]
    assert [one for one in reasons if not any(re.search(each, one) for each in patterns)] == []


@pytest.mark.slow
def test_the_page_speaks_both_languages(visit):
    shown = data_check_page(check_data([*SOUND, *FAULTY]), 0.5, [Path("a.en"), Path("a.de")])
    english = visit(html=shown)
    assert "pairs would be dropped" in english.all("#summary").inner_text()
    assert "Repeated pair" in str(english.all("#kinds h2").all_inner_texts())
    chinese = visit(html=shown, locale="zh-CN")
    assert "个句对中将剔除" in chinese.all("#summary").inner_text()
    assert "重复句对" in str(chinese.all("#kinds h2").all_inner_texts())
    assert "与第 4 行的句对相同" in str(chinese.all(".reason").all_inner_texts())
    assert chinese.tab.locator("html").get_attribute("lang") == "zh-CN"
    chinese.all("#language").click()
    assert "pairs would be dropped" in chinese.all("#summary").inner_text()
