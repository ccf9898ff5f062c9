"""A static site of the bundled archive in Chromium, from the disk and from a server: what it finds and shows."""

import base64
import functools
import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askalike_browser
from askalike import Answer, Archive, Question, SearchRequest, build, distil, load
from askalike.calibration.abstention import everyday_questions
from askalike.store.deployments import serve_ranker
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.subwords import Bpe, find_packaged_vectors
from askalike_browser.parts import find_site_ranker
from askalike_browser.site import phrase
from askalike_browser.vectors import VectorTables
from calibration.riverside import riverside
from chromium import assert_accessible, watched_pages
from commands import askalike
from http_servers import LocalServer

TAKE = "document.title='taken'"
HOSTILE = f'Zeppelin <img src=x onerror="{TAKE}"> </script><script>{TAKE}</script> {{{{ 7*7 }}}}'
BODY = f"""<p onclick="{TAKE}">Fly <b>low</b>: https://desk.example/fly.</p><pre>if a &lt; b:
    stop()</pre><script>{TAKE}</script>"""
WIDTHS = (320, 768, 1_200)
CONSOLE = ("error", "warning", "info", "debug")
FILES = Path(askalike_browser.__file__).parent / "files"


@pytest.fixture(scope="session")
def archive_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled archive with a hostile question, one whose address is a script, and one with a rephrasing."""
    path = riverside(tmp_path_factory.mktemp("static") / "riverside")
    with Archive.open(path) as archive:
        archive.set_meta(name="Riverside <desk>", language="en")
        archive.upsert(
            [
                Question("f", r"Why is $\log_2 n$ in $O(\sqrt{n})$ for zygohistomorphic queues?", r"As $\frac12$ is."),
                Question("z", HOSTILE, url="https://desk.example/z"),
                Question("j", "Zeppelin two", url=f"javascript:{TAKE}", rephrasings=("Dirigible rides",)),
                Answer("za", "z", BODY, "html"),
            ]
        )
    return path


@pytest.fixture(scope="session")
def site(archive_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the static site."""
    out = tmp_path_factory.mktemp("exported") / "site"
    done = askalike("export", archive_path, "--format", "static-site", "-o", out)
    assert done.returncode == 0, done.stderr
    return out


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def serve(folder: Path) -> LocalServer:
    return LocalServer(functools.partial(_QuietHandler, directory=str(folder)))


@pytest.fixture(scope="session")
def server(site: Path) -> Iterator[str]:
    with serve(site) as running:
        yield f"{running.address}/"


@pytest.fixture
def visit(browser: Any, site: Path, server: str) -> Iterator[Callable[..., Any]]:
    """Open a page. Afterwards: nothing on a console, and no request to anywhere but where the page came from."""
    with watched_pages(browser, site.as_uri(), server, "data:", console=CONSOLE) as open_page:

        def visit_page(address: str = f"{site.as_uri()}/index.html", *, locale: str = "en", **options: Any) -> Any:
            page = open_page(address, locale=locale, **options)
            page.evaluate("askalikeSite.complete")
            return page

        yield visit_page


@pytest.fixture(scope="module")
def site_page(browser: Any, site: Path) -> Iterator[Any]:
    """A page of the site that stays open, for tests that leave nothing behind but what is typed."""
    with watched_pages(browser, site.as_uri(), "data:", console=CONSOLE) as open_page:
        page = open_page(f"{site.as_uri()}/index.html", locale="en")
        page.evaluate("askalikeSite.complete")
        yield page


def type_question(page: Any, text: str) -> list[str]:
    """Type a question; return the titles that are shown for it."""
    page.get_by_role("searchbox").fill(text)
    page.wait_for_function("text => decodeURIComponent(location.hash.slice(1)) === text", arg=text)
    return page.locator("#found h3").all_text_contents()


