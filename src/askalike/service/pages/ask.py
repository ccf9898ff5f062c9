"""*Ask*: shows similar questions while somebody types, and takes feedback on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from askalike.core.hits import SearchHit
from askalike.core.records import Answer
from askalike.search.explain import corrected_words
from askalike.service.actions import record_feedback, record_use, search_similar, store_posted
from askalike.service.pages.auth import UserArchive, VisitedArchive
from askalike.service.pages.display import matched_words
from askalike.service.pages.forms import Form, SubmittedForm, validate_form
from askalike.service.pages.languages import mark
from askalike.service.pages.rendering import archive_url, is_htmx, render_page
from askalike.service.request_state import add_log_fields
from askalike.service.schema import MAX_BODY_LENGTH, MAX_TITLE_LENGTH, FeedbackRequest, SimilarRequest
from askalike.service.served_archive import ServedArchive
from askalike.store.contents import latest_questions
from askalike.store.drafts import put_asked
from askalike.store.query_log import FeedbackVerdict
from askalike.store.retention import KeepsNothingError, get_keep_days
from askalike.text.clean import readable_text
from askalike.text.passages import extract_snippet

router = APIRouter()
MAX_ITEMS, N_LATEST = 7, 6
EXCERPT_LENGTH = 220
SHORT_ANSWER_LENGTH = 60
"""Answers up to this length are seen in full on a phone."""
MAX_ADDRESS_BODY_LENGTH = 1_000
"""Longer texts make URLs that servers or browsers reject."""
VERDICT_MESSAGES = {
    "accept": mark("Thanks. Noted that this answers your question."),
    "same": mark("Noted. Your question is known, but has no answer yet."),
    "reject": mark("Noted as different."),
    "none_of_these": mark("Noted as missing."),
    "post": mark("Your question is with the moderators. Search finds it once one of them has answered it."),
}
LONG_TITLE_MESSAGE = mark("Your question is too long for its field. The rest of it is in the details.")
STATE_MESSAGES = (mark("closed"), mark("locked"), mark("outdated"), mark("duplicate"))
"""The states of a hit that its label names."""
BUTTON_VERDICTS: Mapping[str, FeedbackVerdict] = {"same": "accept", "post": "posted_anyway"}
"""The verdict of each button that is not named after one."""
MAX_FULL_ANSWER_LENGTH = 20_000
"""Longer answers are read on the question's own page."""


@dataclass(frozen=True, slots=True)
class SimilarItem:
    """A similar question as the page shows it."""

    hit: SearchHit
    words: frozenset[str]
    """Its matched words, which are highlighted."""
    snippet: str
    answer: str
    """The beginning of its first answer; "" if it has none."""
    full_answer: Answer | None
    """Its first answer, to be read without leaving the page; None if it has none, and for all but the first item."""


@router.get("/a/{archive}")
async def get_ask(
    archive: VisitedArchive, request: Request, title: str = "", body: str = "", noted: str = ""
) -> Response:
    """Show the form, and the questions similar to its text."""
    is_long = len(title) > MAX_TITLE_LENGTH
    if is_long:
        title, body = _split_title(title, body)
    return render_page(
        request,
        "ask.html",
        typed=False,
        message=LONG_TITLE_MESSAGE if is_long else VERDICT_MESSAGES.get(noted, ""),
        offer_now=noted == "none_of_these",
        max_title_length=MAX_TITLE_LENGTH,
        max_body_length=MAX_BODY_LENGTH,
        **await _find_similar(archive, request, title, body, prefix=False),
    )


def _split_title(title: str, body: str) -> tuple[str, str]:
    """Return a title that is not too long, cut at a space, and the rest before the body."""
    head = title[:MAX_TITLE_LENGTH].rsplit(" ", maxsplit=1)[0]
    return head, f"{title[len(head) :].strip()}\n\n{body}".strip()


