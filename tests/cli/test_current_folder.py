"""No command runs Python files of the folder in which it is typed, nor does any process that it starts."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from askalike.core import parallel
from askalike.core.parallel import map_pieces, use_workers
from askalike.core.records import Question
from askalike.search import interim
from askalike.search.encoder_installation import adopt_encoder
from askalike.store import Archive
from askalike.store.encoding_progress import read_encoding
from commands import environment
from needs import need
from small_models import WORDS, write_encoder
from waiting import wait_for

SOURCE = Path(parallel.__file__).parents[1]
PLANTED = ("askalike", "json", "multiprocessing", "numpy", "random", "types")
PROGRAM = "from askalike.cli import main\nif __name__ == '__main__':\n    main()\n"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "faq.csv"
    titles = [f"how do i cook rice {n} in a pot" for n in range(interim.AT_ONCE + 20)]
    path.write_text("\n".join(["title,duplicate_of", *(f"{title}," for title in titles)]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    need("onnxruntime", "onnx", "safetensors", "tokenizers")
    return write_encoder(tmp_path_factory.mktemp("encoder") / "small", [*dict.fromkeys(WORDS)])


@pytest.fixture(scope="module")
def encoded_archive(tmp_path_factory, encoder):
    """An archive that has an encoder, but no vectors yet."""
    with Archive.create(tmp_path_factory.mktemp("archive") / "faq") as archive:
        archive.upsert(Question(f"q{n}", f"how do i cook rice {n}") for n in range(interim.AT_ONCE + 20))
        adopt_encoder(archive, str(encoder))
    return archive.path


@pytest.fixture
def hostile(tmp_path):
    """A folder with Python files that leave a mark where they are imported."""
    folder = tmp_path / "shared"
    folder.mkdir()
    for name in PLANTED:
        mark = f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n"
        (folder / f"{name}.py").write_text(mark, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "askalike").write_text(PROGRAM, encoding="utf-8")
    yield folder
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def start(folder, *words):
    """Start a command there as an installed one is started."""
    command = [sys.executable, folder.parent / "bin" / "askalike", *words]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([*map(str, command)], cwd=folder, env=environment(), **pipes)


def run(folder, *words):
    process = start(folder, *words)
    output, _ = process.communicate()
    return process.returncode, output


def has_vectors(archive):
    return read_encoding(archive, "small") is None


def test_import_and_the_encoder_in_the_background(hostile, table, encoder, tmp_path):
    code, said = run(hostile, "import", "table", table, "-o", tmp_path / "faq", "--encoder", encoder)
    assert code == 0, said
    wait_for(lambda: has_vectors(tmp_path / "faq"))
    assert run(hostile, "search", tmp_path / "faq", "rice in a pot", "--min-similarity", "0")[0] == 0


def test_serve_and_the_builder_of_its_index(hostile, encoded_archive, tmp_path):
    need("uvicorn")
    archive = Path(shutil.copytree(encoded_archive, tmp_path / "faq"))
    service = start(hostile, "serve", archive, "--port", "0", "--workers", "2")
    try:
        wait_for(lambda: has_vectors(archive))
    finally:
        service.send_signal(signal.SIGTERM)
        service.communicate()
    assert service.returncode == 0


def test_python_m_starts_its_processes_elsewhere(tmp_path, encoded_archive, hostile):
    for file in hostile.iterdir():
        if file.stem not in ("multiprocessing", "random"):  # Python itself imports the others
            file.unlink()
    archive = Path(shutil.copytree(encoded_archive, tmp_path / "faq"))
    command = [sys.executable, "-m", "askalike", "index", archive, "--jobs", "2"]
    done = subprocess.run([*map(str, command)], cwd=hostile, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["demo", "example"],
        ["compile", "--jobs", "2"],
        ["dedupe", "{archive}", "-o", "out.csv", "--jobs", "2", "--min-probability", "0.5"],
        ["tune", "{archive}", "--budget", "20s", "--jobs", "2"],
        ["mcp", "{archive}"],
    ],
    ids=lambda words: words[0],
)
def test_other_commands(hostile, calibrated_riverside, tmp_path, words):
    archive = Path(shutil.copytree(calibrated_riverside, tmp_path / "desk"))
    code, said = run(hostile, *(word.format(archive=archive) for word in words))
    assert code == 0, said
    assert "Traceback" not in said


def test_a_callers_own_processes_keep_their_path(monkeypatch):
    monkeypatch.delenv(parallel.SAFE_PATH, raising=False)
    with use_workers(2):
        assert list(map_pieces(eval, ["__import__('sys').flags.safe_path"])) == [True]
    assert parallel.SAFE_PATH not in parallel.os.environ


def test_all_processes_are_started_in_one_place():
    starts = re.compile(
        r"sys\.executable|\bPopen\b|\bget_context\b|subprocess\.|os\.(exec|spawn|posix_spawn|fork|system)\w*\("
        r"|^import multiprocessing|multiprocessing import (?!parent_process)|ProcessPool\w+\((?!jobs, spawn_c)",
        re.M,
    )
    files = {str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if starts.search(file.read_text("utf-8"))}
    assert files == {"core/parallel.py"}
