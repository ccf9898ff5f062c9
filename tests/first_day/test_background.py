"""Vectors in the background: whatever happens to their archive meanwhile, and whatever fails."""

import fcntl
import json
import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest

import askalike
from askalike import rankers
from askalike.core.errors import AskalikeError
from askalike.core.records import Question
from askalike.index import commits
from askalike.index.files import VERIFIED_FILE
from askalike.search import interim
from askalike.search.encoder_installation import adopt_encoder
from askalike.service.pages import quality
from askalike.store import Archive, encoding_progress
from askalike.store.database import DATABASE_FILE
from askalike.store.encoding_progress import FAILED_PAUSE_S, read_encoding, record_encoding
from cli.test_disks_and_pipes import read_only
from commands import askalike as run
from index.test_commit_faults import Disk
from needs import need
from small_models import WORDS, write_encoder
from waiting import wait_for

need("onnxruntime", "onnx", "safetensors", "tokenizers")

NAME = "small"
N_QUESTIONS = interim.AT_ONCE + 20


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An archive that has an encoder, but no vectors and no index yet."""
    encoder = write_encoder(tmp_path_factory.mktemp("encoder") / NAME, [*dict.fromkeys(WORDS)])
    with Archive.create(tmp_path_factory.mktemp("made") / "faq") as archive:
        archive.upsert(Question(f"q{n}", f"how do i cook rice {n}") for n in range(N_QUESTIONS))
        adopt_encoder(archive, str(encoder))
    return archive.path


@pytest.fixture
def path(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "faq"))


@pytest.fixture(autouse=True)
def without_its_rule(monkeypatch):
    """The rule of abstention takes most of the time of a small build."""
    monkeypatch.setattr(interim, "fit_abstention", lambda archive, ranker: None)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of this test's own, so that no other test's process has the turn."""
    monkeypatch.setattr(interim, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(interim, "POLL_S", 0.02)
    return tmp_path / "cache"


@pytest.fixture
def started(monkeypatch):
    """The archives for which a process would be started."""
    found = []
    monkeypatch.setattr(interim, "start_module", lambda module, arguments: found.append(*arguments))
    return found


def build(path):
    with Archive.open(path) as archive:
        interim.build_in_background(archive, rankers.create(None, {}, archive))


def attempt(path):
    """Build it; return the error, if there is one."""
    try:
        build(path)
    except AskalikeError as error:
        return str(error)
    return ""


def is_complete(path):
    with Archive.open(path) as archive:
        ranker, view = rankers.create(None, {}, archive), archive.view()
        return read_encoding(path, NAME) is None and all(index.change == view.change for index in ranker.indexes(view))


def files(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if "archive.sqlite" not in path.name)


class Strike(Disk):
    """Does something to an archive at one of the operations of writing files."""

    def __init__(self, monkeypatch, action):
        super().__init__(monkeypatch)
        self._action = action

    def note(self, name, *arguments):
        self.calls.append((name, *arguments))
        if len(self.calls) - 1 == self.failing:
            self.failing = -1
            self._action()


def delete(path, other):
    shutil.rmtree(path)


def move(path, other):
    path.rename(path.with_name("elsewhere"))


def replace(path, other):
    move(path, other)
    other.rename(path)


def survives(action, made, folder, strike, place):
    """Whether an archive to which something happens at an operation stays as it is afterwards."""
    path, other = (Path(shutil.copytree(made, folder / name)) for name in ("faq", "other"))
    shutil.rmtree(other / "index")
    strike._action = lambda: action(path, other)
    strike.start(place)
    assert "\n" not in attempt(path)
    is_struck = strike.failing != place
    strike.start()
    if is_struck:
        assert path.exists() == (action is replace)
        left = [file for file in files(path) if file.parts[0] == "index" and (path / file).is_file()]
        assert {file.name for file in left} <= {"lock", VERIFIED_FILE}
    for folder in (path, path.with_name("elsewhere")):
        if folder.exists():
            build(folder)
            assert is_complete(folder)
    return is_struck


@pytest.mark.parametrize("action", [delete, move, replace])
@pytest.mark.parametrize("place", [2, 9, 16])
def test_what_happens_to_the_folder_is_left_alone(made, tmp_path, monkeypatch, action, place):
    assert survives(action, made, tmp_path, Strike(monkeypatch, None), place)


@pytest.mark.long
@pytest.mark.parametrize("action", [delete, move, replace])
def test_what_happens_at_any_write_is_left_alone(made, tmp_path, monkeypatch, action):
    strike, place = Strike(monkeypatch, None), 0
    while survives(action, made, tmp_path / str(place), strike, place):
        place += 1
    assert place > 20


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.long)])
def test_full_disk_is_told_and_repaired(made, tmp_path, monkeypatch, step):
    disk, failures = Disk(monkeypatch), 0
    for place in range(0, 400, step):
        disk.start()
        path = Path(shutil.copytree(made, tmp_path / str(place)))
        disk.start(place)
        problem, is_past = attempt(path), len(disk.calls) <= place
        disk.start()
        assert "\n" not in problem
        if problem:
            failures += 1
            progress = read_encoding(path, NAME)
            assert progress.problem in problem
            assert not progress.is_due
        build(path)
        assert is_complete(path)
        if is_past:
            break
    assert failures > 1


