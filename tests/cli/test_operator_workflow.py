"""An operator's workflow: two sources in an archive, an error message, off-topic questions, pages."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from askalike.store import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals
from chromium import watched_pages
from commands import run_command as run

WORDS = ("-r", "lm_jelinek_mercer")
POST = (
    '<row Id="{id}" PostTypeId="1" CreationDate="2020-01-0{id}T00:00:00" Title="{title}" Body="{body}" OwnerUserId="4" '
    'Score="1" Tags="&lt;{tag}&gt;" />'
)
ERROR = "ValueError: invalid literal for int() with base 10: 'seven'"
TRACE = f"&lt;p&gt;It stops with&lt;/p&gt;&lt;pre&gt;&lt;code&gt;{ERROR}&lt;/code&gt;&lt;/pre&gt;"


def write_site(folder: Path, tag: str, questions: list[tuple[str, str]]) -> Path:
    """A dump whose ids are 1, 2, 3."""
    folder.mkdir()
    rows = [POST.format(id=n, title=title, body=body, tag=tag) for n, (title, body) in enumerate(questions, 1)]
    (folder / "Posts.xml").write_text(f"<posts>{''.join(rows)}</posts>", encoding="utf-8")
    links = '<row Id="1" CreationDate="2020-01-03T00:00:00" PostId="2" RelatedPostId="1" LinkTypeId="3" />'
    (folder / "PostLinks.xml").write_text(f"<postlinks>{links}</postlinks>", encoding="utf-8")
    (folder / "Users.xml").write_text('<users><row Id="4" DisplayName="Zoë Ng" /></users>', encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def dumps(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("dumps")
    beer = [("Why does beer foam?", ""), ("What makes beer foam so much?", ""), ("How long does a keg last?", "")]
    python = [
        ("Why does int() fail on words?", TRACE),
        ("Reading numbers from a file fails", ""),
        (r"Is sorting $O(n \log n)$?", "&lt;p&gt;It calls &lt;code&gt;sorted&lt;/code&gt; for $$\\sum_i i$$&lt;/p&gt;"),
    ]
    return write_site(folder / "beer.stackexchange.com", "foam", beer), write_site(
        folder / "python.example", "py", python
    )


@pytest.fixture
def mixed(dumps, tmp_path) -> Path:
    """An archive of both sites."""
    for dump in dumps:
        code, _, err = run("import", "stackexchange", dump, "-o", tmp_path / "mix")
        assert code == 0, err
    return tmp_path / "mix"


def titles_of(out: str) -> list[str]:
    return [result["title"] for result in json.loads(out)["results"]]


def test_search_for_a_pasted_error_message(mixed) -> None:
    code, out, _ = run("search", mixed, ERROR, "--json", "-k", 1, *WORDS)
    assert (code, titles_of(out)) == (0, ["Why does int() fail on words?"])
    [result] = json.loads(out)["results"]
    assert ERROR in result["snippet"]


FOREIGN = ("Почему поезд опаздывает?", "Kann man Lasagne einfrieren?")
NONSENSE = ("xyzzy", "asdf qwer zxcv")


@pytest.mark.long
@pytest.mark.parametrize("calibrated", [False, True], ids=["uncalibrated", "calibrated"])
def test_search_off_topic_on_all_surfaces(calibrated_riverside, tmp_path, monkeypatch, calibrated) -> None:
    """On the command line, over HTTP and on Ask; a calibration without a threshold of its own shows no nonsense."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "service"))
    pytest.importorskip("uvicorn", reason="needs askalike[service]")
    from serving import Service

    path = Path(shutil.copytree(calibrated_riverside, tmp_path / "riverside"))
    if not calibrated:
        shutil.rmtree(path / "calibration")
    service = Service(path, ranker=(), options=("--set", "propose=0"))
    try:
        for query in (*NONSENSE, *FOREIGN, "library", "my libary crad is lsot"):
            _, out, _ = run("search", path, query, "--json", "-k", 7)
            found = titles_of(out)
            typed = service.get(f"/v1/riverside/similar?k=7&title={quote(query)}").json["results"]
            assert [result["title"] for result in typed] == found
            page = service.get(f"/a/riverside?title={quote(query)}").body.decode()
            assert page.count('<li class="item">') == len(found)
            assert bool(found) == (query not in NONSENSE + FOREIGN), query
    finally:
        service.end()


def test_search_similarity_bar_uncalibrated(mixed) -> None:
    code, out, _ = run("search", mixed, "Why does beer foam?", "-k", 2, *WORDS)
    first, *_ = (line for line in out.splitlines() if "uncalibrated" in line)
    assert (code, "▰▰▰▰" in first) == (0, True)


@pytest.fixture
def page(mixed, monkeypatch, browser):
    """A browser before a service of both sites."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "service"))
    pytest.importorskip("uvicorn", reason="needs askalike[service]")
    from serving import Service

    service = Service(mixed)
    home = service.url.geturl()
    try:
        with watched_pages(browser, home) as open_page:
            yield open_page("/a/mix", base_url=home, viewport={"width": 390, "height": 800})
    finally:
        service.end()


def propose_pair(path: Path, *titles: str) -> None:
    with Archive.open(path) as archive:
        ids = {question.title: question.id for _, question in archive.view().questions()}
        add_proposals(archive, [CandidatePair(*(ids[title] for title in titles), 0.6, 0.8, "lm_jelinek_mercer")])


@pytest.mark.long
def test_pages_without_a_calibration(page, mixed) -> None:
    from waiting import wait_for

    page.goto("/a/mix/queue")
    wait_for(lambda: page.reload() and page.get_by_text("All questions are checked.").count())
    propose_pair(mixed, "How long does a keg last?", "Why does beer foam?")
    page.reload()
    page.get_by_role("heading", name="Do these ask the same?").wait_for()
    assert page.locator(".pair-head .sure").inner_text().strip() == "60% likely the same"
    page.goto("/a/mix/quality")  # what is used instead, and nothing in red
    note = page.locator(".note:not(.advice)")
    assert "have no probability yet. They show a similarity from 0 to 1 instead." in note.inner_text()
    assert "more similar than off-topic questions usually are" in note.inner_text()
    assert page.locator(".note.bad, [role=alert]").count() == 0
