"""Files that commands write: checked before anything is computed, and written in one piece."""

from __future__ import annotations

import errno
import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers import ALL_GAMES, needs_training

from card_envs.commands import arguments
from card_envs.commands.cli import main
from card_envs.utils import files

GAME = ALL_GAMES[0]
EVALUATE = ["evaluate", GAME.id, "--deals", "4", "--agents", *["random"] * GAME.min_players]
TOURNAMENT = [
    *("tournament", GAME.id, "--players", str(GAME.min_players), "--deals", "4"),
    *("--agents", "random", "heuristic"),
]


@pytest.fixture
def unplayed(monkeypatch):
    """Fails if anything is played."""

    def refuse(*args, **kwargs):
        raise AssertionError("played before the file was checked")

    monkeypatch.setattr("card_envs.commands.evaluation.evaluate", refuse)
    monkeypatch.setattr("card_envs.commands.evaluation.run_tournament", refuse)


def error_of(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_a_folder_is_no_file(tmp_path, unplayed, capsys):
    assert "is a folder" in error_of([*EVALUATE, "--json", str(tmp_path)], capsys)
    assert not list(tmp_path.iterdir())


def test_a_file_below_a_file_cannot_be_written(tmp_path, unplayed, capsys):
    (tmp_path / "file").write_text("kept")
    wrong = tmp_path / "file" / "below" / "it.json"
    assert "is not a folder" in error_of([*EVALUATE, "--json", str(wrong)], capsys)
    assert (tmp_path / "file").read_text() == "kept"


def test_what_may_not_be_written_is_refused(tmp_path, unplayed, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "no permission" in error_of([*EVALUATE, "--json", str(tmp_path / "new.json")], capsys)


def test_what_must_be_writable_is_the_folder(tmp_path, monkeypatch):
    """A file is replaced, not written into; a device is."""
    path = tmp_path / "result.json"
    path.write_text("before")
    asked = []
    monkeypatch.setattr(os, "access", lambda place, mode: asked.append(place) or True)
    for name in (path, tmp_path / "new" / "result.json", os.devnull):
        arguments.output_file(str(name))
    assert asked == [tmp_path, tmp_path, Path(os.devnull)]


def test_links_that_go_around_in_a_circle_are_refused(tmp_path, unplayed, capsys):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.symlink_to(two)
    two.symlink_to(one)
    for path in (one, one / "below.json"):
        error = error_of([*EVALUATE, "--json", str(path)], capsys)
        assert f"{path} cannot be written: Too many levels of symbolic links" in error
    with pytest.raises(OSError, match="symbolic links"):
        files.write_json(one, {})
    assert one.is_symlink()


def test_names_that_are_too_long_are_refused(tmp_path, unplayed, capsys):
    path = tmp_path / ("a" * 300 + ".json")
    assert "File name too long" in error_of([*EVALUATE, "--json", str(path)], capsys)
    assert "File name too long" in error_of([*EVALUATE, "--json", f"{path}/below.json"], capsys)
    below = tmp_path / "new" / path.name
    assert "File name too long" in error_of([*EVALUATE, "--json", str(below)], capsys)


@pytest.mark.parametrize("name", ["a" * 250 + ".json", "ä" * 125 + ".json", "a." + "b" * 250])
def test_what_can_be_a_files_name_can_be_written(tmp_path, name):
    """What is built beside it has a name that is no longer."""
    files.write_json(tmp_path / name, {"some": "data"})
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["picture", "picture.nonsense"])
def test_pictures_have_an_ending_that_says_the_format(name, tmp_path, unplayed, capsys):
    wrong = str(tmp_path / name)
    assert "the extension must be one of" in error_of([*TOURNAMENT, "--plot", wrong], capsys)


def test_folders_are_made_and_links_are_followed(tmp_path):
    new = tmp_path / "some" / "folder" / "result.json"
    assert main([*EVALUATE, "--json", str(new)]) == 0
    assert json.loads(new.read_text(encoding="utf-8"))["game"] == GAME.name
    link = tmp_path / "link.json"
    link.symlink_to(new)
    before = new.read_bytes()
    new.write_bytes(b"")
    assert main([*EVALUATE, "--json", str(link)]) == 0
    assert link.is_symlink()
    assert new.read_bytes() == before
    assert list(new.parent.iterdir()) == [new]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_regular_file_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_json(pipe, {"some": "data"})
        assert json.loads(os.read(reader, 1000)) == {"some": "data"}
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_two_that_write_the_same_file_each_write_all_of_it(tmp_path):
    path = tmp_path / "result.json"
    with files.open_output(path) as one:
        one.write(b"one, ")
        with files.open_output(path) as other:
            other.write(b"other")
        assert path.read_bytes() == b"other"
        one.write(b"complete")
    assert path.read_bytes() == b"one, complete"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_without_a_file_names_the_one_that_is_written(tmp_path):
    path = tmp_path / "result.json"
    with pytest.raises(OSError, match=str(path)), files.open_output(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a full disk does
    assert not [*tmp_path.iterdir()]


def test_a_new_file_replaces_none_that_has_come_to_be(tmp_path):
    """Of two that begin together the second one is told where it has been written."""
    path = tmp_path / "result.json"
    with ExitStack() as second:
        second.enter_context(files.open_output(path, is_new=True)).write(b"one")
        with files.open_output(path, is_new=True) as first:
            first.write(b"other")
        with pytest.raises(FileExistsError, match="has been written meanwhile") as error:
            second.close()
    assert path.read_bytes() == b"other"
    (left,) = {*tmp_path.iterdir()} - {path}
    assert str(left) in str(error.value)
    assert left.read_bytes() == b"one"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("argv", [EVALUATE, TOURNAMENT])
def test_a_result_that_cannot_be_written_is_shown(argv, capsys):
    assert main([*argv, "--json", "/dev/full"]) == 2
    out, error = capsys.readouterr()
    assert "random" in out
    assert "No space left" in error


@needs_training
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_the_result_of_a_study_that_cannot_be_written_is_shown(capsys):
    from training.runs.records import write_or_print

    with pytest.raises(OSError, match="No space left"):
        write_or_print(Path("/dev/full"), {"gain": 1})
    assert json.loads(capsys.readouterr().out) == {"gain": 1}


def test_a_file_that_cannot_be_written_is_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("before")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "replace", lambda self, target: full(0))
    with pytest.raises(OSError, match="No space left"):
        files.write_json(path, {"some": "data"})
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
