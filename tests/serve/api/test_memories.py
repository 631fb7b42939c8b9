"""Translation memories of a server: exact and similar segments in its answers, and confirmed ones."""

import asyncio
import sqlite3

import pytest
from known_engine import served
from questions import ask, plain

from regard.errors import ConfigError, DataError
from regard.memory import TranslationMemory, TranslationUnit
from regard.serve.memories import Memories
from regard.serve.settings import Settings


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "en-de.memory"
    memory = TranslationMemory(path, ("en", "de"))
    memory.add([TranslationUnit("A dog runs.", "Ein Hund rennt."), TranslationUnit("The cat sits.", "Sie sitzt.")])
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
    assert caplog.text.count("translating without the memory") == 1
    with sqlite3.connect(place) as other:
        other.execute("ALTER TABLE lost RENAME TO segments")
    assert found(memory, "A dog runs.")[0]


def test_searches_do_not_wait_for_a_program_that_writes(place):
    memory = Memories([place], 70).of("en", "de")
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert found(memory, "A dog runs.")[0]
    other.rollback()


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