@router.post("/a/{archive}/similar")
async def post_similar(archive: VisitedArchive, request: Request, form: SubmittedForm) -> Response:
    """Show the part of the page below the form, while somebody types. Changes nothing."""
    title = form.value("title")
    body = form.value("body")
    count = bool(form.value("count"))
    context = await _find_similar(archive, request, title, body, prefix=True, count_shown=count)
    response = render_page(request, "parts/similar.html", typed=True, offer_now=False, **context)
    response.headers["hx-replace-url"] = _query_url(archive, title, body)
    return response


@router.post("/a/{archive}/feedback")
async def post_feedback(archive: UserArchive, request: Request, form: SubmittedForm) -> Response:
    """Store feedback on the questions that were shown."""
    button = next((name for name in VERDICT_MESSAGES if form.values(name)), "")
    feedback = _parse_feedback(form, button)
    if button == "post":
        if not archive.settings.take_questions:
            raise HTTPException(403, "this service takes no questions; start it with --set take_questions=true")
        try:
            await store_posted(archive, request, lambda store: put_asked(store, feedback.title, feedback.body))
        except KeepsNothingError:
            raise HTTPException(
                403, "this archive keeps nothing that people post, so that nobody could answer"
            ) from None
    if button == "post" and form.value("counted"):  # as a gap, by "None of these"
        await record_use(archive, "posted")
    else:
        await record_feedback(archive, request, feedback)
    if is_htmx(request):
        return render_page(request, "parts/noted.html", message=VERDICT_MESSAGES[button], feedback=feedback)
    return RedirectResponse(_query_url(archive, feedback.title, feedback.body, noted=button), 303)


def _query_url(archive: ServedArchive, title: str, body: str, **others: str) -> str:
    """Return the URL of the questions similar to a text, so that the back button works; without a body that is long."""
    values = {"title": title, "body": body if len(body) <= MAX_ADDRESS_BODY_LENGTH else "", **others}
    query = urlencode({name: value for name, value in values.items() if value})
    return archive_url(archive.name) + (f"?{query}" if query else "")


@router.post("/a/{archive}/opened", status_code=204)
async def post_opened(archive: VisitedArchive, form: SubmittedForm) -> None:
    """Count a view of the page in which somebody opened a similar question."""
    await record_use(archive, "opened")


async def _find_similar(
    archive: ServedArchive, request: Request, title: str, body: str, **options: bool
) -> dict[str, Any]:
    query = validate_form(SimilarRequest, {"title": title, "body": body, "k": MAX_ITEMS, **options})
    if not f"{title}{body}".strip():
        latest = await archive.run_on_store(lambda store: latest_questions(store, N_LATEST))
        return {"title": "", "body": "", "items": [], "corrected": [], "latest": latest, "may_post": False}
    _, hits = await search_similar(archive, query)
    add_log_fields(request, archive=archive.name, found=len(hits))
    answers, keep_days = await archive.run_on_store(
        lambda store: (store.view().get_answers_to(hit.question.id for hit in hits), get_keep_days(store))
    )
    items = [_to_item(hit, answers[hit.question.id], hit is hits[0]) for hit in hits]
    context = {
        "items": items,
        "corrected": corrected_words(hits),
        "latest": [],
        "may_post": archive.settings.take_questions and keep_days > 0,
    }
    return {"title": title, "body": body} | context


def _to_item(hit: SearchHit, answers: Sequence[Answer], is_first: bool) -> SimilarItem:
    words = matched_words(hit.explanation)
    text = readable_text(answers[0].body, answers[0].markup) if answers else ""
    is_cut = is_first and SHORT_ANSWER_LENGTH < len(text) <= MAX_FULL_ANSWER_LENGTH
    excerpt = extract_snippet(text, (), EXCERPT_LENGTH)
    return SimilarItem(hit, words, hit.snippet, excerpt, answers[0] if is_cut else None)


def _parse_feedback(form: Form, button: str) -> FeedbackRequest:
    chosen = {} if button in ("none_of_these", "post") else {"chosen_id": form.value(button)}
    texts = {"title": form.value("title"), "body": form.value("body")}
    values = texts | {"shown_ids": form.values("shown"), "opened": bool(form.value("opened"))}
    return validate_form(FeedbackRequest, values | {"verdict": BUTTON_VERDICTS.get(button, button)} | chosen)
