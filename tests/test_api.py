"""What `import askalike` offers: every public name, loaded when it is used, and search in a list of texts."""

import importlib.util
import inspect
import subprocess
import sys

import pytest

import askalike

TEXTS = ["how do I reset my password", "where is my order", "how do I reset my password"]
LEXICAL = "lm_jelinek_mercer"


@pytest.mark.parametrize("name", askalike.__all__)
def test_every_public_name_is_there(name):
    if name in ("serve", "ServiceSettings") and importlib.util.find_spec("uvicorn") is None:
        pytest.skip("needs the extra `service`")
    assert getattr(askalike, name) is not None
    assert name in dir(askalike)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = askalike.Nothing


def test_five_lines_are_enough():
    retriever = askalike.Retriever(["how do I reset my password", "where is my order"])
    best = retriever.search("forgot my password")[0]
    assert (best.id, best.title) == ("0", "how do I reset my password")
    assert best.score > 0


def test_repeated_texts_are_separate_documents():
    with askalike.Retriever(TEXTS, LEXICAL) as retriever:
        assert len(retriever) == 3
        assert [hit.id for hit in retriever.search("reset password")] == ["0", "2"]
        assert [hit.id for hit in retriever.search("reset password", k=1)] == ["0"]
        assert not retriever.search("zebra")


def test_one_string_is_not_taken_letter_by_letter(tmp_path):
    (tmp_path / "faq.csv").write_text("id,question\n1,Why is it late?\n2,Where is it?\n12,Who has it?\n")
    assert askalike.import_archive("table", str(tmp_path / "faq.csv"), tmp_path / "faq").questions == 3
    assert askalike.import_archive("table", tmp_path / "faq.csv", tmp_path / "faq").questions == 3
    expected = "expected a list of strings, and not one string"
    with pytest.raises(askalike.InputError, match=f"texts: {expected}, 'faq.csv'"):
        askalike.Retriever("faq.csv")
    with (
        askalike.Retriever(TEXTS, LEXICAL) as retriever,
        pytest.raises(askalike.InputError, match=f"texts: {expected}"),
    ):
        retriever.search_many("order")
    with askalike.Archive.open(tmp_path / "faq") as archive:
        with pytest.raises(askalike.InputError, match=f"ids: {expected}, '12'"):
            archive.delete("12")
        with pytest.raises(askalike.InputError, match="records: expected a list, and not one value, Question"):
            archive.upsert(askalike.Question("4", "When is it?"))
        assert len(archive.view()) == 3
    with pytest.raises(askalike.InputError, match=f"measures: {expected}, 'RR'"):
        askalike.evaluate({"q": {"1": 1.0}}, {"q": {"1": 1}}, "RR")
    with pytest.raises(askalike.SettingsError, match="tags is 'theft'; expected a tuple"):
        askalike.Filter(tags="theft")


def test_non_list_of_texts_is_refused():
    by_id = {"a": "where is my order", "b": "how do I reset my password"}
    with pytest.raises(askalike.InputError, match=r"not a dict; for ids of your own: \[Question"):
        askalike.Retriever(by_id)
    with askalike.Retriever(TEXTS, LEXICAL) as retriever:
        with pytest.raises(askalike.InputError, match="not a dict"):
            retriever.search_many(by_id)
        for wrong in (["order", "password"], None):
            with pytest.raises(askalike.InputError, match="expected a string; for several texts"):
                retriever.search(wrong)
        with pytest.raises(askalike.SettingsError, match="k must be at least 1, got 0"):
            retriever.search("order", k=0)


def test_questions_have_their_own_ids_and_bodies():
    questions = [askalike.Question("card", "Lost card", "Where do I get a new one?"), "where is my order"]
    with askalike.Retriever(questions, LEXICAL) as retriever:
        assert [hit.id for hit in retriever.search("get a new one")] == ["card"]
    with pytest.raises(askalike.InputError, match="two documents have the id '1'"):
        askalike.Retriever([askalike.Question("1", "a"), "b"])
    with pytest.raises(askalike.InputError, match="text 1: expected a string or a Question, got 7"):
        askalike.Retriever(["a", 7])


