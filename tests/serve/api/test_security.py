"""Names, origins, keys, rates and headers."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from known_engine import listening_server, served
from questions import HELLO

from regard.errors import ConfigError
from regard.serve.security import AllowedOrigins, Holder, Hosts, Keys, Rates, host_name, same_secret
from regard.serve.settings import Settings, read_origin, read_proxy


@pytest.fixture(scope="module")
def client():
    with served(settings=Settings(cors_origins=("https://friend.example",))) as found:
        yield found


HOSTS = [
    ("localhost", True), ("LOCALHOST:5000", True), ("regard.localhost:1", True), ("127.0.0.1:5000", True),
    ("[::1]:5000", True),
    ("192.168.1.7", True), ("given.example:80", True), ("given.example.:80", True), ("evil.example", False),
    ("127.0.0.1.evil.example", False), ("localhost.evil.example", False), ("localhost@evil.example", False),
    ("evil.example@localhost", False), ("", False), ("localhost:x", False), ("localhost/evil", False), ("[::1", False),
    ("given.example evil.example", False), ("localhost#", False), ("127.1", False),
]  # fmt: skip


@pytest.mark.parametrize(("header", "allowed"), HOSTS)
def test_hosts(header, allowed):
    assert Hosts(["Given.example"]).allows(header) is allowed


def test_any_host():
    assert Hosts(["*"]).allows("evil.example")


@pytest.mark.parametrize(("header", "name"), [("A.b:1", "a.b"), ("[::1]:1", "::1"), ("a@b", None), ("a:b", None)])
def test_the_name_of_a_host(header, name):
    assert host_name(header) == name


def test_a_rebound_name_is_refused(client):
    for method in ("GET", "POST"):
        found = client.request(method, "/detect", headers={"Host": "evil.example:5000"})
        assert (found.status_code, list(found.json())) == (421, ["error"])


ORIGINS = [
    (None, True), ("http://127.0.0.1:5000", True), ("https://127.0.0.1:5000", True), ("https://friend.example", True),
    ("https://FRIEND.example", False), ("http://friend.example", False), ("http://127.0.0.1:5001", False),
    ("http://evil.example", False), ("null", False), ("", False), ("file://127.0.0.1:5000", False), ("http://[", False),
    ("http://127.0.0.1:5000.evil.example", False),
]  # fmt: skip


@pytest.mark.parametrize(("origin", "allowed"), ORIGINS)
def test_origins(client, origin, allowed):
    assert AllowedOrigins(["https://friend.example"]).allows(origin, "127.0.0.1:5000") is allowed
    found = client.post("/translate", data=HELLO, headers={} if origin is None else {"Origin": origin})
    assert found.status_code == (200 if allowed else 403)


def test_pages_of_a_friend_may_read_the_answer(client):
    asked = {"Origin": "https://friend.example", "Access-Control-Request-Method": "POST"}
    found = client.options("/translate", headers={**asked, "Access-Control-Request-Headers": "content-type"})
    assert found.headers["Access-Control-Allow-Origin"] == "https://friend.example"
    found = client.post("/translate", data=HELLO, headers={"Origin": "https://friend.example"})
    assert found.headers["Access-Control-Allow-Origin"] == "https://friend.example"
    assert "Access-Control-Allow-Credentials" not in found.headers


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("https://friend.example", "https://friend.example"), ("https://Friend.Example/", "https://friend.example"),
        ("https://friend.example:443", "https://friend.example"), ("http://friend.example:80/", "http://friend.example"),
        ("http://friend.example:8080", "http://friend.example:8080"), ("http://[::1]:3000", "http://[::1]:3000"),
        ("moz-extension://1f-2e", "moz-extension://1f-2e"), (" * ", "*"),
    ],
)  # fmt: skip
def test_origins_are_read_as_browsers_write_them(given, written):
    """Whoever may ask may also read the answer."""
    settings = Settings(cors_origins=(read_origin("--cors-origin", given),))
    assert settings.cors_origins == (written,)
    with served(settings=settings) as client:
        found = client.post("/translate", data=HELLO, headers={"Origin": written})
        assert (found.status_code, found.headers["Access-Control-Allow-Origin"]) == (200, written)


@pytest.mark.parametrize(
    "text", ["friend.example", "https://", "https://friend.example/path", "https://a b", "//a", ""]
)
def test_what_is_no_origin(text):
    with pytest.raises(ConfigError, match="is not an origin"):
        read_origin("--cors-origin", text)


def test_pages_of_strangers_may_not(client):
    found = client.get("/languages", headers={"Origin": "https://evil.example"})
    assert not [name for name in found.headers if name.lower() == "access-control-allow-origin"]


def test_nobody_is_a_friend_if_nothing_is_said():
    with served() as client:
        found = client.get("/languages", headers={"Origin": "http://127.0.0.1:5000"})
        assert not [name for name in found.headers if name.lower().startswith("access-control")]


def test_keys_are_forgotten_and_told_apart():
    keys = Keys(["one", "two", "one"])
    holders = [keys.holder(key) for key in ("one", "two", "three", "", "\ud800")]
    assert holders == [Holder("key 1"), Holder("key 2"), None, None, None]
    told = repr(vars(keys)) + repr(keys)
    assert not any(key in told for key in ("one'", "two'"))
    assert (bool(keys), bool(Keys())) == (True, False)


def test_keys_of_a_file_have_names_and_are_read_anew(tmp_path):
    file = tmp_path / "keys"
    file.write_text("# ours\nold\tmastodon\nnew \t mastodon \nplain words\n", encoding="utf-8")
    keys = Keys(["typed"], file)
    assert [keys.holder(key) for key in ("typed", "old", "new", "plain words", "mastodon")] == [
        Holder("key 1"), Holder("mastodon", named=True), Holder("mastodon", named=True), Holder("key 4"), None,
    ]  # fmt: skip
    file.write_text("new\tmastodon\n", encoding="utf-8")
    keys.reread()
    assert [keys.holder(key) for key in ("old", "new")] == [None, Holder("mastodon", named=True)]
    file.write_text("# none\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="there is no key"):
        keys.reread()
    assert (len(keys), keys.holder("new")) == (2, Holder("mastodon", named=True))


def test_keys_of_a_file_have_rights(tmp_path):
    file = tmp_path / "keys"
    file.write_text("one\tann\ttranslate\ntwo\t\t admin, suggest \nthree\tbob\t\nfour\n", encoding="utf-8")
    keys, default = Keys(file=file), {"translate", "suggest"}
    assert [keys.holder(key) for key in ("one", "two", "three", "four")] == [
        ("ann", {"translate"}, True), ("key 2", {"admin", "suggest"}, False),
        ("bob", default, True), ("key 4", default, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "problem"),
    [("one\tann\tadmn", r"line 2: 'admn' is not a right \(did you mean 'admin'"), ("a\tb\tadmin\td", "line 2: more")],
)
def test_keys_with_unknown_rights_are_refused(tmp_path, line, problem):
    file = tmp_path / "keys"
    file.write_text(f"fine\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        Keys(file=file)


def test_every_key_is_compared(monkeypatch):
    """Whether the first or the last one fits takes the same number of comparisons."""
    counts = []
    from regard.serve import security as module

    compare = module.hmac.compare_digest
    monkeypatch.setattr(module.hmac, "compare_digest", lambda a, b: counts.append(1) or compare(a, b))
    keys = Keys(map(str, range(5)))
    for key in ("0", "4", "none"):
        keys.holder(key)
    assert len(counts) == 15


def test_secrets():
    assert [same_secret("a", "a"), same_secret("a", "b"), same_secret("", "\ud800")] == [True, False, False]


def test_rates_are_of_each_client_and_of_a_minute():
    now = [0.0]
    rates = Rates(2, -1, clock=lambda: now[0])
    assert [rates.wait("a"), rates.wait("b"), rates.wait("a")] == [0, 0, 0]
    now[0] = 15.0
    assert (rates.wait("a"), rates.wait("b")) == (45.0, 0)
    now[0] = 60.0
    assert rates.wait("a") == 0
    assert not rates.banned("a")


def test_a_ban_ends():
    now = [0.0]
    rates = Rates(0, 2, clock=lambda: now[0])
    banned = []
    for _ in range(4):
        rates.wait("a")
        banned.append(rates.banned("a"))
    assert (banned, rates.banned("b")) == ([False, False, True, True], False)
    now[0] = 61.0
    assert not rates.banned("a")


def test_clients_are_forgotten(monkeypatch):
    from regard.serve import security as module

    monkeypatch.setattr(module, "FORGET_ABOVE", 10)
    now = [0.0]
    rates = Rates(1, 1, clock=lambda: now[0])
    for number in range(200):
        now[0] += 10.0
        rates.wait(f"client {number}")
    assert len(rates._windows) <= 12


def test_no_limit():
    assert {Rates(-1, -1).wait("a") for _ in range(100)} == {0.0}


def asked_from(address, forwarded, path="translate"):
    """The status of a request that says where it came from."""
    request = Request(f"{address}{path}", json.dumps(HELLO).encode(), {"Content-Type": "application/json"})
    request.add_header("X-Forwarded-For", forwarded)
    try:
        return urlopen(request).status
    except HTTPError as error:
        return error.code


def test_no_client_can_give_itself_another_address():
    with listening_server(settings=Settings(req_limit=1)) as (address, *_):
        assert [asked_from(address, f"10.0.0.{number}") for number in range(3)] == [200, 429, 429]


@pytest.mark.parametrize("proxy", ["127.0.0.1", "127.0.0.0/8"])
def test_a_proxy_that_is_trusted_can(proxy):
    """It puts its own client behind whatever that has written itself."""
    settings = Settings(req_limit=1, trusted_proxies=(read_proxy("--trusted-proxy", proxy),))
    with listening_server(settings=settings) as (address, *_):
        found = [asked_from(address, given) for given in ("10.0.0.1", "10.0.0.2", "10.0.0.3, 10.0.0.1")]
    assert found == [200, 200, 429]
    with listening_server(settings=Settings(req_limit=1, trusted_proxies=("10.9.9.9",))) as (address, *_):
        assert [asked_from(address, f"10.0.0.{number}") for number in range(2)] == [200, 429]


@pytest.mark.parametrize(("trusted", "scheme"), [((), "http"), (("127.0.0.1",), "https")])
def test_links_to_files_are_of_the_clients_own_scheme(trusted, scheme):
    form = b"\r\n".join([
        b"--x", b'Content-Disposition: form-data; name="file"; filename="a.txt"', b"", b"Hello",
        *(line for name in ("source", "target")
          for line in (b"--x", f'Content-Disposition: form-data; name="{name}"'.encode(), b"", HELLO[name].encode())),
        b"--x--", b"",
    ])  # fmt: skip
    with listening_server(settings=Settings(trusted_proxies=trusted)) as (address, *_):
        request = Request(f"{address}translate_file", form, {"Content-Type": "multipart/form-data; boundary=x"})
        request.add_header("X-Forwarded-Proto", "https")
        with urlopen(request) as answer:
            assert json.load(answer)["translatedFileUrl"].startswith(f"{scheme}://127.0.0.1:")


@pytest.mark.parametrize(
    ("text", "read"), [("::1", "::1"), ("10.1.2.3/32", "10.1.2.3"), ("172.16.0.0/12", "172.16.0.0/12")]
)
def test_proxies(text, read):
    assert read_proxy("--trusted-proxy", text) == read


@pytest.mark.parametrize("text", ["proxy.example", "*", "10.0.0.1/8", ""])
def test_what_is_no_proxy(text):
    with pytest.raises(ConfigError, match=r"--trusted-proxy: '.*' is not an address"):
        read_proxy("--trusted-proxy", text)


def test_headers_of_every_answer(client):
    for path in ("/translate", "/languages", "/nothing", "/docs", "/static/docs/swagger-ui.css"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Total-Time"].isdecimal()
        assert "Server" not in headers


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-DEF_9", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("a\u00e4", False)]
)
def test_the_name_of_a_request(client, given, kept):
    name = client.get("/health", headers={"X-Request-Id": given.encode()}).headers["X-Request-Id"]
    assert (name == given) is kept
    assert name.replace("-", "").replace("_", "").isalnum()


def test_nonces_are_new_each_time(client):
    policies = {client.get("/docs").headers["Content-Security-Policy"] for _ in range(5)}
    assert len(policies) == 5


def test_a_fault_of_ours_is_not_shown(caplog):
    with served() as client:
        [engine, _] = client.app.service.engines.values()
        engine.fault = ValueError("secret words")
        found = client.post("/translate", data=HELLO)
    assert (found.status_code, found.json()) == (500, {"error": "Internal server error"})
    assert found.headers["X-Request-Id"] in caplog.text
