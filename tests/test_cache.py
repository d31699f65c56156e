"""The on-disk cache of compiled kernels: it never runs outdated rules, and can be missing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from helpers import EACH_GAME, FEW_GAMES

from card_envs.kernels import code_cache, jit

each_game = pytest.mark.parametrize("game", EACH_GAME)
few_games = pytest.mark.parametrize("game", FEW_GAMES)


def name_for(package: Path) -> str:
    """The name of the cache folder for the sources as they are now."""
    code_cache.cache_folder.cache_clear()
    return code_cache.cache_folder(package).name


@pytest.fixture(autouse=True)
def _names_as_before():
    yield
    code_cache.cache_folder.cache_clear()


@few_games
def test_the_folders_name_follows_every_byte_of_the_sources(game, tmp_path, monkeypatch):
    """Of the game's own and of all rooms with kernels; nothing else changes it."""
    own = jit.package_of(game.rules.__name__)
    package, *rooms = (tmp_path / name for name in (own.name, *code_cache.ROOMS))
    for source, copy in (
        (own, package),
        *((code_cache._PACKAGE / r, tmp_path / r) for r in code_cache.ROOMS),
    ):
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code_cache, "_PACKAGE", tmp_path)
    name = name_for(package)
    assert name.startswith(f"{package.name}-")
    paths = [*package.glob("*.py"), *(path for room in rooms for path in room.rglob("*.py"))]
    assert len(paths) > 10
    for path in paths:
        content = path.read_bytes()
        middle = len(content) // 2
        for changed in (
            content + b"\n",
            content[:middle]
            + bytes([content[middle] ^ 1 if content else 0])
            + content[middle + 1 :],
        ):
            path.write_bytes(changed)
            assert name_for(package) != name
        path.write_bytes(content)
        renamed = path.rename(path.with_name("renamed.py"))
        assert name_for(package) != name
        renamed.rename(path)
        assert name_for(package) == name
    names = set()
    for folder in (package, *rooms, *(room / "inner" for room in rooms)):
        folder.mkdir(exist_ok=True)
        more = folder / "more.py"
        more.write_text("")
        names.add(name_for(package))
        more.unlink()
    assert name not in names
    (package / "RULES.md").write_text("changed")
    assert name_for(package) == name
    (package / "inner" / "more.py").parent.mkdir()
    (package / "inner" / "more.py").write_text("")
    assert (name_for(package) != name) == (package / "__init__.py").exists()
    for room in rooms:
        name = name_for(room)
        (room / "inner" / "more.py").write_text("")
        assert name_for(room) != name


def test_kernels_stand_in_the_rooms_that_the_name_covers():
    """Else they would run outdated code of another file."""
    kernel = re.compile(r"^@(jit|inline|overload|intrinsic)\b|\b(specialize|in_namespace)\(", re.M)
    found = set()
    for path in code_cache._PACKAGE.rglob("*.py"):
        if kernel.search(path.read_text(encoding="utf-8")):
            place = path.relative_to(code_cache._PACKAGE).as_posix()
            found.add(next((r for r in code_cache.ROOMS if place.startswith(f"{r}/")), place))
    others = found - {*code_cache.ROOMS}
    assert others
    assert all(place.startswith("games/") for place in others)
    assert code_cache.ROOMS[0] in found


@each_game
def test_the_name_of_the_sources_is_the_folders(game):
    package = jit.package_of(game.rules.__name__)
    assert game.sources == code_cache.cache_folder(package).name


@pytest.mark.slow
def test_a_changed_function_in_another_file_is_noticed(tmp_path):
    """What Numba's own cache does not notice: the file of a function that is called changed."""
    package = tmp_path / "some_game"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "cards.py").write_text("""
from card_envs.kernels.jit import jit
@jit
def value(card):
    return 2 * card
""")
    (package / "rules.py").write_text("""
from card_envs.kernels.jit import jit
from some_game.cards import value
@jit
def score(card):
    return value(card) + 1
""")
    cache = tmp_path / "cache"
    code = (
        "from some_game.rules import score; print(score(20), sum(score.stats.cache_hits.values()))"
    )

    def run() -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(cache)}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        ).stdout.strip()

    assert run() == "41 0"
    if not any(cache.rglob("*.nbc")):
        assert sys.platform != "linux"
        pytest.skip("the cache folder cannot be chosen on this system")
    assert run() == "41 1"
    cards = package / "cards.py"
    cards.write_text(cards.read_text().replace("2 * card", "3 * card"))
    assert run() == "61 0"


