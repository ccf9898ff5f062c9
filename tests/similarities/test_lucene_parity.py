"""Every similarity equals the scores that Lucene 9.5 itself computed, to 1e-6 relative."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from askalike.core import registry
from askalike.core.hits import Collection
from askalike.index.lexical.builder import decoded_lengths, round_lengths
from askalike.index.lexical.index import LexicalIndex, LexicalLayout
from askalike.index.lexical.prepared import QueryTerms
from askalike.index.lexical.terms import mark_terms
from askalike.similarities import Similarity

COLLECTION = Collection(documents=1000, total=52_500)
NORMALISATION = r"(?P<normalisation>none|H1|H2|H3|Z)(?:\((?P<p>[\d.]+)\))?"


def settings(name: str) -> Similarity:
    """`DFR BasicModelG AfterEffectL H2(1)` as our class with its settings."""
    numbers = [float(x) for x in re.findall(r"\((.*?)\)", name)[0].split(",")] if "(" in name else []
    if name == "Classic":
        return registry.load("similarity", "tfidf")()
    if name.startswith("BM25"):
        return registry.load("similarity", "bm25")(k1=numbers[0], b=numbers[1])
    if name.startswith("LMDirichlet"):
        return registry.load("similarity", "lm_dirichlet")(mu=numbers[0])
    if name.startswith("LMJM"):
        return registry.load("similarity", "lm_jelinek_mercer")(lam=numbers[0])
    family, first, second, last = name.split()
    normalisation = re.fullmatch(NORMALISATION, last)
    kind = normalisation["normalisation"].lower()
    parts = {"normalisation": kind} | ({{"h3": "mu", "z": "z"}.get(kind, "c"): numbers[0]} if numbers else {})
    if family == "IB":
        parts |= {"distribution": first.removeprefix("Distribution").lower(), "lambda": second[6:].lower()}
    else:
        parts |= {"basic_model": first[10:].lower(), "after_effect": second[-1].lower()}
    return registry.load("similarity", family.lower())(**parts)


def recorded(path: Path) -> list[dict[str, str]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t"))


def test_equals_lucene(shared_data):
    rows = recorded(shared_data / "lucene/lucene9_scores.tsv")
    assert len(rows) == 360
    for row in rows:
        tf, length, df, ttf = (float(row[c]) for c in ("freq", "doclen_decoded", "docFreq", "totalTermFreq"))
        ours = settings(row["similarity"]).score(tf, length, df, ttf, COLLECTION)
        assert ours == pytest.approx(float(row["score"]), rel=1e-6), row


def mark_all(fields):
    return [term for number, words in enumerate(fields) for term in mark_terms(words, number)]


@pytest.mark.parametrize("name", registry.names("similarity"))
def test_boosted_sum_over_fields_equals_boolean_query(name):
    """Title, text and answer of 40 documents, some without title or answer; boosts 1, 1.5, 0.5; see Fields.java."""
    lines = (Path(__file__).parent / "data/lucene-fields.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    documents = [row[1:] for row in rows if row[0] == "document"]
    index = LexicalIndex.create(layout=LexicalLayout(field_count=3))
    index.add({n: mark_all([field.split() for field in fields]) for n, fields in enumerate(documents)})
    queries = [QueryTerms(mark_all([row[1].split()] * 3)) for row in rows if row[0] == "query"]
    scores = [(int(row[2]), int(row[3]), float(row[4])) for row in rows if row[:2] == ["score", name]]
    expected = {(q, n): score for q, n, score in scores if score > 0}  # a document that scores 0 is not found here
    prepared = index.searcher.prepare(queries, registry.load("similarity", name)(), (1.0, 1.5, 0.5))
    found = {
        (q, n): score
        for q, top in enumerate(index.searcher.search(prepared, 40))
        for n, score in zip(top.docids.tolist(), top.scores.tolist(), strict=True)
    }
    assert len(expected) > 100
    # The logarithms of LM-Dirichlet nearly cancel, and Lucene rounds them to float32.
    assert found == pytest.approx(expected, rel=1e-6, abs=5e-8)


def test_length_byte_equals_lucene(shared_data):
    header = (shared_data / "lucene/lucene9_scores.tsv").read_text().split("#LENGTH_TABLE ")[1].splitlines()[0]
    assert decoded_lengths().tolist()[: len(header.split(","))] == [int(x) for x in header.split(",")]
    assert round_lengths([0, 1, 40, 41, 42, 100, 1000]).tolist() == [0, 1, 40, 40, 42, 96, 984]


@pytest.mark.parametrize("name", registry.names("similarity"))
def test_rises_with_frequency_and_falls_with_length(name):
    similarity = registry.load("similarity", name)()
    tf = np.array([1.0, 2, 3, 10])[:, None]
    length = np.array([10.0, 20, 40, 400])
    scores = similarity.score(tf, length, 30.0, 90.0, COLLECTION)
    assert (scores >= 0).all()
    assert (np.diff(scores, axis=0) >= 0).all()
    assert (np.diff(scores, axis=1) <= 0).all()


@pytest.mark.parametrize("name", registry.names("similarity"))
@pytest.mark.parametrize(("df", "ttf"), [(0.0, 0.0), (1.0, 1.0), (1000.0, 1000.0), (1000.0, 5000.0)])
def test_extreme_statistics_give_finite_scores(name, df, ttf):
    scores = registry.load("similarity", name)().score(1.0, 5.0, df, ttf, COLLECTION)
    assert np.isfinite(scores)
    assert scores >= 0
