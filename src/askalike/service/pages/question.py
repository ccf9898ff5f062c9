"""*Question*: a question with its answers, its duplicates, why they are thought to be ones, and its revisions.

Users who may write correct the question and its answers here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.core.hits import Explanation, SearchHit
from askalike.core.records import Answer, Link, Question
from askalike.core.values import safe_url
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.service.actions import MAX_ANSWERS, QuestionDetails, load_question
from askalike.service.pages.auth import VisitedArchive, WriterArchive
from askalike.service.pages.display import ExplanationSummary, summarise_explanation
from askalike.service.pages.forms import Form, SubmittedForm, normalise_text, validate_form
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.request_state import caller_id, request_state
from askalike.service.schema import QuestionTitle, ShortText, Text
from askalike.service.served_archive import ServedArchive
from askalike.store import Archive
from askalike.store.changes import Revision, get_revisions
from askalike.store.editing import ChangedRecordError, get_answer, get_links, replace_record
from askalike.text.clean import plain_text

router = APIRouter()
Relations = dict[str, str]
"""Id of a linked question → its relation to the one that is shown."""
MAX_SIMILAR, MAX_REVISIONS, MAX_SHOWN_LINKS, MAX_TREE = 5, 20, 100, 100
MIN_PROBABILITY = 0.1
"""Minimum probability of asking the same at which a question is listed next to another."""
MAX_QUERY_BODY_LENGTH = 1_000
MAX_OPEN_LENGTH = 1_200
"""Number of characters of a body above which it is folded on a narrow screen, so that the answers are near."""
TAG_SEPARATOR = ", "
OUT_OF_DATE = (
    "somebody else has changed this in the meantime, and nothing was saved; "
    "go back, copy your text, reload the page and correct it again"
)


@dataclass(frozen=True, slots=True)
class RelatedQuestion:
    """A question that is listed next to the one shown."""

    question: Question
    relation: str
    why: ExplanationSummary
    probability: float | None = None
    """The probability that both ask the same; None for a linked or only related question, or without a calibration."""
    similarity: float | None = None
    """Without a calibration: the similarity, on the same scale for every question."""


@router.get("/a/{archive}/questions/{id:id}")
async def get_question(archive: VisitedArchive, request: Request, id: str, saved: bool = False) -> Response:
    """Show a question."""
    details = await archive.run_on_store(lambda store: load_question(store, id, MAX_SHOWN_LINKS))
    relations = _relations(details)
    question = details.question
    others = await archive.run_on_store(lambda store: store.view().get_questions(relations))
    related = {id: relation for id, relation in relations.items() if relation == "related"}
    linked = await archive.run_on_retriever(lambda retriever: _explain_links(retriever, question, related, others))
    return render_page(
        request,
        "question.html",
        question=question,
        answers=details.answers,
        n_answers=f"{len(details.answers)}{'+' * (len(details.answers) == MAX_ANSWERS)}",
        duplicates=await archive.run_on_store(lambda store: load_tree(store, id)),
        related=linked,
        similar=await archive.run_on_retriever(lambda retriever: _find_similar(retriever, question, relations)),
        url=safe_url(question.url),
        source=details.source,
        saved=saved,
        revisions=await _find_revisions(archive, request, id),
        version=text_version,
        long=MAX_OPEN_LENGTH,
        tag_separator=TAG_SEPARATOR,
    )


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A question with the questions that were closed as its duplicates, and theirs."""

    question: Question
    duplicates: "Sequence[TreeNode]"


def load_tree(archive: Archive, id: str) -> TreeNode | None:
    """Return the original of a question with all its duplicates, at most MAX_TREE; None if it has none."""
    top = id
    seen = {id}
    while target := next((link.target for link in _duplicate_links(archive, top) if link.source == top), None):
        if target in seen or len(seen) > MAX_TREE:  # a circle, or a chain without an end
            break
        top = target
        seen.add(top)
    children = dict[str, list[str]]()
    reached = {top}
    waiting = [top]
    while waiting and len(reached) <= MAX_TREE:
        parent = waiting.pop(0)
        sources = [link.source for link in _duplicate_links(archive, parent) if link.target == parent]
        children[parent] = [source for source in dict.fromkeys(sources) if source not in reached]
        reached.update(children[parent])
        waiting += children[parent]
    questions = archive.view().get_questions(reached)

    def to_node(id: str) -> TreeNode:
        return TreeNode(questions[id], [to_node(child) for child in children.get(id, ()) if child in questions])

    return to_node(top) if len(questions) > 1 and top in questions else None


def _duplicate_links(archive: Archive, id: str) -> Sequence[Link]:
    return get_links(archive, id, "duplicate", MAX_TREE)


