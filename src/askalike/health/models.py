"""Checks of the models that an archive depends on."""

from pathlib import Path

from askalike.core.files import compute_sha256
from askalike.health.findings import CheckContext, Finding, count_with_examples
from askalike.store.deployments import get_archive_encoder

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


def _has_digest(path: Path, digest: str) -> bool:
    try:
        return compute_sha256(path) == digest
    except OSError:
        return False
