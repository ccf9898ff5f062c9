"""askalike index, search, rank, answer: similar questions and answers, for one question or for many."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.text import Text
from typer import Argument, Option

import askalike.cli.options as options
from askalike import rankers
from askalike.calibration.abstention import fit_abstention
from askalike.cli.command import Excludes, Implied, Needs, rules
from askalike.cli.output import NO_RESULT_MESSAGE, open_console, print_remark, progress_bar, to_json
from askalike.core import registry
from askalike.core.errors import ArchiveError, InputError
from askalike.core.filters import Filter
from askalike.core.hits import Explanation, SearchHit
from askalike.core.parallel import use_workers
from askalike.core.records import Question
from askalike.core.values import format_count, parse_memory
from askalike.search.explain import corrected_words, sum_fields
from askalike.search.precedents import Precedent
from askalike.search.replies import DEFAULT_SURE, AnswerSource, Reply
from askalike.store import Archive
from askalike.store.records import require_tags
from askalike.text.language import detect_foreign_language
from askalike.text.passages import extract_snippet, find_formulas

QuestionText = Annotated[str, Argument(metavar="TEXT", help="The question, as a person would type it.")]
MAX_SHOWN_CHARACTERS = 40
SPLIT_PREFIX = "split:"


@rules(Excludes("memory", "engine"))
def index_command(
    directory: options.Directory,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    rebuild: Annotated[bool, Option("--rebuild", help="Discard the old index first.")] = False,
    memory: Annotated[
        str | None, options.value("SIZE", "Memory limit of the build.", "2GB", parse=parse_memory)
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
        took_s = time.perf_counter() - started
        n = len(archive.view())
    print(f"{format_count(n, 'question')} indexed for {chosen_ranker.name} in {took_s:.1f} s")


@rules(Needs("verbose", "explain"), implied=Implied("--explain", "words", ("full",)))
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
        Literal["words", "full"] | None,
        Option(
            metavar="[full]",
            show_default="not explained",
            help="Show which words matched, and how much each contributed. full: exactly, which takes longer.",
        ),
    ] = None,
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
    with options.open_retriever(directory, engine, ranker, settings, fields) as opened:
        started = time.perf_counter()
        matches = opened.search(
            text, k, body=body, filter=filter, prefix=prefix, min_probability=min_probability,
            min_similarity=min_similarity, explain="full" if explain == "full" else True,
        )  # fmt: skip
        took_ms = (time.perf_counter() - started) * 1000
        explained = matches if explain else ()
        precedents = {m.id: opened.find_precedents(text, m.question, 1, body=body) for m in explained}
        advice, model = opened.calibration_advice, opened.ranker.name
        if not matches:
            _require_searchable(opened.archive, text + body)
            advice = advice or _advise_on_language(opened.searcher(), text)
    if advice:
        print_remark(f"askalike: {advice}")
    if json:
        print(to_json(matches_as_json(matches, model, took_ms)))
    elif matches:
        _print_lines(match_lines(matches, bool(explain), precedents, verbose))
    else:
        print(NO_RESULT_MESSAGE)


def rank_command(
    directory: options.Directory,
    queries: Annotated[str, options.value("FILE", "A file of JSON lines, or split:NAME for a split of the archive.")],
    output: Annotated[Path, options.output("FILE", "The run to write, in TREC's format.")],
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    k: options.Depth = 100,
    candidates: Annotated[
        Path | None, options.value("FILE", "JSON lines with the documents to rank for each query.")
    ] = None,
    tag: options.Tags = None,
    before: options.Before = None,
    after: options.After = None,
    without: options.Without = None,
) -> None:
    """Rank the archive's questions for many queries, as a TREC run.

    Examples:

    ```
    askalike rank DIR --queries split:test -o run.trec
    askalike rank DIR --queries queries.jsonl -o bm25.trec --ranker bm25 -k 1000
    ```
    """
    from askalike.evaluation.trec import write_run
    from askalike.labels.splits import identify_queries, load_split
    from askalike.readers import read_candidates, read_queries

    filter = Filter(tuple(tag or ()), after, before, tuple(without or ()))  # type: ignore[arg-type]
    with Archive.open(directory, engine) as archive, progress_bar("indexing") as report:
        is_split = queries.startswith(SPLIT_PREFIX)
        split = load_split(archive, queries.removeprefix(SPLIT_PREFIX)) if is_split else None
        questions = split.queries if split else identify_queries(archive.view(), read_queries(Path(queries)))
        pools = read_candidates(candidates) if candidates else split.candidates if split else None
        built = options.build_ranker(archive, ranker, settings, fields)
        searcher = rankers.open_current(built, archive.view(), report)
        require_tags(archive, tag or ())
        run = rankers.rank(searcher, questions, k, candidates=pools, filter=filter or None)
    write_run(run, output, built.label)
    print(f"{format_count(len(run), 'query')} ranked by {built.label}: {output}")


@rules(
    Needs("sure", "mode", ("auto",)),
    Needs("endpoint", "mode", ("grounded",)),
    Needs("model", "mode", ("generate", "auto", "grounded")),
    Needs("ranker settings fields min_probability", "mode", ("nearest", "auto", "grounded")),
)
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
        str | None, options.url("With grounded: an OpenAI-compatible endpoint; its key is in ASKALIKE_ENDPOINT_KEY.")
    ] = None,
    min_probability: options.Probability = None,
    sure: Annotated[
        float | None, options.share("With auto: use a stored answer at or above this probability.", str(DEFAULT_SURE))
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
    from askalike.search.grounded import named_endpoint, write_grounded

    if mode == "grounded":
        named_endpoint(endpoint, model)  # raises before the archive is opened
    with options.open_retriever(directory, engine, ranker, settings, fields) as opened:
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
    if reply.matches:
        return "the archive has none to the same question; see related ones: askalike search"
    return "the archive has none to a question like this one"


def _require_searchable(archive: Archive, text: str) -> None:
    """Raise InputError or ArchiveError if a search for the text could not have found anything."""
    if not any(c.isalnum() for c in text):
        expected = "no word in it to search for; expected letters or digits, as in: my card"
        raise InputError(f"{text[:MAX_SHOWN_CHARACTERS]!a}: {expected}")
    if not len(archive.view()):
        advice = f"add some: askalike import READER PATH -o {archive.path}"
        raise ArchiveError(f"{archive.path}: holds no question; {advice}")


def _advise_on_language(searcher: rankers.Searcher, text: str) -> str | None:
    """Return what would find questions in another language than the text's; None if the text is in the same."""
    own = searcher.own_languages
    language = None if searcher.bridges_languages or not own else detect_foreign_language(text, own)
    if not language:
        return None
    compares = "an encoder of many languages compares them: pip install 'askalike[multilingual]'"
    return f"the text seems to be in {language}, the questions are in {' and '.join(own)}; {compares}"


