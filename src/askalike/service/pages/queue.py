"""*Queue*: likely duplicates side by side, the most certain first, for a moderator to decide. *Why*: such a pair alone.

A pair shows what its questions have in common, and why they may ask the same."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel

from askalike.core.records import Answer, Question
from askalike.moderation.pairs import PairFinder, pair_key
from askalike.service.actions import DecisionOrUndo, apply_decision
from askalike.service.pages.auth import ModeratorArchive, VisitedArchive
from askalike.service.pages.display import Stretch, compare_texts, display_title, summarise_explanation
from askalike.service.pages.forms import SubmittedForm, csrf_token, get_visitor_secret, validate_form
from askalike.service.pages.languages import mark
from askalike.service.pages.rendering import archive_url, is_htmx, render_page
from askalike.service.request_state import app_state, caller_id
from askalike.service.schema import RecordNumber
from askalike.service.served_archive import ServedArchive
from askalike.store import AlreadyDecidedError, Archive, MissingRecordError, PairProposal, ProposalState
from askalike.store.candidate_pairs import (
    count_by_state,
    count_unscanned,
    latest_decision,
    list_proposals,
    pending_proposals,
)
from askalike.text.clean import TextBlock, readable_blocks, truncate
from askalike.text.language import function_words

router = APIRouter()
MAX_SHOWN_BODY_LENGTH = 900
AnswersById = Mapping[str, Sequence[Answer]]
QuestionId = Annotated[str, Query(max_length=300)]


@dataclass(frozen=True, slots=True)
class PairSide:
    """One question of a pair, with what it has in common with the other."""

    question: Question
    answers: Sequence[Answer]
    blocks: Sequence[tuple[TextBlock, int]]
    """The parts of its body, each with its place in the text that `stretches` refers to; the title's place is 0."""
    stretches: Sequence[Stretch]
    """Its words and sentences that the other question has too, and those that differ there."""


@router.get("/a/{archive}/why")
async def get_why(archive: VisitedArchive, request: Request, one: QuestionId, other: QuestionId) -> Response:
    """Show two questions, why they may ask the same, and their similarity as in `dedupe` and in the queue."""
    pair, answers = await archive.run_on_store(lambda store: _load_pair(store, one, other))
    compared = await compare_pair(archive, pair, answers, exact=True)
    values = await archive.run_on_retriever(
        lambda retriever: PairFinder(retriever.ranker, retriever.archive.view()).find(pair, only=(one, other))
    )
    return render_page(request, "why.html", **compared, similarity=values.get(pair_key(one, other)))


def _load_pair(archive: Archive, one: str, other: str) -> tuple[list[Question], AnswersById]:
    view = archive.view()
    found = view.get_questions([one, other])
    if missing := next((id for id in (one, other) if id not in found), None):
        raise MissingRecordError(f"no question {missing!r}")
    return [found[one], found[other]], view.get_answers_to([one, other])


async def compare_pair(
    archive: ServedArchive, pair: Sequence[Question], answers: AnswersById, *, exact: bool = False
) -> dict[str, Any]:
    """Return what a page shows of two questions: their sides, and why they may ask the same."""
    question, other = pair
    explanations = await archive.run_on_retriever(
        lambda retriever: retriever.explain(question, [other.id], exact=exact)
    )
    return {"sides": _build_sides(pair, answers), "why": summarise_explanation(explanations.get(other.id))}


def _build_sides(pair: Sequence[Question], answers: AnswersById) -> list[PairSide]:
    blocks = [_place_blocks(question) for question in pair]
    texts = [
        "\n".join([display_title(question), *(block.text for block, _ in placed)])
        for question, placed in zip(pair, blocks, strict=True)
    ]
    replies = [answers[question.id] for question in pair]
    words = function_words(pair[1].language)
    return list(map(PairSide, pair, replies, blocks, compare_texts(texts[0], texts[1], words)))


def _place_blocks(question: Question) -> list[tuple[TextBlock, int]]:
    """Return the first parts of a body, each with its place after the title and the parts before it."""
    placed = []
    at = len(display_title(question)) + 1
    room = MAX_SHOWN_BODY_LENGTH
    for block in readable_blocks(question.body, question.markup):
        if room <= 0:
            break
        shown = block._replace(text=truncate(block.text, room))
        placed.append((shown, at))
        at, room = at + len(shown.text) + 1, room - len(shown.text)
    return placed


MAX_HELD, MAX_DECISIONS, MAX_SEARCHED = 200, 50, 2_000
"""Maximum numbers of pairs that others may hold, of decisions that are shown, and of those that are searched."""


