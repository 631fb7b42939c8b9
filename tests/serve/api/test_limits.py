"""What GET /v1/limits tells is what is refused, and no stranger can fill the memory with glossaries."""

import asyncio

from known_engine import KnownEngine, served
from questions import HELLO

from regard.serve import glossaries
from regard.serve.glossaries import Glossaries
from regard.serve.settings import Settings


def test_limits_are_those_that_refuse():
    settings = Settings(max_terms=3, max_term_alternatives=2)
    with served([KnownEngine("en", "de")], settings=settings) as client:
        limits = client.get("/v1/limits").json()
        for glossary, status in (
            ("\n".join(f"w{number}" for number in range(limits["glossary_terms"])), 200),
            ("\n".join(f"w{number}" for number in range(limits["glossary_terms"] + 1)), 413),
            ("w\t" + "|".join(["x", "y", "z"][: limits["term_alternatives"]]), 200),
            ("w\t" + "|".join(["x", "y", "z"][: limits["term_alternatives"] + 1]), 413),
        ):
            assert client.post("/v1/translate", json={**HELLO, "glossary": glossary}).status_code == status
        forced = {"source_text": "Hello", "target_text": "Hallo", "source": "en", "target": "de"}
        reasons = ["lrp"] * limits["methods"]
        assert client.post("/v1/explain", json={**forced, "reasons": reasons}).status_code == 200
        assert client.post("/v1/explain", json={**forced, "reasons": [*reasons, "lrp"]}).status_code == 400


def test_texts_without_terms_are_not_kept_without_end(monkeypatch):
    monkeypatch.setattr(glossaries, "KEPT_CHARACTERS", 2**18)

    async def case():
        known = Glossaries(50_000, 50)
        for size in range(10):
            await known.read("\n" * (2**16 + size), ("en", "de"))
        await known.read("dog\tHund", ("en", "de"))
        return sum(len(text) for text, _ in known._kept), [len(one) for one in known._kept.values()][-1]

    characters, terms = asyncio.run(case())
    assert (characters <= 2**18, terms) == (True, 1)
