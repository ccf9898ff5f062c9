"""askalike dedupe, gaps, suggest-tags, drafts: work for moderators."""

from dataclasses import asdict
from math import comb
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

import askalike.cli.options as options
from askalike.cli.command import Excludes, Needs, rules
from askalike.cli.output import NO_RESULT_MESSAGE, format_proportion, progress_bar, to_json
from askalike.core.errors import InputError, SettingsError
from askalike.core.parallel import use_workers
from askalike.core.values import format_count
from askalike.moderation.dedupe import DEFAULT_PROBABILITY, DedupeReport, dedupe
from askalike.moderation.drafts import MIN_QUESTIONS, find_drafts
from askalike.moderation.gaps import REASON_LABELS, find_gaps, get_gap, ignore_gap, restore_gap
from askalike.moderation.pairs import MIN_DECISIONS
from askalike.moderation.tags import MAX_QUERIES, K, TagEvaluation, evaluate_suggestions, suggest_tags
from askalike.store import Archive
from askalike.store.drafts import Draft, accept_draft, find_source_answer, list_drafts, reject_draft
from askalike.text.clean import readable_text
from askalike.text.passages import extract_snippet

MIN_LABELLED_PAIRS = 20
"""Minimum number of labelled pairs at which their share of duplicates is reported as the precision."""
MAX_ANSWER_CHARACTERS = 300


def dedupe_command(
    directory: options.Directory,
    output: Annotated[Path, options.output("FILE", "The CSV file of clusters.")],
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    min_probability: Annotated[float, options.share("Minimum probability of a pair.")] = DEFAULT_PROBABILITY,
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
) -> None:
    """Find clusters of duplicates and propose an original for each.

    Needs no calibration; decisions on pairs in the queue make the probabilities better. An interrupted run resumes with
    the same command.

    Examples:

    ```
    askalike dedupe DIR -o clusters.csv
    askalike dedupe DIR -o clusters.csv --min-probability 0.8
    ```
    """
    bar = progress_bar("looking for duplicates")
    with use_workers(jobs, ray), Archive.open(directory, engine) as archive, bar as report:
        built = options.build_ranker(archive, ranker, settings, fields)
        result = dedupe(archive, built, output, min_probability=min_probability, progress=report)
    members = sum(len(proposal.members) for proposal in result.proposals)
    clusters = f"{format_count(len(result.proposals), 'cluster')} of {format_count(members, 'question')}"
    print(f"{clusters} at a probability of {result.threshold}: {output}")
    if not result.curve.is_sure:
        decided = format_count(result.curve.decisions, "decision")
        print(f"probabilities are less sure: {decided} on pairs so far, of {MIN_DECISIONS}")
    if result.proposals:
        print(_format_precision(result))
    if recall := result.link_recall.n:
        print(f"{format_proportion(result.link_recall)} of {recall:,} duplicate links lie within a cluster")


def _format_precision(report: DedupeReport) -> str:
    """Return the share of the labelled pairs that are right, or that too few are labelled."""
    labelled = report.pair_precision
    pairs = format_count(sum(comb(len(proposal.members), 2) for proposal in report.proposals), "pair")
    if labelled.n < MIN_LABELLED_PAIRS:
        return f"how many are right is not known: {labelled.n} of {pairs} labelled, too few to tell"
    share = format_proportion(labelled)
    return f"{share} of {labelled.n:,} pairs between labelled questions are known duplicates ({pairs} in all)"


def gaps_command(
    directory: options.Directory,
    k: Annotated[int, Option("-k", min=1, help="Number of gaps.")] = 20,
    min_probability: Annotated[
        float, options.share("Also count queries whose best hit is less probable than this.")
    ] = 0.0,
    ignored: Annotated[bool, Option("--ignored", help="Show the ignored gaps instead.")] = False,
    ignore: Annotated[str | None, options.value("ID", "Ignore a gap from now on.")] = None,
    restore: Annotated[str | None, options.value("ID", "Show an ignored gap again.")] = None,
    json: options.Json = False,
) -> None:
    """List questions that people ask and the archive does not answer.

    Similar queries form one gap. The most frequent come first.

    Examples:

    ```
    askalike gaps DIR
    askalike gaps DIR --min-probability 0.5 --json
    ```
    """
    with Archive.open(directory) as archive:
        if ignore:
            ignore_gap(archive, get_gap(archive, ignore, min_probability=min_probability))
        if restore:
            restore_gap(archive, get_gap(archive, restore, min_probability=min_probability))
        gaps = find_gaps(archive, min_probability=min_probability, ignored=ignored)[:k]
    if json:
        print(to_json({"gaps": [asdict(gap) for gap in gaps]}))
        return
    for gap in gaps:
        why = ", ".join(f"{times} × {REASON_LABELS[name]}" for name, times in sorted(gap.reasons.items()))
        print(f"{gap.count:5}  {gap.title}\n       {gap.id}  {gap.last_asked_at[:10]}  {why}")
        for phrasing in gap.examples[1:]:
            print(f"       {phrasing.count:5}  {phrasing.title}")
    if not gaps:
        print("no ignored gaps" if ignored else "no gaps")


