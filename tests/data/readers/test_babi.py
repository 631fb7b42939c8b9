"""Stories of bAbI: what each question is asked about, plain or inside an archive, and files that are none."""

import io
import tarfile

import pytest

from regard.data.readers import READERS, HoldOut
from regard.data.readers.checked_reader import CheckedReader
from regard.data.readers.part import Fold
from regard.errors import DataError
from regard.registry import Choice

COLUMNS = ("passage", "question", "answer")
TEXT = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Mary got the milk.
5 What is Mary carrying? \tmilk,football\t4
1 Sandra slept.
2 Where is Sandra?\tbed\t1
"""
WANTED = [
    (3, "Mary moved to the bathroom. John went to the hallway.", "Where is Mary?", "bathroom"),
    (5, "Mary moved to the bathroom. John went to the hallway. Mary got the milk.", "What is Mary carrying?",
     "milk,football"),
    (7, "Sandra slept.", "Where is Sandra?", "bed"),
]  # fmt: skip


def read(columns=COLUMNS, **settings):
    return [(line, *texts.values()) for line, texts in READERS.build(Choice("babi", settings), columns)]


def archive(folder, members, name="babi.tar.gz"):
    path = folder / name
    with tarfile.open(path, "w:gz") as file:
        for member, text in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(text.encode())
            file.addfile(info, io.BytesIO(text.encode()))
    return str(path)


def test_a_question_has_all_sentences_of_its_story_before_it(tmp_path):
    (tmp_path / "qa1.txt").write_text(TEXT)
    assert read(file=str(tmp_path / "qa1.txt")) == WANTED


def test_two_columns_hold_story_and_question_in_one(tmp_path):
    (tmp_path / "qa1.txt").write_text(TEXT)
    found = read(("text", "label"), file=str(tmp_path / "qa1.txt"))
    assert found == [(line, f"{story} {question}", answer) for line, story, question, answer in WANTED]


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("task", [1, 10])
def test_an_archive_is_read_by_task_and_part(task, part, tmp_path):
    names = [f"en/qa{number}_some-name_{one}.txt" for number in (1, 10) for one in ("train", "test")]
    wanted = f"en/qa{task}_some-name_{part}.txt"
    file = archive(tmp_path, {name: TEXT if name == wanted else "1 Why?\twhy\t1\n" for name in names})
    assert read(file=file, task=task, part=part) == WANTED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["babi.tar.gz"]  # nothing was unpacked


def test_tasks_and_parts_of_an_archive_are_told_apart_in_the_key(tmp_path):
    settings = [{"task": task, "part": part} for task in (1, 2) for part in ("train", "test")]
    readers = [READERS.build(Choice("babi", {"file": "babi.tar.gz", **one}), COLUMNS) for one in settings]
    assert len({reader.key() for reader in readers}) == 4


def test_an_archive_that_lacks_the_task_is_told(tmp_path):
    file = archive(tmp_path, {"en/qa1_a_train.txt": TEXT})
    with pytest.raises(DataError, match=r"babi.tar.gz: 0 files qa3_…_train.txt in it, and one is needed"):
        read(file=file, task=3)


def test_links_inside_an_archive_are_not_followed(tmp_path):
    with tarfile.open(tmp_path / "links.tar", "w") as file:
        info = tarfile.TarInfo("qa1_a_train.txt")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(info)
    with pytest.raises(DataError, match="0 files"):
        read(file=str(tmp_path / "links.tar"), task=1)


def test_a_damaged_archive_is_told(tmp_path):
    file = archive(tmp_path, {"en/qa1_a_train.txt": TEXT * 500})
    data = (tmp_path / "babi.tar.gz").read_bytes()
    (tmp_path / "babi.tar.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match="damaged"):
        read(file=file, task=1)
    (tmp_path / "babi.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="damaged archive"):
        read(file=file, task=1)


def test_a_line_without_a_number_is_told_with_its_line(tmp_path):
    (tmp_path / "qa1.txt").write_text("1 Mary moved.\nno number\n")
    with pytest.raises(DataError, match=r"qa1.txt:2: a line of bAbI begins with a number and a space"):
        read(file=str(tmp_path / "qa1.txt"))
    file = archive(tmp_path, {"en/qa1_a_train.txt": "1 Mary moved.\nno number\n"})
    with pytest.raises(DataError, match=r"qa1_a_train.txt:2: a line of bAbI"):
        read(file=file, task=1)


def test_a_file_without_a_question_is_told(tmp_path):
    (tmp_path / "qa1.txt").write_text("1 Mary moved to the garden.\n")
    with pytest.raises(DataError, match=r"qa1.txt: no line asks a question"):
        read(file=str(tmp_path / "qa1.txt"))


HELD = {
    "share": lambda reader, held_out: HoldOut(reader, 0.3, held_out=held_out),
    "fold": lambda reader, held_out: Fold(reader, 3, 1, held_out=held_out),
    "checked share": lambda reader, held_out: HoldOut(CheckedReader(reader, bool, dict), 0.3, held_out=held_out),
    "share of folds": lambda reader, held_out: HoldOut(Fold(reader, 3, 1, held_out=False), 0.3, held_out=held_out),
}


@pytest.mark.parametrize("way", HELD)
def test_all_questions_of_a_story_are_on_one_side(way, tmp_path):
    """The passage of each is a beginning of the next one's: no two of them are equal."""
    lines = [
        f"{2 * number + 1} Mary took {story} {number}.\n{2 * number + 2} What?\t{story}\t1\n"
        for story in range(60)
        for number in range(3)
    ]
    (tmp_path / "qa1.txt").write_text("".join(lines))
    reader = READERS.build(Choice("babi", {"file": str(tmp_path / "qa1.txt")}), COLUMNS)
    held, rest = ([example.texts["answer"] for example in HELD[way](reader, side)] for side in (True, False))
    assert held
    assert rest
    assert not set(held) & set(rest)
    assert all(answers.count(story) == 3 for answers in (held, rest) for story in answers)