def fail(path, monkeypatch):
    """Let the disk be full when the vectors are committed."""

    def write(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(AskalikeError):
        patch.setattr(commits, "write_manifest", write)
        build(path)


def test_a_failure_is_told_everywhere_and_words_answer(path, monkeypatch, started):
    rankers_built = run("search", path, "rice", "--ranker", "lm_jelinek_mercer", "--min-similarity", "0")
    assert rankers_built.returncode == 0
    fail(path, monkeypatch)
    started.clear()
    reason = "it stopped: .*No space left on device"
    searched = run("search", path, "rice", "--min-similarity", "0")
    assert searched.returncode == 0
    assert "how do i cook rice" in searched.stdout
    assert re.search(f"words answer until .*{reason}", searched.stderr)
    assert "No space left on device" in " ".join(run("info", path).stdout.split())
    assert "No space left on device" in run("check", path, "--json").stdout
    with Archive.open(path) as archive:
        assert "No space left" in quality._find_encoding(archive)[1].problem
    assert started == [], "there is a pause"
    assert run("index", path).returncode == 0
    assert is_complete(path)


def ask(retriever, title):
    """Ask; return the ids that are found, and why words answered."""
    result = retriever.search(title, 3, min_similarity=0)
    return [hit.id for hit in result], result.remark


def test_python_gets_words_at_once_then_vectors(path, started):
    with askalike.load(path) as retriever:
        found, remark = ask(retriever, "how do i cook rice 7")
        assert found[0] == "q7"
        assert (
            remark == f"words answer until the vectors of {NAME} are complete: 0 of {N_QUESTIONS} questions are encoded"
        )
        assert remark in str(retriever.search("rice", min_similarity=0))
        assert started == [str(path)]
        build(path)
        assert ask(retriever, "how do i cook rice 7")[1] == ""
        assert NAME in [part.name for part in retriever.ranker.parts]


def test_many_new_questions_are_found_at_once(path, started):
    build(path)
    with askalike.load(path) as retriever:
        retriever.archive.upsert([Question("late", "why was my bike stolen")])
        assert ask(retriever, "why was my bike stolen") == (
            ["late", *ask(retriever, "why was my bike stolen")[0][1:]],
            "",
        )
        retriever.archive.upsert(Question(f"new{n}", f"the police asks {n}") for n in range(interim.AT_ONCE + 1))
        found, remark = ask(retriever, "the police asks 7")
        assert found[0] == "new7"
        assert f"0 of {interim.AT_ONCE + 1} questions are encoded" in remark
        build(path)
        found, remark = ask(retriever, "the police asks 7")
        assert (found[0], remark) == ("new7", "")


def test_a_named_ranker_waits_for_its_vectors(path, started):
    with askalike.load(path, NAME) as retriever:
        assert ask(retriever, "how do i cook rice 7")[1] == ""
    assert started == []


def test_second_import_begins_to_encode(path, started, tmp_path):
    build(path)
    table = tmp_path / "more.csv"
    table.write_text("question\n" + "".join(f"why was my bike stolen {n}\n" for n in range(interim.AT_ONCE + 1)))
    imported = run("import", "table", table, "-o", path, "--source", "more")
    assert f"words answer now, the vectors of {NAME} follow" in imported.stderr
    assert started == [str(path)]


def test_words_answer_where_nothing_else_can_be_indexed(path, monkeypatch, started):
    assert run("search", path, "rice", "--ranker", "lm_jelinek_mercer", "--min-similarity", "0").returncode == 0
    with read_only(path):
        searched = run("search", path, "rice", "--min-similarity", "0")
        told = " ".join(run("info", path).stdout.split())
    assert searched.returncode == 0, searched.stderr
    assert "how do i cook rice" in searched.stdout
    assert f"it stopped: {encoding_progress.NOT_WRITABLE}" in searched.stderr
    assert encoding_progress.NOT_WRITABLE in told
    assert started == []


def test_pause_ends_whatever_the_clock_says(path, monkeypatch, started):
    fail(path, monkeypatch)
    now = time.monotonic()
    for wall in (0, 2e9, 4e9):
        monkeypatch.setattr(time, "time", lambda wall=wall: wall)
        with Archive.open(path) as archive:
            interim.start_encoding(archive, interim.MissingVectors(NAME, 9))
    assert started == []
    for since_start in (now + FAILED_PAUSE_S + 1, now / 1e6):  # later, and after a restart of the machine
        monkeypatch.setattr(encoding_progress, "clock", lambda at=since_start: at)
        with Archive.open(path) as archive:
            interim.start_encoding(archive, interim.MissingVectors(NAME, 9))
    assert len(started) == 2


def test_one_computes_at_a_time_and_others_wait(path, cache):
    cache.mkdir()
    with open(cache / interim.TURN_FILE, "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        thread = threading.Thread(target=build, args=(path,))
        thread.start()
        wait_for(lambda: (progress := read_encoding(path, NAME)) and progress.waiting)
        assert "those of another archive come first" in read_encoding(path, NAME).describe()
        fcntl.flock(turn, fcntl.LOCK_UN)
        thread.join()
    assert is_complete(path)


def test_one_that_waits_ends_with_its_archive(path, cache):
    cache.mkdir()
    ended = []
    with open(cache / interim.TURN_FILE, "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        thread = threading.Thread(target=lambda: ended.append(attempt(path)))
        thread.start()
        wait_for(lambda: (progress := read_encoding(path, NAME)) and progress.waiting)
        shutil.rmtree(path)
        thread.join()
    assert "removed, moved or replaced" in ended[0]
    assert not path.exists()


def test_without_a_cache_nobody_waits(path, monkeypatch):
    def no_home():
        raise RuntimeError

    monkeypatch.setattr(interim, "user_cache", no_home)
    build(path)
    assert is_complete(path)


def test_a_second_process_for_an_archive_ends(path, monkeypatch):
    monkeypatch.setattr(interim, "build_in_background", lambda *of: pytest.fail("one runs already"))
    with record_encoding(path, NAME, 9):
        interim.encode(path)


def test_killed_process_begins_again_later(path, started):
    with pytest.raises(KeyboardInterrupt), record_encoding(path, NAME, 9):
        raise KeyboardInterrupt
    progress = read_encoding(path, NAME)
    assert (progress.running, progress.problem, progress.is_due) == (False, encoding_progress.ENDED, False)


def test_a_long_problem_leaves_a_readable_record(tmp_path):
    for text in ("\U0001f600" * 900, "x" * 900, "y"):
        with pytest.raises(ValueError, match=text[:5]), record_encoding(tmp_path, NAME, 9):
            raise ValueError(text)
        assert read_encoding(tmp_path, NAME).problem == text[: encoding_progress.MAX_PROBLEM]
    assert json.loads((tmp_path / encoding_progress.FOLDER / f"{NAME}.progress").read_text("utf-8"))["done"] == 0
    assert os.listdir(tmp_path) == ["index"]
    assert not (tmp_path / DATABASE_FILE).exists()
