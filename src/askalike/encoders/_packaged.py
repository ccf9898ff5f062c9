"""Pre-trained encoders whose weights an installed package brings; askalike or one of its extras requires it.

The SHA-256 of the weights is known here and compared when they are loaded, so that an archive's vectors are those that
were measured, whoever publishes the package next.
"""

import importlib.util
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from askalike.core.errors import InputError, SettingsError
from askalike.core.files import compute_sha256
from askalike.encoders import Role
from askalike.encoders.pretrained import EncodingSettings, FoundModel, PretrainedEncoder
from askalike.encoders.transformer.architectures import Transformer
from askalike.encoders.transformer.modules import POOLINGS, normalise


class PackageFile(NamedTuple):
    """A file of a package. package: its name on the package index. module: the folder that it installs."""

    package: str
    module: str
    path: str
    sha256: str

    def find(self) -> Path | None:
        """Return its path; None if the package is not installed. It is not imported."""
        spec = importlib.util.find_spec(self.module)
        places = [Path(place) / self.path for place in (spec.submodule_search_locations or ())] if spec else []
        return next((place for place in places if place.is_file()), None)


class ModelPackage(NamedTuple):
    """The files of an encoder: its weights, and a vocabulary of another package.

    languages: ISO 639-1 codes, None for about a hundred. licence: of the weights. model: what they are. size_mb: of
    the installed packages. extra: that of askalike which installs them; None if they always are.
    """

    weights: PackageFile
    languages: tuple[str, ...] | None
    licence: str
    model: str
    size_mb: int
    vocabulary: PackageFile | None = None
    extra: str | None = None

    @property
    def files(self) -> Sequence[PackageFile]:
        """Weights, and vocabulary if it is a file of its own."""
        return (self.weights, self.vocabulary) if self.vocabulary else (self.weights,)

    @property
    def is_installed(self) -> bool:
        """Whether the files are installed."""
        return all(file.find() for file in self.files)

    @property
    def install_command(self) -> str:
        """The command that installs the files."""
        return f"pip install 'askalike[{self.extra}]'" if self.extra else "pip install --force-reinstall askalike"

    def knows(self, languages: Collection[str]) -> bool:
        """Return whether the model has learned all of these languages."""
        return self.languages is None or set(self.languages).issuperset(languages)

    def require_files(self) -> list[Path]:
        """Return the paths of `files`. Raises SettingsError if one is missing, InputError if it is another."""
        return [self._require(file) for file in self.files]

    def _require(self, file: PackageFile) -> Path:
        path = file.find()
        if path is None:
            raise SettingsError(f"{file.package} is not installed: {self.install_command}")
        if (digest := compute_sha256(path)) != file.sha256:
            expected = f"SHA-256 {digest[:12]}…, expected {file.sha256[:12]}…"
            raise InputError(f"{path}: not the file of {self.model} ({expected}); install {file.package} again")
        return path


class PackagedEncoder(PretrainedEncoder):
    """A pre-trained encoder from a package. The score is the cosine."""

    settings_class = EncodingSettings
    package: ClassVar[ModelPackage]
    prompts: ClassVar[Mapping[Role, str]] = {"query": "", "document": ""}
    languages: tuple[str, ...] | None = None
    """ISO 639-1 codes of the languages that it knows; None for all."""

    def _find_model(self) -> FoundModel:
        if (path := self.package.weights.find()) is None:
            raise SettingsError(f"{self.package.model} is not installed: {self.package.install_command}")
        return FoundModel(path.parent, self.prompts, [self.package.weights.sha256])

    def _load_model(self, role: Role) -> Any:
        self.package.require_files()
        return super()._load_model(role)

    def _build_model(self, transformer: Transformer, tokenizer: Any, max_tokens: int) -> Any:
        """Return the model of a transformer: a text's vector is the mean of its tokens' states, of length 1."""
        from askalike.encoders.transformer.compiled_layers import BuiltLayers
        from askalike.encoders.transformer.model import OnnxModel, TextLimits

        layers = BuiltLayers(transformer, self._bits)
        steps = (POOLINGS["mean"], normalise)
        limits = TextLimits(max_tokens, lowercase=False)
        return OnnxModel.of_parts(layers, steps, tokenizer, limits, self.settings.threads)
