"""askalike drafts: proposed FAQ entries, for a person to accept or reject."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Option

from askalike.cli._options import Directory, Json
from askalike.cli._output import to_json
from askalike.core.counts import format_count
from askalike.core.errors import InputError
from askalike.moderation.drafts import MIN_QUESTIONS, find_drafts
from askalike.store import Archive
from askalike.store.drafts import Draft, accept_draft, list_drafts, reject_draft
from askalike.text.clean import readable_text
from askalike.text.snippet import extract_snippet

MAX_ANSWER_CHARACTERS = 300


def drafts_command(
    directory: Directory,
    accept: Annotated[
        int | None, Option(min=1, metavar="N", help="Make this draft a question of the archive, with its answer.")
    ] = None,
    reject: Annotated[int | None, Option(min=1, metavar="N", help="Never propose this draft again.")] = None,
    title: Annotated[str | None, Option(help="With --accept: another title.")] = None,
    answer: Annotated[
        Path | None, Option(metavar="FILE", help="With --accept: a text file with another answer.")
    ] = None,
    min_questions: Annotated[int, Option(min=2, help="Minimum number of questions that ask the same.")] = MIN_QUESTIONS,
    json: Json = False,
) -> None:
    """Propose FAQ entries: frequent solved questions that have no entry yet.

    A draft is visible only to moderators until one accepts it.

    Examples:

    ```
    askalike drafts DIR
    askalike drafts DIR --accept 3 --title "How do I renew my card?"
    askalike drafts DIR --reject 4
    ```
    """
    with Archive.open(directory) as archive:
        if accept is not None:
            text = _read_answer(answer) if answer else None
            question = accept_draft(archive, accept, title=title, answer=text)
            print(f"draft {accept} is the question {question.id}: {question.title}")
            return
        if reject is not None:
            reject_draft(archive, reject)
            print(f"draft {reject} is rejected")
            return
        n_new, drafts = find_drafts(archive, min_questions), list_drafts(archive)
    if json:
        print(to_json([asdict(draft) for draft in drafts]))
        return
    for draft in drafts:
        print(f"{draft.number}. {draft.title}  ({_describe_origin(draft)})")
        for rephrasing in draft.rephrasings:
            print(f"    also: {rephrasing}")
        answer_text = readable_text(draft.answer, draft.markup)
        print(f"    answer: {extract_snippet(answer_text, (), MAX_ANSWER_CHARACTERS)}")
    print(f"{format_count(len(drafts), 'open draft')}, {n_new} of them new")


def _describe_origin(draft: Draft) -> str:
    if draft.origin:
        return f"thread {draft.origin}{', ' if draft.url else ''}{draft.url or ''}"
    return f"{format_count(len(draft.source_ids), 'question')}: {', '.join(draft.source_ids[:5])}"


def _read_answer(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); expected a text file with an answer") from None
    if not text:
        raise InputError(f"{path}: is empty; expected an answer")
    return text
