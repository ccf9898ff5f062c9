"""What share of the sentences of grounded answers their sources support."""

import json
from pathlib import Path
from typing import Any

from askalike import ArchiveRetriever, Question
from askalike_research.answer_support import measure_support
from commands import askalike
from search.test_grounded import LOST_CARD, WORDS, ChatServer, archive, chat, engine

__all__ = ["archive", "chat", "engine"]


def test_evaluate_says_what_share_of_sentences_is_supported(archive: Path, chat: ChatServer) -> None:
    chat.text = "Tell us at once [r013]. Bananas are yellow fruit [r013]."
    command = ("evaluate-answers", archive, "-r", WORDS, "--queries", "4")
    named = ("--endpoint", chat.url, "--model", "small")
    done = json.loads(askalike(*command, *named, "--json").stdout)
    assert done["questions"] == 4
    assert (done["written"], done["supported"]) == (2 * len(chat.requests), sum(map(cites_the_card, chat.requests)))
    assert "This is a proxy" in askalike(*command, *named).stdout
    assert askalike(*command).returncode == 2


def cites_the_card(request: dict[str, Any]) -> bool:
    return "Source [r013]:" in request["messages"][1]["content"]


def test_the_share_has_an_interval_over_answers(engine: ArchiveRetriever, chat: ChatServer) -> None:
    chat.text = "Tell us at once [r013]. Bananas are yellow fruit [r013]."
    support = measure_support(engine, [Question("", LOST_CARD), Question("", "zyzzyva quux")], chat.endpoint())
    assert (support.questions, support.abstained, support.share, support.interval) == (2, 1, 0.5, (0.5, 0.5))
    nothing = measure_support(engine, [Question("", "zyzzyva quux")], chat.endpoint())
    assert (nothing.share, nothing.interval) == (None, None)
