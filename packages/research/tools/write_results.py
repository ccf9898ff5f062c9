"""Writes the results pages, docs/results/, and the tables of papers from experiments/reports/.

    python packages/research/tools/write_results.py    writes the files that differ from the reports

`--add runs/cs` first copies its report.json to experiments/reports/cs.json, `--add bench-data/cluster.json` does the
same for the results of a benchmark. `--check` writes nothing, and exits with 1 if a file differs.

No figure is typed by hand. A report keeps commit, data hash, hardware and command; texts of the archive are left out.
One with the default ranker also keeps the digest of what that ranker finds now, see `default_ranker.py`.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import default_ranker
from benchmark_tables import ROOT, benchmark_sections, fan_out_table, markdown_table
from papers_tables import fill_tables
from results_figures import draw_engines, draw_figures

from askalike.evaluation.evaluate import get_rule

REPORTS = ROOT / "experiments" / "reports"
PAGES = ROOT / "docs" / "results"
PAPERS = ROOT / "packages" / "learning" / "docs" / "papers.md"
SCALE = ROOT / "packages" / "opensearch" / "docs" / "opensearch.md"
SCRIPT = "packages/research/tools/write_results.py"
FAN_OUT = re.compile(rf"(<!-- fan-out: {re.escape(SCRIPT)} [^\n]*-->\n).*?(<!-- end of fan-out -->\n)", re.DOTALL)
"""The table of a page that is otherwise written by hand."""
TYPED_SECTIONS = {
    "typed-cs-known": "A title of the archive, which is to find its own question",
    "typed-cs-known-60": "The first 60 % of the words of such a title",
    "typed-cs-title": "The title of a duplicate",
    "typed-cs-title-60": "The first 60 % of the words of a duplicate's title",
    "typed-cs-duplicates": "A duplicate with its body",
}
"""Name of a report → heading of its table in the section of what people type."""
INSTALLED = "default with MiniLM"
"""The ranker of a new archive in English, which tables of what people get have first."""
HELD_SYSTEMS = (INSTALLED, "default", "MiniLM", "BM25")
HELD_REPORTS = {
    "held-askubuntu-titles": "Ask Ubuntu, titles",
    "held-stackfaq": "StackFAQ",
    "held-yahoo": "Yahoo! questions, candidates",
}
"""Name of a report on queries that choose nothing → heading of its column."""
SEEN_MARK = r"\*"
"""Behind the name of a system whose training data may have contained the queries."""
FOUND_SYSTEMS = (INSTALLED, "default", "distil", "MiniLM", "BM25")
FOUND_DATASETS = ("askubuntu-titles", "cs", "stackfaq")
FIRST_AND_TEN = "first hit right / among the first 10"
NO_BREAK = "\N{NO-BREAK SPACE}"

Report = Mapping[str, Any]

DATASETS = {
    "askubuntu-titles": ("Ask Ubuntu, titles", "Duplicates of Ask Ubuntu. Titles alone, in the whole archive."),
    "cs-titles": (
        "cs.stackexchange, titles",
        "A community's dump to May 2014 and its own duplicate links. Titles alone.",
    ),
    "cs": (
        "cs.stackexchange, titles and bodies",
        "A community's dump to May 2014 and its own duplicate links. Queries and questions have their bodies.",
    ),
    "stackfaq": (
        "StackFAQ",
        "125 FAQs about web applications (Karan and Šnajder 2018). Each paraphrase asks for its question, among all "
        "questions with their other phrasings.",
    ),
    "semeval2016": (
        "SemEval-2016 Task 3 B",
        "Forum questions, ten candidates each, measured by the rule of the official scorer (`semeval`).",
    ),
    "yahoo": ("Yahoo! questions", "The candidates of each query of Zhang et al. (2014), ranked again. Titles alone."),
}
"""Name of a report → heading and description of the data set, in the order of the pages."""


def main() -> int:
    """Write the pages, or list those that are out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", metavar="RUN", type=Path, nargs="+", default=[], help="folders, or JSON of benchmarks")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    digest = default_ranker.update() if any(path.is_dir() for path in options.add) else ""
    for path in options.add:
        added = json.loads((path / "report.json" if path.is_dir() else path).read_text("utf-8"))
        shortened = shorten(added) if path.is_dir() else [{k: v for k, v in row.items() if k != "ms"} for row in added]
        if path.is_dir() and default_ranker.RANKERS.keys() & {system["label"] for system in added["systems"]}:
            shortened = {**shortened, "default_ranker": digest}
        write_json(REPORTS / f"{path.name.removesuffix('.json')}.json", shortened)
    files = all_files()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
    stale += [path for path in existing_files() if path not in files]
    if options.check:
        print(
            *(
                f"{path.relative_to(ROOT)} differs; run python packages/research/tools/write_results.py"
                for path in stale
            ),
            sep="\n",
        )
        return 1 if stale else 0
    for path in stale:
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        else:
            path.unlink()
        print(path.relative_to(ROOT))
    return 0


