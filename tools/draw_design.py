#!/usr/bin/env python3
"""Draw the figures of docs/design.md from the code, and list its components there. Needs only the standard library.

docs/assets/layers.svg: the components of docs/layers.toml, with arrows measured from the imports.
docs/assets/search.svg: the path of a search. Each name in it is looked up in the source, and whether the preceding code
uses it; a missing name or use is an error.

--check writes nothing, and exits with 1 if a file is out of date.
"""

import ast
import sys
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "askalike"
SOURCE = ROOT / "src" / PACKAGE
TABLE = ROOT / "docs" / "layers.toml"
DESIGN = ROOT / "docs" / "design.md"
ASSETS = ROOT / "docs" / "assets"
COMPONENTS_BEGIN = "<!-- components: written by tools/draw_design.py -->\n"
COMPONENTS_END = "<!-- end of components -->\n"

FOUNDATIONS = 2
"""The lowest layers, from which everything imports: drawn without arrows."""

FONTS = """\
  text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
  .name { font-size: 14px; font-weight: 600; }
  .code { font-size: 12.5px; font-weight: 600; }
  .code, .module { font-family: ui-monospace, SFMono-Regular, "DejaVu Sans Mono", monospace; }
  .head { font-size: 14px; font-weight: 600; }
  .note { font-size: 11.5px; }
  .module { font-size: 10.5px; }
  .arrow { fill: none; stroke-width: 1.5; marker-end: url(#tip); }
"""
COLOURS = """\
  .name, .code {{ fill: {ink}; }} .head, .note, .module {{ fill: {soft}; }}
  .paper {{ fill: {paper}; }} .band {{ fill: {band}; }}
  .box {{ fill: {box}; stroke: {edge}; }} .data {{ fill: {data}; stroke: {data_edge}; }}
  .arrow {{ stroke: {line}; }} .tip {{ fill: {line}; }}
"""
LIGHT = {
    "ink": "#1f2638", "soft": "#555f75", "paper": "#ffffff", "band": "#f1f3f9", "box": "#ffffff", "edge": "#b9c2dc",
    "data": "#fff4d9", "data_edge": "#d9a93a", "line": "#5f76c4",
}  # fmt: skip
DARK = {
    "ink": "#eceffa", "soft": "#aab4cb", "paper": "#1b1e29", "band": "#242838", "box": "#2f3549", "edge": "#4f5a7c",
    "data": "#403723", "data_edge": "#c69a3c", "line": "#8ea2ec",
}  # fmt: skip
STYLE = FONTS + COLOURS.format(**LIGHT) + "  @media (prefers-color-scheme: dark) {\n" + COLOURS.format(**DARK) + "  }\n"
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0.5 L8 4 L0 7.5 z"/></marker>'
)


class DriftError(Exception):
    """A figure has a name or a use that the code does not have."""


def main() -> None:
    """Write the files that differ, or with --check exit with 1 if there are any."""
    try:
        outdated = [
            path for path, text in wanted_files().items() if not path.exists() or path.read_text("utf-8") != text
        ]
    except DriftError as error:
        sys.exit(f"tools/draw_design.py: {error}")
    if "--check" in sys.argv[1:]:
        if outdated:
            names = ", ".join(path.relative_to(ROOT).as_posix() for path in outdated)
            sys.exit(f"not what the code says: {names}; run: tools/draw_design.py")
        return
    for path in outdated:
        path.write_text(wanted_files()[path], "utf-8")
        print("written:", path.relative_to(ROOT))


def wanted_files() -> dict[Path, str]:
    """Return the text of each file as it should be. Raises DriftError if the code lacks a name or its use."""
    layers = tomllib.loads(TABLE.read_text("utf-8"))["layer"]
    return {
        ASSETS / "layers.svg": draw_layers(layers, read_imports()),
        ASSETS / "search.svg": draw_search(Code()),
        DESIGN: list_components(layers, DESIGN.read_text("utf-8")),
    }