@pytest.mark.parametrize("ranker", ["bm25", LEXICAL, None])
def test_title_saying_the_query_precedes_long_bodies(ranker):
    body = "I want to borrow a printer, but do I need a card to borrow a printer? " * 4
    questions = [
        askalike.Question("body", "Which machines are there?", body),
        askalike.Question("title", "How do I borrow a printer?", "I need it tomorrow."),
    ]
    with askalike.Retriever(questions, ranker) as retriever:
        for typed in ("borrow printer", "how do I borrow", "printer"):
            first, second = retriever.search(typed)
            assert (first.id, second.id) == ("title", "body")
            assert first.explanation.fields["title"] > second.explanation.fields.get("title", 0)


def test_settings_are_those_of_the_ranker():
    with askalike.Retriever(TEXTS, "bm25", {"k1": 0.9}) as retriever:
        assert retriever.search("order")
    with pytest.raises(askalike.SettingsError, match="k2 is not a setting"):
        askalike.Retriever(TEXTS, "bm25", {"k2": 0.9})


def test_the_language_is_detected_or_given():
    german = ["Wie lange darf ich Bücher behalten?", "Wann habt ihr geöffnet?"] * 3
    with askalike.Retriever(german, LEXICAL) as detected, askalike.Retriever(german, LEXICAL, language="de") as given:
        assert (
            [hit.id for hit in detected.search("Buch")] == [hit.id for hit in given.search("Buch")] == ["0", "2", "4"]
        )


def test_retriever_is_in_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sqlite3.connect", None)
    with askalike.Retriever(TEXTS, LEXICAL) as retriever:
        assert retriever.search("order")
        assert not list(tmp_path.iterdir())
    with pytest.raises(askalike.ArchiveError, match="closed"):
        retriever.search("order")


