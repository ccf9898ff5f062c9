"""`duplicates` and `gaps`, for moderators: likely duplicates to decide on, and what is asked without an answer."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from askalike.moderation import gaps as archive_gaps
from askalike.service.requests.actions import DecisionOrUndo, apply_decision
from askalike.service.requests.auth import ModeratedArchive
from askalike.service.requests.context import caller_id
from askalike.service.requests.schema import RequestModel, ResultCount, format_confidence
from askalike.store import Archive, PairProposal, ProposalState
from askalike.store.candidate_pairs import count_by_state, list_proposals

router = APIRouter(tags=["curation"])
ProposalId = Annotated[int, Path(ge=0, le=2**53, description="the proposal's id")]
GapId = Annotated[str, Path(max_length=100, description="the gap's id")]
GapMinProbability = Annotated[float, Field(ge=0, le=1, description="what found nothing as probable counts, too")]


class DuplicatesQuery(RequestModel):
    """Which proposals are wanted, and how many; `after` is the `next` of the page before."""

    state: ProposalState = "open"
    limit: ResultCount = 50
    after: Annotated[int, Field(ge=0, le=2**53)] | None = None


class GapCriteria(RequestModel):
    """What counts as a gap."""

    min_probability: GapMinProbability = 0.0


class GapsQuery(GapCriteria):
    """Which gaps are wanted, and how many."""

    limit: ResultCount = 50
    ignored: bool = False


class DuplicateResponse(BaseModel):
    """A pair: `question` may be a duplicate of `other`, or was decided to be."""

    id: int
    question: str
    question_title: str | None
    other: str
    other_title: str | None
    probability: float | None
    confidence: str = Field(description='for people: "87 %", or "uncalibrated"')
    score: float
    model: str
    found_at: str
    state: ProposalState
    decided_at: str | None
    by: str | None = Field(description="the id of the key that it was decided with")


class DuplicatesResponse(BaseModel):
    """A page of proposals; `next` is what `after` is for the next one, null after the last. `counts`: by state."""

    duplicates: list[DuplicateResponse]
    next: int | None
    counts: dict[ProposalState, int]


class DecisionRequest(RequestModel):
    """What somebody decides: `undo` takes the decision before back, and the link that it added."""

    decision: DecisionOrUndo


class PhrasingResult(BaseModel):
    """A question as people put it, and how often."""

    title: str
    times: int


class GapResponse(BaseModel):
    """Questions asked in vain that are one: the most frequent phrasing, others, how often and when last, and why.

    `why`: how often `nothing` was found, `none_of_these` helped, or it was `posted_anyway`.
    """

    id: str
    title: str
    times: int
    last_asked_at: str
    why: dict[str, int]
    examples: list[PhrasingResult]
    ignored: bool


class GapsResponse(BaseModel):
    """What is asked without an answer, most often first; `total` of them."""

    gaps: list[GapResponse]
    total: int


@router.get("/duplicates")
async def get_duplicates(
    served_archive: ModeratedArchive, query: Annotated[DuplicatesQuery, Query()]
) -> DuplicatesResponse:
    """Return likely duplicates: open ones the most certain first, decided ones the latest first."""
    return await served_archive.run_on_archive(lambda archive: _list_duplicates(archive, query))


@router.post("/duplicates/{id}/decision")
async def post_decision(
    served_archive: ModeratedArchive, request: Request, id: ProposalId, decision_request: DecisionRequest
) -> DuplicateResponse:
    """Accept (which adds the duplicate link), reject or skip a likely duplicate, or take that back.

    409 where it is decided already, or there is nothing to take back.
    """
    decided_by = caller_id(request)
    return await served_archive.run_on_archive(
        lambda archive: _decide(archive, id, decision_request.decision, decided_by)
    )


@router.get("/gaps")
async def get_gaps(served_archive: ModeratedArchive, query: Annotated[GapsQuery, Query()]) -> GapsResponse:
    """Return the questions that were asked and found nothing, or nothing that helped; or the ignored ones of them."""
    gaps = await served_archive.run_on_archive(
        lambda archive: archive_gaps.find_gaps(archive, min_probability=query.min_probability, ignored=query.ignored)
    )
    return GapsResponse(gaps=[GapResponse.model_validate(asdict(gap)) for gap in gaps[: query.limit]], total=len(gaps))


@router.post("/gaps/{id}/ignore", status_code=204)
async def ignore_gap(
    served_archive: ModeratedArchive, request: Request, id: GapId, criteria: Annotated[GapCriteria, Query()]
) -> None:
    """Leave a gap out from now on, in whatever words it is asked."""
    ignored_by = caller_id(request)
    await served_archive.run_on_archive(
        lambda archive: archive_gaps.ignore_gap(archive, _get_gap(archive, id, criteria), ignored_by)
    )


@router.post("/gaps/{id}/restore", status_code=204)
async def restore_gap(served_archive: ModeratedArchive, id: GapId, criteria: Annotated[GapCriteria, Query()]) -> None:
    """Show a gap again that was ignored."""
    await served_archive.run_on_archive(
        lambda archive: archive_gaps.restore_gap(archive, _get_gap(archive, id, criteria))
    )


def _get_gap(archive: Archive, id: str, criteria: GapCriteria) -> archive_gaps.Gap:
    return archive_gaps.get_gap(archive, id, min_probability=criteria.min_probability)


def _list_duplicates(archive: Archive, query: DuplicatesQuery) -> DuplicatesResponse:
    proposals = list_proposals(archive, query.state, query.limit, query.after)
    return DuplicatesResponse(
        duplicates=_to_responses(archive, proposals),
        next=proposals[-1].id if len(proposals) == query.limit else None,
        counts=count_by_state(archive),
    )


def _decide(archive: Archive, id: int, decision: DecisionOrUndo, decided_by: str) -> DuplicateResponse:
    return _to_responses(archive, [apply_decision(archive, id, decision, decided_by)])[0]


def _to_responses(archive: Archive, proposals: Sequence[PairProposal]) -> list[DuplicateResponse]:
    questions = archive.view().get_questions({id for p in proposals for id in (p.question, p.other)})
    titles = {id: question.title for id, question in questions.items()}
    return [
        DuplicateResponse(
            **asdict(proposal),
            question_title=titles.get(proposal.question),
            other_title=titles.get(proposal.other),
            confidence=format_confidence(proposal.probability),
        )
        for proposal in proposals
    ]
