"""The memory server below /tmserver, with the requests that Weblate and Virtaal send."""

import json

import pytest
from known_engine import served

from regard.memory import TranslationMemory, TranslationUnit
from regard.serve.api import tmserver
from regard.serve.security import Keys
from regard.serve.settings import Settings

RUNS = {"source": "A dog runs.", "target": "Ein Hund rennt.", "quality": 100, "context": ""}


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "en-de.memory"
    units = [TranslationUnit("A dog runs.", "Ein Hund rennt."), TranslationUnit("1+1 / 2 %", "Eins und eins")]
    TranslationMemory(path, ("en", "de")).add(units)
    return path


def test_recorded_requests_find_the_memory(place):
    with served(settings=Settings(memories=(place,))) as client:
        assert client.get("/tmserver/languages/").json() == {"sourceLanguages": ["en"], "targetLanguages": ["de"]}
        weblate = client.get("/tmserver/en/de/unit/A%20dog%20runs.").json()
        virtaal = client.get("/tmserver/en/de/unit/A+dog+runs.").json()
        regional = client.get("/tmserver/en_us/de_at/unit/A%20dog%20runs.").json()
        assert [weblate, virtaal, regional] == [[RUNS]] * 3
        [similar] = client.get("/tmserver/en/de/unit/A%20dog%20runs%20fast.").json()
        assert 60 < similar["quality"] < 100
        [signs] = client.get("/tmserver/en/de/unit/1%2B1%20%2F%202%20%25").json()
        assert signs["target"] == "Eins und eins"
        assert client.get("/tmserver/de/en/unit/Ein%20Hund%20rennt.").json() == []


def test_nothing_is_found_without_a_memory():
    """A model's translation would look like a person's."""
    with served() as client:
        assert client.get("/tmserver/languages/").json() == {"sourceLanguages": [], "targetLanguages": []}
        assert client.get("/tmserver/en/de/unit/Hello").json() == []
        refused = client.put("/tmserver/en/de/unit/a", json={"source": "a", "target": "b"})
        assert (refused.status_code, list(refused.json())) == (404, ["error"])


def test_what_virtaal_saves_is_found_next(place):
    units = [{"source": "The cat sits.", "target": "Die Katze sitzt.", "context": ""}, {"source": "Gone", "target": ""}]
    with served(settings=Settings(memories=(place,))) as client:
        stored = client.post("/tmserver/en/de/store/po%2Fde.po", content=f"\ufeff{json.dumps(units)}".encode())
        assert (stored.status_code, stored.json()) == (200, {"added": 1})
        assert client.put("/tmserver/en/de/unit/Yes", json={"source": "Yes", "target": "Ja"}).json() == {"added": 1}
        found = [client.get(f"/tmserver/en/de/unit/{text}").json()[0] for text in ("The+cat+sits.", "Yes")]
    assert [one["target"] for one in found] == ["Die Katze sitzt.", "Ja"]


THREE = json.dumps([{"source": "a", "target": "b"}] * 3)


@pytest.mark.parametrize(
    ("body", "status"),
    [("", 400), ("5", 400), ("[5]", 400), ('[], "x": 1', 400), ('[{"source": "a"}]', 400), (THREE, 413)],
)
def test_segments_that_are_refused(place, monkeypatch, body, status):
    monkeypatch.setattr(tmserver, "MOST_UNITS", 2)
    with served(settings=Settings(memories=(place,))) as client:
        found = client.post("/tmserver/en/de/store/a.po", content=body)
        assert (found.status_code, list(found.json())) == (status, ["error"])


def test_saving_needs_its_right(place, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("reader\tann\ttranslate\nwriter\tbob\tsuggest\n", encoding="utf-8")
    unit = {"source": "Yes", "target": "Ja"}
    with served(settings=Settings(memories=(place,), keys=Keys(file=keys))) as client:
        for key, statuses in {"reader": [200, 403], "writer": [403, 200], "": [400, 400]}.items():
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            found = [client.get("/tmserver/en/de/unit/Yes", headers=headers)]
            found.append(client.put("/tmserver/en/de/unit/Yes", json=unit, headers=headers))
            assert [one.status_code for one in found] == statuses
