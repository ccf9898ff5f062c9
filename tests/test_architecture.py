"""Holds the import table: who may import whom, where SQL may be, and what lexical search goes without."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest

TESTS = Path(__file__).parent
SOURCE = Path(__file__).parents[1] / "src" / "askalike"

LAYERS = tuple(tomllib.loads((SOURCE.parents[1] / "docs" / "layers.toml").read_text(encoding="utf-8"))["layer"])
"""The import table: of each layer the components with a sentence, the lowest layer first."""

INNER_LAYERS = tomllib.loads((SOURCE.parents[1] / "docs" / "layers.toml").read_text(encoding="utf-8"))["inner"]
"""Room → its files and folders in layers, the lowest first, for rooms that have rooms of their own."""

LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
FACADE = "__init__"
"""The package itself names its public parts; nobody inside imports from it."""


SEARCHED = ("calibration/", "search/", "index/", "rankers/", "service/", "store/", "text/analyzer")
"""What the threads of a service run."""
SQL = re.compile(r"\bSELECT\s.*\sFROM\b|\bINSERT\s.*\bINTO\b|\bUPDATE\s.*\sSET\b|\bDELETE\s+FROM\b|\bPRAGMA\b", re.S)

FILES = sorted(p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py"))
LOADED = """
import sys
import askalike
with askalike.Archive.create(sys.argv[1]) as archive:
    archive.upsert([askalike.Question("a", "How long do I boil an egg?", "<p>Runny</p>", "html")])
with askalike.load(sys.argv[1]) as engine:
    assert [m.question.id for m in engine.search("boiling eg", prefix=True)] == ["a"]
