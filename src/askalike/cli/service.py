"""askalike serve, mcp, keys, feedback, purge: archives over HTTP and for assistants; what they receive."""

import inspect
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

import askalike.cli.options as options
from askalike.cli.command import DIRECTORY_VARIABLE, Excludes, Needs, rules
from askalike.cli.install import compile_all
from askalike.cli.output import print_remark, to_json
from askalike.core.config import validate_settings
from askalike.core.errors import SettingsError
from askalike.core.values import format_count, parse_origin
from askalike.service import REQUIRED_MODULES, require_extra
from askalike.service.settings import ServiceSettings
from askalike.store import Archive
from askalike.store.feedback import export_feedback
from askalike.store.keys import Scope, create_key, list_keys, revoke_key
from askalike.store.retention import MAX_KEEP_DAYS, delete_containing, delete_expired, delete_older_than, set_keep_days

ORIGIN_HELP = "A site, such as https://forum.example, whose pages may publish this key."
keys_command = Typer(
    help="""Create, list and revoke the keys of an archive's HTTP interface.

    Examples:

    ```
    askalike keys create DIR --scope read
    askalike keys list DIR
    ```
    """,
    no_args_is_help=True,
)
feedback_command = Typer(
    help="""Export people's verdicts on the hits that they saw.

    Examples:

    ```
    askalike feedback export DIR -o feedback.csv
    askalike feedback export --help
    ```
    """,
    no_args_is_help=True,
)


def serve_command(
    directories: Annotated[
        list[Path], Argument(metavar="DIR", envvar=DIRECTORY_VARIABLE, help="The archives' directories.")
    ],
    host: Annotated[str, options.value("ADDRESS", "The address to listen at.")] = "127.0.0.1",
    port: options.Port = 8080,
    ranker: options.RankerName = None,
    settings: Annotated[list[str] | None, options.assignment("A setting of the ranker, or of the service")] = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    workers: Annotated[int, Option(min=1, help="Number of worker processes.")] = 1,
    allow_origin: Annotated[
        list[str] | None,
        options.value("ORIGIN", "A site whose pages may send requests; may be repeated.", parse=parse_origin),
    ] = None,
) -> None:
    """Serve archives over HTTP: pages, a JSON API and a widget.

    Examples:

    ```
    askalike serve DIR
    askalike serve DIR OTHER_DIR --port 8000 --workers 2 --set require_keys=true
    askalike serve DIR --ranker bm25 --allow-origin https://forum.example
    ```
    """
    require_extra()
    values = {"archives": directories, "host": host, "port": port, "ranker": ranker, "engine": engine}
    values |= {"workers": workers, "allow_origins": allow_origin or []}
    assigned = options.parse_settings(settings, fields)
    service_values = {key: value for key, value in assigned.items() if key in ServiceSettings.model_fields}
    ranker_values = {key: value for key, value in assigned.items() if key not in service_values}
    chosen = validate_settings(ServiceSettings, values | {"values": ranker_values} | service_values, "serve")
    if options.announce_compilation():
        compile_all()
    from askalike.service.processes.supervisor import supervise

    supervise(chosen)


def _describe_service_settings() -> str:
    fields = ServiceSettings.model_fields
    rows = (f"- `{name}`: {fields[name].description}" for name in ServiceSettings.assignable())
    return "\n".join(("Settings of the service, for `--set`:", "", *rows))


serve_command.__doc__ = f"{inspect.cleandoc(serve_command.__doc__ or '')}\n\n{_describe_service_settings()}"


@keys_command.command("create")
def create_key_command(
    directory: options.Directory,
    scope: Annotated[Scope, Option(help="What the key permits; each scope includes those before it.")] = "read",
    note: Annotated[str, Option(help="A note for your own list.")] = "",
    origin: Annotated[str | None, options.value("ORIGIN", ORIGIN_HELP, parse=parse_origin)] = None,
) -> None:
    """Create a key and print it; it is never shown again.

    Examples:

    ```
    askalike keys create DIR --scope read --note "the forum"
    askalike keys create DIR --origin https://forum.example
    ```
    """
    with Archive.open(directory) as archive:
        print(create_key(archive, scope, note, origin))


