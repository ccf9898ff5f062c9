"""Actions that the API and the pages share: search, load a question, store feedback, decide on a pair, commit."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from fastapi import HTTPException, Request, Response

from askalike.core.records import Answer, Link, Question
from askalike.moderation.pairs import learn_decisions
from askalike.search.archive_retriever import SearchResult
from askalike.service import telemetry
from askalike.service.authorization import enforce_storing_limit
from askalike.service.request_state import caller_id
from askalike.service.schema import MAX_TITLE_LENGTH, CommitResponse, FeedbackRequest, SimilarRequest
from askalike.service.served_archive import ServedArchive
from askalike.store import Archive, MissingRecordError, PairProposal
from askalike.store.candidate_pairs import ProposalDecision, decide_proposal, undo_decision
from askalike.store.editing import get_answers, get_links, put_records
from askalike.store.query_log import LoggedQuery, UseEvent, count_use, insert_feedback, log_query
from askalike.store.sources import source_names
from askalike.text.analyzer import Analyzer
from askalike.text.clean import collapse_spaces

MAX_ANSWERS, MAX_LINKS = 100, 1_000
MAX_STORED_IDS = 20
"""Number of the questions shown that are stored with feedback."""
DecisionOrUndo = Literal[ProposalDecision, "undo"]


@dataclass(frozen=True, slots=True)
class QuestionDetails:
    """A question with its answers, the accepted one first, and its links in both directions.

    source: the name of the source that it was imported from; None if it was written in the archive itself.
    """

    question: Question
    answers: Sequence[Answer]
    links: Sequence[Link]
    source: str | None


def load_question(archive: Archive, id: str, max_links: int = MAX_LINKS) -> QuestionDetails:
    """Return a question with its first answers and links. Raises MissingRecordError."""
    view = archive.view()
    if (question := view.get_questions([id]).get(id)) is None:
        raise MissingRecordError(f"no question {id!r}")
    answers = get_answers(archive, id, MAX_ANSWERS)
    source = source_names(view, [id]).get(id)
    return QuestionDetails(question, answers, get_links(archive, id, limit=max_links), source)


async def search_similar(archive: ServedArchive, query: SimilarRequest) -> tuple[str, SearchResult]:
    """Return the ranker's name and its hits; the search is counted and timed."""
    if (request := query.to_search_request()) is None:
        return archive.model, SearchResult((), 0.0)
    start = time.perf_counter()
    model, hits = await archive.search(request)
    telemetry.SEARCH_SECONDS(archive.name).observe(time.perf_counter() - start)
    if not hits:
        telemetry.ABSTENTIONS(archive.name).inc()
        if not Analyzer().analyze(f"{query.title} {query.body}", None):
            telemetry.ZERO_TOKEN_QUERIES(archive.name).inc()
    elif hits[0].probability is not None:
        telemetry.TOP_PROBABILITY(archive.name).observe(hits[0].probability)
    if hits and query.count_shown:
        await record_use(archive, "shown")
    return model, hits


async def record_use(archive: ServedArchive, *events: UseEvent) -> None:
    """Count how similar questions are used, per day and for Prometheus."""
    await archive.note(lambda store: count_use(store, events))
    for event in events:
        telemetry.USE(archive.name, event).inc()


async def store_posted(archive: ServedArchive, request: Request, work: Callable[[Archive], object]) -> None:
    """Store what somebody sends. Raises HTTPException (429) if they send too much, StoreFullError if all have."""
    enforce_storing_limit(request)

    def work_if_room(store: Archive) -> None:
        archive.stored_limit.require_room(store)
        work(store)

    await archive.write(work_if_room)


async def record_query(archive: ServedArchive, query: LoggedQuery) -> None:
    """Log a complete query if there is room for it."""

    def log_if_room(store: Archive) -> None:
        if archive.stored_limit.has_room(store):
            log_query(store, query)

    await archive.note(log_if_room)


async def record_feedback(archive: ServedArchive, request: Request, feedback: FeedbackRequest) -> None:
    """Store a piece of feedback, as `store_posted`.

    Raises HTTPException (422) if its verdict and the chosen question do not fit.
    """
    if (feedback.verdict in ("accept", "reject")) != (feedback.chosen_id is not None):
        raise HTTPException(422, "body.chosen_id: accept and reject need a question's id; other verdicts have none")
    if feedback.chosen_id is not None and feedback.chosen_id not in feedback.shown_ids:
        raise HTTPException(422, f"body.chosen_id: {feedback.chosen_id!r} is not among those shown")
    title, body = feedback.read() or (collapse_spaces(feedback.body)[:MAX_TITLE_LENGTH], feedback.body)
    chosen = () if feedback.chosen_id is None else (feedback.chosen_id,)
    shown_ids = list(dict.fromkeys((*feedback.shown_ids[: MAX_STORED_IDS - 1], *chosen)))
    query = LoggedQuery(title, body, shown_ids, archive.model)
    verdict, chosen_id = feedback.verdict, feedback.chosen_id
    await store_posted(archive, request, lambda store: insert_feedback(store, query, verdict, chosen_id))
    telemetry.FEEDBACK(archive.name, feedback.verdict).inc()
    if events := _use_events(feedback):
        await record_use(archive, *events)


def apply_decision(archive: Archive, id: int, decision: DecisionOrUndo, decided_by: str) -> PairProposal:
    """Decide on a proposal or revoke its decision; the others' probabilities follow it.

    Raises AlreadyDecidedError, MissingRecordError.
    """
    proposal = undo_decision(archive, id) if decision == "undo" else decide_proposal(archive, id, decision, decided_by)
    learn_decisions(archive, proposal.ranker)
    return proposal


def _use_events(feedback: FeedbackRequest) -> list[UseEvent]:
    if feedback.verdict == "accept":
        return ["accepted"] if feedback.opened else ["accepted", "opened"]
    if feedback.verdict == "posted_anyway":
        return ["posted", "posted_after_opening"] if feedback.opened else ["posted"]
    return []


StoredRecord = Question | Answer | Link


async def commit(
    archive: ServedArchive, request: Request, records: Sequence[StoredRecord], response: Response
) -> CommitResponse:
    """Add or replace records and set the status, 201 if one is new; 409 if the question of one is missing."""
    editor = caller_id(request)
    try:
        edit = await archive.write(lambda store: put_records(store, records, editor))
    except MissingRecordError as error:
        raise HTTPException(409, str(error)) from None
    response.status_code = 201 if edit.created else 200
    return CommitResponse(**asdict(edit))
