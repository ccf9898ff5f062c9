"""The pre-trained encoder that an archive has made its own: which model it is, and the digests of its files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from askalike.store.archive import Archive

META_KEY = "encoder"


@dataclass(frozen=True, slots=True)
class ArchiveEncoder:
    """An archive's own encoder.

    name: its name in `models/`, by which it is a ranker, too. source: the folder, package or hub name that it came
    from. revision: the commit on the hub; None for a model of this machine. digests: file name → SHA-256.
    """

    name: str
    source: str
    revision: str | None
    digests: Mapping[str, str]

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self | None:
        """Return the encoder that an archive's facts name; None where they name none."""
        return cls(**meta[META_KEY]) if meta.get(META_KEY) else None


def get_archive_encoder(archive: Archive) -> ArchiveEncoder | None:
    """Return the archive's encoder; None where it has none."""
    return ArchiveEncoder.from_meta(archive.meta)


def set_archive_encoder(archive: Archive, encoder: ArchiveEncoder | None) -> None:
    """Make an encoder the archive's; None: no encoder."""
    archive.set_meta(**{META_KEY: asdict(encoder) if encoder else None})
