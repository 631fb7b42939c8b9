"""Translation memories of a server: exact and similar segments in its answers, and confirmed ones."""

import asyncio
import sqlite3
import time
from dataclasses import replace

import pytest
from known_engine import KnownEngine, served
from questions import ask, plain

from regard.errors import ConfigError, DataError
from regard.memory import TranslationMemory, TranslationUnit
from regard.serve.engine.faults import TooLate
from regard.serve.memories import Memories, MemoryQuery, ServedMemory
from regard.serve.security import Keys
from regard.serve.settings import Settings


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "en-de.memory"
    memory = TranslationMemory(path, ("en", "de"))
    memory.add([TranslationUnit("A dog runs.", "Ein Hund rennt."), TranslationUnit("The cat sits.", "Sie sitzt.")])
    memory.close()
    return path


def found(memory, *texts, **options):
    return asyncio.run(memory.search(texts, **options))


def test_a_memory_is_found_by_its_languages(place):
    memories = Memories([place], 70)
    assert (memories.pairs, memories.of("de", "en")) == ([("en", "de")], None)
    exact, none, similar = found(memories.of("EN", "de"), "A dog runs.", "", "A fat cat sits.", threshold=40)
    assert [(one.percent, one.target) for one in exact[:1]] == [(100, "Ein Hund rennt.")]
    assert (none, similar[0].target, similar[0].percent) == ([], "Sie sitzt.", 50)


def test_two_memories_of_one_pair_are_refused(place, tmp_path):
    TranslationMemory(tmp_path / "other.memory", ("en", "de"))
    with pytest.raises(ConfigError, match="both en → de"):
        Memories([place, tmp_path / "other.memory"], 70)
    with pytest.raises(DataError, match="no such memory"):
        Memories([tmp_path / "gone.memory"], 70)


def test_a_memory_that_no_run_can_use_is_reported(place, caplog):
    memories = Memories([place], 70)
    memories.check([("de", "en"), ("en", "de")])
    assert not caplog.records
    memories.check([("de", "en"), ()])
    assert "is en → de, which no run translates (the runs: de → en):" in caplog.text
    caplog.clear()
    with served([KnownEngine("de", "en")], Settings(memories=(place,))):
        assert "which no run translates" in caplog.text


def test_an_added_segment_is_found_next(place):
    memory = Memories([place], 70).of("en", "de")
    assert asyncio.run(memory.add([TranslationUnit("Good morning!", "Guten Morgen!")]))
    assert found(memory, "Good morning!")[0][0].target == "Guten Morgen!"


def test_a_broken_memory_finds_nothing_and_heals(place, caplog):
    memory = Memories([place], 70).of("en", "de")
    with sqlite3.connect(place) as other:
        other.execute("ALTER TABLE segments RENAME TO lost")
    assert found(memory, "A dog runs.", "The cat sits.") == [[], []]
    assert not asyncio.run(memory.add([TranslationUnit("Good morning!", "Guten Morgen!")]))
    assert len(caplog.records) == 1
    with sqlite3.connect(place) as other:
        other.execute("ALTER TABLE lost RENAME TO segments")
    assert found(memory, "A dog runs.")[0]


def test_a_replaced_file_is_opened_again(place):
    memory = Memories([place], 70).of("en", "de")
    assert asyncio.run(memory.add([TranslationUnit("x", "y")]))
    for file in place.parent.glob(f"{place.name}*"):
        file.unlink()
    assert found(memory, "A dog runs.") == [[]]
    assert not asyncio.run(memory.add([TranslationUnit("lost", "y")]))
    TranslationMemory(place, ("en", "de"))
    assert asyncio.run(memory.add([TranslationUnit("new", "y")]))
    assert [one.source for one in TranslationMemory(place).segments()] == ["new"]


def test_searches_do_not_wait_for_a_program_that_writes(place):
    memory = Memories([place], 70).of("en", "de")
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert found(memory, "A dog runs.")[0]
    other.rollback()


