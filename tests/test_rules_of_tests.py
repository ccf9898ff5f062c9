"""Holds what every test has to do: it asserts something, whatever is looped over, and has a short name."""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(path for folder in ("tests", "packages/*/tests") for path in ROOT.glob(f"{folder}/**/*.py"))

MAX_WORDS = 8
"""How many words follow `test_` in a name."""

ASSERTING = re.compile(r"(assert|check|expect|wait_for|warns|raises|fail)(_|$)")
"""Calls that fail by themselves."""

FILLED = {
    "enumerate", "items", "keys", "map", "permutations", "product", "range", "reversed", "sorted", "values", "zip",
}  # fmt: skip
"""What has items if all that it loops over has some. A range has some, as far as the text of a test says."""


def find_tests(file: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def test_every_test_asserts_something():
    found = [f"{file.name}: {test.name}" for file in FILES for test in find_tests(file) if not asserts(test.body)]
    assert found == [], "asserts nothing, or only in a loop over what may be empty"
    assert len(FILES) > 200


def test_names_are_short():
    names = [test.name for file in FILES for test in find_tests(file)]
    assert [name for name in names if name.count("_") > MAX_WORDS] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for one in found: assert one", False),
        ("for one in (1, 2): assert one", True),
        ("values = [1]\nfor one in values: assert one", True),
        ("for one, other in zip(found, TEXTS, strict=True): assert one", True),
        ("for one in TEXTS:\n for other in found: assert one", False),
        ("while found: assert found", False),
        ("with raises(ValueError): search()", True),
        ("search()", False),
    ],
)
def test_a_loop_over_nothing_asserts_nothing(text, expected):
    assert asserts(ast.parse(text).body) == expected


def asserts(body: Sequence[ast.stmt], filled: Collection[str] = ("seeds",)) -> bool:
    """Whether statements assert something, whatever there is to loop over. `filled` are names of what has an item."""
    for statement in body:
        match statement:
            case ast.For():
                surely = has_items(statement.iter, filled) and asserts(statement.body, filled)
            case ast.While():
                surely = False
            case ast.With():
                entered = (node for item in statement.items for node in ast.walk(item))
                surely = any(map(is_assertion, entered)) or asserts(statement.body, filled)
            case ast.Try():
                surely = asserts(statement.body, filled) or asserts(statement.finalbody, filled)
            case _:
                surely = any(map(is_assertion, ast.walk(statement)))
        if surely:
            return True
        if isinstance(statement, ast.Assign) and has_items(statement.value, filled):
            filled = [*filled, ast.unparse(statement.targets[0])]
    return False


def is_assertion(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and bool(ASSERTING.match(called(node))))


def called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def has_items(node: ast.expr, filled: Collection[str]) -> bool:
    """Whether what is looped over has an item, as far as the text of a test says: a constant in capitals has."""
    match node:
        case ast.Name():
            return node.id.isupper() or node.id in filled
        case ast.Attribute():
            return node.attr.isupper()
        case ast.Constant():
            return bool(node.value)
        case ast.Tuple() | ast.List() | ast.Set():
            return bool(node.elts)
        case ast.Dict():
            return bool(node.keys)
        case ast.Subscript() | ast.Starred():
            return has_items(node.value, filled)
        case ast.ListComp() | ast.DictComp() | ast.GeneratorExp():
            return all(has_items(part.iter, filled) and not part.ifs for part in node.generators)
        case ast.Call():
            return loops_over_items(node, filled)
    return False


def loops_over_items(call: ast.Call, filled: Collection[str]) -> bool:
    name = called(call)
    if name in ("range", *filled):
        return True
    looped_over = call.args[1:] if name == "map" else call.args
    if not looped_over and isinstance(call.func, ast.Attribute):
        looped_over = [call.func.value]  # such as of `texts.items()`
    one_is_enough = any(keyword.arg == "strict" for keyword in call.keywords)
    return name in FILLED and (any if one_is_enough else all)(has_items(each, filled) for each in looped_over)
