"""The pages, their files, and the description of the API."""

import json
import re

import pytest
from browsing import Visit, chromium
from known_engine import listening_server, served

from regard.serve.settings import Settings

NONCE = re.compile(r"script-src 'nonce-([\w-]+)'")
OUTSIDE = re.compile(r"""(?:src|href)=["'](?:https?:)?//""")


@pytest.fixture(scope="module", params=["", "/tools/regard"], ids=["at the top", "below"])
def client(request):
    with served(settings=Settings(url_prefix=request.param)) as found:
        found.prefix = request.param
        yield found


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_brings_all_it_needs(client, path):
    found = client.get(client.prefix + path)
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    [nonce] = NONCE.findall(found.headers["Content-Security-Policy"])
    scripts = re.findall(r"<(?:script|style)\b[^>]*>", found.text)
    assert scripts
    assert all(f'nonce="{nonce}"' in tag for tag in scripts)
    assert (OUTSIDE.findall(found.text), "{{" in found.text, " style=" in found.text) == ([], False, False)


def test_files_of_the_pages(client):
    for name, kind in (
        ("docs/swagger-ui.css", "text/css"),
        ("docs/swagger-ui-bundle.js", "javascript"),
        ("explain/page.css", "text/css"),
    ):
        found = client.get(f"{client.prefix}/static/{name}")
        assert (found.status_code, kind in found.headers["content-type"]) == (200, True)
        again = client.get(f"{client.prefix}/static/{name}", headers={"If-None-Match": found.headers["ETag"]})
        assert (again.status_code, again.headers["Cache-Control"]) == (304, "no-cache")


@pytest.mark.parametrize(
    "name",
    ["", "nothing.js", "../app.py", "..%2fapp.py", "%2e%2e/app.py", "....//app.py", "explain/../../app.py", "a%00b"],
)
def test_nothing_else_is_shown(client, name):
    found = client.get(f"{client.prefix}/static/{name}")
    assert (found.status_code, list(found.json())) == (404, ["error"])


def test_the_view_of_attention_as_a_page_to_keep(client):
    found = client.get(f"{client.prefix}/static/explain/standalone.html")
    assert "sandbox" in found.headers["Content-Security-Policy"]
    assert '"predictions":[]' in found.text


def test_without_a_page():
    with served(settings=Settings(web_ui=False)) as client:
        paths = ["/", "/static/explain/page.css", "/static/explain/standalone.html"]
        assert [client.get(path).status_code for path in paths] == [404] * 3
        assert client.get("/docs").status_code == 200


def test_everything_stands_below_the_prefix(client):
    other = "" if client.prefix else "/tools"
    assert client.get(f"{client.prefix}/languages").status_code == 200
    assert client.get(f"{other or '/x'}/languages").status_code == 404
    assert set(client.get(f"{client.prefix}/openapi.json").json()["paths"]) >= {f"{client.prefix}/v1/models"}


def test_the_prefix_leads_to_the_page(client):
    if client.prefix:
        found = client.get(client.prefix, follow_redirects=False)
        assert (found.status_code, found.headers["Location"]) == (308, f"{client.prefix}/")
        assert client.post(client.prefix, json={}).status_code == 405


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/health", "/healthz", "/readyz", "/languages", "/static/explain/page.css"]
)
def test_the_head_of_an_answer_alone(client, path):
    found, whole = client.head(client.prefix + path), client.get(client.prefix + path)
    assert (found.status_code, found.content) == (200, b"")
    assert found.headers["Content-Length"] == str(len(whole.content))


def test_references_of_the_description_lead_somewhere(client):
    """A reference into `$defs` of one body is looked for in the whole description, where it is not."""
    found = client.get(f"{client.prefix}/openapi.json").json()
    named = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(found)))
    assert named and named <= {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}


def test_the_description_of_the_api(client):
    found = client.get(f"{client.prefix}/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    post = found["paths"][f"{client.prefix}/translate"]["post"]
    assert set(post["requestBody"]["content"]) == {
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    }
    assert {"200", "400", "403", "413", "429", "503"} <= set(post["responses"])
    assert client.get(f"{client.prefix}/spec").json() == found


@pytest.mark.slow
def test_the_api_can_be_tried_in_a_browser():
    """Under the strict policy, with nothing from outside."""
    with listening_server() as (address, *_), chromium() as browser:
        visit = Visit(browser, f"{address}docs", allowed=(address,))
        visit.tab.get_by_role("button", name="POST /translate Translate Texts").click()
        visit.tab.get_by_role("button", name="Try it out").click()
        visit.tab.get_by_role("button", name="Execute").click()
        visit.tab.get_by_text('"translatedText": "de:The de:old').first.wait_for()
        assert visit.faults == []
