"""askalike suggest-tags: which tags a question should have."""

from dataclasses import asdict
from typing import Annotated

import typer

from askalike.cli._options import (
    Directory,
    JsonOption,
    RankerOption,
    SettingsOption,
    announce_compilation,
    build_ranker,
)
from askalike.cli._output import format_proportion, print_json
from askalike.cli._results import NO_RESULT_MESSAGE
from askalike.errors import SettingsError
from askalike.evaluation.proportion import BinomialProportion
from askalike.moderation.tags import MAX_QUERIES, K, TagEvaluation, evaluate_suggestions, suggest_tags
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("suggest-tags")(suggest_tags_command)


def suggest_tags_command(
    directory: Directory,
    question: Annotated[str, typer.Argument(help="The question, as somebody asks it.")] = "",
    body: Annotated[str, typer.Option(help="The question's body.")] = "",
    k: Annotated[int, typer.Option("-k", min=1, help="How many tags.")] = K,
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    evaluate: Annotated[bool, typer.Option("--evaluate", help="Measure it on tagged questions instead.")] = False,
    queries: Annotated[int, typer.Option(min=1, help="With --evaluate: how many questions.")] = MAX_QUERIES,
    seed: Annotated[int, typer.Option(help="With --evaluate: decides which.")] = 0,
    json: JsonOption = False,
) -> None:
    """Suggest tags for a question: those of the questions most like it, each with its share of their say."""
    if bool(question.strip()) == evaluate:
        raise SettingsError("suggest-tags: expected a question, or --evaluate")
    with Archive.open(directory) as archive:
        announce_compilation()
        built = build_ranker(archive, ranker, settings)
        if evaluate:
            _print_evaluation(evaluate_suggestions(archive, built, queries, seed), built.name, json)
            return
        tags = suggest_tags(archive, built, question, body, k)
    if json:
        print_json({"tags": [asdict(tag) for tag in tags], "model": built.name})
        return
    for tag in tags:
        print(f"{tag.share:4.0%}  {tag.name}")
    if not tags:
        print(NO_RESULT_MESSAGE)


def _print_evaluation(evaluation: TagEvaluation, ranker_name: str, json: bool) -> None:
    rows = {
        f"{ranker_name}, neighbours' tags": (evaluation.precision_at_1, evaluation.recall_at_k),
        "the most frequent tags": (evaluation.baseline_precision_at_1, evaluation.baseline_recall_at_k),
    }
    if json:
        shown = {
            what: {"P@1": _proportion_as_dict(precision), f"R@{K}": _proportion_as_dict(recall)}
            for what, (precision, recall) in rows.items()
        }
        print_json({"queries": evaluation.query_count, **shown})
        return
    n = f"{evaluation.query_count:,}"
    print(f"{n} questions with tags of their own, none of which finds itself; in brackets 95 % (Wilson)")
    for what, (precision, recall) in rows.items():
        print(f"{what:<36} P@1 {format_proportion(precision)}  R@{K} {format_proportion(recall)} of {recall.n:,} tags")


def _proportion_as_dict(proportion: BinomialProportion) -> dict[str, object]:
    return {"value": proportion.value, "interval": proportion.interval, "n": proportion.n}
