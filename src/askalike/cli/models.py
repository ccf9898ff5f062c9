"""askalike models: the trained models of an archive."""

from dataclasses import asdict
from typing import Annotated

import typer

from askalike import rankers
from askalike.cli._options import Directory, JsonOption
from askalike.cli._output import print_json
from askalike.experiments.training import list_models, remove_model
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(models)


def models(
    directory: Directory,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Delete this model.")] = None,
    json: JsonOption = False,
) -> None:
    """List an archive's trained models and which ranker is in service, or remove one."""
    with Archive.open(directory) as archive:
        if remove is not None:
            remove_model(archive, remove)
            print(f"removed {remove}")
            return
        trained, active = list_models(archive), rankers.active_ranker(archive)[0]
    if json:
        print_json([asdict(model) for model in trained])
    for model in () if json else trained:
        value = f"{model.measure} {100 * model.value:.1f} on dev" if model.value is not None else ""
        print(f"{model.name:<20}  {model.kind:<12}  {value:<24}  {model.size_bytes / 1e6:.1f} MB".rstrip())
    if not trained and not json:
        print("no model; train one with: askalike train")
    if not json:
        print(f"in service: {active} (where no --ranker is named)")
