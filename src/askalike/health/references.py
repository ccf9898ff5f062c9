"""Checks of references to absent records, and of files of models and indexes that are absent or were changed."""

from collections.abc import Sequence
from pathlib import Path

from askalike.core.errors import UnusableIndexError
from askalike.core.files import compute_sha256
from askalike.health.findings import MAX_EXAMPLES, Check, CheckContext, Finding, count_with_examples
from askalike.index.files import MANIFEST, find_damage
from askalike.store.contents import find_faults
from askalike.store.deployments import get_archive_encoder
from askalike.store.encoding_progress import read_encoding


def _make_check(name: str, unit: str, meaning: str) -> Check:
    """Return the check for one of the faults that the store finds by their names."""

    def find(context: CheckContext) -> Finding:
        faults = find_faults(context.view, name, MAX_EXAMPLES)
        return Finding(name, faults.matching, faults.total, unit, meaning, faults.examples)

    find.__name__ = name
    return find


_UNUSED_LINKS = "One end was deleted or never imported; these links are stored, but unused until both ends exist."
REFERENCE_CHECKS: Sequence[Check] = [
    _make_check(*row)
    for row in (
        ("unanswered_questions", "questions",
            "These questions help nobody; answer them, or hide them from searches (--without unanswered)."),
        ("absent_accepted_answers", "accepted answers",
            "The accepted answer was not imported; import the answers, too, or none is marked as accepted."),
        ("answers_without_question", "answers",
            "Their questions were deleted or never imported; import them, or these answers are never found."),
        ("broken_duplicate_links", "duplicate links", _UNUSED_LINKS),
        ("broken_related_links", "related links", _UNUSED_LINKS),
        ("broken_judgements", "judgements",
            "An absent document with a judgement can never be found, and lowers every measure; judgements of an absent "
            "query are not used. Import what is absent, or remove these judgements."),
    )
]  # fmt: skip
"""The checks of references between records; questions without an answer count only in an archive that has answers."""
ENCODER_FOLDER = "models/{}/pretrained"


def changed_encoder_files(context: CheckContext) -> Finding:
    """Find files of the archive's encoder that are missing, or differ from those that were copied or downloaded."""
    encoder = get_archive_encoder(context.archive)
    digests = encoder.digests if encoder else {}
    folder = context.archive.path / ENCODER_FOLDER.format(encoder.name if encoder else "")
    changed = (name for name, digest in digests.items() if not _has_digest(folder / name, digest))
    count, examples = count_with_examples(changed)
    meaning = "The encoder has changed since it computed the vectors; remove the model and add it again."
    return Finding("changed_encoder_files", count, len(digests), "files of the encoder", meaning, examples)


def missing_vectors(context: CheckContext) -> Finding:
    """Count the questions that the archive's encoder has not read yet; words answer until it has."""
    encoder = get_archive_encoder(context.archive)
    progress = read_encoding(context.archive.path, encoder.name) if encoder else None
    count, total = (progress.total - progress.done, progress.total) if progress else (0, len(context.view))
    meaning = "Words answer until the vectors are complete: a service, a search or askalike index computes them."
    details = (progress.describe(),) if progress else ()
    return Finding("missing_vectors", count, total, "questions", meaning, (), details)


def _has_digest(path: Path, digest: str) -> bool:
    try:
        return compute_sha256(path) == digest
    except OSError:
        return False


def damaged_indexes(context: CheckContext) -> Finding:
    """Find indexes of the archive whose files are missing, or differ from their checksums. Reads all of them."""
    folders = sorted(manifest.parent for manifest in context.archive.path.glob(f"index/*/{MANIFEST}"))
    damaged = [f"{folder.name}: {damage}" for folder in folders if (damage := _describe_damage(folder))]
    meaning = "Their results would be wrong. The next search or askalike index rebuilds them; check the disk."
    count, examples = count_with_examples(damaged)
    return Finding("damaged_indexes", count, len(folders), "indexes", meaning, examples, serious=True)


def _describe_damage(folder: Path) -> str | None:
    """Return what is damaged in an index; None for nothing. One of another version is rebuilt before it is used."""
    try:
        return find_damage(folder)
    except UnusableIndexError as error:
        return error.problem if "damaged" in error.problem else None
