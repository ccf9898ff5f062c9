"""The pre-trained encoder adopted by an archive: its name, source and file digests."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from askalike.store.archive import Archive

META_KEY = "encoder"


@dataclass(frozen=True, slots=True)
class ArchiveEncoder:
    """An archive's own encoder.

    name: its name in `models/`, also the name of its ranker. source: the folder, package or hub name that it came
    from. revision: the commit on the hub; None for a local model. digests: file name → SHA-256.
    """

    name: str
    source: str
    revision: str | None
    digests: Mapping[str, str]

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self | None:
        """Return the encoder in an archive's metadata; None if there is none."""
        return cls(**meta[META_KEY]) if meta.get(META_KEY) else None


def get_archive_encoder(archive: Archive) -> ArchiveEncoder | None:
    """Return the archive's encoder; None if it has none."""
    return ArchiveEncoder.from_meta(archive.meta)


def set_archive_encoder(archive: Archive, encoder: ArchiveEncoder | None) -> None:
    """Set the archive's encoder; None to remove it."""
    archive.set_meta(**{META_KEY: asdict(encoder) if encoder else None})
