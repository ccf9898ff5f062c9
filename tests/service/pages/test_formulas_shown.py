"""What is shown is the text as people read it: code words, links, and formulas, which KaTeX renders."""

ASK = "/a/riverside"
QUESTION = "/a/riverside/questions/math"


def test_formulas_are_rendered_from_the_package(visit) -> None:
    page = visit(QUESTION)
    page.locator(".prose .katex-display").wait_for()
    title = page.get_by_role("heading", level=1)
    assert title.locator(".katex").count() == 2
    assert title.locator("math msqrt").count() == 1
    page.locator(".math.wide").first.wait_for(state="detached")  # some are, until the fonts are loaded
    prose = page.locator(".question .prose")
    assert prose.locator("math mfrac").count() == 1
    assert "costs $5 or $10 a month" in prose.inner_text()
    assert prose.locator("pre").inner_text().strip() == "echo $HOME $x$"
    assert prose.locator("pre .katex").count() == 0
    loaded = "(fonts) => [...fonts].filter((font) => font.status === 'loaded').map((font) => font.family)"
    families = page.evaluate(f"document.fonts.ready.then({loaded})")
    assert any(family.startswith("KaTeX") for family in families)


def test_formulas_scroll_in_a_narrow_window(visit) -> None:
    page = visit(QUESTION, alone=True)
    page.locator(".prose .katex-display").wait_for()
    page.set_viewport_size({"width": 90, "height": 600})
    page.locator(".math.wide[tabindex='0']").first.wait_for()
    page.set_viewport_size({"width": 1280, "height": 600})
    page.locator(".math.wide").first.wait_for(state="detached")
    assert page.locator(".math[tabindex]").count() == 0


def test_pages_without_a_formula_do_not_load_katex(visit) -> None:
    page = visit(ASK)
    page.wait_for_load_state("networkidle")
    assert page.locator("script[src*=katex], link[href*=katex]").count() == 0
    assert page.evaluate("typeof katex") == "undefined"


def test_without_javascript_a_formula_shows_its_source(visit) -> None:
    page = visit(QUESTION, java_script_enabled=False)
    title = page.get_by_role("heading", level=1).inner_text()
    assert title == r"Why is $\log_2 n$ in $O(\sqrt{n})$ for zygohistomorphic queues?"


def test_snippets_show_code_words_links_and_whole_formulas(visit) -> None:
    page = visit(f"{ASK}?title=zygohistomorphic queue retries")
    item = page.locator(".item").first
    item.locator("h3 .katex").first.wait_for()
    snippet = item.locator(".snippet")
    assert "calls retries as in https://desk.example/retries" in " ".join(snippet.inner_text().split())
    assert "xxurl" not in page.content()
    assert "retries" in snippet.locator("mark").all_inner_texts()
    assert item.locator(".math mark").count() == 0


def test_formulas_that_arrive_while_somebody_types_are_rendered(visit) -> None:
    page = visit(ASK)
    page.locator("#title").fill("zygohistomorphic")
    page.locator(".item h3 .katex").first.wait_for()


def test_formula_is_at_most_some_lines_large(visit, service) -> None:
    service.send("PUT", "/v1/riverside/questions/huge", {"title": r"A rule $\rule{500em}{500em}$", "body": "x"})
    page = visit("/a/riverside/questions/huge")
    box = page.locator("h1 .katex-rule").bounding_box()
    assert box["width"] < 1_000
    assert box["height"] < 1_000


def test_commands_of_a_text_hold_there_alone(visit, service) -> None:
    body = r"<p>$\newcommand{\half}{\frac12}\DeclareMathOperator\xor{xor}$Why is $\half \xor 1$ no integer?</p>"
    service.send("PUT", "/v1/riverside/questions/half", {"title": r"Halves $\half$", "body": body, "markup": "html"})
    page = visit("/a/riverside/questions/half")
    page.locator(".question .prose .katex").nth(1).wait_for()
    assert page.locator(".question .prose mfrac").count() == 1
    assert page.locator(".question .prose mi", has_text="xor").count() == 1