def _print_lines(lines: Iterable[Text]) -> None:
    console = open_console()
    for line in lines:
        console.print(line, soft_wrap=True)


BAR_LENGTH = 5
"""Length of the bar that shows the similarity of two questions on a scale common to all queries and rankers."""
MATCH_STYLE = "bold yellow"
MIN_SHOWN_SCORE = 0.005
"""Minimum contribution to a score for a word to be shown."""
MAX_ANSWER_CHARACTERS = 600


def matches_as_json(matches: Sequence[SearchHit], ranker: str, took_ms: float) -> dict[str, Any]:
    """Return the output of `search --json`: the hits, whether there are none, the ranker and the milliseconds."""
    results = [match.as_dict() | _explanation_as_json(match) for match in matches]
    return {"results": results, "abstained": not matches, "ranker": ranker, "took_ms": round(took_ms, 2)}


def _explanation_as_json(match: SearchHit) -> dict[str, Any]:
    reason = match.explanation or Explanation(match.score)
    contributions = [{"word": c.word, "fields": list(c.fields), "score": c.score} for c in reason.contributions]
    return {"parts": dict(reason.parts), "fields": dict(reason.fields), "contributions": contributions}


def reply_as_json(reply: Reply, ranker: str, took_ms: float) -> dict[str, Any]:
    """Return the output of `answer --json`: the text, its sources, the ranker, the model that wrote, milliseconds."""
    return {
        "text": reply.text,
        "generated": reply.generated,
        "grounded": reply.grounded,
        "abstained": reply.abstained,
        "removed_sentences": reply.removed,
        "sources": [_source_as_json(source) for source in reply.sources],
        "ranker": ranker,
        "model": reply.model,
        "took_ms": round(took_ms, 2),
    }


def _source_as_json(source: AnswerSource) -> dict[str, Any]:
    return {
        "id": source.answer.id,
        "text": source.text,
        "question": {"id": source.question.id, "title": source.question.title},
        "author": source.answer.author,
        "license": source.license,
        "url": source.url,
        "score": source.score,
        "probability": source.probability,
        "calibrated": source.probability is not None,
    }


