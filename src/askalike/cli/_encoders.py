"""The encoder of a new archive, and remarks on the encoder of any archive."""

from askalike.cli._output import print_remark
from askalike.store import Archive
from askalike.store.encoding import read_encoding

NO_ENCODER = "none"
"""The value of --encoder with which an archive keeps words alone."""


def choose_encoder(archive: Archive, encoder: str | None, is_new: bool, download: bool) -> None:
    """Adopt the encoder of an import: the named one, or for a new archive the one at hand that knows its languages.

    Its vectors are computed in the background; an archive with drafts alone has none. is_new: whether the import has
    made the archive; for any other, a remark names the encoder at hand, once.
    """
    if encoder == NO_ENCODER:
        from askalike.tuning.adoption import decline_encoder

        decline_encoder(archive)
        return
    if encoder is None and not is_new:
        suggest_encoder(archive)
        return
    from askalike.search import interim
    from askalike.tuning.adoption import adopt_encoder, fitting_encoder

    questions = len(archive.view())
    name = encoder or (fitting_encoder(archive) if questions else None)
    if name is None:
        return
    adopted = adopt_encoder(archive, name, download=download)
    if questions <= interim.AT_ONCE:
        print_remark(f"encoder: {adopted.name}")
        return
    interim.start_encoding(archive.path)
    print_remark(f"encoder: {adopted.name}; words answer now, its vectors follow in the background (askalike info)")


def suggest_encoder(archive: Archive) -> None:
    """Say, once for an archive, that an encoder is installed that it does not use."""
    from askalike.tuning.adoption import suggest_encoder

    if name := suggest_encoder(archive):
        advice = f"askalike encoder use {archive.path} {name}"
        print_remark(f"{name}, an encoder for its languages, is installed and not used; to try it: {advice}")


def remark_encoding(archive: Archive, encoder: str) -> None:
    """Say that words answer while an encoder's vectors are incomplete, and how far they are."""
    progress = read_encoding(archive.path, encoder)
    how_far = f": {progress.describe()}" if progress else ""
    print_remark(f"askalike: words answer until the vectors of {encoder} are complete{how_far}")
