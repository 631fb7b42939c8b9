"""Contestants, results and reports of behaviour tests, against servers whose answers are known."""

import json
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from translation_servers import DeepL, Libre, Refusal, served

from regard.errors import ConfigError, DataError
from regard.http_body import KEY_VARIABLE
from regard.reports.behaviour import contestants
from regard.reports.behaviour.behaviour import (
    BADGE,
    BehaviourResults,
    SuiteFault,
    SuiteResult,
    behaviour_report,
    check_contestants,
    read_suites,
)
from regard.reports.behaviour.contestants import key_variable, open_contestants
from regard.reports.behaviour.suite import CodePair, behaviour_texts

PAIR = ("en", "de")


def opened(url: str, said: list[str] | None = None):
    return open_contestants([url], [], PAIR, (said if said is not None else []).append)[0]


@pytest.mark.parametrize("program", [Libre(), DeepL()])
def test_a_server_that_copies_keeps_tags_and_numbers_but_no_negation(program):
    with served(program, str) as url:
        found = check_contestants([opened(url)], only=["tags", "numbers", "empty", "negation"], cases=8)
    passed = {name: one.passed for name, one in found.results[0].items()}
    assert passed == {"tags": 1.0, "numbers": 1.0, "empty": 1.0, "negation": 0.0}
    assert all(fault.answer == fault.text for fault in found.results[0]["negation"].faults)


def test_a_translator_that_copies_has_no_mean():
    """It keeps tags, numbers and texts in the target language, and has translated nothing."""
    names = ["plain_sentence", "wrong_language", "tags", "numbers"]
    with served(Libre(), str) as url:
        found = check_contestants([opened(url)], only=names, cases=8)
    assert [found.results[0][name].passed for name in names] == [0.0, 0.0, 1.0, 1.0]
    assert found.passed(0) is None and found.is_below(1)
    report = behaviour_report(found)
    assert "no mean: 0 of 8 plain sentences are translated" in report.text(terminal=False)
    assert report.values["systems"][0]["passed"] is None
    assert "%" not in report.figure(BADGE).decode()


def test_a_translator_that_knows_plain_sentences_has_a_mean_and_keeps_its_own_language():
    plain = dict(zip(*([one for one, _ in behaviour_texts(code).sentences] for code in PAIR), strict=True))
    with served(Libre(), lambda text: plain.get(text, text)) as url:
        found = check_contestants([opened(url)], only=["plain_sentence", "wrong_language"])
    assert found.passed(0) == 1.0


def test_each_text_is_sent_once_and_with_the_key(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    seen = []
    with served(Libre(), str, seen) as url:
        check_contestants([opened(url)], only=["punctuation", "repetition"], cases=10)
    texts = [text for _, _, question in seen for text in question["q"]]
    assert len(texts) == len({*texts}) > 10
    assert all(question["api_key"] == "secret" and question["target"] == "de" for _, _, question in seen)


def test_keys_go_to_one_server_each(monkeypatch):
    seen, others = [], []
    with served(DeepL(), str, seen) as first, served(DeepL(), str, others) as second:
        monkeypatch.setenv(KEY_VARIABLE, "secret")
        for server in open_contestants([first, second, f"{first}/"], [], PAIR, print):
            server.translate(["a"])
        assert [headers["Authorization"].split()[1] for _, headers, _ in seen] == ["secret", "secret"]
        assert "Authorization" not in others.pop()[1]
        monkeypatch.setenv(key_variable(second), "other")
        for server in open_contestants([first, second], [], PAIR, print):
            server.translate(["a"])
    assert seen[-1][1]["Authorization"].endswith("secret") and others[-1][1]["Authorization"].endswith("other")


def test_a_refused_text_has_no_answer_and_spoils_no_other():
    def fussy(text: str) -> str:
        if text in ("b", "I drink tea."):
            raise Refusal(413)
        return text.upper()

    said = []
    with served(Libre(), fussy) as url:
        assert opened(url, said).translate(["a", "b", "", "c"]) == ["A", None, "", "C"]
        found = check_contestants([opened(url)], only=["negation"])
    assert len(said) == 2 and "'b'" in said[0]
    result = found.results[0]["negation"]
    assert (result.cases, result.unanswered, len(result.faults)) == (19, 1, 19)
    assert "1 of 20" in behaviour_report(found, examples=0).text(terminal=False)


def test_a_server_that_refuses_every_text_is_not_tested():
    def refuse(text: str) -> str:
        raise Refusal(400)

    with served(Libre(), refuse) as url, pytest.raises(DataError, match="every text"):
        check_contestants([opened(url)], only=["negation"])


@pytest.mark.parametrize("status", [429, 503, 500, 502, 404])
def test_a_server_that_stays_busy_or_fails_ends_the_test(status):
    """Texts are not sent one by one, and no answer is judged."""
    seen = []

    def fail(text: str) -> str:
        if text == "c":
            raise Refusal(status, Retry_After="0")
        return text

    with served(Libre(), fail, seen) as url, pytest.raises(DataError, match=f"{url}.*{status}"):
        opened(url).translate(["a", "b", "c"])
    assert len(seen) <= 4 and all(len(question["q"]) == 3 for _, _, question in seen)


def test_an_answer_that_never_ends_is_left(monkeypatch):
    monkeypatch.setattr(contestants, "_MOST_BYTES", 1000)
    with served(Libre(), lambda text: text * 2000) as url, pytest.raises(DataError, match="1,000 bytes"):
        opened(url).translate(["a"])


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
    [(Refusal(403), KEY_VARIABLE), (Refusal(302, Location="http://127.0.0.1:1/"), "status 302")],
)
def test_a_key_is_not_carried_to_another_server(refusal, words):
    def refuse(text: str) -> str:
        raise refusal

    with served(Libre(), refuse) as url:
        server = opened(url)
        with pytest.raises(DataError, match=words):
            server.translate(["a"])


