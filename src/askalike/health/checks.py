"""The health of an archive: everything that `askalike check` looks for, one function each."""

from collections.abc import Sequence

from askalike.errors import SettingsError
from askalike.health import boilerplate as templates
from askalike.health import leaks, references, texts, titles
from askalike.health.findings import Check, CheckContext, Finding
from askalike.store.archive import Archive, storage_errors
from askalike.store.tracking import ProgressTracker, skip_tracking

LEAK_CHECKS: Sequence[Check] = (
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
    *LEAK_CHECKS,
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


def run_checks(
    archive: Archive,
    *,
    checks: Sequence[Check] = CHECKS,
    ignored: Sequence[str] = (),
    track: ProgressTracker = skip_tracking,
) -> list[Finding]:
    """What each check (`among` them: all, or LEAKS) finds, clean ones included. Streams the archive for each.

    Raises SettingsError where `ignore` names a check that is not there.
    """
    names = {run.__name__: run for run in checks}
    if unknown := [name for name in ignored if name not in names]:
        raise SettingsError(f"no check is called {', '.join(unknown)}; there are: {', '.join(names)}")
    with storage_errors(archive.path):
        view = archive.view()
        subject = CheckContext(view, view.language, track=track)
        return [run(subject) for name, run in names.items() if name not in ignored]
