"""DeepL's API: the requests that Weblate sends, the package `deepl` unchanged from PyPI, and what is refused."""

import asyncio

import deepl
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries
from known_engine import KnownEngine, listening_server, pairs, served

from regard.errors import ConfigError
from regard.serve import glossary_store, translating
from regard.serve.api.programs import PROGRAMS
from regard.serve.engine.faults import Busy
from regard.serve.glossary_store import GlossaryStore, StoredTerms
from regard.serve.languages import served_code
from regard.serve.security import Keys
from regard.serve.settings import ALL_PROGRAMS, Settings, read_programs

HEADERS = {"Authorization": "DeepL-Auth-Key secret", "Referer": "https://weblate.example/"}
HEADERS["Accept"] = "application/json; charset=utf-8"
TERMS = "Hello\tHallo\nold man\tGreis"


@pytest.fixture(scope="module")
def client():
    settings = Settings(keys=Keys(["secret", "other"]), max_body=50_000)
    with served(pairs("en-de", "de-en", "en-zh", "fr-pb"), settings) as found:
        yield found


def translated(client, **fields):
    found = client.post("/v2/translate", json={"target_lang": "DE", **fields}, headers=HEADERS)
    assert found.status_code == 200, found.text
    return found.json()


# --- as Weblate sends them, its address set to http://…:5000/v2 or without /v2


@pytest.mark.parametrize("base", ["/v2", ""])
def test_weblate_reads_languages(client, base):
    source = client.get(f"{base}/languages?type=source", headers=HEADERS).json()
    target = client.get(f"{base}/languages?type=target", headers=HEADERS).json()
    assert {one["language"] for one in source} == {"DE", "EN", "FR"}
    codes = {one["language"] for one in target if not one.get("supports_formality")}
    assert codes == {"DE", "EN-GB", "EN-US", "PT-BR", "ZH", "ZH-HANS"}


@pytest.mark.parametrize("base", ["/v2", ""])
def test_weblate_translates_with_tags_and_a_glossary(client, base):
    supported = client.get(f"{base}/glossary-language-pairs", headers=HEADERS).json()["supported_languages"]
    assert ("EN", "DE") in {(one["source_lang"].upper(), one["target_lang"].upper()) for one in supported}
    name = "weblate:7:EN:DE:0123abcd"
    glossary = {"name": name, "source_lang": "EN", "target_lang": "DE", "entries": TERMS, "entries_format": "tsv"}
    assert client.post(f"{base}/glossaries", json=glossary, headers=HEADERS).status_code == 201
    listed = client.get(f"{base}/glossaries", headers=HEADERS).json()["glossaries"]
    [chosen] = [one["glossary_id"] for one in listed if one["name"] == name]
    question = {
        "text": ['Hello <x id="6"></x> &quot;you&quot;\nHello', "World"], "source_lang": "EN", "target_lang": "DE",
        "formality": "default", "tag_handling": "xml", "ignore_tags": ["x"], "context": "A program.",
        "glossary_id": chosen, "model_type": "prefer_quality_optimized",
    }  # fmt: skip
    answer = client.post(f"{base}/translate", json=question, headers=HEADERS)
    first, second = [one["text"] for one in answer.json()["translations"]]
    assert ('<x id="6"></x>' in first, first.endswith("\nHallo"), second) == (True, True, "Welt")
    assert client.delete(f"{base}/glossaries/{chosen}", headers=HEADERS).status_code == 204
    assert client.delete(f"{base}/glossaries/{chosen}", headers=HEADERS).status_code == 404


def test_an_older_weblate_sends_forms_with_the_key(client):
    given = {"auth_key": "secret", "text": "Hello", "source_lang": "EN", "target_lang": "DE"}
    assert client.post("/v2/translate", data=given).json()["translations"][0]["text"] == "Hallo"


def test_a_multipart_form_has_several_texts(client):
    fields = [("auth_key", "secret"), ("text", "Hello"), ("text", "World"), ("target_lang", "DE")]
    found = client.post("/v2/translate", files=[(name, (None, value)) for name, value in fields]).json()
    assert [one["text"] for one in found["translations"]] == ["Hallo", "Welt"]


