"""Versions of a run: a pointer that is replaced at once, so that a kill leaves the version in use."""

import os

import pytest

from regard.config import settings_folder, versions, write_checked
from regard.errors import CheckpointError, ConfigError


@pytest.fixture
def run(tmp_path):
    (tmp_path / "experiment.yaml").touch()
    return tmp_path


def make(run):
    with versions.versions_held(run):
        folder = versions.new_version(run)
        (folder / versions.MODEL).mkdir()
        versions.use_version(run, int(folder.name), versions.current_version(run))
    return folder / versions.MODEL


def undo(run):
    return versions.undo_version(run, lambda *_: None)


def test_the_pointer_names_the_run_that_is_used(run):
    assert settings_folder(run) == run
    first = make(run)
    second = make(run)
    assert (first.parent.name, settings_folder(run)) == ("1", second)
    assert undo(run) == (2, 1)
    assert settings_folder(run) == first
    assert undo(run) == (1, 0)
    assert settings_folder(run) == run
    with pytest.raises(ConfigError, match="no earlier version"):
        undo(run)


def test_an_unfinished_version_gives_way_to_the_next(run):
    make(run)
    with versions.versions_held(run):
        (versions.new_version(run) / versions.MODEL).mkdir()  # as a process that is killed here leaves it
        folder = versions.new_version(run)
    assert (folder.name, [*folder.iterdir()]) == ("2", [])
    assert versions.current_version(run) == 1


def test_undone_versions_come_back_in_turn_until_another_is_used(run):
    make(run)
    second = make(run)
    with pytest.raises(ConfigError, match="nothing to redo"):
        versions.redo_version(run)
    assert [undo(run), undo(run)] == [(2, 1), (1, 0)]
    assert [versions.redo_version(run), versions.redo_version(run)] == [(0, 1), (1, 2)]
    assert settings_folder(run) == second
    undo(run)
    with versions.versions_held(run):
        versions.new_version(run)  # killed here, or its corrections gain nothing
    assert versions.redo_version(run) == (1, 2)
    undo(run)
    assert make(run).parent.name == "3"
    with pytest.raises(ConfigError, match="nothing to redo"):
        versions.redo_version(run)
    assert sorted(versions._numbers(run)) == [1, 3]
    assert undo(run) == (3, 1)


def test_a_kill_while_undone_versions_are_removed_leaves_one_in_use(run, monkeypatch):
    first = make(run)
    make(run)
    undo(run)
    monkeypatch.setattr(versions, "_remove", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        make(run)
    monkeypatch.undo()
    assert settings_folder(run) == first
    assert make(run).parent.name == "2"
    assert undo(run) == (2, 1)


def test_undo_is_noted_before_it_is_done(run):
    make(run)

    def killed(number, before):
        assert (number, before) == (1, 0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        versions.undo_version(run, killed)
    assert versions.current_version(run) == 1


def test_few_versions_are_kept(run):
    for _ in range(versions.MOST + 3):
        newest = make(run)
    kept = sorted(int(name) for name in os.listdir(run / versions.VERSION_FOLDER) if name.isdecimal())
    assert kept == [*range(4, versions.MOST + 4)]
    assert settings_folder(run) == newest


def test_a_kill_while_the_pointer_is_written_leaves_the_old_one(run, monkeypatch):
    first = make(run)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        make(run)
    assert settings_folder(run) == first


def test_one_process_makes_a_version_at_a_time(run):
    with versions.versions_held(run), pytest.raises(ConfigError, match="another process"), versions.versions_held(run):
        pass


def test_undo_does_not_wait_for_a_version_that_is_made(run):
    make(run)
    make(run)
    with versions.versions_held(run):
        folder = versions.new_version(run)
        (folder / versions.MODEL).mkdir()
        assert undo(run) == (2, 1)
        with pytest.raises(ConfigError, match="replaced meanwhile"):
            versions.use_version(run, 3, 2)
    assert versions.current_version(run) == 1


def test_undo_takes_complete_versions_alone(run, monkeypatch):
    for _ in range(3):
        make(run)
    (versions.version_folder(run, 2) / versions.MODEL).rmdir()
    assert undo(run) == (3, 1)
    make(run)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):  # killed while version 1 is removed
        versions._remove(run, 1)
    assert not versions.version_folder(run, 1).exists()
    assert undo(run) == (4, 0)


def test_damage_is_one_line(run):
    make(run)
    (run / versions.POINTER).write_text('{"version": 2}', encoding="utf-8")
    with pytest.raises(CheckpointError, match="remove it to use the run's own weights"):
        settings_folder(run)
    write_checked(run / versions.POINTER, {"version": 7})
    with pytest.raises(CheckpointError, match="version 7, which is in use, is missing"):
        settings_folder(run)
