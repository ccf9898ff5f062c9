"""The layers inside the service: imports go to lower ones only."""

import ast
import tomllib
from pathlib import Path

import pytest

SERVICE = Path(__file__).parents[2] / "src" / "askalike" / "service"
LAYERS = tomllib.loads((SERVICE.parents[2] / "docs" / "layers.toml").read_text(encoding="utf-8"))["inner"]["service"]
LEVELS = {component: level for level, components in enumerate(LAYERS) for component in components}
FILES = sorted(
    p.relative_to(SERVICE).as_posix() for p in SERVICE.rglob("*.py") if p.parent != SERVICE or p.stem in LEVELS
)


def find_component(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def imported_components(file: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse((SERVICE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[2] for name in names if name.startswith("askalike.service.")} - {find_component(file)}


@pytest.mark.parametrize("file", FILES)
def test_imports_go_to_lower_layers(file: str) -> None:
    higher = {component for component in imported_components(file) if LEVELS[component] >= LEVELS[find_component(file)]}
    assert not higher, f"{file} imports {', '.join(sorted(higher))}, which is not below it"


def test_every_component_has_a_layer() -> None:
    components = {
        p.name.removesuffix(".py") for p in SERVICE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert components - {"__init__"} == LEVELS.keys()
