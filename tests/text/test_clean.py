import re
import unicodedata
from pathlib import Path

import pytest
import Stemmer
from growth import assert_linear
from hypothesis import given, strategies as st
from lxml import etree

from askalike.health.texts import normalise_title
from askalike.text.analyzer import Analyzer
from askalike.text.banners import strip_banner
from askalike.text.clean import LINK_TOKEN, guess_markup, normalised_length, plain_text

HTML = [
    ("<p>one</p><p>two</p>", "one\ntwo"),
    ("a<br>b<hr/>c", "a\nb\nc"),
    ("<table><tr><td>a</td><td>b</td></tr></table>c", "a\nb\nc"),
    ("<ul><li>a<li>b</ul>", "a\nb"),
    ("H<sub>2</sub>O is <b>we</b>t", "H2O is wet"),
    ("wrapped\nsource\n lines", "wrapped source lines"),
    ("&lt;b&gt; &amp; &quot;x&quot; &#233; &hellip;", '<b> & "x" é ...'),
    ("no tags &amp; entities", "no tags & entities"),
    ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ('<p title="a > b">x</p>', "x"),
    ("<p>a<!-- <p>gone</p> -->b</p>", "ab"),
    ("<script>var a = '<p>';</script><style>p {}</style>x", "x"),
    ("<p>unclosed <b>tags <i>everywhere", "unclosed tags everywhere"),
    ("<P>UPPER</P><PRE>case</PRE>", "UPPER"),
    ("", ""),
]


@pytest.mark.parametrize(("html", "text"), HTML)
def test_html_becomes_text(html: str, text: str) -> None:
    assert plain_text(html, "html") == text


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("Press <b>Start</b>.", "html"),
        ("One<br>two", "html"),
        ('<img src="plan.png" alt="a plan">', "html"),
        ("L&ouml;sung &#8211; don&rsquo;t", "html"),
        ("What does <b> do with a < b?", "text"),
        ("AT&T; int &ref; R&D; &c.", "text"),
        ("Map<String, List<a b>> and x < y = z", "text"),
    ],
)
def test_guess_markup(text: str, markup: str) -> None:
    assert guess_markup(text) == markup


def test_code_is_dropped_or_kept() -> None:
    html = "run<code>ls -l</code>now:<pre><code>for x:\n  y &lt; 1</code></pre>done"
    assert plain_text(html, "html") == "run now: done"
    assert plain_text(html, "html", code="keep") == "runls -lnow:\nfor x: y < 1\ndone"


def test_code_stays_in_plain_text() -> None:
    assert plain_text("a <code>b</code> &amp;", "text") == "a <code>b</code> &amp;"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see http://a.b/c?d=e#f.", "see xxurl ."),
        ("(https://en.wikipedia.org/wiki/Tar_(computing))", "( xxurl )"),
        ("[words](http://a.b)", "[words]( xxurl )"),
        ("www.a.b, FTP://a.b!", "xxurl , xxurl !"),
        ("请看http://a.b/c，谢谢", "请看 xxurl ,谢谢"),
        ("http:// and a.b/c stay", "http:// and a.b/c stay"),
    ],
)
def test_urls_become_one_token(text: str, expected: str) -> None:
    assert plain_text(text, "text") == expected
    assert plain_text(text, "text", links="keep") == unicodedata.normalize("NFKC", text)


def test_anchor_keeps_words_unless_a_url() -> None:
    assert plain_text('<a href="http://a.b">these words</a>', "html") == "these words"
    assert plain_text('<a href="http://a.b">http://a.b</a>', "html") == LINK_TOKEN


def test_link_with_words_is_one_token() -> None:
    body = (
        '<p>see <A title="x" HREF="/b">these <b>words</b></a>, <a name="c">here</a> and http://d.e</p><a href="f">open'
    )
    assert plain_text(body, "html", links="anchors") == "see xxurl , here and xxurl \nopen".replace(" \n", "\n")
    assert plain_text('<a href="b">c</a>', "text", links="anchors") == '<a href="b">c</a>'
    assert plain_text("<a href " * 20_000, "html", links="anchors") == ""


@pytest.mark.parametrize("algorithm", Stemmer.algorithms())
def test_no_stemmer_changes_the_link_token(algorithm: str) -> None:
    assert Stemmer.Stemmer(algorithm).stemWord(LINK_TOKEN) == LINK_TOKEN


def test_characters_are_normalised() -> None:
    assert plain_text("ﬁ１２\u00a0e\u0301", "text") == "fi12 é"
    assert plain_text("co\u00adop\u200ber\ufeffate", "text") == "cooperate"
    assert plain_text("a\0b\x07c\x85d", "text") == "a b c d"
    assert plain_text("a\0b&#1;c&#0;", "html") == "a b c\ufffd"
    assert plain_text("a\ud800b", "html") == "a\ufffdb"


def test_white_space_collapses_and_lines_stay() -> None:
    assert plain_text("  a \t b\r\n\n \n c  ", "text") == "a b\nc"


@given(st.text())
def test_any_text_cleans_to_the_same_twice(text: str) -> None:
    once = plain_text(text, "text", links="keep")
    assert plain_text(once, "text", links="keep") == once
    assert unicodedata.is_normalized("NFKC", once)
    once.encode()


