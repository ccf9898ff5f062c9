"""Correcting a question or one of its answers on the question's page, by users who may write."""

import hashlib
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.core.types import Answer, Question
from askalike.service.pages.auth import WriterArchive
from askalike.service.pages.forms import Form, SubmittedForm, validate_form
from askalike.service.pages.rendering import archive_url
from askalike.service.requests.actions import load_question
from askalike.service.requests.context import caller_id
from askalike.service.requests.records import ShortText, Text
from askalike.store import Archive
from askalike.store.editing import ChangedRecordError, replace_record

router = APIRouter()
TAG_SEPARATOR = ", "
OUT_OF_DATE = (
    "somebody else has changed this in the meantime, and nothing was saved; "
    "go back, copy your text, reload the page and correct it again"
)


class Correction(BaseModel):
    """The fields that were changed: those of a question, or the body of an answer."""

    title: Annotated[ShortText, Field(min_length=1)] = ""
    body: Text = ""
    tags: Annotated[tuple[ShortText, ...], Field(max_length=50)] = ()
    rephrasings: Annotated[tuple[ShortText, ...], Field(max_length=100)] = ()


@router.post("/a/{archive}/questions/{id:path}")
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
    details = load_question(archive, id)
    records: dict[str, Question | Answer] = {"": details.question} | {answer.id: answer for answer in details.answers}
    record = records.get(form.value("answer"))
    if record is None or form.value("version") != text_version(record):
        raise HTTPException(409, OUT_OF_DATE)
    changes = _answer_changes(form, record) if isinstance(record, Answer) else _question_changes(form, record)
    correction = validate_form(Correction, changes)
    if not changes:
        return
    try:
        replace_record(archive, record, replace(record, **correction.model_dump(include=set(changes))), editor)
    except ChangedRecordError:
        raise HTTPException(409, OUT_OF_DATE) from None


def _question_changes(form: Form, question: Question) -> dict[str, Any]:
    tags = tuple(filter(None, (tag.strip() for tag in form.value("tags").split(TAG_SEPARATOR.strip()))))
    lines = tuple(filter(None, (line.strip() for line in form.value("rephrasings").splitlines())))
    changes = _text_changes(form, title=question.title, body=question.body)
    if form.value("tags").strip() != TAG_SEPARATOR.join(question.tags):
        changes["tags"] = tags
    if lines != tuple(line.strip() for line in question.rephrasings):
        changes["rephrasings"] = lines
    return changes


def _answer_changes(form: Form, answer: Answer) -> dict[str, Any]:
    return _text_changes(form, body=answer.body)


def _text_changes(form: Form, **stored: str) -> dict[str, Any]:
    """Return the texts that differ from the stored ones; browsers change line ends, and may drop a first empty line."""
    typed = {name: form.value(name).replace("\r\n", "\n").strip() for name in stored}
    return {name: text for name, text in typed.items() if text != stored[name].replace("\r\n", "\n").strip()}
