"""`duplicates` and `gaps`, for moderators: likely duplicates to decide on, and what is asked without an answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Literal, cast

from fastapi import APIRouter, HTTPException, Path, Query, Request
from pydantic import BaseModel, Field

from askalike.archive import proposals
from askalike.archive.editing import MissingError
from askalike.archive.proposals import DecidedError, Decision, Proposal, State
from askalike.archive.store import Archive
from askalike.curation.gaps import NoGapError, gaps, ignore, named, restore
from askalike.service.places import Moderated, caller
from askalike.service.schema import Most, Shape
from askalike.service.similar import confidence

router = APIRouter(tags=["curation"])
ProposalId = Annotated[int, Path(ge=0, le=2**53, description="the proposal's id")]
GapId = Annotated[str, Path(max_length=100, description="the gap's id")]
Least = Annotated[float, Field(ge=0, le=1, description="what found nothing as probable counts, too")]


class Page(Shape):
    """Which proposals are wanted, and how many; `after` is the `next` of the page before."""

    state: State = "open"
    limit: Most = 50
    after: Annotated[int, Field(ge=0, le=2**53)] | None = None


class AsGap(Shape):
    """What counts as a gap."""

    min_probability: Least = 0.0


class GapsWanted(AsGap):
    """Which gaps are wanted, and how many."""

    limit: Most = 50
    ignored: bool = False


class Duplicate(BaseModel):
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
    state: State
    decided_at: str | None
    by: str | None = Field(description="the id of the key that it was decided with")


class Duplicates(BaseModel):
    """A page of proposals; `next` is what `after` is for the next one, null after the last. `counts`: by state."""

    duplicates: list[Duplicate]
    next: int | None
    counts: dict[State, int]


class Decided(Shape):
    """What somebody decides: `undo` takes the decision before back, and the link that it added."""

    decision: Decision | Literal["undo"]


class Phrasing(BaseModel):
    """A question as people put it, and how often."""

    title: str
    times: int


class GapFound(BaseModel):
    """Questions asked in vain that are one: the most frequent phrasing, others, how often and when last, and why.

    `why`: how often `nothing` was found, `none_of_these` helped, or it was `posted_anyway`.
    """

    id: str
    title: str
    times: int
    last_asked_at: str
    why: dict[str, int]
    examples: list[Phrasing]
    ignored: bool


class Gaps(BaseModel):
    """What is asked without an answer, most often first; `total` of them."""

    gaps: list[GapFound]
    total: int


@router.get("/duplicates")
async def get_duplicates(desk: Moderated, wanted: Annotated[Page, Query()]) -> Duplicates:
    """Likely duplicates: open ones the most certain first, decided ones the latest first."""
    with _told():
        return await desk.store(lambda archive: _page(archive, wanted))


@router.post("/duplicates/{id}/decision")
async def post_decision(desk: Moderated, request: Request, id: ProposalId, decided: Decided) -> Duplicate:
    """Accepts (which adds the duplicate link), rejects or skips a likely duplicate, or takes that back.

    409 where it is decided already, or there is nothing to take back.
    """
    by = caller(request)
    with _told():
        return await desk.store(lambda archive: _decide(archive, id, decided.decision, by))


@router.get("/gaps")
async def get_gaps(desk: Moderated, wanted: Annotated[GapsWanted, Query()]) -> Gaps:
    """The questions that were asked and found nothing, or nothing that helped; or those of them that are ignored."""
    least, ignored = wanted.min_probability, wanted.ignored
    found = await desk.store(lambda archive: gaps(archive, min_probability=least, ignored=ignored))
    return Gaps(gaps=[GapFound.model_validate(asdict(gap)) for gap in found[: wanted.limit]], total=len(found))


@router.post("/gaps/{id}/ignore", status_code=204)
async def ignore_gap(desk: Moderated, request: Request, id: GapId, of: Annotated[AsGap, Query()]) -> None:
    """Leaves a gap out from now on, in whatever words it is asked."""
    by, least = caller(request), of.min_probability
    with _told():
        await desk.store(lambda archive: ignore(archive, named(archive, id, min_probability=least), by))


@router.post("/gaps/{id}/restore", status_code=204)
async def restore_gap(desk: Moderated, id: GapId, of: Annotated[AsGap, Query()]) -> None:
    """Shows a gap again that was ignored."""
    least = of.min_probability
    with _told():
        await desk.store(lambda archive: restore(archive, named(archive, id, min_probability=least)))


@contextmanager
def _told() -> Iterator[None]:
    """404 for what is not there, 409 for what is decided already."""
    try:
        yield
    except (MissingError, NoGapError) as error:
        raise HTTPException(404, str(error)) from None
    except DecidedError as error:
        raise HTTPException(409, str(error)) from None


def _page(archive: Archive, wanted: Page) -> Duplicates:
    found = proposals.listed(archive, wanted.state, wanted.limit, wanted.after)
    last = found[-1].id if len(found) == wanted.limit else None
    return Duplicates(duplicates=_duplicates(archive, found), next=last, counts=proposals.counts(archive))


def _decide(archive: Archive, id: int, decision: str, by: str) -> Duplicate:
    if decision == "undo":
        decided = proposals.undo(archive, id)
    else:
        decided = proposals.decide(archive, id, cast(Decision, decision), by)
    return _duplicates(archive, [decided])[0]


def _duplicates(archive: Archive, found: Sequence[Proposal]) -> list[Duplicate]:
    texts = archive.view().get({id for proposal in found for id in (proposal.question, proposal.other)})
    titles = {id: question.title for id, question in texts.items()}
    return [
        Duplicate(
            **asdict(proposal),
            question_title=titles.get(proposal.question),
            other_title=titles.get(proposal.other),
            confidence=confidence(proposal.probability),
        )
        for proposal in found
    ]
