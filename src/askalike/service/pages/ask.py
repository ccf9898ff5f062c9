"""*Ask*: similar questions while somebody types, and the feedback that they give on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.pages.auth import UserArchive, VisitedArchive
from askalike.service.pages.forms import Form, SubmittedForm, validate_form
from askalike.service.pages.reasons import matched_words
from askalike.service.pages.rendering import archive_url, is_htmx, render_page
from askalike.service.requests.actions import record_feedback, search_similar
from askalike.service.requests.schema import MAX_BODY_LENGTH, MAX_TITLE_LENGTH, FeedbackRequest, SimilarRequest
from askalike.service.state.served_archive import ServedArchive
from askalike.text.clean import readable_text
from askalike.text.snippet import extract_snippet
from askalike.types import Answer, SearchHit

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

    hit: SearchHit
    words: frozenset[str]
    """The words that are marked in it."""
    snippet: str
    answer: str
    """How its first answer begins, "" without one."""


@router.get("/a/{archive}")
async def get_ask(site: VisitedArchive, request: Request, title: str = "", body: str = "", noted: str = "") -> Response:
    """Show the form, and what is similar to its text."""
    return render_page(
        request,
        "ask.html",
        typed=False,
        message=VERDICT_MESSAGES.get(noted, ""),
        max_title_length=MAX_TITLE_LENGTH,
        max_body_length=MAX_BODY_LENGTH,
        **await _find_similar(site, request, title, body, prefix=False),
    )


@router.post("/a/{archive}/similar")
async def post_similar(site: VisitedArchive, request: Request, form: SubmittedForm) -> Response:
    """Show the part of the page below the form, while somebody types. Changes nothing."""
    context = await _find_similar(site, request, form.value("title"), form.value("body"), prefix=True)
    return render_page(request, "parts/similar.html", typed=True, **context)


@router.post("/a/{archive}/feedback")
async def post_feedback(site: UserArchive, request: Request, form: SubmittedForm) -> Response:
    """Store feedback on the questions that were shown."""
    feedback = _parse_feedback(form)
    await record_feedback(site, feedback)
    if is_htmx(request):
        message = VERDICT_MESSAGES[feedback.verdict]
        return render_page(request, "parts/noted.html", message=message, feedback=feedback)
    query = urlencode({"title": feedback.title, "body": feedback.body, "noted": feedback.verdict})
    return RedirectResponse(f"{archive_url(site.name)}?{query}", 303)


async def _find_similar(site: ServedArchive, request: Request, title: str, body: str, prefix: bool) -> dict[str, Any]:
    query = validate_form(SimilarRequest, {"title": title, "body": body, "k": MAX_ITEMS, "prefix": prefix})
    if not f"{title}{body}".strip():
        latest = await site.run_on_archive(lambda archive: archive.view().latest_questions(N_LATEST))
        return {"title": "", "body": "", "items": [], "latest": latest}
    _, hits = await search_similar(site, request, query)
    answers = await site.run_on_archive(lambda archive: archive.view().get_answers_to(hit.question.id for hit in hits))
    items = [_to_item(hit, answers[hit.question.id]) for hit in hits]
    return {"title": title, "body": body, "items": items, "latest": []}


def _to_item(hit: SearchHit, answers: Sequence[Answer]) -> SimilarItem:
    words = matched_words(hit.explanation, hit.question.language)
    text = readable_text(answers[0].body, answers[0].markup) if answers else ""
    return SimilarItem(hit, words, hit.snippet, extract_snippet(text, (), EXCERPT_LENGTH))


def _parse_feedback(form: Form) -> FeedbackRequest:
    verdict = next((v for v in VERDICT_MESSAGES if form.values(v)), "")
    chosen = {} if verdict == "none_of_these" else {"chosen": form.value(verdict)}
    values = {"title": form.value("title"), "body": form.value("body"), "shown": form.values("shown")}
    return validate_form(FeedbackRequest, values | {"verdict": verdict} | chosen)