def list_components(layers: Sequence[Mapping[str, str]], page: str) -> str:
    """Return the page with its list of components updated, the highest layer first."""
    before, found, rest = page.partition(COMPONENTS_BEGIN)
    _, ended, after = rest.partition(COMPONENTS_END)
    if not (found and ended):
        raise DriftError(f"docs/design.md lacks the line {(COMPONENTS_BEGIN if not found else COMPONENTS_END).strip()}")
    rows = [
        f"| `{_component_path(component)}` | {text} |"
        for layer in reversed(layers)
        for component, text in layer.items()
    ]
    return f"{before}{found}\n| component | what it is |\n|---|---|\n" + "\n".join(rows) + f"\n\n{ended}{after}"


def _component_path(component: str) -> str:
    return f"{component}.py" if (SOURCE / f"{component}.py").exists() else f"{component}/"


# ------------------------------------------------------------------------------------------------ the layers


def read_imports() -> dict[str, set[str]]:
    """Return component → the other components that its files import, including imports in functions and for types."""
    used: dict[str, set[str]] = defaultdict(set)
    for file in sorted(SOURCE.rglob("*.py")):
        component = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            used[component] |= {name.split(".")[1] for name in _imported(node) if name.startswith(f"{PACKAGE}.")}
    return {component: components - {component} for component, components in used.items() if component != "__init__"}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
        components = [alias.name for alias in node.names if (SOURCE / alias.name).exists()]
        return [f"{PACKAGE}.{name}" for name in components]  # papers also import public names
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def draw_layers(layers: Sequence[Mapping[str, str]], imports: Mapping[str, set[str]]) -> str:
    """Return the figure of the layers, the highest on top."""
    level = {component: n for n, layer in enumerate(layers) for component in layer}
    if unknown := imports.keys() - level.keys() | set().union(*imports.values()) - level.keys():
        raise DriftError(f"docs/layers.toml lacks {', '.join(sorted(unknown))}")
    edges = sorted((a, b) for a, b in _direct_edges(imports) if level[b] >= FOUNDATIONS)
    chart = LayerChart([list(layer) for layer in layers], edges, level)
    return chart.draw()


