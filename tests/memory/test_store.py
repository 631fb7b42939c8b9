"""A translation memory: what is added is found, by equal and by similar text, whatever is killed."""

import math
import multiprocessing
import os
import random
import signal
import sqlite3
import time
from itertools import pairwise

import pytest

from regard.errors import DataError
from regard.memory import TranslationMemory
from regard.memory import TranslationUnit as Unit
from regard.memory.similarity import differences, percent_of, segment_words

LANGUAGES = ("en", "de")
WORDS = ["a", "the", "dog", "cat", "house", "man", "runs", "sits", "red", "green", "small", "over", "under", "field"]


@pytest.fixture
def memory(tmp_path):
    return TranslationMemory(tmp_path / "en-de.memory", LANGUAGES)


def sentences(count, seed):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in range(count)]


def likeness(one, other):
    """The edit distance by its recurrence, as per cent."""
    rows = [*range(len(other) + 1)]
    for i, word in enumerate(one, start=1):
        before, rows[0] = rows[0], i
        for j, another in enumerate(other, start=1):
            before, rows[j] = rows[j], min(rows[j] + 1, rows[j - 1] + 1, before + (word != another))
    return int(100 * (1 - rows[-1] / max(len(one), len(other))) + 1e-9)


@pytest.mark.parametrize("threshold", [40, 60, 70, 85])
def test_the_index_finds_what_a_search_of_all_finds(memory, threshold):
    texts = [*dict.fromkeys(sentences(400, 1))]
    memory.add(Unit(text, text.upper()) for text in texts[:300])
    for text in texts[300:]:
        memory.add([Unit(text, text.upper())])
    for text in sentences(60, 2):
        words = text.split()
        wanted = sorted((min(99, likeness(words, one.split())) for one in texts if one != text), reverse=True)
        found = memory.search(text, threshold=threshold, limit=400)
        assert [one for one in wanted if one >= threshold] == [one.percent for one in found if one.percent < 100]
        assert (text in texts) == any(one.percent == 100 for one in found)


def test_words_that_decide_nothing_are_not_read(memory, monkeypatch):
    """Where no segment has one of the rarest words, none can be similar, and frequent words stay unread."""
    memory.add([Unit(f"frequent word {number}", "x") for number in range(9)])
    memory.add([Unit("seldom seen", "y")])
    read, whole = [], memory._index._postings
    monkeypatch.setattr(memory._index, "_postings", lambda *given: read.append(given) or whole(*given))
    assert memory.search("seldom frequent word unheard of here", threshold=50) == []
    assert len(read) == 1
    assert [one.source for one in memory.search("frequent word 3 3", threshold=50)][:1] == ["frequent word 3"]


def test_relevance_is_similarity_and_the_share_of_rare_words(memory):
    """Brute force: the mean of the similarity and of the share of log(1 + segments / segments with the word)."""
    texts = [*dict.fromkeys(sentences(40, 5))]
    memory.add(Unit(text, text.upper()) for text in texts)
    often = {word: sum(word in text.split() for text in texts) for word in WORDS}
    for text in [*sentences(20, 6), texts[3], "unheard of cat"]:
        words = text.split()
        rarity = {word: math.log1p(len(texts) / often.get(word, 1)) for word in words}
        wanted = {}
        for other in texts:
            shared = sum(rarity[word] for word in {*words} & {*other.split()})
            alike = min(99, likeness(words, other.split())) / 100
            if shared and len(other.split()) <= 4 * len(words) + 4:  # others are too long
                wanted[other] = 1.0 if other == text else (alike + shared / sum(rarity.values())) / 2
        found = memory.related(text, threshold=1, limit=40)
        assert {one.match.source: pytest.approx(one.relevance, abs=1e-9) for one in found} == {
            other: value for other, value in wanted.items() if value >= 0.01
        }
        assert [one.relevance for one in found] == sorted((one.relevance for one in found), reverse=True)
        assert memory.related(text, threshold=1, limit=5) == found[:5]
        for least in range(10, 100, 10):
            known = [one for one in found if 100 * one.relevance >= least]
            assert memory.related(text, threshold=least, limit=40) == known


def test_a_segment_with_the_number_of_a_removed_one_is_related(memory):
    """Its length is its own: a minimum of relevance does not take it for the longer one before."""
    memory.add(Unit(f"filler{number} text", "x") for number in range(30))
    memory.add([Unit("a0 zz", "x"), Unit("a0 " + " ".join(f"s{number}" for number in range(40)), "x")])
    memory.remove("a0 " + " ".join(f"s{number}" for number in range(40)), "x")
    memory.add([Unit("a1 a2 a3 a4 b b b b b b", "y")])
    text = " ".join(f"a{number}" for number in range(10))
    found = [[one.match.target for one in memory.related(text, threshold=least, limit=9)] for least in (1, 34)]
    assert "y" in found[0] and found[1] == ["y"]