def test_a_memory_is_closed_after_a_search_that_came_too_late(place, monkeypatch):
    memory, events = Memories([place], 70).of("en", "de"), []
    monkeypatch.setattr(TranslationMemory, "search", lambda *_, **__: time.sleep(0.3) or events.append("searched"))
    monkeypatch.setattr("regard.serve.memories._SEARCH_SECONDS", 0.05)

    async def case():
        assert await memory.search(["A dog runs."]) == [[]]
        monkeypatch.setattr(TranslationMemory, "close", lambda _: events.append("closed"))
        await memory.close()

    asyncio.run(case())
    assert events == ["closed", "searched", "closed"]  # the connection of exact matches was free


def test_a_confirmed_translation_is_the_newest_segment(place):
    with served(settings=Settings(memories=(place,))) as client:
        for text in ("Servus.", "Grüß Gott.", "Servus."):
            body = {"q": "Hello.", "s": text, "source": "en", "target": "de"}
            assert plain(ask(client, "/suggest", body, "json")) == (200, {"success": True})
        assert ask(client, "/suggest", {**body, "source": "de", "target": "en"}, "json").status_code == 403
    assert [one.target for one in TranslationMemory(place).search("Hello.")] == ["Servus.", "Grüß Gott."]


def test_sentences_of_a_confirmed_text_are_segments(place):
    with served(settings=Settings(memories=(place,))) as client:
        for text in ("Guten Morgen. Wie geht es?", "Guten Morgen, wie geht es dir heute?"):
            body = {"q": "Good morning. How are you?", "s": text, "source": "en", "target": "de"}
            assert ask(client, "/suggest", body, "json").status_code == 200
    units = [(one.source, one.target, one.before) for one in TranslationMemory(place).segments()][2:]
    assert units[:2] == [("Good morning.", "Guten Morgen.", ""), ("How are you?", "Wie geht es?", "Good morning.")]
    assert units[2:] == [(body["q"], text, "")]


OPEN = Settings(host="0.0.0.0", insecure=True)
UNIT = {"source_text": "Hello.", "target_text": "Wrong.", "source": "en", "target": "de"}
WRITES = {
    "/suggest": {"q": "Hello.", "s": "Wrong.", "source": "en", "target": "de"},
    "/v1/corrections": UNIT,
    "/v1/memory": UNIT,
    "/tmserver/en/de/unit/Hello.": {"source": "Hello.", "target": "Wrong."},
}


@pytest.mark.parametrize(
    "changes", [{}, {"host": "127.0.0.1", "trusted_proxies": ("127.0.0.1",)}], ids=["open", "proxied"]
)
def test_strangers_cannot_add_to_a_memory(place, tmp_path, changes):
    settings = replace(OPEN, memories=(place,), **changes)
    with served(settings=settings) as client:
        assert [ask(client, path, body, "json").status_code for path, body in WRITES.items()] == [403] * 4
        assert "memories" not in client.get("/frontend/settings").json()
        assert told(client, q="A dog runs.")["texts"][0]["translatedText"] == "Ein Hund rennt."
    with served(settings=replace(settings, suggestions=tmp_path / "better.jsonl")) as client:
        assert ask(client, "/suggest", WRITES["/suggest"], "json").status_code == 200
    assert len(TranslationMemory(place)) == 2


@pytest.mark.parametrize("changes", [{"insecure_memory": True}, {"keys": Keys(["secret"])}, {"host": "127.0.0.2"}])
def test_known_clients_add_to_a_memory(place, changes):
    with served(settings=replace(OPEN, memories=(place,), **changes)) as client:
        headers = {"Authorization": "Bearer secret"}
        done = [ask(client, path, body, "json", **headers).status_code for path, body in WRITES.items()]
        assert done == [200] * 4
        assert client.get("/frontend/settings").json()["memories"] == [["en", "de"]]


@pytest.fixture
def client(place):
    with served(settings=Settings(memories=(place,))) as found:
        yield found


def told(client, path="/v1/translate", **body):
    found = ask(client, path, {"source": "en", "target": "de", **body}, "json")
    assert found.status_code == 200, found.text
    return found.json()