def _direct_edges(imports: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield the imports that are not implied by chains of other imports."""

    def reachable(component: str) -> set[str]:
        return set(imports.get(component, ())).union(*(reachable(other) for other in imports.get(component, ())))

    for component, others in imports.items():
        for other in others:
            if not any(other in reachable(between) for between in others - {other}):
                yield component, other


class LayerChart:
    """A layered drawing (Sugiyama et al. 1981): long arrows get a place in each layer that they cross."""

    WIDTH, BAND, GAP, TOP, BOX = 760, 44, 24, 62, 30

    def __init__(self, layers: list[list[str]], edges: list[tuple[str, str]], level: Mapping[str, int]) -> None:
        self.layers = layers
        self.rows = [list(components) for components in layers]
        self.paths: list[list[str]] = []
        for source, target in edges:
            between = [f"{source}>{target}@{n}" for n in range(level[source] - 1, level[target], -1)]
            for name, n in zip(between, range(level[source] - 1, level[target], -1), strict=True):
                self.rows[n].append(name)
            self.paths.append([source, *between, target])
        self.above: dict[str, list[str]] = defaultdict(list)
        self.below: dict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            for upper, lower in pairwise(path):
                self.below[upper].append(lower)
                self.above[lower].append(upper)
        self._order()
        self._place()

    def _order(self) -> None:
        """Order rows by the mean place of their neighbours, up and down in turn; keep the one with fewest crossings."""
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(24):
            down = sweep % 2 == 0
            for row in reversed(self.rows) if down else self.rows:
                places = {name: place for other in self.rows for place, name in enumerate(other)}
                near = self.above if down else self.below
                mean = {n: sum(places[m] for m in near[n]) / len(near[n]) if near[n] else places[n] for n in row}
                row.sort(key=mean.__getitem__)
            if (crossings := self._crossings()) < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _crossings(self) -> int:
        count = 0
        places = {name: place for row in self.rows for place, name in enumerate(row)}
        for row in self.rows:
            steps = [(places[a], places[b]) for a in row for b in self.below[a]]
            count += sum((a - c) * (b - d) < 0 for n, (a, b) in enumerate(steps) for c, d in steps[:n])
        return count

    def _place(self) -> None:
        """Set the x of every name: as near to its neighbours' as the widths in its row allow."""
        self.x = {n: float(x) for row in self.rows for n, x in zip(row, self._spread(row), strict=True)}
        for sweep in range(60):
            for row in reversed(self.rows) if sweep % 2 == 0 else self.rows:
                wishes = []
                for name in row:
                    near = [*self.above[name], *self.below[name]]
                    wishes.append(sum(self.x[m] for m in near) / len(near) if near else self.x[name])
                self.x.update(zip(row, self._separate(row, wishes), strict=True))
        edges = [self.x[n] + side * self._width(n) / 2 for path in self.paths for n in path for side in (-1, 1)]
        shift = self.WIDTH / 2 - (min(edges) + max(edges)) / 2
        self.x |= {name: self.x[name] + shift for path in self.paths for name in path}

    def _spread(self, row: Sequence[str]) -> list[float]:
        offsets = self._offsets(row)
        return [self.WIDTH / 2 - offsets[-1] / 2 + offset for offset in offsets]

    def _offsets(self, row: Sequence[str]) -> list[float]:
        offsets = [0.0]
        for left, right in pairwise(row):
            gap = 22 if ">" not in left + right else 12
            offsets.append(offsets[-1] + (self._width(left) + self._width(right)) / 2 + gap)
        return offsets

    def _separate(self, row: Sequence[str], wishes: Sequence[float]) -> list[float]:
        """Return the places nearest to the wishes, in least squares, with the given order and distances (isotonic)."""
        offsets = self._offsets(row)
        blocks: list[list[float]] = []  # the sum of the wishes in a block, and their number
        for wish, offset in zip(wishes, offsets, strict=True):
            blocks.append([wish - offset, 1])
            while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
                total, number = blocks.pop()
                blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + number]
        low = 20 + self._width(row[0]) / 2
        high = self.WIDTH - 20 - self._width(row[-1]) / 2 - offsets[-1]
        starts = [total / number for total, number in blocks for _ in range(int(number))]
        return [min(max(start, low), high) + offset for start, offset in zip(starts, offsets, strict=True)]

    @staticmethod
    def _width(name: str) -> float:
        return 4 if ">" in name else 28 + 8 * len(name)

    def draw(self) -> str:
        """Return the figure as SVG."""
        height = self.TOP + len(self.layers) * (self.BAND + self.GAP)
        parts = [
            _text(20, 28, "An arrow: files of one component import from the other.", "head"),
            _text(20, 46, "Arrows that follow from others are left out, and those to the two lowest layers.", "note"),
        ]
        ys = [self.TOP + (len(self.layers) - 1 - n) * (self.BAND + self.GAP) for n in range(len(self.layers))]
        parts += [_rect(12, y, self.WIDTH - 24, self.BAND, "band", 8) for y in ys]
        parts += [self._arrow(path, ys) for path in self.paths]
        inset = (self.BAND - self.BOX) / 2
        for names, y in zip(self.layers, ys, strict=True):
            for name in names:
                width = self._width(name)
                parts.append(_rect(self.x[name] - width / 2, y + inset, width, self.BOX, "box", 6))
                parts.append(_text(self.x[name], y + self.BAND / 2 + 5, name, "name", middle=True))
        return _svg(self.WIDTH, height - self.GAP + 16, "The components of askalike as layers", parts)

    def _arrow(self, path: Sequence[str], ys: Sequence[float]) -> str:
        """Return an arrow through the places between its ends: a curve between layers, a line across each layer."""
        level = {name: n for n, row in enumerate(self.rows) for name in row}
        inset = (self.BAND - self.BOX) / 2
        x = [self.x[path[0]] + self._port(path[0], path[1], self.below[path[0]])]
        x += [self.x[name] for name in path[1:-1]]
        x.append(self.x[path[-1]] + self._port(path[-1], path[-2], self.above[path[-1]]))
        y = ys[level[path[0]]] + self.BAND - inset
        commands = [f"M{x[0]:.1f} {y:.1f}"]
        for place, name in enumerate(path[1:], 1):
            last = place == len(path) - 1
            to = ys[level[name]] + (inset - 1 if last else 0)
            half = f"{(y + to) / 2:.1f}"
            commands.append(f"C{x[place - 1]:.1f} {half} {x[place]:.1f} {half} {x[place]:.1f} {to:.1f}")
            y = to
            if not last:
                y += self.BAND
                commands.append(f"V{y:.1f}")
        return f'<path class="arrow" d="{" ".join(commands)}"/>'

    def _port(self, name: str, other: str, others: Sequence[str]) -> float:
        """Return the distance from a box's middle of the arrow from or to another place."""
        ordered = sorted(others, key=lambda n: (self.x[n], n))
        step = min(14.0, (self._width(name) - 28) / max(len(ordered) - 1, 1))
        return (ordered.index(other) - (len(ordered) - 1) / 2) * step


