"""What GET /v1/limits tells is what is refused."""

from known_engine import KnownEngine, served

from regard.serve.settings import Settings


def test_limits_are_those_that_refuse():
    settings = Settings(max_terms=3, max_term_alternatives=2)
    with served([KnownEngine("en", "de")], settings=settings) as client:
        limits = client.get("/v1/limits").json()
        asked = {"q": "Hello", "source": "en", "target": "de"}
        for glossary, status in (
            ("\n".join(f"w{number}" for number in range(limits["glossary_terms"])), 200),
            ("\n".join(f"w{number}" for number in range(limits["glossary_terms"] + 1)), 413),
            ("w\t" + "|".join(["x", "y", "z"][: limits["term_alternatives"]]), 200),
            ("w\t" + "|".join(["x", "y", "z"][: limits["term_alternatives"] + 1]), 413),
        ):
            assert client.post("/v1/translate", json={**asked, "glossary": glossary}).status_code == status
        forced = {"source_text": "Hello", "target_text": "Hallo", "source": "en", "target": "de"}
        reasons = ["lrp"] * limits["methods"]
        assert client.post("/v1/explain", json={**forced, "reasons": reasons}).status_code == 200
        assert client.post("/v1/explain", json={**forced, "reasons": [*reasons, "lrp"]}).status_code == 400