def search(page: Any, text: str, prefix: bool = True) -> list[str]:
    found = page.evaluate("([text, prefix]) => askalikeSite.search(text, { prefix, all: true })", [text, prefix])
    return [hit["id"] for hit in found["hits"]]


def test_similar_questions_appear_while_somebody_types(site_page) -> None:
    titles = type_question(site_page, "I lost my library ca")
    assert "lost my library card" in titles[0]
    assert 2 <= len(titles) <= 10
    same, related = (site_page.locator(f"#found {list} > li").count() for list in ("> ol", ".related ol"))
    assert same + related == len(titles)
    assert site_page.get_by_role("status").inner_text() == f"Likely the same: {same}"
    assert site_page.locator(".related > summary").inner_text() == f"Related questions: {related}"
    assert "library" in site_page.locator("mark").all_inner_texts()
    assert type_question(site_page, "") == []
    assert site_page.get_by_role("status").inner_text() == ""


def test_the_address_holds_the_question(visit, server: str) -> None:
    page = visit(f"{server}#lost%20library%20card")
    page.locator("#found h3", has_text="lost my library card").first.wait_for()
    assert page.get_by_role("searchbox").input_value() == "lost library card"


def test_misspelt_words_are_corrected_and_shown(site_page) -> None:
    assert "library card" in type_question(site_page, "I lost my librray card")[0]
    assert site_page.get_by_role("status").inner_text().endswith("Searched for: library")


def test_a_rephrasing_finds_its_question(site_page) -> None:
    assert search(site_page, "dirigible rides")[0] == "j"


def test_nothing_similar_is_said(site_page) -> None:
    assert type_question(site_page, "qqqq xxxx") == []
    assert site_page.get_by_role("status").inner_text() == "No similar question"


def test_it_is_silent_where_the_ranker_is(site_page, archive_path: Path) -> None:
    count = "text => askalikeSite.search(text).hits.length"
    with load(archive_path) as engine:
        off_topic = [row.text for row in everyday_questions() if row.language in engine.archive.view().languages][::4]
        titles = [question.title for question in questions(engine.archive)][::8]
        for texts in (off_topic, titles):
            expected = [bool(engine.search(text, prefix=True)) for text in texts]
            found = [site_page.evaluate(count, text) > 0 for text in texts]
            assert np.mean([own == other for own, other in zip(expected, found, strict=True)]) >= 0.95
    assert all(found)
    assert sum(site_page.evaluate(count, text) > 0 for text in off_topic) < len(off_topic) / 4


def test_it_finds_what_the_ranker_finds(site_page, archive_path: Path) -> None:
    """Of whole and of half-typed titles; benchmarks/agreement.py measures it on real archives."""
    with load(archive_path) as engine:
        titles = [question.title for question in questions(engine.archive)][::4]
        for typed in (titles, [title[: int(0.6 * len(title))] for title in titles]):
            requests = [SearchRequest(title, k=10, prefix=True, min_similarity=0) for title in typed]
            expected = [[hit.id for hit in hits] for hits in engine.search_batch(requests)]
            pairs = [(own, search(site_page, title)) for own, title in zip(expected, typed, strict=True)]
            assert np.mean([own[:1] == other[:1] for own, other in pairs]) >= 0.9
            assert np.mean([len({*own} & {*other}) / len(own) for own, other in pairs]) >= 0.8


TEXTS = (
    "I can't open Shor's e-mail at log-in; it's the well-known state-of-the-art B2B re-index",
    "Installing packages: libraries, running, ran, quickly QUICK 3.14 foo_bar",
    "Über Straße naïve café — Привет мир ἀρχή",
    "東京タワーへ行く how 한국어",
    "",
    " …!? ",
)