def shorten(report: Report) -> Report:
    """Return a report without texts and ids of the archive, and without its folder's path; of seeds, the means."""
    comparisons = {
        measure: {**each, "pairs": [{k: v for k, v in pair.items() if k != "differing"} for pair in each["pairs"]]}
        for measure, each in report["comparisons"].items()
    }
    systems = [_with_seed_means(system) for system in report["systems"]]
    changed = {"archive": Path(report["archive"]).name, "systems": systems, "comparisons": comparisons}
    dropped = {"check", "samples"}
    return _round({k: v for k, v in (report | changed).items() if k not in dropped})


def _with_seed_means(system: Report) -> Report:
    """Return a system with the mean of each seed beside each measure's mean, instead of its evaluations by seed."""
    evaluations = system["seeds"].values()
    measures = {
        measure: {**value, "seeds": [evaluation["measures"][measure]["mean"] for evaluation in evaluations]}
        for measure, value in system["measures"].items()
    }
    return {k: v for k, v in system.items() if k != "seeds"} | {"measures": measures}


def _round(value: Any) -> Any:
    """Return the value with every number in it rounded to six decimals; a smaller one stays."""
    if isinstance(value, dict):
        return {key: _round(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_round(inner) for inner in value]
    return round(value, 6) or value if isinstance(value, float) else value


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    path.write_text(format_rows(value), encoding="utf-8")


def format_rows(value: Any) -> str:
    """Return JSON with a line for each row of a list, and for each entry of an object that is no such list."""

    def on_one_line(item: Any) -> str:
        return json.dumps(item, ensure_ascii=False)

    def is_table(item: Any) -> bool:
        return isinstance(item, list) and bool(item) and isinstance(item[0], dict)

    def lines(items: Iterable[Any]) -> str:
        return ",\n".join(map(on_one_line, items))

    if is_table(value):
        return f"[\n{lines(value)}\n]\n"
    entries = (
        f"{on_one_line(key)}: " + (f"[\n{lines(item)}\n]" if is_table(item) else on_one_line(item))
        for key, item in value.items()
    )
    return "{\n" + ",\n".join(entries) + "\n}\n"


def load(name: str) -> Any:
    """Return the content of a report; None if there is none."""
    path = REPORTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def all_files() -> dict[Path, str]:
    """Return every file that is generated from the reports, with its text."""
    reports = {name: report for name in DATASETS if (report := load(name))}
    drawings = draw_figures({DATASETS[name][0]: r for name, r in reports.items()}, load("calibration"))
    engines = draw_engines(load("lucene") or (), load("search") or ())
    files = {
        PAGES / "index.md": overview(reports, drawings),
        PAGES / "speed.md": speed_page(engines),
        PAPERS: fill_tables(PAPERS.read_text(encoding="utf-8"), load),
    }
    files |= {PAGES / f"{name}.svg": svg for name, (_, svg) in (drawings | {"engines": engines}).items()}
    if SCALE.exists() and (rows := load("fan_out")):
        table = fan_out_table(rows)
        files[SCALE] = FAN_OUT.sub(lambda found: f"{found[1]}{table}{found[2]}", SCALE.read_text(encoding="utf-8"))
    return files


def existing_files() -> Iterator[Path]:
    """Yield the files of the folder that this script writes, which exclude the page of negative results."""
    yield from (path for path in PAGES.glob("*") if path.name != "negative.md")


def leaderboard(name: str, report: Report) -> str:
    """Return the section of one data set."""
    title, what = DATASETS[name]
    measures = report["measures"]
    beats = {m: {s["name"]: s["beats"] for s in report["comparisons"][m]["systems"]} for m in measures}
    letters = {s["name"]: s["letter"] for s in report["comparisons"][measures[0]]["systems"]}
    head = ["", "ranker", *measures, "ms per query", "index", "may have seen it"]
    rows = []
    for system in sorted(report["systems"], key=lambda s: -s["measures"]["AP"]["mean"]):
        label = system["label"]
        values = [f"{interval(system, m)} {''.join(beats[m][label])}".rstrip() for m in measures]
        seen = "yes" if system["may_have_seen"] else "no"
        rows.append([letters[label], label, *values, *cost(system), seen])
    return "\n".join([
        f"### {title}", "", what, "",
        f"n = {report['queries']:,} queries of split `{report['split']}`.", "",
        *markdown_table(head, rows), "", describe_origin(report["provenance"]),
    ])  # fmt: skip


LETTERS = """\
Letters behind a value name the systems that are significantly worse (paired randomisation test, Holm over all pairs,
p < .05)."""
COLUMNS = """\
*ms per query* is processor time, with all queries ranked in one call. *index* is the size on disk. *may have seen it*
states whether the training data may have contained these questions."""
GENERATED = f"<!-- written by {SCRIPT} from experiments/reports/ -->"


def interval(system: Report, measure: str) -> str:
    """Return a mean in percent with its interval."""
    value = system["measures"][measure]
    percent = 1 if value["high"] > 1 else 100  # the rule semeval has RR in percent
    return f"{percent * value['mean']:.1f} [{percent * value['low']:.1f},{NO_BREAK}{percent * value['high']:.1f}]"


def cost(system: Report) -> tuple[str, str]:
    """Return the processor time per query and the size of the index, formatted; dashes for a run that was given."""
    if not system["cost"]:
        return "–", "–"
    ms, size = system["cost"]["ms_per_query"], system["cost"]["index_bytes"]
    return f"{ms:.2f}" if ms < 1 else f"{ms:.1f}", f"{size / 1e6:.1f}{NO_BREAK}MB"


def describe_origin(origin: Report) -> str:
    """Return where the figures of a table come from; the report has the versions, too."""
    what = f"commit `{origin['commit'][:8]}`, data `{origin['data'][:8]}`, {origin['hardware']}"
    return f"`{origin['command']}`, {what}."


def describe_training(reports: Iterable[Report]) -> Iterator[str]:
    """Yield what each system was trained on."""
    trained = {s["label"]: s["trained_on"] for report in reports for s in report["systems"] if s["trained_on"]}
    yield from (f"- {label}: {what}." for label, what in trained.items())


def describe_rules(reports: Mapping[str, Report]) -> Iterator[str]:
    """Yield how queries and hits count by each rule, with its data sets."""
    for rule in dict.fromkeys(report["rule"] for report in reports.values()):
        titles = [DATASETS[name][0] for name, report in reports.items() if report["rule"] == rule]
        yield f"- {get_rule(rule).describe()} ({'; '.join(titles)})"


def overview(reports: Mapping[str, Report], drawings: Mapping[str, tuple[str, str]]) -> str:
    """Return the page of the results: what is found, on what the defaults were chosen, all figures, backtests."""
    lines = ["# Results", "", GENERATED, "", INTRODUCTION]
    if reports.keys() >= set(FOUND_DATASETS):
        distilled = {name: load(f"distil-{name}") or {"systems": []} for name in FOUND_DATASETS}
        lines += ["", FOUND, "", found_table(reports, distilled), "", FOUND_NOTES]
    held = {name: load(name) for name in HELD_REPORTS}
    if all(held.values()):
        lines += ["", HELD, "", *held_section(held)]
    lines += ["", CHOICES, *markdown_table(("default", "chosen on"), CHOSEN_ON), "", CONSEQUENCES]
    lines += ["", *typed_section({name: report for name in TYPED_SECTIONS if (report := load(name))})]
    lines += keys_section(load("keys") or [])
    if stronger := {name: report for name in STRONGER_REPORTS if (report := load(name))}:
        lines += stronger_section(stronger)
    lines += ["", LEADERBOARDS, "", *overview_table(reports), "", "What the systems were trained on:", ""]
    lines += [*describe_training(reports.values()), "", OTHERS, "", RULES, "", *describe_rules(reports)]
    for name, report in reports.items():
        lines += ["", leaderboard(name, report)]
    for name, (text, _) in drawings.items():
        heading, _, caption = text.partition("\n")
        lines += ["", f"## {heading}", "", f"![{heading}]({name}.svg)", "", caption]
    if backtests := load("backtests"):
        lines += ["", *backtest_section(backtests, load("backtests-unlabelled") or [])]
    return "\n".join([*lines, ""])


def overview_table(reports: Mapping[str, Report]) -> Iterator[str]:
    """Yield the table of the best AP of each data set."""
    rows = []
    for name, report in reports.items():
        systems = {system["label"]: system for system in report["systems"]}
        best = max(systems.values(), key=lambda system: system["measures"]["AP"]["mean"])
        shown = [f"{interval(best, 'AP')} {best['label']}", *(interval(systems[x], "AP") for x in ("BM25", "default"))]
        rows.append((DATASETS[name][0], f"{report['queries']:,}", *shown))
    yield from markdown_table(("data set", "queries", "best AP", "BM25", "default"), rows)


def held_section(reports: Mapping[str, Report]) -> Iterator[str]:
    """Yield the tables of queries that choose nothing: hits; AP, and how much each system is above BM25."""
    yield systems_table(list(zip(HELD_REPORTS.values(), reports.values(), strict=True)), HELD_SYSTEMS)
    yield ""
    systems = [{s["label"]: s for s in report["systems"]} for report in reports.values()]
    heads = [f"{HELD_REPORTS[name]} (n = {report['queries']:,})" for name, report in reports.items()]
    rows = []
    for label in HELD_SYSTEMS:
        gains = [_gain_over_bm25(report, label) for report in reports.values()]
        rows.append((label, *(f"{interval(own[label], 'AP')}{gain}" for own, gain in zip(systems, gains, strict=True))))
    yield from markdown_table(("AP; above BM25", *heads), rows)
    yield ""
    commands = "; ".join(f"`{report['provenance']['command']}`" for report in reports.values())
    origin = next(iter(reports.values()))["provenance"]
    yield f"Commands: {commands}, commit `{origin['commit'][:8]}`, {origin['hardware']}."


def _gain_over_bm25(report: Report, label: str) -> str:
    """Return the difference to BM25 with its interval, in points; nothing for BM25."""
    pairs = report["comparisons"]["AP"]["pairs"]
    pair = next((p for p in pairs if (p["first"], p["second"]) == ("BM25", label)), None)
    if pair is None:
        return ""
    low, high = -100 * pair["high"], -100 * pair["low"]
    return f"; {-100 * pair['difference']:+.1f} [{low:.1f},{NO_BREAK}{high:.1f}]"


def speed_page(engines: tuple[str, str]) -> str:
    """Return the page of all measurements of speed. engines: the heading and the caption of its figure, and its SVG."""
    heading, _, caption = engines[0].partition("\n")
    lines = ["# Speed", "", GENERATED, "", SPEED_INTRODUCTION]
    lines += ["", f"## {heading}", "", f"![{heading}](engines.svg)", "", caption]
    for section in benchmark_sections(load):
        lines += ["", *section]
    return "\n".join([*lines, ""])


SPEED_INTRODUCTION = """\
`make bench` repeats every table on your machine. **Ratios transfer to other machines, seconds do not.** *Kernel* is the
search of an index alone, with queries that are words already. *End to end* is what a user runs, from texts to results.
Each line has a letter for its commit, its machine and the versions of what was measured."""
INTRODUCTION = """\
A script writes this page from the reports in `experiments/reports/`, which name commit, data, machine, versions and
command; `make results` measures them again. Figures are in percent; brackets hold 95 % intervals (bootstrap over
queries). More results:

- [Negative results](negative.md) lists the ideas that did not work.
- [Speed](speed.md) has the measurements of time and memory.
- [The papers](../../packages/learning/docs/papers.md) compares networks that are trained on labels with their papers.
- [What is shown](../calibration.md#what-is-shown): how often right hits are shown, and off-topic queries get none."""
FOUND = """\
## What is found

`default with MiniLM` is the ranker of a new archive in English, and `default` that of one without an encoder. `distil`
is a [lookup](../vectors.md#queries-by-lookup) learned from MiniLM:"""
FOUND_NOTES = """\
\\* may have seen these questions: MiniLM was trained on duplicates of Stack Exchange, and the training data of the
packaged vectors is not listed. No system was trained on these archives' labels, but [some of these
queries](#what-chose-the-defaults) chose the weights of the default rankers; for `distil`, they were the goal of several
attempts ([negative results](negative.md#trained-networks)). StackFAQ's index holds the other paraphrases of each
question.

BM25 and the other formulas [search two fields](../researcher.md#fields-and-rephrasings), title and whole text, and add
up both scores, so that a word of a title counts twice. The BM25 of papers is the row *BM25, one text*
[below](#what-people-type); where an archive has titles alone, both are the same."""
LEADERBOARDS = """\
## Leaderboards

Mean average precision (AP):"""
OTHERS = "The other systems have learned only the statistics of the archive."
RULES = f"""\
In the tables below, the best AP comes first. {LETTERS} {COLUMNS}

How queries and hits count:"""


CHOICES = """\
## What chose the defaults

The log of experiments says on what each default was chosen (`git show c9caed62^:experiments/LOG.md`):
"""
CHOSEN_ON = (
    (
        "weights of titles and texts (1 : 1.5)",
        "cs (known titles, titles of duplicates, whole questions), and ten pasted error messages",
    ),
    ("weight of answers, if they are searched (.5)", "Riverside, beer, ai"),
    (
        "weight of words beside vectors, and the rule by which strong lexical scores count more (power 7, exponent 3)",
        "Ask Ubuntu (dev and known titles), cs, beer, ai, StackFAQ, Riverside, SemEval dev and test",
    ),
    ("limits below which nothing is shown", "Ask Ubuntu, cs, beer, ai, StackFAQ, Riverside, and `experiments/people`"),
    ("recipes of networks", "`tenth/test` of Ask Ubuntu, `focus/dev` of MedQuAD, dev of SemEval"),
)
"""Each default, and what it was chosen on."""
CONSEQUENCES = """\
So the rows of default rankers on Ask Ubuntu dev, cs, StackFAQ and SemEval are of queries that helped to choose them. No
default was chosen on the Yahoo! questions. In StackFAQ, the index holds the other paraphrases of each question; among
the 125 questions alone, BM25 finds 64.7 % first (`tests/test_reference_figures.py`)."""
HELD = """\
## Queries that choose nothing

Parts of three archives, apart by cluster, on which no default, rule or threshold is chosen from now on
(`experiments/held.toml`; a test holds that no other experiment names them). Those of Ask Ubuntu are from its train
split, and no default was chosen on that before, either; the networks of [the
papers](../../packages/learning/docs/papers.md) train on them, so they cannot stand here. Those of StackFAQ were part
of earlier choices. MiniLM may have seen Ask Ubuntu's and StackFAQ's questions, and its training data has Yahoo!
answers. Alone, it ranks these whole titles at least as well as the default with it, which was also chosen for [what
people type](#what-people-type)."""


def backtest_section(rows: Sequence[Report], unlabelled: Sequence[Report]) -> Iterator[str]:
    """Yield what a bot would have said to the latest questions of each archive, and what if it had no labels."""
    yield from ("## Backtests", "", BACKTESTS, "", *outcomes_table(rows), "")
    yield from (f"- {row['archive']}: {_describe_guarantee(row)}" for row in rows)
    yield from ("", describe_command(rows))
    if unlabelled:
        yield from ("", "### Without labels", "", UNLABELLED, "", *outcomes_table(unlabelled), "")
        yield describe_command(unlabelled)


def describe_command(rows: Sequence[Report]) -> str:
    """Return the command, commit and machine of reports."""
    origin = rows[0]["provenance"]
    return f"Command: `{origin['command']}`, commit `{origin['commit']}`, {origin['hardware']}."


def outcomes_table(rows: Sequence[Report]) -> Iterator[str]:
    """Yield the table of what is graded the same, if that was measured, and of each threshold."""
    head = ("archive", "asked, older", "score", "comments", "right by labels", "asked before, found", "ms per search")
    lines = []
    for row in rows:
        dated = "" if row["is_dated"] else " (in the file's order)"
        asked = f"{row['questions']:,}, {row['older']:,}"
        for outcome in [*([row["same"]] if "same" in row else []), *row["thresholds"]]:
            mark = "*" if outcome["threshold"] == row["guaranteed"] else ""
            score = f"{row['scale']} {outcome['threshold']:.2g}{mark}" if outcome["threshold"] else "graded the same"
            shares = (_share(outcome[name]) for name in ("right", "found"))
            cells = (row["archive"] + dated, asked, score, str(outcome["comments"]), *shares, f"{row['median_ms']:.0f}")
            lines.append(cells)
    yield from markdown_table(head, lines)


def _describe_guarantee(row: Report) -> str:
    """Return what the threshold of a guarantee gives."""
    if row["scale"] == "similarity":
        return "no probabilities, by too few labels or as known titles would be worse, and so no guarantee."
    if row["guaranteed"] is None:
        return f"not even {100 * row['guarantee']:.0f} % can be guaranteed; a bot that asks for it stays silent."
    outcome = next(each for each in row["thresholds"] if each["threshold"] == row["guaranteed"])
    return (
        f"{100 * row['guarantee']:.0f} % is guaranteed from {row['guaranteed']:.2g} on; of the comments there, "
        f"{_share(outcome['right'])} are right by labels."
    )


def _share(proportion: Report) -> str:
    value, low, high = (f"{100 * share:.0f}" for share in (proportion["value"], *proportion["interval"]))
    return f"{proportion['count']} of {proportion['n']}: {value} % ({low}–{high})"


BACKTESTS = """\
Each of the latest questions is searched among those before it, by the default ranker, as
[`askalike backtest`](../../packages/research/docs/backtest.md) does. A comment has up to three suggestions, and is
right if the archive's labels say that one of them asks the same. People link only part of the duplicates, so more
comments are right than that. The thresholds are those at which 10, 5 and 2 % of the questions get a comment. `*`
marks the threshold of a guarantee, chosen by `calibrate --guarantee` on what is older: with 95 % confidence that share
of the first suggestions is right. Of 50, 30, 20, 10 and 5 % it is the highest that can be guaranteed."""


UNLABELLED = """\
The same with the ranker that an import installs, and no calibration: [grades](../calibration.md) decide, as in a bot
without a threshold. Labels only tell which comments are right."""


def found_table(reports: Mapping[str, Report], distilled: Mapping[str, Report]) -> str:
    """Return the table of three archives. distilled: the reports with the row distil, on the same queries."""
    joined = [
        (DATASETS[name][0], {**reports[name], "systems": distilled[name]["systems"] + reports[name]["systems"]})
        for name in FOUND_DATASETS
    ]
    return systems_table(joined, FOUND_SYSTEMS)


def systems_table(reports: Sequence[tuple[str, Report]], labels: Sequence[str]) -> str:
    """Return a table of the first hit, and the first ten. reports: each with the heading of its column.

    A row that a report lacks is left out. Of two systems with one label in a report, the later one counts.
    """
    heads = [f"{heading} (n = {report['queries']:,})" for heading, report in reports]
    systems = [{system["label"]: system for system in report["systems"]} for _, report in reports]
    rows = []
    for label in labels:
        measured = [own[label] for own in systems if label in own]
        if len(measured) == len(systems):
            name = f"**{label}**" if label.startswith("default") else label
            seen = SEEN_MARK if any(system["may_have_seen"] for system in measured) else ""
            cells = [f"{100 * s['measures']['Success@1']['mean']:.1f} / {interval(s, 'Success@10')}" for s in measured]
            rows.append((name + seen, *cells))
    return "\n".join(markdown_table((FIRST_AND_TEN, *heads), rows))


def typed_section(reports: Mapping[str, Report]) -> Iterator[str]:
    """Yield what people type: a table for each split, and where its figures come from."""
    yield TYPED_INTRODUCTION
    for name, report in reports.items():
        measures = report["measures"]
        systems = sorted(report["systems"], key=lambda system: not system["label"].startswith(INSTALLED))
        rows = [[s["label"], *(interval(s, measure) for measure in measures)] for s in systems]
        yield from ("", f"### {TYPED_SECTIONS[name]}", "")
        yield from (f"n = {report['queries']:,} queries of split `{report['split']}`.", "")
        yield from (*markdown_table(("system", *measures), rows), "", describe_origin(report["provenance"]))


def stronger_section(reports: Mapping[str, Report]) -> Iterator[str]:
    """Yield the section of a stronger encoder, with its row on each archive, and where the figures come from."""
    heads = [f"{STRONGER_REPORTS[name]} (n = {report['queries']:,})" for name, report in reports.items()]
    systems = [{system["label"]: system for system in report["systems"]} for report in reports.values()]
    rows = [
        (label, *(f"{interval(own[label], 'Success@1')}, {interval(own[label], 'Success@10')}" for own in systems))
        for label in systems[0]
    ]
    yield from ("", "### A stronger encoder", "", STRONGER_INTRODUCTION, "")
    yield from markdown_table(("Success@1, Success@10", *heads), rows)
    yield from ("", "\n\n".join(describe_origin(report["provenance"]) for report in reports.values()))


STRONGER_REPORTS = {
    "mpnet-cs": "cs: duplicates' titles",
    "mpnet-ai": "ai: 60 % of titles",
    "mpnet-askubuntu-titles-4000": "Ask Ubuntu: titles among 4,000",
}
"""Name of a report → heading of its column."""
STRONGER_INTRODUCTION = """\
MPNet (`sentence-transformers/all-mpnet-base-v2`) has five times as many parameters as MiniLM. Titles alone are
searched. Both have learned from titles of Stack Exchange. A sample of Ask Ubuntu has 300 queries of `dev`, what is
relevant to them, and other titles up to 4,000 (`experiments/smaller_beir.py`). MPNet takes 6 times the processor time
for each text ([speed](speed.md)), twice the index, and 439 MB instead of 22."""


def keys_section(rows: Sequence[Report]) -> Iterator[str]:
    """Yield the section of what is shown from key to key, and for slips."""
    if not rows:
        return
    by_kind: dict[str, list[Report]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    pairs = zip(by_kind.pop("keys"), by_kind.pop("words"), strict=True)
    typed = []
    for own, words in pairs:
        found = [str(own[f"found at {part} %"]) for part in KEY_PARTS]
        first = f"{words['first']} (n = {words['n']})", str(words["first with 's"])
        typed.append((own["archive"], f"{own['n']:,}", str(own["vanished in 1,000"]), *found, *first))
    heads = [f"{row['archive']}: found, silent" for row in next(iter(by_kind.values()))]
    slips = [(kind, *(f"{r['found']}, {r['silent']} (n = {r['n']})" if r["n"] else "–" for r in own))
             for kind, own in by_kind.items()]  # fmt: skip
    origin = rows[0]["provenance"]
    shares = [f"found at {part} %" for part in KEY_PARTS]
    yield from ("", "### Key by key", "", KEYS_INTRODUCTION, "")
    yield from markdown_table(
        ("archive", "keys", "vanished in 1,000", *shares, "complete word first", "with *'s*"), typed
    )
    yield from ("", SLIPS_INTRODUCTION, "")
    yield from markdown_table(("typed", *heads), slips)
    yield from ("", describe_origin(origin))


KEY_PARTS = (60, 80, 100)
KEYS_INTRODUCTION = """\
200 titles of each archive are typed key by key, with MiniLM, and five questions are shown at most. A list *vanishes* if
it is empty between two keys at which there is one. *Found*: the title's own question is among the five after that share
of its keys. *Complete word first*: a word of titles with which longer ones begin is typed alone, and no question
without it stands before one with it. The settings were chosen on ai. Three faults that beer showed were fixed, and one
that cs showed; the rule for *held* misspellings was chosen by reading those of all three."""
SLIPS_INTRODUCTION = """\
The same with slips. *Two words* are the rarest two of a title that another has, too; a name is a word of a title that
begins with a capital; *held* replaces a frequent word of a title by a misspelling that one or two questions have. Words
of three letters, and words that are another word by their slip, stay as they are."""
TYPED_INTRODUCTION = """\
## What people type

People type titles, often half of one, and the archive holds titles with bodies (cs.stackexchange, 6,118 questions).
By default, title and text are two fields; *one text* is title and body as one field, *titles alone* ignores bodies."""


if __name__ == "__main__":
    sys.exit(main())
