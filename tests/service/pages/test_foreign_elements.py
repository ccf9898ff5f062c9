"""Texts of other people on every page: none of them is an element, an attribute or an address that a page runs."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from selectolax.lexbor import LexborHTMLParser
from serving import Service

from askalike import Answer, Question
from askalike.core.records import Link
from askalike.store import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals
from askalike.store.drafts import ThreadDraft, put_thread
from askalike.store.query_log import LoggedQuery, insert_feedback, log_query

PAYLOADS = [
    "<script>taken</script>",
    "<img src=taken onerror=taken>",
    "<svg onload=taken><script>taken</script></svg>",
    '<a title="<pre><table><div hx-post=/taken hx-trigger=load>" href="https://e.example/">x</a>',
    '<a title="<table><img src=taken onerror=taken>">x</a>',
    "<div hx-post=/a/riverside/queue hx-trigger=load hx-vals=taken>x</div>",
    "<pre hx-get=/taken data-hx-post=/taken tabindex=9>x</pre>",
    '<p class="katex" style="background:url(taken)" id=taken>x</p>',
    '<a href=javascript:taken>x</a><a href="data:text/html,taken">x</a><a href=" java\tscript:taken">x</a>',
    "<form action=/taken><input name=taken formaction=/taken><button>x</button></form>",
    "<iframe src=taken></iframe><object data=taken></object><embed src=taken><base href=//taken>",
    "<link rel=stylesheet href=taken><meta http-equiv=refresh content=0;taken><style>*{}</style>",
    "<math><mtext><table><mglyph><style><img src=taken onerror=taken></style></mglyph></table></mtext></math>",
    '<noscript><p title="</noscript><img src=taken onerror=taken>"></noscript>',
    "<textarea></textarea><img src=taken onerror=taken>",
    '"><img src=taken onerror=taken>',
    "'><img src=taken onerror=taken>",
    "</title></script><script>taken</script>",
    "<!--><img src=taken onerror=taken>-->",
    "<![CDATA[><img src=taken onerror=taken>]]>",
    "$<img src=taken onerror=taken>$ $\\href{javascript:taken}{x}$",
    '<pre>$</pre><img alt=\'"><svg onload=taken>\' src="https://e.example/x">$',
    "{{ taken }} {% taken %}",
    '<table><tr><td colspan="2" onclick=taken>x</table>',
]
OWN_SOURCES = "/static/"
MODERATION = ("queue", "gaps", "drafts", "quality")
OTHER_SCHEME = re.compile(r"[\s\x00-\x1f]*(?!https?:|mailto:)[a-z][a-z0-9+.\s-]*:", re.IGNORECASE)


@pytest.fixture(scope="module")
def hostile(filled: Path, copy: Callable[..., Path], serve_all: Callable[..., Service]) -> Service:
    """A service of an archive with every payload in every field."""
    path = copy(filled)
    with Archive.open(path) as archive:
        for n, text in enumerate(PAYLOADS):
            id, url = f"p{n}{text[:200]}", f"https://e.example/{quote(text)}"
            fields = {"tags": (text,), "author": text, "url": url, "license": text, "rephrasings": (text,)}
            archive.upsert(
                [
                    Question(id, f"{text} payload {n}", text, "html", **fields),
                    Question(f"t{n}", f"payload {n} {text}", text, "text", url=f"javascript:{text}", category=text),
                    Answer(f"a{n}{text[:200]}", id, text, "html", author=text, url=url),
                    Answer(f"b{n}", f"t{n}", text, "text", author=text, license=text),
                    Link(f"t{n}", id, "duplicate"),
                    Link(f"t{n}", "r001", "related"),
                ]
            )
            add_proposals(archive, [CandidatePair(id, f"r0{10 + n % 20}", 0.9, 1.0, "lm")])
            put_thread(archive, f"slack/{n}", ThreadDraft(f"C1/{n}", text, text, text, url))
            log_query(archive, LoggedQuery(f"{text} kayak", text, [], "lm"))
            insert_feedback(archive, LoggedQuery(text, text, [id], "lm"), "accept", id)
    return serve_all(path, options=("--set", "propose=0", "--set", "requests_per_s=0"))


def find_foreign(html: bytes) -> list[str]:
    """Return what a page has that only a payload can have put there."""
    found = []
    for node in LexborHTMLParser(html.decode()).css("*"):
        attributes = {name: value or "" for name, value in node.attributes.items()}
        found += [f"{node.tag} {name}" for name in attributes if name.startswith("on")]
        for name, value in attributes.items():
            runs = name.startswith(("hx-", "data-hx-")) or name in ("src", "action", "formaction", "style", "srcset")
            if runs and "taken" in value and not (name == "action" and value.startswith("/a/riverside/")):
                found.append(f"{node.tag} {name}={value}")
        if node.tag in ("iframe", "object", "embed", "base", "style", "math", "noscript"):
            found.append(node.tag)
        if node.tag in ("script", "img") and not attributes.get("src", "").startswith(OWN_SOURCES):
            found.append(node.tag)
        if OTHER_SCHEME.match(attributes.get("href", "")):
            found.append(f"{node.tag} href={attributes['href']}")
        if "prose" in attributes.get("class", "").split() and "hx-disable" not in attributes:
            found.append("prose without hx-disable")
        if node.attributes.get("id") == "taken" or attributes.get("name") == "taken":
            found.append(f"{node.tag} taken")
    return found


def test_no_page_has_a_foreign_element_or_attribute(hostile: Service) -> None:
    pages = ["/", "/login", "/a/riverside", *(f"/a/riverside/{page}" for page in MODERATION)]
    for n, text in enumerate(PAYLOADS):
        pages += [
            f"/a/riverside/questions/{quote(f'p{n}{text[:200]}', safe='')}",
            f"/a/riverside/questions/t{n}",
            f"/a/riverside?title={quote(f'payload {n} {text}')}&body={quote(text)}",
            f"/login?next={quote(text)}",
            f"/a/{quote(text, safe='')}",
            f"/a/riverside/questions/{quote(text, safe='')}",
        ]
    n_shown = 0
    for path in pages:
        response = hostile.get(path, accept="text/html")
        assert response.status in {200, 303, 404}, path
        assert find_foreign(response.body) == [], path
        n_shown += response.status == 200
    assert n_shown >= 4 * len(PAYLOADS)
