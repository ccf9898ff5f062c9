"""askalike conflicts: contradictory answers to the same question."""

from collections import Counter
from dataclasses import asdict
from itertools import islice
from typing import Annotated

from typer import Option

from askalike.cli._options import Directory, Json
from askalike.cli._output import to_json
from askalike.core.counts import format_count
from askalike.moderation.conflicts import AnswerConflict, find_conflicts
from askalike.store import Archive

MAX_SHOWN = 100


def conflicts_command(
    directory: Directory,
    k: Annotated[int, Option("-k", min=1, help="Maximum number of pairs of answers.")] = MAX_SHOWN,
    json: Json = False,
) -> None:
    """Find answers to the same question that contradict each other: in a number, a date, or a "not".

    Compares the answers of one question, and those of duplicates: linked or labelled, with the same wording, or
    proposed by a calibrated service. Fixed rules find the contradictions; a person decides which answer is right.

    Examples:

    ```
    askalike conflicts DIR
    askalike conflicts DIR -k 20 --json
    ```
    """
    with Archive.open(directory) as archive:
        conflicts = list(islice(find_conflicts(archive), k))
    if json:
        print(to_json([asdict(conflict) for conflict in conflicts]))
        return
    for conflict in conflicts:
        _print_conflict(conflict)
    kinds = Counter(difference.kind for conflict in conflicts for difference in conflict.differences)
    counts = ", ".join(f"{count} by a {kind}" for kind, count in sorted(kinds.items()))
    print(f"{format_count(len(conflicts), 'pair')} of answers differing{f': {counts}' if counts else ''}")


def _print_conflict(conflict: AnswerConflict) -> None:
    ids, titles = dict.fromkeys(conflict.question_ids), dict.fromkeys(conflict.titles)
    print(f"{' · '.join(ids)}  {' / '.join(titles)}")
    for difference in conflict.differences:
        print(f"    {difference.kind}: answer {conflict.answer_ids[0]}: {difference.one}")
        print(f"    {' ' * len(difference.kind)}  answer {conflict.answer_ids[1]}: {difference.other}")
