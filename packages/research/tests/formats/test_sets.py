"""The sets of Lei et al. and SemEval, in small and whole."""

import gzip
from pathlib import Path

import pytest
from imported import Importing, Refusing

from askalike import Archive, import_archive, load_split
from export.test_export import READERS, assert_reimports_equal

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("reader", ["lei", "semeval", "trec", "yahoo"])
def test_an_empty_folder_is_one_clear_error(expect_refusal: Refusing, tmp_path: Path, reader: str) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "gone"):
        expect_refusal("expected", reader, path)


def test_lei(imported: Importing, tmp_path: Path) -> None:
    (tmp_path / "text_tokenized.txt.gz").write_bytes(
        gzip.compress(b"1\thow to a\tbody one\n2\thow to b\t\n3\tc\tx\n4 bad\n")
    )
    (tmp_path / "train_random.txt").write_text("1\t2\t3 4\n")
    (tmp_path / "dev.txt").write_text("2\t\t3 1\t0.5 0.25\n")
    (tmp_path / "test.txt").write_text("3\t1\t1 2\t2.5 1.25\nbad\n")
    done = imported("lei", tmp_path)
    assert done.summary.counts == "3 questions, 0 answers, 0 duplicate links, 2 rejected"
    assert done.rows("SELECT split, query_id, document_id, relevance, position FROM judgements") == [
        ("dev", "2", "1", 0, 2), ("dev", "2", "3", 0, 1), ("test", "3", "1", 1, 1), ("test", "3", "2", 0, 2),
        ("train", "1", "2", 1, None), ("train", "1", "3", 0, None), ("train", "1", "4", 0, None),
    ]  # fmt: skip
    assert done.rows("SELECT split, id, title FROM queries ORDER BY 1") == [
        ("dev", "2", "how to b"), ("test", "3", "c"), ("train", "1", "how to a"),
    ]  # fmt: skip


def thread(query: str, related: str, rank: str, grade: str, date: str = "2013-05-02 19:43:00") -> str:
    return (
        f'<OrgQuestion ORGQ_ID="{query}"><OrgQSubject>Bank?</OrgQSubject><OrgQBody></OrgQBody><Thread>'
        f'<RelQuestion RELQ_ID="{related}" RELQ_RANKING_ORDER="{rank}" RELQ_CATEGORY="Money" RELQ_DATE="{date}" '
        f'RELQ_USERID="U1" RELQ_RELEVANCE2ORGQ="{grade}"><RelQSubject>Best bank</RelQSubject><RelQBody>Now</RelQBody>'
        f'</RelQuestion><RelComment RELC_ID="{related}_C1" RELC_DATE="{date}" RELC_RELEVANCE2RELQ="Good">'
        "<RelCText>Mine</RelCText></RelComment></Thread></OrgQuestion>\n"
    )


def test_semeval(imported: Importing, tmp_path: Path) -> None:
    rows = [
        thread("Q1", "Q1_R4", "4", "PerfectMatch"),
        thread("Q1", "Q1_R5", "5", "Irrelevant"),
        thread("Q1", "Q1_R6", "6", "?"),
        thread("Q1", "Q1_R7", "7", "?"),
        thread("Q1", "Q1_R8", "8", "?", "long ago"),
        thread("Q1", "Q1_R9", "first", "Relevant"),
    ]
    (tmp_path / "x-test-input.xml").write_text(
        f"<!DOCTYPE xml [<!ELEMENT xml (OrgQuestion*)>]><xml>{''.join(rows)}</xml>"
    )
    (tmp_path / "x-test.xml.subtaskB.relevancy").write_text("Q1\tQ1_R6\t6\t0.1\ttrue\nQ1  Q1_R4 4 0.2 false\n")
    done = imported("semeval", tmp_path)
    assert done.summary.counts == "4 questions, 4 answers, 0 duplicate links, 2 rejected"
    assert done.rows("SELECT split, document_id, relevance, position FROM judgements ORDER BY 2") == [
        ("test", "Q1_R4", 2, 4), ("test", "Q1_R5", 0, 5), ("test", "Q1_R6", 1, 6), ("test", "Q1_R7", None, 7),
    ]  # fmt: skip
    assert done.rows("SELECT split, id, title FROM queries") == [("test", "Q1", "Bank?")]
    assert done.questions["Q1_R4"].created_at == "2013-05-02T19:43:00"
    assert done.rows("SELECT DISTINCT label FROM answers") == [("Good",)]


