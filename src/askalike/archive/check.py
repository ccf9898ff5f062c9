"""The health of an archive: everything that `askalike check` looks for, one function each."""

from collections.abc import Sequence

from askalike.archive import leaks, references, templates, texts, titles
from askalike.archive.findings import Check, Finding, Subject
from askalike.archive.store import Archive, storage_errors
from askalike.archive.track import Track, untracked
from askalike.errors import SettingsError

LEAKS: Sequence[Check] = (
    texts.leak_banners,
    leaks.same_text_across_splits,
    leaks.clusters_across_splits,
    leaks.related_duplicates,
    leaks.answers_quoting_questions,
)
"""Of what would make measures come out too high."""

CHECKS: Sequence[Check] = (
    titles.empty_titles,
    titles.repeated_titles,
    templates.title_marks,
    templates.title_openings,
    templates.body_templates,
    *LEAKS,
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


def check(
    archive: Archive, *, among: Sequence[Check] = CHECKS, ignore: Sequence[str] = (), track: Track = untracked
) -> list[Finding]:
    """What each check (`among` them: all, or LEAKS) finds, clean ones included. Streams the archive for each.

    Raises SettingsError where `ignore` names a check that is not there.
    """
    names = {run.__name__: run for run in among}
    if unknown := [name for name in ignore if name not in names]:
        raise SettingsError(f"no check is called {', '.join(unknown)}; there are: {', '.join(names)}")
    with storage_errors(archive.path):
        view = archive.view()
        subject = Subject(view, view.language, track=track)
        return [run(subject) for name, run in names.items() if name not in ignore]