def test_words_are_divided_and_stemmed_alike(browser: Any, tmp_path: Path) -> None:
    """Forms that no question has are stemmed by their endings."""
    titles = ("booking a room", "parking a car", "walking home", "books about trees", "cars for hire")
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(Question(str(n), text or "-") for n, text in enumerate((*titles, *TEXTS)))
        archive.set_meta(language="en")
    page = open_exported(browser, tmp_path)
    assert search(page, "walks ", False)[0] == "2"
    assert search(page, "tree ", False)[0] == "3"
    analyzer = Analyzer(AnalyzerSettings(joined=True))
    terms = page.evaluate(
        "words => words.map((text) => askalikeSite.analyze(text).map(({ term }) => term))", list(TEXTS)
    )
    known = {term for own in terms for term in own}
    assert -1 not in known
    for text, own in zip(TEXTS, terms, strict=True):
        expected = analyzer.analyze(analyzer.plain_text(text, "text"), "en")
        assert len(own) == len(expected)
        assert len(set(own)) == len(set(expected))


def open_exported(browser: Any, folder: Path) -> Any:
    done = askalike("export", folder / "archive", "--format", "static-site", "-o", folder / "site")
    assert done.returncode == 0, done.stderr
    page = browser.new_page()
    page.goto(f"{(folder / 'site').as_uri()}/index.html")
    page.evaluate("askalikeSite.complete")
    return page


def test_subwords_and_vectors_are_those_of_the_encoder(site_page, archive_path: Path) -> None:
    page, bpe = site_page, Bpe(find_packaged_vectors()[1])
    words = ["Ubuntu", "antidisestablishmentarianism", "naïve", "x" * 70, "foo/bar_baz.txt", "Привет", "🚲", "a", "C++"]
    assert page.evaluate("words => words.map(askalikeSite.divideWord)", words) == bpe.encode(words)
    with Archive.open(archive_path) as archive:
        view, dense = archive.view(), find_site_ranker(build(archive=archive), archive).vectors
        assert dense is not None
        axes = VectorTables(dense, view, [*phrase(questions(archive), True)]).axes
    for text in ("How do I renew my library card?", "Wie kann ich mein Buch verlängern", "the of and", " ".join(words)):
        own = np.array(list(page.evaluate("text => [...askalikeSite.encode(text)]", text)))
        expected = dense.encoder.encode_queries([Question("q", text)]).parts[0].values[0] @ axes
        assert own @ expected / np.linalg.norm(own) / np.linalg.norm(expected) > 0.999


def test_words_answer_before_the_vectors_are_loaded(browser: Any, site: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(site, tmp_path / "site"))
    (copy / "data" / "vectors.js").unlink()
    page = browser.new_page()
    page.goto(f"{copy.as_uri()}/index.html")
    assert "lost my library card" in type_question_when_ready(page, "I lost my library card")[0]


def type_question_when_ready(page: Any, text: str) -> list[str]:
    page.evaluate("askalikeSite.ready")
    return type_question(page, text)


def test_missing_data_are_said(browser: Any, site: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(site, tmp_path / "site"))
    (copy / "data" / "words.js").unlink()
    page = browser.new_page()
    page.goto(f"{copy.as_uri()}/index.html")
    page.get_by_text("The questions could not be loaded.").wait_for()


def test_an_archive_ranked_by_words_has_no_vectors(browser: Any, archive_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(archive_path, tmp_path / "archive"))
    with Archive.open(path) as archive:
        serve_ranker(archive, "lm_jelinek_mercer", {}, "chosen")
    done = askalike("export", path, "--format", "static-site", "-o", tmp_path / "words")
    assert "The page searches by words" in done.stderr
    assert not (tmp_path / "words" / "data" / "vectors.js").exists()
    page = browser.new_page()
    page.goto(f"{(tmp_path / 'words').as_uri()}/index.html")
    assert "lost my library card" in type_question_when_ready(page, "I lost my library card")[0]