def test_exact_matches_answer_and_the_model_the_rest(client):
    [text] = told(client, q="Good morning! A dog runs.\nThe fat cat sits.", n_best=2)["texts"]
    assert text["translatedText"] == "Guten Morgen! Ein Hund rennt.\nde:The de:fat de:cat de:sits."
    first, second, third = [one.get("details", {}).get("memory") for one in text["sentences"]]
    assert (first, second[0]["percent"], second[0]["differs"]) == (None, 100, [])
    assert (third[0]["percent"], third[0]["target"]) == (75, "Sie sitzt.")
    assert [one[0] for one in third[0]["differs"]] == ["fat "]
    assert told(client, q="A dog runs.", memory=False)["texts"][0]["translatedText"] == "de:A de:dog de:runs."


def test_explanations_of_a_stored_translation_are_the_models(client):
    [text] = told(client, q="A dog runs.", explain=True)["texts"]
    [sentence] = text["sentences"]
    assert (text["translatedText"], sentence["explanation"]["maps"]) == ("Ein Hund rennt.", [])
    assert [one["text"] for one in sentence["explanation"]["target_words"]][:2] == ["Ein", "Hund"]


def test_libretranslate_has_segments_if_asked(client):
    plain = told(client, "/translate", q=["A dog runs.", "Good morning!"])
    assert plain == {"translatedText": ["Ein Hund rennt.", "Guten Morgen!"]}
    [first], second = told(client, "/translate", q=["A dog runs.", "Good morning!"], memory=True)["memory"]
    assert (first["percent"], first["target"], second) == (100, "Ein Hund rennt.", [])
    assert told(client, "/translate", q="A dog runs.", memory=False) == {"translatedText": "de:A de:dog de:runs."}
    assert (
        ask(client, "/translate", {"q": "a", "source": "en", "target": "de", "memory": "x"}, "json").status_code == 400
    )


def test_a_stored_translation_keeps_its_own_placeholders_and_markup_has_a_place(client, place):
    TranslationMemory(place).add([TranslationUnit("Open {file} 10 times.", "{file} zehnmal öffnen.")])
    assert told(client, q="Open {file} 10 times.")["texts"][0]["translatedText"] == "{file} zehnmal öffnen."
    found = told(client, q="<p>A <b>dog</b> runs.</p>", format="html")["texts"][0]["translatedText"]
    assert found == "<p>Ein <b>Hund</b> rennt.</p>"


def test_a_confirmed_text_is_the_next_answer(client):
    for target in ("Guten Tag, Welt! Wie geht es?", "Na, wie geht es, Welt?"):
        stored = told(client, "/v1/memory", source_text="Hello, World! How are you?", target_text=target)
        assert stored == {"segments": 2 if target.startswith("Guten") else 1}
        [text] = told(client, q="  Hello, World! How are you?\n")["texts"]
        assert text["translatedText"] == f"  {target}\n"
    assert len(text["sentences"]) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [({"source": "de", "target": "en"}, 403), ({"source": ""}, 400), ({"target_text": " "}, 400), ({"before": 7}, 400)],
)
def test_refused_confirmations(client, body, status):
    whole = {"source_text": "Hello", "target_text": "Hallo", "source": "en", "target": "de", **body}
    assert ask(client, "/v1/memory", whole, "json").status_code == status


def test_files_are_answered_by_the_memory(client):
    data = b"<p>A <i>dog</i> runs.</p><p>Good morning!</p>"
    body = {"source": "en", "target": "de"}
    found = client.post("/translate_file", data=body, files={"file": ("a.html", data)}).json()
    assert found["memory"] == {"sentences": 2, "reused": 1}
    assert "Ein <i>Hund</i> rennt." in client.get(found["translatedFileUrl"]).text
    found = client.post("/translate_file", data={**body, "memory": "false"}, files={"file": ("a.html", data)}).json()
    assert "memory" not in found


def test_a_locked_memory_does_not_stop_translations(place, monkeypatch):
    monkeypatch.setattr("regard.serve.memories._SEARCH_SECONDS", 0.2)
    monkeypatch.setattr("regard.serve.memories._ADD_SECONDS", 0.2)
    with served(settings=Settings(memories=(place,))) as client:
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert told(client, q="A dog runs.")["texts"][0]["translatedText"] == "Ein Hund rennt."
        confirmed = {"source_text": "x", "target_text": "y", "source": "en", "target": "de"}
        assert ask(client, "/v1/memory", confirmed, "json").status_code == 503
        other.rollback()
        assert ask(client, "/v1/memory", confirmed, "json").status_code == 200