MARKS = st.sampled_from(["\u0f73", "\u0344", "\uff9e", "\u0301", "\u0327", "\u0345", "a", "ᾧ", "ế", "é"])


def longest_run(text: str) -> int:
    """The most combining characters in a row in the decomposed text, as UAX #15 counts them."""
    decomposed = unicodedata.normalize("NFKD", text)
    return max(map(len, re.findall("1*", "".join("01"[unicodedata.combining(c) > 0] for c in decomposed))))


@given(st.lists(st.text(MARKS, min_size=10, max_size=40), max_size=4).map("".join))
def test_runs_of_combining_characters_are_cut_at_thirty(text: str) -> None:
    once = plain_text(text, "text")
    assert longest_run(once) <= 30
    assert plain_text(once, "text") == once
    assert once == unicodedata.normalize("NFKC", text) or longest_run(text) > 30


@pytest.mark.parametrize("marks", ["\u0f73", "\u0301\u0327", "\u0344\u0345", "\uff9e\u0301\u0327"])
def test_runs_of_combining_characters_take_linear_time(marks: str) -> None:
    for work in (lambda text: plain_text(text, "text"), Analyzer().analyze, normalise_title):
        assert_linear(lambda size, work=work: work("a" + marks * size))


PIECES = st.sampled_from(
    ["<p>", "</p>", "<pre>", "<code>", "</code>", "<", ">", '"', "'", "&", "&amp;", "<!--", "x ", "\n"]
)


@given(st.lists(PIECES | st.text(max_size=3)).map("".join), st.sampled_from(["drop", "keep"]))
def test_any_html_is_taken(html: str, code: str) -> None:
    text = plain_text(html, "html", code=code)  # type: ignore[arg-type]
    assert text == text.strip()
    text.encode()


@pytest.mark.parametrize(
    "piece", ["<div>", "<p '", '<p "', "<pre>", "<code>", "<a>", "<table><tr>", "http://(", "<!--"]
)
def test_time_stays_linear(piece: str) -> None:
    assert_linear(lambda size: plain_text(piece * size, "html"))
    assert_linear(lambda size: strip_banner("<p>possible duplicate: " + piece * size, "html"))


OLD = """<blockquote>
  <p><strong>Possible Duplicate:</strong><br>
  <a href="http://x.example/questions/1/how-so">How so?</a>  </p>
</blockquote>



"""
NEW = """<div class="question-status">
  <p>This question already has an answer here:</p>
  <div><ul><li><a href="/questions/1">How so?</a> <span>3 answers</span></li></ul></div>
</div>
"""
BARE = '<p>This question already has answers here:</p>\n<ul><li><a href="/q/1">How so?</a></li></ul>\n'
REST = "<p>Is a possible duplicate: bad? </p>\n<blockquote>\n<p>Possible Duplicate: x</p></blockquote>\n"


@pytest.mark.parametrize("banner", [OLD, NEW, BARE, OLD + NEW, OLD.upper()], ids=["old", "new", "bare", "two", "upper"])
def test_a_html_banner_goes_and_nothing_else(banner: str) -> None:
    assert strip_banner(banner + REST, "html") == (REST, True)
    assert strip_banner(REST, "html") == (REST, False)


@pytest.mark.parametrize("banner", ["Possible Duplicate:\nHow so?\n\n", "> **Possible Duplicate:**\n> [a](b)\n\n"])
def test_a_text_banner_goes_and_nothing_else(banner: str) -> None:
    rest = "My text.\n\nPossible duplicate: no\n\n"
    assert strip_banner(banner + rest, "text") == (rest, True)
    assert strip_banner(rest, "text") == (rest, False)


@pytest.mark.parametrize(
    "body",
    [
        "<p>Possible duplicate: I know that one, but it does not help me.</p>",
        "<p>This question already has an answer here, but it is <a href='x'>old</a>.</p>",
        "<blockquote><p>Possible duplicates in a list</p></blockquote><p>how to find?</p>",
        f"<blockquote><p>Possible duplicate:</p><p>{'my own long question ' * 20}</p></blockquote>",
        "<blockquote><p>Possible Duplicate: never closed",
        "I already have possible duplicates",
    ],
)
def test_a_body_that_merely_mentions_the_words_stays(body: str) -> None:
    assert strip_banner(body, "html") == (body, False)
    assert strip_banner(body, "text") == (body, False)


def test_the_banners_of_a_whole_community_are_found(shared_data: Path) -> None:
    posts = shared_data / "stackexchange/cs.stackexchange.com/Posts.xml"
    bodies = [row.get("Body") or "" for _, row in etree.iterparse(posts, tag="row")]
    stripped = [(body, rest) for body in bodies for rest, found in [strip_banner(body, "html")] if found]
    assert len(stripped) == 31
    assert all(body.endswith(rest) and rest.startswith("<p>") for body, rest in stripped)
    assert all("Possible Duplicate" in body and "ossible duplicate" not in rest.lower() for body, rest in stripped)
    assert not any("possible duplicate" in rest.lower() for rest in set(bodies) - {body for body, _ in stripped})


def test_length_of_many_letter_signs_is_counted():
    for point in range(0x110000):
        length = len(unicodedata.normalize("NFKC", chr(point)))
        assert normalised_length(chr(point)) == length or length < 4
    assert normalised_length("a\ufdfa" * 1_000) == 19_000
    assert normalised_length("ab" * 1_000) == 2_000
