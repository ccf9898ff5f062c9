"""Each check finds what it is for, with counts and examples worked out by hand."""

import pytest

from askalike.core.errors import SettingsError
from askalike.core.records import Answer, EvaluationQuery, Judgement, Link, Question
from askalike.health import CHECKS, run_checks
from askalike.health.templates import extract_mark, extract_opening
from askalike.health.texts import normalise_title
from askalike.store import Archive


def run_check(archive, name):
    return next(finding for finding in run_checks(archive) if finding.name == name)


def test_an_empty_archive_is_healthy(archive):
    assert {finding.count for finding in run_checks(archive)} == {0}


def test_findings_are_named_and_can_be_left_out(archive):
    names = [run.__name__ for run in CHECKS]
    assert [finding.name for finding in run_checks(archive)] == names
    assert [finding.name for finding in run_checks(archive, ignored=names[1:])] == names[:1]
    with pytest.raises(SettingsError, match="no check is called spelling; there are: empty_titles"):
        run_checks(archive, ignored=["spelling"])


def test_empty_titles(archive):
    archive.upsert([Question("1", " \n\u00a0", "body"), Question("2", "title")])
    finding = run_check(archive, "empty_titles")
    assert (finding.count, finding.n, finding.examples) == (1, 2, ("1",))


def test_repeated_titles_count_all_but_the_first(archive):
    titles = [
        "How to boil an egg?",
        "how to  boil an EGG",
        "What is C++?",
        "What is C?",
        "",
        "",
        "Ｈow to boil an egg ?",
    ]
    archive.upsert(Question(str(n), title, "b") for n, title in enumerate(titles))
    finding = run_check(archive, "repeated_titles")
    assert (finding.count, finding.n, finding.examples) == (2, 7, ("1", "6"))
    assert finding.details == ("3 times: How to boil an egg?",)


def test_the_most_repeated_title_comes_first(archive):
    archive.upsert(Question(str(n), "seldom" if n < 2 else "often") for n in range(20))
    finding = run_check(archive, "repeated_titles")
    assert finding.count == 18
    assert len(finding.examples) == 5
    assert finding.details == ("18 times: often", "2 times: seldom")


def test_marks_of_titles(archive):
    archive.upsert(Question(str(n), f"[Bug] {n} crashes" if n < 6 else f"Title {n}") for n in range(30))
    finding = run_check(archive, "title_marks")
    assert (finding.count, finding.n, finding.details) == (6, 30, ("6 times: [bug]",))
    assert finding.examples == ("0", "1", "2", "3", "4")


def test_titles_written_to_a_pattern(archive):
    archive.upsert(Question(str(n), f"What are the symptoms of disease {n}") for n in range(5))
    archive.upsert(Question(f"x{n}", f"What are the symptoms {n}") for n in range(5))
    finding = run_check(archive, "title_openings")
    assert (finding.count, finding.details) == (5, ("5 times: what are the symptoms of",))


def test_a_few_questions_do_not_make_a_template(archive):
    archive.upsert(Question(str(n), f"[Bug] What are the symptoms of disease {n}") for n in range(4))
    assert run_check(archive, "title_marks").count == run_check(archive, "title_openings").count == 0


def test_boilerplate_in_bodies_is_shown_completely(archive):
    form = "<p>Steps to reproduce: open the program, then press the red button twice</p>"
    archive.upsert(Question(str(n), f"t{n}", f"<p>first {n}</p>{form}<p>{n} last</p>", "html") for n in range(7))
    archive.upsert(
        Question(f"x{n}", f"x{n}", f"something else entirely that nobody but number {n} wrote") for n in range(7)
    )
    finding = run_check(archive, "body_templates")
    assert (finding.count, finding.n, finding.unit) == (7, 14, "questions")
    assert finding.details == ("7 times: steps to reproduce open the program then press the red button twice",)


def test_a_large_archives_bodies_are_sampled(archive, monkeypatch):
    monkeypatch.setattr("askalike.health.templates.SAMPLE_SIZE", 10)
    archive.upsert(Question(str(n), f"t{n}", "one two three four five six seven eight nine") for n in range(30))
    finding = run_check(archive, "body_templates")
    assert (finding.n, finding.unit) == (10, "sampled questions")


def test_leak_banners(archive):
    banner = "<blockquote><p>Possible Duplicate:<br><a href='/q/1'>The original</a></p></blockquote><p>x</p>"
    archive.upsert([Question("1", "a", banner, "html"), Question("2", "b", "<p>Possible</p>", "html")])
    finding = run_check(archive, "leak_banners")
    assert (finding.count, finding.n, finding.examples) == (1, 2, ("1",))