def test_exact_matches_of_all_sentences_are_one_query_and_wait_for_no_search(place, monkeypatch):
    memory, queries, rows = Memories([place], 70).of("en", "de"), [], TranslationMemory._rows
    monkeypatch.setattr(TranslationMemory, "_rows", lambda self, *what: queries.append(what[0]) or rows(self, *what))

    async def case():
        await memory._similar.slot._free.acquire()
        return await memory.recall([MemoryQuery("", ["A dog runs.", "The cat sits.", "x"], "y")] * 3)

    found = asyncio.run(asyncio.wait_for(case(), 20))
    assert [[len(matches) for matches in one.recall.matches] for one in found] == [[1, 1, 0]] * 3
    assert len(queries) == 1


def test_similar_segments_are_searched_if_they_are_reported(client, monkeypatch):
    searched, search = [], ServedMemory.search
    monkeypatch.setattr(ServedMemory, "search", lambda self, texts: searched.append(texts) or search(self, texts))
    told(client, "/translate", q="The fat cat sits.")
    ask(client, "/v2/translate", {"text": "The fat cat sits.", "target_lang": "DE"}, "json")
    client.get("/translate", params={"langpair": "en|de", "q": "The fat cat sits."})
    assert searched == []
    told(client, "/translate", q="The fat cat sits.", memory=True)
    told(client, q="The fat cat sits.")
    assert searched == [["The fat cat sits."]] * 2


def test_a_memory_that_cannot_be_searched_is_reported(client, place):
    with sqlite3.connect(place) as other:
        other.execute("ALTER TABLE segments RENAME TO lost")
    assert told(client, "/translate", q="A dog runs.")["warnings"]
    [text] = told(client, q="A dog runs.")["texts"]
    assert (text["translatedText"], "memory" in text["sentences"][0]["details"]["warning"]) == (
        "de:A de:dog de:runs.",
        True,
    )
    assert len(sent(client, "A dog runs. The cat sits.", "a.txt")["warnings"]) == 1


def test_a_server_closes_its_memories(place):
    with served(settings=Settings(memories=(place,))) as client:
        told(client, "/v1/memory", **UNIT)
        told(client, q="Hello.")
    assert [one.name for one in place.parent.iterdir()] == [place.name]  # no log of SQLite


def sent(client, text, name, **fields):
    given = {"source": "en", "target": "de", **fields}
    return client.post("/translate_file", data=given, files={"file": (name, text.encode())}).json()


def test_stored_sentences_with_markup_alone_are_aligned_in_parts(place, monkeypatch):
    monkeypatch.setattr("regard.serve.translating._PART", 1)
    engine = KnownEngine("en", "de")
    page = "<p>A <b>dog</b> runs.</p><p>The cat sits.</p><p>The <b>cat</b> sits.</p>"
    with served([engine], Settings(memories=(place,))) as client:
        assert "warnings" not in sent(client, page, "a.html")
        assert [[text[:2] for text in one.texts] for one in engine.asked] == [
            [("A dog runs.", "Ein Hund rennt.")],
            [("The cat sits.", "Sie sitzt.")],
        ]
        engine.fault = TooLate("too long")
        assert len(sent(client, page, "a.html")["warnings"]) == 2


def test_terms_that_a_stored_translation_lacks_are_reported(client):
    [text] = told(client, q="A dog runs.", glossary="dog\tKöter\nruns\trennt")["texts"]
    [sentence] = text["sentences"]
    assert text["translatedText"] == "Ein Hund rennt."
    assert [one["used"] for one in sentence["details"]["terms"]] == [False, True]
    assert "Köter" in sentence["details"]["warning"]
    [count] = sent(client, "A dog runs.", "a.txt", glossary="dog\tKöter")["terms"]
    assert (count["found"], count["used"]) == (1, 0)


def test_similar_segments_have_a_limit(client, monkeypatch):
    monkeypatch.setattr("regard.serve.memories.MOST_SEARCHED", 1)
    found = told(client, q=["The fat cat sits."] * 2 + ["A dog runs."])["texts"]
    assert [len(one["sentences"][0].get("details", {}).get("memory", [])) for one in found] == [1, 0, 1]
