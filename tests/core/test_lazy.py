"""Attributes that are computed once, by threads that do not wait for one another."""

from dataclasses import dataclass, field
from threading import Event, Thread

from askalike.core.iteration import lazy_property
from waiting import PATIENCE_S


@dataclass(frozen=True, eq=False)
class Request:
    """Its answer comes when `allowed` is set."""

    allowed: Event = field(default_factory=Event)
    begun: Event = field(default_factory=Event)

    @lazy_property
    def answer(self) -> list[str]:
        """What is fetched."""
        self.begun.set()
        assert self.allowed.wait(timeout=PATIENCE_S)
        return ["answer"]


def test_lazy_property_is_computed_once_per_object() -> None:
    request = Request()
    request.allowed.set()
    assert request.answer is request.answer == ["answer"]
    assert Request.answer.__doc__ == "What is fetched."


def test_lazy_properties_of_other_objects_do_not_block() -> None:
    slow, quick = Request(), Request()
    quick.allowed.set()
    waiting = Thread(target=lambda: slow.answer)
    waiting.start()
    assert slow.begun.wait(timeout=PATIENCE_S)
    reading = Thread(target=lambda: quick.answer, daemon=True)
    reading.start()
    reading.join(timeout=PATIENCE_S)
    assert quick.begun.is_set()
    slow.allowed.set()
    waiting.join()