def match_lines(
    matches: Sequence[SearchHit], explain: bool, precedents: Mapping[str, Sequence[Precedent]], verbose: bool
) -> Iterator[Text]:
    """Yield the corrections of misspelt words, two or three lines per match, and why they are not ordered by score.

    explain: add the words that matched, and the match's `precedents`, by id. verbose: name the parts of the score as
    rankers are named, instead of words and meaning.
    """
    if corrected := corrected_words(matches):
        yield Text(f"read as: {', '.join(corrected)}", "dim")
    for rank, match in enumerate(matches, 1):
        if match.grade == "related" and (rank == 1 or matches[rank - 2].grade == "same"):
            yield Text("related:", "dim")
        yield _title_line(rank, _highlight_title(match), match.score, match.probability, match.similarity)
        yield _about_line(match.id, _describe_states(match), " ".join(match.question.tags), match.question.url)
        if match.matched_duplicate:
            yield Text(f"    asked before as: {match.matched_duplicate.title}", "dim")
        if match.snippet:
            yield Text(f"    {match.snippet}")
        if explain and match.explanation:
            yield from _explanation_lines(match.explanation, verbose)
        for precedent in precedents.get(match.id, ()):
            titles = f"{precedent.duplicate.title} = {precedent.original.title}"
            yield Text(f"    called the same before: {titles}", "dim")
    if any(match.score < next_match.score for match, next_match in pairwise(matches)):
        yield Text("of nearly as similar questions, answered ones come first", "dim")


def _explanation_lines(explanation: Explanation, verbose: bool) -> Iterator[Text]:
    yield Text.assemble("    why: ", _format_contributions(explanation))
    parts = explanation.parts if verbose else _sum_parts(explanation.parts)
    fields = sum_fields(explanation)
    for prefix, shares in (("of which:", parts), ("found in:", fields if len(fields) > 1 else {})):
        if listed := "  ".join(f"{name} {score:+.2f}" for name, score in shares.items()):
            yield Text(f"    {prefix} {listed}", "dim")


def _sum_parts(parts: Mapping[str, float]) -> Mapping[str, float]:
    """Return the score that comes from words, from meaning, and from votes."""
    sums: dict[str, float] = defaultdict(float)
    lexical = registry.names("similarity")
    for name, score in parts.items():
        sums["words" if name in lexical else name if name == "votes" else "meaning"] += score
    return sums


def reply_lines(reply: Reply) -> Iterator[Text]:
    """Yield generated text under its label, then the stored answers, each under its question."""
    if reply.generated:
        yield Text(f"GENERATED by {reply.model}: a machine wrote this, and it may be wrong.", "bold red")
        yield Text(reply.text or "")
        if reply.removed:
            yield Text(describe_removed(reply), "dim")
        yield Text("Stored answers that it cites:" if reply.grounded else "Stored answers nearest to it:", "dim")
    for rank, source in enumerate(reply.sources, 1):
        yield _title_line(rank, Text(source.question.title, "bold"), source.score, source.probability)
        yield Text(f"    {extract_snippet(source.text, (), MAX_ANSWER_CHARACTERS)}")
        yield _about_line(source.answer.id, source.answer.author, source.license, source.url)


def describe_removed(reply: Reply) -> str:
    """Return how many sentences of a model were left out."""
    sentences = format_count(reply.removed, "sentence")
    verb = "was" if reply.removed == 1 else "were"
    return f"{sentences} of {reply.model} {verb} left out: no stored answer that it cites says so"


def _title_line(
    rank: int, title: Text, score: float, probability: float | None, similarity: float | None = None
) -> Text:
    """Return the title with `83% (12.31)`, or with a bar and `12.31 (uncalibrated)` without a probability."""
    shown = f"{score:.2f} (uncalibrated)" if probability is None else f"{probability:.0%} ({score:.2f})"
    if similarity is not None:
        full = round(similarity * BAR_LENGTH)
        shown = f"{'▰' * full}{'▱' * (BAR_LENGTH - full)} {shown}"
    return Text.assemble(f"{rank:2}. ", title, "  ", (shown, "dim"))


def _describe_states(match: SearchHit) -> str:
    """Return the states of a hit, when it was solved, and a language that is not the text's; empty if it is open."""
    duplicate = f"duplicate of {match.duplicate_of}, which is not here" if match.duplicate_of else None
    states = [state for state in match.question.states if state != "open"]
    language = f"in {match.language}" if match.language else None
    return ", ".join(filter(None, (*states, duplicate, match.solution, language)))


def _about_line(*details: str | None) -> Text:
    return Text(f"    {' · '.join(filter(None, details))}", "dim")


def _highlight_title(match: SearchHit) -> Text:
    text = Text(match.title, "bold")
    if match.explanation and match.explanation.text.get("title") == match.title:
        formulas = find_formulas(match.title)
        for span in match.explanation.spans:
            if span.field == "title" and not any(start < span.end <= end for start, end in formulas):
                text.stylize(MATCH_STYLE, span.start, span.end)
    return text


def _format_contributions(explanation: Explanation) -> Text:
    parts: list[str | tuple[str, str]] = []
    for c in explanation.contributions:
        if abs(c.score) >= MIN_SHOWN_SCORE:
            where = f" ({', '.join(c.fields)})" if c.fields else ""
            parts += [(c.word, MATCH_STYLE), f" {c.score:+.2f}{where}", "  "]
    return Text.assemble(*parts[:-1])
