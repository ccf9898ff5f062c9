"""An archive as a transformer of PyTerrier, which runs without Java where none of its own transformers is used."""

import pandas
import pytest

import askalike
from askalike import SettingsError

pt = pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
TITLES = ["boil an egg", "bake some bread", "brew good coffee", "egg timer", "eggs and bread"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with askalike.Archive.create(tmp_path_factory.mktemp("pyterrier") / "archive") as archive:
        archive.upsert(askalike.Question(f"d{n}", title) for n, title in enumerate(TITLES))
        yield archive


@pytest.fixture(scope="module")
def bm25(archive):
    from askalike_research.pyterrier import ArchiveTransformer

    return ArchiveTransformer(archive, "bm25", k1=0.9)


QUERIES = pandas.DataFrame([["q1", "boil egg", "kept"], ["q2", "xylophone", "kept"]], columns=["qid", "query", "mark"])


def test_queries_become_results(bm25, archive):
    results = bm25(QUERIES)
    assert results.columns.tolist() == ["qid", "query", "mark", "docno", "rank", "score"]
    run = askalike.Run.from_frame(results)
    searcher = askalike.build("bm25", {"k1": 0.9}).open(archive.view())
    expected = askalike.rank(searcher, {"q": askalike.Question("q", "boil egg")}, 10)["q"]
    assert [(hit.id, hit.score) for hit in run["q1"]] == [(hit.id, hit.score) for hit in expected]
    assert set(results.qid) == {"q1"}
    assert set(results.mark) == {"kept"}


def test_operators_of_pipelines(bm25):
    assert (bm25 % 1)(QUERIES).docno.tolist() == ["d0"]
    doubled = (bm25 * 2.0)(QUERIES)
    assert doubled.score.tolist() == pytest.approx((2 * bm25(QUERIES).score).tolist())
    assert bm25.search("bread").docno.tolist() == ["d1", "d4"]


def test_results_of_another_stage_are_ranked_again(bm25):
    given = pandas.DataFrame({"qid": ["q1"] * 2, "query": ["egg"] * 2, "docno": ["d2", "d3"], "score": [9.0, 1.0]})
    again = (pt.Transformer.from_df(given) >> bm25)(QUERIES)
    assert again.docno.tolist() == ["d3", "d2"]
    assert again["rank"].tolist() == [0, 1]
    assert again.score.tolist()[1] == 0


def test_archived_question_does_not_find_itself(bm25):
    queries = pandas.DataFrame({"qid": ["d0", "d3"], "query": ["boil an egg", "boil an egg"]})
    found = askalike.Run.from_frame(bm25(queries))
    assert "d0" not in [hit.id for hit in found["d0"]]
    assert {"d0", "d3"} <= {hit.id for hit in found["d3"]}


def test_it_can_be_inspected_and_names_what_lacks(bm25):
    assert pt.inspect.transformer_outputs(bm25, ["qid", "query"]) == ["qid", "query", "docno", "rank", "score"]
    with pytest.raises(Exception, match="query"):
        bm25(pandas.DataFrame({"qid": ["1"]}))


def test_an_experiment_of_pyterrier_measures_it(bm25):
    qrels = pandas.DataFrame({"qid": ["q1"], "docno": ["d0"], "label": [1]})
    means = pt.Experiment([bm25], QUERIES[:1], qrels, ["recip_rank"])
    assert means.recip_rank.tolist() == [1.0]


def test_bodies_in_html_are_read_so(bm25):
    queries = pandas.DataFrame({"qid": ["q"], "query": ["help"], "body": ["<p>an <b>egg</b></p>"]})
    with pytest.warns(UserWarning, match="1 of 1 bodies look like HTML"):
        found = bm25(queries)
    assert found.docno.tolist() == bm25(queries.assign(markup="html")).docno.tolist() != []
    words = bm25(queries.assign(body="an egg", markup="text"))
    assert found.score.tolist() == pytest.approx(words.score.tolist())
    with pytest.raises(SettingsError, match="column markup: rtf; expected text or html"):
        bm25(queries.assign(markup="rtf"))