def test_each_language_is_listed_once():
    with served(pairs("zh-en", "zt-en", "en-zh", "en-pt", "en-pb")) as client:
        listed = [client.get(f"/v2/languages?type={kind}").json() for kind in ("source", "target")]
        pairs_of = client.get("/v2/glossary-language-pairs").json()["supported_languages"]
    codes = [sorted(one["language"] for one in some) for some in listed]
    assert codes == [["EN", "ZH"], ["EN-GB", "EN-US", "PT-BR", "PT-PT", "ZH", "ZH-HANS"]]
    assert sorted((one["source_lang"], one["target_lang"]) for one in pairs_of) == [
        ("en", "pt"),
        ("en", "zh"),
        ("zh", "en"),
    ]


# --- the package


@pytest.fixture(scope="module")
def address():
    with listening_server(pairs("en-de", "de-en"), Settings(keys=Keys(["secret"]))) as (found, *_):
        yield found


@pytest.mark.parametrize("make", [deepl.Translator, deepl.DeepLClient])
def test_the_package_translates(address, make):
    client = make("secret", server_url=address)
    found = client.translate_text(["Hello", "Good morning!"], target_lang="DE")
    assert [(one.text, one.detected_source_lang) for one in found] == [("Hallo", "EN"), ("Guten Morgen!", "EN")]
    back = client.translate_text("Hallo", source_lang="DE", target_lang="EN-US", formality="prefer_more")
    assert (back.text, back.detected_source_lang) == ("Hello", "DE")
    options = {
        "split_sentences": "nonewlines",
        "preserve_formatting": True,
        "context": "Greetings.",
        "ignore_tags": "x",
    }
    kept = client.translate_text("Hello <x>you</x>", target_lang="DE", tag_handling="html", **options)
    assert kept.text.endswith("<x>you</x>")
    assert [one.code for one in client.get_source_languages()] == ["DE", "EN"]
    assert [one.code for one in client.get_target_languages()] == ["DE", "EN-GB", "EN-US"]
    assert client.get_usage().character.count > 0
    assert not client.get_usage().any_limit_reached


def test_the_package_reads_a_table_of_terms(address):
    client = deepl.DeepLClient("secret", server_url=address)
    made = client.create_glossary_from_csv("table", "EN", "DE", "Hello,Servus\ndog,Hund\n")
    assert client.get_glossary_entries(made) == {"Hello": "Servus", "dog": "Hund"}
    assert client.translate_text_with_glossary("World", made).text == "Welt"
    client.delete_glossary(made)


def test_the_package_keeps_glossaries(address):
    client = deepl.Translator("secret", server_url=address)
    entries = {"Hello": "Hallo", "dog": "Hund"}
    made = client.create_glossary("ours", "EN", "DE", entries)
    assert (made.ready, made.entry_count, made.source_lang) == (True, 2, "EN")
    assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
    assert client.get_glossary(made.glossary_id).name == "ours"
    assert client.get_glossary_entries(made) == entries
    assert client.translate_text("Hello", source_lang="EN", target_lang="DE", glossary=made).text == "Hallo"
    assert ("en", "de") in {(one.source_lang, one.target_lang) for one in client.get_glossary_languages()}
    csv = client.create_glossary_from_csv("csv", "EN", "DE", 'dog,Hund\n"old, man",Greis\n')
    assert client.get_glossary_entries(csv) == {"dog": "Hund", "old, man": "Greis"}
    for one in (made, csv):
        client.delete_glossary(one)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)


def test_the_package_keeps_glossaries_of_several_pairs(address):
    client, terms = deepl.DeepLClient("secret", server_url=address), MultilingualGlossaryDictionaryEntries
    made = client.create_multilingual_glossary(
        "both", [terms("EN", "DE", {"Hello": "Hallo"}), terms("DE", "EN", {"Hund": "dog"})]
    )
    assert [(one.source_lang, one.target_lang, one.entry_count) for one in made.dictionaries] == [
        ("EN", "DE", 1),
        ("DE", "EN", 1),
    ]
    assert [one.glossary_id for one in client.list_multilingual_glossaries()] == [made.glossary_id]
    assert client.list_glossaries() == []
    told = client.translate_text("Hello", source_lang="EN", target_lang="DE", glossary=made)
    assert told.text == "Hallo"
    client.update_multilingual_glossary_name(made, "ours")
    client.update_multilingual_glossary_dictionary(made, terms("EN", "DE", {"dog": "Hund", "Hello": "Tag"}))
    assert client.get_multilingual_glossary(made.glossary_id).name == "ours"
    [english] = client.get_multilingual_glossary_entries(made, "EN", "DE").dictionaries
    assert english.entries == "dog\tHund\nHello\tTag"
    client.replace_multilingual_glossary_dictionary(made, terms("EN", "DE", {"cat": "Katze"}))
    [english] = client.get_multilingual_glossary_entries(made, "EN", "DE").dictionaries
    assert english.entries == "cat\tKatze"
    client.delete_multilingual_glossary_dictionary(made, source_lang="DE", target_lang="EN")
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_multilingual_glossary_entries(made, "DE", "EN")
    client.delete_multilingual_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_multilingual_glossary(made.glossary_id)