def test_many_texts_without_a_token_are_loud(archive):
    archive.upsert([Question("1", "???", "<pre>= + =</pre>", "html"), Question("2", "!", "word"), Question("3", " ")])
    finding = run_check(archive, "no_tokens")
    assert (finding.count, finding.n, finding.examples, finding.serious) == (1, 3, ("1",), True)


def test_other_scripts_have_tokens(archive):
    titles = ["怎么煮鸡蛋", "как сварить яйцо", "كيف تسلق البيض", "ต้มไข่อย่างไร", "계란을 어떻게 삶나요"]
    archive.upsert(Question(str(n), title) for n, title in enumerate(titles))
    assert run_check(archive, "no_tokens").count == 0


def test_languages(archive):
    archive.upsert(Question(x, x, language=x) for x in ("de", "pl", "zh", "th", "xx"))
    archive.upsert([Question("pl2", "pl2", language="pl"), Question("own", "the archive's language")])
    finding = run_check(archive, "unsupported_languages")
    assert (finding.count, finding.n, finding.examples, finding.serious) == (4, 7, ("pl", "th", "xx"), True)
    assert finding.details[0] == "pl: 2 questions; no stemmer: only identical word forms match"
    assert "no spaces" in finding.details[1]
    assert run_check(archive, "unknown_languages").count == 0


def test_an_archives_own_language_counts_for_its_questions(archive):
    archive.set_meta(language="pl")
    archive.upsert([Question("1", "jajko")])
    assert run_check(archive, "unsupported_languages").count == 1


def test_unknown_languages(tmp_path):
    with Archive.create(tmp_path / "other") as archive:
        archive.upsert([Question("1", "egg"), Question("2", "Ei", language="de")])
        finding = run_check(archive, "unknown_languages")
    assert (finding.count, finding.n, finding.examples) == (1, 2, ("1",))


def test_unanswered_questions_where_there_are_answers(archive):
    archive.upsert([Question("1", "a"), Question("2", "b")])
    assert run_check(archive, "unanswered_questions").count == 0
    archive.upsert([Answer("a", "1", "yes")])
    finding = run_check(archive, "unanswered_questions")
    assert (finding.count, finding.n, finding.examples) == (1, 2, ("2",))


def test_duplicates_of_answered_questions_are_answered(archive):
    archive.upsert([Question(id, "a") for id in "12345"])
    archive.upsert([Answer("a", "1", "yes"), Link("2", "1"), Link("3", "2"), Link("4", "5"), Link("1", "4", "related")])
    assert run_check(archive, "unanswered_questions").examples == ("4", "5")


def test_broken_references(archive):
    archive.upsert([Question("1", "a", accepted_answer_id="x"), Question("2", "b", accepted_answer_id="y")])
    archive.upsert([Answer("y", "2", "yes"), Answer("z", "404", "no")])
    archive.upsert([Link("1", "2"), Link("1", "404"), Link("404", "405", "related")])
    archive.upsert(
        [EvaluationQuery("test", Question("q", "?")), Judgement("test", "q", "1", 1), Judgement("test", "q", "404", 1)]
    )
    archive.upsert([Judgement("test", "q", "y", 1, record_type="answers"), Judgement("dev", "q", "1", 1)])
    findings = {finding.name: (finding.count, finding.n, finding.examples) for finding in run_checks(archive)}
    assert findings["absent_accepted_answers"] == (1, 2, ("1",))
    assert findings["answers_without_question"] == (1, 2, ("z",))
    assert findings["broken_duplicate_links"] == (1, 2, ("1 → 404",))
    assert findings["broken_related_links"] == (1, 1, ("404 → 405",))
    assert findings["broken_judgements"] == (2, 4, ("dev: q → 1", "test: q → 404"))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("[Bug] it fails", ["[bug]"]),
        ("(solved) it fails", ["(solved)"]),
        ("Feature request: more", ["feature request:"]),
        ("News - today", ["news -"]),
        ("a well-known problem", []),
        ("at 10:30 nothing works", []),
        ("std::vector is slow", []),
    ],
)
def test_extract_mark(title, expected):
    assert extract_mark(title) == expected


def test_an_opening_needs_words_after_it():
    assert extract_opening("How do I boil eggs?") == []
    assert extract_opening("How do I boil eggs fast?") == ["how do i boil eggs"]


def test_normalised_titles_keep_their_differences():
    assert normalise_title(" What  is C++? ") == "what is c++"
    assert normalise_title("???") == ""