def test_nothing_is_imported_before_it_is_used():
    script = "import sys, askalike; assert askalike.Question; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    light = {"askalike", "askalike.core", "askalike.core.records"}
    assert {name for name in printed if name.startswith("askalike")} == light


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The directory of an archive."""
    path = tmp_path_factory.mktemp("desk") / "desk"
    with askalike.Archive.create(path) as archive:
        archive.upsert(askalike.Question(str(n), title) for n, title in enumerate(TEXTS))
        archive.upsert([askalike.Link("2", "0", "duplicate")])
    return path


def test_what_takes_an_archive_takes_its_directory(desk, tmp_path):
    assert askalike.compute_statistics(str(desk)).summary.questions == 3
    assert {finding.name for finding in askalike.run_checks(desk)} >= {"repeated_titles"}
    assert askalike.export_archive(desk, "csv", tmp_path / "exported")["questions.csv"] == 3
    assert list(askalike.load_split(desk, "duplicates").queries) == ["2"]
    evaluation = askalike.evaluate_ranker(desk, "bm25")
    with askalike.Archive.open(desk) as archive:
        same = askalike.evaluate_ranker(archive, askalike.build("bm25"), "duplicates")
    assert evaluation.as_dict() == same.as_dict()
    proposals = askalike.dedupe(desk, "bm25", tmp_path / "clusters.csv").proposals
    assert [{question.id for question in each.members} for each in proposals] == [{"0", "2"}]
    assert askalike.compute_statistics(archive=desk).summary.questions == 3
    assert str(inspect.signature(askalike.tune)).startswith("(archive: askalike.store.archive.Archive | str | pathlib")
    with pytest.raises(askalike.ArchiveError, match="nothing-here: not an archive"):
        askalike.tune("nothing-here")
    with askalike.load(desk) as engine, pytest.raises(askalike.InputError, match="calibrate: .* got ArchiveRetriever"):
        askalike.calibrate(engine)


def test_ranker_is_given_by_name_or_itself(desk):
    ranker = askalike.build("bm25", {"k1": 0.9})
    with askalike.load(desk, ranker) as engine, askalike.Retriever(TEXTS, ranker) as retriever:
        assert engine.ranker is ranker
        assert [hit.id for hit in retriever.search("order")] == [hit.id for hit in engine.search("order")] == ["1"]
    with pytest.raises(askalike.SettingsError, match="bm25: this ranker has settings already"):
        askalike.load(desk, ranker, k1=1.2)
    with pytest.raises(askalike.SettingsError, match="no ranker is called 'bm52'"):
        askalike.evaluate_ranker(desk, "bm52")
    with pytest.raises(askalike.SettingsError, match="bow_cmm: no installed package trains models"):
        askalike.train(desk, "bow_cmm", "mine")


def test_wrong_values_are_one_line(desk):
    with askalike.load(desk, LEXICAL) as engine:
        for k in (-1, 2.5, "3"):
            with pytest.raises(askalike.SettingsError, match=f"k must be at least 1, got {k!r}"):
                engine.search("order", k=k)
        with pytest.raises(askalike.SettingsError, match=r"expected an askalike\.Filter"):
            engine.search("order", filter={"tags": ["card"]})
        queries = {"q": askalike.Question("q", "order")}
        with pytest.raises(askalike.SettingsError, match="k must be at least 0, got -2"):
            askalike.rank(engine.searcher(), queries, -2)
        with pytest.raises(askalike.InputError, match="rank: expected a searcher"):
            askalike.rank(engine.ranker, queries, 5)
    with pytest.raises(askalike.InputError, match=r"run: .* got 'bm25\.trec'; askalike\.read_run reads a file"):
        askalike.evaluate("bm25.trec", {}, ["RR"])
    with pytest.raises(askalike.SettingsError, match="compare: expected a mapping"):
        askalike.compare([], "RR")


def test_several_titles_are_searched_as_one_by_one(desk):
    with askalike.load(desk, LEXICAL) as engine:
        together = [result.hits for result in engine.search_many(["order", "zebra", "password"], k=1)]
        assert together == [engine.search(title, k=1).hits for title in ("order", "zebra", "password")]
        with pytest.raises(askalike.InputError, match="titles: expected a list of strings"):
            engine.search_many("order")


def test_what_is_returned_shows_itself_in_a_notebook(desk):
    with askalike.load(desk, LEXICAL) as engine:
        found = engine.search("<order>")
        assert repr(engine) == f"ArchiveRetriever({str(desk)!r}, {LEXICAL!r})"
        assert repr(engine.archive) == f"Archive({str(desk)!r})"
        run = askalike.rank(engine.searcher(), {"q": askalike.Question("q", "order")}, 5)
    assert repr(run) == "Run(queries=1)"
    assert repr(found).splitlines()[0] == "1 hit"
    assert repr(found[0]).startswith("SearchHit('1', 'where is my order', score=")
    assert "<td>where is my order</td>" in found._repr_html_()
    assert repr(askalike.Retriever(TEXTS, LEXICAL).search("zebra")) == "nothing similar"
    evaluation = askalike.evaluate({"q": {"1": 1.0}}, {"q": {"1": 1}}, ["RR"])
    assert "RR       1.0000" in repr(evaluation)
    assert "<td>1.0000</td>" in evaluation._repr_html_()
    compared = askalike.compare({"a": evaluation, "b": evaluation}, "RR")
    assert "<table>" in compared._repr_html_()
    assert "a a     1.0000" in repr(compared)
    assert repr(askalike.build("bm25")).startswith("LexicalRanker('bm25', {")


def test_a_service_is_started_from_a_directory(desk):
    pytest.importorskip("uvicorn", reason="needs the extra `service`")
    for archives in (desk, [desk]):
        with pytest.raises(askalike.SettingsError, match="^serve: port=99999: expected 65535 or less$"):
            askalike.serve(archives, port=99999)