def test_the_nearest_in_length_of_segments_with_all_words_are_related(memory):
    memory.add([Unit("Cancel", "x"), Unit("...", "z")])
    memory.add(Unit(f"Cancel the download number {number} of today", "x") for number in range(600))
    memory.add([Unit("Cancel!", "y")])
    assert [one.relevance for one in memory.related("Cancel", threshold=10, limit=2)] == [1.0, pytest.approx(0.995)]
    assert [one.match.target for one in memory.related("...", threshold=10, limit=2)] == ["z"]
    memory.add([Unit(f"cancel {' '.join(map(str, range(40)))}", "long")])
    assert all(one.match.target == "x" for one in memory.related("Cancel it", threshold=1, limit=600)[2:])


def test_removed_segments_are_not_related_and_take_no_place(memory):
    texts = [f"Press the red button now {'!' * number}" for number in range(700)]
    memory.add(Unit(text, "x") for text in ["Press the red button", *texts])
    for text in texts:
        memory.remove(text, "x")
    memory.add([Unit("Press the red button", "x")] * 3, newest=True)
    assert [one.match.source for one in memory.related("Press the red button now", threshold=10, limit=4)] == [
        "Press the red button"
    ]


def test_frequent_words_find_no_related_segments(memory, monkeypatch):
    memory.add([Unit(f"frequent {number}", "x") for number in range(9)])
    assert len(memory.related("frequent", threshold=1, limit=20)) == 9
    monkeypatch.setattr("regard.memory.similarity._READ", 8)
    assert memory.related("frequent", threshold=1, limit=20) == []
    assert [one.match.source for one in memory.related("frequent 3", threshold=1, limit=20)] == ["frequent 3"]
    assert memory.related("", threshold=1, limit=20) == []


def test_joined_blocks_hold_the_same(memory, monkeypatch):
    monkeypatch.setattr("regard.memory.similarity._LOOSE", 50)
    texts = [*dict.fromkeys(sentences(200, 3))]
    for text in texts:
        memory.add([Unit(text, "x")])
    for text in texts:
        assert {one.source for one in memory.search(text, threshold=50, limit=300)} == {
            one for one in texts if likeness(text.split(), one.split()) >= 50
        }


def test_equal_texts_come_first_in_context_then_the_newest(memory):
    memory.add(
        [
            Unit("Open", "Öffnen", "File"),
            Unit("Open", "Offen", "State"),
            Unit("open!", "auf!"),
        ]
    )
    found = memory.search("Open", before="State")
    assert [(one.percent, one.target) for one in found] == [(101, "Offen"), (100, "Öffnen"), (99, "auf!")]
    assert [one.percent for one in memory.search("Open")] == [100, 100, 99]


def test_a_pair_stands_once_and_can_be_removed(memory):
    assert memory.add([Unit("A  dog", "Ein Hund"), Unit("A dog", "Ein Hund"), Unit("", "x")]) == 1
    assert len(memory) == 1
    assert memory.remove("A dog", "Ein Hund")
    assert not memory.remove("A dog", "Ein Hund")
    assert memory.search("A dog runs", threshold=50) == []


def test_an_author_is_removed_also_from_the_index(memory, tmp_path):
    texts = [*dict.fromkeys(sentences(200, 4))]
    units = [Unit(text, "x", author=("Ann", "Bob")[place % 3 == 0]) for place, text in enumerate(texts)]
    for some in (units[:50], units[50:51], units[51:]):
        memory.add(some)
    kept = [unit for unit in units if unit.author == "Bob"]
    assert memory.remove_author("Ann") == len(units) - len(kept) == len(units) - len(memory)
    assert memory.authors() == {"Bob": len(kept)} and memory.remove_author("Ann") == 0
    alone = TranslationMemory(tmp_path / "bob.memory", LANGUAGES)
    alone.add(kept)
    for text in texts:
        assert [one.source for one in memory.search(text)] == [one.source for one in alone.search(text)]
    (size, words), (wanted, counts) = (
        (
            sum(len(row[0]) for row in one._rows("SELECT segments FROM postings")),
            {*one._rows("SELECT word, count FROM words WHERE count > 0")},
        )
        for one in (memory, alone)
    )
    assert (size, words) == (wanted, counts)


def test_texts_without_spaces_are_compared_by_characters(memory):
    memory.add([Unit("我喜欢吃苹果", "I like apples")])
    (found,) = memory.search("我喜欢吃香蕉", threshold=60)
    assert found.percent == 66
    assert segment_words("Don't 我喜 go_2") == ["don't", "我", "喜", "go", "2"]


def test_a_text_without_words_matches_itself_alone(memory):
    memory.add([Unit("...", "…")])
    assert [one.percent for one in memory.search("...")] == [100]
    assert memory.search("!!!") == []


@pytest.mark.parametrize(
    ("text", "segment", "found"),
    [
        ("A red cat sits.", "A cat sits.", [("red ", "", 2)]),
        (
            "The cat, however, sits.",
            "The cat however sits",
            [("cat, ", "cat ", 4), ("however, ", "however ", 8), ("sits.", "sits", 16)],
        ),
        ("two cats", "Two cats", [("two ", "Two ", 0)]),
        ("a cat", "a cat sits", [("", "sits", 6)]),
        ("我喜欢吃香蕉", "我喜欢吃苹果", [("香蕉", "苹果", 4)]),
        ("...", "!", [("...", "!", 0)]),
        ("a cat", "a  cat ", []),
    ],
)
def test_only_what_differs_is_listed(text, segment, found):
    assert differences(text, segment) == found