@keys_command.command("list")
def list_keys_command(directory: options.Directory, json: options.Json = False) -> None:
    """List the keys, without their secrets.

    Examples:

    ```
    askalike keys list DIR
    askalike keys list DIR --json
    ```
    """
    with Archive.open(directory) as archive:
        keys = list_keys(archive)
    if json:
        print(to_json([asdict(key) for key in keys]))
        return
    for key in keys:
        state = f"revoked {key.revoked_at}" if key.revoked_at else "active"
        notes = "  ".join(filter(None, (key.origin, key.note)))
        print(f"{key.id}  {key.scope:<8}  {key.created_at}  {state}  {notes}".rstrip())


@keys_command.command("revoke")
def revoke_key_command(
    directory: options.Directory,
    id: Annotated[str, Argument(metavar="ID", help="The key's id, as `keys list` shows it.")],
) -> None:
    """Revoke a key at once.

    Examples:

    ```
    askalike keys revoke DIR 3f9a2c
    askalike keys list DIR
    ```
    """
    with Archive.open(directory) as archive:
        revoke_key(archive, id)
    print(f"{id} is revoked")


@feedback_command.command("export")
def export_feedback_command(
    directory: options.Directory, output: Annotated[Path, options.output("FILE", "The CSV file of pairs.")]
) -> None:
    """Export every verdict as a labelled pair: 1 asks the same, 0 does not.

    `askalike import pairs` reads the file.

    Examples:

    ```
    askalike feedback export DIR -o feedback.csv
    askalike import pairs feedback.csv -o DIR
    ```
    """
    with Archive.open(directory) as archive:
        print(f"{output}: {format_count(export_feedback(archive, output), 'pair')}")


@rules(Excludes("text", "days"))
def purge_command(
    directory: options.Directory,
    days: Annotated[
        float | None, Option(min=0, max=MAX_KEEP_DAYS, help="Delete entries older than this many days; 0 deletes all.")
    ] = None,
    text: Annotated[str | None, Option(help="Delete entries that contain this text, in any case.")] = None,
    keep_days: Annotated[
        float | None,
        Option(
            min=0,
            max=MAX_KEEP_DAYS,
            show_default="as before, else 90",
            help="Keep entries for this many days from now on; 0 stores none.",
        ),
    ] = None,
) -> None:
    """Delete what people posted: queries, feedback and drafts; the archive's questions stay.

    An accepted draft is a question of the archive.

    Examples:

    ```
    askalike purge DIR --days 90
    askalike purge DIR --text "ann@example.com"
    askalike purge DIR --keep-days 30
    ```
    """
    has_text = bool(text and text.strip())
    if sum((days is not None, has_text, keep_days is not None)) != 1:
        raise SettingsError("expected one of --days, --text and --keep-days; see: askalike purge --help")
    with Archive.open(directory) as archive:
        if keep_days is not None:
            set_keep_days(archive, keep_days)
            deleted = delete_expired(archive)
        else:
            deleted = delete_containing(archive, text) if text else delete_older_than(archive, days or 0)
    asked, drafts = format_count(deleted.queries, "question"), format_count(deleted.drafts, "draft")
    print(f"{asked} asked, {format_count(deleted.feedback, 'piece')} of feedback and {drafts} deleted")
    if not deleted.is_overwritten:
        print_remark(
            "another process reads the archive, so that it may still be in archive.sqlite-wal; repeat this soon"
        )


@rules(Needs("host port require_keys", "http"))
def mcp_command(
    directory: options.Directory,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    http: Annotated[bool, Option("--http", help="Listen over HTTP instead of standard input and output.")] = False,
    host: Annotated[str, options.value("ADDRESS", "With --http: the address to listen at.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="With --http: the port; 0 picks a free one.")] = 8081,
    require_keys: Annotated[
        bool, Option("--require-keys", help="With --http: require a key on loopback, too.")
    ] = False,
) -> None:
    """Serve an archive's read-only tools to assistants over the Model Context Protocol.

    The tools: search, fetch and similar_questions.

    Examples:

    ```
    askalike mcp DIR
    askalike mcp DIR --http --port 8081
    ```
    """
    require_extra("mcp", "mcp", ("mcp", *REQUIRED_MODULES))
    from askalike.mcp import create_server, serve_http, serve_stdio

    with options.open_retriever(directory, engine, ranker, settings, fields) as opened:
        server = create_server(opened)
        if http:
            serve_http(server, directory, host, port, require_keys, lambda url: print_remark(f"askalike: MCP at {url}"))
        else:
            serve_stdio(server)
