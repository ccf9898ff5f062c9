"""`--workers N`: N processes that are forked once all tests are collected run them.

Each runs a file at a time, and helps with the long tests of another one when no file is left. Processes that import and
collect for themselves, as those of pytest-xdist do, spend a sixth of the run on it.
"""

import atexit
import itertools
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import pytest

INTERRUPT_S = 10
LONG = ("long", "hypothesis", "data")
"""Marks of tests that may take long, none of which needs those before it in its file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run the tests in N forked processes")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests in workers if there are to be any; what they report is reported here."""
    options = session.config.option
    if not options.workers or options.collectonly or session.testsfailed:
        return None
    schedule = Schedule(session.items)
    capture = session.config.pluginmanager.getplugin("capturemanager")
    capture.suspend_global_capture(in_=True)
    workers = [Worker(session) for _ in range(min(options.workers, len(schedule.files)))]
    try:
        while workers:
            for worker in wait(workers):
                if worker.receive(schedule):
                    workers.remove(worker)
                    workers += [Worker(session)] if schedule.waiting else []  # it was killed
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
    finally:
        for worker in workers:
            worker.kill()
        capture.resume_global_capture()
    return True


class Schedule:
    """The numbers of the tests that no worker has been given yet, by file; files with many long tests come first."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._long = {n for n, item in enumerate(items) if any(map(item.get_closest_marker, LONG))}
        files = (deque(numbers) for _, numbers in itertools.groupby(range(len(items)), lambda n: items[n].path))
        self.files = sorted(files, key=lambda file: -len(self._long.intersection(file)))
        self.waiting = deque(self.files)

    def choose_file(self) -> deque[int]:
        """Return a file that nobody runs, else the one with most tests left that are all long, else an empty one."""
        while self.waiting:
            if file := self.waiting.popleft():
                return file
        return max((file for file in self.files if self._long.issuperset(file)), key=len, default=deque())


class Worker:
    """A process that runs the tests that it is given, as the first process sees it."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._file: deque[int] = deque()
        """The numbers of the tests left in its file, which others may share."""
        self._given: int | None = None
        """The test that it was given and has not begun."""
        self._running: Any = None
        self._connection, other = Pipe()
        self._pid = os.fork()
        if not self._pid:
            self._connection.close()
            _work(session, other)
        other.close()

    def fileno(self) -> int:
        return self._connection.fileno()

    def receive(self, schedule: Schedule) -> bool:
        """Take one message of it, and give it a test if it asks for one; return whether it has ended."""
        hook, config = self._session.config.hook, self._session.config
        try:
            name, arguments = self._connection.recv()
        except EOFError:
            self._end(schedule)
            return True
        if name == "next":
            self._file = self._file or schedule.choose_file()
            self._given = self._file.popleft() if self._file else None
            self._connection.send(self._given)
        elif name == "pytest_warning_recorded":
            hook.pytest_warning_recorded.call_historic(kwargs=arguments)
        elif name == "pytest_runtest_logreport":
            report = hook.pytest_report_from_serializable(config=config, data=arguments["report"])
            hook.pytest_runtest_logreport(report=report)
        else:
            self._running = arguments if name == "pytest_runtest_logstart" else None
            if self._running:
                self._given = None
            getattr(hook, name)(**arguments)
        return False

    def _end(self, schedule: Schedule) -> None:
        """Report the test that it was killed at, and leave its file to others."""
        exit_code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if self._running:
            message = f"its process ended with exit code {exit_code}"
            report = pytest.TestReport(**self._running, keywords={}, outcome="failed", longrepr=message, when="call")
            self._session.config.hook.pytest_runtest_logreport(report=report)
        if self._given is not None:
            self._file.appendleft(self._given)
        if self._file:
            schedule.waiting.append(self._file)

    def kill(self) -> None:
        """Interrupt it, so that it ends what it has started; kill it where it does not."""
        os.kill(self._pid, signal.SIGINT)
        until = time.monotonic() + INTERRUPT_S
        while not os.waitpid(self._pid, os.WNOHANG)[0]:
            if time.monotonic() > until:
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.05)


class Reporter:
    """The plugin of a worker that sends everything it would show."""

    def __init__(self, connection: Connection, config: pytest.Config) -> None:
        self._connection, self._config, self.ready = connection, config, False

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._connection.send(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._connection.send(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("pytest_runtest_logreport", {"report": data}))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: Any, nodeid: str) -> None:
        if not self.ready:  # the first process has shown it
            return
        one = warning_message
        plain = warnings.WarningMessage(str(one.message), one.category, one.filename, one.lineno)
        arguments = {"warning_message": plain, "when": when, "nodeid": nodeid, "location": None}
        self._connection.send(("pytest_warning_recorded", arguments))


class Following:
    """The test after a running one, asked for at the end of that one, so that no test waits for a busy worker."""

    def __init__(self, ask: Callable[[], pytest.Item | None]) -> None:
        self._ask = ask

    @cached_property
    def item(self) -> pytest.Item | None:
        return self._ask()

    def listchain(self) -> list[Any]:
        """Return the test with the modules and folders that it is in, whose fixtures stay."""
        return self.item.listchain() if self.item else []


def _work(session: pytest.Session, connection: Connection) -> NoReturn:
    """Run tests until there are no more, in a process of its own, which ends with that."""
    exit_code = 1
    try:
        atexit._clear()  # what the first process has registered
        manager = session.config.pluginmanager
        _capture_separately(manager.getplugin("capturemanager"))
        manager.unregister(name="terminalreporter")
        manager.register(reporter := Reporter(connection, session.config))
        reporter.ready = True
        item = _ask_for_test(session, connection)
        while item:
            following: Any = Following(lambda: _ask_for_test(session, connection))
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following.item
        exit_code = 0
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        atexit._run_exitfuncs()
        os._exit(exit_code)


def _capture_separately(manager: Any) -> None:
    """Capture output into files of this process's own. What was imported may hold the streams, so these stay."""
    for stream in (manager._global_capturing.out, manager._global_capturing.err):
        if hasattr(stream, "targetfd"):  # files, rather than memory
            with tempfile.TemporaryFile() as file:
                os.dup2(file.fileno(), stream.tmpfile.fileno())
    manager.resume_global_capture()


def _ask_for_test(session: pytest.Session, connection: Connection) -> pytest.Item | None:
    connection.send(("next", {}))
    number = connection.recv()
    return None if number is None else session.items[number]
