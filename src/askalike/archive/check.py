"""The health of an archive: everything that `askalike check` looks for, one function each."""

from collections.abc import Sequence

from askalike.archive import references, templates, texts, titles
from askalike.archive.findings import Check, Finding, Subject
from askalike.archive.store import Archive, storage_errors
from askalike.archive.track import Track, untracked
from askalike.errors import SettingsError

CHECKS: Sequence[Check] = (
    titles.empty_titles,
    titles.repeated_titles,
    templates.title_marks,
    templates.title_openings,
    templates.body_templates,
    texts.leak_banners,
    texts.no_tokens,
    texts.unknown_languages,
    texts.unsupported_languages,
    references.unanswered_questions,
    references.absent_accepted_answers,
    references.answers_without_question,
    references.broken_duplicate_links,
    references.broken_related_links,
    references.broken_judgements,
)
"""In the order of the report. A new check is a function from Subject to Finding, added here."""


def check(archive: Archive, *, ignore: Sequence[str] = (), track: Track = untracked) -> list[Finding]:
    """What each check finds, clean ones included. Streams the archive, once or twice for each check.

    Raises SettingsError where `ignore` names a check that is not there.
    """
    names = {run.__name__: run for run in CHECKS}
    if unknown := [name for name in ignore if name not in names]:
        raise SettingsError(f"no check is called {', '.join(unknown)}; there are: {', '.join(names)}")
    with storage_errors(archive.path):
        view = archive.view()
        subject = Subject(view, view.language, track=track)
        return [run(subject) for name, run in names.items() if name not in ignore]