async def _find_revisions(archive: ServedArchive, request: Request, id: str) -> Sequence[Revision]:
    """Return the latest revisions, only to callers who may correct: earlier texts may have been withdrawn."""
    caller = request_state(request).caller
    if not (caller and caller.may("write")):
        return ()
    return (await archive.run_on_store(lambda store: get_revisions(store, id)))[:MAX_REVISIONS]


def _relations(details: QuestionDetails) -> Relations:
    relations: Relations = {}
    for link in reversed(details.links):
        is_source = link.source == details.question.id
        relations[link.target if is_source else link.source] = link.kind
    return relations


def _explain_links(
    retriever: ArchiveRetriever, question: Question, relations: Relations, others: Mapping[str, Question]
) -> list[RelatedQuestion]:
    explanations = retriever.explain(question, list(relations))
    return [_relate(others[id], relation, explanations.get(id)) for id, relation in relations.items() if id in others]


def _find_similar(retriever: ArchiveRetriever, question: Question, relations: Relations) -> list[RelatedQuestion]:
    """Return the questions most similar to one, without those that it is linked to."""
    body = plain_text(question.body, question.markup)[:MAX_QUERY_BODY_LENGTH]
    hits = retriever.find_similar(replace(question, body=body, markup="text"), MAX_SIMILAR + len(relations))
    others = [hit for hit in hits if hit.question.id not in relations and not _is_improbable(hit)][:MAX_SIMILAR]
    return [
        replace(
            _relate(hit.question, "similar", hit.explanation),
            probability=hit.probability if hit.grade == "same" else None,
            similarity=hit.similarity,
        )
        for hit in others
    ]


def _is_improbable(hit: SearchHit) -> bool:
    """Return whether a hit is too improbable to be listed; applies if the calibration has no threshold."""
    return hit.probability is not None and hit.probability < MIN_PROBABILITY


def _relate(question: Question, relation: str, explanation: Explanation | None) -> RelatedQuestion:
    return RelatedQuestion(question, relation, summarise_explanation(explanation))


class Correction(BaseModel):
    """The fields that were changed: those of a question, or the body of an answer."""

    title: QuestionTitle = ""
    body: Text = ""
    tags: Annotated[tuple[ShortText, ...], Field(max_length=50)] = ()
    rephrasings: Annotated[tuple[ShortText, ...], Field(max_length=100)] = ()


@router.post("/a/{archive}/questions/{id:id}")
async def post_correction(archive: WriterArchive, request: Request, id: str, form: SubmittedForm) -> Response:
    """Correct a question, or the answer named in the form."""
    editor = caller_id(request)
    await archive.run_on_store(lambda store: _correct(store, id, form, editor))
    return RedirectResponse(f"{archive_url(archive.name)}/questions/{quote(id, safe='')}?saved=true", 303)


def text_version(record: Question | Answer) -> str:
    """Return a digest of the fields of a record that can be corrected, to detect forms that are out of date."""
    texts = record.body if isinstance(record, Answer) else (record.title, record.body, record.tags, record.rephrasings)
    return hashlib.blake2b(repr(texts).encode(errors="replace"), digest_size=12).hexdigest()


def _correct(archive: Archive, id: str, form: Form, editor: str) -> None:
    answer_id = form.value("answer")
    record = get_answer(archive, answer_id) if answer_id else load_question(archive, id).question
    is_elsewhere = isinstance(record, Answer) and record.question_id != id
    if record is None or is_elsewhere or form.value("version") != text_version(record):
        raise HTTPException(409, OUT_OF_DATE)
    changes = _text_changes(form, body=record.body) if isinstance(record, Answer) else _question_changes(form, record)
    correction = validate_form(Correction, changes)
    if not changes:
        return
    try:
        replace_record(archive, record, replace(record, **correction.model_dump(include=set(changes))), editor)
    except ChangedRecordError:
        raise HTTPException(409, OUT_OF_DATE) from None


def _question_changes(form: Form, question: Question) -> dict[str, Any]:
    tags = tuple(filter(None, (tag.strip() for tag in form.value("tags").split(TAG_SEPARATOR.strip()))))
    lines = tuple(form.lines("rephrasings"))
    changes = _text_changes(form, title=question.title, body=question.body)
    if form.value("tags").strip() != TAG_SEPARATOR.join(question.tags):
        changes["tags"] = tags
    if lines != tuple(line.strip() for line in question.rephrasings):
        changes["rephrasings"] = lines
    return changes


def _text_changes(form: Form, **stored: str) -> dict[str, Any]:
    """Return the texts that differ from the stored ones."""
    typed = {name: normalise_text(form.value(name)) for name in stored}
    return {name: text for name, text in typed.items() if text != normalise_text(stored[name])}
