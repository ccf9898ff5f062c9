"""The layers inside the service: imports go to lower ones only."""

import ast
from pathlib import Path

import pytest

SERVICE = Path(__file__).parents[2] / "src" / "askalike" / "service"
LAYERS = (
    {"settings", "log", "metrics"},
    {"state"},
    {"requests"},
    {"middleware", "routes", "pages", "dropins"},
    {"app"},
    {"processes"},
)
LEVELS = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
FILES = sorted(
    p.relative_to(SERVICE).as_posix() for p in SERVICE.rglob("*.py") if p.parent != SERVICE or p.stem in LEVELS
)


def find_room(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def imported_rooms(file: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse((SERVICE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[2] for name in names if name.startswith("askalike.service.")} - {find_room(file)}


@pytest.mark.parametrize("file", FILES)
def test_imports_go_to_lower_layers(file: str) -> None:
    higher = {room for room in imported_rooms(file) if LEVELS[room] >= LEVELS[find_room(file)]}
    assert not higher, f"{file} imports {', '.join(sorted(higher))}, which is not below it"


def test_every_room_has_a_layer() -> None:
    rooms = {p.name.removesuffix(".py") for p in SERVICE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert rooms - {"__init__"} == LEVELS.keys()
