"""*Ask*: similar questions while somebody types, and what they say of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from askalike.archive.store import Archive
from askalike.service.asking import Feedback, judged
from askalike.service.desk import Desk
from askalike.service.pages.marking import matched
from askalike.service.pages.people import Form, Reader, Sent, Visitor, checked
from askalike.service.pages.rendering import home, page
from askalike.service.schema import LONGEST_BODY, LONGEST_TITLE, Asked
from askalike.service.similar import found
from askalike.text.clean import LINK_TOKEN, plain_text
from askalike.types import Answer, Match, Question

router = APIRouter()
SHOWN, LATEST = 7, 6
EXCERPT = 220
SAID = {
    "accept": "Good. We noted that it answers your question.",
    "reject": "Noted: it is not the same.",
    "none_of_these": "Noted: what you look for is not here yet.",
}


@dataclass(frozen=True, slots=True)
class Item:
    """A similar question as the page shows it."""

    match: Match
    words: frozenset[str]
    snippet: str
    answer: str


@router.get("/a/{archive}")
async def get_ask(desk: Visitor, request: Request, title: str = "", body: str = "", noted: str = "") -> Response:
    """The form, and what is similar to what it holds."""
    return page(
        request, "ask.html", typed=False, noted=SAID.get(noted, ""), longest=(LONGEST_TITLE, LONGEST_BODY),
        **await _similar(desk, request, title, body, prefix=False),
    )  # fmt: skip


@router.post("/a/{archive}/similar")
async def post_similar(desk: Visitor, request: Request, form: Sent) -> Response:
    """The part of the page below the form, while somebody types. Changes nothing."""
    found = await _similar(desk, request, form.one("title"), form.one("body"), prefix=True)
    return page(request, "parts/similar.html", typed=True, **found)


@router.post("/a/{archive}/feedback")
async def post_feedback(desk: Reader, request: Request, form: Sent) -> Response:
    """Keeps what somebody said of what was shown."""
    given = _feedback(form)
    await judged(desk, given)
    if "hx-request" in request.headers:
        return page(request, "parts/noted.html", said=SAID[given.verdict], question=given.chosen, verdict=given.verdict)
    back = urlencode({"title": given.title, "body": given.body, "noted": given.verdict})
    return RedirectResponse(f"{home(desk.name)}?{back}", 303)


async def _similar(desk: Desk, request: Request, title: str, body: str, prefix: bool) -> dict[str, Any]:
    asked = checked(Asked, {"title": title, "body": body, "k": SHOWN, "prefix": prefix})
    if not f"{title}{body}".strip():
        return {"title": "", "body": "", "items": [], "latest": await desk.store(_latest)}
    _, matches = await found(desk, request, asked)
    answers = await desk.store(lambda archive: archive.view().answers_to(m.question.id for m in matches))
    items = [_item(match, answers[match.question.id]) for match in matches]
    return {"title": title, "body": body, "items": items, "latest": []}


def _item(match: Match, answers: Sequence[Answer]) -> Item:
    words = matched(match.explanation, match.question.language)
    return Item(match, words, match.snippet.replace(LINK_TOKEN, "…"), _excerpt(answers))


def _excerpt(answers: Sequence[Answer]) -> str:
    """How the first answer begins."""
    if not answers:
        return ""
    text = " ".join(plain_text(answers[0].body, answers[0].markup, links="keep").split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rsplit(' ', 1)[0]} …"


def _latest(archive: Archive) -> Sequence[Question]:
    """The questions asked last."""
    sql = "SELECT id FROM questions ORDER BY created_at DESC LIMIT ?"
    ids = [id for (id,) in archive.connection.execute(sql, (LATEST,))]
    found = archive.view().get(ids)
    return [found[id] for id in ids]


def _feedback(form: Form) -> Feedback:
    verdict = next((v for v in ("accept", "reject", "none_of_these") if form.all(v)), "")
    values = {name: form.one(name) for name in ("title", "body")} | {"shown": form.all("shown"), "verdict": verdict}
    return checked(Feedback, values | ({} if verdict == "none_of_these" else {"chosen": form.one(verdict)}))