@pytest.mark.long
def test_a_distilled_model_is_looked_up(browser: Any, tmp_path: Path) -> None:
    titles = ["How do I cook rice?", "Boil rice in a pot", "My bike was stolen", "The bike is gone", "A bike lock"]
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(Question(str(n), title, "Please help me.") for n, title in enumerate(titles))
        archive.set_meta(language="en")
        distil(archive, "minilm_l6", "small", {"subwords": 32_000, "words": 512, "bigrams": 512})
        serve_ranker(archive, "hybrid", {"parts": ["lm_jelinek_mercer", "small"]}, "chosen")
    page = open_exported(browser, tmp_path)
    with Archive.open(tmp_path / "archive") as archive:
        dense = find_site_ranker(build(archive=archive), archive).vectors
        assert dense is not None
        axes = VectorTables(dense, archive.view(), questions(archive)).axes
    for text in ("bike lock stolen", "Boil rice", "rice"):
        looked_up = np.array(list(page.evaluate("text => [...askalikeSite.encode(text)]", text)))
        expected = dense.encoder.encode_queries([Question("q", text)]).parts[0].values[0] @ axes
        assert looked_up @ expected / np.linalg.norm(looked_up) / np.linalg.norm(expected) > 0.999
    assert search(page, "stolen bike")[0] == "2"


def questions(archive: Archive) -> list[Question]:
    return [question for _, question in archive.view().questions()]


def test_hostile_texts_are_shown_and_never_run(site_page) -> None:
    page = site_page
    titles = type_question(page, "zeppelin")
    assert HOSTILE in titles
    details = page.locator("#found ol > li", has_text="onerror").locator("details")
    details.locator("summary").click()
    prose = details.locator(".prose")
    prose.wait_for()
    assert "Fly low: https://desk.example/fly." in prose.inner_text()
    assert prose.locator("a").get_attribute("href") == "https://desk.example/fly"
    assert prose.locator("pre").inner_text() == "if a < b:\n    stop()"
    assert page.locator("#found a[href^='javascript']").count() == 0
    assert page.locator("#found img, #found script").count() == 0
    assert page.title() == "Riverside <desk>"
    assert page.get_by_role("heading", level=1).inner_text() == "Riverside <desk>"


def test_formulas_are_drawn_in_titles_and_texts(site_page) -> None:
    type_question(site_page, "zygohistomorphic")
    site_page.locator("h3 math msqrt").wait_for()
    assert site_page.locator("h3 math").count() == 2
    site_page.locator("summary", has_text="zygohistomorphic").click()
    site_page.locator(".prose math mfrac").wait_for()


def test_no_script_inserts_markup_and_policy_forbids_others(site: Path) -> None:
    for script in FILES.glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script.read_text("utf-8")
        )
    page = (site / "index.html").read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy[1]
    assert "unsafe" not in policy[1]
    assert page.count("<script") == 3


@pytest.mark.long
def test_it_is_accessible_and_fits_every_width(visit, server: str) -> None:
    page = visit(server, bypass_csp=True)  # the checker reads the style sheet by a request, which the policy forbids
    type_question(page, "zeppelin")
    page.locator("details").first.locator("summary").click()
    page.locator(".prose").first.wait_for()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert_accessible(page)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", dark))) < 64
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 700})
        for direction in ("ltr", "rtl"):
            page.evaluate("d => { document.documentElement.dir = d }", direction)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_is_used_by_keyboard(visit) -> None:
    page = visit()
    page.keyboard.press("Tab")
    page.keyboard.type("zeppelin img")
    page.locator(".related > summary").wait_for()
    for key in ("Tab", "Enter", "Tab"):  # the related ones are folded
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.href") == "https://desk.example/z"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".prose").wait_for()


LABELS = {"de-AT": "Ihre Frage", "fr": "Votre question", "ru": "Ваш вопрос", "ja": "Your question"}