# ---------------------------------------------------------------------------------------------
# What goes wrong with the folder
# ---------------------------------------------------------------------------------------------


def double(number):
    return 2 * number


@pytest.fixture
def warnings(caplog):
    """What is logged, each once: a folder that was warned of in another test is warned of again."""
    for function in (
        code_cache._warn,
        code_cache._announce,
        code_cache._refusal,
        code_cache.prepare,
    ):
        function.cache_clear()
    with caplog.at_level("WARNING", "card_envs"):
        yield lambda: [record.getMessage() for record in caplog.records]


def compiled_in(folder: Path, monkeypatch) -> object:
    """A kernel that is cached in the folder, if that can be."""
    monkeypatch.setattr(jit, "cache_folder", lambda package: folder)
    return jit.jit(double)


def test_where_the_cache_cannot_be_written_nothing_is_cached(tmp_path, monkeypatch, warnings):
    def refuse(**where):
        raise PermissionError(13, "Permission denied", where["dir"])

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "root" / "read-only", tmp_path / "file" / "below"):
        assert compiled_in(folder, monkeypatch)(21) == 42
        assert not any(folder.rglob("*"))
        assert any(str(folder) in warning for warning in warnings())


def test_others_may_read_the_folder_and_not_write_to_it(tmp_path, monkeypatch):
    """Whatever the umask is."""
    folder = tmp_path / "root" / "game"
    before = os.umask(0)
    try:
        assert compiled_in(folder, monkeypatch)(21) == 42
    finally:
        os.umask(before)
    (file,) = files_of(folder, "nbc")
    if hasattr(os, "getuid"):
        assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o755
        assert file.stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no owners and modes to check")
@pytest.mark.parametrize("which", ["root", "game"])
@pytest.mark.parametrize("trouble", ["mode", "owner"])
def test_a_folder_that_others_may_write_to_is_not_used(
    which, trouble, tmp_path, monkeypatch, warnings, owners
):
    folder = tmp_path / "root" / "game"
    folder.mkdir(parents=True, mode=0o700)
    os.chmod(folder.parent, 0o700)
    suspect = folder if which == "game" else folder.parent
    if trouble == "mode":
        os.chmod(suspect, 0o777)
    else:
        owners[suspect] = os.getuid() + 1
    assert compiled_in(folder, monkeypatch)(21) == 42
    assert not list(folder.iterdir())
    (warning,) = warnings()
    assert str(suspect) in warning
    assert ("written by others" if trouble == "mode" else "another user") in warning


@pytest.fixture
def read_only(monkeypatch):
    """From its call on, no folder can be written."""

    def refuse(**where):
        raise OSError(30, "Read-only file system", where["dir"])

    def become_read_only():
        code_cache.prepare.cache_clear()
        code_cache._refusal.cache_clear()
        monkeypatch.setattr(tempfile, "TemporaryFile", refuse)

    return become_read_only


@pytest.fixture
def owners(monkeypatch):
    """Who owns which path, by its user's number, if it is not its real owner."""
    owners: dict[Path, int] = {}
    status = Path.stat

    def stat_of(path, **kwargs):
        found = status(path, **kwargs)
        return os.stat_result([*found[:4], owners.get(path, found.st_uid), *found[5:]])

    monkeypatch.setattr(Path, "stat", stat_of)
    return owners


def test_a_complete_cache_that_cannot_be_written_is_read(
    tmp_path, monkeypatch, warnings, read_only
):
    folder = tmp_path / "root" / "game"
    assert compiled_in(folder, monkeypatch)(21) == 42
    before = warnings()
    content = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    read_only()
    kernel = compiled_in(folder, monkeypatch)
    assert kernel(21) == 42
    assert sum(kernel.stats.cache_hits.values()) == 1
    assert warnings() == before
    assert kernel(21.5) == 43  # what it lacks is compiled, at every start
    assert any("Read-only" in warning for warning in warnings())
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == content


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no owners and modes to check")
def test_a_cache_that_cannot_be_written_may_be_roots(
    tmp_path, monkeypatch, warnings, read_only, owners
):
    folder = tmp_path / "root" / "game"
    assert compiled_in(folder, monkeypatch)(21) == 42
    read_only()
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    owners.update(dict.fromkeys((folder, *folder.parents), 0))
    if me == 0:  # the file's owner cannot be feigned
        kernel = compiled_in(folder, monkeypatch)
        assert kernel(21) == 42
        assert sum(kernel.stats.cache_hits.values()) == 1
    assert code_cache.prepare(folder)
    for path in (folder, folder.parent, tmp_path):
        code_cache.prepare.cache_clear()
        owners[path] = me + 2
        assert not code_cache.prepare(folder)
        assert f"{path} belongs to another user" in warnings()[-1]
        owners[path] = 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no owners and modes to check")