def test_differences_turn_a_segment_into_the_text():
    for one, other in pairwise(sentences(60, 4)):
        made = segment = f'"{other}"'
        for text, stretch, place in reversed(differences(f"{one}.", segment)):
            assert text.strip() != stretch.strip() == segment[place:][: len(stretch)].strip()
            made = made[:place] + text + made[place + len(stretch) :]
        assert made.split() == f"{one}.".split()
    assert percent_of(["a", "b"], ["a", "c"]) == 50


def adds_until_killed(path, acknowledged):
    memory = TranslationMemory(path, LANGUAGES)
    for number in range(100_000):
        memory.add([Unit(f"sentence {os.getpid()} {number}", "x")])
        with open(acknowledged, "a", buffering=1) as file:
            file.write(f"sentence {os.getpid()} {number}\n")


def test_a_closed_memory_is_one_file(tmp_path):
    with TranslationMemory(tmp_path / "a.memory", LANGUAGES) as memory:
        memory.add([Unit("the dog", "der Hund")])
    assert [one.name for one in tmp_path.iterdir()] == ["a.memory"]
    (tmp_path / "b.memory").write_bytes((tmp_path / "a.memory").read_bytes())
    assert TranslationMemory(tmp_path / "b.memory").search("the dog")[0].target == "der Hund"


def test_a_memory_is_read_where_nothing_may_be_written(tmp_path, monkeypatch):
    with TranslationMemory(tmp_path / "a.memory", LANGUAGES) as memory:
        memory.add([Unit("the dog", "der Hund")])
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = TranslationMemory(tmp_path / "a.memory")
    assert found.search("the dog")[0].target == "der Hund" and found.related("dog", threshold=1, limit=1)
    assert [one.name for one in tmp_path.iterdir()] == ["a.memory"]
    with pytest.raises(DataError, match="is read-only"):
        found.add([Unit("the cat", "die Katze")])


def kill_writers(tmp_path, kills):
    """Kill processes that add segments; return the confirmed ones that are not found."""
    path, acknowledged = tmp_path / "m.memory", tmp_path / "acknowledged"
    TranslationMemory(path, LANGUAGES)
    context = multiprocessing.get_context("spawn")
    for _ in range(kills):
        writers = [context.Process(target=adds_until_killed, args=(path, acknowledged)) for _ in range(2)]
        for one in writers:
            one.start()
        size, until = acknowledged.stat().st_size if acknowledged.exists() else 0, time.monotonic() + 60
        while time.monotonic() < until and not (acknowledged.exists() and acknowledged.stat().st_size > size):
            time.sleep(0.01)
        for one in writers:
            os.kill(one.pid, signal.SIGKILL)
            one.join()
    memory = TranslationMemory(path)
    confirmed = acknowledged.read_text().split("\n")[:-1]
    assert confirmed
    lost = [text for text in confirmed if memory.search(text, limit=1)[0].percent < 100]
    return [*lost, *(text for text in confirmed[:50] if not memory.search(f"{text} more", limit=1, threshold=60))]


def test_what_is_confirmed_outlives_two_kills(tmp_path):
    assert kill_writers(tmp_path, 2) == []


@pytest.mark.slow
def test_what_is_confirmed_outlives_a_hundred_kills(tmp_path):
    assert kill_writers(tmp_path, 100) == []


def test_the_database_of_another_program_stays_as_it_is(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE own (value)")
    other.close()
    before = path.read_bytes()
    for languages in (None, LANGUAGES):
        with pytest.raises(DataError, match="is not a translation memory"):
            TranslationMemory(path, languages)
    assert path.read_bytes() == before
    with pytest.raises(DataError, match="cannot be opened"):
        TranslationMemory(tmp_path / "no folder" / "m.memory", LANGUAGES)


def test_a_memory_that_is_written_can_be_searched(memory):
    memory.add([Unit("A dog", "Ein Hund")])
    with memory._writing():
        assert [one.target for one in TranslationMemory(memory.path).search("A dog")] == ["Ein Hund"]


def test_a_text_longer_than_any_segment_has_no_match(memory):
    memory.add([Unit("word", "x")])
    assert memory.search(" ".join(f"word{number}" for number in range(50_000))) == []


def test_half_characters_are_replaced(memory):
    memory.add([Unit("a \ud800 dog", "x")])
    assert memory.search("a \ud800 dog")[0].percent == 100


def test_faults_are_one_line(tmp_path, memory):
    with pytest.raises(DataError, match="there is no such memory"):
        TranslationMemory(tmp_path / "none")
    (tmp_path / "text").write_text("not a memory, but a text that is long enough to be read " * 20)
    with pytest.raises(DataError, match="is not a translation memory"):
        TranslationMemory(tmp_path / "text")
    with pytest.raises(DataError, match="has en → de, not en → fr"):
        TranslationMemory(memory.path, ("en", "fr"))
