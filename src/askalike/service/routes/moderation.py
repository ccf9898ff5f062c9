"""`duplicates` and `gaps`, for moderators: likely duplicates to decide on, and questions without an answer."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from askalike.moderation import gaps
from askalike.service.actions import DecisionOrUndo, apply_decision
from askalike.service.authorization import GuardedRoute, ModeratedArchive
from askalike.service.request_state import caller_id
from askalike.service.schema import RecordNumber, RequestModel, ResultCount, format_confidence
from askalike.service.served_archive import ServedArchive
from askalike.store import Archive, PairProposal, ProposalState
from askalike.store.candidate_pairs import count_by_state, count_unscanned, list_proposals

router = APIRouter(route_class=GuardedRoute, tags=["curation"])
ProposalId = Annotated[RecordNumber, Path(description="the proposal's id")]
GapId = Annotated[str, Path(max_length=100, description="the gap's id")]


class DuplicatesQuery(RequestModel):
    """The requested proposals and their number; `after` is the `next` of the previous page."""

    state: ProposalState = "open"
    limit: ResultCount = 50
    after: Annotated[int, Field(ge=0, le=2**53)] | None = None


class GapCriteria(RequestModel):
    """The definition of a gap."""

    min_probability: float = Field(
        0.0, ge=0, le=1, description="also count queries whose best hit is less probable than this"
    )


class GapsQuery(GapCriteria):
    """The requested gaps and their number."""

    limit: ResultCount = 50
    ignored: bool = False


class DuplicateResponse(BaseModel):
    """A pair of questions: a likely or accepted duplicate, and its original."""

    id: int
    duplicate_id: str
    duplicate_title: str | None
    original_id: str
    original_title: str | None
    probability: float
    confidence: str = Field(description='for people: "87%"')
    score: float
    ranker: str
    created_at: str
    state: ProposalState
    decided_at: str | None
    decided_by: str | None = Field(description="the id of the deciding key")


class ScanResponse(BaseModel):
    """Progress of the scan for duplicates: `remaining` questions have not been scanned."""

    state: Literal["running", "done"]
    remaining: int


class DuplicatesResponse(BaseModel):
    """A page of proposals; `next` is the value of `after` for the next page, null on the last one. `counts`: by state.

    `scan`: progress of the search for more; null before it begins.
    """

    duplicates: list[DuplicateResponse]
    next: int | None
    counts: dict[ProposalState, int]
    scan: ScanResponse | None


class DecisionRequest(RequestModel):
    """A decision: `undo` revokes the previous decision and removes the link that it added."""

    decision: DecisionOrUndo


class PhrasingResult(BaseModel):
    """A phrasing of a question, and how often it was used."""

    title: str
    count: int


class GapResponse(BaseModel):
    """A question without a good hit: its most frequent phrasing, other phrasings, how often and when last, and why.

    `reasons`: how often `nothing` was found, `none_of_these` helped, or it was `posted_anyway`.
    """

    id: str
    title: str
    count: int
    last_asked_at: str
    reasons: dict[str, int]
    examples: list[PhrasingResult]
    ignored: bool


class GapsResponse(BaseModel):
    """Unanswered queries, the most frequent first; `total` of them."""

    gaps: list[GapResponse]
    total: int


@router.get("/duplicates", summary="List likely duplicates")
async def get_duplicates(archive: ModeratedArchive, query: Annotated[DuplicatesQuery, Query()]) -> DuplicatesResponse:
    """Return likely duplicates: open ones the most certain first, decided ones the latest first."""

    def list_page(archive: Archive) -> DuplicatesResponse:
        proposals = list_proposals(archive, query.state, query.limit, query.after)
        next = proposals[-1].id if len(proposals) == query.limit else None
        counts = count_by_state(archive)
        left = count_unscanned(archive)
        scan = None if left is None else ScanResponse(state="running" if left else "done", remaining=left)
        return DuplicatesResponse(duplicates=_to_responses(archive, proposals), next=next, counts=counts, scan=scan)

    return await archive.run_on_store(list_page)


@router.post("/duplicates/{id}/decision", summary="Decide on a likely duplicate")
async def post_decision(
    archive: ModeratedArchive, request: Request, id: ProposalId, decision_request: DecisionRequest
) -> DuplicateResponse:
    """Accept (which adds the duplicate link), reject or skip a likely duplicate, or revoke that.

    409 if it is already decided, or there is nothing to revoke.
    """
    moderator = caller_id(request)

    def decide(archive: Archive) -> DuplicateResponse:
        return _to_responses(archive, [apply_decision(archive, id, decision_request.decision, moderator)])[0]

    return await archive.run_on_store(decide)


@router.get("/gaps", summary="List the gaps")
async def get_gaps(archive: ModeratedArchive, query: Annotated[GapsQuery, Query()]) -> GapsResponse:
    """Return the questions that were asked and found nothing, or nothing that helped; or those that are ignored."""
    find = partial(gaps.find_gaps, min_probability=query.min_probability, ignored=query.ignored, ranker=archive.ranker)
    all_gaps = await archive.run_on_store(find)
    shown = [GapResponse.model_validate(asdict(gap)) for gap in all_gaps[: query.limit]]
    return GapsResponse(gaps=shown, total=len(all_gaps))


@router.post("/gaps/{id}/ignore", summary="Ignore a gap", status_code=204)
async def ignore_gap(
    archive: ModeratedArchive, request: Request, id: GapId, criteria: Annotated[GapCriteria, Query()]
) -> None:
    """Ignore a gap from now on, in all its phrasings."""
    moderator = caller_id(request)
    get_gap = _gap_getter(archive, id, criteria)
    await archive.run_on_store(lambda store: gaps.ignore_gap(store, get_gap(store), moderator))


@router.post("/gaps/{id}/restore", summary="Show an ignored gap again", status_code=204)
async def restore_gap(archive: ModeratedArchive, id: GapId, criteria: Annotated[GapCriteria, Query()]) -> None:
    """Show an ignored gap again."""
    get_gap = _gap_getter(archive, id, criteria)
    await archive.run_on_store(lambda store: gaps.restore_gap(store, get_gap(store)))


def _gap_getter(archive: ServedArchive, id: str, criteria: GapCriteria) -> Callable[[Archive], gaps.Gap]:
    return partial(gaps.get_gap, id=id, min_probability=criteria.min_probability, ranker=archive.ranker)


def _to_responses(archive: Archive, proposals: Sequence[PairProposal]) -> list[DuplicateResponse]:
    questions = archive.view().get_questions({id for p in proposals for id in (p.duplicate_id, p.original_id)})
    titles = {id: question.title for id, question in questions.items()}
    return [
        DuplicateResponse(
            **asdict(proposal),
            duplicate_title=titles.get(proposal.duplicate_id),
            original_title=titles.get(proposal.original_id),
            confidence=format_confidence(proposal.probability),
        )
        for proposal in proposals
    ]
