"""Files and folders are complete or absent."""

import fcntl
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from askalike.core.errors import ArchiveError
from askalike.core.files import (
    folder_errors,
    lock_folder,
    measure_folder,
    replace_file,
    replace_folder,
    scratch_folder,
    write_atomically,
)


def entries(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_write_replaces_the_file(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "ä\n")
    write_atomically(path, b"b")
    assert path.read_bytes() == b"b"
    assert entries(tmp_path) == ["a.txt"]


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(ValueError, match="stop"), replace_file(path) as partial:
        partial.write_text("half")
        raise ValueError("stop")
    assert path.read_text() == "before"
    assert entries(tmp_path) == ["a.txt"]


def test_link_stays_one_and_devices_are_written(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "a.txt")
    write_atomically(link, "a")
    assert (link.is_symlink(), (tmp_path / "a.txt").read_text()) == (True, "a")
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "full", "a")
    assert entries(tmp_path) == ["a.txt", "full", "link"]


def test_a_folder_replaces_the_old_one_whole(tmp_path):
    path = tmp_path / "deep" / "models"
    for name in ("one", "two"):
        with replace_folder(path) as folder:
            (folder / "inner").mkdir()
            (folder / "inner" / name).touch()
            assert not (path / "inner" / name).exists()
    assert entries(tmp_path) == ["deep", "deep/models", "deep/models/inner", "deep/models/inner/two"]


def test_an_error_leaves_the_folder_as_it_was(tmp_path):
    with pytest.raises(ValueError, match="stop"), replace_folder(tmp_path / "a") as folder:
        (folder / "half").touch()
        raise ValueError("stop")
    assert entries(tmp_path) == []


def test_killed_process_leaves_nothing_and_two_never_meet(tmp_path):
    (tmp_path / ".a.new").mkdir()
    (tmp_path / ".a.new" / "left").touch()
    with scratch_folder(tmp_path / "a") as folder:
        assert entries(folder) == []
        with pytest.raises(BlockingIOError), scratch_folder(tmp_path / "a"):
            pass
    assert entries(tmp_path) == []


ENDED_BETWEEN_RENAMES = """
import os, sys
from pathlib import Path
from askalike.core.files import replace_folder

renames = []

def end(event, arguments):
    if event == "os.rename":
        renames.append(arguments)
        if len(renames) == 2:
            if sys.argv[2] == "kill":
                os.kill(os.getpid(), 9)
            raise KeyboardInterrupt

with replace_folder(Path(sys.argv[1])):
    sys.addaudithook(end)
"""


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_folder_is_restored_between_two_renames(tmp_path, how):
    path = tmp_path / "a"
    with replace_folder(path) as folder:
        (folder / "before").touch()
    ended = subprocess.run(
        [sys.executable, "-c", ENDED_BETWEEN_RENAMES, path, how], check=False, stderr=subprocess.DEVNULL
    )
    assert ended.returncode == (-9 if how == "kill" else -2)
    assert path.exists() == (how == "interrupt")
    with scratch_folder(path):
        assert entries(path) == ["before"]
    assert entries(tmp_path) == ["a", "a/before"]


def test_folder_removed_while_locking_is_locked_anew(tmp_path):
    path = tmp_path / "a"
    entered, end = threading.Event(), threading.Event()

    def hold_next() -> None:
        with lock_folder(path, fcntl.LOCK_EX):
            entered.set()
            end.wait(30)

    with lock_folder(path, fcntl.LOCK_EX):
        waiting = threading.Thread(target=hold_next)
        waiting.start()
        assert not entered.wait(0.2)
        path.rmdir()
    assert entered.wait(30)
    with pytest.raises(BlockingIOError), lock_folder(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
        pass
    end.set()
    waiting.join()


def test_errors_of_a_folder_are_one_line(tmp_path):
    path = tmp_path / "a"
    busy = pytest.raises(ArchiveError, match="another process is writing it; wait")
    with scratch_folder(path), busy, folder_errors(path, "repeat"), scratch_folder(path):
        pass
    (tmp_path / "file").write_text("")
    inside, unwritable = tmp_path / "file" / "a", pytest.raises(ArchiveError, match=r"be written \(.*\); repeat$")
    with unwritable, folder_errors(inside, "repeat"), scratch_folder(inside):
        pass


def test_folder_is_measured_while_parts_change(tmp_path):
    (tmp_path / "lasting").mkdir()
    (tmp_path / "lasting" / "a").write_bytes(b"12345")
    ended = threading.Event()

    def make_and_remove() -> None:
        while not ended.is_set():
            for name in "bcdef":
                (tmp_path / name / "deep").mkdir(parents=True)
            for name in "bcdef":
                shutil.rmtree(tmp_path / name)

    thread = threading.Thread(target=make_and_remove)
    thread.start()
    sizes = {measure_folder(tmp_path) for _ in range(500)}
    ended.set()
    thread.join()
    assert sizes == {5}
