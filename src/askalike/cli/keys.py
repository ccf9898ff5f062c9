"""askalike keys create, list, revoke: who may use an archive over HTTP."""

from dataclasses import asdict
from typing import Annotated

import typer

from askalike.cli._options import Directory, JsonOption
from askalike.cli._output import print_json
from askalike.store import Archive
from askalike.store.keys import SCOPES, create_key, list_keys, revoke_key

group = typer.Typer(help="Who may use an archive over HTTP.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="keys")


@group.command()
def create(
    directory: Directory,
    scope: Annotated[str, typer.Option(help=f"What it is good for: {', '.join(SCOPES)}.")] = "read",
    note: Annotated[str, typer.Option(help="Whose it is, for your own list.")] = "",
    origin: Annotated[
        str | None, typer.Option(help="A site such as https://forum.example, whose pages may show this key to anybody.")
    ] = None,
) -> None:
    """Make a key and print it. It is shown this once."""
    with Archive.open(directory) as archive:
        print(create_key(archive, scope, note, origin))


@group.command(name="list")
def listing(directory: Directory, json: JsonOption = False) -> None:
    """List the keys, without their secrets."""
    with Archive.open(directory) as archive:
        keys = list_keys(archive)
    if json:
        print_json([asdict(key) for key in keys])
        return
    for key in keys:
        state = f"revoked {key.revoked_at}" if key.revoked_at else "in force"
        notes = "  ".join(filter(None, (key.origin, key.note)))
        print(f"{key.id}  {key.scope:<8}  {key.created_at}  {state}  {notes}".rstrip())


@group.command()
def revoke(directory: Directory, id: Annotated[str, typer.Argument(help="The key's id, as listed.")]) -> None:
    """Make a key good for nothing, at once."""
    with Archive.open(directory) as archive:
        revoke_key(archive, id)
    print(f"{id} is revoked")
