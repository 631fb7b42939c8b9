"""Versions of a served run: taught, killed, undone and swapped under load, and no request fails."""

import json
import multiprocessing
import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from engines import tiny_run_in
from serving import Process
from small_runs import PAIRS, SMALL, regard, write_texts

from regard.config import settings_folder
from regard.config.versions import MODEL, current_version, new_version, undo_version, use_version, versions_held
from regard.errors import RegardError
from regard.recipes.teach import TeachingRequest, teach
from regard.runs import Run, RunFolder

KILLS, SWAPS = int(os.environ.get("REGARD_KILLS", "100")), int(os.environ.get("REGARD_SWAPS", "20"))
REQUESTS = int(os.environ.get("REGARD_REQUESTS", "10000"))
QUICK = ["training.max_updates=4", "training.validate_every=4", "training.learning_rate=0.03", "data.old.metric=loss",
         "data.old.tolerance=100"]  # fmt: skip
CONTEXT = multiprocessing.get_context("forkserver")  # torch is imported once
CONTEXT.set_forkserver_preload(["regard.recipes.teach", "torch._dynamo"])


@contextmanager
def clients(address, count=4):
    """Clients that ask one request after the other → the statuses, and the versions that answered."""
    stop, statuses, versions = [], [], set()
    body = json.dumps({"q": "a dog runs", "source": "en", "target": "de"}).encode()

    def asking():
        while not stop:
            ask = Request(f"{address}translate", body, {"Content-Type": "application/json"})
            try:
                with urlopen(ask, timeout=120) as answer:
                    statuses.append(answer.status)
                    versions.add(answer.headers["X-Model"])
            except HTTPError as error:
                statuses.append(error.code)

    with ThreadPoolExecutor(count) as pool:
        tasks = [pool.submit(asking) for _ in range(count)]
        try:
            yield statuses, versions
        finally:
            stop.append(True)
        for task in tasks:
            task.result()


def spelled(number):
    """A word for a number: texts that differ in numbers alone are one correction."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def lesson(run, file):
    """Teach in a process that is killed, or ends by itself."""
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        teach(TeachingRequest(run, file, changes=QUICK), lambda line: None, quiet=True)
    except RegardError:  # too few new corrections
        os._exit(2)


@pytest.mark.slow
def test_kills_while_teaching_and_swapping_lose_nothing(tmp_path):
    """After each kill the run in use is whole, all corrections are there, and every request is answered."""
    run = tiny_run_in(tmp_path)
    file, draw = tmp_path / "better.jsonl", random.Random(1)
    written = 0

    def correct(count):
        nonlocal written
        with file.open("a", encoding="utf-8") as out:
            for number in range(written, written + count):
                source, target = PAIRS[number % len(PAIRS)]
                row = {"q": f"{source} {spelled(number)}", "s": target, "source": "en", "target": "de"}
                out.write(json.dumps(row) + "\n")
        written += count

    correct(12)
    process = Process(tmp_path, run, "--port", 0)
    killed, ended, swaps, patience = 0, 0, 0, None  # seconds; the first lesson ends
    with clients(process.ready(), 2) as (statuses, _):
        while killed < KILLS:
            child = CONTEXT.Process(target=lesson, args=(run, file))
            before, begin = current_version(run), time.monotonic()
            child.start()
            child.join(None if patience is None else draw.uniform(0.0, 1.3 * patience))
            if child.is_alive():
                child.kill()
                killed += 1
            child.join()
            if child.exitcode == 0:
                lasted, ended = time.monotonic() - begin, ended + 1
                patience = (lasted + (patience or lasted)) / 2  # most lessons are killed, however long they take
            assert Run.open(RunFolder(settings_folder(run))).weights()  # verified by digest
            if current_version(run) != before:
                swaps += 1
                correct(12)
                if draw.random() < 0.3:
                    undo_version(run, lambda *_: None)
            if child.exitcode == 2:
                correct(12)
    print(f"{killed} kills, {ended} lessons ended, {swaps} versions, {len(statuses)} requests")
    assert swaps
    assert {*statuses} == {200}, process.said
    assert len(file.read_text("utf-8").splitlines()) == written
    assert process.end() == 0, process.said


@pytest.mark.slow
def test_swaps_under_load_lose_no_request(tmp_path):
    run = tiny_run_in(tmp_path)
    search = "decoding.search={name: beam, size: 2, max_ratio: 1.0, max_extra: 3}"
    done = regard("train", *write_texts(tmp_path), "--run", tmp_path / "other", "-q", *SMALL, search, "training.seed=7")
    assert done.code == 0, done.said
    process = Process(tmp_path, run, "--port", 0)
    with clients(process.ready()) as (statuses, versions):
        for number in range(SWAPS):
            if number % 2:
                undo_version(run, lambda *_: None)
            else:
                with versions_held(run):
                    shutil.copytree(tmp_path / "other", (folder := new_version(run)) / MODEL)
                    use_version(run, int(folder.name), current_version(run))
            while process.said.count("the new model answers") <= number:
                assert process.process.poll() is None, process.said
                time.sleep(0.05)
        while len(statuses) < REQUESTS:
            time.sleep(0.05)
    print(f"{len(statuses)} requests during {SWAPS} swaps, {len(versions)} versions")
    assert {*statuses} == {200}, process.said
    assert len(versions) == 2
    assert process.end() == 0, process.said