def test_semeval_needs_a_split(imported: Importing, expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder/questions.xml"
    path.write_text(f"<xml>{thread('Q1', 'Q1_R4', '4', '?')}</xml>")
    expect_refusal("has neither train, dev nor test; add --split", "semeval", path)
    assert imported("semeval", path, split="dev").rows("SELECT split FROM judgements") == [("dev",)]


def test_semeval_threads_with_grades(imported: Importing) -> None:
    done = imported("semeval", DATA / "expats-test.xml")
    assert (done.summary.questions, done.summary.answers) == (4, 4)
    test = load_split(done.archive, "test")
    assert [sorted(grades.values()) for grades in test.qrels.values()] == [[0, 2], [0, 1]]
    assert done.rows("SELECT DISTINCT label FROM answers") == [("Good",)]


def test_semeval_splits_grades_and_gold(imported: Importing, shared_data: Path) -> None:
    done = imported("semeval", shared_data / "semeval2016-task3")
    assert done.rows("SELECT split, COUNT(*) FROM judgements GROUP BY split ORDER BY split") == [
        ("dev", 500), ("test", 700), ("train", 670),
    ]  # fmt: skip
    assert done.rows("SELECT COUNT(*) FROM judgements WHERE relevance IS NULL OR position IS NULL") == [(0,)]
    assert done.rows("SELECT relevance, COUNT(*) FROM judgements WHERE split = 'test' GROUP BY relevance") == [
        (0, 467), (1, 233),
    ]  # fmt: skip
    assert done.rows("SELECT split, COUNT(*) FROM queries GROUP BY split ORDER BY split") == [
        ("dev", 50), ("test", 70), ("train", 67),
    ]  # fmt: skip
    assert done.rows("SELECT COUNT(*) FROM judgements GROUP BY query_id HAVING COUNT(*) != 10") == []
    assert done.rows("SELECT DISTINCT label FROM answers WHERE id LIKE 'Q268%' ORDER BY 1") == [
        ("Bad",), ("Good",), ("PotentiallyUseful",),
    ]  # fmt: skip


def test_semeval_without_gold_files_is_not_judged(imported: Importing, shared_data: Path) -> None:
    test = shared_data / "semeval2016-task3/test2016/SemEval2016-Task3-CQA-QL-test-input.xml"
    done = imported("semeval", test)
    assert done.rows("SELECT DISTINCT split, relevance FROM judgements") == [("test", None)]


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("file", ["", "SemEval2016-Task3-CQA-QL-test-input.xml"])
def test_an_export_is_reimported(tmp_path: Path, shared_data: Path, file: str, format: str) -> None:
    import_archive("semeval", [shared_data / "semeval2016-task3/test2016" / file], tmp_path / "first")
    with Archive.open(tmp_path / "first") as archive:
        assert_reimports_equal(archive, tmp_path, format)


TREC_DOCUMENTS = """<DOC>
<DOCNO> FT1 </DOCNO>
<DATE> 1994 </DATE>
<HEADLINE>
<P>Trams &amp; buses</P>
</HEADLINE>
<TEXT>
<P>They run
at night.</P>
</TEXT>
</DOC>

<DOC>
<DOCNO>FT2</DOCNO>
<TEXT>Only text.</TEXT>
</DOC>
<DOC><TEXT>no number</TEXT></DOC>
"""
TREC_TOPICS = """<top>

<num> Number: 301
<title> Night buses

<desc> Description:
Which buses run at night?

<narr> Narrative:
Trams do not count.
</top>
"""


def test_trec(imported: Importing, tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/ft_1.gz").write_bytes(gzip.compress(TREC_DOCUMENTS.encode()))
    (folder / "topics").write_text(TREC_TOPICS)
    (folder / "qrels").write_text("301 0 FT1 2\n301 0 FT2 0\n301 0 FT3\n")
    done = imported("trec", folder)
    assert done.summary.counts == "2 questions, 0 answers, 0 duplicate links, 2 rejected"
    assert done.rows("SELECT id, title, body FROM questions ORDER BY 1") == [
        ("FT1", "Trams & buses", "They run at night."), ("FT2", "Only text.", ""),
    ]  # fmt: skip
    assert done.rows("SELECT split, id, title FROM queries") == [("test", "301", "Night buses")]
    assert done.rows("SELECT document_id, relevance FROM judgements ORDER BY 1") == [("FT1", 2), ("FT2", 0)]


@pytest.mark.parametrize(
    ("topic", "texts"),
    [("desc", ("Which buses run at night?", "")), ("both", ("Night buses", "Which buses run at night?"))],
)
def test_trec_topic_elements(imported: Importing, tmp_path: Path, topic: str, texts: tuple[str, str]) -> None:
    (tmp_path / "docs").write_text(TREC_DOCUMENTS)
    (tmp_path / "topics").write_text(TREC_TOPICS)
    (tmp_path / "qrels").write_text("301 0 FT1 1\n")
    done = imported("trec", *(tmp_path / name for name in ("docs", "topics", "qrels")), topic=topic)
    assert done.rows("SELECT title, body FROM queries") == [texts]


def test_trec_refuses_other_files(expect_refusal: Refusing, tmp_path: Path) -> None:
    for text, says in (("a,b\n1,2\n", "expected <DOC>, <top>, or qrels"), (TREC_DOCUMENTS[:100], "cut off")):
        (tmp_path / "file").write_text(text)
        expect_refusal(says, "trec", tmp_path / "file")
