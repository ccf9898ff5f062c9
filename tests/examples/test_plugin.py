"""The example package is installed into a folder, and used from the command line as any built-in part."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

import askalike

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
COMMANDS = """
import json, sys
from commands import askalike
for words in map(json.loads, sys.stdin):
    done = askalike(*words)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""
QUESTIONS = """# about cards
How do I renew my library card?
I have lost my library card

When is the library open on Sundays?
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the installed package, as pip would write it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path_factory.mktemp("plugin") / "site"
    metadata = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    shutil.copytree(EXAMPLE / "askalike_example", site / "askalike_example")
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    lines: list[str] = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return site


@pytest.fixture(scope="module")
def run(site):
    """Run command lines in a process where the package is installed; return exit code, output and errors of each."""
    path = [Path(askalike.__file__).parents[1], site, ROOT / "tests"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-c", COMMANDS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run(*words: object) -> tuple[int, str, str]:
        print(json.dumps([str(word) for word in words]), file=process.stdin, flush=True)
        return tuple(json.loads(process.stdout.readline()))

    with process:
        yield run


@pytest.fixture(scope="module")
def archive(run, tmp_path_factory):
    """An archive that the package's reader has made."""
    folder = tmp_path_factory.mktemp("archive")
    (folder / "questions.txt").write_text(QUESTIONS)
    code, out, err = run("import", "lines", folder / "questions.txt", "-o", folder / "archive")
    assert code == 0, err
    assert out.endswith("3 questions, 0 answers, 0 duplicate links, 0 rejected\n")
    return folder / "archive"


@pytest.mark.parametrize("ranker", ["binary", "jaccard", "rm3", "trigrams"])
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


def test_it_joins_a_hybrid_and_ranks_files(run, archive, tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "title": "library open on Sundays"}\n')
    parts = ("--ranker", "hybrid", "--set", "parts=binary,jaccard")
    code, _, err = run("rank", archive, "--queries", tmp_path / "queries.jsonl", "-o", tmp_path / "run", *parts)
    assert code == 0, err
    assert (tmp_path / "run").read_text().split()[2] == "questions:5"


def test_its_names_are_listed(run, archive):
    assert "lines" in run("import", "--help")[1]
    _, _, err = run("search", archive, "card", "--ranker", "nothing")
    assert "binary" in err
    assert "jaccard" in err


def read_entry_points(site):
    [package] = distributions(path=[str(site)])
    return sorted(package.entry_points)


@pytest.mark.long
def test_pip_installs_the_same(site, tmp_path):
    if not all(map(find_spec, ("pip", "setuptools"))):
        pytest.skip("needs pip and setuptools")
    source = shutil.copytree(EXAMPLE, tmp_path / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "site", source], check=True, timeout=300, capture_output=True)
    assert read_entry_points(tmp_path / "site") == read_entry_points(site)


def test_the_page_shows_its_files():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for name in ("pyproject.toml", "similarity.py", "reader.py", "encoder.py", "ranker.py"):
        assert f"examples/plugin/{name if name == 'pyproject.toml' else 'askalike_example/' + name}" in page