def test_the_package_knows_our_errors(address):
    with pytest.raises(deepl.AuthorizationException, match="Invalid API key"):
        deepl.Translator("wrong", server_url=address).translate_text("Hello", target_lang="DE")
    with pytest.raises(deepl.DeepLException, match="not supported: FR; served: DE, EN"):
        deepl.Translator("secret", server_url=address).translate_text("Hello", target_lang="FR")


# --- options and refusals


def test_style_options_are_ignored_with_a_warning(client):
    assert translated(client, text="Hello", formality="more")["warnings"] == ["formality is ignored"]
    assert "warnings" not in translated(client, text="Hello", formality="default")


def test_line_ends_split_sentences_unless_refused(client):
    texts = {mode: translated(client, text="Hello\nWorld", split_sentences=mode) for mode in ("1", "nonewlines", 0)}
    assert [one["translations"][0]["text"] for one in texts.values()] == ["Hallo\nWelt", *["de:Hello de:World"] * 2]


def test_billed_characters_are_those_of_the_text(client):
    [one] = translated(client, text="Hello", show_billed_characters=True)["translations"]
    assert one["billed_characters"] == len("Hello")


def test_context_reaches_models_that_read_it():
    engine = KnownEngine("en", "de")
    engine.info["read_together"] = 3
    with served([engine]) as client:
        client.post("/v2/translate", json={"text": "Hello", "target_lang": "DE", "context": "One. Two. Three."})
        client.post("/v2/translate", json={"text": "Hello", "target_lang": "DE"})
    assert [[line.source for line in one.texts] for one in engine.asked] == [["Hello\tTwo.\tThree.\tHello"], ["Hello"]]


def test_context_is_split_once_for_all_texts(monkeypatch):
    engine, split, read = KnownEngine("en", "de"), [], translating.text_document
    engine.info["read_together"] = 2
    monkeypatch.setattr(translating, "text_document", lambda text, *a, **b: split.append(text) or read(text, *a, **b))
    with served([engine]) as client:
        body = {"text": ["Hello", "World"], "target_lang": "DE", "context": "One. Two."}
        assert client.post("/v2/translate", json=body).status_code == 200
    assert split.count("One. Two.") == 1
    assert translating.TranslationRequest(["Hello"], "en", "de", context="Two.").size == len("HelloTwo.")


REFUSED = [
    ({}, 400, "Value for 'text' not specified"),
    ({"text": 5}, 400, "Value for 'text'"),
    ({"text": ["a", 5]}, 400, "Value for 'text'"),
    ({"text": "a", "target_lang": "FR"}, 400, "'target_lang' not supported: FR; served: DE, EN, PT-BR, ZH-HANS"),
    ({"text": "a", "target_lang": "EN", "source_lang": "FR"}, 400, "from FR: EN; served: PT-BR"),
    ({"text": "a", "source_lang": "XX"}, 400, "'source_lang' not supported: XX; served: DE, EN, FR"),
    ({"text": "a", "tag_handling": "json"}, 400, "Value for 'tag_handling'"),
    ({"text": ["a"] * 200}, 400, "at once"),
    ({"text": "a", "glossary_id": "none", "source_lang": "EN"}, 404, "Glossary not found"),
    ({"text": "a", "glossary_id": "none"}, 400, "source_lang"),
    ({"text": "a" * 60_000}, 413, "limit"),
]


