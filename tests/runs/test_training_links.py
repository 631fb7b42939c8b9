"""Links of a run's training pairs: learnt once, kept, and found again however a pair is cut."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from small_runs import SMALL, regard

from regard.data.columns import TextColumn
from regard.data.ragged import Ragged
from regard.explain.alignment import AlignmentHead
from regard.predictor import load
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.runs import Run, RunFolder
from regard.runs.texts import training_readers
from regard.runs.training_links import KeptLinks, TrainingLinks, learnt_links, pair_hash
from regard.text import train_tokenizer

NUMBERS = ["one", "two", "three", "four", "five", "six"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs"]


def counted(lines: int) -> Iterator[tuple[str, str]]:
    """Pairs whose words translate each other one by one, the last of the source first in the target."""
    for line in range(lines):
        places = line % 6, line % 5, line // 2 % 4
        yield (
            " ".join(NUMBERS[place] for place in places),
            " ".join(ZAHLEN[place] for place in (places[2], *places[:2])),
        )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a guided head, and what its training said."""
    place = tmp_path_factory.mktemp("guided")
    for side, name in enumerate(("a.en", "a.de")):
        (place / name).write_text("".join(f"{pair[side]}\n" for pair in counted(200)), encoding="utf-8")
    sides = ["--source", place / "a.en", "--target", place / "a.de"]
    done = regard("train", *SMALL, *sides, "penalties={name: guided_alignment, ahead: true}", "--run", place / "run")
    assert done.code == 0, done.said
    return RunFolder(place / "run"), done.said


class Letters(TextColumn):
    """Cuts a text into letters, or into words with `whole`; a space goes with what is behind it."""

    def __init__(self, listed: list[str]) -> None:
        super().__init__(train_tokenizer(Choice("characters"), ["a"]))
        self.listed = ["<pad>", "<s>", "</s>", "<unk>", *listed]

    def __len__(self) -> int:
        return len(self.listed)

    def pieces(self, ids):
        return [self.listed[one] for one in ids]

    def ids(self, *pieces: str) -> list[int]:
        return [self.listed.index(piece) for piece in pieces]


SOURCE = Letters(["▁das", "▁Haus", "▁Ha", "us", "."])
TARGET = Letters(["▁the", "▁house", "▁hou", "se", "."])


def batch_of(*pairs: tuple[list[int], list[int]]) -> Batch:
    columns = {}
    for name, rows in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        longest = 1 + max(map(len, rows))
        ids = torch.tensor([[*row, EOS, *[PAD] * (longest - 1 - len(row))] for row in rows])
        columns[name] = Sequences(ids, ids != PAD)
    return Batch(columns, "translate", torch.zeros(len(pairs), dtype=torch.long), 1)


@pytest.fixture
def links():
    pairs = {
        ("▁das▁Haus.", "▁the▁house."): [0, 0, 1, 1, 2, 2],
        ("▁Haus", "▁house"): [0, 0],
    }
    hashes = np.array([pair_hash(*texts) for texts in pairs], dtype=np.uint64)
    order = np.argsort(hashes)
    rows = [[*pairs.values()][place] for place in order]
    return TrainingLinks(
        {"source": SOURCE, "target": TARGET}, KeptLinks(hashes[order], Ragged.of(rows, np.dtype("i4")))
    )


def test_pieces_share_the_links_of_their_words(links):
    found = links(batch_of((SOURCE.ids("▁das", "▁Ha", "us", "."), TARGET.ids("▁the", "▁hou", "se", "."))))
    #                        das Ha us . end
    assert found.int().tolist() == [[[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0] * 5]]


def test_a_pair_is_known_in_any_batch_and_cutting(links):
    whole = SOURCE.ids("▁das", "▁Haus", "."), TARGET.ids("▁the", "▁house", ".")
    short, other = (SOURCE.ids("▁Ha", "us"), TARGET.ids("▁house")), (SOURCE.ids("▁das"), TARGET.ids("▁house"))
    found = links(batch_of(other, short, whole))
    assert not found[0].any()
    assert found[1].nonzero().tolist() == [[0, 0], [0, 1]]
    assert found[2].nonzero().tolist() == [[0, 0], [1, 1], [2, 2]]


def test_no_pair_is_known_without_links():
    nothing = KeptLinks(np.zeros(0, np.uint64), Ragged.of([], np.dtype("i4")))
    found = TrainingLinks({"source": SOURCE, "target": TARGET}, nothing)
    assert not found(batch_of((SOURCE.ids("▁das"), TARGET.ids("▁the")))).any()


def test_words_are_linked_to_their_translations():
    pairs = [*counted(200)]
    columns = {
        name: TextColumn(train_tokenizer(Choice("subwords", {"size": 300}), [pair[side] for pair in pairs]))
        for side, name in enumerate(("source", "target"))
    }
    found = TrainingLinks(columns, learnt_links(pairs, columns, Choice("hmm")))
    for source, target in (pair for pair in pairs[:60] if len({*pair[0].split()}) == 3):
        ids = [columns[name].encode(text) for name, text in (("source", source), ("target", target))]
        pieces = [columns[name].pieces(one) for name, one in zip(columns, ids, strict=True)]
        read, written = ([*np.cumsum([one.startswith("▁") for one in some]) - 1] for some in pieces)
        wanted = [[here == (there + 2) % 3 for here in read] for there in written]
        assert found(batch_of((ids[0], ids[1])))[0, :-1, :-1].tolist() == wanted


def test_a_run_links_its_pairs_once_and_keeps_the_links(run):
    folder, said = run
    (reader,) = training_readers(Run.open(folder).experiment).values()
    pairs = [tuple(one.texts.values()) for one in reader]
    assert f"linking the words of {len(pairs)} training pairs by hmm alignment" in said and "kept in links-" in said
    (path,) = folder.data.glob("links-*.npz")
    assert len(KeptLinks.load(path).hashes) == len({*pairs})
    more = regard("train", "--run", folder.path, "--resume", "training.max_updates=4")
    assert more.code == 0 and "linking" not in more.said


def test_the_cost_of_links_stands_in_the_log(run):
    lines = map(json.loads, (run[0].path / "metrics.jsonl").read_text().splitlines())
    assert all(line["guided_alignment"] > 0 for line in lines if line["event"] == "update")


def test_a_loaded_run_links_words_by_the_trained_head(run):
    assert load(run[0].path).task.alignment_head == AlignmentHead(0, 0, ahead=True)