@rules(Needs("sample seed", "evaluate"), Excludes("body k", "evaluate"))
def suggest_tags_command(
    directory: options.Directory,
    question: Annotated[str, Argument(metavar="TEXT", help="The question.")] = "",
    body: options.Body = "",
    k: Annotated[int, Option("-k", min=1, help="Number of tags.")] = K,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    evaluate: Annotated[
        bool, Option("--evaluate", help="Measure the suggestions on tagged questions instead.")
    ] = False,
    sample: Annotated[int, Option(min=1, help="With --evaluate: the number of questions.")] = MAX_QUERIES,
    seed: Annotated[int, Option(min=0, help="With --evaluate: seed of the sample.")] = 0,
    json: options.Json = False,
) -> None:
    """Suggest tags for a question, from those of the most similar questions.

    Examples:

    ```
    askalike suggest-tags DIR "How do I reset my password?"
    askalike suggest-tags DIR --evaluate
    ```
    """
    if bool(question.strip()) == evaluate:
        raise SettingsError("suggest-tags: expected a question, or --evaluate")
    with Archive.open(directory, engine) as archive, progress_bar("indexing") as progress:
        built = options.build_ranker(archive, ranker, settings, fields)
        if evaluate:
            _print_evaluation(evaluate_suggestions(archive, built, sample, seed, progress), built.name, json)
            return
        tags = suggest_tags(archive, built, question, body, k)
    if json:
        print(to_json({"tags": [asdict(tag) for tag in tags], "ranker": built.name}))
    else:
        print("\n".join(f"{tag.share:4.0%}  {tag.name}" for tag in tags) or NO_RESULT_MESSAGE)


def _print_evaluation(evaluation: TagEvaluation, ranker_name: str, json: bool) -> None:
    rows = {
        f"{ranker_name}, neighbours' tags": (evaluation.precision_at_1, evaluation.recall_at_k),
        "the most frequent tags": (evaluation.baseline_precision_at_1, evaluation.baseline_recall_at_k),
    }
    n = evaluation.query_count
    if json:
        names = "neighbours", "most_frequent"
        shown = [{"P@1": p.as_dict(), f"R@{K}": recall.as_dict()} for p, recall in rows.values()]
        print(to_json({"queries": n, "ranker": ranker_name, **dict(zip(names, shown, strict=True))}))
        return
    print(
        f"{format_count(n, 'question')} with tags of their own, none of which finds itself; in brackets 95 % (Wilson)"
    )
    for what, (precision, recall) in rows.items():
        print(f"{what:<36} P@1 {format_proportion(precision)}  R@{K} {format_proportion(recall)} of {recall.n:,} tags")


@rules(
    Excludes("reject", "accept"),
    Needs("title answer", "accept"),
    Excludes("min_questions json", "accept"),
    Excludes("min_questions json", "reject"),
)
def drafts_command(
    directory: options.Directory,
    accept: Annotated[
        int | None, Option(min=1, metavar="N", help="Make this draft a question of the archive, with its answer.")
    ] = None,
    reject: Annotated[int | None, Option(min=1, metavar="N", help="Never propose this draft again.")] = None,
    title: Annotated[str | None, Option(help="With --accept: another title.")] = None,
    answer: Annotated[Path | None, options.value("FILE", "With --accept: a text file with another answer.")] = None,
    min_questions: Annotated[int, Option(min=2, help="Minimum number of questions that ask the same.")] = MIN_QUESTIONS,
    json: options.Json = False,
) -> None:
    """Propose FAQ entries: frequent solved questions that have no entry yet.

    A draft is visible only to moderators until one accepts it.

    Examples:

    ```
    askalike drafts DIR
    askalike drafts DIR --accept 3 --title "How do I renew my card?"
    askalike drafts DIR --reject 4
    ```
    """
    with Archive.open(directory) as archive:
        if accept is not None:
            text = _read_answer(answer) if answer else None
            question = accept_draft(archive, accept, title=title, answer=text)
            print(f"draft {accept} is the question {question.id}: {question.title}")
            return
        if reject is not None:
            reject_draft(archive, reject)
            print(f"draft {reject} is rejected")
            return
        n_new = find_drafts(archive, min_questions)
        drafts = list_drafts(archive)
        sources = {draft.number: find_source_answer(archive, draft) for draft in drafts}
    if json:
        print(to_json([asdict(draft) for draft in drafts]))
        return
    for draft in drafts:
        print(f"{draft.number}. {draft.title}  ({_describe_origin(draft)})")
        for rephrasing in draft.rephrasings:
            print(f"    also: {rephrasing}")
        answer_text = readable_text(draft.answer, draft.markup)
        print(f"    answer: {extract_snippet(answer_text, (), MAX_ANSWER_CHARACTERS)}")
        if (source := sources[draft.number]) and (
            origin := [*filter(None, (source.author, source.license, source.url))]
        ):
            print(f"    from: {', '.join(origin)}")
    print(f"{format_count(len(drafts), 'open draft')}, {n_new} of them new")


def _describe_origin(draft: Draft) -> str:
    if draft.origin:
        return f"thread {draft.origin}{', ' if draft.url else ''}{draft.url or ''}"
    return f"{format_count(len(draft.source_ids), 'question')}: {', '.join(draft.source_ids[:5])}"


def _read_answer(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); expected a text file with an answer") from None
    if not text:
        raise InputError(f"{path}: is empty; expected an answer")
    return text
