"""askalike index, search, answer: similar questions and answers for a question."""

import time
from collections.abc import Iterable
from typing import Annotated, Literal

from rich.text import Text
from typer import Argument, Option

import askalike.cli._options as options
from askalike import rankers
from askalike.calibration.abstention import fit_abstention
from askalike.cli._output import open_console, print_remark, progress_bar, to_json
from askalike.cli._results import (
    NO_RESULT_MESSAGE,
    describe_removed,
    match_lines,
    matches_as_json,
    reply_as_json,
    reply_lines,
)
from askalike.core.errors import ArchiveError, InputError
from askalike.core.filters import Filter
from askalike.core.parallel import use_workers
from askalike.core.types import Question
from askalike.core.values import format_count, parse_memory
from askalike.search.answering.replies import DEFAULT_SURE, Reply
from askalike.store import Archive

QuestionText = Annotated[str, Argument(metavar="TEXT", help="The question, as a person would type it.")]
MAX_SHOWN_CHARACTERS = 40


def index_command(
    directory: options.Directory,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    rebuild: Annotated[bool, Option("--rebuild", help="Discard the old index first.")] = False,
    memory: Annotated[
        str | None,
        options.value("SIZE", "Memory limit of the build.", "2GB", parse=parse_memory),
    ] = None,
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
) -> None:
    """Build or update the index of a ranker.

    Examples:

    ```
    askalike index DIR
    askalike index DIR --ranker bm25 --fields title
    ```
    """
    with use_workers(jobs, ray), Archive.open(directory, engine) as archive, progress_bar("indexing") as report:
        chosen_ranker = rankers.create(ranker, options.parse_settings(settings, fields), archive)
        started = time.perf_counter()
        if rebuild:
            rankers.delete_indexes(chosen_ranker, archive.view())
        if memory:
            rankers.limit_memory(chosen_ranker, archive.view(), int(memory))
        rankers.open_current(chosen_ranker, archive.view(), report)
        fit_abstention(archive, chosen_ranker)
        took_s, n = time.perf_counter() - started, len(archive.view())
    print(f"{format_count(n, 'question')} indexed for {chosen_ranker.name} in {took_s:.1f} s")


def search_command(
    directory: options.Directory,
    text: QuestionText,
    k: Annotated[int, Option("-k", min=1, help="Number of hits.")] = 5,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    body: options.Body = "",
    tag: options.Tags = None,
    before: options.Before = None,
    after: options.After = None,
    without: options.Without = None,
    prefix: Annotated[bool, Option("--prefix", help="The last word may be unfinished.")] = False,
    min_probability: options.Probability = None,
    min_similarity: Annotated[
        float | None,
        options.share(
            "Minimum similarity for an uncalibrated ranker; 0 shows all that it finds.", "found from the archive"
        ),
    ] = None,
    explain: Annotated[
        bool, Option("--explain", help="Show which words matched, and how much each contributed.")
    ] = False,
    verbose: Annotated[
        bool, Option("--verbose", help="With --explain: name the rankers that the score comes from.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Find the questions most similar to a text.

    Term statistics are those of the whole archive, even with `--before`; use `replay` to go back in time.

    Examples:

    ```
    askalike search DIR "How do I reset my password?"
    askalike search DIR "reset pasw" --prefix --explain
    askalike search DIR "invoice" --tag billing --after 2024-01-01 --json
    ```
    """
    filter = Filter(tuple(tag or ()), after, before, tuple(without or ()))  # type: ignore[arg-type]
    with options.open_engine(directory, engine, ranker, settings, fields) as opened:
        started = time.perf_counter()
        matches = opened.search(
            text, k, body=body, filter=filter, prefix=prefix, min_probability=min_probability,
            min_similarity=min_similarity,
        )  # fmt: skip
        took_ms = (time.perf_counter() - started) * 1000
        explained = matches if explain else ()
        precedents = {m.id: opened.find_precedents(text, m.question, 1, body=body) for m in explained}
        advice, model = opened.calibration_advice, opened.ranker.name
        if not matches:
            _require_searchable(opened.archive, text + body)
    if advice:
        print_remark(f"askalike: {advice}")
    if json:
        print(to_json(matches_as_json(matches, model, took_ms)))
    elif matches:
        _print_lines(match_lines(matches, explain, precedents, verbose))
    else:
        print(NO_RESULT_MESSAGE)


def answer_command(
    directory: options.Directory,
    text: QuestionText,
    mode: Annotated[
        Literal["nearest", "generate", "auto", "grounded"],
        Option(
            help="nearest: stored answers. generate: a model's text. auto: either, by probability. grounded: text that "
            "an endpoint writes from stored answers."
        ),
    ] = "nearest",
    k: Annotated[int, Option("-k", min=1, help="Number of stored answers.")] = 3,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    body: options.Body = "",
    model: Annotated[
        str | None, options.value("NAME", "The model, of the archive or the endpoint, that writes the answer.")
    ] = None,
    endpoint: Annotated[
        str | None,
        options.url("With grounded: an OpenAI-compatible endpoint; its key is in ASKALIKE_ENDPOINT_KEY."),
    ] = None,
    min_probability: options.Probability = None,
    sure: Annotated[
        float | None,
        options.share("With auto: use a stored answer at or above this probability.", str(DEFAULT_SURE)),
    ] = None,
    json: options.Json = False,
) -> None:
    """Answer a question from the archive's stored answers.

    Examples:

    ```
    askalike answer DIR "Can I return a book late?"
    askalike answer DIR "Can I return a book late?" --mode auto --json
    ```
    """
    from askalike.search.answering.grounded import named_endpoint, write_grounded

    if mode == "grounded":
        named_endpoint(endpoint, model)  # raises before the archive is opened
    with options.open_engine(directory, engine, ranker, settings, fields) as opened:
        started = time.perf_counter()
        if mode == "grounded":
            stored = opened.answer(text, "nearest", k, body=body, min_probability=min_probability)
            reply = write_grounded(Question("", text, body), stored, named_endpoint(endpoint, model)).reply
        else:
            reply = opened.answer(text, mode, k, body=body, min_probability=min_probability, sure=sure, model=model)
        took_ms = (time.perf_counter() - started) * 1000
        advice = opened.calibration_advice
        if reply.abstained:
            _require_searchable(opened.archive, text + body)
    if advice:
        print_remark(f"askalike: {advice}")
    if json:
        print(to_json(reply_as_json(reply, opened.ranker.name, took_ms)))
    elif reply.text is None:
        print(f"no answer: {_describe_lack(reply)}")
    else:
        _print_lines(reply_lines(reply))


def _describe_lack(reply: Reply) -> str:
    if reply.removed:
        return f"{describe_removed(reply)}; see the stored answers with --mode nearest"
    if reply.model:
        return f"{reply.model} found none in the stored answers; see them with --mode nearest"
    return "the archive has none to a question like this one"


def _require_searchable(archive: Archive, text: str) -> None:
    """Raise InputError or ArchiveError if a search for the text could not have found anything."""
    if not any(c.isalnum() for c in text):
        expected = "no word in it to search for; expected letters or digits, as in: my card"
        raise InputError(f"{text[:MAX_SHOWN_CHARACTERS]!a}: {expected}")
    if not len(archive.view()):
        advice = f"add some: askalike import READER PATH -o {archive.path}"
        raise ArchiveError(f"{archive.path}: holds no question; {advice}")


def _print_lines(lines: Iterable[Text]) -> None:
    console = open_console()
    for line in lines:
        console.print(line, soft_wrap=True)
