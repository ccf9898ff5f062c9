"""Pages with structured data (schema.org's FAQPage, QAPage, Question), saved, and from a site with a sitemap."""

import json
from pathlib import Path
from typing import Any

import pytest
from imported import Importing, PageSite, Refusing

PAGES = Path(__file__).parents[1] / "data" / "saved-pages"


def page(data: Any, head: str = "") -> str:
    text = data if isinstance(data, str) else json.dumps(data)
    return f'<html><head>{head}<script type="application/ld+json">{text}</script></head><body></body></html>'


def question(name: str, answer: str = "So.", **more: Any) -> dict[str, Any]:
    return {"@type": "Question", "name": name, "acceptedAnswer": {"@type": "Answer", "text": answer}, **more}


def faq(*questions: Any) -> dict[str, Any]:
    return {"@context": "https://schema.org", "@type": "FAQPage", "mainEntity": list(questions)}


def test_saved_pages_with_json_ld_and_microdata(imported: Importing) -> None:
    done = imported("faq_pages", PAGES, language=None)
    questions = {q.title: q for q in done.questions.values()}
    assert set(questions) == {
        "How do I order a new card?", "Is there a fee & when is it due?", "Wie schneide ich Apfelbäume?",
    }  # fmt: skip
    fee, tree = questions["Is there a fee & when is it due?"], questions["Wie schneide ich Apfelbäume?"]
    assert (fee.id, fee.language) == ("https://orchard.example/help#fee", "en")
    assert questions["How do I order a new card?"].id.startswith("https://orchard.example/help#")
    assert (tree.id, tree.author, tree.votes, tree.language) == ("https://forum.example/t/17", "Ada", 7, "de")
    assert tree.created_at == "2025-03-01T08:00:00"
    assert tree.body == "<p>Der Baum ist <em>drei</em> Jahre alt.</p>"
    assert tree.accepted_answer_id == "https://forum.example/t/17#a2"
    answers = done.rows("SELECT id, body, votes, created_at FROM answers WHERE question_id LIKE '%t/17' ORDER BY id")
    assert answers == [
        ("https://forum.example/t/17#a1", "Gar nicht.", -1, None),
        ("https://forum.example/t/17#a2", "<p>Im Februar.</p>", None, "2025-03-02T00:00:00"),
    ]
    assert done.summary.rejected == 2  # a question without a name, and JSON that is cut off


def test_ids_ignore_the_order_of_questions(imported: Importing, tmp_path: Path) -> None:
    saved = tmp_path / "page.html"
    saved.write_text(page(faq(question("Why?"), question("How?"))))
    first = set(imported("faq_pages", saved).questions)
    saved.write_text(page(faq(question("How?"), question("New?"), question("Why?"))))
    assert first < set(imported("faq_pages", saved).questions)


def test_a_question_in_both_formats_is_one(imported: Importing, tmp_path: Path) -> None:
    saved = tmp_path / "both.html"
    microdata = '<div itemscope itemtype="http://schema.org/Question"><h2 itemprop="name">Why?</h2></div>'
    saved.write_text(page(faq(question("Why?"))).replace("<body>", f"<body>{microdata}"))
    done = imported("faq_pages", saved)
    assert [q.title for q in done.questions.values()] == ["Why?"]
    assert done.summary.answers == 1


def test_whole_page_may_be_the_questions_item(imported: Importing, tmp_path: Path) -> None:
    saved = tmp_path / "page.html"
    saved.write_text(
        '<!DOCTYPE html><html itemscope itemtype="https://schema.org/QAPage"><meta itemprop="name" content="Sessions?">'
        '<body><div itemprop="mainEntity" itemscope itemtype="https://schema.org/Question">'
        '<link itemprop="url" href="https://qa.example/q/1"><h1 itemprop="name">Which sessions are open?</h1>'
        '<div itemprop="acceptedAnswer" itemscope itemtype="https://schema.org/Answer"><p itemprop="text">who</p></div>'
        "</div></body></html>"
    )
    done = imported("faq_pages", saved)
    assert {id: q.title for id, q in done.questions.items()} == {"https://qa.example/q/1": "Which sessions are open?"}
    assert done.summary.answers == 1


def test_saved_page_is_utf8_whatever_it_says(imported: Importing, tmp_path: Path) -> None:
    saved = tmp_path / "page.html"
    text = page(faq(question("Где парковка?")), '<meta charset="windows-1251">')
    saved.write_text(text, encoding="utf-8")
    assert [q.title for q in imported("faq_pages", saved).questions.values()] == ["Где парковка?"]
    saved.write_text(text, encoding="windows-1251")
    assert [q.title for q in imported("faq_pages", saved).questions.values()] == ["Где парковка?"]


