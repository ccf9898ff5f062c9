"""Marks in texts, and texts made safe to show."""

import re

import pytest
from hypothesis import example, given, strategies as st
from selectolax.lexbor import LexborHTMLParser

from askalike.core.hits import Contribution, Explanation, Span
from askalike.service.pages.display import compare_texts, highlight, mark_stretches, render_body, summarise_explanation
from askalike.service.pages.languages import format_percent
from askalike.service.pages.quality import VERDICT_LABELS, WIDTH, fill_weeks, stacked_bars
from askalike.service.pages.rendering import create_environment
from askalike.text.clean import readable_blocks


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("A <b>Bike</b> shop", {"bike"}, "A &lt;b&gt;<mark>Bike</mark>&lt;/b&gt; shop"),
        ("bikes and a bike", {"bike"}, "bikes and a <mark>bike</mark>"),
        ("如何煮茶水", {"茶水"}, "如何煮<mark>茶水</mark>"),
        ("C++ & <", {"c++"}, "<mark>C++</mark> &amp; &lt;"),
        ("nothing", set(), "nothing"),
    ],
)
def test_words_are_highlighted(text: str, words: set[str], expected: str) -> None:
    assert highlight(text, words) == expected


def test_shared_passages_and_differences_are_marked() -> None:
    one, other = "I hired a <bike> shop today, and so on", "Somebody said: I hired a car shop today. Bye"
    first, second = compare_texts(one, other, {"i", "a"})
    assert mark_stretches(one, first).startswith("I hired a &lt;bike&gt; <mark>shop today</mark>")
    first, second = compare_texts(one, other)
    assert mark_stretches(one, first) == (
        '<mark>I hired a</mark> &lt;<em class="only">bike</em>&gt; <mark>shop today</mark>, and so on'
    )
    assert mark_stretches(other, second) == (
        'Somebody said: <mark>I hired a</mark> <em class="only">car</em> <mark>shop today</mark>. Bye'
    )
    assert compare_texts("the bike and the shop", "the shop and the bike", {"the", "and"}) == ([], [])


@given(st.text("ab \n<$\\", max_size=40), st.text("ab \n<$\\", max_size=40))
@example("", "$<$\\\\$")
def test_marking_changes_no_text(one: str, other: str) -> None:
    for text, stretches in zip((one, other), compare_texts(one, other), strict=True):
        shown, whole = mark_stretches(text, stretches), type(mark_stretches("", [])).escape(text)
        assert without_escapes(shown.striptags()) == without_escapes(whole.striptags())


def without_escapes(text: str) -> list[str]:
    return re.sub(r"\\+\$", "$", text).split()


@given(st.text(), st.sets(st.text(max_size=5), max_size=5))
def test_highlighting_changes_no_text(text: str, words: set[str]) -> None:
    html = highlight(text, words)
    assert html.striptags().split() == type(html)(html.__class__.escape(text)).striptags().split()


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("<p onclick=x>hi<script>1</script></p>", "<p>hi</p>"),
        ('<a href="javascript:x">l</a>', '<a rel="nofollow noopener noreferrer ugc">l</a>'),
        ("<h1>big</h1>", "<p>big</p>"),
        ("<pre>x</pre>", '<pre tabindex="0">x</pre>'),
        ("<b style='color:red'>x", "<b>x</b>"),
        ("<svg><script>1</script></svg><form><input></form>", ""),
    ],
)
def test_html_is_cleaned(html: str, left: str) -> None:
    assert render_body(html, "html") == left


def test_sanitised_html_is_not_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned = '<a title="<pre><table>">x</a>'  # as nh3 before 0.3.7 returned it
    monkeypatch.setattr("nh3.clean", lambda *args, **options: cleaned)
    assert render_body("x", "html") == cleaned


@pytest.mark.parametrize("piece", ["<pre ", "<pre>", "<h1 ", "<"])
def test_tags_without_an_end_take_no_longer(piece: str) -> None:
    assert "math" in render_body(f"$x$ {piece * (100_000 // len(piece))} $y$", "html")


def test_formulas_of_code_stay_code() -> None:
    rendered = render_body("a $x$ <code>$y$</code> <PRE>$z$</PRE> $u$", "html")
    assert re.findall(r'<span class="math">(.*?)</span>', rendered) == ["$x$", "$u$"]


@pytest.mark.parametrize(
    ("html", "formulas"),
    [
        ("<p>$$a<br>+ b$$</p>", ["$$a + b$$"]),
        ("<p>$x<em>1 + x</em>2$ and <em>so</em> on</p>", ["$x_1 + x_2$"]),
        ("<p>$\\begin{pmatrix} a \\\\ \n b \\end{pmatrix}$</p>", ["$\\begin{pmatrix} a \\\\ \n b \\end{pmatrix}$"]),
        ("<p>$5 in one</p><p>and $6 in another</p>", []),
    ],
)
def test_formulas_with_html_between(html: str, formulas: list[str]) -> None:
    assert re.findall(r'<span class="math">(.*?)</span>', render_body(html, "html"), re.DOTALL) == formulas


