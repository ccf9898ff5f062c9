"""askalike keys create, list, revoke."""

from typing import Annotated

import typer

from askalike.cli._options import Directory, JsonOption, print_json
from askalike.store import keys as kept
from askalike.store.archive import Archive

group = typer.Typer(help="Who may use an archive over HTTP.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(group, name="keys")


@group.command()
def create(
    directory: Directory,
    scope: Annotated[str, typer.Option(help=f"What it is good for: {', '.join(kept.SCOPES)}.")] = "read",
    note: Annotated[str, typer.Option(help="Whose it is, for your own list.")] = "",
    origin: Annotated[
        str | None, typer.Option(help="A site such as https://forum.example, whose pages may show this key to anybody.")
    ] = None,
) -> None:
    """Make a key and print it. It is shown this once."""
    with Archive.open(directory) as archive:
        print(kept.create_key(archive, scope, note, origin))


@group.command(name="list")
def listing(directory: Directory, json: JsonOption = False) -> None:
    """List the keys, without their secrets."""
    with Archive.open(directory) as archive:
        found = kept.list_keys(archive)
    if json:
        print_json([{name: getattr(key, name) for name in key.__slots__} for key in found])
        return
    for key in found:
        state = f"revoked {key.revoked_at}" if key.revoked_at else "in force"
        told = "  ".join(filter(None, (key.origin, key.note)))
        print(f"{key.id}  {key.scope:<8}  {key.created_at}  {state}  {told}".rstrip())


@group.command()
def revoke(directory: Directory, id: Annotated[str, typer.Argument(help="The key's id, as listed.")]) -> None:
    """Make a key good for nothing, at once."""
    with Archive.open(directory) as archive:
        kept.revoke_key(archive, id)
    print(f"{id} is revoked")
