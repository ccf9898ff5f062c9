"""askalike serve, keys, feedback, purge: archives over HTTP, who may use them, and what people asked and said."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from askalike.cli._options import Assignments, Directory, EngineUrl, Json, RankerName, announce_compilation
from askalike.cli._output import print_remark, to_json
from askalike.config import parse_assignments, validate_settings
from askalike.store import Archive
from askalike.store.feedback import export_feedback
from askalike.store.keys import SCOPES, create_key, list_keys, revoke_key
from askalike.store.query_log import delete_older_than

ORIGIN_HELP = "A site such as https://forum.example, whose pages may show this key to anybody."
keys_command = Typer(help="Who may use an archive over HTTP.", no_args_is_help=True)
feedback_command = Typer(help="What people said of the questions that were shown to them.", no_args_is_help=True)


def serve_command(
    directories: Annotated[list[Path], Argument(metavar="DIR…", help="The archives' directories.")],
    host: Annotated[str, Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port; 0 takes one that is free.")] = 8080,
    ranker: RankerName = None,
    settings: Assignments = None,
    engine: EngineUrl = None,
    workers: Annotated[int, Option(help="How many processes answer.")] = 1,
    allow_origin: Annotated[
        list[str] | None, Option(metavar="ORIGIN", help="A site whose pages may ask; may be repeated.")
    ] = None,
    option: Annotated[
        list[str] | None, Option("--option", metavar="KEY=VALUE", help="A setting of the service; see service.md")
    ] = None,
) -> None:
    """Serve archives over HTTP: similar questions as they are typed, for people and other programs."""
    from askalike.service import require_extra
    from askalike.service.settings import ServiceSettings

    require_extra()
    values = {"archives": directories, "host": host, "port": port, "ranker": ranker, "engine": engine}
    values |= {"workers": workers}
    values |= {"allow_origins": allow_origin or [], "values": parse_assignments(settings or [])}
    chosen = validate_settings(ServiceSettings, values | parse_assignments(option or []), "serve")
    announce_compilation()
    from askalike.service.processes.supervisor import supervise

    supervise(chosen, lambda where: print_remark(f"askalike: serving at {where}"))


@keys_command.command("create")
def create_key_command(
    directory: Directory,
    scope: Annotated[str, Option(help=f"What it is good for: {', '.join(SCOPES)}.")] = "read",
    note: Annotated[str, Option(help="Whose it is, for your own list.")] = "",
    origin: Annotated[str | None, Option(help=ORIGIN_HELP)] = None,
) -> None:
    """Make a key and print it. It is shown this once."""
    with Archive.open(directory) as archive:
        print(create_key(archive, scope, note, origin))


@keys_command.command("list")
def list_keys_command(directory: Directory, json: Json = False) -> None:
    """List the keys, without their secrets."""
    with Archive.open(directory) as archive:
        keys = list_keys(archive)
    if json:
        print(to_json([asdict(key) for key in keys]))
        return
    for key in keys:
        state = f"revoked {key.revoked_at}" if key.revoked_at else "in force"
        notes = "  ".join(filter(None, (key.origin, key.note)))
        print(f"{key.id}  {key.scope:<8}  {key.created_at}  {state}  {notes}".rstrip())


@keys_command.command("revoke")
def revoke_key_command(directory: Directory, id: Annotated[str, Argument(help="The key's id, as listed.")]) -> None:
    """Make a key good for nothing, at once."""
    with Archive.open(directory) as archive:
        revoke_key(archive, id)
    print(f"{id} is revoked")


@feedback_command.command("export")
def export_feedback_command(
    directory: Directory, output: Annotated[Path, Option("-o", "--output", help="The CSV file of pairs.")]
) -> None:
    """Write every verdict as a labelled pair, which `import pairs` reads: 1 asks the same, 0 does not."""
    with Archive.open(directory) as archive:
        print(f"{output}: {export_feedback(archive, output)} pairs")


def purge_command(
    directory: Directory,
    days: Annotated[float, Option(min=0, help="What is older than so many days goes; 0 is everything.")],
) -> None:
    """Delete what people asked over HTTP, and their feedback. Questions of the archive stay."""
    with Archive.open(directory) as archive:
        questions, feedback = delete_older_than(archive, days)
    print(f"{questions} questions asked and {feedback} pieces of feedback deleted")
