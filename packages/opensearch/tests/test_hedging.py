"""Requests to several nodes of which the first answer counts."""

from itertools import count
from threading import Event, Thread

import pytest

from askalike_opensearch.hedging import HedgeDelay, RoundRobinSelector, first_answer

NEVER_S = 60.0
"""Longer than any of these tests takes."""


class Nodes:
    """Nodes that answer in the order in which they are asked: a value, an error, or a value after an event."""

    def __init__(self, *answers):
        self._answers, self._numbers = answers, count()
        self.asked, self.second_asked = 0, Event()

    def __call__(self):
        number = next(self._numbers)
        self.asked = max(self.asked, number + 1)
        if number == 1:
            self.second_asked.set()
        answer = self._answers[number]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Late):
            answer.wait()
            return "late"
        return answer


class Late(Event):
    """Until it is set, a node does not answer."""


@pytest.fixture
def over():
    event = Late()
    yield event
    event.set()


def test_one_that_answers_in_time_is_asked_alone():
    nodes = Nodes("first", "second")
    assert first_answer(nodes, 3, NEVER_S, ConnectionError) == "first"
    assert nodes.asked == 1


def test_silent_first_node_yields_to_the_next(over):
    assert first_answer(Nodes(over, "second"), 2, 0.01, ConnectionError) == "second"


def test_first_node_may_still_answer_first():
    nodes = Nodes(late := Late(), ConnectionError("gone"))
    Thread(target=lambda: (nodes.second_asked.wait(), late.set()), daemon=True).start()
    assert first_answer(nodes, 2, 0.01, ConnectionError) == "late"
    assert nodes.asked == 2


def test_failing_first_node_yields_at_once():
    nodes = Nodes(ConnectionError("gone"), "second", "third")
    assert first_answer(nodes, 3, NEVER_S, ConnectionError) == "second"
    assert nodes.asked == 2


def test_every_node_is_asked_once_before_it_fails():
    nodes = Nodes(ConnectionError("1"), ConnectionError("2"), ConnectionError("3"))
    with pytest.raises(ConnectionError, match="3"):
        first_answer(nodes, 3, NEVER_S, ConnectionError)
    assert nodes.asked == 3


@pytest.mark.parametrize("nodes", [1, 3])
def test_another_error_is_an_answer(nodes):
    asked = Nodes(KeyError("no such index"), "second")
    with pytest.raises(KeyError):
        first_answer(asked, nodes, NEVER_S, ConnectionError)
    assert asked.asked == 1


def test_no_node_is_asked_twice_for_one_request():
    in_turn, chosen = RoundRobinSelector({}), []

    def request():
        chosen.append(in_turn.select(["a", "b", "c"]))
        raise ConnectionError

    with pytest.raises(ConnectionError):
        first_answer(request, 3, NEVER_S, ConnectionError)
    assert sorted(chosen) == ["a", "b", "c"]


def test_requests_go_to_the_nodes_in_turn():
    in_turn = RoundRobinSelector({})
    assert [in_turn.select(["a", "b"]) for _ in range(3)] == ["a", "b", "a"]


def test_patience_follows_latency_and_doubles_each_round():
    delay = HedgeDelay(0.1)
    assert delay.wait_s == 0.1
    assert [delay.give_up_s(rounds, 30) for rounds in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    delay.note(2)
    assert (delay.wait_s, delay.give_up_s(0, 30)) == (4, 8)
    for _ in range(100):
        delay.note(0.01)
    assert (delay.wait_s, delay.give_up_s(0, 30)) == (0.1, 0.5)
