"""A service of an archive with something to show on every page, and a browser that visits it."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from serving import Service, index

from askalike import Question, build
from askalike.calibration.calibrate import calibrate
from askalike.core.records import Answer, Link
from askalike.store import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals
from askalike.store.drafts import ThreadDraft, put_thread
from askalike.store.query_log import LoggedQuery, insert_feedback, log_query
from chromium import watched_pages

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> {{ 7*7 }} & more"
BODY = """<h2>What I did</h2><script>document.title='taken'</script><p onclick="alert(1)">First <code>make</code>:</p>
<ul><li>one</li><li><a href="javascript:alert(1)">two</a></li></ul><pre><code>if a &lt; b:
    print("a long line of code that is wider than any phone, and has to scroll by itself, not with the page")
</code></pre><img src="https://elsewhere.example/x.png" alt="a plan"><iframe src="https://elsewhere.example"></iframe>"""

SLACK_URL = "https://acme.slack.com/archives/C1/p1"

FORMULA_TITLE = "Why is $\\log_2 n$ in $O(\\sqrt{n})$ for zygohistomorphic queues?"
FORMULA_BODY = """<p>The zygohistomorphic queue calls <code>retries</code> as in https://desk.example/retries for
$$\\sum_{i=1}^n \\frac{1}{i} &lt; \\ln n + 1$$ and costs $5 or $10 a month.</p><pre><code>echo $HOME $x$</code></pre>"""


def fill_archive(path: Path) -> None:
    """Add records, so that every page has something to show."""
    with Archive.open(path) as archive:
        archive.upsert(
            [
                Question(
                    "x/1",
                    HOSTILE,
                    BODY,
                    "html",
                    language='en"><b>',
                    tags=("<b>",),
                    author="<i>",
                    url="https://desk.example/q/x1",
                ),
                Question("math", FORMULA_TITLE, FORMULA_BODY, "html", created_at="2009-01-01T00:00:00"),
                Question("x 2", "كيف أجدد بطاقة المكتبة؟", language="ar"),
                Answer("x/1a", "x/1", BODY, "html"),
                Link("x/1", "r013", "duplicate"),
                Link("r013", "math", "related"),
            ]
        )
        pairs = [("r013", "r001", 0.93), ("r003", "r004", 0.8), ("x/1", "r002", 0.7), ("r005", "r006", 0.6)]
        add_proposals(archive, [CandidatePair(q, o, p, 1.0, "lm") for q, o, p in pairs])
        put_thread(archive, "slack/C1/1", ThreadDraft("C1/1", "How do I print?", HOSTILE, "Use the queue.", SLACK_URL))
        for title in ("Do you lend out kayaks?", "Can I hire a kayak?", "Where may I park my boat?", HOSTILE):
            log_query(archive, LoggedQuery(title, "", [], "lm"))
        insert_feedback(archive, LoggedQuery("kayak", "", ["r001"], "lm"), "none_of_these", None)
        insert_feedback(archive, LoggedQuery("card", "", ["r013"], "lm"), "accept", "r013")
        calibrate(archive, build("lm_jelinek_mercer"), max_queries=200).calibration.save(path)


@pytest.fixture
def hostile_title() -> str:
    """The title of question `x/1`: markup, a script and a template that no page may run."""
    return HOSTILE


@pytest.fixture(scope="session")
def filled(copy: Callable[..., Path]) -> Path:
    """The bundled archive with something on every page; tests must not change it."""
    path = copy()
    fill_archive(path)
    return index(path)


@pytest.fixture(scope="module")
def service(copy: Callable[..., Path], filled: Path, serve_all: Callable[..., Service]) -> Service:
    """A service of a copy of that archive, for the tests of one file: none sees what another file's have changed."""
    return serve_all(copy(filled), options=("--set", "propose=0"))


@pytest.fixture
def visit(browser: Any, service: Service) -> Iterator[Callable[..., Any]]:
    """Open pages of the service. Afterwards: no error on a console, and no request to other hosts."""
    home = service.url.geturl()
    with watched_pages(browser, home) as open_page:
        yield partial(open_page, base_url=home)