def test_nobody_else_may_write_above_a_cache_that_cannot_be_written(
    tmp_path, monkeypatch, warnings, read_only
):
    """But for sticky folders."""
    folder = tmp_path / "above" / "root" / "game"
    assert compiled_in(folder, monkeypatch)(21) == 42
    read_only()
    above = tmp_path / "above"
    above.chmod(0o1777)
    assert code_cache.prepare(folder)
    for mode in (0o777, 0o775):
        code_cache.prepare.cache_clear()
        code_cache._warn.cache_clear()
        above.chmod(mode)
        assert not code_cache.prepare(folder)
        assert f"{above} can be written by others" in warnings()[-1]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no owners and modes to check")
def test_a_file_that_others_may_write_is_not_loaded(tmp_path, monkeypatch, warnings):
    assert compiled_in(tmp_path / "game", monkeypatch)(21) == 42
    (file,) = files_of(tmp_path, "nbc")
    file.chmod(0o666)
    kernel = compiled_in(tmp_path / "game", monkeypatch)
    assert kernel(21) == 42
    assert not kernel.stats.cache_hits
    assert "written by others" in warnings()[-1]


def files_of(folder: Path, ending: str) -> list[Path]:
    return list(folder.rglob(f"*.{ending}"))


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damaged",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: os.urandom(400),
        flipped,
        lambda content: content[:4096] + bytes(4096) + content[8192:],
        lambda content: content[:-1] + bytes([content[-1] ^ 128]),
    ],
    ids=["empty", "half", "random", "a bit", "a page of zeros", "the last byte"],
)
def test_a_damaged_file_is_compiled_again(damaged, tmp_path, monkeypatch, warnings):
    """Most bits of a kernel are code or data that would run."""
    assert compiled_in(tmp_path / "game", monkeypatch)(21) == 42
    (file,) = files_of(tmp_path, "nbc")
    file.write_bytes(damaged(file.read_bytes()))
    again = compiled_in(tmp_path / "game", monkeypatch)
    assert again(21) == 42
    assert sum(again.stats.cache_misses.values()) == 1
    about_damage = [warning for warning in warnings() if "is damaged" in warning]
    assert len(about_damage) == 1
    assert str(tmp_path / "game") in about_damage[0]
    mended = compiled_in(tmp_path / "game", monkeypatch)
    assert mended(21) == 42
    assert sum(mended.stats.cache_hits.values()) == 1


def test_many_damaged_files_give_one_warning(tmp_path, monkeypatch, warnings):
    for number in (21, 21.0, np.int8(21)):
        compiled_in(tmp_path / "game", monkeypatch)(number)
    files = files_of(tmp_path, "nbc")
    assert len(files) == 3
    for file in files:
        file.write_bytes(flipped(file.read_bytes()))
    again = compiled_in(tmp_path / "game", monkeypatch)
    assert [again(number) for number in (21, 21.0, np.int8(21))] == [42, 42.0, 42]
    assert len([warning for warning in warnings() if "is damaged" in warning]) == 1


def test_recompiling_forgets_what_was_cached(tmp_path, monkeypatch, warnings):
    kernel = compiled_in(tmp_path / "game", monkeypatch)
    assert kernel(21) == 42
    kernel.recompile()
    assert kernel(21) == 42
    assert sum(kernel.stats.cache_misses.values()) == 2


def test_a_full_disk_leaves_kernels_uncached(tmp_path, monkeypatch, warnings):
    kernel = compiled_in(tmp_path / "game", monkeypatch)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert kernel(21) == 42
    about_space = [warning for warning in warnings() if "No space left" in warning]
    assert len(about_space) == 1
    assert str(tmp_path / "game") in about_space[0]
    assert compiled_in(tmp_path / "game", monkeypatch)(21) == 42
    assert not files_of(tmp_path, "nbc")


