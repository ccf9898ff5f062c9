"""Lucene's figures on SemEval-2016, and those of the default ranker."""

import pytest

from askalike import Archive, build, evaluate_ranker, import_archive

LUCENE = {
    "tfidf": 73.7, "bm25": 74.2, "ib": 73.1, "dfr": 73.0, "lm_dirichlet": 76.2, "lm_jelinek_mercer": 75.7,
}  # fmt: skip
HYBRID = 76.9
"""LM-JM (λ .7) and the packaged vectors."""


@pytest.fixture(scope="module")
def semeval(shared_data, tmp_path_factory):
    path = tmp_path_factory.mktemp("semeval") / "archive"
    import_archive("semeval", [shared_data / "semeval2016-task3/test2016"], path)
    return path


@pytest.mark.parametrize(("name", "expected"), [*LUCENE.items(), ("hybrid", HYBRID)])
def test_figures_are_reached(semeval, name, expected):
    with Archive.open(semeval) as archive:
        result = evaluate_ranker(archive, build(name), "test", ["MAP"], rule="semeval")
    assert result.n == 70
    assert 100 * result.means["MAP"] == pytest.approx(expected, abs=1.0)
