"""askalike models: what an archive has been taught."""

from dataclasses import asdict
from typing import Annotated

import typer

from askalike import rankers
from askalike.cli._options import Directory, JsonOption, print_json
from askalike.experiments import training
from askalike.store.archive import Archive


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(models)


def models(
    directory: Directory,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Delete this model.")] = None,
    json: JsonOption = False,
) -> None:
    """List an archive's trained models and which ranker is in service, or remove one."""
    with Archive.open(directory) as archive:
        if remove is not None:
            training.remove_model(archive, remove)
            print(f"removed {remove}")
            return
        found, serving = training.list_models(archive), rankers.active_ranker(archive)[0]
    if json:
        print_json([asdict(model) for model in found])
    for model in () if json else found:
        value = f"{model.measure} {100 * model.value:.1f} on dev" if model.value is not None else ""
        print(f"{model.name:<20}  {model.kind:<12}  {value:<24}  {model.size_bytes / 1e6:.1f} MB".rstrip())
    if not found and not json:
        print("no model; train one with: askalike train")
    if not json:
        print(f"in service: {serving} (where no --ranker is named)")