print(*sys.modules)
"""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(file: str) -> set[str]:
    """The full names of all modules that a file imports, those inside functions and of names in quotes too."""
    return _imports(file, SOURCE)


@cache
def _imports(file: str, source: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(parsed(source / file)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(["askalike", *Path(file).parts[:-1]][: -(node.level - 1) or None]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names if module == "askalike")}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            found |= {x.value for x in node.args if isinstance(x, ast.Constant) and isinstance(x.value, str)}
    return found


def part_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def parts_imported(file: str) -> set[str]:
    """The parts of askalike that a file imports, its own left out; "" for the package itself."""
    ours = (name.split(".") for name in imports(file) if name.split(".")[0] == "askalike")
    parts = {name[1] if len(name) > 1 else "" for name in ours}
    if parts - {""}:
        parts.discard("")  # `from askalike import rankers` names both
    return parts - {part_of(file)}


def test_every_component_is_in_the_table_once():
    assert sorted(part for parts in LAYERS for part in parts) == sorted({part_of(file) for file in FILES} - {FACADE})


def test_source_is_within_its_budget():
    budget = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["askalike"]
    n_lines = sum(len((SOURCE / file).read_text(encoding="utf-8").splitlines()) for file in FILES)
    assert n_lines <= budget["max_lines"], "say in the commit what left instead, or make it shorter"
    assert len(FILES) <= budget["max_files"]


def test_imports_go_down_only():
    for file in FILES:
        part, used = part_of(file), parts_imported(file)
        assert used <= LEVEL.keys() | {""}, f"{file} imports {used - LEVEL.keys()}, which the import table lacks"
        if part != FACADE:
            assert "" not in used, f"{file} imports the package itself"
            up = {other for other in used if LEVEL[other] >= LEVEL[part]}
            assert not up, f"{file} imports {', '.join(sorted(up))}, which is not below {part}"


def test_no_folder_has_a_circle_of_imports():
    folders = {parent for file in FILES for parent in PurePosixPath(file).parents}
    assert len(folders) > 20
    for folder in folders:
        try:
            TopologicalSorter(imports_between_entries(folder)).prepare()
        except CycleError as error:
            pytest.fail(f"{folder}: {' imports '.join(reversed(error.args[1]))}")


def test_inner_rooms_import_down_only():
    for room, layers in INNER_LAYERS.items():
        level = {name: number for number, names in enumerate(layers) for name in names}
        graph = imports_between_entries(PurePosixPath(room))
        assert level.keys() == {entry.removesuffix(".py") for entry in graph if entry != "__init__.py"}, room
        for entry, used in graph.items():
            name = entry.removesuffix(".py")
            others = {other.removesuffix(".py") for other in used - {"__init__.py"}} if name in level else set()
            up = {other for other in others if level[other] >= level[name]}
            assert not up, f"{room}/{entry} imports {', '.join(sorted(up))}, which is not below it"


def imports_between_entries(folder: PurePosixPath) -> dict[str, set[str]]:
    """The files and folders directly in a folder → those that they, or anything in them, import."""
    prefix = len(folder.parts)
    inside = [PurePosixPath(file) for file in FILES if folder in PurePosixPath(file).parents]
    modules = {file.with_suffix("").as_posix().removesuffix("/__init__"): file for file in inside}
    graph: dict[str, set[str]] = {}
    for file in inside:
        entry = file.parts[prefix]
        names = (name.split(".")[1:] for name in imports(str(file)) if name.startswith("askalike."))
        targets = (modules.get("/".join(name)) or modules.get("/".join(name[:-1])) for name in names)
        used = {target.parts[prefix] for target in targets if target} - {entry}
        graph.setdefault(entry, set()).update(used if entry != "__init__.py" else ())
    return graph


def test_underscored_modules_are_private_to_their_folder():
    n_checked = 0
    for file in FILES:
        component = ["askalike", *file.split("/")[:-1]]
        for name in imports(file):
            parts = name.split(".")
            private = next((at for at, part in enumerate(parts) if part.startswith("_") and part[1:2] != "_"), None)
            if parts[0] == "askalike" and private is not None:
                n_checked += 1
                owner = parts[private - 1]
                assert parts[:private] == component[:private], f"{file} imports {name}, which is private to {owner}"
    assert n_checked > 100


def test_scripts_import_what_exists():
    """Most of them are run by hand, so that nobody would notice a name that has moved."""
    root, n_checked = SOURCE.parents[1], 0
    folders = ("benchmarks", "deploy", "examples", "experiments", "tools", "packages/*/benchmarks", "packages/*/tools")
    for script in (script for folder in folders for script in root.glob(f"{folder}/**/*.py")):
        for node in ast.walk(parsed(script)):
            module = str(node.module) if isinstance(node, ast.ImportFrom) else ""
            if module.startswith("askalike.") or (TESTS / f"{module}.py").exists():
                missing = {alias.name for alias in node.names} - names_in(module)
                assert not missing, f"{script.relative_to(root)}: {module} has no {', '.join(missing)}"
                n_checked += 1
    assert n_checked > 100


@cache
def names_in(module: str) -> set[str]:
    """The names that a module of askalike or of its tests defines or imports, and the modules in a package, if any."""
    place = SOURCE.joinpath(*module.split(".")[1:]) if module.startswith("askalike.") else TESTS / module
    package = place / "__init__.py"
    file = package if package.exists() else place.with_suffix(".py")  # a pull may leave an empty folder behind
    names = {inner.stem for inner in place.glob("*")}
    for node in parsed(file).body if file.exists() else ():
        if isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        else:
            names |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return names


def test_no_class_name_is_used_twice():
    places: dict[str, list[str]] = {}
    for file in FILES:
        for node in parsed(SOURCE / file).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_public_methods_are_documented_where_they_are_declared():
    """An override needs no docstring of its own: what it does is said at the method that it overrides."""
    classes = {
        node.name: node for file in FILES for node in ast.walk(parsed(SOURCE / file)) if isinstance(node, ast.ClassDef)
    }
    assert len(classes) > 300
    for name, node in classes.items():
        if name.startswith("_"):
            continue
        for method in node.body:
            if (
                isinstance(method, ast.FunctionDef)
                and not method.name.startswith("_")
                and not ast.get_docstring(method)
            ):
                decorated = {ast.unparse(decorator) for decorator in method.decorator_list} & {"overload"}
                assert decorated or is_documented_above(classes, node, method.name), (
                    f"{name}.{method.name} says nothing"
                )


def is_documented_above(classes: dict[str, ast.ClassDef], node: ast.ClassDef, method: str) -> bool:
    for base in node.bases:
        above = classes.get(ast.unparse(base).split("[")[0].split(".")[-1])
        if above is None and ast.unparse(base).split("[")[0] not in (
            "ABC",
            "BaseModel",
            "Generic",
            "NamedTuple",
            "Protocol",
        ):
            return True  # a library's method, documented there
        if above and (
            any(getattr(m, "name", "") == method and ast.get_docstring(m) for m in above.body)
            or is_documented_above(classes, above, method)
        ):
            return True
    return False


def test_nothing_imports_torch_or_a_package_beside_it():
    heavy = {"torch", "lightning", "lightning_fabric", "gensim", "sentence_transformers", "transformers"}
    for file in FILES:
        used = {name.split(".")[0] for name in imports(file)}
        assert not used & heavy, file
        assert not [name for name in used if name.startswith("askalike_")], file


def test_compilers_stay_in_their_room():
    compilers = {"numba", "llvmlite"}
    users = {file for file in FILES if {name.split(".")[0] for name in imports(file)} & compilers}
    assert {file for file in users if not file.startswith("native/")} == set()
    assert users


def test_threads_never_let_numpy_import_masked_arrays():
    """np.unique imports them at its first call: a thread that comes just before their end calls itself without end."""
    for file in FILES:
        if file.startswith(SEARCHED):
            calls = [node for node in ast.walk(parsed(SOURCE / file)) if isinstance(node, ast.Call)]
            used = [node for node in calls if ast.unparse(node.func) == "np.unique"]
            lines = [n.lineno for n in used if not any((k.arg or "").startswith("return_") for k in n.keywords)]
            assert not lines, f"{file}:{lines[0]}: use find_distinct"


def test_nothing_is_pickled_and_nobody_asks_the_network():
    forbidden = {"pickle", "marshal", "shelve", "requests", "httpx", "urllib.request", "http.client", "socket"}
    forbidden |= {"huggingface_hub"}
    online = (
        "service/",
        "search/",
        "search/encoder_installation.py",
        "readers/_site.py",
        "core/network.py",
        "core/parallel.py",
        "search/grounded.py",
    )
    for file in FILES:
        used = imports(file) - (forbidden if file.startswith(online) else set())
        assert not used & forbidden, file


def test_the_test_sees_every_kind_of_import(monkeypatch, tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "x.py").write_text(
        "from askalike import rankers\nimport askalike.cli.x\n"
        "def f():\n    from ..store.archive import Archive\n    importlib.import_module('askalike.search.retriever')\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    assert parts_imported("text/x.py") == {"rankers", "cli", "store", "search"}


def test_sql_stays_in_the_store():
    for file in FILES:
        if file.startswith("store/"):
            continue
        assert "sqlite3" not in imports(file), file
        for node in ast.walk(parsed(SOURCE / file)):
            if isinstance(node, ast.Attribute):
                used = node.attr in ("connection", "_connection")
                assert not used, f"{file}:{node.lineno} uses an archive's connection"
            text = ast.unparse(node) if isinstance(node, ast.JoinedStr) else getattr(node, "value", None)
            if isinstance(node, ast.JoinedStr | ast.Constant) and isinstance(text, str):
                assert not SQL.search(text), f"{file}:{node.lineno} has SQL in it"


@pytest.mark.parametrize("heavy", ["torch", "scipy", "sklearn", "matplotlib", "pandas", "ir_measures", "rich"])
def test_lexical_search_goes_without(heavy, loaded):
    assert heavy not in loaded


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The modules that are loaded after an archive was made, indexed and searched."""
    import_module("warmed")  # the first search compiles, which loads more
    path = tmp_path_factory.mktemp("architecture") / "archive"
    command = [sys.executable, "-c", LOADED, str(path)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_imports_nothing_else():
    script = "import sys; before = set(sys.modules); import askalike; print(*sorted(set(sys.modules) - before))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert [m for m in printed if m.startswith("askalike")] == ["askalike"]
    assert "numpy" not in printed