class DecisionForm(BaseModel):
    """A decision on a proposal; `undo` revokes the previous one."""

    id: RecordNumber
    decision: DecisionOrUndo


@dataclass(frozen=True, slots=True)
class QueueState:
    """The next proposal and the latest decision, each with its questions."""

    next: PairProposal | None
    is_held: bool
    """Whether pairs are waiting, but others are looking at all of them."""
    questions: Mapping[str, Question]
    answers: AnswersById
    counts: Mapping[ProposalState, int]
    latest: PairProposal | None
    """The proposal that the moderator decided last, which can be undone."""
    unscanned: int | None
    """The number of questions whose duplicates are still to be found; None before the search begins."""


@router.get("/a/{archive}/queue")
async def get_queue(archive: ModeratorArchive, request: Request) -> Response:
    """Show the pair to decide on."""
    return render_page(request, "queue.html", warning="", **await _queue_context(archive, request))


@router.post("/a/{archive}/queue")
async def post_queue(archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Store a decision, or revoke one, and show the next pair."""
    decided = validate_form(DecisionForm, {"id": form.value("id"), "decision": form.value("decision")})
    moderator = caller_id(request)
    warning = ""
    try:
        await archive.run_on_store(lambda store: apply_decision(store, decided.id, decided.decision, moderator))
    except (AlreadyDecidedError, MissingRecordError):
        warning = mark("Somebody else has already decided that pair.")
    if not is_htmx(request):
        place = "/queue/decisions" if form.value("back") else "/queue"
        return RedirectResponse(f"{archive_url(archive.name)}{place}", 303)
    return render_page(request, "parts/pair.html", warning=warning, **await _queue_context(archive, request))


@router.get("/a/{archive}/queue/decisions")
async def get_decisions(archive: ModeratorArchive, request: Request, text: str = "") -> Response:
    """Show the latest decisions, or those on questions whose titles contain a text; each can be undone."""
    decisions, titles = await archive.run_on_store(lambda store: _find_decisions(store, text))
    return render_page(request, "decisions.html", decisions=decisions, titles=titles, text=text)


def _find_decisions(archive: Archive, text: str) -> tuple[Sequence[PairProposal], Mapping[str, str]]:
    limit = MAX_SEARCHED if text.strip() else MAX_DECISIONS
    both = [*list_proposals(archive, "accepted", limit), *list_proposals(archive, "rejected", limit)]
    found = archive.view().get_questions({id for pair in both for id in (pair.duplicate_id, pair.original_id)})
    titles = {id: display_title(question) for id, question in found.items()}
    wanted = text.strip().casefold()
    shown = [
        pair
        for pair in sorted(both, key=lambda pair: pair.decided_at or "", reverse=True)
        if wanted in "\n".join(titles.get(id, id) for id in (pair.duplicate_id, pair.original_id)).casefold()
    ]
    return shown[:MAX_DECISIONS], titles


async def _queue_context(archive: ServedArchive, request: Request) -> dict[str, Any]:
    moderator = caller_id(request)
    holder = f"{caller_id(request)} {csrf_token(get_visitor_secret(request))}"
    if not (request.cookies or "sec-fetch-mode" in request.headers):
        holder = ""  # a program, which would hold another pair with every request
    leases = app_state(request).shared.leases

    def hold_first(pending: Sequence[PairProposal]) -> PairProposal | None:
        names = {f"{archive.name} {proposal.id}": proposal for proposal in pending}
        found = leases.hold_first(names, holder)
        return names[found] if found else None

    queue = await archive.run_on_store(lambda store: _load_queue(store, moderator, hold_first))
    if queue.next is None:
        return {"queue": queue, "sides": [], "why": summarise_explanation(None)}
    pair = [queue.questions[id] for id in (queue.next.duplicate_id, queue.next.original_id)]
    return {"queue": queue} | await compare_pair(archive, pair, queue.answers)


def _load_queue(
    archive: Archive, moderator: str, hold_first: Callable[[Sequence[PairProposal]], PairProposal | None]
) -> QueueState:
    pending = pending_proposals(archive, MAX_HELD)
    first = hold_first(pending)
    latest = latest_decision(archive, moderator)
    ids = [id for proposal in (first, latest) if proposal for id in (proposal.duplicate_id, proposal.original_id)]
    view = archive.view()
    questions = view.get_questions(ids)
    if first and not {first.duplicate_id, first.original_id} <= questions.keys():
        first = None  # deleted just now
    return QueueState(
        first,
        bool(pending) and first is None,
        questions,
        view.get_answers_to(ids),
        count_by_state(archive),
        latest,
        count_unscanned(archive),
    )
