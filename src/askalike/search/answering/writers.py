"""The models of an archive that write answers, found without torch."""

from pathlib import Path

from askalike.core.errors import SettingsError
from askalike.encoders import MODEL_FILE, read_model_file
from askalike.store import View


def writer_folders(archive: Path) -> list[Path]:
    """Return the folders of all models that write, by name. Raises InputError for a model that cannot be read."""
    folders = [path.parent for path in sorted((archive / "models").glob(f"[!.]*/{MODEL_FILE}"))]
    return [folder for folder in folders if read_model_file(folder).get("network", {}).get("writes")]


def find_writer(archive: Path, name: str | None = None) -> Path:
    """Return the folder of the writing model with that name, or of the only one. Raises SettingsError or InputError."""
    there = writer_folders(archive)
    if name is not None:
        there = [folder for folder in there if folder.name == name]
    if len(there) == 1:
        return there[0]
    if there:
        names = " or ".join(folder.name for folder in there)
        raise SettingsError(f"{archive}: several models write answers; choose one: --model {names}")
    what = "no model of this archive can write answers" if name is None else f"no model {name!r} that can write answers"
    raise SettingsError(f"{archive}: {what}; train one: askalike train {archive} --recipe dssm_writer")


def require_same_archive(view: View, folder: Path) -> None:
    """Raise SettingsError if a model was trained on another archive, whose content is not in this one."""
    trained = read_model_file(folder).get("trained", {})
    change, then = trained.get("change", 0), trained.get("made_at")
    if change > view.change or (then is not None and (view.change_date(change) or "") != then):
        raise SettingsError(f"{folder}: this model was trained on another archive; train one on this: askalike train")