# ---------------------------------------------------------------------------------------- the path of a search


class Code:
    """Looks names up in the source. A place is `module:name`, such as `store.view:View.docids`."""

    def __init__(self) -> None:
        self._trees: dict[str, ast.Module] = {}

    def find(self, place: str) -> ast.AST:
        """Return the definition of a class, method or function. Raises DriftError if there is none."""
        module, _, dotted = place.partition(":")
        node: ast.AST = self._tree(module)
        for name in dotted.split("."):
            body = getattr(node, "body", [])
            kinds = (ast.ClassDef, ast.FunctionDef)
            try:
                node = next(child for child in body if isinstance(child, kinds) and child.name == name)
            except StopIteration:
                raise DriftError(f"the picture of a search names {place}, which the code has not") from None
        return node

    def fields(self, place: str) -> list[str]:
        """Return the names of a dataclass's fields, in order."""
        body = getattr(self.find(place), "body", [])
        return [n.target.id for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]

    def require_use(self, caller: str, place: str) -> None:
        """Raise DriftError unless the code of `caller` uses the last name in `place`."""
        name = place.partition(":")[2].rpartition(".")[2]
        used = {getattr(n, "attr", getattr(n, "id", None)) for n in ast.walk(self.find(caller))}
        if name not in used:
            raise DriftError(f"the picture of a search says that {caller} uses {name}, which it does not")

    def _tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            path = SOURCE.joinpath(*module.split("."))
            file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
            if not file.exists():
                raise DriftError(f"the picture of a search names the module {module}, which is not there")
            self._trees[module] = ast.parse(file.read_text("utf-8"))
        return self._trees[module]


@dataclass(frozen=True)
class Step:
    """A box of the figure."""

    column: int
    place: str
    caller: str
    """The code that uses it; this is checked."""
    text: str = ""
    """What it does; empty for data, whose fields are shown."""
    begins: bool = False
    """Whether there is no arrow from the box above."""
    returns: bool = False
    """Whether the arrow points to the box on its left, which takes its result."""