def test_formulas_over_several_lines_of_plain_text() -> None:
    rendered = render_body("First\n$$a +\nb$$\nlast", "text")
    assert rendered == '<p>First<br><span class="math">$$a +\nb$$</span><br>last</p>'


def test_escaped_dollars_are_dollars_beside_formulas() -> None:
    assert highlight("\\$5 for $x$", ()) == '$5 for <span class="math">$x$</span>'
    assert highlight("a\\$ ends a line", ()) == "a\\$ ends a line"


def test_images_become_links() -> None:
    html = render_body(
        '<p>See <img src="https://x.example/a.png?a&amp;b" alt="a <plan>"> <img src="javascript:x"></p>', "html"
    )
    assert "<img" not in html
    assert 'href="https://x.example/a.png?a&amp;b"' in html
    assert "javascript" not in html
    assert "[a &lt;plan&gt;]" in html


def test_plain_text_has_paragraphs_and_links() -> None:
    html = render_body("One <b>\ntwo https://x.example/a?b&c.\n\nthree", "text")
    assert html.startswith('<p>One &lt;b&gt;<br>two <a href="https://x.example/a?b&amp;c"')
    assert html.endswith("</a>.</p><p>three</p>")


@given(st.text(alphabet=st.sampled_from("<>/\"'= abimgscriptonerror:&;jvx#"), max_size=80))
def test_no_html_runs(text: str) -> None:
    for tree in (LexborHTMLParser(f"<body>{render_body(text, kind)}") for kind in ("html", "text")):
        assert not tree.css("script, img, iframe, style, [onerror], [style], form, svg")
        assert all(
            (a.attributes.get("href") or "https:").startswith(("https:", "http:", "mailto:")) for a in tree.css("a")
        )


def test_an_explanation_is_summarised_in_words() -> None:
    rows = (
        Contribution("bicycle ≈ bike", ("title",), 2.0),
        Contribution("stand", ("body",), 1.0),
        Contribution("now", (), 0.1),
    )
    parts = {"bm25": 1.0, "static": 1.5}
    explanation = Explanation(2.5, rows, (Span("title", 2, 6),), {"title": "A Bike", "body": "It"}, parts)
    summary = summarise_explanation(explanation)
    assert [(word.text, word.strength) for word in summary.similar] == [("bicycle ≈ bike", 4)]
    assert [(word.text, word.strength) for word in summary.shared] == [("stand", 2)]
    assert summary.parts == [("meaning", 0.6), ("shared words", 0.4)]
    assert summary.matched == {"bike"}
    assert (summarise_explanation(None).shared, summarise_explanation(None).similar) == ([], [])


def test_weeks_without_feedback_are_shown() -> None:
    none = dict.fromkeys(VERDICT_LABELS, 0)
    one = none | {"accept": 1}
    assert fill_weeks([("2026-10-26", one), ("2026-11-16", one)]) == [
        ("2026-10-26", one), ("2026-11-02", none), ("2026-11-09", none), ("2026-11-16", one),
    ]  # fmt: skip
    assert fill_weeks([]) == []


@pytest.mark.parametrize("weeks", [1, 2, 5, 26])
def test_week_labels_stand_below_bars_inside_the_chart(weeks) -> None:
    chart = stacked_bars([("16 Nov", {"accept": 2})] * weeks, ["accept"], "by week")
    bars = [
        float(x) + float(width) / 2
        for x, width in re.findall(r'<rect [^>]*x="([\d.]+)" y="[^"]*" width="([\d.]+)"', chart)
    ]
    labels = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="\d+" text-anchor="middle"', chart)]
    assert labels
    assert all(min(abs(label - bar) for bar in bars) < 1 for label in labels)
    assert all(24 <= label <= WIDTH - 24 for label in labels)


def test_shares_are_never_rounded_to_nothing() -> None:
    assert [format_percent(x) for x in (0.0, 0.001, 0.5, 1.0)] == ["0%", "under 1%", "50%", "100%"]


@pytest.mark.parametrize(("probability", "shown"), [(0.9999, "99%"), (0.21, "21%"), (0.001, "under 1%")])
def test_a_probability_is_never_a_certainty(probability: float, shown: str) -> None:
    html = create_environment().get_template("parts/sure.html").module.sure(probability, None)
    assert f"</meter> {shown} likely the same" in html


def test_code_keeps_its_lines() -> None:
    blocks = readable_blocks("<p>a\n b</p><pre><code>x\n  y &lt;</code></pre>c", "html")
    assert [tuple(block) for block in blocks] == [("a b", False), ("x\n  y <", True), ("c", False)]