@pytest.mark.parametrize("languages", [{"detail": "not found"}, [], [1], "x"])
def test_another_program_is_refused(languages):
    program = Libre()
    program.languages = languages
    with served(program, str) as url, pytest.raises(DataError, match="/translate"):
        opened(url)


def test_a_page_that_is_missing_is_named():
    class Lost(Libre):
        @property
        def languages(self):
            raise Refusal(404)

    with served(Lost(), str) as url, pytest.raises(DataError, match=f"{url}.*404.*/translate"):
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
    own = read_suites([tmp_path / "shop.yaml"])
    with served(Libre(), answers.__getitem__) as url:
        found = check_contestants([opened(url)], only=["empty"], own=own, cases=0).results[0]["shop"]
        assert [*check_contestants([opened(url)], only=["shop"], own=own).results[0]] == ["shop"]
    assert (found.cases, len(found.faults)) == (4, faults)


@pytest.mark.parametrize(
    "wrong", ["source: en", OWN.replace("lacks", "lack"), OWN.replace("^Anmelden$", "("), OWN.replace("en\n", "[1]\n")]
)
def test_wrong_files_of_cases_are_refused(tmp_path, wrong):
    (tmp_path / "shop.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ConfigError, match="shop"):
        read_suites([tmp_path / "shop.yaml"])


@pytest.mark.parametrize("names", [["numbers"], ["a/shop", "b/shop"]])
def test_a_file_does_not_replace_another_suite(tmp_path, names):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).with_suffix(".yaml").write_text(OWN, encoding="utf-8")
    with pytest.raises(ConfigError, match="there is another suite"):
        read_suites([tmp_path / f"{name}.yaml" for name in names])


def test_regions_and_capitals_of_own_cases_do_not_matter(tmp_path):
    (tmp_path / "shop.yaml").write_text(OWN.replace("source: en", "source: en-US").replace(": de", ": DE"))
    with served(Libre(), RIGHT.__getitem__) as url:
        found = check_contestants([opened(url)], only=["empty"], own=read_suites([tmp_path / "shop.yaml"]), cases=0)
    assert (found.results[0]["shop"].passed, found.results[0]["shop"].left_out) == (1.0, "")


def test_own_cases_of_other_languages_are_left_out(tmp_path):
    (tmp_path / "shop.yaml").write_text(OWN.replace("target: de", "target: fr"), encoding="utf-8")
    own = read_suites([tmp_path / "shop.yaml"])
    with served(Libre(), str) as url:
        found = check_contestants([opened(url)], only=["empty"], own=own, cases=2)
    assert "en→fr" in found.results[0]["shop"].left_out
    assert found.passed(0) == 1.0
    drawn = behaviour_report(found).figure(".svg").decode()
    assert "empty: 1.000" in drawn and "shop: " not in drawn


def of_one_suite(cases: int, faults: int) -> BehaviourResults:
    result = SuiteResult(cases, tuple(SuiteFault("", "", "wrong") for _ in range(faults)))
    return BehaviourResults(("a",), (CodePair(*PAIR),), {"shop": ""}, ({"shop": result},))


def test_percentages_are_rounded_down_and_compared_without_rounding():
    """1 - 4/5 is less than 20 % in binary; 99.6 % has faults."""
    assert not of_one_suite(5, 4).is_below(20) and of_one_suite(5, 4).is_below(20.5)
    report = behaviour_report(of_one_suite(1000, 4))
    assert "100%" not in report.text(terminal=False) + report.figure(BADGE).decode()
    assert "20%" in behaviour_report(of_one_suite(5, 4)).text(terminal=False)


def test_a_run_that_is_not_a_translator_is_refused(tmp_path, monkeypatch):
    experiment = SimpleNamespace(columns={"text": "text"}, task=SimpleNamespace(name="tagging"))
    predictor = SimpleNamespace(run=SimpleNamespace(experiment=experiment))
    monkeypatch.setattr(contestants, "load", lambda *_, **__: predictor)
    with pytest.raises(ConfigError, match="has task tagging, and behaviour tests are for translators"):
        open_contestants([str(tmp_path)], [], ("en", "de"), lambda line: None)
