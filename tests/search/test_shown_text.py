"""What a hit shows is made from the text as people read it, whatever the index holds of it."""

import re

import pytest

from askalike import Answer, Archive, Question, load
from askalike.core.hits import Contribution, Explanation, Span
from askalike.search.explain import keep_readable, sum_fields
from askalike.text.passages import FORMULA, extract_snippet

BODY = "<p>The pump calls <code>retries</code> as https://desk.example/pump says, and <code>flush</code> waits.</p>"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    path = tmp_path_factory.mktemp("shown") / "desk"
    with Archive.create(path) as archive:
        archive.upsert([Question("1", "Why does the pump stop?", BODY, "html"), Question("2", "How do I boil rice?")])
    return path


@pytest.mark.parametrize("settings", [{}, {"code": "drop"}, {"code": "keep"}], ids=str)
def test_a_snippet_keeps_code_words_and_links(desk, settings) -> None:
    with load(desk, "lm_jelinek_mercer", **settings) as engine:
        hit = engine.search("why does my pump wait, see https://elsewhere.example/x")[0]
    assert hit.snippet == "The pump calls retries as https://desk.example/pump says, and flush waits."
    assert "xxurl" not in str([c.word for c in hit.explanation.contributions])
    assert "link" in [c.word for c in hit.explanation.contributions]


def test_passage_shown_is_of_the_matching_text(tmp_path) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([
            Question("1", "Pump", "It leaks oil on Sunday.", accepted_answer_id="a"),
            Answer("a", "1", "<p>Replace the <b>gasket</b> with a new one.</p>", "html"),
        ])  # fmt: skip
    with load(tmp_path / "desk", "lm_jelinek_mercer", fields="title,text,answer") as engine:
        passages = [engine.search(text, min_similarity=0)[0].snippet for text in ("pump gasket", "pump oil", "pump")]
        reason = engine.search("replace pump gasket", min_similarity=0)[0].explanation
    assert passages == ["Replace the gasket with a new one.", *["It leaks oil on Sunday."] * 2]
    assert sum_fields(reason).keys() == {"title", "title and body", "accepted answer"}
    assert {"gasket", "Replace"} == {reason.text[s.field][s.start : s.end] for s in reason.spans if s.field == "answer"}


@pytest.mark.parametrize("ranker", ["lm_jelinek_mercer", "bm25", "tfidf"])
def test_similarity_means_the_same_for_every_query(desk, ranker) -> None:
    with load(desk, ranker) as engine:
        [same, *_] = engine.search("How do I boil rice?", 1, min_similarity=0)
        [other, *_] = engine.search("How do people elsewhere measure zebras when they sleep?", 1, min_similarity=0)
    assert same.similarity == pytest.approx(1, abs=0.2)
    assert 0 <= other.similarity < same.similarity / 2


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("it is $O(n)$ and $$x^2$$ here", ["$O(n)$", "$$x^2$$"]),
        (r"\(a\) or \[b\] or \begin{align}c\end{align}", [r"\(a\)", r"\[b\]", r"\begin{align}c\end{align}"]),
        (r"\[a \\[2pt] b\]", [r"\[a \\[2pt] b\]"]),
        (r"\(a \(b\) \[c \[d\]", [r"\(b\)", r"\[d\]"]),
        ("it costs $5 and $10, or $5-$10", []),
        ("it costs 5$ and 7$", []),
        (r"a \$x\$ b, $HOME/bin and $PATH", []),
        ("one $x\ny$ over two lines", []),
        ("one $x^2\n+ y$ over two lines", ["$x^2\n+ y$"]),
        ("$$ T(n) = 1 $$ and $$\n\\frac12\n$$", ["$$ T(n) = 1 $$", "$$\n\\frac12\n$$"]),
        (r"the $ \Omega(n^2) $ bound, $b^2$th, of$S_{i,j}$s", [r"$ \Omega(n^2) $", "$b^2$", "$S_{i,j}$"]),
        ("the $i$th, $i+1$st, $ O(1) $ and $ M $", ["$i$", "$i+1$", "$ O(1) $", "$ M $"]),
        (r"$\begin{pmatrix} a \\ b \end{pmatrix}$", [r"$\begin{pmatrix} a \\ b \end{pmatrix}$"]),
        (r"the rule $S' \to S \$$ and 3\$ or 2$", [r"$S' \to S \$$"]),
        (r"$E=\{ M \mid \text{ encoded by $M$}\}$", [r"$E=\{ M \mid \text{ encoded by $M$}\}$"]),
        ("$HOME_DIR and $PATH_X then $USER_NAME/$HOME_X", []),
        ("$100,000 a year, $120 million and 20 % of $5.", []),
    ],
)
def test_formulas_are_told_from_prices_and_variables(text, formulas) -> None:
    assert [match[0] for match in FORMULA.finditer(text)] == formulas


def test_a_snippet_cuts_no_formula() -> None:
    text = "before " * 20 + "$a + b + c + d + e + f + g + h + i + j$ word " + "after " * 20
    place = text.index("word")
    for width in range(20, 200, 7):
        snippet = extract_snippet(text, [(place, place + 4)], width)
        assert snippet.count("$") in (0, 2), snippet


def test_a_snippet_is_no_list_of_definitions() -> None:
    text = r"$\newcommand{\R}{\mathbb{R}}\def\N{\mathbb{N}}$ A word about $\R$, and " + "more of it " * 30
    place = text.index("word")
    for spans in ([], [(place, place + 4)]):
        assert extract_snippet(text, spans, 60).startswith(r"A word about $\R$")


def test_snippet_in_a_formula_shows_its_surroundings() -> None:
    formula = "$$" + "alpha + " * 100 + "$$"
    for text in (f"What is {formula} equal to?", f"{formula} is what?"):
        place = text.index("alpha") + 400
        snippet = extract_snippet(text, [(place, place + 5)], 60)
        assert "$" not in snippet
        assert "hat" in snippet


def test_notation_of_formulas_is_no_reason() -> None:
    text = r"a \frac{x}{y} and \begin{align} text \text{text}"
    spans = tuple(Span("body", m.start(), m.end()) for m in re.finditer("frac|align|text", text))
    names = ("frac", "align", "text", r"frac{1}{\sqrt", "end{bmatrix", "\\\\", "=", "C++")
    explanation = Explanation(3.0, tuple(Contribution(name, ("body",), 1.0) for name in names), spans, {"body": text})
    kept = keep_readable(explanation)
    assert [c.word for c in kept.contributions] == ["text", "C++"]
    assert {text[span.start : span.end] for span in kept.spans} == {"text"}