@pytest.mark.parametrize(("fields", "status", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_has_a_message(client, fields, status, message):
    found = client.post("/v2/translate", json={"target_lang": "DE", **fields}, headers=HEADERS)
    assert (found.status_code, list(found.json())) == (status, ["message"])
    assert message in found.json()["message"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "DeepL-Auth-Key wrong"}])
def test_every_route_needs_the_key(client, headers):
    for path in ("languages", "usage", "glossaries", "glossary-language-pairs", "glossaries/a", "glossaries/a/entries"):
        assert client.get(f"/v2/{path}", headers=headers).status_code == 403
    assert client.post("/v2/translate", json={"text": "Hello", "target_lang": "DE"}, headers=headers).status_code == 403


def test_a_full_queue_is_refused_in_the_same_form():
    [engine] = pairs("en-de")
    engine.busy = 3
    with served([engine]) as client:
        found = client.post("/translate", json={"text": "a", "target_lang": "DE"}, headers=HEADERS)
        engine.busy, engine.fault = 0, Busy(2)
        later = client.post("/v2/translate", json={"text": "Hello", "target_lang": "DE"})
    assert [(one.status_code, list(one.json())) for one in (found, later)] == [(429, ["message"])] * 2
    assert (found.headers["Retry-After"], later.headers["Retry-After"]) == ("3", "2")


def test_another_key_sees_no_glossary(client):
    glossary = {"name": "g", "source_lang": "en", "target_lang": "de", "entries": TERMS}
    made = client.post("/v2/glossaries", json=glossary, headers=HEADERS).json()["glossary_id"]
    other = {"Authorization": "DeepL-Auth-Key other"}
    assert client.get("/v2/glossaries", headers=other).json() == {"glossaries": []}
    assert client.delete(f"/v2/glossaries/{made}", headers=other).status_code == 404
    assert client.delete(f"/v2/glossaries/{made}", headers=HEADERS).status_code == 204


@pytest.mark.parametrize(
    "change",
    [{"target_lang": "fr"}, {"entries": " \n"}, {"entries": "a\tb\tc"}, {"entries_format": "tbx"}, {"name": ""}],
)
def test_glossaries_that_are_refused(client, change):
    glossary = {"name": "g", "source_lang": "en", "target_lang": "de", "entries": TERMS, **change}
    found = client.post("/v2/glossaries", json=glossary, headers=HEADERS)
    assert (found.status_code, list(found.json())) == (400, ["message"])


PAIR = {("en", "de"): StoredTerms("a\tb", 1)}


def test_glossaries_in_a_folder_outlive_the_server(tmp_path, caplog):
    folder = tmp_path / "glossaries"
    store = GlossaryStore(folder)
    kept, gone = (asyncio.run(store.add("ann", name, PAIR)) for name in ("kept", "gone"))
    asyncio.run(store.delete("ann", gone.id))
    (folder / "torn.json").write_text('{"id": ', encoding="utf-8")
    assert GlossaryStore(folder).of("ann") == [kept]
    assert ["torn.json" in one.getMessage() for one in caplog.records] == [True]
    with pytest.raises(ConfigError, match="--glossaries"):
        GlossaryStore(folder / "torn.json")


def test_concurrent_changes_of_glossaries_take_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(glossary_store, "MOST_OWN", 1)
    store = GlossaryStore(tmp_path / "glossaries")

    async def case():
        first = await store.add("bob", "b", PAIR)

        async def changed(found):
            await asyncio.sleep(0.01)
            return found._replace(name=f"{found.name}x")

        await asyncio.gather(*(store.change("bob", first.id, changed) for _ in range(3)))
        assert store.find("bob", first.id).name == "bxxx"
        late = asyncio.create_task(store.change("bob", first.id, changed))
        await asyncio.sleep(0)
        found = await asyncio.gather(
            store.delete("bob", first.id),
            store.change("bob", first.id, changed),
            *(store.add("ann", "a", PAIR) for _ in range(3)),
            return_exceptions=True,
        )
        await late
        return [getattr(one, "status", 200) for one in found]

    assert sorted(asyncio.run(case())) == [200, 200, 404, 456, 456]
    assert [one.owner for one in GlossaryStore(tmp_path / "glossaries")._kept.values()] == ["ann"]


