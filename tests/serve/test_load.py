"""A real server asked by many: batches change no answer, too many requests are refused politely, nothing is lost.

The short tests have a tiny model. The long ones take the model of `regard demo`, which they train unless the
environment variable REGARD_DEMO names the folder of one.
"""

import asyncio
import os
import random
import re
import signal
import threading
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from engines import tiny_run_in
from small_runs import PAIRS, regard

from benchmarks import benchmark

load, hostile = benchmark("load"), benchmark("hostile_requests")

WORDS = sorted({word for source, _ in PAIRS for word in source.split()})
OPTIONS = ("--metrics", "--batch-wait-ms", 20)
PATIENT = ("--request-timeout", 300, "--shutdown-grace", 240)  # seconds: nothing is lost for want of time
CROWD = 128  # clients: with fewer it is not the model of the demo that limits, but who takes requests in


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_run_in(tmp_path_factory.mktemp("load"))


@pytest.fixture(scope="module")
def server(tiny):
    with load.serving(tiny, *OPTIONS, "--max-queue", 24) as found:
        yield found
        assert found.end() == 0


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The folder of a demo."""
    if given := os.environ.get("REGARD_DEMO"):
        return Path(given)
    folder = tmp_path_factory.mktemp("demo") / "demo"
    done = regard("demo", "--run", folder)
    assert done.code == 0, done.said
    return folder


def nonsense(count):
    draws = random.Random(5)
    return [" ".join(draws.choices(WORDS, k=draws.randint(1, 12))) for _ in range(count)]


def sentences(demo, count):
    """Different ones, of all lengths."""
    found = sorted(set((demo / "texts" / "train.en").read_text("utf-8").splitlines()))
    return random.Random(3).sample(found, count)


def measure(server, name):
    """The sum and the count of a histogram of the server, or the value of a gauge."""
    with urlopen(f"http://{server.host}:{server.port}/metrics") as answer:
        said = answer.read().decode()
    return [float(value) for value in re.findall(rf"^regard_{name}(?:_sum|_count)?(?:{{.*}})? (\S+)$", said, re.M)]


def said(answers):
    assert {answer.status for answer in answers} == {200}
    return {answer.text: answer.said for answer in answers}


def test_alone_and_among_others_the_answer_is_the_same(server):
    texts = list(dict.fromkeys(nonsense(120)))
    alone = said(asyncio.run(load.each_once(server, texts, 1)))
    count, _ = measure(server, "batch_items")
    among = said(asyncio.run(load.each_once(server, texts, 16)))
    assert among == alone
    assert len(set(alone.values())) > 20
    count, items = measure(server, "batch_items")
    assert items > count


def test_too_many_are_refused_and_told_when_to_come_again(server):
    """More clients than the queue has room for: those who are not answered are told so at once."""
    answers = asyncio.run(load.at_once(server, nonsense(50), 80, 3.0))
    assert {answer.status for answer in answers} == {200, 429}
    refused = [answer for answer in answers if answer.status == 429]
    assert all(int(answer.retry_after) >= 1 for answer in refused)
    assert measure(server, "queue_size") == [0.0]
    said(asyncio.run(load.each_once(server, ["yes"], 1)))


class Hangs:
    """In place of a server: hangs up where it is told to."""

    host = "127.0.0.1"
    body = staticmethod(lambda text, key: text.encode())

    def __init__(self, *ends):
        self.ends, self.heard, self.idle = iter(ends), [], asyncio.Event()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._answer, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _answer(self, reader, writer):
        for end in self.ends:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heard.append(await reader.readexactly(int(head.split()[-1])))
            if end != "unheard":
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"translatedText":"a"}')
            if end != "stays":
                break
        writer.close()
        await writer.wait_closed()
        self.idle.set()


def test_a_request_that_gets_no_answer_is_not_sent_again():
    """On a connection that served before: what was sent then may have been worked on."""

    async def case():
        async with Hangs("stays", "unheard", "stays") as server, load.Client(server) as client:
            return [(await client.ask(text)).status for text in ("first", "second")], server.heard

    assert asyncio.run(case()) == ([200, 0], [b"first", b"second"])


def test_a_connection_that_was_closed_while_idle_is_replaced():
    async def case():
        async with Hangs("answered", "answered") as server, load.Client(server) as client:
            statuses = [(await client.ask("first")).status]
            await server.idle.wait()
            await asyncio.sleep(0.05)
            return [*statuses, (await client.ask("second")).status], server.heard

    assert asyncio.run(case()) == ([200, 200], [b"first", b"second"])


def ready(server):
    """The status of /readyz."""
    try:
        with urlopen(f"http://{server.host}:{server.port}/readyz") as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def test_a_model_that_hangs_is_told_and_replaced(tiny):
    """In time for those who wait, and long before it would end by itself."""
    with load.serving(tiny, "--request-timeout", 9) as server:
        (model,) = server.models()
        said(asyncio.run(load.each_once(server, ["yes"], 1)))
        assert ready(server) == 200
        os.kill(model, signal.SIGSTOP)
        until, seen = time.monotonic() + 60, [200]

        def watch():
            while (503 not in seen or seen[-1] != 200) and time.monotonic() < until:
                time.sleep(0.02)
                seen.append(ready(server))

        watching = threading.Thread(target=watch)
        watching.start()
        answers = asyncio.run(load.each_once(server, ["yes", "two cats"], 2))
        assert {answer.status for answer in answers} == {503}
        assert all(int(answer.retry_after) >= 1 and answer.seconds < 9 for answer in answers)
        watching.join()
        assert (set(seen), seen[-1]) == ({200, 503}, 200)
        assert server.models() != [model]
        said(asyncio.run(load.each_once(server, ["yes"], 1)))
        assert server.end() == 0


def test_what_was_accepted_is_answered_when_it_is_told_to_end(tiny):
    assert ending(tiny, nonsense(400), 8) == 0


@pytest.mark.slow
def test_what_cannot_be_answered_in_time_is_told_to_come_again(tiny):
    """One text at a time, and no grace."""
    options = ("--shutdown-grace", 0, "--max-batch-tokens", 1, "--threads", 1)
    assert ending(tiny, nonsense(400), 8, *options, status=503) == 0


def ending(run, texts, clients, *options, status=200):
    """SIGTERM while so many requests are known to be worked on → the exit code. Every one of them must be answered so.

    Others come meanwhile: they are answered, refused or find nobody.
    """
    with load.serving(run, *OPTIONS, *PATIENT, "--max-queue", 4096, *options) as server:

        async def case():
            share = len(texts) // clients
            known = [
                asyncio.create_task(load.once(server, texts[number * share : (number + 1) * share]))
                for number in range(clients)
            ]
            while (await asyncio.to_thread(measure, server, "in_flight"))[0] <= clients:  # it counts this question too
                assert not any(task.done() for task in known), "too quick to be told to end meanwhile"
                await asyncio.sleep(0.005)
            others = asyncio.create_task(load.at_once(server, ["yes"], 2, 1.0))
            await asyncio.sleep(0.02)
            ended = asyncio.create_task(asyncio.to_thread(server.end))
            return await asyncio.gather(*known), await others, await ended

        known, others, code = asyncio.run(case())
        assert {answer.status for answer in known} == {status}
        assert all(len(answer.said) == len(answer.text) for answer in known if status == 200)
        assert {answer.status for answer in others} <= {200, 503, 0}
        assert all(answer.retry_after for answer in [*known, *others] if answer.status == 503)
        return code


@pytest.mark.slow
def test_a_thousand_sentences_alone_and_among_others(demo):
    texts = sentences(demo, 1000)
    with load.serving(demo / "model", *PATIENT) as server:
        alone = said(asyncio.run(load.each_once(server, texts, 1)))
        for clients in (8, 64, 200):
            assert said(asyncio.run(load.each_once(server, texts, clients))) == alone


@pytest.mark.slow
def test_batches_are_worth_three_times_one_by_one(demo):
    texts, rates = sentences(demo, 1000), []
    for options in ((), ("--max-batch-tokens", 1)):
        with load.serving(demo / "model", *options) as server:
            asyncio.run(load.at_once(server, texts, CROWD, 3.0))
            rates.append(load.figures(asyncio.run(load.at_once(server, texts, CROWD, 20.0)), 20.0)["per_second"])
    assert rates[0] >= 3 * rates[1]


@pytest.mark.slow
def test_ten_minutes_of_twice_as_much_as_it_can_do(demo):
    texts, memory = sentences(demo, 1000), []
    with load.serving(demo / "model", *PATIENT) as server:
        most = load.figures(asyncio.run(load.at_once(server, texts, 128, 10.0)), 10.0)["per_second"]
        answers = asyncio.run(
            load.whatever_it_says(server, texts, 2 * most, 600.0, lambda: memory.append(server.memory()))
        )
        assert {answer.status for answer in answers} == {200, 429}
        assert all(int(answer.retry_after) >= 1 for answer in answers if answer.status == 429)
        early, late = memory[len(memory) // 5], memory[-1]
        assert {name: late[name] / early[name] < 1.05 for name in late} == {"server": True, "model": True}
        began = time.monotonic()
        said(asyncio.run(load.each_once(server, texts[:10], 1)))
        assert time.monotonic() - began < 10
        assert server.end() == 0


HAN = "".join(chr(0x4E00 + number) for number in range(4900))  # a script that was never learnt: copied
SPELT = "aбcд " * 980  # words that are half of such a script: spelt in bytes, and no sentence ends


@pytest.mark.slow
@pytest.mark.parametrize("text", [HAN, SPELT], ids=["copied", "spelt"])
def test_five_minutes_of_requests_that_ask_for_too_much(demo, text):
    """Eight a second, each as large as it may be: sixteen others have all their answers, each within a second."""
    with load.serving(demo / "model") as server:
        texts = sentences(demo, 1000)
        asyncio.run(load.at_once(server, texts, 16, 3.0))

        async def case():
            attack = asyncio.create_task(load.whatever_it_says(server, [text], 8.0, 300.0))
            return await load.at_once(server, texts, 16, 300.0), await attack

        honest, others = asyncio.run(case())
        assert {answer.status for answer in honest} == {200}
        assert max(answer.seconds for answer in honest) <= 1.0
        assert {answer.status for answer in others} <= {200, 429, 503}
        assert all(answer.retry_after for answer in others if answer.status != 200)


@pytest.fixture(scope="module")
def besieged(demo):
    with load.serving(demo / "model") as server:
        asyncio.run(load.at_once(server, sentences(demo, 1000), hostile.CLIENTS, 3.0))
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("shape", hostile.SHAPES)
def test_one_request_of_any_shape_keeps_nobody_else_waiting(demo, besieged, shape):
    """In five minutes of all shapes sixteen others have all their answers; the model's process is never ended."""
    (model,) = besieged.models()
    seconds = 300.0 / len(hostile.SHAPES)
    honest, said = asyncio.run(hostile.beside(besieged, hostile.SHAPES[shape](), sentences(demo, 1000), seconds))
    assert {answer.status for answer in honest} == {200}
    assert load.figures(honest, seconds)["p99"] <= 1000
    assert {one[:3] for one in said} <= {"200", "400", "413", "429", "503"}
    assert besieged.models() == [model]


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(50))
def test_it_ends_under_load(demo, turn):
    assert ending(demo / "model", sentences(demo, 240), 8) == 0
