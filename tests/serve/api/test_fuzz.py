"""Whatever is asked, the server has no fault: schemathesis over the whole description, hypothesis in small."""

import json
import os
import re
import subprocess
import sys
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_engine import KnownClassifier, pairs, served

from regard.serve.settings import Settings

CASES = 5000
CHECKS = "not_a_server_error,status_code_conformance,response_schema_conformance"
HOOKS = "fuzz_hooks"  # beside this file
PATHS = ("/translate", "/detect", "/suggest", "/translate_file", "/v1/translate", "/v1/explain", "/v1/alternatives")
PATHS += ("/v1/predict",) * 2 + ("/v2/translate", "/v2/glossaries")

texts = st.text(max_size=30) | st.sampled_from(
    ["Hello", "auto", "en", "de", "zh-Hans", "text", "html", "<b>x</b>", "%s {a}"]
)
anything = st.recursive(
    texts | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=5,
)
FIELDS = {
    "q": texts | st.lists(texts, max_size=4),
    "s": texts,
    "source": st.sampled_from(["en", "de", "auto", "zz", ""]),
    "target": st.sampled_from(["de", "en", "auto", "zz", ""]),
    "format": st.sampled_from(["text", "html", "xml"]),
    "alternatives": st.integers(-2, 12) | st.just("x"),
    "n_best": st.integers(-1, 12),
    "explain": st.booleans(),
    "maps": st.booleans(),
    "html": st.booleans(),
    "model": st.sampled_from(["en-de", "entailment", "none"]),
    "texts": st.lists(texts | st.just("a\tb"), max_size=3),
    "examples": st.lists(st.dictionaries(st.sampled_from(["text", "first", "second", "source"]), texts), max_size=3),
    "source_text": texts,
    "target_text": texts,
    "glossary": texts | st.sampled_from(["Hello\tHallo", "Hello\tHallo\nHello\tTag", "en\t", "\t", "a\tb|c\r\n"]),
    "target_prefix": texts | st.lists(texts, max_size=3),
    "steps": st.booleans(),
    "reasons": st.lists(texts | st.just("lrp"), max_size=2),
    "api_key": texts,
    "text": texts | st.lists(texts, max_size=3),
    "target_lang": st.sampled_from(["DE", "EN-GB", "zz", ""]),
    "source_lang": st.sampled_from(["EN", "zz", ""]),
    "tag_handling": st.sampled_from(["xml", "html", ""]),
    "ignore_tags": st.lists(texts, max_size=2) | texts,
    "context": texts,
    "entries": texts | st.sampled_from(["Hello\tHallo", "a,b"]),
    "entries_format": st.sampled_from(["tsv", "csv"]),
    "name": texts,
    "langpair": st.sampled_from(["en|de", "en|zz", "en", "|"]),
}
questions = st.fixed_dictionaries({}, optional={name: values | anything for name, values in FIELDS.items()})
likely = st.fixed_dictionaries(
    {name: FIELDS[name] for name in ("q", "source", "target")},
    optional={name: FIELDS[name] for name in ("format", "alternatives", "api_key", "glossary", "target_prefix")},
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    place = tmp_path_factory.mktemp("fuzz") / "suggestions.jsonl"
    others = [KnownClassifier(), KnownClassifier("entailment", ("first", "second"))]
    with served([*pairs("en-de", "de-en"), *others], Settings(suggestions=place, max_body=4000)) as found:
        yield found


def check(found):
    """An answer in JSON, and a refusal with a reason."""
    assert found.status_code < 500, found.text
    assert (
        found.status_code in (200, 201) or list(found.json()) in (["error"], ["message"]) or "explanation" in found.text
    )


@settings(max_examples=120)
@given(st.sampled_from(PATHS), questions | likely)
def test_json(client, path, question):
    check(client.post(path, content=json.dumps(question).encode(), headers={"Content-Type": "application/json"}))


@settings(max_examples=80)
@given(st.sampled_from(PATHS), likely, st.sampled_from(["data", "params"]))
def test_forms_and_queries(client, path, question, where):
    check(client.post(path, **{where: question}))


@settings(max_examples=60)
@given(st.sampled_from(["/translate", "/identifyLang", "/v2/languages"]), questions)
def test_queries(client, path, question):
    check(client.get(path, params={name: str(value) for name, value in question.items()}))


@settings(max_examples=60)
@given(st.text(max_size=20), st.binary(max_size=30))
def test_segments_of_a_memory(client, text, body):
    path = f"/tmserver/en/de/unit/{quote(text, safe='')}"
    check(client.get(path))
    check(client.put(path, content=body))


@settings(max_examples=80)
@given(
    st.sampled_from(PATHS),
    st.binary(max_size=100),
    st.sampled_from(
        ["application/json", "multipart/form-data; boundary=a", "multipart/form-data; boundary=a; charset=undefined"]
    ),
)
def test_noise(client, path, body, kind):
    check(client.post(path, content=body, headers={"Content-Type": kind}))


@settings(max_examples=50)
@given(st.binary(max_size=60), st.sampled_from([".txt", ".srt", ".html", ".docx"]))
def test_files(client, data, suffix):
    check(client.post("/translate_file", files={"file": (f"a{suffix}", data)}, data={"source": "auto", "target": "de"}))


@pytest.mark.slow
def test_schemathesis(server, tmp_path):
    """`server` is a real one."""
    hooks = {"SCHEMATHESIS_HOOKS": HOOKS, "PYTHONPATH": os.path.dirname(__file__)}
    words = [sys.executable, "-m", "schemathesis.cli", "run", f"{server}openapi.json", "--checks", CHECKS]
    words += [
        "--max-examples",
        "1000",
        "--request-timeout",
        "120",
        "--continue-on-failure",
        "--generation-database",
        "none",
        "--seed",
        "7",
    ]
    words += ["--workers", "2", "--no-color"]
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, **hooks}, capture_output=True, text=True, check=False)
    cases = re.search(r"([\d,]+) generated", done.stdout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert cases is not None
    assert int(cases[1].replace(",", "")) >= CASES, done.stdout[-1000:]