def test_compilation_is_announced_where_it_happens(tmp_path, monkeypatch, warnings):
    """Once, and not by what is in the folder: Numba's files belong to one environment."""
    assert compiled_in(tmp_path / "some-0", monkeypatch)(21) == 42
    (announcement,) = warnings()
    assert announcement.startswith("Compiling the rules: ")
    assert compiled_in(tmp_path / "some-0", monkeypatch)(21) == 42
    code_cache._announce.cache_clear()
    assert compiled_in(tmp_path / "some-0", monkeypatch)(21) == 42
    assert len(warnings()) == 1
    assert compiled_in(tmp_path / "some-0", monkeypatch)(21.0) == 42
    assert compiled_in(tmp_path / "other-0", monkeypatch)(21) == 42
    assert len(warnings()) == 2


@pytest.fixture
def slow_game(tmp_path):
    """Runs a program that can import ``slow_game.one`` and ``two``, which take time to compile."""
    (tmp_path / "slow_game").mkdir()
    (tmp_path / "slow_game" / "__init__.py").write_text("""
import time
from slow_game.rules import one, two
compiler = type(two._compiler)
compile_slowly = compiler.compile
def compile(self, *args):
    time.sleep(0.5)
    return compile_slowly(self, *args)
compiler.compile = compile
def compiled():
    return sum(sum(kernel.stats.cache_misses.values()) for kernel in (one, two))
""")
    (tmp_path / "slow_game" / "rules.py").write_text("""
from card_envs.kernels.jit import jit
@jit
def one(x):
    return x + 1
@jit
def two(x):
    return one(x) * 2
""")
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def start(program):
        return subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    yield start
    if not any((tmp_path / "cache").rglob("*.nbc")):
        assert sys.platform != "linux"
        pytest.skip("the cache folder cannot be chosen on this system")


@pytest.mark.slow
def test_only_one_process_compiles(slow_game):
    """The others wait for it, and load what it has saved."""
    program = "from slow_game import compiled, two; print(two(20), compiled())"
    processes = [slow_game(program) for _ in range(3)]
    answers = [process.communicate()[0].split() for process in processes]
    assert {answer[0] for answer in answers} == {"42"}
    assert sum(int(answer[1]) for answer in answers) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system that cannot fork")
def test_only_one_forked_process_compiles(slow_game):
    """As ``AsyncVectorEnv`` starts its workers, after the parent has compiled something else."""
    process = slow_game("""
import multiprocessing
from slow_game import compiled, one, two
def work(_):
    before = compiled()
    return two(20), compiled() - before
one(1)
with multiprocessing.get_context("fork").Pool(3) as pool:
    for answer in pool.map(work, range(3), chunksize=1):
        print(*answer)
""")
    answers = [line.split() for line in process.communicate()[0].splitlines()]
    assert [answer[0] for answer in answers] == ["42"] * 3
    assert sum(int(answer[1]) for answer in answers) == 1


_STOPPED = """
import os, signal
import slow_game
def stop(seconds):
    print("compiling", os.getpid(), flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
slow_game.time.sleep = stop
print(slow_game.two(20))
"""
_WAITING = """
from card_envs.kernels import code_cache
code_cache._SECONDS_OF_SILENCE, code_cache._SECONDS_OF_PATIENCE = 0.2, 0.6
import time
from slow_game import compiled, two
import slow_game
slow_game.time = type("NoTime", (), {"sleep": lambda seconds: None})
begun = time.monotonic()
print(two(20), compiled(), time.monotonic() - begun < 20)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a system that cannot stop processes")
def test_a_stopped_process_is_not_waited_for_long(slow_game):
    """It is named, once; what the others compile for themselves is there for those that follow."""
    stopped = slow_game(_STOPPED)
    try:
        assert stopped.stdout.readline().split() == ["compiling", str(stopped.pid)]
        waiting = slow_game(_WAITING)
        answer, said = waiting.communicate()
        assert answer.split() == ["42", "2", "True"]
        (line,) = [line for line in said.splitlines() if "Waiting" in line]
        for word in (f"process {stopped.pid} on", "compiling two", "0.6 s", "slow_game-"):
            assert word in line
        following = slow_game(_WAITING)
        answer, said = following.communicate()
        assert answer.split() == ["42", "0", "True"]
        assert not said
    finally:
        stopped.send_signal(signal.SIGCONT)
        stopped.kill()
        stopped.communicate()
