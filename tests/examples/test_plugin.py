"""The example package is installed into a folder, and used from the command line as any built-in part."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import askalike
from small_models import make_model_folder

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
MAIN = "import sys; from askalike.cli import main; sys.argv[0] = 'askalike'; main()"
QUESTIONS = """# about cards
How do I renew my library card?
I have lost my library card

When is the library open on Sundays?
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the installed package: by pip where it is there and can build, else as pip would write it."""
    source = tmp_path_factory.mktemp("plugin") / "source"
    shutil.copytree(EXAMPLE, source)
    site = source.parent / "site"
    if importlib.util.find_spec("pip") and importlib.util.find_spec("setuptools"):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
        subprocess.run([*pip, "--target", site, source], check=True, timeout=300, capture_output=True)
    else:
        install_by_hand(source, site)
    return site


def install_by_hand(source: Path, site: Path) -> None:
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    shutil.copytree(source / "askalike_example", site / "askalike_example")
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    lines: list[str] = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def run(site):
    """Run a command line where the package is installed; return its exit code, output and errors."""
    path = os.pathsep.join([str(Path(askalike.__file__).parents[1]), str(site)])

    def run(*words: object) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *map(str, words)],
            env=os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}, capture_output=True, text=True,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture(scope="module")
def archive(run, tmp_path_factory):
    """An archive that the package's reader has made."""
    folder = tmp_path_factory.mktemp("archive")
    (folder / "questions.txt").write_text(QUESTIONS)
    code, out, err = run("import", "lines", folder / "questions.txt", "-o", folder / "archive")
    assert code == 0, err
    assert out.endswith("3 questions, 0 answers, 0 duplicate links, 0 rejected\n")
    return folder / "archive"


@pytest.mark.parametrize("ranker", ["binary", "jaccard", "rm3"])
def test_its_rankers_search(run, archive, ranker):
    code, out, err = run("search", archive, "lost card", "--ranker", ranker, "--explain")
    assert code == 0, err
    assert out.splitlines()[0].startswith(" 1. I have lost my library card")
    assert "lost" in out.split("why:")[1]


def test_its_settings_are_checked(run, archive):
    code, _, err = run("search", archive, "lost card", "--ranker", "jaccard", "--set", "letters=2")
    assert (code, err) == (2, "askalike: jaccard: letters is not a setting (known: min_letters)\n")
    code, out, _ = run(
        "search", archive, "do I", "--ranker", "jaccard", "--set", "min_letters=1", "--min-similarity", "0"
    )
    assert code == 0
    assert "renew" in out.splitlines()[0]


def test_rm3_adds_words_of_first_documents(run, archive):
    code, out, err = run("search", archive, "renew", "--ranker", "rm3", "--set", "feedback_documents=1", "--explain")
    assert code == 0, err
    assert "librari" in out.split("why:")[1]


def test_late_interaction_reranks_first_documents(run, archive, tmp_path):
    pytest.importorskip("tokenizers", reason="needs the extra encoder")
    model = make_model_folder(tmp_path / "model", "bert", "mean")
    settings = ("--set", "ranker=bm25", "--set", f"tokens={model}", "--min-similarity", "0")
    code, out, err = run("search", archive, "lost card", "--ranker", "late_interaction", *settings, "--explain")
    assert code == 0, err
    assert out.splitlines()[0].startswith(" 1. I have lost my library card")
    assert "late_interaction" in out.split("why:")[1]


def test_it_is_a_part_of_a_hybrid_and_ranks_files(run, archive, tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "title": "library open on Sundays"}\n')
    parts = ("--ranker", "hybrid", "--set", "parts=binary,jaccard")
    code, _, err = run("rank", archive, "--queries", tmp_path / "queries.jsonl", "-o", tmp_path / "run", *parts)
    assert code == 0, err
    assert (tmp_path / "run").read_text().split()[2] == "5"


def test_its_names_are_listed(run, archive):
    assert "lines" in run("import", "--help")[1]
    _, _, err = run("search", archive, "card", "--ranker", "nothing")
    assert "binary" in err
    assert "jaccard" in err


def test_the_page_shows_its_files():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for name in ("pyproject.toml", "similarity.py", "reader.py", "ranker.py"):
        assert f"examples/plugin/{name if name == 'pyproject.toml' else 'askalike_example/' + name}" in page
