"""Who may ask: keys, requests a minute, and the ban."""

import pytest
from known_engine import served
from questions import HELLO, KINDS, ask, plain

from regard.serve.security import Keys
from regard.serve.settings import Settings


@pytest.mark.parametrize("kind", KINDS)
def test_keys(kind):
    with served(settings=Settings(keys=Keys(["secret"]))) as client:
        told = {"error": "Please contact the server operator to get an API key"}
        assert plain(ask(client, "/translate", HELLO, kind)) == (400, told)
        assert plain(ask(client, "/translate", {**HELLO, "api_key": ""}, kind)) == (400, told)
        wrong = ask(client, "/translate", {**HELLO, "api_key": "public"}, kind)
        assert plain(wrong) == (403, {"error": "Invalid API key"})
        assert ask(client, "/translate", {**HELLO, "api_key": "secret"}, kind).status_code == 200
        assert ask(client, "/translate", HELLO, kind, Authorization="Bearer secret").status_code == 200
        assert ask(client, "/translate", HELLO, kind, Authorization="Bearer public").status_code == 403
        assert client.get("/languages").status_code == 200
        assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_where_a_key_can_be_had():
    with served(settings=Settings(keys=Keys(["secret"]), key_link="https://example.org")) as client:
        told = {"error": "Visit https://example.org to get an API key"}
        assert plain(ask(client, "/translate", HELLO, "json")) == (400, told)


def test_the_key_comes_before_the_question():
    with served(settings=Settings(keys=Keys(["secret"]))) as client:
        assert ask(client, "/translate", {}, "json").json()["error"].startswith("Please contact")


def test_requests_a_minute_and_the_ban():
    with served(settings=Settings(req_limit=2, req_flood_threshold=1)) as client:
        found = [ask(client, "/translate", HELLO, "json") for _ in range(5)]
        assert [response.status_code for response in found] == [200, 200, 429, 429, 403]
        assert found[2].json() == {"error": "Slowdown: 2 per 1 minute"}
        assert 1 <= int(found[2].headers["Retry-After"]) <= 61
        assert found[4].json() == {"error": "Too many request limits violations"}
        assert client.get("/languages").status_code == 200


@pytest.mark.parametrize("where", ["body", "head"])
def test_wrong_keys_count_as_requests(where):
    """Or they could be guessed."""
    with served(settings=Settings(keys=Keys(["secret"]), req_limit=2, req_flood_threshold=1)) as client:
        fields = {**HELLO, "api_key": "guess"} if where == "body" else HELLO
        headers = {} if where == "body" else {"Authorization": "Bearer guess"}
        found = [ask(client, "/translate", fields, "json", **headers) for _ in range(5)]
    assert [response.status_code for response in found] == [403, 403, 429, 429, 403]
    assert found[-1].json() == {"error": "Too many request limits violations"}
