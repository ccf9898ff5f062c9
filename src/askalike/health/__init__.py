"""The checks of `askalike check`, one function each, and the statistics of `askalike info`."""

from collections.abc import Sequence

from askalike.core.errors import SettingsError
from askalike.core.iteration import ProgressTracker, skip_tracking
from askalike.health import leaks, references, templates, texts
from askalike.health.findings import Check, CheckContext, Finding
from askalike.store import Archive, storage_errors, takes_archive

LEAK_CHECKS: Sequence[Check] = (
    texts.leak_banners,
    leaks.named_originals,
    leaks.same_text_across_splits,
    leaks.clusters_across_splits,
    leaks.related_duplicates,
    leaks.answers_quoting_questions,
)
"""The checks for faults that make measures too high."""

CHECKS: Sequence[Check] = (
    texts.empty_titles,
    texts.repeated_titles,
    templates.title_marks,
    templates.title_openings,
    templates.body_templates,
    *LEAK_CHECKS,
    texts.no_tokens,
    texts.unknown_languages,
    texts.unsupported_languages,
    *references.REFERENCE_CHECKS,
    references.changed_encoder_files,
    references.missing_vectors,
    references.damaged_indexes,
)
"""The checks in the order of the report. A new check is a function from CheckContext to Finding, added here."""


@takes_archive
def run_checks(
    archive: Archive,
    *,
    checks: Sequence[Check] = CHECKS,
    ignored: Sequence[str] = (),
    track: ProgressTracker = skip_tracking,
) -> list[Finding]:
    """Run all checks except the ignored ones, and return the finding of each, including clean ones.

    archive: or its directory. Raises SettingsError if `ignored` contains the name of an unknown check, ArchiveError if
    the database is damaged.
    """
    for name in ignored:
        require_check(name, checks)
    with storage_errors(archive.path):
        archive.require_intact(thorough=True)
        view = archive.view()
        context = CheckContext(archive, view, view.language, track=track)
        return [check(context) for check in checks if check.__name__ not in ignored]


def require_check(name: str, checks: Sequence[Check] = CHECKS) -> str:
    """Return the name of a check unchanged. Raises SettingsError if it is unknown."""
    known = [check.__name__ for check in checks]
    if name not in known:
        raise SettingsError(f"no check is called {name}; there are: {', '.join(known)}")
    return name
