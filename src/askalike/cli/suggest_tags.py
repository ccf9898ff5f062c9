"""askalike suggest-tags: which tags a question should have."""

from dataclasses import asdict
from typing import Annotated

import typer

from askalike.archive.store import Archive
from askalike.cli._options import Directory, Json, RankerName, Settings, chosen, print_json, say_compiling
from askalike.curation.tags import QUERIES, K, Worth
from askalike.curation.tags import suggest as suggested
from askalike.curation.tags import worth as measured
from askalike.curation.thresholds import Share
from askalike.errors import SettingsError


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("suggest-tags")(suggest_tags)


def suggest_tags(
    directory: Directory,
    question: Annotated[str, typer.Argument(help="The question, as somebody asks it.")] = "",
    body: Annotated[str, typer.Option(help="The question's body.")] = "",
    k: Annotated[int, typer.Option("-k", min=1, help="How many tags.")] = K,
    ranker: RankerName = None,
    settings: Settings = None,
    evaluate: Annotated[bool, typer.Option("--evaluate", help="Measure it on tagged questions instead.")] = False,
    queries: Annotated[int, typer.Option(min=1, help="With --evaluate: how many questions.")] = QUERIES,
    seed: Annotated[int, typer.Option(help="With --evaluate: decides which.")] = 0,
    json: Json = False,
) -> None:
    """Suggest tags for a question: those of the questions most like it, each with its share of their say."""
    if bool(question.strip()) == evaluate:
        raise SettingsError("suggest-tags: expected a question, or --evaluate")
    with Archive.open(directory) as archive:
        say_compiling()
        built = chosen(archive, ranker, settings)
        if evaluate:
            _show_worth(measured(archive, built, queries, seed), built.name, json)
            return
        tags = suggested(archive, built, question, body, k)
    if json:
        print_json({"tags": [asdict(tag) for tag in tags], "model": built.name})
        return
    for tag in tags:
        print(f"{tag.share:4.0%}  {tag.name}")
    if not tags:
        print("nothing similar: no question of the archive is like this one")


def _show_worth(worth: Worth, name: str, json: bool) -> None:
    rows = {
        f"{name}, neighbours' tags": (worth.first, worth.found),
        "the most frequent tags": (worth.fashion_first, worth.fashion_found),
    }
    if json:
        shown = {what: {"P@1": _share(first), f"R@{K}": _share(found)} for what, (first, found) in rows.items()}
        print_json({"queries": worth.queries, **shown})
        return
    print(f"{worth.queries:,} questions with tags of their own, none of which finds itself; in brackets 95 % (Wilson)")
    for what, (first, found) in rows.items():
        print(f"{what:<36} P@1 {_text(first)}  R@{K} {_text(found)} of {found.n:,} tags")


def _share(share: Share) -> dict[str, object]:
    return {"value": share.value, "interval": share.interval, "n": share.n}


def _text(share: Share) -> str:
    low, high = share.interval
    return f"{share.value:.3f} [{low:.3f}, {high:.3f}]"