def test_a_discussion_has_its_comments_as_answers(imported: Importing, tmp_path: Path) -> None:
    saved = tmp_path / "thread.html"
    post = {
        "@type": "DiscussionForumPosting", "headline": "Blade of the saw is stuck", "articleBody": "It does not turn.",
        "url": "https://forum.example/threads/9", "author": {"@type": "Person", "name": "Ada"}, 
        "keywords": "saw, blade",
        "comment": [{"@type": "Comment", "text": "Oil it.", "datePublished": "2026-01-02"}, {"@type": "Comment"}],
    }  # fmt: skip
    saved.write_text(page([post]))
    done = imported("faq_pages", saved)
    [found] = done.questions.values()
    assert (found.id, found.tags, found.body) == (
        "https://forum.example/threads/9",
        ("saw", "blade"),
        "It does not turn.",
    )
    assert done.rows("SELECT body, created_at FROM answers") == [("Oil it.", "2026-01-02T00:00:00")]
    assert done.summary.notes["answers without a text left out"] == 1


def test_since_leaves_out_pages_that_did_not_change(imported: Importing, tmp_path: Path) -> None:
    saved = tmp_path / "two.html"
    saved.write_text(
        page(faq(question("Old?", dateModified="2025-01-01"), question("New?", dateModified="2026-05-01")))
    )
    done = imported("faq_pages", saved, since="2026-01-01")
    assert [q.title for q in done.questions.values()] == ["New?"]


@pytest.mark.parametrize(
    "text",
    [
        "<html><body>nothing</body></html>",
        page('{"@type": "FAQPage", "mainEntity": ['),
        '<meta charset="no-such-charset">',
    ],
)
def test_a_page_without_questions_is_one_clear_error(expect_refusal: Refusing, tmp_path: Path, text: str) -> None:
    (tmp_path / "page.html").write_text(text)
    expect_refusal("no page has a FAQPage", "faq_pages", tmp_path / "page.html")


@pytest.mark.parametrize("property", ["x", "name", "acceptedAnswer"])
def test_deep_and_odd_structures_are_read(imported: Importing, tmp_path: Path, property: str) -> None:
    opened = "<div itemscope itemtype='https://schema.org/Question'"
    deep = f"{opened}>" + f"{opened} itemprop={property}>" * 3_000
    deep += '<script type="application/ld+json">' + '{"name":' * 900 + "1" + "}" * 900 + "</script>"
    saved = tmp_path / "odd.html"
    odd = [None, 3, {"@type": None}, {"@type": "Question", "name": ["Why?", 4], "acceptedAnswer": "text", "author": []}]
    saved.write_text(page({"@graph": odd}).replace("<body>", f"<body>{deep}"))
    assert "Why?" in {q.title for q in imported("faq_pages", saved).questions.values()}


def test_sitemap_is_followed_and_changed_pages_requested(imported: Importing, site: PageSite, tmp_path: Path) -> None:
    site.sitemap("/sitemap.xml", (f"{site.address}/help.xml", "2026-01-01"), kind="sitemap")
    entries = [
        ("/help/a", "2026-01-01"),
        ("/help/b", "2026-01-02"),
        ("/help/gone", "2026-01-01"),
        ("/news", "2026-01-01"),
    ]
    site.sitemap("/help.xml", *((site.address + p, d) for p, d in entries), ("https://elsewhere.example/help/", "2026"))
    site.pages |= {"/help/a": page(faq(question("A?"))), "/help/b": page(faq(question("B?"))), "/news": page(faq())}
    options = {"pages": "/help/", "pause": 0.0, "responses": tmp_path / "cache"}
    first = imported("faq_pages", Path(f"{site.address}/sitemap.xml"), **options)
    assert set(first.questions) == {f"{site.address}/help/a", f"{site.address}/help/b"}
    assert first.summary.notes["addresses of other sites in a sitemap left out"] == 1
    assert "/news" not in site.requests
    site.requests.clear()
    site.pages["/help/b"] = page(faq(question("B?", url=f"{site.address}/help/b", upvoteCount=3)))
    site.sitemap("/help.xml", *((site.address + p, d.replace("-02", "-09")) for p, d in entries[:2]))
    second = imported("faq_pages", Path(f"{site.address}/sitemap.xml"), **options)
    assert second.questions[f"{site.address}/help/b"].votes == 3
    assert [path for path in site.requests if not path.endswith(".xml")] == ["/help/b"]


def test_page_is_read_in_its_declared_encoding(imported: Importing, site: PageSite, tmp_path: Path) -> None:
    site.encoding = "iso-8859-1"
    site.sitemap("/sitemap.xml", (f"{site.address}/aide", "2026-01-01"))
    text = json.dumps(faq(question("Où se garer ?")), ensure_ascii=False)
    site.pages["/aide"] = page(text, '<meta charset="iso-8859-1">')
    done = imported("faq_pages", Path(f"{site.address}/sitemap.xml"), pause=0.0, responses=tmp_path / "cache")
    assert [each.title for each in done.questions.values()] == ["Où se garer ?"]


@pytest.mark.parametrize("text", ["<html>Log in</html>", "<x", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'])
def test_what_is_no_sitemap_is_one_clear_error(
    site: PageSite, expect_refusal: Refusing, tmp_path: Path, text: str
) -> None:
    site.pages["/sitemap.xml"] = text
    address = Path(f"{site.address}/sitemap.xml")
    expect_refusal("sitemap", "faq_pages", address, pause=0.0, responses=tmp_path / "cache")