def test_a_client_that_leaves_does_not_tear_a_change(tmp_path):
    store = GlossaryStore(tmp_path / "glossaries")

    async def case():
        adding = asyncio.create_task(store.add("ann", "a", PAIR))
        await asyncio.sleep(0)
        adding.cancel()
        await asyncio.gather(adding, return_exceptions=True)
        async with asyncio.timeout(10):
            while not store.of("ann"):
                await asyncio.sleep(0.001)

    asyncio.run(case())
    assert GlossaryStore(tmp_path / "glossaries").of("ann") == store.of("ann")


def test_keys_own_their_glossaries_wherever_they_stand(tmp_path):
    file, folder = tmp_path / "keys", tmp_path / "glossaries"
    glossary = {"name": "g", "source_lang": "en", "target_lang": "de", "entries": TERMS}

    def seen(keys):
        file.write_text(keys, encoding="utf-8")
        with served(settings=Settings(keys=Keys(["typed"], file), glossaries=folder)) as client:
            if not [*folder.glob("*.json")]:
                for key in ("secret", "named", "typed"):
                    asked = {"Authorization": f"DeepL-Auth-Key {key}"}
                    assert client.post("/v2/glossaries", json=glossary, headers=asked).status_code == 201
            headers = [
                {"Authorization": f"DeepL-Auth-Key {key}"} for key in ["secret", "typed", "new", "named", "next"]
            ]
            answers = [client.get("/v2/glossaries", headers=one) for one in headers]
            return [len(one.json().get("glossaries", ())) for one in answers]

    assert seen("secret\nnamed\tann\n") == [1, 1, 0, 1, 0]
    assert seen("new\nsecret\nnext\tann\n") == [1, 1, 0, 0, 1]
    assert "secret" not in "".join(one.read_text("utf-8") for one in folder.iterdir())


def test_a_cell_of_several_lines_is_one_term(client):
    glossary = {"name": "g", "source_lang": "en", "target_lang": "de", "entries_format": "csv"}
    made = client.post("/v2/glossaries", json={**glossary, "entries": '"old\nman",Greis\r\ndog,Hund'}, headers=HEADERS)
    assert made.json()["entry_count"] == 2
    found = client.get(f"/v2/glossaries/{made.json()['glossary_id']}/entries", headers=HEADERS)
    assert found.text == "old man\tGreis\ndog\tHund"
    client.delete(f"/v2/glossaries/{made.json()['glossary_id']}", headers=HEADERS)


@pytest.mark.parametrize(
    ("limit", "value"),
    [("MOST_GLOSSARIES", 0), ("MOST_CHARACTERS", 5), ("MOST_OWN", 0), ("MOST_OWN_CHARACTERS", 5)],
)
def test_a_full_store_is_a_used_up_quota(client, monkeypatch, limit, value):
    monkeypatch.setattr(glossary_store, limit, value)
    glossary = {"name": "g", "source_lang": "en", "target_lang": "de", "entries": TERMS}
    assert client.post("/v2/glossaries", json=glossary, headers=HEADERS).status_code == 456


@pytest.mark.parametrize(
    ("code", "served", "found"),
    [("EN-GB", "en", "en"), ("pt_BR", "pt,pb", "pb"), ("PT-PT", "pb", "pb"), ("deu", "de", "de"), ("zho", "zh", "zh"),
     ("ZH-HANT", "zh", "zt"), ("zh-TW", "zh,zt", "zt"), ("zh_Hans", "zh", "zh"), ("xx", "en", "xx"), ("", "en", "")],
)  # fmt: skip
def test_a_code_means_the_served_language(code, served, found):
    assert served_code(code, served.split(",")) == found


def test_programs_are_switched_off():
    with served(settings=Settings(programs=())) as client:
        assert client.get("/v2/usage").json() == {"error": "Not Found"}
        asked = client.post("/translate", json={"text": "a", "target_lang": "DE"}, headers=HEADERS)
        assert asked.json() == {"error": "Invalid request: missing q parameter"}
    assert set(ALL_PROGRAMS) == set(PROGRAMS)
    assert (read_programs("--programs", " DeepL,deepl"), read_programs("--programs", "none")) == (("deepl",), ())
    with pytest.raises(ConfigError, match="did you mean 'deepl'"):
        read_programs("--programs", "deeple")