RETRIEVER = "search.archive_retriever:ArchiveRetriever"
TOGETHER = f"{RETRIEVER}._search"
SEARCHER = "rankers._searcher:Searcher"
ROWS: tuple[tuple[Step, ...], ...] = (
    (Step(0, "search.archive_retriever:SearchRequest", f"{RETRIEVER}.search"),),
    (Step(0, f"{RETRIEVER}.search_batch", f"{RETRIEVER}.search",
          "Takes many requests. Those with equal options are searched for together."),),
    (Step(0, f"{RETRIEVER}._open", f"{RETRIEVER}.search_batch",
          "Opens the ranker, unless it is open and nothing has changed."),
     Step(1, "rankers:follow", f"{RETRIEVER}._open",
          "Applies the archive's changes to the index, unless another process is doing so."),
     Step(2, "rankers._ranker:Ranker.open", f"{RETRIEVER}._open",
          "Returns a Searcher: the index as it was last committed, in mapped files.")),
    (Step(0, "calibration.calibration:Calibration.retrieval_depth", TOGETHER,
          "How many to retrieve, so that no probability depends on k."),
     Step(1, "rankers._queries_and_results:resolve", TOGETHER,
          "Once for the batch: plain text, language, spelling, what each must not find.", begins=True),
     Step(2, "store.view:View.docids", "rankers._queries_and_results:find_excluded", "Here ids become docids.")),
    (Step(0, "search.readings:retrieve_readings", TOGETHER,
          "A polite or long text has several readings; their scores become one.", begins=True),
     Step(1, f"{SEARCHER}.retrieve", "rankers._searcher:retrieve",
          "Returns Retrieved. A hybrid: each part retrieves, each scores the union, weighted sum."),
     Step(2, "index.lexical.searcher:PostingsSearcher.search", "rankers.lexical:LexicalSearcher.retrieve",
          "A dense ranker encodes the queries and asks VectorSearcher instead.")),
    (Step(0, "search.select:select_candidates", TOGETHER,
          "Originals instead of duplicates; a grade for each; only what is related."),
     Step(1, "rankers._queries_and_results:Retrieved", "search.select:select_candidates", "Frozen.", returns=True),
     Step(2, "store.view:View.questions_by_docid", "search.select:select_candidates",
          "Texts are read once. Here docids become ids.")),
    (Step(0, "search.explain:explain_shown", TOGETHER, "Why each hit that is shown was found; only on request."),
     Step(1, f"{SEARCHER}.explain", "rankers._searcher:explain_retrieved",
          "The words that query and document share, with their contributions.", returns=True)),
    (Step(0, "search.archive_retriever:SearchResult", TOGETHER),
     Step(1, "core.hits:SearchHit", "search.archive_retriever:_make_hit", begins=True)),
)  # fmt: skip
"""Rows from top to bottom. Column 0: the archive retriever, 1: the ranker, 2: what a ranker reads."""
COLUMNS = ("The archive retriever", "The ranker", "What it reads")


def draw_search(code: Code) -> str:
    """Return the figure of a search."""
    margin, width, gap = 12, 232, 20
    left = [margin + n * (width + gap) for n in range(len(COLUMNS))]
    boxes, arrows = [_text(x, 30, name, "head") for x, name in zip(left, COLUMNS, strict=True)], []
    y, bottoms = 46.0, dict.fromkeys(range(len(COLUMNS)), 0.0)
    for row in ROWS:
        notes = [_notes(code, step) for step in row]
        height = 48 + 15 * max(map(len, notes))
        for step, lines in zip(row, notes, strict=True):
            code.require_use(step.caller, step.place)
            boxes += _box(left[step.column], y, width, height, step, lines)
            if bottoms[step.column] and not step.begins and step.column < 2:
                arrows.append(f"M{left[step.column] + 24} {bottoms[step.column]:g} V{y - 1:g}")
            if any(other.column == step.column - 1 for other in row):
                start, end = left[step.column] - gap, left[step.column] - 1
                start, end = (end + 1, start + 1) if step.returns else (start, end)
                arrows.append(f"M{start} {y + height / 2:g} H{end}")
            bottoms[step.column] = y + height
        y += height + 18
    lines = [f'<path class="arrow" d="{path}"/>' for path in arrows]
    return _svg(margin + left[-1] + width, y - 4, "The path of a search", [*lines, *boxes])


def _notes(code: Code, step: Step) -> list[str]:
    return textwrap.wrap(step.text or ", ".join(code.fields(step.place)), 32)


def _box(x: float, y: float, width: float, height: float, step: Step, lines: Sequence[str]) -> list[str]:
    module, _, name = step.place.partition(":")
    parts = [_rect(x, y, width, height, "box" if step.text else "data", 6)]
    parts += [_text(x + 10, y + 18, module, "module"), _text(x + 10, y + 34, name, "code")]
    return parts + [_text(x + 10, y + 52 + 15 * n, line, "note") for n, line in enumerate(lines)]


# -------------------------------------------------------------------------------------------------------- SVG


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img">\n<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n{TIP}\n'
        f"{_rect(0.5, 0.5, width - 1, height - 1, 'paper', 10)}\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _rect(x: float, y: float, width: float, height: float, kind: str, radius: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'


def _text(x: float, y: float, text: str, kind: str, *, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(text)}</text>'


if __name__ == "__main__":
    main()
