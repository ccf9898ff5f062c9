"""*Ask*: similar questions while somebody types, and what they say of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.pages.marking import matched_words
from askalike.service.pages.people import Form, ReaderArchive, SubmittedForm, VisitorArchive, validate_form
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.requests.schema import MAX_BODY_LENGTH, MAX_TITLE_LENGTH, SimilarRequest
from askalike.service.routes.asking import FeedbackRequest, record_feedback
from askalike.service.routes.similar import search_similar
from askalike.service.state.served_archive import ServedArchive
from askalike.store.archive import Archive
from askalike.text.clean import LINK_TOKEN, plain_text
from askalike.types import Answer, Question, SearchHit

router = APIRouter()
MAX_ITEMS, N_LATEST = 7, 6
EXCERPT_LENGTH = 220
VERDICT_MESSAGES = {
    "accept": "Good. We noted that it answers your question.",
    "reject": "Noted: it is not the same.",
    "none_of_these": "Noted: what you look for is not here yet.",
}


@dataclass(frozen=True, slots=True)
class SimilarItem:
    """A similar question as the page shows it."""

    match: SearchHit
    words: frozenset[str]
    snippet: str
    answer: str


@router.get("/a/{archive}")
async def get_ask(
    served_archive: VisitorArchive, request: Request, title: str = "", body: str = "", noted: str = ""
) -> Response:
    """The form, and what is similar to what it holds."""
    return render_page(
        request, "ask.html", typed=False, noted=VERDICT_MESSAGES.get(noted, ""), longest=(MAX_TITLE_LENGTH, MAX_BODY_LENGTH),
        **await _similar_context(served_archive, request, title, body, prefix=False),
    )  # fmt: skip


@router.post("/a/{archive}/similar")
async def post_similar(served_archive: VisitorArchive, request: Request, form: SubmittedForm) -> Response:
    """The part of the page below the form, while somebody types. Changes nothing."""
    found = await _similar_context(served_archive, request, form.value("title"), form.value("body"), prefix=True)
    return render_page(request, "parts/similar.html", typed=True, **found)


@router.post("/a/{archive}/feedback")
async def post_feedback(served_archive: ReaderArchive, request: Request, form: SubmittedForm) -> Response:
    """Keeps what somebody said of what was shown."""
    given = _parse_feedback(form)
    await record_feedback(served_archive, given)
    if "hx-request" in request.headers:
        return render_page(
            request,
            "parts/noted.html",
            said=VERDICT_MESSAGES[given.verdict],
            question=given.chosen,
            verdict=given.verdict,
        )
    back = urlencode({"title": given.title, "body": given.body, "noted": given.verdict})
    return RedirectResponse(f"{archive_url(served_archive.name)}?{back}", 303)


async def _similar_context(
    served_archive: ServedArchive, request: Request, title: str, body: str, prefix: bool
) -> dict[str, Any]:
    asked = validate_form(SimilarRequest, {"title": title, "body": body, "k": MAX_ITEMS, "prefix": prefix})
    if not f"{title}{body}".strip():
        return {"title": "", "body": "", "items": [], "latest": await served_archive.run_on_archive(_latest_questions)}
    _, matches = await search_similar(served_archive, request, asked)
    answers = await served_archive.run_on_archive(
        lambda archive: archive.view().get_answers_to(m.question.id for m in matches)
    )
    items = [_to_item(match, answers[match.question.id]) for match in matches]
    return {"title": title, "body": body, "items": items, "latest": []}


def _to_item(match: SearchHit, answers: Sequence[Answer]) -> SimilarItem:
    words = matched_words(match.explanation, match.question.language)
    return SimilarItem(match, words, match.snippet.replace(LINK_TOKEN, "…"), _answer_excerpt(answers))


def _answer_excerpt(answers: Sequence[Answer]) -> str:
    """How the first answer begins."""
    if not answers:
        return ""
    text = " ".join(plain_text(answers[0].body, answers[0].markup, links="keep").split())
    return text if len(text) <= EXCERPT_LENGTH else f"{text[:EXCERPT_LENGTH].rsplit(' ', 1)[0]} …"


def _latest_questions(archive: Archive) -> Sequence[Question]:
    """The questions asked last."""
    sql = "SELECT id FROM questions ORDER BY created_at DESC LIMIT ?"
    ids = [id for (id,) in archive.connection.execute(sql, (N_LATEST,))]
    found = archive.view().get_questions(ids)
    return [found[id] for id in ids]


def _parse_feedback(form: Form) -> FeedbackRequest:
    verdict = next((v for v in ("accept", "reject", "none_of_these") if form.values(v)), "")
    values = {name: form.value(name) for name in ("title", "body")} | {
        "shown": form.values("shown"),
        "verdict": verdict,
    }
    return validate_form(
        FeedbackRequest, values | ({} if verdict == "none_of_these" else {"chosen": form.value(verdict)})
    )