@pytest.mark.parametrize(
    ("locale", "label"),
    [pytest.param(*one, marks=pytest.mark.long if one[0] in {"fr", "ru"} else ()) for one in LABELS.items()],
    ids=list(LABELS),
)
def test_it_speaks_the_language_of_the_browser(visit, locale: str, label: str) -> None:
    page = visit(locale=locale)
    assert page.get_by_role("searchbox", name=label).is_visible()
    assert page.locator("html").get_attribute("lang") == (locale[:2] if label != "Your question" else "en")
    page.get_by_role("button", name="Deutsch").click()
    assert page.get_by_role("searchbox", name="Ihre Frage").is_visible()
    assert page.get_by_role("button", name="Deutsch").get_attribute("aria-current") == "true"
    type_question(page, "lost library card")
    assert page.get_by_role("status").inner_text().startswith("Wahrscheinlich dieselbe: ")
    page.get_by_role("button", name="English").click()
    assert page.locator(".related > summary").inner_text().startswith("Related questions: ")


def test_every_language_has_every_message() -> None:
    messages = json.loads((FILES / "messages.json").read_text("utf-8"))
    assert list(messages) == ["en", "de", "fr", "ru"]
    used = set(re.findall(r'say\("(\w+)"', (FILES / "page.js").read_text("utf-8")))
    used |= set(re.findall(r'data-(?:text|label)="(\w+)"', (FILES / "index.html").read_text("utf-8")))
    for own in messages.values():
        assert own.keys() == messages["en"].keys()
        assert used <= own.keys()


PAGE = """<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>Help</title><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; script-src {site}">
<main><h1>Help</h1><label>Ask <input id="ask"></label></main>
<script src="{site}widget.js" data-input="#ask" data-k="3"></script></html>"""


def test_widget_searches_in_a_page_of_another_site(browser: Any, server: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE.format(site=server, lang="fr"), "utf-8")
    other = serve(tmp_path)
    page, urls = browser.new_page(), list[str]()
    page.on("request", lambda request: urls.append(request.url))
    page.goto(f"{other.address}/")
    box = page.get_by_role("combobox", name="Ask")
    box.press_sequentially("I lost my library ca", delay=5)
    options = page.get_by_role("option")
    page.get_by_role("option", name="lost my library card").wait_for()
    page.evaluate("askalikeSite.complete")
    box.press_sequentially("rd", delay=5)
    options.first.filter(has_text="lost my library card").wait_for()
    assert options.count() == 3
    assert page.get_by_role("status").inner_text() == "Questions similaires: 3"
    assert_accessible(page)
    page.evaluate("addEventListener('askalike', (e) => { window.chosen = e.detail.id; e.preventDefault() })")
    box.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    box.press("Enter")
    assert page.evaluate("window.chosen") == "r013"
    page.get_by_role("listbox").wait_for(state="hidden")
    assert {url for url in urls if not url.startswith((server, page.url, "data:"))} == set()
    other.server_close()


def test_an_export_is_the_same_each_time(archive_path: Path, site: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert askalike("export", archive_path, "--format", "static-site", "-o", again).returncode == 0
    files = sorted(path.relative_to(site) for path in site.rglob("*.*") if path.is_file())
    assert all((site / name).read_bytes() == (again / name).read_bytes() for name in files)


def test_an_empty_archive_is_exported(browser: Any, tmp_path: Path) -> None:
    Archive.create(tmp_path / "archive").close()
    page = open_exported(browser, tmp_path)
    assert type_question(page, "anything") == []


def test_what_is_deleted_is_not_written(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([Question("1", "How do I moor?"), Question("2", "Moor zeppelins?")])
        archive.delete(["2"])
    assert askalike("export", tmp_path / "desk", "--format", "static-site", "-o", tmp_path / "site").returncode == 0
    packed = [file.read_text().split('"')[-2] for file in (tmp_path / "site" / "data").iterdir()]
    written = b"".join(gzip.decompress(base64.b64decode(text)) for text in packed)
    assert b"How do I moor?" in written
    assert b"zeppelin" not in written
