"""Contestants, results and reports of behaviour tests, against servers whose answers are known."""

import json
from xml.etree import ElementTree

import pytest
from translation_servers import DeepL, Libre, Refusal, served

from regard.errors import ConfigError, DataError
from regard.reports.behaviour import BADGE, behaviour_report, check_contestants, contestant, read_cases
from regard.reports.behaviour.contestants import KEY_VARIABLE

PAIR = ("en", "de")


def opened(url: str, said: list[str] | None = None):
    return contestant(url, [], PAIR, (said if said is not None else []).append)


@pytest.mark.parametrize("program", [Libre(), DeepL()])
def test_a_server_that_copies_keeps_tags_and_numbers_but_no_negation(program):
    with served(program, str) as url:
        found = check_contestants([opened(url)], only=["tags", "numbers", "empty", "negation"], cases=8)
    passed = {name: one.passed for name, one in found.results[0].items()}
    assert passed == {"tags": 1.0, "numbers": 1.0, "empty": 1.0, "negation": 0.0}
    assert all(fault.answer == fault.text for fault in found.results[0]["negation"].faults)


def test_each_text_is_sent_once_and_with_the_key(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    seen = []
    with served(Libre(), str, seen) as url:
        check_contestants([opened(url)], only=["punctuation", "repetition"], cases=10)
    texts = [text for _, _, question in seen for text in question["q"]]
    assert len(texts) == len({*texts}) > 10
    assert all(question["api_key"] == "secret" and question["target"] == "de" for _, _, question in seen)


def test_a_refused_text_has_an_empty_answer_and_spoils_no_other():
    def fussy(text: str) -> str:
        if text == "b":
            raise Refusal(400)
        return text.upper()

    said = []
    with served(Libre(), fussy) as url:
        assert opened(url, said).translate(["a", "b", "", "c"]) == ["A", "", "", "C"]
    assert len(said) == 2 and "'b'" in said[0]


def test_a_busy_server_is_asked_again():
    left = [Refusal(429, Retry_After="0"), Refusal(503, Retry_After="0")]

    def busy(text: str) -> str:
        if left:
            raise left.pop()
        return text

    with served(Libre(), busy) as url:
        assert opened(url).translate(["a"]) == ["a"]


@pytest.mark.parametrize(
    ("refusal", "words"),
    [(Refusal(403), KEY_VARIABLE), (Refusal(302, Location="http://127.0.0.1:1/"), "")],
)
def test_a_key_is_not_carried_to_another_server(refusal, words):
    def refuse(text: str) -> str:
        raise refusal

    with served(Libre(), refuse) as url:
        server = opened(url)
        if words:
            with pytest.raises(DataError, match=words):
                server.translate(["a"])
        else:
            assert server.translate(["a"]) == [""]


@pytest.mark.parametrize("languages", [{"detail": "not found"}, [], [1], "x"])
def test_another_program_is_refused(languages):
    program = Libre()
    program.languages = languages
    with served(program, str) as url, pytest.raises(DataError, match="/translate"):
        opened(url)


def test_a_closed_port_is_named():
    with pytest.raises(DataError, match=r"127\.0\.0\.1:9.*cannot be reached"):
        opened("http://127.0.0.1:9")


def test_reports_have_every_system_and_every_fault(tmp_path):
    with served(Libre(), str) as one, served(DeepL(), lambda text: "") as other:
        found = check_contestants([opened(one), opened(other)], only=["tags", "one_word"], cases=4)
    report = behaviour_report(found, examples=1)
    systems = json.loads(json.dumps(report.values))["systems"]
    assert [system["passed"] for system in systems] == [1.0, 0.0]
    assert [len(system["suites"]["tags"]["faults"]) for system in systems] == [0, 4]
    for kind in (".svg", BADGE):
        assert ElementTree.fromstring(report.figure(kind)).tag.endswith("svg")
    assert "100%" in report.figure(BADGE).decode()
    assert report.text(terminal=False).count("one_word: empty answer") == 1


OWN = """
about: words of a shop
source: en
target: de
cases:
- {text: Add to basket, has: [Warenkorb, Einkaufswagen], lacks: Korbball}
- {text: Sign in, matches: "^Anmelden$"}
- {text: Sign out, differs_from: Sign in}
- {text: Cart, is_one_of: Einkaufswagen}
"""
RIGHT = {"Add to basket": "In den WARENKORB", "Sign in": "Anmelden", "Sign out": "Abmelden", "Cart": "Einkaufswagen."}
WRONG = {"Add to basket": "Zum Korb", "Sign in": "anmelden", "Sign out": "Anmelden", "Cart": "Karren"}


@pytest.mark.parametrize(("answers", "faults"), [(RIGHT, 0), (WRONG, 4)])
def test_own_cases(tmp_path, answers, faults):
    (tmp_path / "shop.yaml").write_text(OWN, encoding="utf-8")
    own = {"shop": read_cases(tmp_path / "shop.yaml")}
    with served(Libre(), answers.__getitem__) as url:
        found = check_contestants([opened(url)], only=["empty"], own=own, cases=0).results[0]["shop"]
    assert (found.cases, len(found.faults)) == (4, faults)


@pytest.mark.parametrize(
    "wrong", ["source: en", OWN.replace("lacks", "lack"), OWN.replace("^Anmelden$", "("), OWN.replace("en\n", "[1]\n")]
)
def test_wrong_files_of_cases_are_refused(tmp_path, wrong):
    (tmp_path / "shop.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ConfigError, match="shop"):
        read_cases(tmp_path / "shop.yaml")


def test_own_cases_of_other_languages_are_left_out(tmp_path):
    (tmp_path / "shop.yaml").write_text(OWN.replace("target: de", "target: fr"), encoding="utf-8")
    own = {"shop": read_cases(tmp_path / "shop.yaml")}
    with served(Libre(), str) as url:
        found = check_contestants([opened(url)], only=["empty"], own=own, cases=2)
    assert "en→fr" in found.results[0]["shop"].left_out
    assert found.passed(0) == 1.0
