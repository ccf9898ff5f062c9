"""Writes docs/python-reference.md: signatures and docstrings of the names that most programs use.

python tools/write_reference.py           writes the page
python tools/write_reference.py --check   writes nothing; exits with 1 if page and code differ
"""

import ast
import functools
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import GenericAlias
from typing import Any

from write_settings import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python-reference.md"
HEAD = """# Python reference

Signatures and docstrings, generated from the code by `python tools/write_reference.py`; `help(askalike.Retriever)`
prints the same. [Python](python.md) shows how the names are used, and which function each command calls.
"""
SECTIONS = {
    "Searching": (
        "askalike.Retriever", "askalike.load", "askalike.ArchiveRetriever", "askalike.SearchRequest",
        "askalike.SearchResult", "askalike.SearchHit", "askalike.Filter", "askalike.Reply",
    ),
    "Archives": (
        "askalike.Archive", "askalike.View", "askalike.Snapshot", "askalike.TrainingView", "askalike.import_archive",
        "askalike.export_archive", "askalike.run_checks", "askalike.load_split", "askalike.encode_texts",
        "askalike.labels.splits.identify_queries", "askalike.labels.splits.splits_to_hold_out",
        "askalike.labels.partitions.create_partition", "askalike.labels.training_pairs.training_pairs",
        "askalike.labels.training_pairs.count_pairs",
    ),
    "Ranking": (
        "askalike.build", "askalike.Ranker", "askalike.Searcher", "askalike.Retrieved", "askalike.rank",
        "askalike.rankers.lexical.LexicalSettings", "askalike.text.analyzer.Analyzer",
        "askalike.text.analyzer.AnalyzerSettings",
    ),
    "Measuring, tuning, calibrating": (
        "askalike.evaluate", "askalike.evaluate_ranker", "askalike.evaluation.outcome.Evaluation", "askalike.compare",
        "askalike.read_run", "askalike.read_qrels", "askalike.write_run", "askalike.tune",
        "askalike.search.encoder_installation.adopt_encoder", "askalike.calibrate",
        "askalike.calibration.calibrate.CalibrationReport", "askalike.dedupe",
    ),
    "Base classes for your own package": (
        "askalike.Settings", "askalike.Similarity", "askalike.Reader", "askalike.SourceFiles", "askalike.LocatedRecord",
        "askalike.plugin.readers.find_files", "askalike.plugin.readers.reject", "askalike.Encoder",
    ),
    "Records and results": (
        "askalike.Question", "askalike.Answer", "askalike.Link", "askalike.EvaluationQuery", "askalike.Judgement",
        "askalike.RejectedRow", "askalike.Place", "askalike.Split", "askalike.core.records.TrainingPair",
        "askalike.core.hits.Hit", "askalike.Contribution", "askalike.core.hits.Span", "askalike.Explanation",
        "askalike.Run", "askalike.TopDocs", "askalike.VectorPart", "askalike.Vectors",
    ),
    "Errors": (
        "askalike.AskalikeError", "askalike.InputError", "askalike.ArchiveError", "askalike.SettingsError",
        "askalike.NotFittedError", "askalike.TrainingError",
    ),
}  # fmt: skip
"""Heading → the full names below it."""
WIDTH = 100


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for heading, names in SECTIONS.items():
        yield f"## {heading}\n"
        for name in names:
            module, _, attribute = name.rpartition(".")
            yield f"### `{name}`\n"
            entry = pkgutil.resolve_name(f"{module}:{attribute}")
            is_alias = isinstance(entry, GenericAlias)
            yield from _describe_alias("askalike.core.records", attribute) if is_alias else _describe(_node(entry))


@functools.cache
def _parse(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _node(entry: Any) -> ast.ClassDef | ast.FunctionDef:
    """Return the definition of a class or function in its file."""
    entry = inspect.unwrap(entry)
    tree = _parse(inspect.getsourcefile(entry) or "")
    return next(node for node in ast.walk(tree) if getattr(node, "name", None) == entry.__name__)


def _describe_alias(module: str, name: str) -> Iterator[str]:
    """Yield the definition and the docstring of the name of a type, from the module that defines it."""
    for node, after in pairwise(_parse(str(importlib.import_module(module).__file__)).body):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            yield from (_code(ast.unparse(node)), f"{ast.literal_eval(after.value)}\n")  # type: ignore[attr-defined]


def _describe(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    """Yield the signature and the docstring of a function; of a class, those of its public members, too."""
    if not isinstance(node, ast.ClassDef):
        yield from (_code(_signature(node)), *_text(node))
        return
    members = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and ast.unparse(each.target)[0] != "_"]
    made = next((each for each in members if each.name == "__init__"), None)
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    header = f"class {node.name}({bases}):" if bases and not made else f"class {node.name}:"
    lines = [f"    {line}" for each in fields for line in ast.unparse(each).splitlines()]
    yield _code(_signature(made, node.name) if made else "\n".join([header, *lines]) if lines else header.rstrip(":"))
    yield from (*_text(node), *(_text(made) if made else ()))
    for each in members:
        if not each.name.startswith("_") and ast.get_docstring(each):
            is_property = any("property" in ast.unparse(mark) for mark in each.decorator_list)
            shown = f"{each.name}: {_returned(each)}" if is_property else _signature(each)
            yield from (_code(shown), *_text(each))


def _signature(node: ast.FunctionDef, name: str = "") -> str:
    """Return `name(arguments) -> type`, with an argument on each line if one line is too short."""
    arguments = node.args
    for first in (arguments.posonlyargs, arguments.args):
        if first and first[0].arg in ("self", "cls"):
            del first[0]
            break
    returned = "" if name else f" -> {_returned(node)}"
    line = f"{name or node.name}({ast.unparse(arguments)}){returned}"
    if len(line) <= WIDTH:
        return line
    return f"{name or node.name}(\n{textwrap.indent(_argument_lines(arguments), '    ')}\n){returned}"


def _argument_lines(arguments: ast.arguments) -> str:
    """Return the arguments, one on each line."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    lines = [_argument(each, default) for each, default in zip(positional, defaults, strict=True)]
    if arguments.vararg or arguments.kwonlyargs:
        lines.append(f"*{ast.unparse(arguments.vararg) if arguments.vararg else ''}")
    lines += [_argument(*pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    lines += [f"**{ast.unparse(arguments.kwarg)}"] if arguments.kwarg else []
    return ",\n".join(lines)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def _returned(node: ast.FunctionDef) -> str:
    return ast.unparse(node.returns) if node.returns else "None"


def _text(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    if text := ast.get_docstring(node):
        yield f"{text.replace('<', '&lt;') if '`' not in text else text}\n"


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


if __name__ == "__main__":
    main(page(), PAGE)
