"""`duplicates` and `gaps`, for moderators: likely duplicates to decide on, and what is asked without an answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Literal, cast

from fastapi import APIRouter, HTTPException, Path, Query, Request
from pydantic import BaseModel, Field

from askalike.moderation import gaps as stored_gaps
from askalike.moderation.gaps import GapNotFoundError, find_gaps, get_gap
from askalike.service.requests.auth import ModeratedArchive, get_caller_id
from askalike.service.requests.schema import RequestModel, ResultCount
from askalike.service.routes.similar import format_confidence
from askalike.store import candidate_pairs as proposals
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import AlreadyDecidedError, PairProposal, ProposalDecision, ProposalState
from askalike.store.editing import MissingRecordError

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
    """`question` may be a duplicate of `other`, or was said to be: what is known of the pair."""

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

    decision: ProposalDecision | Literal["undo"]


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
    """Likely duplicates: open ones the most certain first, decided ones the latest first."""
    with _translate_errors():
        return await served_archive.run_on_archive(lambda archive: _list_proposals(archive, query))


@router.post("/duplicates/{id}/decision")
async def post_decision(
    served_archive: ModeratedArchive, request: Request, id: ProposalId, decision_request: DecisionRequest
) -> DuplicateResponse:
    """Accepts (which adds the duplicate link), rejects or skips a likely duplicate, or takes that back.

    409 where it is decided already, or there is nothing to take back.
    """
    by = get_caller_id(request)
    with _translate_errors():
        return await served_archive.run_on_archive(lambda archive: _decide(archive, id, decision_request.decision, by))


@router.get("/gaps")
async def get_gaps(served_archive: ModeratedArchive, query: Annotated[GapsQuery, Query()]) -> GapsResponse:
    """The questions that were asked and found nothing, or nothing that helped; or those of them that are ignored."""
    least, ignored = query.min_probability, query.ignored
    found = await served_archive.run_on_archive(
        lambda archive: find_gaps(archive, min_probability=least, ignored=ignored)
    )
    return GapsResponse(
        gaps=[GapResponse.model_validate(asdict(gap)) for gap in found[: query.limit]], total=len(found)
    )


@router.post("/gaps/{id}/ignore", status_code=204)
async def ignore_gap(
    served_archive: ModeratedArchive, request: Request, id: GapId, criteria: Annotated[GapCriteria, Query()]
) -> None:
    """Leaves a gap out from now on, in whatever words it is asked."""
    by, least = get_caller_id(request), criteria.min_probability
    with _translate_errors():
        await served_archive.run_on_archive(
            lambda archive: stored_gaps.ignore_gap(archive, get_gap(archive, id, min_probability=least), by)
        )


@router.post("/gaps/{id}/restore", status_code=204)
async def restore_gap(served_archive: ModeratedArchive, id: GapId, criteria: Annotated[GapCriteria, Query()]) -> None:
    """Shows a gap again that was ignored."""
    least = criteria.min_probability
    with _translate_errors():
        await served_archive.run_on_archive(
            lambda archive: stored_gaps.restore_gap(archive, get_gap(archive, id, min_probability=least))
        )


@contextmanager
def _translate_errors() -> Iterator[None]:
    """404 for what is not there, 409 for what is decided already."""
    try:
        yield
    except (MissingRecordError, GapNotFoundError) as error:
        raise HTTPException(404, str(error)) from None
    except AlreadyDecidedError as error:
        raise HTTPException(409, str(error)) from None


def _list_proposals(archive: Archive, query: DuplicatesQuery) -> DuplicatesResponse:
    found = proposals.list_proposals(archive, query.state, query.limit, query.after)
    last = found[-1].id if len(found) == query.limit else None
    return DuplicatesResponse(
        duplicates=_to_duplicate_responses(archive, found), next=last, counts=proposals.count_by_state(archive)
    )


def _decide(archive: Archive, id: int, decision: str, by: str) -> DuplicateResponse:
    if decision == "undo":
        decided = proposals.undo_decision(archive, id)
    else:
        decided = proposals.decide_proposal(archive, id, cast(ProposalDecision, decision), by)
    return _to_duplicate_responses(archive, [decided])[0]


def _to_duplicate_responses(archive: Archive, pairs: Sequence[PairProposal]) -> list[DuplicateResponse]:
    texts = archive.view().get_questions({id for proposal in pairs for id in (proposal.question, proposal.other)})
    titles = {id: question.title for id, question in texts.items()}
    return [
        DuplicateResponse(
            **asdict(proposal),
            question_title=titles.get(proposal.question),
            other_title=titles.get(proposal.other),
            confidence=format_confidence(proposal.probability),
        )
        for proposal in pairs
    ]
